import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SYMBOLS = {
    "registry": "registry Registry Competition",
    "grade": "grade_csv validate_submission grade_jsonl aggregate_reports",
    "grade_helpers": "CompetitionReport InvalidSubmissionError Grader",
    "data": (
        "is_dataset_prepared download_and_prepare_dataset get_leaderboard ensure_leaderboard_exists "
        "download_dataset get_checksum generate_checksums"
    ),
    "utils": (
        "read_csv load_answers read_jsonl get_logger get_timestamp purple extract compress is_empty load_yaml "
        "import_fn get_diff in_ci authenticate_kaggle_api get_runs_dir create_run_dir generate_run_id "
        "get_module_dir get_repo_dir"
    ),
    "metrics": "mean_average_precision_at_k average_precision_at_k dice_coefficient",
    "competitions.utils": (
        "df_to_one_hot one_hot_dfs_to_log_loss_inputs prepare_for_accuracy_metric prepare_for_auroc_metric "
        "rle_decode rle_encode rles_to_masks get_ids_from_tf_records"
    ),
}
NAMES = [(module, name) for module, names in SYMBOLS.items() for name in names.split()]
IMPORT_ALL = "; ".join(f"import mlebench.{module}" for module in SYMBOLS)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_name_can_be_imported(module, name):
    assert hasattr(importlib.import_module(f"mlebench.{module}"), name)


def test_metrics_has_no_other_names():
    with pytest.raises(ImportError, match="no_such_metric"):
        from mlebench.metrics import no_such_metric  # noqa: F401


def run(code: str, home: Path, **variables: str) -> subprocess.CompletedProcess:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = {**kept, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=home, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("module", [*SYMBOLS, "registry, mlebench.grade, mlebench.data, mlebench.utils"])
def test_importing_prints_nothing_and_writes_nothing(module, tmp_path):
    done = run(f"import mlebench.{module}", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_importing_configures_no_logging(tmp_path):
    done = run(f"import logging; {IMPORT_ALL}; print(logging.root.handlers, logging.root.level)", tmp_path)
    assert done.stdout == "[] 30\n"


def test_importing_the_registry_is_cheap(tmp_path):
    loaded = json.loads(
        run("import json, sys, mlebench.registry; print(json.dumps(list(sys.modules)))", tmp_path).stdout
    )
    assert {"pandas", "numpy", "scipy", "sklearn", "kaggle"}.isdisjoint(loaded)


def test_the_default_data_directory_is_resolved_on_import(tmp_path):
    code = "from mlebench.registry import registry; print(registry.get_data_dir())"
    if sys.platform == "linux":
        assert run(code, tmp_path).stdout.strip() == f"{tmp_path}/.cache/mle-bench/data"
        assert run(code, tmp_path, XDG_CACHE_HOME="/elsewhere").stdout.strip() == "/elsewhere/mle-bench/data"
    assert run(code, tmp_path, MLEBENCH_DATA_DIR="/data").stdout.strip() == "/data"
    assert run(code, tmp_path, MLE_BENCH_DATA_DIR="/other").stdout.strip() == "/other"


def test_a_competition_can_be_had_where_the_home_is_a_file(tmp_path):
    """As with a read-only home, nothing can be written below it, whoever runs the test."""
    home = tmp_path / "home"
    home.write_text("")
    code = (
        "import pandas as pd; from mlebench.registry import registry; "
        "c = registry.get_competition('spaceship-titanic'); print(len(pd.read_csv(c.leaderboard)))"
    )
    kept = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=kept, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2288\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]  # the temporary folder is gone
