# SPDX-License-Identifier: Apache-2.0
"""The end of a run: a table with the report's own numbers, what is unknown and why, and commands that work as typed."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import get_args

import pytest
from chat_server import ChatServer
from server_thread import ServerThread
from small_project import Said, SmallProject, plan_text

from trialplate.cli.main import main
from trialplate.cli.summary import WHY
from trialplate.record.entries import HarnessCause, OwnCause

HOSTED = '  hosted: {{runner: openai-compatible, url: "{url}", model: m-small, pricing: {{input: "1", output: "2"}}, '
HOSTED += "retry: {{max_retries: 0}}}}"


def commands(said: Said) -> list[list[str]]:
    """Return the commands that are told to be next, as a shell reads them."""
    told = re.findall(r"^(?:next:|     ) (trialplate .*)$", said.err, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in told]


def rows(text: str) -> dict[str, list[str]]:
    """Return the cells of the first table's rows by configuration."""
    lines = text[text.index("\nconfiguration ") + 1 :].partition("\n\n")[0].splitlines()
    cells = [re.split(r" {2,}", line) for line in lines]
    return {row[0]: row[1:] for row in cells if len(row) > 3}


def test_table_has_the_numbers_of_the_report(fresh: SmallProject) -> None:
    """A first look and the signed record say the same, metric by metric."""
    said = fresh("run", "--yes")
    assert "complete: 7 passed, 9 failed of 16 trials in 16 attempts" in said.err
    summary, report = rows(said.err), rows(fresh("report").out)
    for name in ("good", "bad"):
        first = dict(zip(summary["configuration"], summary[name], strict=True))
        whole = dict(zip(report["configuration"], report[name], strict=True))
        assert (first["passed"], first["failed"]) == (whole["passed"], whole["failed"])
        for metric in ("correct", "trial_pass_rate"):
            assert first[metric] == whole[metric].partition(" ")[0]
        assert first["cost"] == "unknown" == whole["cost"]


def test_next_commands_of_a_complete_run_work_as_typed(fresh: SmallProject) -> None:
    """First what did not pass, then the gate."""
    said = fresh("run", "--yes")
    assert commands(said) == [["report", said.out.strip()], ["gate", said.out.strip(), "--model", "good"]]
    assert [fresh(*typed).code for typed in commands(said)] == [0, 0]


def test_next_commands_name_the_run_by_its_path_outside_of_the_project(fresh: SmallProject, tmp_path: Path) -> None:
    """Whoever runs a plan from elsewhere can go on from there, also where a folder's name has a blank."""
    moved = fresh.root.rename(tmp_path / "my project")
    project = SmallProject(moved, fresh.home)
    out, err = io.StringIO(), io.StringIO()
    with project.environment(), contextlib.chdir(tmp_path):
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            assert main(["run", "--yes", str(moved)]) == 0
        typed = commands(Said(0, out.getvalue(), err.getvalue()))
        assert typed[0][0] == "report"
        assert typed[0][1].startswith("my project/runs/")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            assert [main(words) for words in typed] == [0, 0]


def test_pilot_leads_to_the_whole_plan_and_not_to_a_gate(fresh: SmallProject) -> None:
    """It never decides."""
    said = fresh("run", "--yes", "--limit", "1")
    assert commands(said) == [["report", said.out.strip()], ["run", "--yes"]]
    assert "a pilot never decides" in said.err


def test_pilot_leads_to_the_whole_plan_as_it_was_run(fresh: SmallProject, tmp_path: Path) -> None:
    """The plan's path and what bounds the run stay; only what narrowed it is left out."""
    moved = fresh.root.rename(tmp_path / "my project")
    (moved / "trialplate.yaml").rename(moved / "other.yaml")
    project = SmallProject(moved, fresh.home)
    out, err = io.StringIO(), io.StringIO()
    with project.environment(), contextlib.chdir(tmp_path):
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            options = ["--limit", "1", "--max-time", "10m", "--jobs", "2", "--yes"]
            assert main(["run", "my project/other.yaml", *options]) == 0
        typed = commands(Said(0, out.getvalue(), err.getvalue()))[1]
        assert typed == ["run", "my project/other.yaml", "--max-time", "10m", "--jobs", "2", "--yes"]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            assert main(typed) == 0


def test_mark_that_chooses_leads_to_a_gate_on_whatever_is_chosen(tmp_path: Path) -> None:
    """No configuration is named that the mark may not choose; the command says 0 for the one that it does."""
    models = '  first: {runner: stand-in, answers: {"*": "none of it"}, pricing: free}\n'
    models += '  second: {runner: stand-in, answers: {"*": "Paris 4 blue 8"}, pricing: free}'
    text = plan_text(models, repeats=1).rstrip() + "\n  choose: {by: cheapest, of: trial_pass_rate, basis: estimate}\n"
    project = SmallProject.write(tmp_path, text)
    said = project("run", "--yes")
    assert commands(said)[1] == ["gate", said.out.strip()]
    gated = project(*commands(said)[1])
    assert gated.code == 0
    assert "ACCEPTED second" in gated.out


