"""Many competitions at once: while one is unpacked and prepared, others are downloaded.

Downloads are threads of this process, for they only wait; unpacking, preparing and checksums are a process for each
competition (see `worker`). One competition goes the same way as eighty.

The smallest download comes first, and of what is there the smallest is prepared first: whatever the speeds, this
order has the most competitions done at any time, and from the second one on the network and the processors work side
by side. The price is that the preparation of the last and largest one stands alone at the end.

Nothing begins whose peak on disk does not fit beside what is still promised to those under way; it waits until one of
them is done and its zip is gone. Only where Kaggle told the size of a download is a competition refused for lack of
disk: an estimate of ours may make it wait, and a real lack is noticed by whoever writes.

SIGINT and SIGTERM stop it: downloads keep their bytes, processes clean up or are killed, and since each stage is
atomic the next call goes on from there. A second signal ends everything at once, which loses no more.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from mlebench.errors import MlebenchError, UsageError
from mlebench.files import nearest_existing
from mlebench.preparation import progress
from mlebench.preparation.commit import has_leftovers
from mlebench.preparation.disk.sizes import Needs
from mlebench.preparation.pipeline.board import Board
from mlebench.preparation.pipeline.jobs import Job, Task, is_there, job_of, needs_of, together
from mlebench.preparation.pipeline.worker import Died, Worker, facts_of, words_of
from mlebench.preparation.sources import Downloading, find_source

if TYPE_CHECKING:
    from mlebench.preparation.kaggle.preflight import Access

DOWNLOAD_JOBS = 2
MAX_JOBS = 8  # more preparations only wait for the disk
JOB_BYTES = 8_000_000_000  # of memory, which the largest tables take
JOB_CPUS = 2
GRACE_SECONDS = 1.2  # for processes to clean up, once they are told to stop
STATES = ("prepared", "already prepared", "verified", "mismatch", "failed", "stopped")
_GB = 1_000_000_000


@dataclass(frozen=True)
class Result:
    """How one competition ended: well if there are no problems."""

    competition: str
    state: str  # one of STATES
    problems: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)  # path, edition, source, files ... of what is there
    page: str = ""  # where something can be done about it: Kaggle does not give it to this user
    advice: str = ""  # what to do there, where the problems don't say it

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = {"competition": self.competition, "state": self.state, "problems": list(self.problems), **self.facts}
        return told | {name: text for name, text in (("page", self.page), ("advice", self.advice)) if text}


@dataclass(frozen=True)
class Plan:
    """What is about to be done."""

    there: int  # competitions that are prepared already
    refused: int  # that Kaggle does not give out
    to_do: int
    to_verify: int  # of these: they are there already
    needs: Needs | None  # of those whose size is known; None if there are none
    is_told: bool  # sizes of downloads are no estimates
    free: int  # bytes, where the data go


class Interrupted(MlebenchError):
    """A signal ended it; in `results` what was under way or waited is "stopped"."""

    exit_code = 130

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = list(results)
        super().__init__("interrupted")


def default_jobs() -> int:
    """How many preparations this machine takes at once: by processors and memory."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cpus // JOB_CPUS, psutil.virtual_memory().total // JOB_BYTES, MAX_JOBS))


def prepare_many(
    tasks: Sequence[Task],
    jobs: int | None = None,
    download_jobs: int = DOWNLOAD_JOBS,
    on_result: Callable[[Result], None] = lambda _: None,
    on_plan: Callable[[Plan], None] = lambda _: None,
    board: Board | None = None,
) -> list[Result]:
    """Prepare all of them, `jobs` at a time while `download_jobs` are downloaded; results in the order of the tasks.

    Each result is passed to `on_result` when it is there, in the calling thread. What fails does not hurt the others.
    Raises Interrupted after SIGINT or SIGTERM, and UsageError at once if nothing can succeed: no credentials for
    Kaggle or wrong ones, a source that is not there.
    """
    return _Pipeline(tasks, jobs or default_jobs(), download_jobs, on_result, on_plan, board or Board()).run()


