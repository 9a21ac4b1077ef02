"""What is known of a preparation under way: who is at which step, how fast it goes, how long it may still take.

Workers report from any thread; whoever shows it reads rows and totals when it likes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

WINDOW_SECONDS = 20.0  # over which a speed is the mean
LEAST_SECONDS = 5.0  # of downloading, before anything is said about the time left
ENOUGH_BYTES, ENOUGH_SHARE = 1_000_000_000, 0.2  # prepared, or so much of what is to come, before the same

Clock = Callable[[], float]


@dataclass(frozen=True)
class Row:
    """One step under way. `name` is the competition; "" for a step that belongs to none."""

    name: str
    text: str
    done: int = 0
    total: int = 0
    unit: str = ""
    speed: float | None = None  # bytes a second, of a download
    since: float = 0.0  # on the board's clock

    @property
    def seconds_left(self) -> float | None:
        """Of a download, at its speed."""
        return (self.total - self.done) / self.speed if self.speed else None


@dataclass(frozen=True)
class Totals:
    """All competitions together. `bytes_total` is None while sizes are unknown, `seconds_left` while speeds are."""

    done: int
    competitions: int
    bytes_done: int
    bytes_total: int | None
    speed: float | None
    seconds_left: float | None
    note: str


class _Meter:
    """Bytes a second over the last seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self._since = clock()

    def add(self, amount: int) -> None:
        self._seen.append((self._clock(), amount))

    def speed(self) -> float | None:
        now = self._clock()
        while self._seen and self._seen[0][0] < now - WINDOW_SECONDS:
            self._seen.popleft()
        seconds = min(now - self._since, WINDOW_SECONDS)
        if not self._seen or seconds < 1:
            return None
        return sum(amount for _, amount in self._seen) / seconds


@dataclass
class _Step:
    text: str
    total: int
    unit: str
    since: float
    done: int = 0
    has_begun: bool = False


@dataclass
class _Line:
    """What is known of one competition."""

    size: int | None  # of its download or, if there is nothing to download, of its data
    downloads: bool
    stage: str = "waiting"  # waiting, downloading, downloaded, preparing, done
    downloaded: int = 0
    since: float = 0.0
    steps: dict[int, _Step] = field(default_factory=dict)
    meter: _Meter | None = None

    @property
    def is_to_download(self) -> bool:
        return self.downloads and self.stage in ("waiting", "downloading")

    @property
    def bytes_expected(self) -> int | None:
        """Of its download: what it brought, once that is over."""
        return self.size if self.is_to_download else self.downloaded


