"""A script with a mistake: it asks for a column that no table has."""

import csv
import os
from pathlib import Path

ATTEMPT = 1


def main() -> None:
    """Read, and fail."""
    place = next(path for path in (Path("input"), Path(os.environ.get("DATA_DIR", "/home/data"))) if path.is_dir())
    table = next(iter(sorted(place.rglob("*.csv"))))
    with table.open(newline="", encoding="utf-8", errors="replace") as file:
        row = next(csv.DictReader(file))
    print(f"Attempt {ATTEMPT}: read {table.name}.")
    print(row[f"column that is not there {ATTEMPT}"])


if __name__ in ("__main__", "builtins"):
    main()
