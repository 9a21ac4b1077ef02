"""Players who run towards each other on a field, with sensors, helmet boxes and small videos.

Two players are in contact when they come very near, a player is on the ground after a collision.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import jpeg_bytes
from mlebench.preparation.video import mp4_bytes

PLAYERS = 6  # of them, half at home
STEPS = range(-3, 27)  # tenths of a second; those before the snap are not labelled
PAIRS = [*combinations(range(PLAYERS), 2), *((player, -1) for player in range(PLAYERS))]
POSITIONS = ["CB", "WR", "QB", "T", "DE", "LB"]
NEAR = 1.2  # yards
HEIGHT, WIDTH, FRAMES = 36, 64, 3


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    plays = max(8, size // (len(PAIRS) * (STEPS.stop - 0)))
    games = np.sort(rng.choice(1000, -(-plays // 2), replace=False)) + 58_000
    names = [f"{games[number // 2]}_{rng.integers(100, 5000):06d}" for number in range(plays)]
    parts = [_play(rng, name) for name in names]
    (raw / "train").mkdir(parents=True)
    (raw / "test").mkdir()

    for table in parts[0]:
        write_csv(pd.concat([part[table] for part in parts]), raw / f"train_{table}.csv")
        if table != "labels":
            write_csv(parts[0][table], raw / f"test_{table}.csv")
    write_csv(parts[0]["labels"][["contact_id"]].assign(contact=0), raw / "sample_submission.csv")
    for number, name in enumerate(names):
        for view in ("All29", "Endzone", "Sideline"):
            video = _video(rng)
            (raw / "train" / f"{name}_{view}.mp4").write_bytes(video)
            if number == 0:
                (raw / "test" / f"{name}_{view}.mp4").write_bytes(video)


def _play(rng: np.random.Generator, name: str) -> dict[str, pd.DataFrame]:
    """The tables of one play."""
    players = np.sort(rng.choice(20_000, PLAYERS, replace=False)) + 30_000
    jerseys = rng.choice(np.arange(1, 100), PLAYERS, replace=False)
    start = rng.uniform([20, 10], [100, 43], (PLAYERS, 2))
    middle = start.mean(axis=0)
    drift = (middle - start) / len(STEPS) * rng.uniform(0.7, 1.3, (PLAYERS, 1))
    moves = drift + rng.normal(0, 0.15, (len(STEPS), PLAYERS, 2))
    places = start + np.cumsum(moves, axis=0)
    snap = pd.Timestamp("2020-09-11T20:00:00") + pd.to_timedelta(int(rng.integers(0, 10_000)), unit="s")
    keys = {"game_play": name, "game_key": int(name[:5]), "play_id": int(name[6:])}
    return {
        "labels": _labels(name, snap, players, places),
        "player_tracking": _tracking(rng, keys, snap, players, jerseys, moves, places),
        "baseline_helmets": _helmets(rng, keys, players, jerseys, places),
        "video_metadata": _metadata(keys, snap),
    }


def _times(snap: pd.Timestamp, steps: np.ndarray) -> pd.Index:
    moments = snap + pd.to_timedelta(100 * steps, unit="ms")
    return pd.Index(moments.strftime("%Y-%m-%dT%H:%M:%S.") + [f"{each:03d}Z" for each in moments.microsecond // 1000])


def _labels(name: str, snap: pd.Timestamp, players: np.ndarray, places: np.ndarray) -> pd.DataFrame:
    places = places[-STEPS.start :]
    distances = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)
    touching = distances < NEAR
    # Whoever has touched another one stumbles two steps later.
    fallen = np.roll(touching.sum(axis=2) > 1, 2, axis=0)
    fallen[:2] = False
    steps = np.repeat(np.arange(len(places)), len(PAIRS))
    first, second = np.tile(np.array(PAIRS).T, len(places))
    one, other = players[first].astype(str), np.where(second < 0, "G", players[second].astype(str))
    contact = np.where(second < 0, fallen[steps, first], touching[steps, first, second]).astype(int)
    return pd.DataFrame(
        {
            "contact_id": [f"{name}_{s}_{a}_{b}" for s, a, b in zip(steps, one, other, strict=True)],
            "game_play": name,
            "datetime": _times(snap, steps),
            "step": steps,
            "nfl_player_id_1": one,
            "nfl_player_id_2": other,
            "contact": contact,
        }
    )


def _tracking(
    rng: np.random.Generator,
    keys: dict[str, object],
    snap: pd.Timestamp,
    players: np.ndarray,
    jerseys: np.ndarray,
    moves: np.ndarray,
    places: np.ndarray,
) -> pd.DataFrame:
    """What the sensors tell; some cells are missing, and numbers have two decimals or all there are."""
    steps = np.repeat(np.array(STEPS), PLAYERS)
    who = np.tile(np.arange(PLAYERS), len(STEPS))
    distance = np.linalg.norm(moves, axis=-1).ravel()
    direction = np.degrees(np.arctan2(moves[..., 0], moves[..., 1])).ravel() % 360
    change = np.diff(np.linalg.norm(moves, axis=-1), axis=0, prepend=0).ravel() * 100
    orientation = (direction + rng.normal(0, 20, len(direction))) % 360
    orientation[rng.random(len(direction)) < 0.03] = np.nan
    return pd.DataFrame(
        {
            **keys,
            "nfl_player_id": players[who],
            "datetime": _times(snap, steps),
            "step": steps,
            "team": np.where(who < PLAYERS // 2, "home", "away"),
            "position": np.array(POSITIONS)[who],
            "jersey_number": jerseys[who],
            "x_position": places[..., 0].ravel().round(2),
            "y_position": places[..., 1].ravel().round(2),
            "speed": (10 * distance).round(2),
            "distance": distance.round(3),
            "direction": direction.round(2),
            "orientation": orientation,
            "acceleration": np.abs(change),
            "sa": change,
        }
    )


def _helmets(
    rng: np.random.Generator, keys: dict[str, object], players: np.ndarray, jerseys: np.ndarray, places: np.ndarray
) -> pd.DataFrame:
    """Boxes of helmets in the frames of two of the cameras; some players are overlooked."""
    found = pd.DataFrame(
        [
            (view, frame, player)
            for view in ("Endzone", "Sideline")
            for frame in range(FRAMES)
            for player in range(PLAYERS)
            if rng.random() < 0.9
        ],
        columns=["view", "frame", "player"],
    )
    who = found["player"].to_numpy()
    spots = places[found["frame"] * (len(STEPS) // FRAMES), who]
    return pd.DataFrame(
        {
            **keys,
            "view": found["view"],
            "video": f"{keys['game_play']}_" + found["view"] + ".mp4",
            "frame": found["frame"] + 1,
            "nfl_player_id": players[who],
            "player_label": [f"{'H' if each < PLAYERS // 2 else 'V'}{jerseys[each]:02d}" for each in who],
            "left": (10 * spots[:, 0]).astype(int),
            "width": rng.integers(12, 25, len(found)),
            "top": (12 * spots[:, 1]).astype(int),
            "height": rng.integers(12, 25, len(found)),
        }
    )


def _metadata(keys: dict[str, object], snap: pd.Timestamp) -> pd.DataFrame:
    """When the videos begin and end."""
    start, end, middle = _times(snap, np.array([-50, 50, 0]))
    views = ["Endzone", "Sideline"]
    return pd.DataFrame({**keys, "view": views, "start_time": start, "end_time": end, "snap_time": middle})


def _video(rng: np.random.Generator) -> bytes:
    """A green field with moving dots."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    spots, moves = rng.uniform([5, 5], [WIDTH - 5, HEIGHT - 5], (PLAYERS, 2)), rng.normal(0, 2, (PLAYERS, 2))
    frames = []
    for number in range(FRAMES):
        pixels = np.full((HEIGHT, WIDTH, 3), (40, 120, 50), dtype=np.uint8)
        for player, (column, row) in enumerate(spots + number * moves):
            dot = (x - column) ** 2 + (y - row) ** 2 < 4
            pixels[dot] = (230, 230, 230) if player < PLAYERS // 2 else (160, 30, 30)
        frames.append(jpeg_bytes(pixels))
    return mp4_bytes(frames, WIDTH, HEIGHT)
