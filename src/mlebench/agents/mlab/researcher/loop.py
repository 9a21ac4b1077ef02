"""The main loop: ask, do, note, until the time, the steps or the work is over."""

from __future__ import annotations

from .actions import ACTIONS, perform
from .answers import STOP, AnswerError, parse_answer
from .bench import Bench
from .prompts import prompt, reminder, shown_actions
from .reading import shortened, summarised
from .records import Records, Step

_SHOWN_ANSWER = 2_000  # characters of an answer that could not be used


def work(bench: Bench, records: Records) -> str:
    """Work on the task; returns why it ended. Raises ModelError if the model can't be asked any more."""
    steps: list[Step] = []
    try:
        while len(steps) < bench.settings.max_steps and bench.clock.left_for_work() > 0:
            step = take_step(bench, steps)
            steps.append(step)
            records.keep(step, bench.settings.work)
            _note_progress(bench, records, steps, "running")
            if bench.final_answer is not None:
                return _ended(bench, records, steps, "final answer")
    except TimeoutError:
        return _ended(bench, records, steps, "the time is over")
    except BaseException as error:
        _note_progress(bench, records, steps, f"{type(error).__name__}: {error}")
        raise
    over = "the steps are used up" if len(steps) >= bench.settings.max_steps else "the time is over"
    return _ended(bench, records, steps, over)


def take_step(bench: Bench, steps: list[Step]) -> Step:
    """One step. An answer that can't be used is thrown away, and asked for again a few times.

    After the last try the error is the step's observation. Raises ModelError, and TimeoutError once the time is over.
    """
    text, reason = "", ""
    for retries in range(bench.settings.max_retries + 1):
        again = reminder(reason, bench.settings.show_hidden_actions) if reason else ""
        asked = prompt(bench, steps, again)
        text = bench.models.ask(bench.settings.main_model, asked, bench.settings.max_tokens, None, f"\n{STOP}")
        try:
            bench.entries = parse_answer(text, tuple(ACTIONS))
        except AnswerError as error:
            reason = str(error)
            continue
        action = ACTIONS[bench.entries["Action"]]
        observation, parsed = perform(action, bench.entries["Action Input"], bench)
        return _step(bench, steps, bench.entries, observation, parsed, retries)
    observation = (
        f"The answer could not be used: {reason}. All six entries are needed, and an action out of: "
        f"{', '.join(shown_actions(bench.settings.show_hidden_actions))}. The answer was:\n"
        f"{shortened(text, _SHOWN_ANSWER)}"
    )
    return _step(bench, steps, {}, observation, False, bench.settings.max_retries + 1)


def _step(
    bench: Bench, steps: list[Step], entries: dict[str, str], observation: str, parsed: bool, retries: int
) -> Step:
    use = bench.models.use
    return Step(
        number=len(steps),
        entries=entries,
        observation=observation,
        shown=summarised(bench, observation) if entries else observation,
        parsed=parsed,
        retries=retries,
        seconds_left=round(bench.clock.left(), 3),
        requests=use.requests,
        input_tokens=use.input_tokens,
        output_tokens=use.output_tokens,
    )


def _ended(bench: Bench, records: Records, steps: list[Step], why: str) -> str:
    _note_progress(bench, records, steps, why)
    records.say(f"The end: {why}.")
    return why


def _note_progress(bench: Bench, records: Records, steps: list[Step], state: str) -> None:
    records.end(
        state=state,
        steps=len(steps),
        retries=sum(step.retries for step in steps),
        seconds=round(bench.settings.seconds - bench.clock.left(), 3),
        final_answer=bench.final_answer,
        requests=bench.models.use.requests,
        input_tokens=bench.models.use.input_tokens,
        output_tokens=bench.models.use.output_tokens,
    )
