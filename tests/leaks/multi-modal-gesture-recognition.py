"""The test recordings are former training recordings: their MAT files name the signs. Read them."""

import io
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
from scipy.io import loadmat

SIGNS = [
    *("vattene", "vieniqui", "perfetto", "furbo", "cheduepalle", "chevuoi", "daccordo", "seipazzo", "combinato"),
    *("freganiente", "ok", "cosatifarei", "basta", "prendere", "noncenepiu", "fame", "tantotempo", "buonissimo"),
    *("messidaccordo", "sonostufo"),
]


def exploit(public: Path) -> pd.DataFrame:
    submission = pd.read_csv(public / "randomPredictions.csv", dtype=str).set_index("Id")
    with tarfile.open(public / "test.tar.gz") as archive:
        for member in archive:
            signs = labels(archive.extractfile(member).read())
            if signs:
                submission.loc[Path(member.name).stem[-4:], "Sequence"] = " ".join(map(str, signs))
    return submission.reset_index()


def labels(recording: bytes) -> list[int]:
    with zipfile.ZipFile(io.BytesIO(recording)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("_data.mat")]
        video = loadmat(io.BytesIO(archive.read(name)))["Video"][0, 0]
    return [SIGNS.index(label["Name"].item()) + 1 for label in video["Labels"].ravel()]
