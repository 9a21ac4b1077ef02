"""Hashes of many files."""

import hashlib
import os

from blake3 import blake3

from mlebench.preparation import progress
from mlebench.preparation.verification.hashing import Digest, digests


class Recorder:
    """A display that counts."""

    def __init__(self):
        self.total = self.done = 0

    def start(self, _text, total, unit):
        self.total, self.unit = total, unit
        return 0

    def advance(self, _step, amount):
        self.done += amount

    def finish(self, _step):
        pass


def test_files_of_all_sizes(tmp_path):
    sizes = [0, 1, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9 << 20, *range(10, 700)]
    contents = {f"{size}.bin": os.urandom(size) for size in sizes}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    recorder = Recorder()
    with progress.shown_on(recorder):
        found = digests({name: tmp_path / name for name in contents}, needs_md5={"1.bin", "10.bin"})
    assert list(found) == list(contents)
    for name, content in contents.items():
        md5 = hashlib.md5(content).hexdigest() if name in ("1.bin", "10.bin") else ""
        assert found[name] == Digest(len(content), blake3(content).hexdigest(), md5)
    assert (recorder.unit, recorder.total, recorder.done) == ("B", sum(sizes), sum(sizes))


def test_an_inode_is_read_once(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    os.link(tmp_path / "a", tmp_path / "b")
    recorder = Recorder()
    with progress.shown_on(recorder):
        found = digests({"a": tmp_path / "a", "b": tmp_path / "b"}, needs_md5={"b"})
    assert found["a"] == found["b"]
    assert found["b"].md5 == hashlib.md5(b"content").hexdigest()
    assert recorder.total == len(b"content")


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(tmp_path):
    (tmp_path / "good").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    found = digests({name: tmp_path / name for name in ("missing", "folder", "good")})
    assert isinstance(found["missing"], FileNotFoundError)
    assert isinstance(found["folder"], IsADirectoryError)
    assert found["good"].size == 1
