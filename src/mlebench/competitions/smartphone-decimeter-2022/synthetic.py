"""Cars on winding roads near San Francisco; what their phones saw of the satellites, and what the surveyor saw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

EPOCHS = 25  # of a trip, one a second
SATELLITES = 4
FIXES_A_SECOND = 5  # of the surveying receiver
PHONES = ["GooglePixel4", "GooglePixel4XL", "GooglePixel5", "SamsungGalaxyS20Ultra", "XiaomiMi8"]
AREAS = {"MTV": (37.40, -122.08), "RWC": (37.48, -122.22), "SJC": (37.33, -121.89), "LAX": (33.94, -118.40)}
EARTH_AXIS, EARTH_FLATNESS = 6_378_137.0, 0.0818191908426**2
EMPTY = [  # columns of raw signals that the twin leaves empty
    "LeapSecond",
    "BiasNanos",
    "BiasUncertaintyNanos",
    "DriftNanosPerSecond",
    "DriftUncertaintyNanosPerSecond",
    "HardwareClockDiscontinuityCount",
    "TimeOffsetNanos",
    "State",
    "ReceivedSvTimeNanos",
    "ReceivedSvTimeUncertaintyNanos",
    "AccumulatedDeltaRangeState",
    "AccumulatedDeltaRangeMeters",
    "AccumulatedDeltaRangeUncertaintyMeters",
    "MultipathIndicator",
    "CodeType",
    "ChipsetElapsedRealtimeNanos",
    "ReceivedSvTimeNanosSinceGpsEpoch",
    "PseudorangeRateMetersPerSecond",
    "PseudorangeRateUncertaintyMetersPerSecond",
    "SvVelocityXEcefMetersPerSecond",
    "SvVelocityYEcefMetersPerSecond",
    "SvVelocityZEcefMetersPerSecond",
    "SvClockDriftMetersPerSecond",
]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    trips = max(12, size // EPOCHS)
    drives = _drives(rng, max(10, trips * 2 // 3))
    phones = {drive: list(rng.permutation(PHONES)[:1]) for drive in drives}
    for drive in rng.choice(drives, trips - len(drives)):
        phones[drive] = sorted({*phones[drive], str(rng.choice(PHONES))})
    for drive in drives:
        track = _Track(rng, drive)
        for phone in phones[drive]:
            _write_trip(rng, raw / "train" / drive / phone, track, labelled=True)
    hidden = _Track(rng, "2022-04-01-US-LAX-1")
    _write_trip(rng, raw / "test" / hidden.drive / PHONES[0], hidden, labelled=False)
    times = hidden.start + 1000 * np.arange(EPOCHS)
    sample = pd.DataFrame({"tripId": f"{hidden.drive}-{PHONES[0]}", "UnixTimeMillis": times})
    write_csv(
        sample.assign(LatitudeDegrees=37.904611315634504, LongitudeDegrees=-86.48107806249548),
        raw / "sample_submission.csv",
    )
    _write_metadata(raw / "metadata")


def _drives(rng: np.random.Generator, count: int) -> list[str]:
    """Names of drives: often two on one day, and sometimes without leading zeros in the date."""
    names: dict[str, None] = {}
    while len(names) < count:
        day = pd.Timestamp("2020-05-01") + pd.Timedelta(days=int(rng.integers(0, 600)))
        date = day.strftime("%Y-%m-%d") if rng.random() < 0.8 else f"{day.year}-{day.month}-{day.day}"
        area = rng.choice(list(AREAS))
        names.update(dict.fromkeys(f"{date}-US-{area}-{number}" for number in range(1, 2 + (rng.random() < 0.4))))
    return list(names)[:count]


class _Track:
    """Where a car is at each moment: a straight road, with a winding one on top of it."""

    def __init__(self, rng: np.random.Generator, drive: str) -> None:
        self.drive = drive
        year, month, day, _, area, _ = drive.split("-")
        midnight = pd.Timestamp(int(year), int(month), int(day)).value // 10**6
        self.start = midnight + 1000 * int(rng.integers(60_000, 80_000)) + 442
        self.origin = np.array(AREAS[area]) + rng.normal(0, 0.02, 2)
        self.speed = rng.normal(0, 1.2e-4, 2)
        self.swing, self.phase = rng.normal(0, 2e-4, 2), rng.uniform(0, 6, 2)

    def at(self, seconds: np.ndarray) -> np.ndarray:
        """Latitude and longitude in degrees, (moments, 2), so many seconds after the start."""
        time = seconds[:, None]
        return self.origin + self.speed * time + self.swing * np.sin(0.1 * time + self.phase)


def _write_trip(rng: np.random.Generator, folder: Path, track: _Track, labelled: bool) -> None:
    seconds = np.arange(EPOCHS, dtype=float)
    places = track.at(seconds)
    times = track.start + 1000 * np.arange(EPOCHS)
    year = track.drive[2:4]

    write_csv(_signals(rng, _ecef(places), times), folder / "device_gnss.csv")
    write_csv(_motion(rng, track.start), folder / "device_imu.csv")
    if labelled:
        write_csv(_truth(places, times), folder / "ground_truth.csv")
    log = "".join(f"Raw,{time},{10**6 * time}\n" for time in times)
    rinex = f"{'     3.03           OBSERVATION DATA    M':<60}RINEX VERSION / TYPE\n"
    _write_text(folder / "supplemental" / "gnss_log.txt", f"# \n# Raw,utcTimeMillis,TimeNanos\n{log}")
    _write_text(folder / "supplemental" / f"gnss_rinex.{year}o", rinex)
    _write_text(folder / "supplemental" / "span_log.nmea", _survey(track))


def _truth(places: np.ndarray, times: np.ndarray) -> pd.DataFrame:
    steps = np.gradient(places, axis=0) * [111_320, 88_000]
    return pd.DataFrame(
        {
            "MessageType": "Fix",
            "Provider": "GT",
            "LatitudeDegrees": places[:, 0],
            "LongitudeDegrees": places[:, 1],
            "AltitudeMeters": np.nan,
            "SpeedMps": np.hypot(*steps.T).round(4),
            "AccuracyMeters": 0.1,
            "BearingDegrees": np.degrees(np.arctan2(steps[:, 1], steps[:, 0])).round(3) % 360,
            "UnixTimeMillis": times,
        }
    )


def _signals(rng: np.random.Generator, truth: np.ndarray, times: np.ndarray) -> pd.DataFrame:
    """A row for each epoch and satellite; the position that the phone computes itself is metres off."""
    up = truth[0] / np.linalg.norm(truth[0])
    directions = up + rng.normal(0, 0.5, (SATELLITES, 3))
    satellites = truth[0] + 2.2e7 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    position = np.repeat(truth, SATELLITES, axis=0)
    satellite = np.tile(satellites, (len(truth), 1))
    bias = np.repeat(rng.normal(0, 100) + 0.1 * np.arange(len(truth)), SATELLITES)
    guess = truth + rng.normal(0, 1.5, 3) + rng.normal(0, 2.5, truth.shape)
    elevation = np.degrees(np.arcsin(np.clip(((satellites - truth[0]) / 2.2e7) @ up, -1, 1)))
    rows = len(position)
    kind = np.tile(rng.choice([1, 6], SATELLITES), len(truth))
    table: dict[str, object] = {
        "MessageType": "Raw",
        "utcTimeMillis": np.repeat(times, SATELLITES),
        "TimeNanos": np.repeat(10**6 * (times - times[0]), SATELLITES),
        "FullBiasNanos": -(10**6) * (times[0] - 315_964_800_000),
        "Svid": np.tile(rng.integers(1, 33, SATELLITES), len(truth)),
        "ConstellationType": kind,
        "SignalType": np.where(kind == 1, "GPS_L1", "GAL_E1"),
        "CarrierFrequencyHz": 1_575_420_000.0,
        "Cn0DbHz": rng.uniform(20, 48, rows).round(1),
        "ArrivalTimeNanosSinceGpsEpoch": np.repeat(10**6 * (times - 315_964_800_000), SATELLITES),
        "RawPseudorangeMeters": np.linalg.norm(satellite - position, axis=1) + bias + rng.normal(0, 3, rows),
        **{f"SvPosition{axis}EcefMeters": satellite[:, place] for place, axis in enumerate("XYZ")},
        "SvClockBiasMeters": 0.0,
        "SvElevationDegrees": np.tile(elevation, len(truth)).round(4),
        "SvAzimuthDegrees": np.tile(rng.uniform(0, 360, SATELLITES).round(4), len(truth)),
        "IsrbMeters": 0.0,
        "IonosphericDelayMeters": 4.0,
        "TroposphericDelayMeters": 2.5,
        **{f"WlsPosition{axis}EcefMeters": np.repeat(guess[:, place], SATELLITES) for place, axis in enumerate("XYZ")},
    }
    return pd.DataFrame(table).assign(**dict.fromkeys(EMPTY))


def _motion(rng: np.random.Generator, start: int) -> pd.DataFrame:
    rows = 2 * EPOCHS
    kinds = np.resize(["UncalAccel", "UncalGyro", "UncalMag"], rows)
    readings = rng.normal(0, 0.4, (rows, 3)).round(6) + np.where(kinds == "UncalAccel", 9.8, 0)[:, None] * [0, 0, 1]
    return pd.DataFrame(
        {
            "MessageType": kinds,
            "utcTimeMillis": start + 500 * np.arange(rows),
            "elapsedRealtimeNanos": 500_000_000 * np.arange(rows),
            **dict(zip(["MeasurementX", "MeasurementY", "MeasurementZ"], readings.T, strict=True)),
            **dict.fromkeys(["BiasX", "BiasY", "BiasZ"]),
        }
    )


def _survey(track: _Track) -> str:
    """What the surveying receiver logged, as GGA sentences of NMEA: the true track, several times a second."""
    first = -(-track.start // 1000) * 1000 - 1000
    times = first + np.arange(0, 1000 * (EPOCHS + 2), 1000 // FIXES_A_SECOND)
    lines = []
    for time, (latitude, longitude) in zip(times, track.at((times - track.start) / 1000), strict=True):
        clock = pd.Timestamp(int(time), unit="ms").strftime("%H%M%S.%f")[:9]
        north, west = _degrees_and_minutes(latitude), _degrees_and_minutes(-longitude)
        body = f"GPGGA,{clock},{north:012.7f},N,{west:013.7f},W,4,13,0.7,30.00,M,-31.00,M,,"
        check = 0
        for character in body:
            check ^= ord(character)
        lines.append(f"${body}*{check:02X}\n")
    return "".join(lines)


def _degrees_and_minutes(degrees: float) -> float:
    """As NMEA writes angles: 37.5 degrees are 3730.0."""
    return 100 * int(degrees) + 60 * (degrees - int(degrees))


def _ecef(places: np.ndarray) -> np.ndarray:
    """Earth-centred coordinates in metres, (places, 3), of places on the ellipsoid."""
    latitude, longitude = np.radians(places).T
    normal = EARTH_AXIS / np.sqrt(1 - EARTH_FLATNESS * np.sin(latitude) ** 2)
    flat = normal * np.cos(latitude)
    height = normal * (1 - EARTH_FLATNESS) * np.sin(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), height], axis=1)


def _write_metadata(folder: Path) -> None:
    _write_text(folder / "accumulated_delta_range_state_bit_map.json", '{"0": "ADR_STATE_VALID"}\n')
    _write_text(folder / "raw_state_bit_map.json", '{"0": "STATE_CODE_LOCK"}\n')
    constellations = {"constellationName": ["GPS", "GLONASS", "GALILEO"], "constellationType": [1, 3, 6]}
    write_csv(pd.DataFrame(constellations), folder / "constellation_type_mapping.csv")


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