class _Stop(BaseException):
    """Ends a thread at its next report of progress."""


@dataclass(frozen=True)
class _Stoppable:
    """A display by which a thread learns that it is to stop."""

    display: progress.Display
    stopping: threading.Event

    def start(self, text: str, total: int, unit: str) -> int:
        self._check()
        return self.display.start(text, total, unit)

    def advance(self, step: int, amount: int) -> None:
        self._check()
        self.display.advance(step, amount)

    def finish(self, step: int) -> None:
        self.display.finish(step)

    def _check(self) -> None:
        if self.stopping.is_set():
            raise _Stop


class _Pipeline:
    def __init__(
        self,
        tasks: Sequence[Task],
        jobs: int,
        download_jobs: int,
        on_result: Callable[[Result], None],
        on_plan: Callable[[Plan], None],
        board: Board,
    ) -> None:
        self._tasks, self._limit, self._download_limit = tasks, jobs, download_jobs
        self._on_result, self._on_plan, self._board = on_result, on_plan, board
        self._jobs: list[Job] = []
        self._results: dict[str, Result] = {}
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._signals = 0
        self._access: dict[str, Access] | None = None

    def run(self) -> list[Result]:
        """All results."""
        with self._signals_caught():
            try:
                self._sort_out()
                self._ask_for_access()
                self._say_plan()
                while any(job.stage != "done" for job in self._jobs):
                    self._start_what_fits()
                    self._wait()
            finally:
                self._stop_all()
        return self._in_order()

    def _in_order(self) -> list[Result]:
        names = [task.name for task in self._tasks]
        return [self._results.get(name) or Result(name, "stopped", ("interrupted",)) for name in names]

    def _wait(self) -> None:
        """For the next event, and carry it out."""
        if any(job.stage != "done" for job in self._jobs):
            self._events.get()()

    # --- before it begins

    def _sort_out(self) -> None:
        """What is there already, what is to be downloaded, what only to be prepared."""
        self._board.expect_jobs(self._limit)
        for task in self._tasks:
            source = find_source(task.source, task.rows, task.seed, task.dataset.data_dir)
            self._board.expect(task.name, None, False)
            try:
                there = not task.force and is_there(task, source)
                facts = facts_of(task.dataset) if there else {}
            except Exception as error:
                self._finish(task, _failed(task.name, _about_manifest(task, error)))
            else:
                if there and not task.verify and not has_leftovers(task.dataset.home):
                    self._finish(task, Result(task.name, "already prepared", (), facts))
                else:
                    self._jobs.append(job_of(task, source, there))

    def _ask_for_access(self) -> None:
        """Where Kaggle must be asked for several: which of them it gives out, and how large they are."""
        to_ask = [job for job in self._jobs if job.stage == "download" and job.task.source == "kaggle"]
        if len(to_ask) > 1:
            self._in_thread(partial(self._check, [job.name for job in to_ask]))
            while self._access is None:
                self._events.get()()
            for job in to_ask:
                self._take_access(job, self._access[job.name])
        self._jobs = [job for job in self._jobs if job.stage != "done"]
        for job in self._jobs:
            self._board.expect(job.name, job.size or None, job.stage == "download")

    def _check(self, ids: list[str]) -> None:
        from mlebench.preparation.kaggle.client import Client
        from mlebench.preparation.kaggle.preflight import PATIENCE, check

        try:
            with (
                progress.shown_on(_Stoppable(self._board.display(), self._stopping)),
                Client(patience=PATIENCE) as client,
            ):
                found = check(client, ids, sizes=True)
        except _Stop:
            return
        except Exception as error:
            self._events.put(partial(_raise, error))
        else:
            self._events.put(partial(setattr, self, "_access", found))

    def _take_access(self, job: Job, access: Access) -> None:
        if access.state not in ("open", "unknown"):
            self._finish(job, Result(job.name, "failed", (access.reason,), page=access.page, advice=access.advice))
        elif access.bytes is not None:
            job.needs, job.is_size_told = needs_of(job.task, access.bytes), True

    def _say_plan(self) -> None:
        states = [result.state for result in self._results.values()]
        known = [job.still_needs for job in self._jobs if job.needs]
        self._on_plan(
            Plan(
                there=states.count("already prepared"),
                refused=sum(bool(result.page) for result in self._results.values()),
                to_do=len(self._jobs),
                to_verify=sum(job.is_there and job.task.verify for job in self._jobs),
                needs=together(known, self._limit + self._download_limit) if known else None,
                is_told=all(job.is_size_told for job in self._jobs if job.needs),
                free=_free(self._tasks[0].dataset.data_dir) if self._tasks else 0,
            )
        )

    # --- what is under way

    def _start_what_fits(self) -> None:
        for waiting, limit, start in (
            ("prepare", self._limit, self._start_preparing),
            ("download", self._download_limit, self._start_downloading),
        ):
            under_way = {"prepare": "preparing", "download": "downloading"}[waiting]
            for job in self._waiting(waiting):
                if sum(other.stage == under_way for other in self._jobs) < limit and not self._lacking(job):
                    start(job)
        self._note_lack_of_disk()

    def _waiting(self, stage: str) -> list[Job]:
        return sorted((job for job in self._jobs if job.stage == stage), key=lambda job: job.to_come)

    def _note_lack_of_disk(self) -> None:
        """Who waits for disk; if nothing is under way that could free any, waiting is of no use."""
        lacking = [job for job in self._waiting("prepare") + self._waiting("download") if self._lacking(job)]
        if lacking and not any(job.is_under_way for job in self._jobs):
            for job in [job for job in lacking if job.is_size_told]:
                self._finish(job, Result(job.name, "failed", (self._lack_of_disk(job),)))
            for job in [job for job in lacking if not job.is_size_told][:1]:
                (self._start_downloading if job.stage == "download" else self._start_preparing)(job)
        first = next((job for job in lacking if job.stage in ("download", "prepare")), None)
        self._board.note(f"{first.name} waits for {_gb(self._lacking(first))} of disk" if first else "")

    def _lacking(self, job: Job) -> int:
        """The bytes that the disk lacks for it, beside what is promised to those that have begun."""
        if job.stage == "prepare" and self._board.downloaded(job.name):
            return 0  # it was promised all when its download began
        home = job.task.dataset.data_dir
        promised = sum(
            max(0, other.still_needs.peak - self._written(other))
            for other in self._jobs
            if other is not job and self._has_promise(other) and other.task.dataset.data_dir == home
        )
        return max(0, job.still_needs.peak - (_free(home) - promised)) if job.needs else 0

    def _written(self, job: Job) -> int:
        """The bytes of its download that came now, while it lasts."""
        return max(0, self._board.downloaded(job.name) - job.begun) if job.stage == "downloading" else 0

    def _has_promise(self, job: Job) -> bool:
        return job.is_under_way or (job.stage == "prepare" and self._board.downloaded(job.name) > 0)

    def _lack_of_disk(self, job: Job) -> str:
        home = job.task.dataset.data_dir
        return (
            f"needs {_gb(self._lacking(job))} more disk: about {_gb(job.still_needs.peak)} at the peak, {home} has "
            f"{_gb(_free(home))} free; free some or choose another --data-dir, and run it again"
        )

    def _start_downloading(self, job: Job) -> None:
        job.stage = "downloading"
        self._board.enter(job.name, "downloading")
        self._in_thread(partial(self._download, job))

    def _download(self, job: Job) -> None:
        """In a thread."""
        try:
            with progress.shown_on(_Stoppable(self._board.display(job.name), self._stopping)):
                if job.task.force or not job.task.dataset.is_prepared:  # by another process, meanwhile
                    assert isinstance(job.source, Downloading)
                    job.source.obtain(job.task.dataset.competition)
        except _Stop:
            return
        except UsageError as error:  # about credentials: what holds for one holds for all
            self._events.put(partial(_raise, error))
        except Exception as error:
            self._events.put(partial(self._finish, job, _failed(job.name, error)))
        else:
            self._events.put(partial(self._downloaded, job))

    def _downloaded(self, job: Job) -> None:
        job.stage = "prepare"
        self._board.enter(job.name, "downloaded")

    def _start_preparing(self, job: Job) -> None:
        job.stage = "preparing"
        self._board.enter(job.name, "preparing")
        try:
            job.worker = Worker(job.order(), self._board.display(job.name))
        except OSError as error:  # no memory or too many processes
            self._finish(job, Result(job.name, "failed", (f"no process could be started for it: {error}",)))
        else:
            self._in_thread(partial(self._follow, job, job.worker))

    def _follow(self, job: Job, worker: Worker) -> None:
        """In a thread."""
        try:
            result = _result(job.name, worker.run())
        except Died as death:
            doing = next((f" while {row.text}" for row in self._board.rows() if row.name == job.name), "")
            advice = "run it again with fewer --jobs or more memory" if "memory" in death.reason else "run it again"
            result = Result(job.name, "failed", (f"{death.reason}{doing}; nothing half-made is left: {advice}",))
        except Exception as error:
            result = _failed(job.name, error)
        self._events.put(partial(self._finish, job, result))

    def _finish(self, ended: Job | Task, result: Result) -> None:
        if isinstance(ended, Job):
            ended.stage = "done"
        self._results[result.competition] = result
        self._board.enter(result.competition, "done")
        self._on_result(result)

    # --- the end

    def _in_thread(self, function: Callable[[], None]) -> None:
        thread = threading.Thread(target=function, daemon=True)
        self._threads.append(thread)
        thread.start()

    @contextmanager
    def _signals_caught(self) -> Iterator[None]:
        """Signals become events; only the main thread of a process may do that."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, *_: object) -> None:
        self._signals += 1
        if self._signals == 1:
            self._events.put(self._interrupt)
            return
        for job in self._jobs:
            if job.worker:
                job.worker.kill()
        if sys.stderr and sys.stderr.isatty():
            os.write(2, b"\x1b[?25h\n")  # the display has hidden the cursor
        os._exit(Interrupted.exit_code)

    def _interrupt(self) -> None:
        self._stop_all()
        raise Interrupted(self._in_order())

    def _stop_all(self) -> None:
        """Tell everybody to stop and wait a moment; threads that wait for a server end with this process."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        workers = [job.worker for job in self._jobs if job.worker and job.stage != "done"]
        for worker in workers:
            worker.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for worker in workers:
            worker.kill()


def _result(name: str, told: dict[str, Any]) -> Result:
    facts = {key: value for key, value in told.items() if key not in ("state", "problems", "page")}
    return Result(name, told["state"], tuple(told["problems"]), facts, page=told.get("page", ""))


def _failed(name: str, error: Exception) -> Result:
    return Result(name, "failed", (words_of(error),), page=getattr(error, "page", ""))


def _about_manifest(task: Task, error: Exception) -> Exception:
    """The error, if it is about anything else than a manifest that can't be read."""
    if isinstance(error, MlebenchError):
        return error
    return MlebenchError(f"{task.dataset.manifest_path} is damaged: {error!r}; --force prepares the data again")


def _raise(error: Exception) -> None:
    raise error


def _free(folder: Path) -> int:
    with suppress(OSError):
        return shutil.disk_usage(nearest_existing(folder)).free
    return 0


def _gb(amount: int) -> str:
    return f"{amount / _GB:,.1f} GB"
