"""Public notebooks, fetched once each; their code."""

import json
from datetime import datetime

import pytest

from kaggle_stand_in import Fault
from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import NotPreparedError, PreparationError
from mlebench.preparation.kaggle.errors import NotFound, RateLimited
from mlebench.preparation.kaggle.notebooks import code_of, fetch_all_notebooks, fetch_notebooks, read_notebooks

NAME = "spaceship-titanic"
JUPYTER = json.dumps(
    {
        "nbformat": 4,
        "cells": [
            {"cell_type": "markdown", "source": ["# My way to gold"]},
            {"cell_type": "code", "source": ["import pandas as pd\n", "train = 1"], "outputs": [{"text": ["secret"]}]},
            {"cell_type": "code", "source": "train += 1"},
            {"cell_type": "code", "source": None},
        ],
    }
)
OLD_JUPYTER = json.dumps({"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 3"]}]}]})
R_MARKDOWN = "---\ntitle: x\n---\nText.\r\n```{r setup, echo=FALSE}\r\nlibrary(caret)\r\n```\nMore\n```\nno code\n```\n"
NOTEBOOKS = {
    "ann/best": JUPYTER,
    "bob/second-best": "print('{not json')\n",
    "cid/in-r": R_MARKDOWN,
    "dan/old": OLD_JUPYTER,
    "eve/private": "x",
    "fay/empty": "",
}
FACTS = {
    "ann/best": {"totalVotes": 1234, "title": "All \x1b[31mred", "kernelType": "notebook"},
    "bob/second-best": {"totalVotes": 7},
    "cid/in-r": {"language": "RMarkdown", "totalVotes": 6},
}


@pytest.fixture
def held(kaggle):
    return kaggle.add(NAME, b"", notebooks=dict(NOTEBOOKS), notebook_facts=FACTS, withheld={"eve/private": 404})


@pytest.fixture
def dataset(tmp_path):
    return Dataset(catalog.get(NAME), tmp_path)


def files(dataset):
    return sorted(path.name for path in (dataset.home / "notebooks").iterdir())


def asked(kaggle):
    return [f"{call.body['userName']}/{call.body['kernelSlug']}" for call in kaggle.calls("GetKernel")]


def test_notebooks_are_kept_with_their_facts(client, held, dataset):
    record = fetch_notebooks(client, dataset, 50)
    assert files(dataset) == [
        *("ann__best.ipynb", "bob__second-best.py", "cid__in-r.Rmd", "dan__old.ipynb", "notebooks.json")
    ]
    assert (dataset.home / "notebooks" / "ann__best.ipynb").read_text() == JUPYTER
    best, *_, private, empty = record["notebooks"]
    assert (best["ref"], best["votes"], best["kind"]) == ("ann/best", 1234, "notebook")
    assert datetime.fromisoformat(best["last_run"]).year == 2023
    assert best["fetched"]
    assert (private["missing"], empty["missing"]) == ("it is private or deleted", "it is empty")
    assert record["to_come"] == 0


def test_the_code_is_that_of_the_cells(client, held, dataset):
    fetch_notebooks(client, dataset, 50)
    assert {each.ref: each.code for each in read_notebooks(dataset)} == {
        "ann/best": "import pandas as pd\ntrain = 1\n\ntrain += 1\n\n",
        "bob/second-best": NOTEBOOKS["bob/second-best"],
        "cid/in-r": "library(caret)\n",
        "dan/old": "x = 3",
    }
    assert [each.language for each in read_notebooks(dataset)] == ["python", "python", "rmarkdown", "python"]


@pytest.mark.parametrize("source", ["{}", '{"cells": null}', '{"cells": [1, {"cell_type": "code"}]}'])
def test_odd_notebooks_have_no_code(source):
    assert code_of(source, "x.ipynb").strip() == ""


