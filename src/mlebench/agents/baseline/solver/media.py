"""Numbers from pictures, sounds, measurements and notes: one row of features for a file or a folder of files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from . import arrays
from .clock import Clock
from .files import ARRAYS, IMAGES, NOTES, SOUNDS, Files, share_found
from .learn import Block

Reader = Callable[[Path], np.ndarray]
WORKERS = 2
NOTES_TO_KNOW = 100
MOST_KINDS = 6
MOST_CHARACTERS = 200_000
OF_A_FOLDER = 6  # files that are looked at
MOST_PARTS = 4  # folders in a folder that are told apart
SIDE = 64
BANDS = 48


def find_block(
    files: Files, train_ids: Sequence[str], test_ids: Sequence[str], clock: Clock, seed: int
) -> tuple[Block, np.ndarray] | None:
    """Features of the files that belong to the ids, and the training rows they could be read for in time.

    None if there are no such files for most ids.
    """
    for name, kinds in (("sounds", SOUNDS), ("images", IMAGES), ("measurements", ARRAYS), ("notes", NOTES)):
        train, test = files.of_ids(train_ids, kinds, "train"), files.of_ids(test_ids, kinds, "test")
        if share_found(train) < 0.5 or share_found(test) < 0.9:
            continue
        reader = {"sounds": sound, "images": image, "measurements": arrays.measurements}.get(name) or note_reader(train)
        reader = of_folders(reader, files, kinds)
        test_rows = read_all(test, reader, clock.part(0.9))
        order = np.random.default_rng(seed).permutation(len(train))
        read = read_all([train[row] for row in order], reader, clock)
        train_rows: list[np.ndarray | None] = [None] * len(train)
        for place, row in enumerate(order):
            train_rows[row] = read[place]
        there = np.array([row for row, values in enumerate(train_rows) if values is not None])
        if len(there) < 10:
            continue
        matrix = stack([values for values in train_rows if values is not None])
        return Block(name, matrix, stack(test_rows, matrix.shape[1])), there
    return None


def of_folders(reader: Reader, files: Files, kinds: Collection[str]) -> Reader:
    """A reader that takes folders too: the mean and the spread of what some of their files give.

    Folders in a folder, if there are a few, are told apart.
    """

    def read(path: Path) -> np.ndarray:
        if path.suffix.lower() in kinds:
            return reader(path)
        held = files.within(path, kinds)
        parts: dict[Path, list[Path]] = {}
        for inner in held:
            parts.setdefault(path / inner.relative_to(path).parts[0], []).append(inner)
        groups = list(parts.values()) if 1 < len(parts) <= MOST_PARTS < len(held) else [held]
        return np.concatenate([summary([reader(inner) for inner in spread(group)]) for group in groups])

    return read


def spread(paths: Sequence[Path]) -> list[Path]:
    """Some of the paths, evenly spaced in the order of the numbers in their names."""
    inner = sorted(paths, key=lambda path: [int(number) for number in re.findall(r"\d+", path.stem)][-1:])
    places = np.linspace(0, len(inner) - 1, min(OF_A_FOLDER, len(inner))).round().astype(int)
    return [inner[place] for place in places]


def summary(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Mean and spread of rows."""
    matrix = stack(rows)
    return np.concatenate([np.nanmean(matrix, axis=0), np.nanstd(matrix, axis=0)])


def read_all(paths: Sequence[Path | None], reader: Reader, clock: Clock) -> list[np.ndarray | None]:
    """What `reader` makes of each file; None where there is no file, it can't be read, or time is over."""

    def read(path: Path | None) -> np.ndarray | None:
        if path is None or clock.left() < 0:
            return None
        try:
            return reader(path)
        except Exception:  # a damaged file must not cost the others
            return None

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(read, paths))


def forever() -> Clock:
    """A clock for what has to be read, however long it takes."""
    return Clock(float("inf"))


def stack(rows: Sequence[np.ndarray | None], width: int | None = None) -> np.ndarray:
    """Rows as a matrix, NaN where there is none."""
    width = width or max((len(row) for row in rows if row is not None), default=1)
    matrix = np.full((len(rows), width), np.nan, dtype=np.float32)
    for place, row in enumerate(rows):
        if row is not None:
            matrix[place, : min(width, len(row))] = row[:width]
    return matrix


# --- pictures


