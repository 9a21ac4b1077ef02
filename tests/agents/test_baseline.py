"""The agent `baseline`, run as a program on small twins and on made-up competitions it has never seen."""

import csv
import json
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import numpy as np
import pandas as pd
import pytest

from mlebench import catalog
from mlebench.grading import grade

QUICK = {"TIME_LIMIT_SECS": "60"}
SOLVED = [  # one for each way to solve a competition, those whose twins are quick
    "AI4Code",
    "billion-word-imputation",
    "cdiscount-image-classification-challenge",
    "denoising-dirty-documents",
    "google-research-identify-contrails-reduce-global-warming",
    "h-and-m-personalized-fashion-recommendations",
    "kuzushiji-recognition",
    "ml2021spring-hw2",
    "osic-pulmonary-fibrosis-progression",
    "rsna-2022-cervical-spine-fracture-detection",
    "siim-covid19-detection",
    "smartphone-decimeter-2022",
    "spaceship-titanic",
    "text-normalization-challenge-english-language",
    "vinbigdata-chest-xray-abnormalities-detection",
]
NOT_BEATEN = {
    "3d-object-detection-for-autonomous-vehicles": "no boxes in space",
    "icecube-neutrinos-in-deep-ice": "no Parquet files",
    "invasive-species-monitoring": "the public files hold no pictures, only names and answers",
}
OTHERS = [name for name in catalog.competitions() if name not in SOLVED]


@pytest.mark.parametrize("competition_id", SOLVED)
def test_beats_the_sample_submission_on_the_twin(place, twins, competition_id):
    assert_solved(place, twins(competition_id), minutes="0.5")


@pytest.mark.slow
@pytest.mark.parametrize("competition_id", OTHERS)
def test_beats_the_sample_submission_on_the_other_twins(place, twins, competition_id):
    if competition_id in NOT_BEATEN:
        dataset = twins(competition_id)
        assert place.run("baseline", dataset.public, AGENT_MAX_MINUTES="1").returncode == 0
        assert grade(place.submission, dataset).valid_submission
    else:
        assert_solved(place, twins(competition_id), minutes="1")


def assert_solved(place, dataset, minutes):
    """Run the baseline on a twin; its submission must be valid and better than the sample submission."""
    done = place.run("baseline", dataset.public, AGENT_MAX_MINUTES=minutes)
    assert done.returncode == 0, done.stderr
    found = grade(place.submission, dataset)
    assert found.score is not None, done.stdout + done.stderr
    sample = dataset.manifest()["sample_score"]  # None if the metric is not defined for it
    sign = 1 if dataset.competition.metric.higher_is_better else -1
    assert sample is None or sign * found.score > sign * sample, done.stdout + done.stderr


