"""Hold out a random tenth of the products."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.bson import copy_documents, copy_documents_without, find_integers
from mlebench.preparation.files import hold_out, link_files, require_unique, write_csv

SAMPLE_CATEGORY = 1000010653
EXAMPLES = 100


def prepare(raw: Path, public: Path, private: Path) -> None:
    products = find_integers(raw / "train.bson", ["_id", "category_id"])
    require_unique(products["_id"])
    # Files keep the order of the raw file, tables are ordered by id.
    train, test = (part.sort_index() for part in hold_out(products, 0.1))
    answers = test[["_id", "category_id"]].sort_values("_id")

    write_csv(answers, private / "answers.csv")
    write_csv(answers.assign(category_id=SAMPLE_CATEGORY), public / "sample_submission.csv")
    copy_documents(raw / "train.bson", public / "train.bson", train)
    copy_documents(raw / "train.bson", public / "train_example.bson", train.head(EXAMPLES))
    copy_documents_without(raw / "train.bson", public / "test.bson", test, "category_id")
    link_files([(raw / "category_names.csv", public / "category_names.csv")])