class Board:
    """Keeps the steps of all competitions. Every method may be called from any thread."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.RLock()
        self._lines: dict[str, _Line] = {"": _Line(None, False)}
        self._handles = 0
        self._note = ""
        self._jobs = 1
        self._meter = _Meter(clock)
        self._downloading_seconds = self._downloading_since = 0.0
        self._downloaded = 0  # in this run: what was there before has not been measured
        self._prepared: list[tuple[int, float]] = []  # size, seconds

    def expect(self, name: str, size: int | None, downloads: bool) -> None:
        """A competition will come; `size` in bytes, as far as it is known."""
        with self._lock:
            self._lines[name] = _Line(size, downloads)

    def expect_jobs(self, jobs: int) -> None:
        """So many preparations run at a time."""
        self._jobs = jobs

    def display(self, name: str = "") -> StepsOf:
        """Where the steps of a competition, or those that belong to none, are shown."""
        return StepsOf(self, name)

    def note(self, text: str) -> None:
        """Say what all wait for; "" if for nothing."""
        self._note = text

    def enter(self, name: str, stage: str) -> None:
        """A competition is "downloading", "downloaded", "preparing" or "done" from now on."""
        with self._lock:
            line, now = self._lines[name], self.clock()
            was_downloading = self._is_downloading()
            if line.stage == "preparing" and stage == "done" and line.size:
                self._prepared.append((line.size, now - line.since))
            if stage == "downloading":
                line.meter = _Meter(self.clock)
            line.stage, line.since = stage, now
            line.steps.clear()
            self._note_downloading(was_downloading, now)

    def _note_downloading(self, before: bool, now: float) -> None:
        """Count the time during which anything is downloaded."""
        if not before and self._is_downloading():
            self._downloading_since, self._meter = now, _Meter(self.clock)
        elif before and not self._is_downloading():
            self._downloading_seconds += now - self._downloading_since

    def downloaded(self, name: str) -> int:
        """The bytes of a competition's download that are there."""
        with self._lock:
            return self._lines[name].downloaded

    def rows(self) -> list[Row]:
        """What is under way: one row a competition with its innermost step, and the steps that belong to none."""
        with self._lock:
            rows = [_row("", step, None) for step in self._lines[""].steps.values()]
            for name, line in self._lines.items():
                if name and line.stage in ("downloading", "preparing"):
                    steps = list(line.steps.values())
                    step = steps[-1] if steps else _Step(line.stage, 0, "", line.since)
                    rows.append(_row(name, step, line.meter if line.stage == "downloading" else None))
            return rows

    def totals(self) -> Totals:
        """All together."""
        with self._lock:
            lines = [line for name, line in self._lines.items() if name]
            sizes = [line.bytes_expected for line in lines]
            return Totals(
                done=sum(line.stage == "done" for line in lines),
                competitions=len(lines),
                bytes_done=sum(line.downloaded for line in lines),
                bytes_total=None if None in sizes else sum(size or 0 for size in sizes),
                speed=self._meter.speed() if self._is_downloading() else None,
                seconds_left=self._seconds_left(lines),
                note=self._note,
            )

    def _is_downloading(self) -> bool:
        return any(line.stage == "downloading" for line in self._lines.values())

    def _seconds_left(self, lines: list[_Line]) -> float | None:
        """Downloads at the mean speed so far, and preparations at theirs, one beside the other.

        The last preparation begins only after the last download, which is the largest. None while a speed that
        matters has not been measured, or a size is unknown.
        """
        now = self.clock()
        to_prepare = [line for line in lines if line.stage != "done"]
        if not to_prepare or any(line.size is None for line in to_prepare):
            return None
        seconds_for = self._seconds_to_prepare(sum(line.size or 0 for line in to_prepare))
        if seconds_for is None:
            return None
        spent = sum(now - line.since for line in to_prepare if line.stage == "preparing")
        preparing = max(0.0, sum(seconds_for(line.size or 0) for line in to_prepare) - spent)
        preparing /= min(self._jobs, len(to_prepare))
        to_download = [line for line in to_prepare if line.is_to_download]
        if not to_download:
            return preparing
        seconds = self._downloading_seconds + (now - self._downloading_since if self._is_downloading() else 0)
        if seconds < LEAST_SECONDS or not self._downloaded:
            return None
        missing = sum(max(0, (line.size or 0) - line.downloaded) for line in to_download)
        last = seconds_for(max(line.size or 0 for line in to_download))
        return max(missing * seconds / self._downloaded + last, preparing)

    def _seconds_to_prepare(self, to_come: int) -> Callable[[int], float] | None:
        """How long a preparation takes by its size: what the shortest one took, and so much for each byte.

        None while what has been prepared is too little to tell of the bytes that are to come.
        """
        size = sum(size for size, _ in self._prepared)
        if size < min(ENOUGH_BYTES, to_come * ENOUGH_SHARE) or not size:
            return None
        least = min(seconds for _, seconds in self._prepared)
        each = sum(seconds - least for _, seconds in self._prepared) / size
        return lambda amount: least + each * amount

    def start(self, name: str, text: str, total: int, unit: str) -> int:
        """A step begins; returns its handle."""
        with self._lock:
            self._handles += 1
            self._lines[name].steps[self._handles] = _Step(_short(text, name), total, unit, self.clock())
            return self._handles

    def advance(self, name: str, handle: int, amount: int) -> None:
        """A step is further by `amount`."""
        with self._lock:
            line = self._lines[name]
            step = line.steps.get(handle)
            if step is None:
                return
            step.done += amount
            if line.stage == "downloading" and step.unit == "B":
                self._count_bytes(line, step, amount)

    def _count_bytes(self, line: _Line, step: _Step, amount: int) -> None:
        if step.has_begun and line.meter:  # the first report tells where an interrupted download goes on
            line.meter.add(amount)
            self._meter.add(amount)
            self._downloaded += amount
        step.has_begun = True
        line.downloaded, line.size = step.done, max(step.total, step.done)

    def finish(self, name: str, handle: int) -> None:
        """A step is over."""
        with self._lock:
            self._lines[name].steps.pop(handle, None)


@dataclass(frozen=True)
class StepsOf:
    """The display of one competition's steps: see `mlebench.preparation.progress`."""

    board: Board
    name: str

    def start(self, text: str, total: int, unit: str) -> int:
        """Begin a step."""
        return self.board.start(self.name, text, total, unit)

    def advance(self, step: int, amount: int) -> None:
        """It is further."""
        self.board.advance(self.name, step, amount)

    def finish(self, step: int) -> None:
        """It is over."""
        self.board.finish(self.name, step)


def _row(name: str, step: _Step, meter: _Meter | None) -> Row:
    speed = meter.speed() if meter and step.unit == "B" else None
    return Row(name, step.text, step.done, step.total, step.unit, speed, step.since)


def _short(text: str, name: str) -> str:
    """Without the competition, which stands beside it, and without what goes without saying."""
    if not name:
        return text
    return text.removeprefix(f"{name}: ").replace(f" {name}.zip", "").removesuffix(" from Kaggle")
