"""Skeletons that hold up a hand in one of twenty directions, a direction for each sign, and rest between signs.

Videos are files without a picture: a twin of them would be too large.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.matlab import mat_bytes, structures
from mlebench.preparation.seven_zip import write_7z
from mlebench.preparation.synthetic import wav_bytes, write_zip

SIGNS = [
    *("vattene", "vieniqui", "perfetto", "furbo", "cheduepalle", "chevuoi", "daccordo", "seipazzo", "combinato"),
    *("freganiente", "ok", "cosatifarei", "basta", "prendere", "noncenepiu", "fame", "tantotempo", "buonissimo"),
    *("messidaccordo", "sonostufo"),
]
FRAMES = 4  # of a sign, and of the pause behind it
JOINTS, HAND = 20, 11
NO_VIDEO = b"\0\0\0\x18ftypisom\0\0\2\0isomiso2"  # the first box of an MP4 file, and no other


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    parts = np.array_split(np.arange(1, size + 1), 4)
    sequences = {int(number): _signs(rng) for part in parts for number in part}
    for place, part in enumerate(parts, start=1):
        _write_archive(rng, raw / f"training{place}.tar.gz", {int(n): sequences[int(n)] for n in part}, labelled=True)
    unlabelled = np.array_split(np.arange(size + 1, size + 4 + size // 8), 3)
    for place, part in enumerate(unlabelled, start=1):
        _write_archive(rng, raw / f"validation{place}.tar.gz", {int(n): _signs(rng) for n in part}, labelled=False)

    texts = [" ".join(str(sign + 1) for sign in signs) for signs in sequences.values()]
    table = pd.DataFrame({"Id": [f"{number:04d}" for number in sequences], "Sequence": texts})
    write_csv(table.iloc[rng.permutation(size)], raw / "training.csv")
    others = pd.DataFrame({"Id": [f"{number:04d}" for part in unlabelled for number in part]})
    write_csv(others, raw / "test.csv")
    write_csv(others.assign(Sequence="1 2 3"), raw / "randomPredictions.csv")
    for name in ("devel01-40.7z", "valid_all_files_combined.7z"):
        write_7z(raw / name, [])
    write_zip(raw / "sample_code_mmrgc.zip", {"sample_code/readme.txt": "Video.Frames holds the skeletons.\n"})


def _signs(rng: np.random.Generator) -> list[int]:
    """Different signs, from 0 on: from one to all twenty."""
    return rng.permutation(len(SIGNS))[: rng.integers(1, len(SIGNS) + 1)].tolist()


def _write_archive(rng: np.random.Generator, path: Path, recordings: dict[int, list[int]], *, labelled: bool) -> None:
    with gzip.GzipFile(path, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for number, signs in recordings.items():
            name = f"Sample{number:05d}"
            content = _recording(rng, path.parent, name, signs, labelled=labelled)
            member = tarfile.TarInfo(f"{name}.zip")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _recording(rng: np.random.Generator, folder: Path, name: str, signs: list[int], *, labelled: bool) -> bytes:
    parts: dict[str, bytes | str] = {
        f"{name}_audio.wav": wav_bytes(rng.normal(0, 0.1, 400), 16_000),
        f"{name}_data.mat": mat_bytes({"Video": _video(rng, signs, labelled=labelled)}),
        **{f"{name}_{video}.mp4": NO_VIDEO for video in ("color", "depth", "user")},
    }
    temporary = folder / f"{name}.zip"
    write_zip(temporary, parts)
    content = temporary.read_bytes()
    temporary.unlink()
    return content


def _video(rng: np.random.Generator, signs: list[int], *, labelled: bool) -> dict[str, object]:
    """What `_data.mat` holds: the skeleton in each frame, and the signs with their frames from 1 on."""
    moves = [sign for each in signs for sign in [each] * FRAMES + [-1] * FRAMES]
    world = rng.normal(0, 0.02, (len(moves), JOINTS, 3))
    angle = 2 * np.pi * np.array(moves) / len(SIGNS)
    lifted = np.stack([np.cos(angle), np.sin(angle), np.ones(len(moves))], axis=1)
    world[:, HAND] += np.where(np.array(moves)[:, None] >= 0, lifted, 0)
    frames = [{"Skeleton": {"WorldPosition": np.round(joints, 3)}} for joints in world]
    labels = [
        {"Name": SIGNS[sign], "Begin": 2 * FRAMES * place + 1, "End": 2 * FRAMES * place + FRAMES}
        for place, sign in enumerate(signs)
    ]
    return {
        "NumFrames": len(moves),
        "FrameRate": 20,
        "MaxDepth": 3975,
        "Frames": structures(frames, ["Skeleton"]),
        "Labels": structures(labels if labelled else [], ["Name", "Begin", "End"]),
    }
