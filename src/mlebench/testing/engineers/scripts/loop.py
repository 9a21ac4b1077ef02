"""Wait, and say so: the work that is never done."""

import time

SECONDS = 2.0


def main() -> None:
    """Wait a little."""
    time.sleep(SECONDS)
    print("Still thinking.")


if __name__ in ("__main__", "builtins"):
    main()
