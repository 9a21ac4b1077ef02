"""7z archives: what is written comes out again, what others wrote is read, what is damaged or hostile is refused."""

import io
import lzma
import shutil
import stat
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py7zr import SevenZipFile

from mlebench.errors import PreparationError
from mlebench.preparation.files import unpack
from mlebench.preparation.seven_zip import un7zip, write_7z

# Made by py7zr with x86 and LZMA2, its default, and a packed header.
BY_OTHERS = Path(__file__).parent.parent / "conformance" / "fixtures" / "invasive-species-monitoring" / "raw.zip"
# Made by py7zr, too: one file "a.txt" with the content "hello, hello, hello", packed by different methods.
SMALL = {
    "copied": (
        "377abcaf271c000488a9d1df13000000000000004200000000000000ae342c1668656c6c6f2c2068656c6c6f2c2068656c6c"
        "6f0104060001091300070b01000101000c1300080a019fa1ca0900000501110d0061002e007400780074000000140a010050"
        "8bc997d679dd0115060100208080810000"
    ),
    "LZMA": (
        "377abcaf271c0004f81b255d13000000000000004a00000000000000b100a88600341949ee8def8c87327f5db7ffffbc6400"
        "000104060001091300070b01000123030101055d000000010c1300080a019fa1ca0900000501110d0061002e007400780074"
        "000000140a010070cdd097d679dd0115060100208080810000"
    ),
    "LZMA2 after delta": (
        "377abcaf271c0004aa92bf1c17000000000000004e000000000000000ed5ff6de00012000f5d0034193c804fe7978ff5cab1"
        "cb27a000000104060001091700070b010002212101182103010101000c131300080a019fa1ca0900000501190100110d0061"
        "002e007400780074000000140a01005070d797d679dd0115060100208080810000"
    ),
    "BZip2": (
        "377abcaf271c0004847799f02d0000000000000044000000000000001ec3bccf425a68393141592653599c453ed300000391"
        "0040040244a00021223030065227e454585dc914e142427114fb4c0104060001092d00070b010001030402020c1300080a01"
        "9fa1ca0900000501110d0061002e007400780074000000140a0100700ed997d679dd0115060100208080810000"
    ),
}

NAMES = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="/\\:."), min_size=1, max_size=8)
FAST = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(path, members):
    write_7z(path, ((name, io.BytesIO(content)) for name, content in members.items()))
    return path


