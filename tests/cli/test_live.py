"""What `mlebench run` says where there is no terminal."""

from dataclasses import replace

from mlebench.cli.live import watched
from mlebench.runs.store import AttemptFolder, AttemptState


def write(attempt, end, finished, **more):
    attempt.path.mkdir(parents=True, exist_ok=True)
    state = AttemptState(attempt.competition_id, attempt.seed, "finished", end, finished=finished)
    attempt.write_state(replace(state, **more))


def test_each_try_is_told_once_and_none_that_ended_before(tmp_path, capsys):
    done, stopped, fresh = (AttemptFolder(tmp_path, name, 0) for name in ("done", "stopped", "fresh"))
    write(done, "completed", "2026-01-31T10:00:00.000+00:00")
    write(stopped, "interrupted", "2026-01-31T10:00:01.000+00:00")
    attempts = [done, stopped, fresh]

    def said():
        watch(attempts)
        return capsys.readouterr().err

    with watched() as watch:
        assert said() == ""
        assert said() == ""  # nothing has begun yet
        stopped.write_state(AttemptState("stopped", 0, "running"))
        assert said() == ""
        write(stopped, "timeout", "2026-01-31T11:00:00.000+00:00")
        assert said() == "stopped seed 0: timeout\n"
        assert said() == ""
        write(fresh, "gateway-error", "2026-01-31T12:00:00.000+00:00", message="no key")
        assert said() == "fresh seed 0: gateway-error (no key)\n"
        write(fresh, "gateway-error", "2026-01-31T13:00:00.000+00:00", message="no key")
        assert said() == "fresh seed 0: gateway-error (no key)\n"


def test_an_attempt_that_is_graded_late_is_told(tmp_path, capsys):
    attempt, when = AttemptFolder(tmp_path, "late", 0), "2026-01-31T10:00:00.000+00:00"
    write(attempt, "grader-error", when, message="no room")
    with watched() as watch:
        watch([attempt])
        write(attempt, "completed", when)
        watch([attempt])
    assert capsys.readouterr().err == "late seed 0: completed\n"
