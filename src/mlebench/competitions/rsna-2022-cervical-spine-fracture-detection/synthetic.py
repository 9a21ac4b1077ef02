"""Tiny scans, one slice a vertebra; a fracture is a dark gap in the bright bone."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import dicom_bytes

LABELS = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]
SIDE = 16
SLICES = 8  # C1 to C7 and T1, from above
FRACTURES = np.array([0.07, 0.14, 0.04, 0.05, 0.08, 0.14, 0.19])  # share of studies by vertebra


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    numbers = rng.choice(np.arange(1, 10 * size + 100), size + 1, replace=False)
    studies = [f"1.2.826.0.1.3680043.{number}" for number in numbers]
    broken = rng.random((size + 1, 7)) < FRACTURES * 1.2
    overall = np.asarray(broken.any(axis=1))
    gaps = rng.integers(3, 11, (size + 1, 7, 2))  # upper left corner of the gap in each vertebra
    labels = pd.DataFrame(np.column_stack([overall, broken]).astype(int), columns=LABELS)
    labels.insert(0, "StudyInstanceUID", studies)

    write_csv(labels.iloc[:size], raw / "train.csv")
    boxed = np.flatnonzero(overall[:size] & (rng.random(size) < 0.5))
    write_csv(_boxes(rng, studies, boxed, broken, gaps), raw / "train_bounding_boxes.csv")
    for place in np.flatnonzero(rng.random(size) < 0.25):
        _write(raw / "segmentations" / f"{studies[place]}.nii", _segmentation())
    for place, study in enumerate(studies):
        folder = raw / ("train_images" if place < size else "test_images") / study
        for level in range(SLICES):
            gap = gaps[place, level] if level < 7 and broken[place, level] else None
            _write(folder / f"{level + 1}.dcm", dicom_bytes(_slice(rng, gap), f"{study}.{level + 1}"))
    rows = pd.DataFrame({"StudyInstanceUID": studies[-1], "prediction_type": LABELS[1:] + LABELS[:1]})
    rows.insert(0, "row_id", rows["StudyInstanceUID"] + "_" + rows["prediction_type"])
    write_csv(rows, raw / "test.csv")
    write_csv(rows[["row_id"]].assign(fractured=0.5), raw / "sample_submission.csv")


def _boxes(
    rng: np.random.Generator, studies: list[str], boxed: np.ndarray, broken: np.ndarray, gaps: np.ndarray
) -> pd.DataFrame:
    """A box around each fracture of the studies `boxed`."""
    study, level = np.nonzero(broken[boxed])
    corners = gaps[boxed][study, level] - rng.random((len(study), 2)) - 0.5
    extents = 4 + rng.random((len(study), 2)).round(1)
    return pd.DataFrame(
        {
            "StudyInstanceUID": np.array(studies)[boxed][study],
            "x": corners[:, 1].round(5),
            "y": corners[:, 0],
            "width": extents[:, 0],
            "height": extents[:, 1],
            "slice_number": level + 1,
        }
    )


def _slice(rng: np.random.Generator, gap: np.ndarray | None) -> np.ndarray:
    """Pixels of 12 bits: a bright disc of bone, with a dark gap where it is broken."""
    row, column = np.ogrid[:SIDE, :SIDE]
    pixels = rng.normal(1000, 40, (SIDE, SIDE))
    pixels[(row - 7.5) ** 2 + (column - 7.5) ** 2 < 6.5**2] += 1200
    if gap is not None:
        pixels[gap[0] : gap[0] + 3, gap[1] : gap[1] + 3] = rng.normal(600, 40, (3, 3))
    return np.clip(pixels, 0, 4095).astype(np.uint16)


def _segmentation() -> bytes:
    """A NIfTI-1 file of the labels 1 to 8, one a slice, sagittal: the axes are depth, height and width of the body."""
    row, column = np.ogrid[:SIDE, :SIDE]
    bone = (row - 7.5) ** 2 + (column - 7.5) ** 2 < 6.5**2
    voxels = np.stack([bone * level for level in range(SLICES, 0, -1)], axis=1).astype(np.uint8)
    header = bytearray(348)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *voxels.shape, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 2, 8)  # unsigned bytes
    struct.pack_into("<8f", header, 76, 1, 1, 1, 1, 0, 0, 0, 0)
    struct.pack_into("<2f", header, 108, 352, 1)  # the voxels' place, and their slope
    header[344:348] = b"n+1\0"
    return bytes(header) + bytes(4) + voxels.tobytes(order="F")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