def open_picture(path: Path, side: int | None = None) -> tuple[np.ndarray, tuple[int, int]]:
    """A picture as floats from 0 to 1 (height, width, 3), shrunk to `side`, and its own width and height."""
    from PIL import Image

    if path.suffix.lower() in (".dcm", ".dicom"):
        picture = Image.fromarray((255 * dicom(path)).astype(np.uint8))
    else:
        picture = Image.open(path)
        if side is not None and picture.format == "JPEG":
            picture.draft("RGB", (2 * side, 2 * side))
        if picture.mode in ("I", "I;16", "I;16B", "F"):
            picture = Image.fromarray((255 * scaled(np.asarray(picture, dtype=float))).astype(np.uint8))
    size = picture.size
    picture = picture.convert("RGB")
    if side is not None:
        picture = picture.resize((side, side), Image.Resampling.BOX if min(size) > side else Image.Resampling.BILINEAR)
    return np.asarray(picture, dtype=np.float32) / 255, size


def dicom(path: Path) -> np.ndarray:
    """The pixels of a DICOM file from 0 to 1, bright where there is much."""
    import pydicom

    data = pydicom.dcmread(path)
    pixels = scaled(data.pixel_array.astype(float))
    return 1 - pixels if getattr(data, "PhotometricInterpretation", "") == "MONOCHROME1" else pixels


