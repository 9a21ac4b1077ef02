"""Placing one file between file systems, with all its links taken, read-only, unreadable: the source never changes."""

import stat
from pathlib import Path

import pytest

from mlebench.errors import PreparationError
from mlebench.preparation.placing import copy_file, for_each, link_file, link_files, link_folder, paths_in, walk


def test_files_are_linked_not_copied(tmp_path):
    (tmp_path / "raw" / "sub").mkdir(parents=True)
    for name in ("a", "sub/b"):
        (tmp_path / "raw" / name).write_text(name)
    (tmp_path / "link").symlink_to(tmp_path / "raw")
    link_folder(tmp_path / "link", tmp_path / "out")
    for name in ("a", "sub/b"):
        target = tmp_path / "out" / name
        assert target.read_text() == name
        assert not target.is_symlink()
    with pytest.raises(PreparationError, match="1 of 2 files are missing"):
        link_files([(tmp_path / "raw/a", tmp_path / "x/a"), (tmp_path / "raw/c", tmp_path / "x/c")])
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_no_file_is_placed_over_another(tmp_path, mode):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
        (tmp_path / name).chmod(mode)
    (tmp_path / "out").mkdir()
    link_files([(tmp_path / "a", tmp_path / "out" / "x")])
    with pytest.raises(PreparationError, match="out/x"):
        link_files([(tmp_path / "b", tmp_path / "out" / "x")])
    assert (tmp_path / "a").read_text() == "a"


def test_a_file_that_others_cannot_read_is_copied(tmp_path):
    for name, mode in (("shut", 0o600), ("open", 0o644)):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(mode)
    link_files([(tmp_path / name, tmp_path / "out" / name) for name in ("shut", "open")])
    assert (tmp_path / "out" / "shut").stat().st_mode & stat.S_IROTH
    assert (tmp_path / "shut").stat().st_mode & 0o777 == 0o600


def test_many_files_in_shares(tmp_path):
    (tmp_path / "raw").mkdir()
    pairs = [(tmp_path / "raw" / f"{n}", tmp_path / "out" / f"{n % 7}" / f"{n}") for n in range(1000)]
    for source, _ in pairs:
        source.write_text(source.name)
    link_files(iter(pairs))
    assert all(target.samefile(source) or target.read_text() == source.name for source, target in pairs)
    assert len(list(paths_in(tmp_path / "out"))) == 1000


def test_a_link_is_followed(tmp_path):
    (tmp_path / "true").write_text("x")
    (tmp_path / "link").symlink_to("true")
    link_file(tmp_path / "link", tmp_path / "placed")
    assert not (tmp_path / "placed").is_symlink()
    (tmp_path / "true").unlink()
    assert (tmp_path / "placed").read_text() == "x"


def test_no_file_is_placed_over_a_link_that_leads_nowhere(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PreparationError, match="would be placed at"):
        link_file(tmp_path / "a", tmp_path / "out")
    assert not (tmp_path / "nowhere").exists()


def test_a_copy_is_a_file_of_its_own(tmp_path):
    (tmp_path / "a").write_text("x")
    copy_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_text() == "x"
    assert not (tmp_path / "b").samefile(tmp_path / "a")


def test_the_first_failure_ends_the_work():
    done = []

    def work(pair):
        if pair == ("300", ""):
            raise ValueError("no")
        done.append(pair)

    with pytest.raises(ValueError, match="no"):
        for_each([(str(n), "") for n in range(100_000)], work, "working")
    assert len(done) < 100_000


def test_paths_are_those_of_a_walk_in_a_fixed_order(tmp_path, monkeypatch):
    for name in ("b/c/2", "b/10", "a", "b/c/1", "Ä", "b.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "z").symlink_to(tmp_path / "b")
    expected = ["a", "b.txt", "Ä", "b/10", "b/c/1", "b/c/2", "z/10", "z/c/1", "z/c/2"]
    assert list(paths_in(tmp_path)) == expected
    assert list(walk(tmp_path)) == [tmp_path / path for path in expected]
    monkeypatch.chdir(tmp_path)
    assert [str(path) for path in walk(Path("b"))] == ["b/10", "b/c/1", "b/c/2"]
