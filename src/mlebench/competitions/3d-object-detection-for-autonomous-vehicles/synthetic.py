"""Short drives past boxes of nine classes: one lidar that sees points on them, and one camera."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, jpeg_bytes, png_bytes

# Width, length and height in metres, and how frequent the class is.
CLASSES = {
    "animal": (0.4, 0.8, 0.5, 0.03),
    "bicycle": (0.6, 1.7, 1.5, 0.08),
    "bus": (2.9, 12.0, 3.4, 0.04),
    "car": (1.9, 4.7, 1.7, 0.6),
    "emergency_vehicle": (2.3, 6.3, 2.4, 0.01),
    "motorcycle": (0.9, 2.3, 1.6, 0.02),
    "other_vehicle": (2.8, 8.0, 3.2, 0.09),
    "pedestrian": (0.8, 0.8, 1.8, 0.08),
    "truck": (2.8, 10.0, 3.4, 0.05),
}
SAMPLES, POINTS = 5, 40  # of a scene; on an object
LIDAR_HEIGHT = 1.7  # of the sensor above the car's own zero


class World(NamedTuple):
    """What there is so far."""

    tokens: list[str]  # that are left to be given away
    tables: dict[str, list[dict[str, Any]]]
    boxes: dict[str, list[str]]  # as texts, by the token of the sample

    def add(self, table: str, **facts: Any) -> str:
        """Add a record to a table; its new token."""
        token = self.tokens.pop()
        self.tables.setdefault(table, []).append({**facts, "token": token})
        return token


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    """`size` is the number of scenes."""
    world = World(hex_ids(rng, 100 + size * (10 + SAMPLES * 25), 64), tables={}, boxes={})
    for name in ("train_data", "train_images", "train_lidar", "train_maps", "test_data"):
        (raw / name).mkdir(parents=True)
    category = {name: world.add("category", name=name, description="") for name in CLASSES}
    attribute = world.add("attribute", name="object_action_parked", description="")
    sensors = _sensors(world)
    plan = world.add("map", log_tokens=[], category="semantic_prior", filename="maps/map_raster_palo_alto.png")
    for number in range(size):
        _scene(raw, rng, world, number, sensors, category, attribute, plan)
    world.tables["map"][0]["log_tokens"] = [log["token"] for log in world.tables["log"]]
    world.tables["visibility"] = [{"description": "visibility", "token": str(n), "level": f"v{n}"} for n in range(1, 5)]
    for name, records in world.tables.items():
        (raw / "train_data" / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
    (raw / "test_data" / "log.json").write_text("[]", encoding="utf-8")
    plan_pixels = rng.integers(0, 255, (16, 16), dtype=np.uint8)
    (raw / "train_maps" / "map_raster_palo_alto.png").write_bytes(png_bytes(plan_pixels))
    table = pd.DataFrame(
        {"Id": list(world.boxes), "PredictionString": [" ".join(each) for each in world.boxes.values()]}
    )
    write_csv(table.iloc[rng.permutation(len(table))], raw / "train.csv")
    write_csv(pd.DataFrame({"Id": world.tokens[-3:], "PredictionString": ""}), raw / "sample_submission.csv")


def _sensors(world: World) -> dict[str, str]:
    """The calibrated camera and lidar."""
    camera = world.add("sensor", modality="camera", channel="CAM_FRONT")
    lidar = world.add("sensor", modality="lidar", channel="LIDAR_TOP")
    lens = [[40.0, 0, 24.0], [0, 40.0, 18.0], [0, 0, 1]]
    upright = [1.0, 0.0, 0.0, 0.0]
    place = [0.0, 0.0, LIDAR_HEIGHT]
    forwards = [0.5, -0.5, 0.5, -0.5]
    facts = {"jpeg": (camera, forwards, lens), "bin": (lidar, upright, [])}
    return {
        kind: world.add(
            "calibrated_sensor", sensor_token=token, rotation=turn, camera_intrinsic=lens, translation=place
        )
        for kind, (token, turn, lens) in facts.items()
    }


def _scene(
    raw: Path,
    rng: np.random.Generator,
    world: World,
    number: int,
    sensors: dict[str, str],
    category: dict[str, str],
    attribute: str,
    plan: str,
) -> None:
    host = f"host-a{number % 3:03d}"
    log = world.add(
        "log", date_captured="2019-03-01", location="Palo Alto", vehicle=host[5:], logfile="", map_token=plan
    )
    start = np.append(rng.uniform(1000, 2500, 2), rng.uniform(-25, -18))
    names = rng.choice(list(CLASSES), rng.integers(4, 9), p=[facts[3] for facts in CLASSES.values()])
    objects = [_object(rng, name, world.add("instance", category_token=category[name])) for name in names.tolist()]
    samples = [world.tokens.pop() for _ in range(SAMPLES)]
    for place, sample in enumerate(samples):
        time = 1.55e15 + 1e12 * number + 2e5 * place
        ego = start + np.array([4.0 * place, 0, 0])
        around = {
            "prev": samples[place - 1] if place else "",
            "next": samples[place + 1] if place + 1 < SAMPLES else "",
        }
        record = {**around, "token": sample, "timestamp": time, "scene_token": log}
        world.tables.setdefault("sample", []).append(record)
        boxes = [each.box(start, place) for each in objects]
        world.boxes[sample] = [
            " ".join(map(repr, box.tolist())) + f" {each.name}" for each, box in zip(objects, boxes, strict=True)
        ]
        for each, box in zip(objects, boxes, strict=True):
            each.annotations.append(_annotation(world, each, box, sample, attribute))
        _sensor_files(raw, rng, world, f"{host}_{{}}_{number:04d}{place:02d}", sensors, sample, time, ego, boxes)
    for each in objects:
        each.link(world)
    scene = {"log_token": log, "first_sample_token": samples[0], "name": f"{host}-lidar0-{number}", "description": ""}
    scene |= {"last_sample_token": samples[-1], "nbr_samples": SAMPLES, "token": log}
    world.tables.setdefault("scene", []).append(scene)


class Thing(NamedTuple):
    """One object: where it is in the first sample as seen from the car, and how it moves on."""

    name: str
    token: str
    place: np.ndarray
    step: np.ndarray
    size: np.ndarray
    yaw: float
    annotations: list[dict[str, Any]]

    def box(self, origin: np.ndarray, turn: int) -> np.ndarray:
        """Centre, width, length, height and yaw in the world."""
        return np.concatenate([origin + self.place + turn * self.step, self.size, [self.yaw]])

    def link(self, world: World) -> None:
        """Complete the chain of annotations, and the object's own record."""
        for before, after in pairwise(self.annotations):
            before["next"], after["prev"] = after["token"], before["token"]
        record = next(record for record in world.tables["instance"] if record["token"] == self.token)
        record["first_annotation_token"] = self.annotations[0]["token"]
        record["last_annotation_token"] = self.annotations[-1]["token"]
        record["nbr_annotations"] = len(self.annotations)


