"""Archives: unpacked fast and in parallel, with what must not be unpacked refused by name; and packed."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.archives.kinds import holds_tar, kind_of
from mlebench.preparation.archives.members import leads_outside
from mlebench.preparation.archives.packing import reading_member, repack, writing_member, zip_files
from mlebench.preparation.archives.zips import unzip

__all__ = ["extract", "leads_outside", "reading_member", "repack", "unzip", "writing_member", "zip_files"]


def extract(archive: Path, folder: Path) -> None:
    """Unpack `archive` into `folder`: zip, 7z, tar (also packed by gzip, bzip2 or xz), or a single packed file.

    Its content decides what it is, not its name. Of zip and 7z, members that are there with the right size and
    CRC-32 are left alone. Archives in it stay packed. Raises PreparationError, naming archive, member and reason, for
    what is damaged, is no archive, or must not be unpacked; the latter before anything is written.
    """
    kind = kind_of(archive)
    if kind == "zip":
        unzip(archive, folder)
    elif kind == "7z":
        from mlebench.preparation.seven_zip import un7zip

        un7zip(archive, folder)
    else:
        from mlebench.preparation.archives.streams import unpack_single, untar

        (untar if holds_tar(archive, kind) else unpack_single)(archive, folder, kind)