def test_run_with_unknown_trials_says_why_and_leads_to_resume(tmp_path: Path) -> None:
    """What helps stands beside the cause; the exit code is told in words; resume works as typed once it can."""
    steps = [{"status": 401, "json": {"error": {"message": "no"}}}]
    with ServerThread(ChatServer(steps)) as server:
        project = SmallProject.write(tmp_path, plan_text(HOSTED.format(url=server.url), repeats=1))
        said = project("run", "--yes")
        assert said.code == 4
        assert "\nincomplete: 0 passed, 0 failed, 4 error of 4 trials in 4 attempts\n" in said.err
        assert "none of 4" in said.err
        assert "unknown: hosted: 4 authentication: the key was refused" in said.err
        assert "4 trials unknown, neither passed nor failed; the record is signed and valid (exit 4)" in said.err
        assert [words[0] for words in commands(said)] == ["resume", "report"]
        server.steps.clear()
        again = project(*commands(said)[0])
        assert again.code == 0, again.err
        assert [words[0] for words in commands(again)] == ["report", "gate"]


def test_address_at_which_nobody_answers_is_named(tmp_path: Path) -> None:
    """A run goes on with the address of its plan: only the name shows that a resume asks the old one."""
    project = SmallProject.write(tmp_path, plan_text(HOSTED.format(url="http://127.0.0.1:9/v1"), repeats=1))
    said = project("run", "--yes")
    assert said.code == 4
    assert "4 refused_connection: nobody answers at http://127.0.0.1:9/v1: is the server running?" in said.err


def test_run_that_left_trials_out_is_named_before_the_next(fresh: SmallProject) -> None:
    """It has ended, and is an open attempt all the same: the next gate will say so, the next run says it first."""
    assert fresh("run", "--yes", "--max-time", "0.001").code == 4
    first = fresh.runs[0].name
    assert f"{first} (incomplete)" in fresh("doctor").out
    told = f"note: run {first} is incomplete: an open attempt until it is resumed or waived"
    assert told in fresh("run", "--yes").err
    assert fresh("gate", "latest", "--model", "good").code == 1
    assert fresh("resume", first, "--max-time", "60").code == 0
    assert "note: run " not in fresh("run", "--yes").err
    assert "none open" in fresh("doctor").out


def test_replay_under_a_mark_that_asks_for_live_calls_says_what_a_gate_will(tmp_path: Path) -> None:
    """Better told before the command that is printed next comes out inconclusive."""
    with ServerThread(ChatServer(answer=lambda body: "Paris 4 blue 8")) as server:
        project = SmallProject.write(tmp_path, plan_text(HOSTED.format(url=server.url), repeats=1))
        assert "asks for live calls" not in project("run", "--yes", "--cache", "live").err
        said = project("run", "--yes", "--cache", "replay")
    assert "the pass mark asks for live calls: a gate on this run is inconclusive at best" in said.err
    assert project(*commands(said)[1]).code == 1
    assert "asks for live calls" not in project("run", "--yes", "--cache", "replay", "--limit", "1").err


def test_mean_over_fewer_trials_than_planned_says_so(tmp_path: Path) -> None:
    """Two of four answered: the mean is of two, in words."""
    right = {
        "json": {
            "id": "1",
            "model": "m-small",
            "choices": [{"message": {"content": "Paris 4"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }
    }
    with ServerThread(ChatServer([right, right, {"status": 500}])) as server:
        project = SmallProject.write(tmp_path, plan_text(HOSTED.format(url=server.url), repeats=1))
        said = project("run", "--yes", "-j", "1")
    assert said.code == 4
    assert "1.0000 over 2 of 4" in said.err
    assert "0.0000 USD + 2 unknown" in said.err


def test_every_cause_of_an_error_has_words() -> None:
    """Nobody is left with a word of ours."""
    own_alone = {
        "empty",
        "refusal",
        "truncated",
        "rejected_request",
        "exit_status",
        "too_long",
        "bad_format",
        "max_turns",
    }
    assert {*get_args(OwnCause), *get_args(HarnessCause)} - own_alone == set(WHY)


@pytest.mark.parametrize("flags", [["--quiet"], ["-q"]])
def test_quiet_run_prints_its_id_alone(fresh: SmallProject, flags: list[str]) -> None:
    """And an error all the same, if there is one."""
    said = fresh("run", "--yes", *flags)
    assert said.out == f"{fresh.last.name}\n"
    assert "began the ledger" in said.err, "a key and a ledger are never made in silence"
    said = fresh("run", "--yes", *flags)
    assert (said.out, said.err) == (f"{fresh.last.name}\n", "")
