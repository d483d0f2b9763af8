# SPDX-License-Identifier: Apache-2.0
"""`ls` and `show`: every run is listed with its state, every trial can be looked at, and what is shown was committed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_project import PLAN, Project, make_project

from trialplate.ledger.lock import LOCK_NAME, hold
from trialplate.record.entries import Narrowing

Say = Callable[..., tuple[int, str, str]]
MODELS = """\
models:
  good: {runner: stand-in, answers: {q1: "It is Paris.\\n\\tSo \\x1b[31mthere", q2: "4", q3: "blue", Q10: "x", Q11: "y"}, pricing: free}
  bad: {runner: stand-in, answers: {"*": ["no", {attempts: [{error: timeout, message: "too \\x1b[2J slow"}, "none"]}]}}
"""
CASES = """\
id,input,reference,tags
q1,"What is the capital
of France?",Paris,critical
q2,How much is two and two?,4,arithmetic
q3,What colour is a clear sky?,blue,
Q10,Which one of the ten is it?,x,
Q11,Which one of the eleven is it?,y,
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run, in which attempts were repeated and texts are hostile."""
    plan = PLAN[: PLAN.index("models:")] + MODELS + PLAN[PLAN.index("repeats:") :]
    made = make_project(tmp_path_factory.mktemp("looking"), plan, CASES)
    made.run()
    return made


def states(say: Say) -> dict[str, str]:
    """Return how each run stands."""
    return {item["run_id"]: item["state"] for item in json.loads(say("ls", "--json")[1])["runs"]}


# ---------------------------------------------------------------------------------------------------------------- ls


def test_ls_lists_the_newest_run_first_with_its_decisions(project: Project, say: Say) -> None:
    """Id, time, plan, state, outcomes, cost and what was decided, a line each."""
    project.run(narrowing=Narrowing(limit=1))
    run, pilot = project.runs
    assert say("gate", run.name, "--model", "good")[0] == 0
    code, out, err = say("ls")
    assert (code, err) == (0, "")
    head, first, second = out.splitlines()
    assert head.split() == ["run", "started", "plan", "state", "trials", "cost", "decisions"]
    assert first.startswith(pilot.name)
    assert " complete pilot " in first
    assert second.startswith(run.name)
    assert "20: 10 failed, 10 passed" in second
    assert second.endswith("good accepted")


def test_ls_json_is_one_object(project: Project, say: Say) -> None:
    """Counts, cost and decisions as numbers and names; what nobody knows is not 0."""
    value = json.loads(say("ls", "--json")[1])
    (run,) = value["runs"]
    assert value["format"] == "trialplate-runs/1"
    assert run["outcomes"] == {"passed": 10, "failed": 10}
    assert run["cost"] == {"nano": {"USD": 0}, "unknown": 10}
    assert (run["plan"], run["trials"], run["decisions"]) == ("small", 20, {})


def test_ls_tells_every_state(project: Project, say: Say) -> None:
    """Complete, then waived; a run whose folder is gone is missing, never left out."""
    (run,) = project.runs
    assert states(say) == {run.name: "complete"}
    run.rename(project.folder / "away")
    assert states(say) == {run.name: "missing"}
    assert "missing" in say("ls")[1]
    (project.folder / "away").rename(run)
    assert say("waive", run.name, "--reason", "a try")[0] == 0
    assert states(say) == {run.name: "waived"}


def test_ls_tells_a_run_that_is_going_on_from_one_that_stopped(project: Project, say: Say) -> None:
    """Without a run.end it is unfinished, unless somebody holds its lock."""
    entries = project.ledger / "entries.jsonl"
    (run,) = project.runs
    view = project.view()
    assert view.entries[-1].type == "run.end"
    from trialplate.record.log import root_of
    from trialplate.record.note import Checkpoint, format_checkpoint, sign_note

    lines = entries.read_bytes().splitlines(keepends=True)[:-1]
    entries.write_bytes(b"".join(lines))
    point = Checkpoint(view.origin, len(lines), root_of(line[:-1] for line in lines))
    (project.ledger / "checkpoint").write_bytes(sign_note(format_checkpoint(point), project.key().signer))
    (project.home / "known.json").unlink()
    assert states(say) == {run.name: "unfinished"}
    with hold(run / LOCK_NAME, "a run"):
        from trialplate.cli.ls import _state
        from trialplate.ledger.index import open_index

        with open_index(project.view()) as index:
            (item,) = index.runs()
        assert item.status is None
        assert _state(item, run) in ("running", "unfinished")


def test_ls_counts_what_is_under_way_only_while_the_run_goes_on(project: Project, say: Say) -> None:
    """A start without an end is lost once nobody writes any more, and not before."""
    from trialplate.cli.ls import _trials
    from trialplate.ledger.index import open_index

    with open_index(project.view()) as index:
        (item,) = index.runs()
    cut = replace(item, status=None, outcomes={"passed": 3, "error": 2}, without_end=2)
    assert _trials(cut, True) == "20: 3 passed, 2 under way, 15 absent"
    assert _trials(cut, False) == "20: 3 passed, 2 error, 15 absent"


def test_ls_without_a_run_says_how_to_start_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say) -> None:
    """An empty ledger is no error."""
    made = make_project(tmp_path)
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("TRIALPLATE_HOME", str(made.home))
    assert say("ls") == (0, "no run yet: `trialplate run --yes` starts one\n", "")


def test_ls_of_a_ledger_that_does_not_hold_is_refused(project: Project, say: Say) -> None:
    """Whose word would it be?"""
    entries = project.ledger / "entries.jsonl"
    entries.write_bytes(entries.read_bytes().replace(b'"selection":"full"', b'"selection":"fulL"'))
    code, out, err = say("ls")
    assert (code, out) == (3, "")
    assert "ledger" in err


# -------------------------------------------------------------------------------------------------------------- show


def test_show_case_tells_question_answer_and_reason(project: Project, say: Say) -> None:
    """What was asked, what was accepted, what came and why it was scored so; hostile characters are shown."""
    code, out, err = say("show", "latest", "q1")
    assert (code, err) == (0, "")
    assert "case q1 (tags critical)\n  input:\n    | What is the capital\n    | of France?\n  reference: Paris\n" in out
    assert "  repeat 1: passed\n    answer:\n      | It is Paris.\n      | \\tSo \\x1b[31mthere\n" in out
    assert 'why correct: contains "Paris"' in out
    assert "    attempt 1, begun 20" in out
    assert ": error (timeout), tried again\n      error: too \\x1b[2J slow\n" in out
    assert "cost: 0.000000 USD" in out
    assert "cost: unknown" in out
    assert all(char.isprintable() or char == "\n" for char in out)


def test_show_narrows_by_model_and_repeat(project: Project, say: Say) -> None:
    """One trial, if that is what was asked for."""
    out = say("show", "latest", "q2", "--model", "good", "--repeat", "2")[1]
    assert out.count("  repeat ") == 1
    assert "bad" not in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["Q2"], "did you mean q2"),
        (["Q1"], "is the beginning of Q10, Q11"),
        (["zzzzzzzz"], "there are q1, q2, q3, Q10, Q11"),
        ([""], "no case ''"),
        (["q1", "--model", "godo"], "did you mean good"),
        (["q1", "--repeat", "3"], "it has 2"),
        (["--model", "nobody-at-all"], "there are bad, good"),
    ],
    ids=" ".join,
)
def test_show_of_nothing_is_refused_with_what_was_meant(
    project: Project, say: Say, arguments: list[str], told: str
) -> None:
    """Exit 2, and the nearest known name."""
    code, out, err = say("show", "latest", *arguments)
    assert (code, out) == (2, "")
    assert told in err


def test_show_takes_a_unique_beginning_and_prefers_the_whole_id(project: Project, say: Say) -> None:
    """Q11 for Q11; an id that is whole needs not be unique as a beginning."""
    assert "case Q11\n" in say("show", "latest", "Q11")[1]
    assert say("show", project.runs[0].name[:20], "q3")[0] == 0


def test_show_without_content_says_withheld(project: Project, say: Say) -> None:
    """Who was not given the content sees the outcome, and that the texts are not here."""
    (project.runs[0] / "content.jsonl").unlink()
    code, out, _ = say("show", "latest", "q1", "--model", "good")
    assert code == 0
    assert "input: withheld" in out
    assert "answer: withheld" in out
    assert "why: withheld" in out
    assert "Paris" not in out
    value = json.loads(say("show", "latest", "q1", "--json")[1])
    assert value["case"]["withheld"] is True
    private = value["trials"][0]["attempts"][0]["private"]
    assert private["answer"] == {"withheld": True, "value": None}


def test_show_never_shows_a_text_that_was_not_committed(project: Project, say: Say) -> None:
    """An answer that was changed in content.jsonl opens nothing: it is withheld, not believed."""
    content = project.runs[0] / "content.jsonl"
    content.write_bytes(content.read_bytes().replace(b"It is Paris.", b"It is Berlin"))
    out = say("show", "latest", "q1", "--model", "good")[1]
    assert "Berlin" not in out
    assert "answer: withheld" in out


def test_show_of_a_record_that_was_changed_is_refused(project: Project, say: Say) -> None:
    """Exit 3: its lines do not have the signed root."""
    record = project.runs[0] / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"outcome":"failed"', b'"outcome":"passed"'))
    code, _, err = say("show", "latest", "q1")
    assert code == 3
    assert "root" in err
    plan = project.runs[0] / "plan.json"
    plan.write_bytes(plan.read_bytes().replace(b'"small"', b'"Small"'))
    assert say("show", "latest")[0] == 3


def test_show_json_holds_everything_about_a_case(project: Project, say: Say) -> None:
    """One stable object: the case, what was asked along with it, each trial with each attempt."""
    value = json.loads(say("show", "latest", "q1", "--json")[1])
    assert value["format"] == "trialplate-trials/1"
    assert value["case"]["references"] == ["Paris"]
    assert [(item["configuration"], item["repeat"], item["outcome"]) for item in value["trials"]] == [
        ("good", 1, "passed"), ("good", 2, "passed"), ("bad", 1, "failed"), ("bad", 2, "failed")
    ]  # fmt: skip
    again = value["trials"][3]["attempts"]
    assert [item["end"]["outcome"] for item in again] == ["error", "failed"]
    assert again[0]["private"]["error"]["value"] == "too \x1b[2J slow"
    assert again[1]["private"]["answer"] == {"withheld": False, "value": "none"}


def test_show_of_a_run_lists_its_trials(project: Project, say: Say) -> None:
    """A line for each, narrowed like a case's; and one object as JSON."""
    code, out, _ = say("show")
    assert code == 0
    assert out.splitlines()[-1].startswith("20 of 20 trials began")
    assert sum(line.startswith("passed: good ") for line in out.splitlines()) == 10
    value = json.loads(say("show", "latest", "--json", "--model", "bad", "--repeat", "2")[1])
    assert {(item["configuration"], item["repeat"], item["attempts"]) for item in value["trials"]} == {("bad", 2, 2)}
    assert (value["planned"], value["trials"][0]["cost_nano"]) == (5, None)


