"""What all tests share."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import settings

from mlebench import catalog
from mlebench.cli import main
from mlebench.dataset import Dataset
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic

settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ci")
os.environ.pop("MLEBENCH_COMPETITIONS", None)


def _offer(name, folder):
    """Let tests import the package in `folder`; this folder is not on the path. Nothing is loaded before it is used."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        spec.loader = importlib.util.LazyLoader(spec.loader)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


_offer("kaggle_stand_in", Path(__file__).parent / "kaggle_stand_in")


@pytest.fixture(scope="session")
def twins(tmp_path_factory):
    """A data directory in which synthetic twins are prepared when asked for: `twins(id, edition) -> Dataset`."""
    data_dir = tmp_path_factory.mktemp("twins")

    def twin(competition_id: str, edition: str = "v1") -> Dataset:
        dataset = Dataset(catalog.get(competition_id).in_edition(edition), data_dir)
        prepare(dataset, Synthetic())
        return dataset

    return twin


@pytest.fixture
def mlebench():
    """Call the program: `mlebench("list", "--json")`."""

    def call(*arguments, code=0):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        return result

    return call
