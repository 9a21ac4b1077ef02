"""Zip archives: what is extracted, what goes on where it stopped, and what is refused by name before anything."""

import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inflate64 import Deflater

from mlebench.errors import PreparationError
from mlebench.preparation.archives import extract, unzip

LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
FAST = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAME = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\:"), min_size=1, max_size=6)
TREES = st.recursive(
    st.binary(max_size=300), lambda inner: st.dictionaries(NAME, inner, max_size=4), max_leaves=12
).filter(lambda tree: isinstance(tree, dict))


def write(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, content)
    return path


def read(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def flat(tree, before=""):
    """Path and content of each file of a tree, and of each empty folder."""
    for name, inner in tree.items():
        if isinstance(inner, dict):
            yield f"{before}{name}/", b""
            yield from flat(inner, f"{before}{name}/")
        else:
            yield before + name, inner


def set_in_headers(path, offset_in_local, offset_in_central, value):
    """Overwrite a field in both headers of every member."""
    content = bytearray(path.read_bytes())
    for signature, offset in ((LOCAL, offset_in_local), (CENTRAL, offset_in_central)):
        place = content.find(signature)
        while place >= 0:
            content[place + offset : place + offset + len(value)] = value
            place = content.find(signature, place + 4)
    path.write_bytes(content)
    return path


def refused(archive, folder, match):
    with pytest.raises(PreparationError, match=match) as caught:
        unzip(archive, folder)
    assert archive.name in str(caught.value)
    assert not folder.exists() or not read(folder)


@FAST
@given(TREES, st.sampled_from(METHODS))
def test_any_tree_comes_out_as_it_went_in(tmp_path, tree, method):
    files = {name: content for name, content in flat(tree) if name.strip("./") and "." not in Path(name).parts}
    files = {name: content for name, content in files.items() if not {"..", "."} & set(name.split("/"))}
    for folder in ("out", "tree"):
        shutil.rmtree(tmp_path / folder, ignore_errors=True)
    unzip(write(tmp_path / "a.zip", files, method), tmp_path / "out")
    assert read(tmp_path / "out") == {name: content for name, content in files.items() if not name.endswith("/")}
    assert all((tmp_path / "out" / name).is_dir() for name in files if name.endswith("/"))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(METHODS), st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_changes_nothing(tmp_path, method, place, change):
    members = {"a/ä.txt": b"some text, some text", "b.bin": bytes(range(64)), "empty": b"", "folder/": b""}
    archive = write(tmp_path / "a.zip", members, method)
    content = bytearray(archive.read_bytes())
    content[int(place * len(content))] ^= change
    archive.write_bytes(content)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    try:
        unzip(archive, tmp_path / "out")
    except PreparationError:
        return
    assert read(tmp_path / "out") == {name: data for name, data in members.items() if not name.endswith("/")}


@pytest.mark.parametrize("length", [0, 1, 21, 22, 60, 200, -1, -22])
def test_what_is_cut_off_is_refused(tmp_path, length):
    archive = write(tmp_path / "a.zip", {f"{n}.txt": b"x" * n for n in range(30)})
    archive.write_bytes(archive.read_bytes()[:length])
    refused(archive, tmp_path / "out", r"a\.zip")


def test_zip64(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a", "b"):
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(name.encode() * 5000)
    unzip(tmp_path / "a.zip", tmp_path / "out")
    assert read(tmp_path / "out") == {name: name.encode() * 5000 for name in ("a", "b")}


@pytest.mark.slow
def test_more_than_four_gigabytes_and_65535_members(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("large", "w", force_zip64=True) as member:
            for _ in range(4097):
                member.write(bytes(1 << 20))
        for number in range(66_000):
            archive.writestr(zipfile.ZipInfo(f"{number % 100}/{number}"), b"x")
    unzip(tmp_path / "a.zip", tmp_path / "out")
    assert (tmp_path / "out" / "large").stat().st_size == 4097 << 20
    assert len(list((tmp_path / "out").glob("*/*"))) == 66_000
    shutil.rmtree(tmp_path / "out")


@pytest.mark.parametrize("method", METHODS)
def test_large_members_are_unpacked_piece_by_piece(tmp_path, method):
    content = b"".join(b"%d," % number for number in range(60_000)) * 15 + bytes(3 << 20)
    unzip(write(tmp_path / "a.zip", {"large.csv": content, "small": b"x"}, method), tmp_path / "out")
    assert read(tmp_path / "out") == {"large.csv": content, "small": b"x"}


def test_deflate64(tmp_path):
    content = b"".join(b"%d," % number for number in range(100_000))
    packer = Deflater()
    packed = packer.deflate(content) + packer.flush()
    archive = write(tmp_path / "a.zip", {"a.csv": content})
    with_packed(archive, packed, method=9)
    unzip(archive, tmp_path / "out")
    assert read(tmp_path / "out") == {"a.csv": content}
    with_packed(archive, packed[: len(packed) // 2], method=9)
    shutil.rmtree(tmp_path / "out")
    refused(archive, tmp_path / "out", r"'a\.csv' is damaged")


def with_packed(archive, packed, method, size=None):
    """Replace the packed content of the only member."""
    with zipfile.ZipFile(archive) as opened:
        (info,) = opened.infolist()
    name = info.filename.encode()
    size = info.file_size if size is None else size
    facts = struct.pack("<HHHHIII", 0, method, 0, 33, info.CRC, len(packed), size)
    local = LOCAL + struct.pack("<H", 20) + facts + struct.pack("<HH", len(name), 0) + name
    central = CENTRAL + struct.pack("<HH", 20, 20) + facts + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    end = END + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(packed), 0)
    archive.write_bytes(local + packed + central + end)
    return archive


def test_archives_that_other_programs_wrote(tmp_path):
    """Streamed, so that sizes stand behind the contents."""
    (tmp_path / "in").mkdir()
    for number in range(20):
        (tmp_path / "in" / f"{number}.txt").write_text("text " * number)
    code = "import sys, zipfile\nwith zipfile.ZipFile(sys.stdout.buffer, 'w', 8) as z:\n"
    code += f" for n in range(20): z.write(f'{tmp_path}/in/{{n}}.txt', f'{{n}}.txt')"
    packed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    (tmp_path / "a.zip").write_bytes(packed.stdout)
    unzip(tmp_path / "a.zip", tmp_path / "out")
    assert read(tmp_path / "out") == read(tmp_path / "in")


# --- what is there already


def test_what_is_there_is_left_alone_and_the_rest_is_written(tmp_path):
    members = {f"d/{n}.txt": b"%d" % n * 1000 for n in range(200)} | {"large": bytes(6 << 20)}
    archive = write(tmp_path / "a.zip", members)
    unzip(archive, tmp_path / "out")
    os.utime(tmp_path / "out" / "d" / "7.txt", (1, 1))
    (tmp_path / "out" / "d" / "1.txt").write_bytes(b"9" * 1000)  # the right size
    (tmp_path / "out" / "d" / "2.txt").write_bytes(b"2" * 999)
    (tmp_path / "out" / "d" / "3.txt").unlink()
    (tmp_path / "out" / "mine").write_bytes(b"m")
    before = {path: path.stat().st_ino for path in (tmp_path / "out").rglob("*") if path.is_file()}
    unzip(archive, tmp_path / "out")
    assert read(tmp_path / "out") == members | {"mine": b"m"}
    changed = {path.name for path, inode in before.items() if path.stat().st_ino != inode or path.stat().st_mtime == 0}
    assert changed <= {"1.txt", "2.txt"}
    assert (tmp_path / "out" / "d" / "7.txt").stat().st_mtime == 1


def test_what_is_rewritten_is_never_written_through_a_link(tmp_path):
    archive = write(tmp_path / "a.zip", {"a": b"new", "b": b"new", "c": b"new"})
    (tmp_path / "out").mkdir()
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"mine")
    os.link(tmp_path / "a", tmp_path / "out" / "a")
    (tmp_path / "out" / "b").symlink_to(tmp_path / "b")
    (tmp_path / "out" / "c").symlink_to(tmp_path / "nowhere")
    unzip(archive, tmp_path / "out")
    assert read(tmp_path / "out") == dict.fromkeys("abc", b"new")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"mine"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("make", [lambda path, there: path.symlink_to(there), lambda path, _: path.write_bytes(b"x")])
def test_a_folder_that_is_something_else(tmp_path, make):
    archive = write(tmp_path / "a.zip", {"folder/a": b"new"})
    (tmp_path / "out").mkdir()
    (tmp_path / "there").mkdir()
    make(tmp_path / "out" / "folder", tmp_path / "there")
    with pytest.raises(PreparationError, match=r"a\.zip: the member 'folder' is a folder, where .* something else"):
        unzip(archive, tmp_path / "out")
    assert not list((tmp_path / "there").iterdir())


def test_a_file_that_is_a_folder(tmp_path):
    (tmp_path / "out" / "a").mkdir(parents=True)
    with pytest.raises(PreparationError, match="'a' is a file, where a folder stands already"):
        unzip(write(tmp_path / "a.zip", {"a": b"x"}), tmp_path / "out")


# --- what is refused


@pytest.mark.parametrize(
    "name",
    [
        "../e",
        "/e",
        "a/../../e",
        "a/../e",
        "..",
        "..\\e",
        "a\\..\\..\\e",
        "\\e",
        "C:/e",
        "C:\\e",
        "c:e",
        "\\\\server\\e",
    ],
)
def test_paths_outside(tmp_path, name):
    refused(write(tmp_path / "a.zip", {"good": b"x", name: b"x"}), tmp_path / "out", r"member .* outside the folder")


@pytest.mark.parametrize("name", ["a b", "12:30.txt", "a\\b", "...", "~", "-rf", "a\nb", "CON", "é", "日本", "a" * 255])
def test_odd_names_that_are_names(tmp_path, name):
    unzip(write(tmp_path / "a.zip", {name: b"x", "./b//c": b"y"}), tmp_path / "out")
    assert read(tmp_path / "out") == {name: b"x", "b/c": b"y"}


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        (stat.S_IFLNK, "'odd' is a link"),
        (stat.S_IFIFO, "'odd' is neither a file nor a folder"),
        (stat.S_IFCHR, "'odd' is neither a file nor a folder"),
        (stat.S_IFSOCK, "'odd' is neither a file nor a folder"),
    ],
)
def test_what_is_no_file(tmp_path, kind, match):
    odd = zipfile.ZipInfo("odd")
    odd.external_attr = (kind | 0o777) << 16
    refused(write(tmp_path / "a.zip", {"good": b"x", odd: b"/etc/passwd"}), tmp_path / "out", match)


def test_encrypted_members(tmp_path):
    archive = set_in_headers(write(tmp_path / "a.zip", {"secret": b"x"}), 6, 8, b"\x01\x00")
    refused(archive, tmp_path / "out", "'secret' is encrypted")


@pytest.mark.parametrize(("number", "name"), [(6, "implode"), (93, "zstd"), (98, "PPMd"), (99, "AES"), (77, "77")])
def test_unsupported_methods(tmp_path, number, name):
    archive = set_in_headers(write(tmp_path / "a.zip", {"odd": b"x"}), 8, 10, struct.pack("<H", number))
    refused(archive, tmp_path / "out", rf"'odd' is packed with the unsupported method {number}|{name}")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["a", "b", "a"], "'a' has the place of another"),
        (["x/a", "x//a"], "'x//a' has the place of another, 'x/a'"),
        (["./a", "a"], "'a' has the place of another, './a'"),
        (["a", "a/b"], "'a' is a file where others need a folder"),
        (["a/b/c", "a/b"], "'a/b' is a file where others need a folder"),
        (["a/", "a"], "'a' is a file where others need a folder"),
    ],
)
def test_two_members_at_one_place(tmp_path, names, match):
    refused(write(tmp_path / "a.zip", [(name, b"x") for name in names]), tmp_path / "out", match)