def test_show_of_a_public_test_set_needs_no_content_for_the_case(tmp_path: Path, monkeypatch: Any, say: Say) -> None:
    """The plan opens its cases; the answers are still private."""
    plan = PLAN.replace("  - file: cases/q.csv\n", "  - file: cases/q.csv\n    visibility: public\n")
    made = make_project(tmp_path, plan)
    made.run()
    (made.runs[0] / "content.jsonl").unlink()
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("TRIALPLATE_HOME", str(made.home))
    out = say("show", "latest", "q1", "--model", "good")[1]
    assert "reference: Paris" in out
    assert "answer: withheld" in out


def test_show_of_a_run_elsewhere_works_for_a_case(project: Project, say: Say, tmp_path: Path) -> None:
    """A run folder that lies outside of its project is shown with --ledger; its list is not in the index."""
    moved = tmp_path / "elsewhere" / project.runs[0].name
    shutil.copytree(project.runs[0], moved)
    assert say("show", str(moved), "q1", "--ledger", str(project.ledger))[0] == 0
    code, out, err = say("show", str(moved), "--ledger", str(project.ledger))
    assert (code, out) == (2, "")
    assert "not in the index" in err


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the committed run of a real model, the current folder of this process."""
    root = Path(__file__).resolve().parents[3]
    shutil.copytree(root / "examples" / "contract-questions", tmp_path / "example")
    monkeypatch.chdir(tmp_path / "example")
    monkeypatch.setenv("TRIALPLATE_HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("TRIALPLATE_TRUST", str(root / "keys" / "examples.pub"))
    return tmp_path / "example"


def test_show_proves_that_the_prompt_is_what_was_sent(example: Path, say: Say) -> None:
    """A request built again of the opened texts has the digest that the record's call names."""
    code, out, _ = say("show", "latest", "q01-supplier", "--model", "smollm2/with-contract", "--repeat", "1")
    assert code == 0
    assert "  system: Answer the question about the contract in one short sentence.\n" in out
    assert "sent: the texts above, to the byte" in out
    value = json.loads(say("show", "latest", "q01-supplier", "--model", "smollm2/with-contract", "--json")[1])
    (asked,) = value["configurations"]
    called = {call["digest"] for item in value["trials"] for call in item["attempts"][0]["end"]["calls"]}
    assert called == {asked["request"]["digest"]}
    assert asked["request"]["body"]["messages"][1]["content"].endswith("Which company is the Supplier?")


def test_show_without_the_prompt_claims_nothing_about_what_was_sent(example: Path, say: Say) -> None:
    """With the texts withheld, no request can be built; the call's digest is shown all the same."""
    next(example.glob("runs/*/content.jsonl")).unlink()
    out = say("show", "latest", "q01-supplier", "--model", "smollm2/with-contract", "--repeat", "1")[1]
    assert "call: sha256:" in out
    assert "sent:" not in out
