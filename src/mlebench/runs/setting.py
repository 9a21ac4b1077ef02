"""What an attempt's agent is given: its world, its limits, what it is told; and the record of what that was."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from mlebench import catalog, environments
from mlebench.agents import Agent
from mlebench.dataset import Dataset
from mlebench.environments import Environment
from mlebench.errors import SandboxError
from mlebench.files import write_text
from mlebench.runs import machine
from mlebench.runs.hidden_validation import HeldBack, changed_files, hold_back
from mlebench.runs.instructions import hardware_in_words, instructions, prompt, warning_seconds
from mlebench.runs.seal import file_sha256, mlebench_digest, tree_digest
from mlebench.runs.store import AttemptFolder, RunConfig
from mlebench.sandbox import Limits, World
from mlebench.sandbox.inside import GATEWAY_PORT, VALIDATION_PORT
from mlebench.services import validation


def dataset_of(config: RunConfig, competition_id: str) -> Dataset:
    """The data of one of a run's competitions."""
    competition = catalog.get(competition_id, tuple(map(Path, config.competition_folders))).in_edition(config.edition)
    return Dataset(competition, Path(config.data_dir))


def replayed(config: RunConfig, attempt: AttemptFolder) -> Path:
    """The recording whose answers stand in for the model; only where the run is a replay."""
    return AttemptFolder(Path(config.replay or ""), attempt.competition_id, attempt.seed).path / "gateway.jsonl"


@dataclass(frozen=True)
class Setting:
    """One attempt before it begins."""

    folder: AttemptFolder
    config: RunConfig
    agent: Agent
    dataset: Dataset

    @cached_property
    def environment(self) -> Environment:
        """What the agent runs in. Raises UsageError if it isn't built."""
        return environments.find(self.agent.software_for(self.config.environment), self.config.sandbox)

    @cached_property
    def held_back(self) -> HeldBack | None:
        """The training rows held back, built anew if they were lost; SandboxError if they are not the planned ones."""
        if self.config.hidden_validation is None:
            return None
        found = hold_back(self.folder.run, self.dataset, self.config.hidden_validation)
        planned = self.config.held_back.get(self.folder.competition_id)
        if file_sha256(found.facts_path) != planned or changed_files(found.folder):
            raise SandboxError(f"the training rows held back in {found.folder} are not those that run.json names")
        return found

    def limits(self, cpus: Sequence[int] | None, gpus: Sequence[int]) -> Limits:
        """The run's limits with the devices of this attempt."""
        config = self.config
        return Limits(
            config.time_limit_seconds,
            config.memory_bytes,
            config.processes,
            config.disk_bytes,
            cpus,
            gpus,
            warning_seconds=warning_seconds(config.time_limit_seconds),
        )

    def write_texts(self) -> None:
        """Write instructions.txt and prompt.txt, and description.md where it is not the one among the data."""
        if self.config.original_descriptions:
            write_text(self._description, self._original_description())
        told = instructions(self.config)
        write_text(self.folder.path / "instructions.txt", told)
        write_text(self.folder.path / "prompt.txt", prompt(told, self._description.read_text(encoding="utf-8")))

    @property
    def name(self) -> str:
        """What the competition is called before the agent."""
        return "competition" if self.config.obfuscated else self.folder.competition_id

    @property
    def _description(self) -> Path:
        if self.config.obfuscated:
            return self.dataset.competition.description_path
        if self.config.original_descriptions:
            return self.folder.path / "description.md"
        return self.dataset.public / "description.md"

    def _original_description(self) -> str:
        """The text that run.json names; SandboxError if it is another by now."""
        from mlebench.preparation.kaggle.kept import sha256
        from mlebench.preparation.kaggle.pages import original_description

        text = original_description(self.dataset)
        if sha256(text) != self.config.original_descriptions[self.folder.competition_id]:
            raise SandboxError("the original pages of the competition are not those that run.json names")
        return text

    def world(self, sockets: Mapping[int, Path], variables: Mapping[str, str]) -> World:
        """All that the agent may see and use."""
        return World(
            data=self.dataset.public,
            submission=self.folder.path / "submission",
            code=self.folder.path / "code",
            logs=self.folder.path / "logs",
            agent=self.agent.folder,
            home_files=self._home_files(),
            sockets=sockets,
            environment=variables,
            python=self.environment.python,
            software=self.environment.software,
            root=self.environment.root,
            image=self.environment.image,
            notices=self.folder.path / "notices",
            warning_signal=self.agent.warning_signal,
        )

    def _home_files(self) -> dict[str, Path]:
        files = {
            "instructions.txt": self.folder.path / "instructions.txt",
            "prompt.txt": self.folder.path / "prompt.txt",
            "validate_submission.sh": Path(validation.__file__).with_name("validate_submission.sh"),
        }
        if self.config.obfuscated or self.config.original_descriptions:
            files["data/description.md"] = self._description
        return files | (self.held_back.home_files if self.held_back else {})

    def variables(self, gpus: Sequence[int], token: str | None) -> dict[str, str]:
        """What the agent finds in its environment beside its folders; `token` opens the way to the model."""
        config = self.config
        found = {
            "COMPETITION_ID": self.name,
            "TIME_LIMIT_SECS": f"{config.time_limit_seconds:g}",
            "SEED": str(self.folder.seed),
            "HARDWARE": hardware_in_words(config),
            "GPUS": str(config.gpus),
            "CUDA_VISIBLE_DEVICES": ",".join(machine.gpu_uuids(gpus)) if gpus else "",
            "PROMPT_FILE": "/home/prompt.txt",
        }
        if config.hidden_validation:
            found |= {"HELD_BACK_DIR": "/home/held_back", "SCORE_URL": f"http://localhost:{VALIDATION_PORT}/score"}
        if token is not None:
            found |= {**_way_to_the_model(token), "MLEBENCH_MODEL": self._short_name()}
        return {**found, **self.agent.variables(config.agent_parameters)}

    def _short_name(self) -> str:
        """What the agent is to call its model."""
        from mlebench.services.gateway import GatewayConfig

        model = GatewayConfig.from_json(self.config.gateway).find(self.config.model or "")
        return model.short_name if model else ""

    def provenance(self, limits: Limits) -> dict[str, object]:
        """What this attempt runs on and with, as it was found when it began."""
        return {
            "mlebench_digest": mlebench_digest(),
            "agent_digest": tree_digest(self.agent.folder),
            "environment_digest": self.environment.digest,
            "edition": self.dataset.revision,
            "manifest_sha256": file_sha256(self.dataset.manifest_path),
            "run_sha256": file_sha256(self.folder.run / "run.json"),
            "limits": asdict(limits),
            "hardware": machine.hardware(),
            "host": os.uname().nodename,
            "sandbox": self.config.sandbox,
            "network": self.config.network,
        } | self._replayed()

    def _replayed(self) -> dict[str, object]:
        """The hash of the recording that stands in for the model: it could be edited before."""
        if not self.config.replay:
            return {}
        recording = replayed(self.config, self.folder)
        return {"replay_sha256": file_sha256(recording) if recording.is_file() else ""}


def _way_to_the_model(token: str) -> dict[str, str]:
    """The variables that the providers' own libraries read."""
    url = f"http://localhost:{GATEWAY_PORT}"
    return {
        **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), token),
        **dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), f"{url}/v1"),
        **dict.fromkeys(("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), url),
    }
