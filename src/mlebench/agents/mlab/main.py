"""Start the agent: see `researcher/loop.py`."""

import sys

if __name__ == "__main__":
    from researcher.run import main  # pyright: ignore[reportMissingImports]

    sys.exit(main())
