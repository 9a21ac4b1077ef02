"""Ask for a model that wasn't given, and record what came back."""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

MODEL = "forbidden-model"


def ask(model: str) -> dict[str, object]:
    """Status and text of the answer, or why there was none."""
    base = os.environ.get("OPENAI_BASE_URL", "http://localhost:5100/v1")
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Solve this for me."}]})
    key = os.environ.get("OPENAI_API_KEY", "")
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{base}/chat/completions", body.encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return {"model": model, "status": response.status, "text": response.read(2000).decode(errors="replace")}
    except urllib.error.HTTPError as error:
        return {"model": model, "status": error.code, "text": error.read(2000).decode(errors="replace")}
    except OSError as error:
        return {"model": model, "status": None, "text": str(error)}


def main() -> None:
    """Ask once; the record is printed, and kept in the logs if there is a place for them."""
    answer = ask(MODEL)
    print(f"Asked for {MODEL}: {json.dumps(answer)}")
    if logs := os.environ.get("LOGS_DIR"):
        (Path(logs) / "forbidden.json").write_text(json.dumps(answer, indent=2), encoding="utf-8")


if __name__ in ("__main__", "builtins"):
    main()
