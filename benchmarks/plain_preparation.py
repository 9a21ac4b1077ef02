"""Some of the largest competitions prepared in the plain way: read the whole table, divide it, write the parts.

Each function writes all prepared files but the description, copies of pictures among them, and returns the number of
rows that it read. Raw files are taken for valid.
"""

from __future__ import annotations

import csv
import io
import shutil
import zipfile
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from mlebench.preparation.inexact_floats import read_csv_inexactly
from mlebench.tables import read_csv

Table = TypeVar("Table", pd.DataFrame, list[Any])


def taxi_fares(raw: Path, public: Path, private: Path) -> int:
    rides = read_csv(raw / "train.csv")
    train, test = _split(rides, 9914 if len(rides) > 9914 else 0.1)
    train.to_csv(public / "labels.csv", index=False)
    test.drop(columns="fare_amount").to_csv(public / "test.csv", index=False)
    test[["key"]].assign(fare_amount=11.35).to_csv(public / "sample_submission.csv", index=False)
    test.to_csv(private / "test.csv", index=False)
    _copy(raw, public, ["GCP-Coupons-Instructions.rtf"])
    return len(rides)


def keywords(raw: Path, public: Path, private: Path) -> int:
    _unzip(raw, "Train.zip")
    questions = read_csv(raw / "Train.csv", dtype={"Id": str, "Tags": str})
    train, test = _split(questions)
    train.to_csv(public / "train.csv", index=False)
    unlabelled = test.drop(columns="Tags")
    unlabelled.to_csv(public / "test.csv", index=False)
    unlabelled.assign(Tags="javascript c# python php java").to_csv(public / "sample_submission.csv", index=False)
    test.to_csv(private / "test.csv", index=False)
    return len(questions)


def missing_words(raw: Path, public: Path, private: Path) -> int:
    _unzip(raw, "train_v2.txt.zip")
    lines = (raw / "train_v2.txt").read_text(encoding="utf-8").split("\n")
    if lines[-1] == "":
        lines.pop()
    random, train = np.random.RandomState(0), []
    whole, cut = ['"id","sentence"'], ['"id","sentence"']
    for line in lines:
        if random.uniform() <= 0.01 and len(line.split()) > 2:
            sentence = line.strip().replace('"', '""')
            words = sentence.split()
            place = random.randint(1, len(words) - 1)
            whole.append(f'{len(whole) - 1},"{sentence}"')
            cut.append(f'{len(cut) - 1},"{" ".join(words[:place] + words[place + 1 :])}"')
        else:
            train.append(line)
    _zip(public, "train_v2.txt", train, zipfile.ZIP_DEFLATED)
    _zip(public, "test_v2.txt", cut, zipfile.ZIP_DEFLATED)
    (private / "test.csv").write_text("\n".join([*whole, ""]), encoding="utf-8")
    (private / "sample_submission.csv").write_text("\n".join([*cut, ""]), encoding="utf-8")
    return len(lines)


def fashion(raw: Path, public: Path, private: Path) -> int:
    purchases = read_csv(raw / "transactions_train.csv")
    last = date.fromisoformat(purchases["t_dat"].max())
    is_test = purchases["t_dat"] >= str(last - timedelta(days=7))
    purchases[~is_test].to_csv(public / "transactions_train.csv", index=False)
    baskets = purchases[is_test].groupby("customer_id")["article_id"].agg(lambda ids: " ".join(map(str, ids)))
    baskets.rename("prediction").reset_index().to_csv(private / "answers.csv", index=False)
    _copy(raw, public, ["sample_submission.csv", "articles.csv", "customers.csv"])
    shutil.copytree(raw / "images", public / "images")
    return len(purchases)


def couplings(raw: Path, public: Path, private: Path) -> int:
    pairs = read_csv(raw / "train.csv")
    molecules = [molecule for _, molecule in pairs.groupby("molecule_name")]
    train, test = (pd.concat(part) for part in _split(molecules))
    target = "scalar_coupling_constant"
    train.to_csv(public / "train.csv", index=False)
    test.drop(columns=target).to_csv(public / "test.csv", index=False)
    test[["id"]].assign(**{target: 0}).to_csv(public / "sample_submission.csv", index=False)
    test.to_csv(private / "answers.csv", index=False)
    kept = train["molecule_name"].unique()
    names = ["structures", "dipole_moments", "magnetic_shielding_tensors", "mulliken_charges", "potential_energy"]
    for name in [*names, "scalar_coupling_contributions"]:
        table = read_csv(raw / f"{name}.csv")
        table[table["molecule_name"].isin(kept)].to_csv(public / f"{name}.csv", index=False)
    _copy(raw, public, [f"structures/{molecule}.xyz" for molecule in kept])
    return len(pairs)


def contacts(raw: Path, public: Path, private: Path) -> int:
    labels = read_csv_inexactly(raw / "train_labels.csv")  # since pandas 3.1 the bytes are not those of `read_csv`
    train_plays, test_plays = _split(list(labels["game_play"].unique()))
    train, test = (labels[labels["game_play"].isin(plays)] for plays in (train_plays, test_plays))
    train.to_csv(public / "train_labels.csv", index=False)
    test.to_csv(private / "test.csv", index=False)
    test[["contact_id"]].assign(contact=0).to_csv(public / "sample_submission.csv", index=False)
    for name in ("baseline_helmets", "player_tracking", "video_metadata"):
        table = read_csv_inexactly(raw / f"train_{name}.csv")
        for side, plays in (("train", train_plays), ("test", test_plays)):
            table[table["game_play"].isin(plays)].to_csv(public / f"{side}_{name}.csv", index=False)
    for side, plays in (("train", train_plays), ("test", test_plays)):
        videos = [f"{play}_{view}.mp4" for play in plays for view in ("All29", "Endzone", "Sideline")]
        _copy(raw / "train", public / side, videos)
    return len(labels)


