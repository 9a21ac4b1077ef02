"""Freesound: the labels of the test come from an archive that may have to be downloaded; strays become public in v1."""

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from mlebench import catalog
from mlebench.errors import PreparationError

COMPETITION = catalog.get("freesound-audio-tagging-2019")
ARCHIVE = "FSDKaggle2019.meta.zip"


@pytest.fixture
def folders(tmp_path):
    """Raw files of a small twin, and empty folders for public and private files."""
    raw, public, private = (tmp_path / name for name in ("raw", "public", "private"))
    for folder in (raw, public, private):
        folder.mkdir()
    COMPETITION.make_raw(raw, np.random.default_rng(0), 4)
    return raw, public, private


@pytest.fixture
def url(tmp_path):
    """A web server for the folder `web`."""
    (tmp_path / "web").mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "web")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{ARCHIVE}"
    server.shutdown()
    server.server_close()


def test_a_missing_archive_is_downloaded(folders, url, tmp_path, monkeypatch):
    raw, public, private = folders
    COMPETITION.prepare(raw=raw, public=public, private=private)
    expected = (private / "test.csv").read_bytes()
    shutil.rmtree(public)
    public.mkdir()
    (raw / ARCHIVE).rename(tmp_path / "web" / ARCHIVE)
    monkeypatch.setattr(COMPETITION._module("prepare.py"), "METADATA_URL", url)
    COMPETITION.prepare(raw=raw, public=public, private=private)
    assert (private / "test.csv").read_bytes() == expected
    assert not (raw / ARCHIVE).exists()


def test_a_failed_download_says_where_the_file_belongs(folders, url, monkeypatch):
    raw, public, private = folders
    (raw / ARCHIVE).unlink()
    monkeypatch.setattr(COMPETITION._module("prepare.py"), "METADATA_URL", url)
    with pytest.raises(PreparationError, match=f"Put the file there as {ARCHIVE}"):
        COMPETITION.prepare(raw=raw, public=public, private=private)


@pytest.mark.parametrize(("edition", "public_too"), [("v1", True), ("v2", False)])
def test_strays_become_public_in_v1_only(folders, edition, public_too):
    raw, public, private = folders
    shutil.copy(raw / ARCHIVE, raw / "copy.zip")
    COMPETITION.in_edition(edition).prepare(raw=raw, public=public, private=private)
    assert (public / "copy.zip").exists() == public_too
    assert not (public / ARCHIVE).exists()


def test_labels_that_do_not_belong_to_the_sample_submission_are_refused(folders):
    raw, public, private = folders
    sample = (raw / "sample_submission.csv").read_text().splitlines()
    (raw / "sample_submission.csv").write_text("\n".join(sample[:-1]) + "\n")
    with pytest.raises(PreparationError, match="their names differ"):
        COMPETITION.prepare(raw=raw, public=public, private=private)
