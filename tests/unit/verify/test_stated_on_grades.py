# SPDX-License-Identifier: Apache-2.0
"""What of a stated decision is taken at its word while grades are not here: what rests on them, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from small_runs import DIGEST, at_least

from trialplate.record.decisions import Choice, Decision, EvidenceResult, RuleResult
from trialplate.record.values import Choose, EntryRef, Evidence, JudgeEvidence, PassMark, Rule
from trialplate.verify.judges import as_stated

AGREEMENT = at_least("0.8", "agreement:judge", id="agrees")
PLAIN = at_least("0.5", id="plain")
NEAR: dict[str, Any] = {"by": "best", "of": "correct", "within": "0.1"}


def rule(identity: str, result: Any) -> RuleResult:
    """Return a rule's result with no numbers."""
    return RuleResult(id=identity, result=result, reason="met", cells=1, cases=1, unknown=0)


def decision(word: Any, *reasons: str, within: Any = None, met: bool = True, **results: Any) -> Decision:
    """Return a decision with these results of rules."""
    return Decision(
        run_id="20260101T000000000Z-00000000",
        configuration="m",
        decision=word,
        reasons=reasons,
        plan=DIGEST,
        pass_mark=EntryRef(seq=1, digest=DIGEST),
        record_size=1,
        record_root=DIGEST,
        evidence=(EvidenceResult(name="judge", met=met, wanted="", found=""),),
        rules=tuple(rule(name, result) for name, result in results.items()),
        attempts=(),
        choice=None if within is None else Choice(result="open", reason="best", within=rule("within", within)),
    )


def test_mark_without_a_word_of_the_judge_takes_nothing_as_stated() -> None:
    """A sheet in a run that is taken away changes nothing of a decision that rests on no grades."""
    mark = PassMark(rules=(PLAIN,), choose=Choose(**NEAR))
    stated = decision("accepted", plain="pass", within="pass")
    derived = decision("rejected", "within", plain="pass", within="fail")
    assert as_stated(stated, derived, mark) == derived


@pytest.mark.parametrize(("best_among", "taken"), [("all", False), ("floors_met", True)])
def test_distance_to_the_best_rests_on_grades_only_where_floors_say_who_that_is(best_among: Any, taken: bool) -> None:
    """Else it follows from scores, which are all here."""
    mark = PassMark(rules=(PLAIN, AGREEMENT), choose=Choose(**NEAR, best_among=best_among))
    stated = decision("accepted", plain="pass", agrees="pass", within="pass")
    derived = decision("rejected", "within", plain="pass", agrees="inconclusive", within="fail")
    assert (as_stated(stated, derived, mark) == stated) is taken


def test_an_alternative_of_alternatives_rests_on_grades_as_they_do() -> None:
    """What stands around a rule on grades, at any depth, is taken as stated with it."""
    rules = (Rule(id="outer", any_of=("inner", "plain")),)
    inner = Rule(id="inner", any_of=("agrees", "other"))
    mark = PassMark(rules=rules, alternatives=(inner, PLAIN, AGREEMENT, at_least("0.9", id="other")))
    stated = decision("accepted", outer="pass")
    assert as_stated(stated, decision("inconclusive", "outer", outer="inconclusive"), mark) == stated


def test_nothing_is_accepted_that_fails_by_anything_else() -> None:
    """A plain rule that fails, or a stated demand that is not met, is no word to take."""
    mark = PassMark(rules=(PLAIN,), evidence=Evidence(judge=JudgeEvidence(scorer="judge", agreement="0.8")))
    stated = decision("accepted", plain="pass")
    assert as_stated(stated, decision("inconclusive", "judge", plain="pass", met=False), mark) == stated
    assert as_stated(stated, decision("rejected", "plain", plain="fail"), mark).decision == "rejected"
    unmet = decision("accepted", plain="pass", met=False)
    assert as_stated(unmet, decision("inconclusive", "judge", plain="pass", met=False), mark).decision != "accepted"