def read(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@FAST
@given(st.dictionaries(NAMES, st.binary(max_size=300), max_size=12))
def test_what_is_written_comes_out_again(tmp_path_factory, members):
    folder = tmp_path_factory.mktemp("7z")
    members = {f"folder/{name}": content for name, content in members.items()}
    un7zip(write(folder / "a.7z", members), folder / "out")
    assert read(folder / "out") == members


def test_files_larger_than_a_chunk_and_numbers_of_several_bytes(tmp_path):
    members = {f"{n}": bytes([n % 251]) * n * n for n in range(0, 1500, 97)}
    archive = write(tmp_path / "a.7z", members)
    un7zip(archive, tmp_path / "out")
    assert read(tmp_path / "out") == members
    assert archive.read_bytes() == write(tmp_path / "b.7z", members).read_bytes()


@pytest.mark.parametrize("kind", SMALL)
def test_archives_of_each_method(kind, tmp_path):
    (tmp_path / "a.7z").write_bytes(bytes.fromhex(SMALL[kind]))
    un7zip(tmp_path / "a.7z", tmp_path / "out")
    assert read(tmp_path / "out") == {"a.txt": b"hello, hello, hello"}


@pytest.fixture
def by_others(tmp_path):
    with zipfile.ZipFile(BY_OTHERS) as raw:
        (tmp_path / "train.7z").write_bytes(raw.read("train.7z"))
    return tmp_path / "train.7z"


def test_an_archive_that_others_wrote(by_others, tmp_path):
    found = read(unpack(tmp_path, "train.7z"))
    assert set(found) == {f"train/{number}.jpg" for number in range(1, 51)}
    assert all(content.startswith(b"\xff\xd8") and content.endswith(b"\xff\xd9") for content in found.values())


@pytest.mark.parametrize("length", [0, 5, 31, 32, 33, 500, -1])
def test_what_is_cut_off_is_refused(by_others, tmp_path, length):
    by_others.write_bytes(by_others.read_bytes()[:length])
    with pytest.raises(PreparationError, match="no readable 7z archive"):
        un7zip(by_others, tmp_path / "out")


@FAST
@given(st.integers(0, 2945), st.integers(1, 255))
def test_a_changed_byte_is_noticed(by_others, tmp_path, place, change):
    content = bytearray(by_others.read_bytes())
    content[place % len(content)] ^= change
    (tmp_path / "changed.7z").write_bytes(content)
    if place in (6, 7):  # the version of the format
        return
    with pytest.raises(PreparationError):
        un7zip(tmp_path / "changed.7z", tmp_path / "out")


@FAST
@given(st.data())
def test_headers_of_garbage_are_refused(tmp_path, data):
    """Checksums are right, so that the header's content is what is looked at."""
    header = bytearray(_header(_with_plain_header(tmp_path / "a.7z", {"a": b"x" * 50, "b": b"", "c": b"yz"})))
    for _ in range(data.draw(st.integers(1, 3))):
        header[data.draw(st.integers(0, len(header) - 1))] = data.draw(st.integers(0, 255))
    _replace_header(tmp_path / "a.7z", bytes(header))
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    try:
        un7zip(tmp_path / "a.7z", tmp_path / "out")
    except PreparationError:
        return


@pytest.mark.parametrize("name", ["../evil.txt", "/evil.txt", "a/../../evil.txt", "..\\evil.txt", "C:/evil.txt"])
def test_paths_outside_are_refused(name, tmp_path):
    archive = _with_plain_header(tmp_path / "a.7z", {"good.txt": b"x", "?" * len(name): b"x"})
    _replace_header(archive, _header(archive).replace(("?" * len(name)).encode("utf-16-le"), name.encode("utf-16-le")))
    with pytest.raises(PreparationError, match="outside"):
        un7zip(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_links_are_refused(tmp_path):
    header = _header(_with_plain_header(tmp_path / "a.7z", {"link": b"/etc/passwd"}))
    mode = struct.pack("<H", stat.S_IFREG | 0o600)
    assert header.count(mode) == 1
    _replace_header(tmp_path / "a.7z", header.replace(mode, struct.pack("<H", stat.S_IFLNK | 0o777)))
    with pytest.raises(PreparationError, match="'link' is a link"):
        un7zip(tmp_path / "a.7z", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("with_header", [False, True])
def test_encrypted_archives_are_refused(with_header, tmp_path):
    with SevenZipFile(tmp_path / "a.7z", "w", password="secret", header_encryption=with_header) as archive:
        archive.writestr("x", "a.txt")
    with pytest.raises(PreparationError, match=r"a\.7z is encrypted"):
        un7zip(tmp_path / "a.7z", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_methods_that_are_not_read_are_named(tmp_path):
    header = _header(_with_plain_header(tmp_path / "a.7z", {"a": b"x"}))
    lzma2, bcj2 = bytes([0x21, 0x21]), bytes([0x24, 0x03, 0x03, 0x01, 0x1B])  # both with settings
    assert header.count(lzma2) == 1
    _replace_header(tmp_path / "a.7z", header.replace(lzma2, bcj2))
    with pytest.raises(PreparationError, match="unsupported method: BCJ2"):
        un7zip(tmp_path / "a.7z", tmp_path / "out")


def test_too_little_disk_is_noticed_before_anything_is_written(tmp_path, monkeypatch):
    archive = write(tmp_path / "a.7z", {"a": bytes(2000), "b": bytes(3000)})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9000, 5000, 4999))
    with pytest.raises(PreparationError, match=r"unpacks to 5,000 bytes, .* has 4,999 free"):
        un7zip(archive, tmp_path / "out")
    assert not read(tmp_path / "out")


def test_several_blocks_and_folders(tmp_path):
    (tmp_path / "empty").mkdir()
    with SevenZipFile(tmp_path / "a.7z", "w") as archive:
        archive.write(tmp_path / "empty", "nothing")
        archive.writestr("a.txt" * 100, "a.txt")
    with SevenZipFile(tmp_path / "a.7z", "a") as archive:
        archive.writestr("folder/b.txt" * 100, "folder/b.txt")
    un7zip(tmp_path / "a.7z", tmp_path / "out")
    assert read(tmp_path / "out") == {name: name.encode() * 100 for name in ("a.txt", "folder/b.txt")}
    assert (tmp_path / "out" / "nothing").is_dir()


def test_everybody_may_read_what_is_unpacked(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "folder" / "a.txt").touch(mode=0o600)
    with SevenZipFile(tmp_path / "a.7z", "w") as archive:
        archive.writeall(tmp_path / "folder", "folder")
    un7zip(tmp_path / "a.7z", tmp_path / "out")
    modes = [stat.S_IMODE((tmp_path / "out" / name).stat().st_mode) for name in ("folder", "folder/a.txt")]
    assert modes == [0o755, 0o644]


def test_members_that_are_written_are_readable_for_everybody(tmp_path):
    with SevenZipFile(write(tmp_path / "a.7z", {"a": b"x", "b": b""})) as archive:
        assert [member.posix_mode for member in archive.files] == [0o644, 0o644]


def test_archives_without_members(tmp_path):
    un7zip(write(tmp_path / "a.7z", {}), tmp_path / "out")
    assert read(tmp_path / "out") == {}


def _with_plain_header(archive, members):
    with SevenZipFile(archive, "w", filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}]) as opened:
        opened.set_encoded_header_mode(False)
        for name, content in members.items():
            opened.writestr(content, name)
        for member in opened.files:
            member.file_properties()["attributes"] = (stat.S_IFREG | 0o600) << 16 | 0x8020
    return archive


