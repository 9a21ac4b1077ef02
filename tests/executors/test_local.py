"""The local executor keeps the promises of concurrent.futures, and its children can't take each other down."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, wait

import psutil
import pytest

from mlebench.executors import find_executor
from mlebench.executors.local import ChildError, LocalExecutor

CALLS = """
import os, sys, time
def where(value): return [os.getpid(), value]
def fail(text): raise ValueError(text)
def die(): os._exit(7)
def unspeakable(): return {1, 2}
def talk(): print("this is no answer", flush=True); return "fine"
def sleep(marker):
    open(marker + ".started", "w").close()
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        open(marker + ".tidied", "w").close()
        raise
"""


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """A module that the server can import."""
    (tmp_path / "calls_of_the_test.py").write_text(CALLS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    import calls_of_the_test  # pyright: ignore[reportMissingImports]

    yield calls_of_the_test
    del sys.modules["calls_of_the_test"]


def until(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_each_call_has_a_process_of_its_own(calls):
    with LocalExecutor(3) as executor:
        results = [future.result() for future in [executor.submit(calls.where, number) for number in range(10)]]
    assert [value for _, value in results] == list(range(10))
    pids = {pid for pid, _ in results}
    assert len(pids) == 10
    assert os.getpid() not in pids


def test_errors_come_back_and_others_go_on(calls):
    with LocalExecutor(2) as executor:
        futures = [executor.submit(calls.fail, "the reason"), executor.submit(calls.die), executor.submit(calls.talk)]
        futures.append(executor.submit(calls.unspeakable))
        wait(futures)
    with pytest.raises(ChildError, match="ValueError: the reason"):
        futures[0].result()
    with pytest.raises(ChildError, match="ended with code 7"):
        futures[1].result()
    assert futures[2].result() == "fine"
    with pytest.raises(ChildError, match="not JSON serializable"):
        futures[3].result()


def test_arguments_must_be_json(calls):
    with LocalExecutor(1) as executor, pytest.raises(TypeError):
        executor.submit(calls.where, object())


def test_no_more_than_its_workers_run_at_once_and_the_rest_can_be_cancelled(calls, tmp_path):
    executor = LocalExecutor(2)
    futures = [executor.submit(calls.sleep, str(tmp_path / name)) for name in "abcd"]
    until(lambda: len(list(tmp_path.glob("*.started"))) == 2)
    assert futures[3].cancel()
    executor.shutdown(cancel_futures=True)
    assert sorted(path.name for path in tmp_path.glob("*.tidied")) == ["a.tidied", "b.tidied"]
    assert sorted(path.name for path in tmp_path.glob("*.started")) == ["a.started", "b.started"]
    for future in futures[:2]:
        with pytest.raises(ChildError, match="KeyboardInterrupt"):
            future.result()
    for future in futures[2:]:
        with pytest.raises(CancelledError):
            future.result()
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(calls.where, 1)


def test_a_killed_runner_interrupts_its_children(calls, tmp_path):
    code = "import sys, calls_of_the_test as calls\nfrom mlebench.executors.local import LocalExecutor\n"
    code += f"LocalExecutor(1).submit(calls.sleep, {str(tmp_path / 'x')!r}).result()"
    with subprocess.Popen([sys.executable, "-c", code]) as runner:
        until((tmp_path / "x.started").exists)
        family = psutil.Process(runner.pid).children(recursive=True)
        runner.send_signal(signal.SIGKILL)
    until((tmp_path / "x.tidied").exists)
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


def test_when_the_server_is_killed_every_call_fails(calls, tmp_path):
    executor = LocalExecutor(1)
    futures = [executor.submit(calls.sleep, str(tmp_path / name)) for name in "ab"]
    until((tmp_path / "a.started").exists)
    assert executor._server is not None
    executor._server.kill()
    for future in futures:
        with pytest.raises(ChildError, match="ended with code -9"):
            future.result(timeout=30)
    executor.shutdown()
    until((tmp_path / "a.tidied").exists)


def test_submitting_from_many_threads(calls):
    found = []
    with LocalExecutor(4) as executor:
        threads = [
            threading.Thread(target=lambda n=n: found.append(executor.submit(calls.where, n).result()[1]))
            for n in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == list(range(12))


def test_the_table_names_it():
    executor = find_executor("local", 1)
    assert isinstance(executor, LocalExecutor)
    executor.shutdown()
