"""The TFRecord files of the test pictures are labelled training files.

The feature `target` of their records is the answer. Where a record has none, the sample submission's value is left.
"""

from pathlib import Path

import pandas as pd

from mlebench.preparation.tfrecords import read_examples


def exploit(public: Path) -> pd.DataFrame:
    sample = pd.read_csv(public / "sample_submission.csv")
    found = {}
    for file in sorted((public / "tfrecords").glob("test*.tfrec")):
        for features in read_examples(file):
            (name,) = features["image_name"]
            if "target" in features and isinstance(name, bytes):
                found[name.decode()] = features["target"][0]
    return sample.assign(target=sample["image_name"].map(found).fillna(sample["target"]))