def test_names_that_differ_in_case(tmp_path):
    """Both are there where the file system tells them apart; else one would be lost, and the archive is refused."""
    archive = write(tmp_path / "a.zip", {"A": b"1", "a": b"2"})
    (tmp_path / "probe").touch()
    if (tmp_path / "PROBE").exists():
        refused(archive, tmp_path / "out", "'a' has the place of another, 'A'")
    else:
        unzip(archive, tmp_path / "out")
        assert read(tmp_path / "out") == {"A": b"1", "a": b"2"}


@pytest.mark.parametrize("name", ["a" * 256, "ä" * 128, "a/" * 2100 + "a"])
def test_names_that_are_too_long(tmp_path, name):
    refused(write(tmp_path / "a.zip", {name: b"x"}), tmp_path / "out", "has a name that is too long")


def test_a_name_with_nul(tmp_path):
    archive = write(tmp_path / "a.zip", {"good.txt?.exe": b"x"})
    archive.write_bytes(archive.read_bytes().replace(b"good.txt?", b"good.txt\0"))
    refused(archive, tmp_path / "out", r"'good\.txt\\x00\.exe' has a name with a NUL")


def test_members_over_each_other(tmp_path):
    """Two entries for the same packed bytes: with thousands of them a small archive fills any disk."""
    archive = write(tmp_path / "a.zip", {"a": bytes(1 << 20)}).read_bytes()
    start, end = archive.index(CENTRAL), archive.index(END)
    entry = archive[start:end]
    twice = entry + entry.replace(b"a", b"b")
    (tmp_path / "a.zip").write_bytes(
        archive[:start] + twice + END + struct.pack("<HHHHIIH", 0, 0, 2, 2, len(twice), start, 0)
    )
    refused(tmp_path / "a.zip", tmp_path / "out", "'a' lies over 'b'")


