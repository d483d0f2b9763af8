# SPDX-License-Identifier: Apache-2.0
"""`plan`: the table before any money is spent, and the mark that is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from run_project import Project, make_project

VECTOR = Path(__file__).parents[2] / "vectors" / "plan" / "small.json"
Say = Callable[..., tuple[int, str, str]]

HEAD = """\
trialplate: 1
name: small
test_sets:
  - file: cases/q.csv
models:
  good: {runner: stand-in, answers: {q3: ["3", "no", "3"], "*": "no"}, pricing: free}
  other: {runner: stand-in, answers: {"*": "3"}}
scorers:
  correct: {type: contains, case_sensitive: false}
"""
WHOLE = """\
repeats: 3
pass_mark:
  rules:
    - {id: correct, at_least: 0.80, of: correct}
    - {id: stable, at_least: 0.75, of: case_pass_rate}
    - {id: loose, at_least: 0.90, of: correct, basis: estimate}
    - {id: errors, at_most: 0.10, of: error_rate}
    - {id: by-tag, at_least: 0.60, of: correct, each: tag, basis: estimate}
    - {id: critical, must_pass: {tag: critical}, require: all}
    - {id: near, not_worse_than: other, by: 0.10, of: correct}
    - {id: either, any_of: [{at_least: 0.7, of: correct}, {at_least: 0.99, of: trial_pass_rate}]}
    - {id: slow, at_most: 20, of: {p95: wall_s}, basis: estimate}
  choose: {by: best, within: 0.10, of: correct}
"""
FEW = """\
repeats: 1
pass_mark:
  rules:
    - {id: correct, at_least: 0.90, of: correct}
