"""Learn from train.csv and predict test.csv, or hand in the sample submission where that can't be done."""

import csv
import gzip
import io
import math
import os
import random
import re
import zipfile
from collections import Counter
from pathlib import Path

ATTEMPT = 1
SAMPLE_ONLY = False
QUALITY = 1.0  # share of the predictions that are left as the model made them; the others are turned round
TARGET, KEY = "Transported", "PassengerId"
NUMBERS = ["Age", "RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]


def data_folder() -> Path:
    """Where the competition's files lie."""
    named = os.environ.get("DATA_DIR", "")
    places = [Path("input"), *([Path(named)] if named else []), Path("/home/data")]
    return next((place for place in places if place.is_dir()), Path())


def submission_file() -> Path:
    """Where the submission is expected: in ./working beside ./input, else where the environment says."""
    named = Path(os.environ.get("SUBMISSION_DIR") or "/home/submission")
    folder = Path("working") if Path("input").is_dir() else named
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "submission.csv"


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def features(row: dict[str, str]) -> dict[str, str | float]:
    """What is known of a passenger: words, and logarithms of numbers."""
    deck, _, side = (row["Cabin"] or "?/?/?").split("/")
    known: dict[str, str | float] = {name: row[name] for name in ("HomePlanet", "CryoSleep", "Destination", "VIP")}
    known |= {"deck": deck, "side": side, "group": float(row[KEY].partition("_")[2] or 1)}
    return known | {name: math.log1p(float(row[name] or 0)) for name in NUMBERS}


def learn(train: list[dict[str, str]], test: list[dict[str, str]]) -> list[bool]:
    """Predictions for `test`, by scikit-learn if it is there."""
    labels = [row[TARGET] == "True" for row in train]
    known, asked = [features(row) for row in train], [features(row) for row in test]
    try:
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MaxAbsScaler
    except ImportError:
        return learn_plainly(known, labels, asked)
    model = make_pipeline(DictVectorizer(), MaxAbsScaler(), LogisticRegression(max_iter=500))
    return [bool(each) for each in model.fit(known, labels).predict(asked)]


def learn_plainly(
    known: list[dict[str, str | float]], labels: list[bool], asked: list[dict[str, str | float]]
) -> list[bool]:
    """Predictions by naive Bayes on values in classes, with nothing but the standard library."""

    def parts(row: dict[str, str | float]) -> list[tuple[str, str]]:
        return [(name, value if isinstance(value, str) else f"{value:.0f}") for name, value in row.items()]

    counts = {label: Counter() for label in (True, False)}
    for row, label in zip(known, labels, strict=True):
        counts[label].update(parts(row))
    totals = {label: labels.count(label) + 2 for label in (True, False)}

    def odds(row: dict[str, str | float]) -> float:
        evidence = (math.log((counts[True][part] + 1) / totals[True]) for part in parts(row))
        against = (math.log((counts[False][part] + 1) / totals[False]) for part in parts(row))
        return sum(evidence) - sum(against)

    return [odds(row) > 0 for row in asked]


def spoilt(predictions: list[bool]) -> list[bool]:
    """The predictions, the share 1 - QUALITY of them turned round."""
    draw = random.Random(0)
    return [each if draw.random() < QUALITY else not each for each in predictions]


def solve(data: Path, submission: Path) -> None:
    """Validate on every fifth passenger, then learn from all."""
    train, test = rows(data / "train.csv"), rows(data / "test.csv")
    held_out = train[::5]
    kept = [row for number, row in enumerate(train) if number % 5]
    predictions = spoilt(learn(kept, held_out))
    right = sum(each == (row[TARGET] == "True") for each, row in zip(predictions, held_out, strict=True))
    final = spoilt(learn(train, test))
    with submission.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([(KEY, TARGET), *zip((row[KEY] for row in test), final, strict=True)])
    print(f"Attempt {ATTEMPT}: wrote {len(test)} predictions to {submission}.")
    print(f"Validation accuracy: {right / len(held_out):.5f}")


def find_sample(data: Path) -> Path | None:
    """The table named like a sample, else the one with the columns of the description's example."""
    tables = [path for path in sorted(data.rglob("*")) if re.search(r"\.(csv|txt)(\.gz|\.zip|\.7z)?$", path.name, re.I)]
    tables.sort(key=lambda path: len(path.parts))
    named = [path for path in tables if "sample" in path.name.lower()]
    named.sort(key=lambda path: (len(path.parts), path.name != "sample_submission.csv", path.name))
    if named:
        return named[0]
    description = data / "description.md"
    text = description.read_text(encoding="utf-8") if description.is_file() else ""
    header = re.search(r"`{3}(?:csv)?\s*\n([^\n`]+)\n", text)
    fitting = [path for path in tables if header and first_line(path) == header.group(1).strip().replace('"', "")]
    return min(fitting, key=lambda path: "train" in path.name.lower(), default=None)


def first_line(path: Path) -> str:
    """The first line of a table, without quotes."""
    return content(path).split(b"\n", 1)[0].decode(errors="replace").strip().replace('"', "")


def content(path: Path) -> bytes:
    """The bytes of a table, unpacked."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return archive.read(next(name for name in archive.namelist() if name.endswith((".csv", ".txt"))))
    if path.suffix == ".7z":
        return content_of_7z(path)
    return path.read_bytes()


def content_of_7z(path: Path) -> bytes:
    """The first file of a 7z archive."""
    import tempfile

    import py7zr

    with tempfile.TemporaryDirectory() as folder, py7zr.SevenZipFile(path) as archive:
        archive.extractall(folder)
        return next(inner for inner in sorted(Path(folder).rglob("*")) if inner.is_file()).read_bytes()


def copy_sample(data: Path, submission: Path) -> None:
    """Hand in the sample as it is."""
    sample = find_sample(data)
    if sample is None:
        raise SystemExit(f"There is no sample submission in {data.resolve()}.")
    submission.write_bytes(content(sample))
    print(f"Attempt {ATTEMPT}: copied {sample.name} to {submission}.")
    print("Validation score: 0.0")


def is_known(data: Path) -> bool:
    """Whether these are the passengers that this script can learn from."""
    train = data / "train.csv"
    if not train.is_file() or not (data / "test.csv").is_file():
        return False
    with train.open(newline="", encoding="utf-8", errors="replace") as file:
        columns = next(csv.reader(io.StringIO(file.readline())), [])
    return {TARGET, KEY, "Cabin", *NUMBERS} <= set(columns)


def main() -> None:
    """The whole way, for whatever competition this is."""
    data, submission = data_folder(), submission_file()
    (copy_sample if SAMPLE_ONLY or not is_known(data) else solve)(data, submission)


if __name__ in ("__main__", "builtins"):  # the latter where an agent runs this text by exec()
    main()
