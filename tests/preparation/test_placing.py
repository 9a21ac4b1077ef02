"""Placing one file: hard link where the file system allows it, else a copy; the source never changes."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_file, link_files, link_folder
from mlebench.preparation.placing import copy_file

ELSEWHERE = Path("/dev/shm")  # another file system, on most machines


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "raw" / "a.png"
    path.parent.mkdir()
    path.write_bytes(b"picture")
    path.chmod(0o644)
    return path


@pytest.mark.parametrize("mode", [0o644, 0o444, 0o555])
def test_what_others_may_read_is_linked(picture, tmp_path, mode):
    picture.chmod(mode)
    before = picture.stat()
    link_file(picture, tmp_path / "placed.png")
    after = picture.stat()
    assert (tmp_path / "placed.png").read_bytes() == b"picture"
    assert (after.st_mode, after.st_mtime_ns, after.st_size) == (before.st_mode, before.st_mtime_ns, before.st_size)
    (tmp_path / "placed.png").unlink()
    assert picture.read_bytes() == b"picture"


def test_what_others_may_not_read_is_copied_with_rights_of_its_own(picture, tmp_path):
    picture.chmod(0o600)
    link_file(picture, tmp_path / "placed.png")
    assert not (tmp_path / "placed.png").samefile(picture)
    assert stat.S_IMODE((tmp_path / "placed.png").stat().st_mode) & stat.S_IROTH
    assert stat.S_IMODE(picture.stat().st_mode) == 0o600


def test_a_link_is_placed_as_what_it_leads_to(picture, tmp_path):
    link = tmp_path / "raw" / "link.png"
    link.symlink_to(picture)
    (tmp_path / "linked").symlink_to(tmp_path / "raw", target_is_directory=True)
    link_file(link, tmp_path / "one.png")
    link_file(tmp_path / "linked" / "link.png", tmp_path / "two.png")
    picture.unlink()
    for name in ("one.png", "two.png"):
        assert not (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_bytes() == b"picture"


@pytest.mark.skipif(not os.access(ELSEWHERE, os.W_OK), reason="there is no second file system to write to")
def test_between_file_systems_files_are_copied(picture, tmp_path, request):
    there = ELSEWHERE / f"mlebench-{os.getpid()}"
    there.mkdir()
    request.addfinalizer(lambda: shutil.rmtree(there))
    if there.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system to write to")
    link_file(picture, there / "placed.png")
    link_file(there / "placed.png", tmp_path / "back.png")
    picture.unlink()
    assert (there / "placed.png").read_bytes() == (tmp_path / "back.png").read_bytes() == b"picture"
    link_file(tmp_path / "back.png", tmp_path / "again.png")  # the refusal between two does not hold within one
    assert (tmp_path / "again.png").read_bytes() == b"picture"


def test_a_file_with_all_the_links_it_may_have_is_copied(picture, tmp_path):
    links = tmp_path / "links"
    links.mkdir()
    try:
        for number in range(70_000):
            os.link(picture, links / str(number))
    except OSError:
        pass
    else:
        pytest.skip("this file system allows any number of links")
    link_file(picture, tmp_path / "placed.png")
    assert (tmp_path / "placed.png").read_bytes() == b"picture"
    assert not (tmp_path / "placed.png").samefile(picture)


def test_nothing_is_placed_over_another(picture, tmp_path):
    (tmp_path / "placed.png").write_text("other")
    with pytest.raises(PreparationError, match="two files of the raw data would be placed at"):
        link_file(picture, tmp_path / "placed.png")
    assert (tmp_path / "placed.png").read_text() == "other"


def test_missing_files_are_counted_and_named(picture, tmp_path):
    pairs = [(picture, tmp_path / "a"), (picture.with_name("b.png"), tmp_path / "b")]
    with pytest.raises(PreparationError, match=r"1 of 2 files are missing in .*: b\.png"):
        link_files(pairs)
    with pytest.raises(PreparationError, match="the folder nowhere is missing"):
        link_folder(tmp_path / "nowhere", tmp_path / "c")


def test_a_copy_is_a_file_of_its_own(picture, tmp_path):
    copy_file(picture, tmp_path / "own.png")
    assert (tmp_path / "own.png").read_bytes() == b"picture"
    assert not (tmp_path / "own.png").samefile(picture)