def scaled(values: np.ndarray) -> np.ndarray:
    """Values moved to the range from 0 to 1."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def image(path: Path) -> np.ndarray:
    """Size, small grey picture, colours and edges on a grid, and histograms."""
    pixels, (width, height) = open_picture(path, SIDE)
    grey = pixels.mean(axis=2)
    vertical, horizontal = np.gradient(grey)
    strength, angle = np.hypot(vertical, horizontal), np.arctan2(vertical, horizontal)
    sectors = ((angle + np.pi) / (2 * np.pi) * 8).astype(int) % 8
    edges = [grid(np.where(sectors == sector, strength, 0), 4) for sector in range(8)]
    colours = [
        part for channel in range(3) for part in (grid(pixels[..., channel], 4), histogram(pixels[..., channel]))
    ]
    spread = np.sqrt(np.maximum(grid(grey**2, 4) - grid(grey, 4) ** 2, 0))
    sizes = np.array([np.log(width), np.log(height), width / height])
    return np.concatenate([sizes, grid(grey, 16), *edges, *colours, spread, pixels.mean((0, 1)), pixels.std((0, 1))])


def grid(values: np.ndarray, cells: int) -> np.ndarray:
    """The means of `cells` × `cells` squares of a square array."""
    step = values.shape[0] // cells
    return values.reshape(cells, step, cells, step).mean((1, 3)).ravel()


def histogram(values: np.ndarray) -> np.ndarray:
    """The shares of eight ranges from 0 to 1."""
    return np.histogram(values, bins=8, range=(0, 1))[0] / values.size


# --- sounds


def sound(path: Path) -> np.ndarray:
    """Statistics over time of the loudness in bands of frequency."""
    from scipy.io import wavfile
    from scipy.signal import spectrogram

    rate, samples = aiff(path) if path.suffix.lower() in (".aif", ".aiff") else wavfile.read(path)
    samples = np.asarray(samples, dtype=np.float32)
    samples = samples.mean(axis=1) if samples.ndim > 1 else samples
    samples = samples[: 120 * rate]
    window = min(512, len(samples))
    _, _, power = spectrogram(samples, rate, nperseg=window, noverlap=window // 2)
    edges = np.unique(np.linspace(0, power.shape[0], BANDS + 1).astype(int))
    loudness = np.log(np.add.reduceat(power, edges[:-1], axis=0) + 1e-6)
    calm = loudness - np.median(loudness, axis=1, keepdims=True)
    change = np.abs(np.diff(loudness, axis=1)).mean(axis=1) if loudness.shape[1] > 1 else np.zeros(len(loudness))
    statistics = [
        loudness.mean(axis=1),
        loudness.std(axis=1),
        np.percentile(calm, 95, axis=1),
        calm.max(axis=1),
        change,
    ]
    return np.concatenate([np.array([np.log(len(samples) / rate)]), *statistics])


def aiff(path: Path) -> tuple[int, np.ndarray]:
    """Samples per second, and the samples of an uncompressed AIFF file, shape (frames, channels)."""
    data = path.read_bytes()
    place, channels, bits, rate, samples = 12, 1, 16, 1, np.zeros(1)
    while place + 8 <= len(data):
        kind, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], "big")
        body = data[place + 8 : place + 8 + size]
        if kind == b"COMM":
            channels, bits = int.from_bytes(body[:2], "big"), int.from_bytes(body[6:8], "big")
            exponent = int.from_bytes(body[8:10], "big") - 16383 - 63  # of a number of 80 bits
            rate = int(int.from_bytes(body[10:18], "big") * 2.0**exponent)
        elif kind == b"SSND":
            samples = np.frombuffer(body[8:], dtype=f">i{(bits + 7) // 8}")
        place += 8 + size + size % 2
    return rate, samples[: len(samples) // channels * channels].reshape(-1, channels).astype(np.float32)


# --- notes


NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")


def note_reader(paths: Sequence[Path | None]) -> Reader:
    """A reader of notes that knows which kinds of atoms are common in these files, if they list atoms."""
    counts: Counter[str] = Counter()
    for path in [path for path in paths if path is not None][:NOTES_TO_KNOW]:
        counts.update(atoms(path.read_text(encoding="utf-8", errors="replace"))[1])
    kinds = sorted(kind for kind, _ in counts.most_common(MOST_KINDS))
    return lambda path: note(path, kinds)


def atoms(text: str) -> tuple[list[list[float]], list[str], list[list[float]]]:
    """Coordinates and kinds of the lines with three numbers and a word, and the vectors of a lattice apart."""
    points, kinds, vectors = [], [], []
    for line in text.splitlines():
        numbers, words = NUMBER.findall(line), re.findall(r"[A-Za-z_]+", line)
        if len(numbers) == 3 and words:
            place = [float(number) for number in numbers]
            if "vector" in line:
                vectors.append(place)
            else:
                points.append(place)
                kinds.append(words[-1])
    return points, kinds, vectors


def note(path: Path, known: Sequence[str]) -> np.ndarray:
    """Of a file of atoms the distances between kinds, else a few statistics of its numbers."""
    text = path.read_text(encoding="utf-8", errors="replace")[:MOST_CHARACTERS]
    points, kinds, vectors = atoms(text)
    if len(points) >= 2:
        return distances(np.array(points), np.array(kinds), np.array(vectors), known)
    numbers = np.array([float(number) for number in NUMBER.findall(text)[:10_000]] or [0.0])
    return np.array([len(text), len(numbers), numbers.mean(), numbers.std(), numbers.min(), numbers.max()])


def distances(points: np.ndarray, kinds: np.ndarray, vectors: np.ndarray, known: Sequence[str]) -> np.ndarray:
    """Nearest neighbours by kind, in a crystal with three lattice vectors across its borders too.

    The number of atoms, the cell's volume, the six nearest distances; for each known kind its share, and for
    each pair of kinds the nearest distance, and mean and spread of the four nearest.
    """
    shifts = np.zeros((1, 3))
    if vectors.shape == (3, 3):
        steps = np.array(np.meshgrid([-1, 0, 1], [-1, 0, 1], [-1, 0, 1])).reshape(3, -1).T
        shifts = steps @ vectors
    gaps = points[:, None, None, :] - points[None, :, None, :] + shifts[None, None, :, :]
    lengths = np.sqrt((gaps**2).sum(axis=3)).reshape(len(points), -1)
    lengths[lengths < 1e-6] = np.inf
    owner = np.repeat(kinds, len(shifts))
    closest = np.full((len(points), 6), np.nan)
    nearest = np.sort(lengths, axis=1)[:, :6]
    closest[:, : nearest.shape[1]] = np.where(np.isfinite(nearest), nearest, np.nan)
    volume = abs(np.linalg.det(vectors)) if vectors.shape == (3, 3) else np.nan
    found = [len(points), volume, *np.nan_to_num(closest).mean(axis=0), *np.nan_to_num(closest).std(axis=0)]
    for symbol in known:
        found.append(float((kinds == symbol).mean()))
        rows = lengths[:, owner == symbol]
        near = np.sort(rows, axis=1)[:, :4] if rows.shape[1] >= 4 else np.full((len(points), 4), np.inf)
        for other in known:
            part = near[kinds == other]
            part = part[np.isfinite(part).all(axis=1)]
            found += [float(part[:, 0].mean()), float(part.mean()), float(part.std())] if len(part) else [np.nan] * 3
    return np.array(found, dtype=float)