def _header(archive):
    content = archive.read_bytes()
    offset, size = struct.unpack("<QQ", content[12:28])
    return content[32 + offset : 32 + offset + size]


def _replace_header(archive, header):
    content = archive.read_bytes()
    (offset,) = struct.unpack("<Q", content[12:20])
    start = struct.pack("<QQI", offset, len(header), zlib.crc32(header))
    checksum = struct.pack("<I", zlib.crc32(start))
    archive.write_bytes(content[:8] + checksum + start + content[32 : 32 + offset] + header)


def test_what_is_there_is_not_unpacked_again(tmp_path):
    archive = write(tmp_path / "a.7z", {"a": b"one", "d/b": b"two", "empty": b""})
    un7zip(archive, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.is_file()}
    un7zip(archive, tmp_path / "out")
    assert all(path.stat().st_mtime_ns == moment for path, moment in before.items())


@pytest.mark.parametrize("content", [b"eno", b"on"])
def test_what_is_wrong_is_unpacked_again_and_never_through_a_link(tmp_path, content):
    archive = write(tmp_path / "a.7z", {"a": b"one", "b": b"two"})
    un7zip(archive, tmp_path / "out")
    (tmp_path / "mine").write_bytes(content)
    (tmp_path / "out" / "a").unlink()
    (tmp_path / "out" / "a").hardlink_to(tmp_path / "mine")
    un7zip(archive, tmp_path / "out")
    assert read(tmp_path / "out") == {"a": b"one", "b": b"two"}
    assert (tmp_path / "mine").read_bytes() == content


@pytest.mark.parametrize("names", [("a", "a"), ("a", "./a"), ("b/a", "b")])
def test_two_members_at_one_place_are_refused(tmp_path, names):
    write_7z(tmp_path / "a.7z", ((name, io.BytesIO(b"x")) for name in names))
    with pytest.raises(PreparationError, match=r"has the place of another|is a file where others need a folder"):
        un7zip(tmp_path / "a.7z", tmp_path / "out")
    assert not (tmp_path / "out").exists()