def breaths(raw: Path, public: Path, private: Path) -> int:
    small = {"id": np.int32, "breath_id": np.int32, "R": np.int8, "C": np.int8, "u_out": np.int8}
    steps = read_csv(raw / "train.csv", dtype=small)
    rows = list(steps.groupby("breath_id").indices.values())
    train, test = (steps.iloc[np.concatenate(part)] for part in _split(rows))
    train, test = (part.assign(id=range(1, len(part) + 1)) for part in (train, test))
    train.to_csv(public / "train.csv", index=False, float_format="%.10g")
    test.drop(columns="pressure").to_csv(public / "test.csv", index=False, float_format="%.10g")
    test[["id"]].assign(pressure=0).to_csv(public / "sample_submission.csv", index=False)
    test.to_csv(private / "test.csv", index=False, float_format="%.10g")
    return len(steps)


def forest_cover(raw: Path, public: Path, private: Path) -> int:
    patches = read_csv(raw / "train.csv")
    train, test = _split(patches)
    train.to_csv(public / "train.csv", index=False)
    test.drop(columns="Cover_Type").to_csv(public / "test.csv", index=False)
    test[["Id"]].assign(Cover_Type=2).to_csv(public / "sample_submission.csv", index=False)
    test.to_csv(private / "test.csv", index=False)
    return len(patches)


def machine_states(raw: Path, public: Path, private: Path) -> int:
    observations = read_csv(raw / "train.csv")
    test_size = 100_000 if len(observations) > 100_000 else 1 / 9
    train, test = _split(observations, test_size)
    train = train.assign(id=range(len(train)))
    test = test.assign(id=range(len(train), len(observations)))
    train.to_csv(public / "train.csv", index=False)
    test.drop(columns="target").to_csv(public / "test.csv", index=False)
    test[["id"]].assign(target=0.5).to_csv(public / "sample_submission.csv", index=False)
    test.to_csv(private / "test.csv", index=False)
    test[["id", "target"]].to_csv(private / "gold_submission.csv", index=False)
    return len(observations)


def spoken_english(raw: Path, public: Path, private: Path) -> int:
    return _spoken_tokens(raw, public, private, "en")


def spoken_russian(raw: Path, public: Path, private: Path) -> int:
    return _spoken_tokens(raw, public, private, "ru")


def _spoken_tokens(raw: Path, public: Path, private: Path, language: str) -> int:
    _unzip(raw, f"{language}_train.csv.zip")
    tokens = read_csv(raw / f"{language}_train.csv")
    _, test_sentences = _split(list(tokens["sentence_id"].unique()))
    is_test = tokens["sentence_id"].isin(test_sentences)
    train, test = (part.assign(sentence_id=pd.factorize(part["sentence_id"])[0]) for part in _sides(tokens, is_test))
    answers = test[["after"]].copy()
    answers.insert(0, "id", test["sentence_id"].map(str) + "_" + test["token_id"].map(str))
    sample = answers.assign(after=test["before"])
    for table, path in ((answers, private / "answers.csv"), (sample, private / "sample_submission.csv")):
        table.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)
    tables = {"train": train, "test_2": test[["sentence_id", "token_id", "before"]], "sample_submission_2": sample}
    for name, table in tables.items():
        text = io.StringIO()
        table.to_csv(text, index=False, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        _zip(public, f"{language}_{name}.csv", [text.getvalue()[:-1]], zipfile.ZIP_STORED)
    return len(tokens)


def _split(table: Table, test_size: float | int = 0.1) -> tuple[Table, Table]:
    train, test = train_test_split(table, test_size=test_size, random_state=0)
    return cast(Table, train), cast(Table, test)


def _sides(table: pd.DataFrame, is_test: pd.Series) -> tuple[pd.DataFrame, pd.DataFrame]:
    return table[~is_test], table[is_test]


def _unzip(raw: Path, archive: str) -> None:
    with zipfile.ZipFile(raw / archive) as opened:
        opened.extractall(raw)


def _zip(folder: Path, name: str, lines: list[str], method: int) -> None:
    with zipfile.ZipFile(folder / f"{name}.zip", "w", method) as archive:
        archive.writestr(name, "\n".join([*lines, ""]))


def _copy(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)


PLAIN = {
    "billion-word-imputation": missing_words,
    "champs-scalar-coupling": couplings,
    "facebook-recruiting-iii-keyword-extraction": keywords,
    "h-and-m-personalized-fashion-recommendations": fashion,
    "new-york-city-taxi-fare-prediction": taxi_fares,
    "nfl-player-contact-detection": contacts,
    "tabular-playground-series-dec-2021": forest_cover,
    "tabular-playground-series-may-2022": machine_states,
    "text-normalization-challenge-english-language": spoken_english,
    "text-normalization-challenge-russian-language": spoken_russian,
    "ventilator-pressure-prediction": breaths,
}