"""


def cases(number: int) -> str:
    """Return so many cases, the first four critical."""
    rows = [
        f"q{n},What is {n}?,{n},{'critical' if n <= 4 else 'billing' if n % 2 else 'orders'}\n"
        for n in range(1, number + 1)
    ]
    return "id,input,reference,tags\n" + "".join(rows)


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], Project]:
    """Make a project of so many cases under a mark, the current folder of this process."""

    def make(mark: str, number: int) -> Project:
        made = make_project(tmp_path, HEAD + mark, cases(number))
        monkeypatch.chdir(made.folder)
        monkeypatch.setenv("TRIALPLATE_HOME", str(made.home))
        return made

    return make


def test_json_is_the_same_on_every_machine(planned: Callable[[str, int], Project], say: Say) -> None:
    """Byte for byte what was written down: every chance, drawn or exact, and every size."""
    planned(WHOLE, 60)
    code, out, err = say("plan", "--json")
    assert (code, err) == (0, "")
    assert out == VECTOR.read_text(encoding="utf-8")


def test_text_says_what_the_object_says(planned: Callable[[str, int], Project], say: Say) -> None:
    """Each rule in the words of the mark, its picture in plain characters, and what cannot be told."""
    planned(WHOLE, 60)
    code, out, _ = say("plan")
    assert code == 0
    assert out.isascii()
    lines = out.splitlines()
    assert max(len(line) for line in lines if "##" in line or ".." in line) <= 100
    assert "upper estimate: at least 0.0000 USD; unknown: other" in lines
    assert any(line.startswith("rule correct: correct at least 0.8, ") for line in lines)
    assert "  60 cases x 3; each of 2 configurations; alpha 0.025" in lines
    assert "  60 cases: a perfect run shows 0.940" in lines
    assert "  no operating curve: a percentile has no rate" in lines
    assert any(line.startswith("  a configuration truly at 80 % passes this mark ") for line in lines)
    assert any("differing on 10 % of the cases" in line for line in lines)
    assert "chances over repeats are shares of 4000 drawn outcomes, the same on every machine" in lines
    assert "\x1b" not in out


def test_true_values_are_those_that_were_named(planned: Callable[[str, int], Project], say: Say) -> None:
    """And nothing that is no share."""
    planned(FEW, 40)
    _, out, _ = say("plan", "--true", "0.85, .95", "--json")
    (rule,) = json.loads(out)["rules"]
    assert [point["true"] for point in rule["points"]] == [0.85, 0.95]
    for wrong in ("1.5", "-0.1", "nan", "ninety", "0.9.1", "1e-1"):
        code, out, err = say("plan", "--true", wrong)
        assert (code, out) == (2, "")
        assert "no share from 0 to 1" in err
    assert say("plan", "--true", ",")[0] == 2
    assert say("plan", "--rho", "2")[0] == 2


def test_resemblance_of_repeats_can_be_told(planned: Callable[[str, int], Project], say: Say) -> None:
    """The more alike, the less repeats show."""
    planned(WHOLE, 60)
    accepted = []
    for rho in ("0", "0.5", "1"):
        found = json.loads(say("plan", "--rho", rho, "--true", "0.9", "--json")[1])
        accepted.append(found["rules"][0]["points"][0]["accept"])
    assert accepted == sorted(accepted, reverse=True)
    assert accepted[0] > accepted[2]


def test_pilot_gives_its_spread(planned: Callable[[str, int], Project], say: Say) -> None:
    """The resemblance and the rates of a verified run: one case of eight has repeats that differ."""
    made = planned(WHOLE, 60)
    code, _, err = say("run", "--yes", "--limit", "8")
    assert code == 0, err
    (run,) = (made.folder / "runs").iterdir()
    code, out, _ = say("plan", "--pilot", run.name, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["spread"]["pilot"] == run.name
    correct = found["rules"][0]
    assert correct["icc"] == pytest.approx(0.8, abs=0.2)
    measured = {name: point["true"] for point in correct["points"] for name in point["measured"]}
    assert measured == {"good": 0.083, "other": 0.125}
    assert found["choose"]["comparison"]["rows"][1]["measured"] is False
    assert any(row["measured"] for row in found["choose"]["comparison"]["rows"])
    text = say("plan", "--pilot", "latest")[1]
    assert f"measured in run {run.name}" in text
    assert "measured: good" in text
    assert say("plan", "--pilot", "20990101")[0] == 2


def test_pilot_that_does_not_hold_tells_nothing(planned: Callable[[str, int], Project], say: Say) -> None:
    """A changed record is exit 3."""
    made = planned(WHOLE, 60)
    assert say("run", "--yes", "--limit", "4")[0] == 0
    (run,) = (made.folder / "runs").iterdir()
    record = run / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"outcome":"failed"', b'"outcome":"passed"', 1))
    code, out, _ = say("plan", "--pilot", "latest")
    assert (code, out) == (3, "")


def test_mark_that_no_run_can_pass_is_told_and_refused(planned: Callable[[str, int], Project], say: Say) -> None:
    """`plan` shows its table and is exit 2; `commit` and `run` write nothing."""
    made = planned(FEW, 20)
    before = (made.folder / "ledger" / "entries.jsonl").read_bytes()
    code, out, _ = say("plan")
    assert code == 2
    assert "  20 cases: a perfect run shows 0.832 < 0.9: cannot pass; needs 36" in out.splitlines()
    assert "no run can pass correct: this mark is refused" in out.splitlines()
    assert json.loads(say("plan", "--json")[1])["reachable"] is False
    for command in (("commit",), ("run",), ("run", "--yes")):
        code, out, err = say(*command)
        assert (code, out) == (2, "")
        assert "trialplate.yaml:13:" in err
        assert "it takes 36 cases" in err
    assert (made.folder / "ledger" / "entries.jsonl").read_bytes() == before
    assert not (made.folder / "runs").exists()


def test_an_attempt_too_late_is_told_and_not_refused(planned: Callable[[str, int], Project], say: Say) -> None:
    """After one full run the second has half of alpha: 40 cases at 0.9 reach it, a third time they do not."""
    planned(FEW, 40)
    assert json.loads(say("plan", "--json")[1])["attempt"] == 1
    assert say("run", "--yes")[0] == 0
    assert json.loads(say("plan", "--json")[1])["attempt"] == 2
    assert say("run", "--yes")[0] == 0
    code, out, _ = say("plan")
    assert code == 2
    assert "it would be attempt 3: its bounds have a smaller alpha" in out
    assert "no run can pass correct: earlier attempts spent its alpha" in out
    assert say("run", "--yes", "--limit", "2")[0] == 0


def test_plan_needs_no_ledger(planned: Callable[[str, int], Project], say: Say) -> None:
    """A project that never ran has the same table; one whose ledger does not hold says that it cannot count."""
    made = planned(FEW, 40)
    with_ledger = json.loads(say("plan", "--json")[1])
    (made.folder / "ledger" / "checkpoint").write_text("x\n", encoding="utf-8")
    code, out, err = say("plan", "--json")
    assert (code, json.loads(out)) == (0, with_ledger)
    assert "earlier attempts are not counted" in err
    made.folder.joinpath("ledger").rename(made.folder / "elsewhere")
    code, out, err = say("plan", "--json")
    assert (code, json.loads(out), err) == (0, with_ledger, "")


def test_estimate_of_a_run_says_the_shortest_of_it(planned: Callable[[str, int], Project], say: Say) -> None:
    """A line for each rule that has something to say."""
    planned(WHOLE, 60)
    lines = say("run")[1].splitlines()
    assert "  correct: 60 cases: a perfect run shows 0.940" in lines
    assert any(line.startswith("  loose: a configuration truly at 80 % passes this mark ") for line in lines)
    assert any(line.startswith("  choose: with 60 cases two that pass the very same ones") for line in lines)


# ------------------------------------------------------------------------------------------- what earlier runs do

TRIED = """\
repeats: 1
pass_mark:
  attempts: {max: 2}
  rules:
    - {id: correct, at_least: 0.50, of: correct}
    - id: either
      any_of:
        - {at_least: 0.2, of: correct}
        - any_of: [{at_least: 0.3, of: correct}, {at_least: 0.4, of: correct}]