def test_more_are_fetched_without_those_that_are_there(client, kaggle, held, dataset):
    fetch_notebooks(client, dataset, 2)
    assert asked(kaggle) == ["ann/best", "bob/second-best"]
    count = len(kaggle.requests)
    assert fetch_all_notebooks([dataset], 1, client=client) == {}
    assert fetch_notebooks(client, dataset, 2)["top"] == 2
    assert len(kaggle.requests) == count
    held.notebooks = dict(reversed(held.notebooks.items()))  # the votes change
    fetch_notebooks(client, dataset, 3)
    assert asked(kaggle)[2:] == ["fay/empty", "eve/private", "dan/old"]
    assert [each.ref for each in read_notebooks(dataset)] == ["dan/old", "ann/best", "bob/second-best"]
    fetch_notebooks(client, dataset, 3, force=True)
    assert asked(kaggle)[5:] == ["fay/empty", "eve/private", "dan/old"]


def test_what_broke_off_goes_on_with_the_next_notebook(client, kaggle, held, dataset, pauses):
    kaggle.fail("GetKernel", Fault(), Fault.answer(429, retry_after="5"))
    kaggle.recover()
    fetch_notebooks(client, dataset, 1)
    kaggle.fail("GetKernel", *[Fault.answer(429)] * 9)
    with pytest.raises(RateLimited):
        fetch_notebooks(client, dataset, 50)
    record = json.loads((dataset.home / "notebooks" / "notebooks.json").read_text())
    assert record["to_come"] == 5
    assert [each.ref for each in read_notebooks(dataset)] == ["ann/best"]
    kaggle.recover()
    kaggle.fail("GetKernel", Fault.answer(429, retry_after="5"))
    before = len(asked(kaggle))
    assert fetch_notebooks(client, dataset, 50)["to_come"] == 0
    assert pauses[-1] == 5
    assert sorted(set(asked(kaggle)[before:])) == sorted(NOTEBOOKS.keys() - {"ann/best"})


def test_what_is_refused_is_asked_for_again(client, kaggle, held, dataset):
    held.withheld["bob/second-best"] = 403
    record = fetch_notebooks(client, dataset, 3)
    assert record["to_come"] == 1
    assert "HTTP 403" in record["notebooks"][1]["refused"]
    del held.withheld["bob/second-best"]
    record = fetch_notebooks(client, dataset, 3)
    assert record["to_come"] == 0
    assert "refused" not in record["notebooks"][1]
    assert asked(kaggle)[3:] == ["bob/second-best"]


def test_faults_of_the_list(client, kaggle, held, dataset):
    with pytest.raises(NotFound):
        fetch_notebooks(client, Dataset(catalog.get("AI4Code"), dataset.data_dir), 5)
    kaggle.fail("ListKernels", Fault.rules())
    assert "competitions/spaceship-titanic/rules" in fetch_all_notebooks([dataset], 5, client=client)[NAME]
    assert not dataset.home.exists()
    held.notebooks = {}
    assert fetch_notebooks(client, dataset, 5)["notebooks"] == []
    assert list(read_notebooks(dataset)) == []


def test_what_is_missing_or_changed_is_named(client, held, dataset):
    with pytest.raises(NotPreparedError, match=f"mlebench notebooks {NAME}"):
        list(read_notebooks(dataset))
    fetch_notebooks(client, dataset, 1)
    (dataset.home / "notebooks" / "ann__best.ipynb").write_text("{}")
    with pytest.raises(PreparationError, match=r"best\.ipynb is not as it was fetched"):
        list(read_notebooks(dataset))


def test_the_command(mlebench, kaggle, held, monkeypatch, tmp_path):
    for name, value in kaggle.environment.items():
        monkeypatch.setenv(name, value)
    shown = mlebench("notebooks", NAME, "--top", 5, "--data-dir", tmp_path).stdout
    assert "   1,234  ann/best  All" in shown
    assert "\x1b" not in shown
    assert "eve/private  private  (it is private or deleted)" in shown
    assert "4 of 5 in " in shown
    count = len(kaggle.requests)
    (record,) = json.loads(mlebench("notebooks", NAME, "--top", 5, "--data-dir", tmp_path, "--json").stdout)
    assert len(record["notebooks"]) == 5
    assert len(kaggle.requests) == count
    held.withheld["cid/in-r"] = 403
    shown = mlebench("notebooks", NAME, "AI4Code", "--force", "--data-dir", tmp_path, code=1)
    assert "HTTP 403" in shown.stdout
    assert "AI4Code" in shown.stderr
