# SPDX-License-Identifier: Apache-2.0
"""What stands in a run's way is said before anything is spent: by the estimate, by the doctor, by `run --yes` itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from small_project import SmallProject, plan_text

BOT = "  bot: {{runner: command, argv: [{program}], subject: v1, pricing: free}}"
HOSTED = '  m: {runner: openai-compatible, url: "http://127.0.0.1:1/v1", model: m, secret: {env: NO_SUCH_KEY}}'


@pytest.mark.parametrize("program", ["no-such-program", "./bot.sh", "bin/bot"])
@pytest.mark.parametrize("began", [False, True])
def test_program_that_is_not_there_is_named_before_the_first_trial(
    fresh: SmallProject, program: str, began: bool
) -> None:
    if began:
        assert fresh("run", "--yes").code == 0
    fresh.set_plan(plan_text(BOT.format(program=program)))
    runs = len(list((fresh.root / "runs").glob("*")))
    estimate = fresh("run")
    assert estimate.code == 0
    assert f"--yes will refuse: there is no program '{program}' that can be run (trialplate.yaml:6:" in estimate.out
    said = fresh("run", "--yes")
    assert said.code == 2
    assert f"there is no program '{program}'" in said.err
    assert "do: correct its name" in said.err
    assert len(list((fresh.root / "runs").glob("*"))) == runs


def test_program_in_the_project_is_found_there(fresh: SmallProject) -> None:
    bot = fresh.root / "bot.sh"
    bot.write_text("#!/bin/sh\necho Paris\n", encoding="utf-8")
    bot.chmod(0o755)
    fresh.set_plan(plan_text(BOT.format(program="./bot.sh")))
    assert "will refuse" not in fresh("run").out
    assert fresh("run", "--yes").code == 0


def test_estimate_tells_of_a_key_that_is_not_set(fresh: SmallProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    fresh.set_plan(plan_text(HOSTED))
    said = fresh("run")
    assert said.code == 0
    assert "--yes will refuse: " in said.out
    assert "NO_SUCH_KEY" in said.out
    assert fresh("run", "--yes").code == 2


def test_estimate_tells_of_a_ledger_that_does_not_hold(fresh: SmallProject) -> None:
    assert fresh("run", "--yes").code == 0
    entries = fresh.root / "ledger" / "entries.jsonl"
    entries.write_bytes(entries.read_bytes().replace(b'"trials":16', b'"trials":17'))
    said = fresh("run")
    assert said.code == 0
    assert "--yes will refuse: its lines do not have the root" in said.out
    assert fresh("run", "--yes").code == 3


def test_copy_of_a_project_is_told_what_makes_it_one_of_its_own(fresh: SmallProject, tmp_path: Path) -> None:
    """Its name is known from the first: either it gets another one, or a ledger is begun by hand, with a key that is there."""
    assert fresh("run", "--yes").code == 0
    copy = SmallProject(tmp_path / "copy", fresh.home)
    shutil.copytree(fresh.root, copy.root, ignore=shutil.ignore_patterns("ledger", "runs", "keys"))
    for other in ("another", "third"):
        assert copy("keys", "new", other).code == 0
    said = copy("run", "--yes")
    assert said.code == 2
    assert "give it a `name:` of its own" in said.err
    assert "`trialplate ledger init small --key small`" in said.err
    doctor = copy("doctor")
    assert doctor.code == 2
    assert "FAIL ledger:" in doctor.out
    assert "give it a `name:` of its own" in doctor.out
    assert copy("ledger", "init", "small", "--key", "small").code == 0
    assert copy("run", "--yes").code == 0


def test_report_is_not_written_over_the_plan(fresh: SmallProject) -> None:
    assert fresh("run", "--yes").code == 0
    plan = (fresh.root / "trialplate.yaml").read_bytes()
    said = fresh("report", "--format", "markdown", "-o", "trialplate.yaml")
    assert said.code == 2
    assert "that is the plan" in said.err
    assert (fresh.root / "trialplate.yaml").read_bytes() == plan


def test_ls_tells_of_a_record_without_its_checkpoint(fresh: SmallProject) -> None:
    assert fresh("run", "--yes").code == 0
    run = fresh.runs[0]
    os.unlink(run / "checkpoint")
    assert f"{run.name}: its checkpoint is missing; `trialplate verify {run.name}` tells more" in fresh("ls").out


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["gate"], ("which run?", "do: name it: a run's id, the beginning of one, or latest")),
        (["gate", "latest", "--model"], ("argument --model: expected one argument", "do: see trialplate gate --help")),
        (["verify", "--trust"], ("argument --trust: expected one argument", "do: see trialplate verify --help")),
    ],
)
def test_auditors_commands_refuse_as_every_command_does(
    fresh: SmallProject, typed: list[str], wanted: tuple[str, str]
) -> None:
    said = fresh(*typed)
    assert said.code == 2
    assert said.err.startswith("error: trialplate ")
    assert all(text in said.err for text in wanted)
    assert "usage:" not in said.err


@pytest.mark.parametrize("option", [("--repeats", "9"), ("--limit", "4"), ("--models", "good,bad")])
def test_selection_that_leaves_nothing_out_is_called_a_full_run(fresh: SmallProject, option: tuple[str, str]) -> None:
    told = "note: this selection leaves nothing out: it is the whole plan, a full run that counts"
    assert told in fresh("run", *option).out
    assert told in fresh("run", "--yes", *option).err
    assert told not in fresh("run", "--limit", "1").out