def test_a_member_inside_another(tmp_path):
    """A member whose content is a whole other member with its header."""
    inner = write(tmp_path / "inner.zip", {"b": b"inner"}, zipfile.ZIP_STORED).read_bytes()
    header_of_b = inner[: inner.index(CENTRAL)]
    outer = write(tmp_path / "a.zip", {"a": header_of_b + b"tail"}, zipfile.ZIP_STORED).read_bytes()
    start, end = outer.index(CENTRAL), outer.index(END)
    entry = bytearray(inner[inner.index(CENTRAL) : inner.index(END)])
    entry[42:46] = struct.pack("<I", outer.index(header_of_b))
    both = outer[start:end] + bytes(entry)
    (tmp_path / "a.zip").write_bytes(
        outer[:start] + both + END + struct.pack("<HHHHIIH", 0, 0, 2, 2, len(both), start, 0)
    )
    refused(tmp_path / "a.zip", tmp_path / "out", "'a' lies over 'b'")


def test_a_size_that_no_compression_reaches(tmp_path):
    archive = write(tmp_path / "a.zip", {"bomb": b"x" * 50})
    with zipfile.ZipFile(archive) as opened:
        packed = len(opened.read("bomb"))
    assert packed == 50
    with_packed(archive, b"x" * 20, method=8, size=10 << 20)
    refused(archive, tmp_path / "out", r"'bomb' can't unpack to 10,485,760 bytes from 20")
    with_packed(archive, b"x" * 20, method=0, size=21)
    refused(archive, tmp_path / "out", r"'bomb' can't unpack to 21 bytes from 20")


