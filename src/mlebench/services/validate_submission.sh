#!/bin/sh
# Says whether a submission is valid (exit code 0) or not (1). It does not know the score.
if [ $# -ne 1 ]; then
    echo "Usage: $0 FILE" >&2
    echo "Says whether FILE is a valid submission, and if not, why." >&2
    exit 2
fi
if [ ! -f "$1" ]; then
    echo "There is no file $1." >&2
    exit 2
fi
url="${VALIDATION_URL:-http://localhost:5000/validate}"
if command -v curl >/dev/null 2>&1; then
    # Over standard input: in the argument of -F some characters of a file name have a meaning.
    message=$(curl -sS -H "Accept: text/plain" -F "file=@-;filename=submission.csv" "$url" <"$1") || exit 3
else
    message=$(python3 - "$1" "$url" <<'PYTHON'
import os, sys, urllib.error, urllib.request
headers = {"Content-Type": "text/csv", "Accept": "text/plain", "Content-Length": str(os.path.getsize(sys.argv[1]))}
with open(sys.argv[1], "rb") as file:
    request = urllib.request.Request(sys.argv[2], data=file, headers=headers, method="POST")
    try:
        print(urllib.request.urlopen(request).read().decode())
    except urllib.error.HTTPError as error:
        print(error.read().decode())
    except OSError as error:
        sys.exit(f"The validation service can't be reached: {error}")
PYTHON
    ) || exit 3
fi
printf '%s\n' "$message"
case "$message" in
    "Submission is valid."*) exit 0 ;;
    *) exit 1 ;;
esac