"""


def test_the_error_of_a_rule_is_told_as_it_will_be(planned: Callable[[str, int], Project], say: Say) -> None:
    """With every `any_of` around it, and at the attempt that it would be."""
    planned(TRIED, 20)
    line = "rule either.2.1: correct at least 0.3, shown with 95 % confidence (alpha 0.05 / 2 candidates"
    assert f"{line} / 4 alternatives) (one of either.2)" in say("plan")[1]
    assert say("run", "--yes")[0] == 0
    assert f"{line} / 2 for attempt 2 / 4 alternatives) (one of either.2)" in say("plan")[1]
    assert (
        "correct at least 0.5, shown with 95 % confidence (alpha 0.05 / 2 candidates / 2 for attempt 2)"
        in say("run")[1]
    )


def test_a_run_tells_which_attempt_it_is(planned: Callable[[str, int], Project], say: Say) -> None:
    """Before it is paid for; a pilot is no attempt."""
    planned(TRIED, 20)
    assert "attempt" not in say("run")[1]
    assert say("run", "--yes")[0] == 0
    told = "note: attempt 2 at good, other: each attempt's bounds have half the error of the one before"
    assert told in say("run")[1]
    assert "attempt" not in say("run", "--limit", "2")[1]
    code, _, err = say("run", "--yes")
    assert code == 0
    assert told in err


def test_a_run_that_can_only_be_rejected_is_told(planned: Callable[[str, int], Project], say: Say) -> None:
    """Beyond the mark's highest number of attempts, or after one that was rejected: until that is waived."""
    planned(TRIED, 20)
    run_id = say("run", "--yes")[1].strip()
    assert "rejected" not in say("run")[1]
    assert say("gate", run_id, "--model", "good")[0] == 1
    again = f"warning: good was rejected in run {run_id}: it will be rejected again, whatever it comes to"
    for command in ("plan", "run"):
        out = say(command)[1]
        assert again in out
        assert "other was rejected" not in out
    assert say("run", "--yes")[0] == 0
    beyond = "warning: this is attempt 3 at good, other, and attempts.max of the mark is 2: it will be rejected"
    assert beyond in say("run")[1]
    assert say("waive", run_id, "--reason", "the wrong machine")[0] == 0
    out = say("run")[1]
    assert again not in out
    assert beyond not in out


def test_a_stop_says_how_many_cases_run_where_it_knows(planned: Callable[[str, int], Project], say: Say) -> None:
    """With repeats there is no such column, and nothing speaks of it."""
    mark = "pass_mark:\n  stop: {mode: sealed}\n  rules: [{id: correct, at_least: 0.5, of: correct}]\n"
    made = planned("repeats: 1\n" + mark, 20)
    out = say("plan")[1]
    assert "  cases run" in out
    assert "stop: sealed; cases run are those that one rule needs" in out
    plan = made.folder / "trialplate.yaml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("repeats: 1", "repeats: 2"), encoding="utf-8")
    out = say("plan")[1]
    assert "cases run" not in out.replace("how many cases run is told", "")
    assert "stop: sealed; how many cases run is told of rules with one trial a case" in out


def test_repeats_that_always_agree_are_told_as_measured(planned: Callable[[str, int], Project], say: Say) -> None:
    """Of no use at all: whoever reads the plan of a pilot learns that first."""
    planned("repeats: 3\npass_mark:\n  rules: [{id: correct, at_least: 0.5, of: correct}]\n", 20)
    assert "resemble each other by 1.00 (assumed" in say("plan", "--rho", "1")[1]
    assert json.loads(say("plan", "--rho", "1", "--json")[1])["rules"][0]["icc"] == 1


def test_a_ceiling_is_shown_from_above(planned: Callable[[str, int], Project], say: Say) -> None:
    """A perfect run shows no more than that, not that much."""
    planned("repeats: 1\npass_mark:\n  rules: [{id: errors, at_most: 0.2, of: error_rate}]\n", 20)
    assert "  20 cases: a perfect run shows at most 0.168" in say("plan")[1].splitlines()


def test_more_true_values_than_a_table_holds_are_refused() -> None:
    """Each is worked out for every rule: hundreds of them would take a minute."""
    from trialplate.cli.plan import MOST_TRUTHS, PlanOptions
    from trialplate.errors import UsageError

    many = ",".join(f"0.{n:03d}" for n in range(1, MOST_TRUTHS + 2))
    with pytest.raises(UsageError, match="names 21 values"):
        PlanOptions(true=many).truths()
    assert len(PlanOptions(true=many.rpartition(",")[0]).truths()) == MOST_TRUTHS
