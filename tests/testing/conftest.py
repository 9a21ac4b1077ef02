"""Small agents that act as the known ones do: each speaks its dialect, and does truly what it is told."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import httpx
import pytest

PROMPT = "Solve the competition. Limits: one hour."
Tools = Mapping[str, Mapping[str, object]]
TEXT = {"type": "string"}
SHELL = {"command": TEXT}
RISK = {"security_risk": {"type": "string", "enum": ["LOW", "HIGH"]}}


@dataclass
class World:
    """Where an agent works."""

    data: Path
    home: Path
    outputs: list[str] = field(default_factory=list)

    def __post_init__(self):
        for name in ("code", "submission", "logs"):
            (self.home / name).mkdir(parents=True)
        # without packages it starts at once
        self.python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
        self.python.chmod(0o755)

    @property
    def python(self) -> Path:
        return self.home / "python"

    @property
    def submission(self) -> Path:
        return self.home / "submission" / "submission.csv"

    @property
    def environment(self):
        path = f"{self.home}:{os.environ['PATH']}"
        folders = {f"{name.upper()}_DIR": str(self.home / name) for name in ("code", "submission", "logs")}
        nowhere = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        return {"PATH": path, "DATA_DIR": str(self.data), **folders, **nowhere}

    def run(self, command, cwd="code") -> str:
        """Run a command, as a shell tool does; gives its output, cut as agents cut it."""
        done = subprocess.run(
            command if isinstance(command, list) else ["bash", "-c", command],
            cwd=self.home / cwd,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        output = done.stdout + done.stderr
        self.outputs.append(output)
        return output if len(output) < 4000 else f"{output[:2000]} ... {output[-2000:]}"


def write(path, text) -> str:
    assert Path(path).is_absolute()
    Path(path).write_text(text)
    return "written"


class ChatAgent:
    """An agent with tools by chat completions. Subclasses: another's tools, another dialect."""

    tools: ClassVar[Tools] = {"bash": SHELL}
    path = "/v1/chat/completions"

    def __init__(self, server, model, world, stop_after=20):
        self.url, self.model, self.world, self.stop_after = server.url, model, world, stop_after
        self.history = [{"role": "user", "content": PROMPT}]
        self.finished = False
        self.calls = []

    def work(self):
        for _ in range(self.stop_after):
            answer = httpx.post(self.url + self.path, json=self.body(), timeout=60)
            answer.raise_for_status()
            calls = self.read(answer.json())
            for identifier, name, arguments in calls:
                self.calls.append(name)
                self.tell((identifier, name), self.perform(name, arguments))
            if self.finished or not calls:
                self.finished = True
                return self
        return self

    def body(self):
        tools = [
            {"type": "function", "function": {"name": name, "parameters": schema(properties)}}
            for name, properties in self.tools.items()
        ]
        return {"model": self.model, "messages": self.history, "tools": tools}

    def read(self, answer):
        message = answer["choices"][0]["message"]
        self.history.append(message)
        calls = message.get("tool_calls") or []
        return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]

    def tell(self, call, result):
        self.history.append({"role": "tool", "tool_call_id": call[0], "content": result})

    def perform(self, name, arguments):
        try:
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
            return self.tool(name, **given)
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            return f"Error: {error}"

    def tool(self, name, **given):
        assert name == "bash"
        return self.world.run(given["command"])


