# SPDX-License-Identifier: Apache-2.0
"""A project with one case, one hosted model and one tool that does what it is told, also what a tool should not do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from small_project import SmallProject

__all__ = ["CASE", "KEYS", "call", "do", "ends", "project", "require_nothing_leaked", "results"]

TOOL = """\
import os, pathlib, sys, time
def run(arguments):
    do = arguments.get("do")
    if do == "tell":
        return "the key is " + os.environ["TOOL_API_KEY"]
    if do == "tell in a list":
        return [os.environ["TOOL_API_KEY"]]
    if do == "raise":
        raise RuntimeError("x" * 760 + os.environ["TOOL_API_KEY"])
    if do == "object":
        class Odd:
            def __repr__(self):
                return "x" * 60 + os.environ["TOOL_API_KEY"]
        return Odd()
    if do == "return much":
        return "q" * 10**8
    if do == "print much":
        sys.stdout.write("q" * 10**8)
        return "printed"
    if do == "fork":
        for _ in range(5):
            if os.fork() == 0:
                time.sleep(600)
        return "forked"
    if do == "delete":
        pathlib.Path(__file__).unlink()
        return "deleted"
    if do == "rewrite":
        path = pathlib.Path(__file__)
        path.write_text(path.read_text() + "\\n# another\\n")
        return "rewritten"
    if pathlib.Path("tools/awake").exists():
        return "done"
    if do == "sleep":
        pathlib.Path("asleep").write_text(str(os.getpid()))
        pathlib.Path("asleep").rename("slept")
        time.sleep(600)
    if do == "kill":
        os.kill(os.getppid(), 9)
        time.sleep(600)
    return "done"
"""
PLAN = """\
trialplate: 1
name: hostile
test_sets: [{{file: cases/q.yaml}}]
models:
  m:
    runner: openai-compatible
    url: "{url}"
    model: m-small
    secret: {{env: MODEL_KEY}}
    pricing: {{input: "1", output: "2"}}
    limits: {{attempt_timeout_s: {timeout_s}}}
    retry: {{max_retries: {retries}, initial_delay_s: 0.001, max_delay_s: 0.002}}
tools:
  helper:
    callable: tools/helper.py:run
    description: Does what it is told.
    env: [TOOL_API_KEY]
    parameters: {{type: object, properties: {{do: {{type: string}}}}}}
repeats: 1
run: {{cache: {cache}}}
scorers:
  correct: {{type: exact}}
pass_mark:
  evidence: {{calls: any}}
  rules: [{{id: correct, at_least: 1, of: correct, basis: estimate}}]
"""
CASE = """\
cases:
  - id: only
    input: What is the capital of France?
    references: ["Paris"]
    tools: [{name: helper, timeout_s: 30}]
"""
KEYS = {"MODEL_KEY": "sk-PLANTEDmodelkey0123456789", "TOOL_API_KEY": "PLANTEDtoolkey9876543210"}


def project(
    root: Path, url: str, *, cache: str = "off", retries: int = 0, timeout_s: int = 60, cases: str = CASE
) -> SmallProject:
    """Write the project."""
    made = SmallProject.write(root, PLAN.format(url=url, cache=cache, retries=retries, timeout_s=timeout_s))
    (made.root / "cases" / "q.csv").unlink()
    (made.root / "cases" / "q.yaml").write_text(cases)
    (made.root / "tools").mkdir()
    (made.root / "tools" / "helper.py").write_text(TOOL)
    return made


def call(arguments: str, *, name: str = "helper", number: int = 0) -> dict[str, Any]:
    """Return a call of a tool."""
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def do(what: str) -> dict[str, Any]:
    """Return a message that has the tool do something."""
    return {"tool_calls": [call(json.dumps({"do": what}))]}


def results(body: dict[str, Any]) -> list[str]:
    """Return what tools said so far in a request."""
    return [item["content"] for item in body["messages"] if item["role"] == "tool"]


def ends(made: SmallProject) -> list[dict[str, Any]]:
    """Return every trial.end of the newest run."""
    lines = (made.last / "record.jsonl").read_text().splitlines()
    return [entry["body"] for entry in map(json.loads, lines) if entry["type"] == "trial.end"]


def require_nothing_leaked(folder: Path) -> None:
    """Look for a planted key in every file, as it is and behind JSON's escapes, and for any half of one."""
    for path in folder.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            told = raw.decode(errors="replace")
            for _ in range(3):
                assert "PLANTED" not in told, f"{path}: {told[max(0, told.index('PLANTED') - 80) :][:200]}"
                told = (
                    told.replace("\\\\", "\\").encode("ascii", "backslashreplace").decode("unicode_escape", "replace")
                )