def write_river(folder, rows=300, metric="the root mean squared error", target="Gauge (cm)", form="number"):
    """A competition of odd names whose target follows from its columns."""
    rng = np.random.default_rng(5)
    folder.mkdir(exist_ok=True)
    rain, kind = rng.gamma(2, 10, rows), rng.choice(["gorge", "plain", "Ünder Wäter"], rows)
    level = 3 * rain + 40 * (kind == "gorge") + rng.normal(0, 2, rows)
    answer = level if form == "number" else np.where(level > np.median(level), "flood", "dry")
    table = pd.DataFrame(
        {
            "Obs. №": [f"x-{number:05d}" for number in rng.permutation(rows)],
            "rain; mm": rain,
            "bank kind": pd.Series(kind).where(rng.random(rows) > 0.05),
            "when": pd.date_range("2001-02-03", periods=rows, freq="7h").astype(str),
            "nothing": np.nan,
            target: answer,
        }
    )
    train, test = table[: rows * 2 // 3], table[rows * 2 // 3 :]
    train.to_csv(folder / "past.csv", index=False)
    test.drop(columns=target).to_csv(folder / "future.csv", index=False)
    sample = test[["Obs. №"]].assign(**{target: 0.0 if form == "number" else "dry"}).sample(frac=1, random_state=0)
    sample.to_csv(folder / "sample_submission.csv", index=False)
    (folder / "description.md").write_text(f"# Rivers\n\n## Metric\n\nThe metric is {metric}.\n")
    return test.set_index("Obs. №")[target], sample


def test_an_unknown_regression(place, tmp_path):
    truth, sample = write_river(tmp_path / "data")
    done = place.run("baseline", tmp_path / "data", **QUICK)
    found = pd.read_csv(place.submission)
    assert list(found.columns) == list(sample.columns)
    assert list(found["Obs. №"]) == list(sample["Obs. №"]), "the sample's order"
    errors = found["Gauge (cm)"].to_numpy() - truth.loc[found["Obs. №"]].to_numpy()
    assert np.sqrt((errors**2).mean()) < 0.3 * truth.std(), done.stdout + done.stderr


@pytest.mark.parametrize("metric", ["accuracy", "the area under the ROC curve"])
def test_an_unknown_classification_writes_what_the_metric_wants(place, tmp_path, metric):
    truth, _ = write_river(tmp_path / "data", metric=metric, target="state", form="class")
    done = place.run("baseline", tmp_path / "data", **QUICK)
    found = pd.read_csv(place.submission)
    flooded = (truth.loc[found["Obs. №"]] == "flood").to_numpy()
    if metric == "accuracy":
        assert set(found["state"]) == {"dry", "flood"}, done.stdout + done.stderr
        assert ((found["state"] == "flood").to_numpy() == flooded).mean() > 0.9
    else:
        assert found["state"].between(0, 1).all(), done.stdout + done.stderr
        assert found["state"][flooded].mean() > found["state"][~flooded].mean() + 0.5


@pytest.mark.parametrize("packed", [False, True])
def test_class_probabilities_sum_to_one(place, tmp_path, packed):
    data, rng = tmp_path / "data", np.random.default_rng(0)
    data.mkdir()
    size = rng.normal(size=240)
    kind = np.array(["ant", "bee", "cat"])[np.digitize(size, [-0.5, 0.5])]
    train = pd.DataFrame({"no": np.arange(160), "size": size[:160], "beast": kind[:160]})
    train.to_csv(data / "train.csv", index=False)
    pd.DataFrame({"no": np.arange(160, 240), "size": size[160:]}).to_csv(data / "test.csv", index=False)
    sample = pd.DataFrame({"no": np.arange(160, 240)}).assign(cat=1 / 3, ant=1 / 3, bee=1 / 3)
    if packed:
        with zipfile.ZipFile(data / "sampleSubmission.csv.zip", "w") as archive:
            archive.writestr("sampleSubmission.csv", sample.to_csv(index=False))
    else:
        sample.to_csv(data / "sampleSubmission.csv", index=False)
    (data / "description.md").write_text("## Evaluation\n\nMulti-class logarithmic loss.\n")
    done = place.run("baseline", data, **QUICK)
    found = pd.read_csv(place.submission)
    assert list(found.columns) == ["no", "cat", "ant", "bee"]
    assert np.allclose(found[["cat", "ant", "bee"]].sum(axis=1), 1, atol=1e-9)
    assert (found[["cat", "ant", "bee"]].idxmax(axis=1) == kind[160:]).mean() > 0.9, done.stdout + done.stderr


def break_nothing_to_learn(data):
    (data / "past.csv").unlink()


def break_train_is_junk(data):
    (data / "past.csv").write_bytes(b'\x00\xff\xfe,junk\n\n\n"')


def break_one_training_row(data):
    lines = (data / "past.csv").read_text().splitlines()
    (data / "past.csv").write_text("\n".join(lines[:2]) + "\n")


def break_test_is_empty(data):
    (data / "future.csv").write_text("")


def break_description_is_missing(data):
    (data / "description.md").unlink()


def break_target_is_constant(data):
    table = pd.read_csv(data / "past.csv")
    table["Gauge (cm)"] = 7
    table.to_csv(data / "past.csv", index=False)


BREAKS = [
    break_nothing_to_learn,
    break_train_is_junk,
    break_one_training_row,
    break_test_is_empty,
    break_description_is_missing,
    break_target_is_constant,
]


@pytest.mark.parametrize("damage", BREAKS, ids=lambda function: function.__name__)
def test_odd_data_still_leave_a_submission_of_the_samples_form(place, tmp_path, damage):
    data = tmp_path / "data"
    _, sample = write_river(data)
    damage(data)
    done = place.run("baseline", data, **QUICK)
    assert done.returncode == 0, done.stderr
    found = pd.read_csv(place.submission)
    assert list(found.columns) == list(sample.columns)
    assert list(found["Obs. №"]) == list(sample["Obs. №"])
    assert np.isfinite(found["Gauge (cm)"]).all()


def test_without_a_sample_submission_it_says_so(place, tmp_path):
    (tmp_path / "data").mkdir()
    done = place.run("baseline", tmp_path / "data", **QUICK)
    assert done.returncode == 1
    assert "no sample submission" in done.stderr


class Strict(BaseHTTPRequestHandler):
    """A validation service that takes whole numbers only, and says so with the status `refusal`."""

    refusal = 200

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        text = body.split("\r\n\r\n", 1)[1].rsplit("\r\n--", 1)[0]
        cells = [row[1] for row in csv.reader(text.splitlines()[1:])]
        valid = all(cell.lstrip("-").isdigit() for cell in cells)
        self.send_response(200 if valid else self.refusal)
        self.end_headers()
        self.wfile.write(json.dumps({"result": "" if valid else "only whole numbers", "is_valid": valid}).encode())

    def log_message(self, format, *args):
        pass


@pytest.mark.parametrize("status", [200, 400])
def test_a_refused_form_is_replaced_by_one_that_is_taken(place, tmp_path, monkeypatch, status):
    truth, _ = write_river(tmp_path / "data")
    monkeypatch.setattr(Strict, "refusal", status)
    with HTTPServer(("127.0.0.1", 0), Strict) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/validate"
        done = place.run("baseline", tmp_path / "data", VALIDATION_URL=url, **QUICK)
        server.shutdown()
    found = pd.read_csv(place.submission)
    assert "only whole numbers" in done.stdout
    assert pd.api.types.is_integer_dtype(found["Gauge (cm)"])
    assert np.corrcoef(found["Gauge (cm)"], truth.loc[found["Obs. №"]])[0, 1] > 0.9


def test_no_competition_is_known_by_its_name():
    from mlebench import agents

    code = "\n".join(path.read_text() for path in agents.get("baseline").folder.rglob("*.py")).lower()
    for competition_id in catalog.competitions():
        assert competition_id.lower() not in code
    assert "competition_id" not in code
    assert "import mlebench" not in code
    assert "from mlebench" not in code


def test_what_was_handed_in_stands_when_time_is_over(place, tmp_path):
    _, sample = write_river(tmp_path / "data", rows=300_000)
    done = place.run("baseline", tmp_path / "data", TIME_LIMIT_SECS="2")
    assert done.returncode == 0, done.stderr
    assert "stopped after" in done.stdout
    assert len(pd.read_csv(place.submission)) == len(sample)