class MiniAgent(ChatAgent):
    """As mini-swe-agent: one tool, a fresh shell for each command, ended by an echo."""

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self.history[0]["content"] += " When done, run: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

    def tool(self, name, **given):
        output = super().tool(name, **given)
        self.finished = output.startswith("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
        return output


class OpenHandsAgent(ChatAgent):
    """As OpenHands: a terminal, an editor, a tool that ends the work; each wants to know the risk."""

    tools: ClassVar[Tools] = {
        "terminal": {**SHELL, **RISK},
        "file_editor": {"command": TEXT, "path": TEXT, **RISK},
        "task_tracker": {},
        "finish": {"message": TEXT},
    }

    def tool(self, name, **given):
        if name == "finish":
            self.finished = bool(given["message"])
            return "finished"
        assert given["security_risk"] == "LOW"
        if name == "terminal":
            return self.world.run(given["command"])
        assert (name, given["command"]) == ("file_editor", "create")
        return write(given["path"], given["file_text"])


class ClaudeAgent(ChatAgent):
    """As Claude Code: messages, tools Bash and Write."""

    path = "/v1/messages"
    tools: ClassVar[Tools] = {"Bash": SHELL, "Write": {"file_path": TEXT, "content": TEXT}}

    def body(self):
        tools = [{"name": name, "input_schema": schema(properties)} for name, properties in self.tools.items()]
        return {"model": self.model, "max_tokens": 32000, "messages": self.history, "tools": tools}

    def read(self, answer):
        self.history.append({"role": "assistant", "content": answer["content"]})
        return [(block["id"], block["name"], block["input"]) for block in answer["content"] if "input" in block]

    def tell(self, call, result):
        block = {"type": "tool_result", "tool_use_id": call[0], "content": result}
        self.history.append({"role": "user", "content": [block]})

    def tool(self, name, **given):
        if name == "Write":
            return write(given["file_path"], given["content"])
        return self.world.run(given["command"])


class CodexAgent(ChatAgent):
    """As Codex: responses, exec_command."""

    path = "/v1/responses"
    tools: ClassVar[Tools] = {"exec_command": {"cmd": TEXT}, "write_stdin": {}}

    def body(self):
        tools = [
            {"type": "function", "name": name, "parameters": schema(properties)}
            for name, properties in self.tools.items()
        ]
        items = [{"type": "message", **item} if "role" in item else item for item in self.history]
        return {"model": self.model, "input": items, "tools": [*tools, {"type": "web_search"}]}

    def read(self, answer):
        self.history.extend(answer["output"])
        calls = [item for item in answer["output"] if item["type"] == "function_call"]
        return [(call["call_id"], call["name"], call["arguments"]) for call in calls]

    def tell(self, call, result):
        self.history.append({"type": "function_call_output", "call_id": call[0], "output": result})

    def tool(self, name, **given):
        assert (name, set(given)) == ("exec_command", {"cmd", "yield_time_ms"})
        return self.world.run(given["cmd"])


class OldCodexAgent(CodexAgent):
    """As Codex with its older tool: a list of words."""

    tools: ClassVar[Tools] = {"shell": {"command": {"type": "array"}}}

    def tool(self, name, **given):
        assert name == "shell"
        assert isinstance(given["command"], list)
        return self.world.run(given["command"])


class GeminiAgent(ChatAgent):
    """As Gemini CLI: generateContent, run_shell_command and write_file."""

    tools: ClassVar[Tools] = {"run_shell_command": SHELL, "write_file": {"file_path": TEXT}}

    @property
    def path(self):
        return f"/v1beta/models/{self.model}:generateContent"

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self.history = [{"role": "user", "parts": [{"text": PROMPT}]}]

    def body(self):
        declared = [
            {"name": name, "parametersJsonSchema": schema(properties)} for name, properties in self.tools.items()
        ]
        return {"contents": self.history, "tools": [{"functionDeclarations": declared}]}

    def read(self, answer):
        candidate = answer["candidates"][0]
        self.history.append(candidate["content"])
        if candidate["finishReason"] == "MALFORMED_FUNCTION_CALL":
            self.history[-1] = {"role": "user", "parts": [{"text": "Please continue."}]}
            return [("", "none", {})]
        calls = [part["functionCall"] for part in candidate["content"]["parts"] if "functionCall" in part]
        return [("", call["name"], call["args"]) for call in calls]

    def tell(self, call, result):
        response = {"functionResponse": {"name": call[1], "response": {"output": result}}}
        self.history.append({"role": "user", "parts": [response]})

    def tool(self, name, **given):
        if name == "write_file":
            return write(given["file_path"], given["content"])
        return self.world.run(given["command"])


def schema(properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


class AideAgent:
    """As AIDE: a system message alone, code in a markdown block, exec of the text, a review by a forced function."""

    guide = (
        'Respond with a plan and a single markdown code block. Data are in "./input"; save submission.csv in the '
        '"./working" directory.'
    )

    def __init__(self, server, model, world, stop_after=3):
        self.url, self.model, self.world, self.steps = server.url, model, world, stop_after
        (world.home / "input").symlink_to(world.data)
        (world.home / "working").mkdir()
        self.nodes = []

    def work(self):
        for _ in range(self.steps):
            self.step()
        return self

    def step(self):
        good = [node for node in self.nodes if not node["is_bug"]]
        if self.nodes and self.nodes[-1]["is_bug"]:
            shown = f"# Previous (buggy) implementation\n```python\n{self.nodes[-1]['code']}\n```"
        else:
            memory = "\n".join(f"Design: {node['plan']}\nValidation Metric: {node['metric']}" for node in good)
            shown = f"# Memory\n{memory}"
        code = None
        for _ in range(3):  # as often as AIDE asks again when it finds no code
            text = self.ask(f"{shown}\n{self.guide}")["content"]
            if found := re.search(r"```python\n(.*?)```", text, re.DOTALL):
                plan, code = text[: found.start()], found.group(1)
                break
        assert code is not None
        (self.world.home / "runfile.txt").write_text(code)
        runner = "exec(compile(open('runfile.txt').read(), 'runfile.py', 'exec'), {})"
        output = self.world.run([self.world.python, "-c", runner], cwd=".")
        output = output if len(output) < 5000 else f"{output[:2500]}\n...\n{output[-2500:]}"
        self.nodes.append({**self.review(code, output), "code": code, "plan": plan})

    def review(self, code, output):
        function = {"name": "submit_review", "parameters": {"type": "object"}}
        answer = self.ask(
            f"# Implementation\n{code}\n# Execution output\n{output}",
            tools=[{"type": "function", "function": function}],
            tool_choice={"type": "function", "function": {"name": "submit_review"}},
        )
        return json.loads(answer["tool_calls"][0]["function"]["arguments"])

    def ask(self, system, **more):
        messages = [{"role": "system", "content": system}]
        body = {"model": self.model, "messages": messages, "temperature": 0.5, **more}
        answer = httpx.post(f"{self.url}/v1/chat/completions", json=body, timeout=60)
        answer.raise_for_status()
        return answer.json()["choices"][0]["message"]


class ResearchAgent:
    """As the ResearchAgent protocol: one message a call, six entries back, only the last three steps remembered."""

    entries = ("Reflection", "Research Plan and Status", "Fact Check", "Thought", "Action", "Action Input")
    actions = "List Files, Edit Script (AI), Execute Script, Final Answer"

    def __init__(self, server, model, world, stop_after=20):
        self.url, self.model, self.world, self.stop_after = server.url, model, world, stop_after
        self.steps, self.calls, self.finished = [], [], False

    def work(self):
        reminder = ""
        for _ in range(self.stop_after):
            history = "\n".join(self.steps[-3:])
            prompt = f"Actions: {self.actions}\nAnswer with: {', '.join(self.entries)}\n{history}\n{reminder}"
            text = self.ask(prompt, stop=["Observation:"])
            found = re.search("".join(rf"{entry}: (.*)\n" for entry in self.entries), text)
            reminder = "" if found else "Your last answer could not be used."
            if found:
                action, given = found.group(5), json.loads(found.group(6))
                self.calls.append(action)
                self.steps.append(f"{text}\nObservation:\n{self.perform(action, given)}")
            if self.finished:
                break
        return self

    def perform(self, action, given):
        if action == "Final Answer":
            self.finished = bool(given["final_answer"])
            return ""
        if action == "List Files":
            return self.world.run(["ls", given["dir_path"]])
        if action == "Execute Script":
            output = self.world.run([self.world.python, given["script_name"]])
            return self.ask(f"Summarise this output: {output}") if len(output) > 5000 else output
        assert action in ("Edit Script (AI)", "Write File")
        if action == "Write File":
            return write(self.world.home / "code" / given["file_name"], given["content"])
        answer = self.ask(f"Edit this python script:\n```python\n```\nInstruction: {given['edit_instruction']}")
        code = re.search(r"```python\n(.*?)```", answer, re.DOTALL).group(1)
        return write(self.world.home / "code" / given["save_name"], code)

    def ask(self, prompt, **more):
        body = {"model": self.model, "messages": [{"role": "user", "content": prompt}], **more}
        answer = httpx.post(f"{self.url}/v1/chat/completions", json=body, timeout=60)
        answer.raise_for_status()
        return answer.json()["choices"][0]["message"]["content"]


class WritingResearchAgent(ResearchAgent):
    """The same with an action that writes files."""

    actions = "List Files, Write File, Execute Script, Final Answer"


AGENTS = {
    "mini-swe-agent": MiniAgent,
    "openhands": OpenHandsAgent,
    "claude-code": ClaudeAgent,
    "codex": CodexAgent,
    "codex-shell": OldCodexAgent,
    "gemini": GeminiAgent,
    "research-agent": ResearchAgent,
    "research-agent-that-writes": WritingResearchAgent,
    "aide": AideAgent,
}


@pytest.fixture
def work(twins, tmp_path):
    """`work(agent, server, model) -> the agent`, after it has worked on spaceship-titanic or another twin."""

    def start(agent, server, model, stop_after=None, competition="spaceship-titanic"):
        world = World(twins(competition).public, tmp_path / agent)
        more = {"stop_after": stop_after} if stop_after else {}
        return AGENTS[agent](server, model, world, **more).work()

    return start
