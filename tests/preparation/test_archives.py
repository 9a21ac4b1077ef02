"""What is unpacked, and what is refused by name."""

import os
import stat
import zipfile

import pytest

from mlebench.errors import PreparationError
from mlebench.preparation.archives import reading_member, repack, unzip, writing_member, zip_files
from mlebench.preparation.files import hold_out, unpack


@pytest.fixture
def pack(tmp_path):
    def packed(members, compression=zipfile.ZIP_DEFLATED):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return path

    return packed


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_all_members_arrive(pack, tmp_path, method):
    members = {f"dir{n % 7}/sub/{n}.txt": bytes([n % 256]) * n for n in range(500)} | {"empty/": b"", "ä ö.txt": b"x"}
    unzip(pack(members, method), tmp_path / "out")
    for name, content in members.items():
        assert (
            (tmp_path / "out" / name).is_dir()
            if name.endswith("/")
            else (tmp_path / "out" / name).read_bytes() == content
        )


@pytest.mark.parametrize("name", ["../evil.txt", "/evil.txt", "a/../../evil.txt", "..\\evil.txt", "C:/evil.txt"])
def test_paths_outside_are_refused(pack, tmp_path, name):
    with pytest.raises(PreparationError, match="outside"):
        unzip(pack({"good.txt": b"x", name: b"x"}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_links_are_refused(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(PreparationError, match="'link' is a link"):
        unzip(tmp_path / "a.zip", tmp_path / "out")


def test_encrypted_members_are_refused(pack, tmp_path):
    path = pack({"secret.txt": b"x"})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(signature) + offset] |= 1
    path.write_bytes(content)
    with pytest.raises(PreparationError, match="encrypted"):
        unzip(path, tmp_path / "out")


def test_a_flipped_bit_is_noticed(pack, tmp_path):
    path = pack({"a.bin": bytes(range(256)) * 100}, zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    with pytest.raises(PreparationError, match="damaged"):
        unzip(path, tmp_path / "out")


def test_an_archive_is_unpacked_once_beside_raw(pack, tmp_path):
    pack({"x.txt": b"x"})
    folder = unpack(tmp_path, "a.zip")
    (folder / "mark").touch()
    assert unpack(tmp_path, "a.zip") == folder
    assert (folder / "mark").exists()
    with pytest.raises(PreparationError, match=r"b\.zip is missing"):
        unpack(tmp_path, "b.zip")


@pytest.mark.parametrize(("rows", "size"), [(10, 0.1), (11, 0.1), (1000, 0.25), (57, 13)])
def test_hold_out_is_scikit_learns_division(rows, size):
    import pandas as pd
    from sklearn.model_selection import train_test_split

    table = pd.DataFrame({"n": range(rows)})
    for ours, theirs in zip(
        hold_out(table, size), train_test_split(table, test_size=size, random_state=0), strict=True
    ):
        pd.testing.assert_frame_equal(ours, theirs)


def test_hold_out_needs_rows_on_both_sides():
    import pandas as pd

    with pytest.raises(PreparationError):
        hold_out(pd.DataFrame({"n": [1]}), 0.1)


def test_packed_files_come_out_again_and_the_clock_leaves_no_trace(tmp_path):
    files = [(tmp_path / f"{n}.txt", f"folder/{n}.txt") for n in (2, 0, 1)]
    for n, (file, _) in enumerate(files):
        file.write_bytes(bytes([n]) * 100_000 * n)
    zip_files(files, tmp_path / "new" / "a.zip")
    for file, _ in files:
        os.utime(file, (1_000_000_000, 1_000_000_000))
    zip_files(iter(files), tmp_path / "b.zip")
    assert (tmp_path / "new" / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.namelist() == [name for _, name in files]
        assert [archive.read(name) for _, name in files] == [file.read_bytes() for file, _ in files]
    assert (tmp_path / "b.zip").stat().st_size < 1000


def test_missing_files_are_named_before_anything_is_packed(tmp_path):
    with pytest.raises(PreparationError, match=r"1 of 1 files for a\.zip are missing: 0\.txt"):
        zip_files([(tmp_path / "0.txt", "0.txt")], tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_go_from_one_archive_to_another(pack, tmp_path, method):
    members = {f"{n}.txt": bytes([n]) * 1000 for n in range(9)}
    for target in ("a", "b"):
        repack(pack(members, method), ["3.txt", "1.txt"], tmp_path / "new" / target)
    assert (tmp_path / "new" / "a").read_bytes() == (tmp_path / "new" / "b").read_bytes()
    with zipfile.ZipFile(tmp_path / "new" / "a") as archive:
        assert archive.namelist() == ["3.txt", "1.txt"]
        assert all(archive.read(name) == members[name] for name in archive.namelist())
        assert archive.getinfo("3.txt").compress_type == method


def test_missing_members_and_damaged_archives_are_named(pack, tmp_path):
    with pytest.raises(PreparationError, match=r"1 members are missing in a\.zip: x\.txt"):
        repack(pack({"1.txt": b"1"}), ["1.txt", "x.txt"], tmp_path / "new")
    (tmp_path / "a.zip").write_bytes(b"junk")
    with pytest.raises(PreparationError, match="damaged"):
        repack(tmp_path / "a.zip", [], tmp_path / "new")


@pytest.mark.parametrize("compress", [True, False])
def test_a_member_is_written_and_read_from_front_to_back(tmp_path, compress):
    path = tmp_path / "new" / "a.zip"
    with writing_member(path, "a.txt", compress=compress) as member:
        for number in range(1000):
            member.write(b"%d\n" % number)
    with reading_member(path, "a.txt") as member:
        assert [int(line) for line in member] == list(range(1000))
    assert (path.stat().st_size < 3000) == compress
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["a.txt"]
        assert archive.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0)


def test_a_member_that_can_not_be_read(pack, tmp_path):
    path = pack({"a.txt": bytes(range(256)) * 100}, zipfile.ZIP_STORED)
    with pytest.raises(PreparationError, match=r"a\.zip holds no b\.txt"), reading_member(path, "b.txt"):
        pass
    with pytest.raises(PreparationError, match=r"b\.zip is missing"), reading_member(tmp_path / "b.zip", "a.txt"):
        pass
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    with pytest.raises(PreparationError, match="damaged"), reading_member(path, "a.txt") as member:
        member.read()
    path.write_bytes(content[:3000])
    with pytest.raises(PreparationError, match="damaged"), reading_member(path, "a.txt"):
        pass
