"""The tool's tree search, step by step, with an eye on what each node's program wrote."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import warnings
from collections.abc import Callable
from multiprocessing import Queue
from typing import Any

from . import models, previews
from .settings import Settings
from .submissions import Submissions

REVIEWS = 3  # tries to get a review that can be read
KEPT_OUTPUT = 200_000  # characters of a program's output that are kept: the model is shown 5,000
BRIDGE = """

# Where your programs run

Each program runs in a working folder of its own, not in the folders that are named above. There, `./input` holds the
competition's files (links to {data}, which may be read as well; both are read-only), and predictions go to
`./working/submission.csv`, nowhere else. After every run that file is checked and kept; that of the best solution so
far is put where the competition asks for it. So never write to {submission} yourself.
"""


class Search:
    """One tree search. `node.id` -> submission is exact: a file is taken right after the program that wrote it."""

    def __init__(self, settings: Settings) -> None:
        from aide import agent as agent_module  # pyright: ignore[reportMissingImports]
        from aide.interpreter import Interpreter  # pyright: ignore[reportMissingImports]
        from aide.journal import Journal  # pyright: ignore[reportMissingImports]
        from aide.utils import data_preview  # pyright: ignore[reportMissingImports]

        self.settings = settings
        self.submissions = Submissions(
            settings.workspace / "working" / "submission.csv",
            settings.logs / "submissions",
            settings.submission,
            settings.keep_megabytes * 1e6,
            settings.validation_url,
        )
        self.config = configuration(settings)
        self.task = settings.logs.joinpath("task.md").read_text(encoding="utf-8")
        self.journal = Journal()
        fill_workspace(self.config, settings)
        self.ask = agent_module.query = models.asking(settings, lambda: len(self.journal))
        previews.bound(data_preview)
        self.agent = agent_module.Agent(self.task, self.config, self.journal)
        self.agent.update_data_preview = self._preview
        self._tools_review, self.agent.parse_exec_result = self.agent.parse_exec_result, self.review
        self.interpreter = Interpreter(settings.workspace, timeout=settings.told_timeout)
        self.interpreter.child_proc_setup = self._set_up_child(self.interpreter.child_proc_setup)
        self.interpreter.create_process = self._start_child(self.interpreter.create_process)
        self._child: int | None = None  # leads the process group of the program that runs

    def step(self) -> Any:
        """Let the tool make, run and review one more node; returns it."""
        try:
            self.agent.step(exec_callback=self.execute)
        finally:
            for node in self.journal.nodes:  # one that came to nothing would never be tried again
                node.children = {child for child in node.children if child.step is not None}
        self.hand_in()
        return self.journal.nodes[-1]

    # --- running a program

    def execute(self, code: str, reset: bool = True) -> Any:
        """Run a node's program. One that dies is a node with a bug, not the end of the search."""
        self.submissions.clear()
        self.interpreter.timeout = max(1, min(self.settings.told_timeout, int(self.settings.left)))
        try:
            return _shortened(self.interpreter.run(code, reset))
        except (RuntimeError, IndexError, AssertionError) as error:
            return self._died(error)
        finally:
            self.end_programs()

    def _died(self, error: Exception) -> Any:
        from aide.interpreter import ExecutionResult  # pyright: ignore[reportMissingImports]

        process = self.interpreter.process
        if process is None:  # the tool has killed it, and found no output to show
            return ExecutionResult(
                [f"TimeoutError: the program ran for more than {self.interpreter.timeout} seconds"],
                self.interpreter.timeout,
                "TimeoutError",
            )
        process.join(1)
        code = process.exitcode
        if code is None:
            reason = f"the program could not be started: {error}"
        elif code < 0:
            reason = f"the program was killed by {signal.Signals(-code).name}" + (
                ", most likely because it took too much memory" if code == -signal.SIGKILL else ""
            )
        else:
            reason = f"the program ended its process with exit code {code}"
        return ExecutionResult([f"RuntimeError: {reason}"], 0.0, "RuntimeError", {"args": [reason]}, [])

    def end_programs(self) -> None:
        """Kill the node's program and whatever it started: nothing may write into the next one's folder."""
        process = self.interpreter.process
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child, signal.SIGKILL)
            self._child = None
        if process is not None:
            process.kill()
            process.join(5)
        self.interpreter.cleanup_session()

    def _start_child(self, original: Callable[[], None]) -> Callable[[], None]:
        def start() -> None:
            original()
            self._child = self.interpreter.process.pid

        return start

    def _set_up_child(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        """What a program's process does first: it gets a process group and signals of its own."""
        working = str(self.settings.workspace / "working")

        def set_up(output: Queue[Any]) -> None:
            os.setpgid(0, 0)
            for number in (signal.SIGTERM, signal.SIGUSR1):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # by it the tool ends a program that takes long
            os.environ["SUBMISSION_DIR"] = working
            original(output)

        return set_up

    # --- reviewing it

    def review(self, node: Any, exec_result: Any) -> None:
        """Take the file as the node's, then let the tool review the output."""
        from aide.utils.metric import MetricValue, WorstMetricValue  # pyright: ignore[reportMissingImports]

        problem = self.submissions.keep(node.id)
        self.hand_in()  # a review takes its time, and the attempt may end before it comes
        if problem:
            print(f"  submission: {' '.join(problem.split())[:300]}", flush=True)
            exec_result.term_out.append(f"\nCheck of the submission: {problem}\n")
        readable = self._ask(node, exec_result)
        fails = not readable or (problem and self.settings.require_submission)
        if fails or node.is_buggy or not math.isfinite(node.metric.value):
            node.is_buggy = True
            node.metric = WorstMetricValue()
            return
        direction = next((good.metric.maximize for good in self.journal.good_nodes), node.metric.maximize)
        if node.metric.maximize != direction:  # the tool can't compare such nodes, and fails
            print(f"  the review turns the metric's direction round: {_direction(direction)} stays", flush=True)
            node.metric = MetricValue(node.metric.value, maximize=direction)

    def _ask(self, node: Any, exec_result: Any) -> bool:
        """Whether the model gave a review that can be read; asked again if not, for the program may have run hours."""
        for _ in range(REVIEWS):
            try:
                self._tools_review(node=node, exec_result=exec_result)
                return True
            except (KeyError, TypeError, ValueError, AssertionError, AttributeError, IndexError) as error:
                print(f"  the review can't be read: {type(error).__name__}: {error}", flush=True)
        node.analysis = "The output was not reviewed."
        return False

    # --- what is left behind

    def hand_in(self) -> str | None:
        """Put the best node's submission in place; returns the node's id, None if no node wrote a file yet."""
        best = self.best_node()
        return self.submissions.hand_in(None if best is None else best.id)

    def best_node(self) -> Any:
        """By the tool's own rule the best node without a bug, of those that wrote a file."""
        good = [node for node in self.journal.good_nodes if node.id in self.submissions.valid]
        return max(good, key=lambda node: node.metric, default=None)

    def save(self) -> None:
        """Journal, tree and configuration, and the code whose submission is in place. Failing is told, not fatal."""
        from aide.utils.config import save_run  # pyright: ignore[reportMissingImports]

        if not self.journal.nodes:
            return
        scratch = self.settings.logs / ".saving"
        self.config.log_dir = scratch
        try:
            with warnings.catch_warnings(action="ignore"):  # of a tree with one node
                save_run(self.config, self.journal)
            for path in scratch.iterdir():
                path.replace(self.settings.logs / path.name)
            scratch.rmdir()
            by_id = {node.id: node for node in self.journal.nodes}
            chosen = by_id.get(self.submissions.in_place or "", self.journal.nodes[-1])
            temporary = self.settings.code / ".best_solution.py"
            temporary.write_text(chosen.code, encoding="utf-8")
            temporary.replace(self.settings.code / "best_solution.py")
        except Exception as error:
            print(f"The journal can't be saved: {type(error).__name__}: {error}", flush=True)

    def _preview(self) -> None:
        from aide.utils import data_preview  # pyright: ignore[reportMissingImports]

        self.agent.data_preview = previews.text(data_preview, self.settings.workspace)


def configuration(settings: Settings) -> Any:
    """The tool's configuration."""
    from aide.utils.config import _load_cfg, prep_cfg  # pyright: ignore[reportMissingImports]

    settings.logs.mkdir(parents=True, exist_ok=True)
    task = settings.logs / "task.md"
    bridge = BRIDGE.format(data=settings.data, submission=settings.submission)
    task.write_text(settings.prompt.read_text(encoding="utf-8").rstrip() + bridge, encoding="utf-8")
    config = _load_cfg(use_cli_args=False)
    config.data_dir, config.desc_file, config.exp_name = str(settings.data), str(task), "aide"
    config.log_dir = config.workspace_dir = str(settings.workspace)
    config.copy_data, config.preprocess_data = settings.copy_data, settings.preprocess_data
    config.generate_report = settings.generate_report
    config.report.model = settings.model
    config.exec.timeout = settings.told_timeout
    config.agent.steps = settings.steps
    config.agent.k_fold_validation = settings.k_fold_validation
    config.agent.expose_prediction = settings.expose_prediction
    config.agent.data_preview = settings.data_preview
    config.agent.code.model, config.agent.code.temp = settings.model, settings.code_temperature
    config.agent.feedback.model, config.agent.feedback.temp = settings.feedback_model, settings.feedback_temperature
    config.agent.search.num_drafts = settings.num_drafts
    config.agent.search.max_debug_depth = settings.max_debug_depth
    config.agent.search.debug_prob = settings.debug_prob
    config = prep_cfg(config)
    config.log_dir, config.workspace_dir = settings.logs, settings.workspace  # without the tool's numbered folders
    return config


def fill_workspace(config: Any, settings: Settings) -> None:
    """Let the tool link or copy the data into the workspace, and unpack archives there.

    Only archives that stand in the data's first folder are unpacked if it is linked: the others are behind links to
    folders, which the tool doesn't follow, and which can't be written to.
    """
    from aide.utils import preproc_data  # pyright: ignore[reportMissingImports]
    from aide.utils.config import prep_agent_workspace  # pyright: ignore[reportMissingImports]

    config.preprocess_data = False
    prep_agent_workspace(config)
    config.preprocess_data = settings.preprocess_data
    if settings.preprocess_data:
        try:
            preproc_data(settings.workspace / "input")
        except Exception as error:  # the programs can unpack what they need themselves
            print(f"Not all archives could be unpacked: {type(error).__name__}: {error}", flush=True)


def _shortened(result: Any) -> Any:
    """A result without the middle of a very long output: the journal is written after every step."""
    output = "".join(result.term_out)
    if len(output) > KEPT_OUTPUT:
        half = KEPT_OUTPUT // 2
        result.term_out = [output[:half], f"\n... ({len(output) - KEPT_OUTPUT} characters)\n", output[-half:]]
    return result


def _direction(maximize: bool | None) -> str:
    return "higher is better" if maximize else "lower is better"
