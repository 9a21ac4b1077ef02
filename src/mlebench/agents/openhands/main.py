"""Let an OpenHands agent work on the competition until it hands in.

The agent is the SDK's own: a terminal, an editor, a list of tasks, and a memory that is summarised as it grows. Nobody
is there to answer it, so as in the published runs the user is simulated: whenever the agent stops without having called
its finish tool, or without a submission in place, it is told to go on, up to a number of times; when it repeats itself,
it is told that. Every event is a file below LOGS_DIR/events, written as it happens.

Exit code: 0 if it handed in, or its steps or reminders are used up; 3 if the model was refused; 1 after any other
error. The last line of the output says which.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from openhands.sdk import LLM, Agent, Conversation, LocalConversation, Tool
from openhands.sdk.context.condenser import default_condenser
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.conversation.state import ConversationExecutionStatus
from openhands.sdk.event import ActionEvent, MessageEvent
from openhands.sdk.tool.builtins import FinishTool
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.task_tracker import TaskTrackerTool
from openhands.tools.terminal import TerminalTool

REFUSED = 3  # exit code
AGENT = "agent"  # what the SDK books the agent's own requests under
API_MODES = {"auto": "auto", "openai-chat": "chat", "openai-responses": "responses", "anthropic": "chat"}
GO_ON = """\
Nobody will answer questions: decide for yourself and go on with the task.
When a valid submission stands in {submission} and you can't improve it any more, call the finish tool.
"""
REPEATING = """\
You have done the same several times with the same result. If you wait for a command, give it a longer timeout;
otherwise try something else.
"""


def main() -> int:
    """Run the agent; the exit code says how it ended."""
    conversation = start(os.environ)
    conversation.send_message(Path(os.environ["PROMPT_FILE"]).read_text(encoding="utf-8"))
    code = 0
    try:
        with passing_on_notices(conversation, Path(os.environ["NOTICES_DIR"]) / "time.txt"):
            ending = work(conversation, os.environ)
    except ConversationRunError as error:
        code = REFUSED if refused(error) else 1
        ending = f"{'the model was refused' if code == REFUSED else 'failed'}: {error.original_exception}"
    finally:
        conversation.close()
    print(f"OpenHands after {steps(conversation)} steps: {ending}", flush=True)
    return code


def start(environment: Mapping[str, str]) -> LocalConversation:
    """A conversation with an agent that works in CODE_DIR."""
    llm = model(environment)
    terminal = {"no_change_timeout_seconds": int(environment["AGENT_QUIET_SECONDS"])}
    agent = Agent(
        llm=llm,
        tools=[
            Tool(name=TerminalTool.name, params=terminal),
            Tool(name=FileEditorTool.name),
            Tool(name=TaskTrackerTool.name),
        ],
        system_prompt_kwargs={"cli_mode": True},
        condenser=default_condenser(llm.model_copy(update={"usage_id": "condenser"})),
    )
    return Conversation(
        agent=agent, workspace=environment["CODE_DIR"], persistence_dir=Path(environment["LOGS_DIR"]) / "events"
    )


def model(environment: Mapping[str, str]) -> LLM:
    """The run's model, asked in the dialect that its name or the user calls for."""
    name, dialect = environment["MLEBENCH_MODEL"], environment["AGENT_DIALECT"]
    if dialect not in API_MODES:
        raise SystemExit(f'the parameter dialect is "{dialect}"; there are {", ".join(API_MODES)}')
    if dialect == "auto" and "claude" in name.lower():
        dialect = "anthropic"
    family = "anthropic" if dialect == "anthropic" else "openai"
    temperature, effort = environment["AGENT_TEMPERATURE"], environment["AGENT_REASONING_EFFORT"]
    # What is asked for is sent; else the SDK would leave it out for names that it doesn't know.
    asked = {"supports_sampling_params": bool(temperature), "supports_reasoning_effort": bool(effort)}
    llm = LLM(
        model=f"{family}/{name}",
        base_url=environment[f"{family.upper()}_BASE_URL"],
        api_key=environment[f"{family.upper()}_API_KEY"],
        api_mode=API_MODES[dialect],
        temperature=float(temperature) if temperature else None,
        reasoning_effort=effort or None,
        capability_overrides={capability: True for capability, wanted in asked.items() if wanted},
        max_output_tokens=int(environment["AGENT_MAX_OUTPUT_TOKENS"]) or None,
        num_retries=int(environment["AGENT_NUM_RETRIES"]),
        timeout=3600,  # an answer may be long in coming while a provider's failures are waited out
        usage_id=AGENT,
    )
    if effort and family == "openai" and not llm.uses_responses_api():  # litellm would leave it out, too
        return llm.model_copy(update={"litellm_extra_body": {"reasoning_effort": effort}})
    return llm


def work(conversation: LocalConversation, environment: Mapping[str, str]) -> str:
    """Let the agent work, and go on if it stops early; how that ended."""
    submission = Path(environment["SUBMISSION_DIR"]) / "submission.csv"
    iterations, reminders = int(environment["AGENT_MAX_ITERATIONS"]), int(environment["AGENT_MAX_REMINDERS"])
    reminded = 0
    while steps(conversation) < iterations:
        conversation.max_iteration_per_run = iterations - steps(conversation)
        conversation.run()
        status = conversation.state.execution_status
        if status == ConversationExecutionStatus.STUCK:
            conversation.send_message(REPEATING)
        elif status == ConversationExecutionStatus.ERROR:  # other errors are raised
            break
        elif called_finish(conversation) and submission.is_file():
            return "handed in"
        elif reminded == reminders:
            return f"stopped without handing in, {reminders} reminders did not help"
        else:
            reminded += 1
            conversation.send_message(GO_ON.format(submission=submission))
    return "all steps are used up"


def steps(conversation: LocalConversation) -> int:
    """How many answers of the model the agent had so far, summaries of its memory aside."""
    metrics = conversation.state.stats.usage_to_metrics.get(AGENT)
    return len(metrics.response_latencies) if metrics else 0


def called_finish(conversation: LocalConversation) -> bool:
    """Whether the last thing that the agent did was to call its finish tool."""
    for event in reversed(conversation.state.events):
        if event.source == "agent" and isinstance(event, ActionEvent | MessageEvent):
            return isinstance(event, ActionEvent) and event.tool_name == FinishTool.name
    return False


@contextmanager
def passing_on_notices(conversation: LocalConversation, notice: Path) -> Iterator[None]:
    """Meanwhile, as soon as there is a `notice` that time runs short, tell the agent what it says."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(2):
            if notice.is_file():
                conversation.send_message(notice.read_text(encoding="utf-8"))  # waits until the step is done
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def refused(error: BaseException | None) -> bool:
    """Whether the model was refused: no key, no right, or the budget is spent."""
    while error is not None:
        if getattr(error, "status_code", None) in (401, 403):
            return True
        error = error.__cause__ or error.__context__
    return False


if __name__ == "__main__":
    sys.exit(main())