@pytest.mark.parametrize("size", [10, 5 << 20])
def test_a_size_that_lies_stops_the_writing(tmp_path, size):
    """64 MB unpack where less is declared: never more than that, and a chunk, is written; nothing is left."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(64 << 20)) + packer.flush()
    archive = with_packed(write(tmp_path / "a.zip", {"lie": b""}), packed, method=8, size=size)
    refused(
        archive, tmp_path / "out", rf"'lie' is damaged: it unpacks to more than the {size:,} bytes that it declares"
    )


def test_a_size_that_promises_too_much(tmp_path):
    packed = zlib.compress(b"short")[2:-4]
    archive = with_packed(write(tmp_path / "a.zip", {"lie": b""}), packed, method=8, size=6)
    refused(archive, tmp_path / "out", "'lie' is damaged: it unpacks to 5 bytes and declares 6")


def test_more_than_the_disk_holds(tmp_path, monkeypatch):
    archive = write(tmp_path / "a.zip", {"a": bytes(2000), "b": bytes(3000)})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9000, 5000, 4999))
    refused(archive, tmp_path / "out", r"unpacks to 5,000 bytes, .* has 4,999 free")


def test_what_is_there_already_needs_no_room(tmp_path, monkeypatch):
    archive = write(tmp_path / "a.zip", {"a": bytes(2000), "b": bytes(3000)})
    unzip(archive, tmp_path / "out")
    (tmp_path / "out" / "a").unlink()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9000, 7000, 2000))
    unzip(archive, tmp_path / "out")
    assert (tmp_path / "out" / "a").stat().st_size == 2000


def test_a_damaged_member_is_named_and_not_left(tmp_path):
    members = {f"{n}.bin": os.urandom(3000) for n in range(50)}
    archive = write(tmp_path / "a.zip", members, zipfile.ZIP_STORED)
    content = bytearray(archive.read_bytes())
    content[content.index(members["17.bin"]) + 5] ^= 1
    archive.write_bytes(content)
    with pytest.raises(PreparationError, match=r"a\.zip: the member '17\.bin' is damaged: its CRC-32 is another one"):
        unzip(archive, tmp_path / "out")
    left = read(tmp_path / "out")
    assert "17.bin" not in left
    assert all(members[name] == data for name, data in left.items())


# --- names


def named(path, raw, flags=0):
    """A zip of one member whose name is the bytes `raw`."""
    write(path, {"?" * len(raw): b"x"})
    path.write_bytes(path.read_bytes().replace(b"?" * len(raw), raw))
    return set_in_headers(path, 6, 8, struct.pack("<H", flags))


@pytest.mark.parametrize(
    ("raw", "flags", "name"),
    [
        ("ä.txt".encode(), 0x800, "ä.txt"),
        ("日本.txt".encode(), 0, "日本.txt"),  # as programs write that forget the flag
        (b"\x84.txt", 0, "ä.txt"),  # code page 437, the format's own
        ("日本".encode("shift-jis"), 0, "日本".encode("shift-jis").decode("cp437")),
        (bytes(range(160, 240)), 0, bytes(range(160, 240)).decode("cp437")),
    ],
)
def test_encodings_of_names(tmp_path, raw, flags, name):
    unzip(named(tmp_path / "a.zip", raw, flags), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    assert name.encode() == os.fsencode(name)  # no surrogates: every program can print it


@pytest.mark.parametrize(
    ("of", "written", "name"),
    [
        (b"?.txt", "日.txt".encode(), "日.txt"),
        (b"other", "日.txt".encode(), "?.txt"),  # renamed since by a program that does not know the field
        (b"?.txt", b"\xff", "?.txt"),
        (b"?.txt", b"../e", None),
    ],
)
def test_names_that_info_zip_adds(tmp_path, of, written, name):
    member = zipfile.ZipInfo("?.txt")
    field = b"\x01" + struct.pack("<I", zlib.crc32(of)) + written
    member.extra = b"xx\x01\x00." + b"up" + struct.pack("<H", len(field)) + field
    archive = write(tmp_path / "a.zip", {member: b"x"})
    if name is None:
        refused(archive, tmp_path / "out", "outside the folder")
    else:
        unzip(archive, tmp_path / "out")
        assert read(tmp_path / "out") == {name: b"x"}


def test_a_name_that_is_flagged_utf_8_and_is_not(tmp_path):
    refused(named(tmp_path / "a.zip", b"\x84.txt", 0x800), tmp_path / "out", "no readable zip archive.*utf-8")


def test_what_macos_adds_is_left_out(tmp_path):
    unzip(write(tmp_path / "a.zip", {"a": b"x", "__MACOSX/._a": b"y", "__MACOSX/": b""}), tmp_path / "out")
    assert read(tmp_path / "out") == {"a": b"x"}


# --- interruptions


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_extraction_goes_on(tmp_path, how):
    """Ended at some moment, it continues; members that were whole then are not written again."""
    members = {f"{n % 10}/{n}.bin": os.urandom(20_000) for n in range(2000)}
    archive = write(tmp_path / "a.zip", members, zipfile.ZIP_STORED)
    code = "import sys; from pathlib import Path; from mlebench.preparation.archives import unzip\n"
    code += f"unzip(Path({str(archive)!r}), Path({str(tmp_path / 'out')!r}))"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while process.poll() is None and len(read_names(tmp_path / "out")) < 200:
        pass
    process.send_signal(how)
    process.wait()
    if how == signal.SIGINT:
        assert process.returncode
        assert all(path.read_bytes() == members[key(path)] for path in read_names(tmp_path / "out"))
    whole = {
        path: path.stat().st_ino for path in read_names(tmp_path / "out") if path.read_bytes() == members[key(path)]
    }
    unzip(archive, tmp_path / "out")
    assert read(tmp_path / "out") == members
    assert all(path.stat().st_ino == inode for path, inode in whole.items())


def read_names(folder):
    return list(folder.glob("*/*.bin")) if folder.is_dir() else []


def key(path):
    return f"{path.parent.name}/{path.name}"


def test_the_content_decides_not_the_name(tmp_path):
    """`extract` goes by content: a zip under another name, and one behind a program."""
    content = write(tmp_path / "a.zip", {"a": b"x"}).read_bytes()
    for name, start in (("a.7z", b""), ("a.exe", b"MZ program")):
        (tmp_path / name).write_bytes(start + content)
        extract(tmp_path / name, tmp_path / f"out-{name}")
        assert read(tmp_path / f"out-{name}") == {"a": b"x"}