def _object(rng: np.random.Generator, name: str, token: str) -> Thing:
    size = np.array(CLASSES[name][:3]) * rng.uniform(0.9, 1.1, 3)
    yaw = float(rng.uniform(-np.pi, np.pi))
    speed = rng.choice([0.0, 1.5])
    place = np.append(rng.uniform(-30, 30, 2), size[2] / 2)
    return Thing(name, token, place, speed * np.array([np.cos(yaw), np.sin(yaw), 0]), size, yaw, [])


def _annotation(world: World, thing: Thing, box: np.ndarray, sample: str, attribute: str) -> dict[str, Any]:
    world.add(
        "sample_annotation",
        num_lidar_pts=-1,
        size=box[3:6].tolist(),
        sample_token=sample,
        rotation=[float(np.cos(thing.yaw / 2)), 0, 0, float(np.sin(thing.yaw / 2))],
        prev="",
        translation=box[:3].tolist(),
        num_radar_pts=0,
        attribute_tokens=[attribute],
        next="",
        instance_token=thing.token,
        visibility_token="",
    )
    return world.tables["sample_annotation"][-1]


def _sensor_files(
    raw: Path,
    rng: np.random.Generator,
    world: World,
    name: str,
    sensors: dict[str, str],
    sample: str,
    time: float,
    ego: np.ndarray,
    boxes: list[np.ndarray],
) -> None:
    """A picture and a cloud of points; both share the pose of the car."""
    pose = world.add("ego_pose", rotation=[1.0, 0.0, 0.0, 0.0], translation=ego.tolist(), timestamp=time)
    cloud = np.concatenate([_points(rng, box) for box in boxes]) - [*ego[:2], ego[2] + LIDAR_HEIGHT, 0, 0]
    picture = rng.integers(60, 120, (36, 48, 3), dtype=np.uint8)
    files = {"jpeg": ("images", "cam0", jpeg_bytes(picture)), "bin": ("lidar", "lidar1", cloud.astype("<f4").tobytes())}
    for kind, (folder, sensor, content) in files.items():
        file = f"{name.format(sensor)}.{kind}"
        (raw / f"train_{folder}" / file).write_bytes(content)
        world.add(
            "sample_data",
            width=48 if kind == "jpeg" else None,
            height=36 if kind == "jpeg" else None,
            calibrated_sensor_token=sensors[kind],
            sample_token=sample,
            is_key_frame=True,
            prev="",
            fileformat=kind,
            ego_pose_token=pose,
            timestamp=time,
            next="",
            filename=f"{folder}/{file}",
        )


def _points(rng: np.random.Generator, box: np.ndarray) -> np.ndarray:
    """Points within a box in the world, with intensity and ring; (POINTS, 5)."""
    centre, (width, length, height), yaw = box[:3], box[3:6], box[6]
    along, across, up = rng.uniform(-0.5, 0.5, (3, POINTS)) * np.array([[length], [width], [height]])
    x = centre[0] + along * np.cos(yaw) - across * np.sin(yaw)
    y = centre[1] + along * np.sin(yaw) + across * np.cos(yaw)
    return np.column_stack([x, y, centre[2] + up, rng.uniform(0, 255, POINTS), rng.integers(0, 32, POINTS)])
