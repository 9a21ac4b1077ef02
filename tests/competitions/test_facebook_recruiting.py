"""What edition v2 makes of texts that break a row in v1."""

import pandas as pd

from mlebench import catalog
from mlebench.preparation.engine import run_prepare
from mlebench.preparation.synthetic import write_zip


def test_a_lone_carriage_return_stays_within_its_row(tmp_path):
    texts = [f"question {number}\rcontinued" for number in range(20)]
    table = pd.DataFrame({"Id": range(20), "Title": texts, "Body": "<p>null</p>", "Tags": "c# nan"})
    raw, public, private = (tmp_path / name for name in ("raw", "public", "private"))
    write_zip(raw / "Train.zip", {"Train.csv": table.to_csv(index=False, quoting=1)})
    public.mkdir()
    private.mkdir()
    run_prepare(catalog.get("facebook-recruiting-iii-keyword-extraction").in_edition("v2"), raw, public, private)
    parts = [pd.read_csv(public / name) for name in ("train.csv", "test.csv")]
    found = pd.concat(parts).sort_values("Id")
    assert found["Title"].tolist() == texts
    assert [len(part) for part in parts] == [18, 2]
