"""Tar archives and single packed files: what is extracted, and what is refused by name before anything is written."""

import bz2
import gzip
import io
import lzma
import os
import shutil
import tarfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives import extract, unzip

PACKERS = {"tar": bytes, "tar.gz": gzip.compress, "tar.bz2": bz2.compress, "tar.xz": lzma.compress}
SINGLE = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
NAME = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\:."), min_size=1, max_size=60)
FAST = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MEMBERS = {"a/b.txt": b"text " * 1000, "c": b"", "d": os.urandom(3000), "e/" + "long" * 40 + "/f": b"x"}


def tar_of(members):
    """The bytes of a tar archive; a member is a content by its name, or a TarInfo."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", encoding="utf-8") as archive:
        for name, content in members.items():
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def odd(name, kind, **facts):
    info = tarfile.TarInfo(name)
    info.type = kind
    for fact, value in facts.items():
        setattr(info, fact, value)
    return info


def read(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(archive, folder, match):
    with pytest.raises(PreparationError, match=match) as caught:
        extract(archive, folder)
    assert archive.name in str(caught.value)
    assert not folder.exists() or not read(folder)


@pytest.mark.parametrize("ending", PACKERS)
def test_tar(tmp_path, ending):
    folder = tarfile.TarInfo("empty")
    folder.type = tarfile.DIRTYPE
    (tmp_path / f"a.{ending}").write_bytes(PACKERS[ending](tar_of({**MEMBERS, folder: b""})))
    extract(tmp_path / f"a.{ending}", tmp_path / "out")
    assert read(tmp_path / "out") == MEMBERS
    assert (tmp_path / "out" / "empty").is_dir()


@FAST
@given(st.dictionaries(NAME, st.binary(max_size=2000), max_size=8), st.sampled_from(sorted(PACKERS)))
def test_any_files_come_out_as_they_went_in(tmp_path, files, ending):
    members = {f"folder/{name}": content for name, content in files.items()}
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    (tmp_path / "archive").write_bytes(PACKERS[ending](tar_of(members)))
    if members:
        extract(tmp_path / "archive", tmp_path / "out")
        assert read(tmp_path / "out") == members


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["tar.gz", "tar.bz2", "tar.xz"]), st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_changes_nothing(tmp_path, ending, place, change):
    members = {"a/b.txt": b"text " * 30, "c": b"", "d": bytes(range(256))}
    content = bytearray(PACKERS[ending](tar_of(members)))
    content[int(place * len(content))] ^= change
    (tmp_path / "a").write_bytes(content)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    try:
        extract(tmp_path / "a", tmp_path / "out")
    except PreparationError:
        return
    assert read(tmp_path / "out") == members


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_what_is_cut_off_is_refused(tmp_path, ending, share):
    content = tar_of({f"{n}": os.urandom(512) for n in range(10)})[: 20 * 512 + 1024]
    packed = PACKERS[ending](content)
    archive = tmp_path / f"a.{ending}"
    archive.write_bytes(packed[: int(share * len(packed)) // 512 * 512])  # between members, too
    refused(archive, tmp_path / "out", "damaged|no archive")


def test_a_damaged_header_is_not_taken_for_the_end(tmp_path):
    content = bytearray(tar_of({"a": b"1", "b": b"2", "c": b"3"}))
    content[1024 + 10] ^= 1
    (tmp_path / "a.tar").write_bytes(content)
    refused(tmp_path / "a.tar", tmp_path / "out", "damaged.* header at byte 1,024")


@pytest.mark.parametrize("name", ["../e", "/e", "a/../../e", "..\\e", "C:/e", ".."])
def test_paths_outside(tmp_path, name):
    (tmp_path / "a.tgz").write_bytes(gzip.compress(tar_of({"good": b"x", name: b"x"})))
    refused(tmp_path / "a.tgz", tmp_path / "out", "outside the folder")


@pytest.mark.parametrize(
    ("member", "match"),
    [
        (odd("odd", tarfile.SYMTYPE, linkname="/etc/passwd"), "'odd' is a link to '/etc/passwd'"),
        (odd("odd", tarfile.LNKTYPE, linkname="good"), "'odd' is a link to 'good'"),
        (odd("odd", tarfile.CHRTYPE), "'odd' is neither a file nor a folder"),
        (odd("odd", tarfile.BLKTYPE), "'odd' is neither a file nor a folder"),
        (odd("odd", tarfile.FIFOTYPE), "'odd' is neither a file nor a folder"),
    ],
)
def test_what_is_no_file(tmp_path, member, match):
    (tmp_path / "a.tar").write_bytes(tar_of({"good": b"x", member: b""}))
    refused(tmp_path / "a.tar", tmp_path / "out", match)


@pytest.mark.parametrize(
    ("names", "match"),
    [(["a", "./a"], "'./a' has the place of another, 'a'"), (["a", "a/b"], "'a' is a file where others need a folder")],
)
def test_two_members_at_one_place(tmp_path, names, match):
    (tmp_path / "a.tar").write_bytes(tar_of(dict.fromkeys(names, b"x")))
    refused(tmp_path / "a.tar", tmp_path / "out", match)


def test_more_than_the_disk_holds(tmp_path, monkeypatch):
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(tar_of({"a": bytes(2000), "b": bytes(3000)})))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9000, 5000, 4999))
    refused(tmp_path / "a.tar.gz", tmp_path / "out", r"unpacks to 5,000 bytes, .* has 4,999 free")


def test_names_in_other_encodings(tmp_path):
    content = tar_of({"??.txt": b"1", "ä.txt": b"2"})
    start = content.index(b"??.txt")
    header = bytearray(content[start : start + 512])
    header[:6] = b"\xe4\xfc.txt"  # Latin-1
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    (tmp_path / "a.tar").write_bytes(content[:start] + bytes(header) + content[start + 512 :])
    extract(tmp_path / "a.tar", tmp_path / "out")
    assert read(tmp_path / "out") == {"äü.txt": b"1", "ä.txt": b"2"}
    assert all(name.encode() for name in read(tmp_path / "out"))


def test_what_is_there_is_written_anew_and_never_through_a_link(tmp_path):
    (tmp_path / "a.tar").write_bytes(tar_of({"a": b"new", "b": b"new"}))
    (tmp_path / "out").mkdir()
    (tmp_path / "mine").write_bytes(b"old")
    os.link(tmp_path / "mine", tmp_path / "out" / "a")
    (tmp_path / "out" / "b").symlink_to(tmp_path / "mine")
    extract(tmp_path / "a.tar", tmp_path / "out")
    assert read(tmp_path / "out") == {"a": b"new", "b": b"new"}
    assert (tmp_path / "mine").read_bytes() == b"old"


@pytest.mark.parametrize("ending", SINGLE)
def test_single_files(tmp_path, ending):
    content = b"a,b\n1,2\n" * 300_000
    archive = tmp_path / f"table.csv.{ending}"
    archive.write_bytes(SINGLE[ending](content))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "table.csv").write_bytes(b"half")
    extract(archive, tmp_path / "out")
    assert read(tmp_path / "out") == {"table.csv": content}
    archive.write_bytes(archive.read_bytes()[:-20])
    shutil.rmtree(tmp_path / "out")
    refused(archive, tmp_path / "out", "damaged")


def test_a_single_file_that_fills_the_disk(tmp_path, monkeypatch):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(64 << 20)))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9000, 0, 3 << 20))
    refused(tmp_path / "bomb.gz", tmp_path / "out", "'bomb' unpacks to more than 3,145,728 bytes")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "no archive that is known"),
        (b"<!DOCTYPE html>" * 100, "no archive that is known"),
        (b"Rar!\x1a\x07" + bytes(600), "RAR archive, which is not unpacked"),
        (b"\x28\xb5\x2f\xfd" + bytes(600), "compressed by zstd, which is not unpacked"),
        (bytes(5000), "no archive that is known"),
    ],
)
def test_what_is_no_archive(tmp_path, content, match):
    (tmp_path / "a.zip").write_bytes(content)
    refused(tmp_path / "a.zip", tmp_path / "out", match)


def test_a_missing_archive(tmp_path):
    refused(tmp_path / "a.zip", tmp_path / "out", r"a\.zip can't be read: No such file")


def test_a_zip_is_asked_for_and_something_else_found(tmp_path):
    (tmp_path / "a.zip").write_bytes(gzip.compress(b"x"))
    with pytest.raises(PreparationError, match=r"a\.zip is no zip archive, but a gzip archive by its content"):
        unzip(tmp_path / "a.zip", tmp_path / "out")


class Texts:
    """A display that keeps what it is told."""

    def __init__(self):
        self.texts, self.left = [], []

    def start(self, text, total, unit):  # noqa: ARG002
        self.texts.append(text)
        self.left.append(total)
        return len(self.texts) - 1

    def advance(self, step, amount):
        self.left[step] -= amount

    def finish(self, step):
        pass


def test_a_name_that_promises_something_else_is_said(tmp_path):
    display = Texts()
    (tmp_path / "a.zip").write_bytes(gzip.compress(tar_of(MEMBERS)))
    (tmp_path / "b.tar.gz").write_bytes(tar_of(MEMBERS))
    (tmp_path / "c.tar").write_bytes(tar_of(MEMBERS))
    with progress.shown_on(display):
        for name in ("a.zip", "b.tar.gz", "c.tar"):
            extract(tmp_path / name, tmp_path / f"out-{name}")
            assert read(tmp_path / f"out-{name}") == MEMBERS
    assert display.texts[1::2] == [
        "unpacking a.zip (a gzip archive by its content)",
        "unpacking b.tar.gz (a tar archive by its content)",
        "unpacking c.tar",
    ]
    assert display.left == [0] * 6
