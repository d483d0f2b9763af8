# SPDX-License-Identifier: Apache-2.0
"""V11 to V13 and V17: every contradiction that a trial line can hold, and the honest lines that hold none."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from small_runs import DIGEST, NAME, case, configuration, ended, plan_of, scorer

from trialplate.engine.attempt import judge_failure
from trialplate.record.entries import Call, Cause, Counts, Money, Private, RunClose, TrialEnd, TrialStart, Usage
from trialplate.record.matrix import narrow
from trialplate.record.values import Plan, Pricing, Retry, Selector
from trialplate.rules.cells import OWN_CAUSES, Board
from trialplate.runners.base import Failure, FailureKind
from trialplate.verify.cell_checks import NEVER_ERROR, CellChecks
from trialplate.verify.findings import Report

KEY = (NAME, "q1", 1)
PLAN = plan_of(2, repeats=2)
LIVE, REPLAYED = Call(digest=DIGEST), Call(digest=DIGEST, replayed=True)


class Lines:
    """A record's trial lines, checked one after the other."""

    def __init__(self, plan: Plan = PLAN) -> None:
        self.report = Report("test")
        matrix = narrow(plan, None)
        self.checks = CellChecks(plan, matrix, Board(), self.report)

    def start(self, key: tuple[str, str, int] = KEY, attempt: int = 1) -> Lines:
        """Check the start of an attempt."""
        self.checks.start(TrialStart(trial=key, attempt=attempt), "r:1")
        return self

    def end(self, end: TrialEnd) -> Lines:
        """Check the end of an attempt."""
        self.checks.end(end, "r:2")
        return self

    @property
    def codes(self) -> set[str]:
        """The codes that were found, notes left out."""
        return {item.code for item in self.report.findings if not item.note}


def codes(plan: Plan = PLAN, **fields: Any) -> set[str]:
    """Return what is found about one started trial that ends like this."""
    return Lines(plan).start().end(ended(KEY, **fields)).codes


# --------------------------------------------------------------------------------------------------- honest lines


@pytest.mark.parametrize("outcome", ["passed", "failed", "limit", "error"])
def test_end_honest_line_has_no_finding(outcome: str) -> None:
    """What the engine writes about an answer, a cut and an outage holds."""
    assert codes(outcome=outcome) == set()


_AFTER_SENDING = {"exit_status", "bad_reply", "too_long", "http_status", "transport"}
_FAILURES = [
    *(
        (kind, sent, None)
        for kind in get_args(FailureKind)
        for sent in (True, False)
        if sent or kind not in _AFTER_SENDING
    ),
    *(("http_status", True, status) for status in (400, 401, 404, 408, 413, 422, 429, 500, 503, 529)),
]


@pytest.mark.parametrize(("kind", "sent", "status"), _FAILURES)
@pytest.mark.parametrize("runner", ["openai-compatible", "stand-in", "http", "command", "python", "agent"])
def test_end_whatever_the_engine_judges_holds(runner: str, kind: FailureKind, sent: bool, status: int | None) -> None:
    """The engine's table of failures and the verifier's are one: no honest failure is a finding."""
    plan = plan_of(1, configurations=[configuration(runner=runner)])
    failure = Failure(kind, "it failed", sent=sent, status=status)
    judgement = judge_failure(failure, plan.configurations[0], plan.scorers)
    end = ended(
        KEY,
        outcome=judgement.outcome,
        cause=judgement.cause,
        verdict=judgement.verdict,
        metrics=judgement.metrics or {},
        ended_by=judgement.ended_by,
        **({"served": "gpt-x", "calls": (Call(digest=DIGEST),)} if kind == "max_turns" else {}),
    )
    assert Lines(plan).start().end(end).codes == set()


# ----------------------------------------------------------------------------------------------------- V17: verdicts


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"outcome": "passed", "metrics": {"correct": 0.0}}, "does not follow from the metrics"),
        ({"outcome": "failed", "metrics": {"correct": 1.0}}, "does not follow from the metrics"),
        ({"outcome": "failed", "metrics": {"correct": 0.5}}, "does not follow from the metrics"),
        ({"outcome": "passed", "metrics": {"correct": 0.5}}, "does not follow from the metrics"),
        ({"outcome": "passed", "verdict": "failed"}, "outcome and verdict differ"),
        ({"outcome": "passed", "verdict": None}, "outcome and verdict differ"),
        ({"outcome": "failed", "verdict": "passed"}, "outcome and verdict differ"),
        ({"outcome": "passed", "cause": "empty"}, "outcome and verdict differ"),
        ({"outcome": "passed", "metrics": {}, "unknown": {"correct": "scorer"}}, "outcome and verdict differ"),
        ({"outcome": "passed", "finish": "length"}, "cut off at its token limit"),
        ({"outcome": "failed", "finish": "length"}, "cut off at its token limit"),
        ({"outcome": "limit", "cause": None}, "outcome and verdict differ"),
        ({"outcome": "limit", "metrics": {"correct": 1.0}}, "metric above 0"),
        ({"outcome": "limit", "verdict": "passed"}, "metric above 0"),
        ({"outcome": "limit", "cause": "refusal"}, "limit for refusal"),
        ({"outcome": "failed", "cause": "max_turns"}, "failed for max_turns"),
        ({"outcome": "failed", "cause": "bad_format", "metrics": {"correct": 0.0}}, "asked for none"),
        ({"outcome": "failed", "cause": "refusal", "metrics": {"correct": 1.0}}, "metric above 0"),
        ({"outcome": "failed", "cause": "empty", "metrics": {}, "unknown": {"correct": "scorer"}}, "metric above 0"),
        ({"outcome": "failed", "cause": "server_error"}, "the infrastructure's"),
        ({"outcome": "failed", "cause": "lost"}, "the infrastructure's"),
        ({"outcome": "error", "cause": None}, "no cause"),
        ({"outcome": "error", "verdict": "passed"}, "has a verdict"),
        ({"outcome": "error", "verdict": "failed"}, "has a verdict"),
        *[({"outcome": "error", "cause": cause}, "did itself") for cause in sorted(NEVER_ERROR)],
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_end_contradiction_is_found_and_told(fields: dict[str, Any], told: str) -> None:
    """Metrics, verdict, cause and outcome say the same, or the line is no evidence."""
    lines = Lines().start().end(ended(KEY, **fields))
    assert lines.codes == {"CELL-VERDICT"}
    assert told in lines.report.findings[0].message


@pytest.mark.parametrize("cause", sorted(get_args(Cause)))
@pytest.mark.parametrize("runner", ["openai-compatible", "command", "of-nobody"])
def test_end_error_of_the_thing_under_test_is_no_outage(cause: Any, runner: str) -> None:
    """A far end that is itself under test cannot have its failures called outages, unless another attempt follows."""
    model_id = "m" if runner == "openai-compatible" else None
    plan = plan_of(1, configurations=[configuration(runner=runner, model_id=model_id)])
    own = cause in NEVER_ERROR or (model_id is None and cause in OWN_CAUSES)
    metrics = {"correct": 1.0} if cause == "scorer" else {}
    found = codes(plan, outcome="error", cause=cause, metrics=metrics)
    assert ("CELL-VERDICT" in found) == own
    again = codes(plan, outcome="error", cause=cause, metrics=metrics, retry=True)
    assert ("CELL-VERDICT" in again) == (cause in NEVER_ERROR)


# ---------------------------------------------------------------------------------------------- left out by a budget

SKIP = TrialEnd(trial=KEY, attempt=1, outcome="skipped", cause="budget")


def test_skip_stands_alone_and_may_be_asked_later() -> None:
    """A trial that the budget left out has a line without a start; a later session makes that very attempt."""
    lines = Lines().end(SKIP)
    assert lines.codes == set()
    assert lines.checks.board.counts(lines.checks.matrix).skipped == 1
    assert lines.checks.board.attempts == 0
    assert lines.end(SKIP).start(attempt=1).end(ended(KEY)).codes == set()
    assert lines.checks.board.counts(lines.checks.matrix).passed == 1


def test_skip_after_a_failed_attempt_leaves_the_trial_an_error() -> None:
    """What was asked and failed is not called left out; the number is that of the attempt that was not made."""
    lines = Lines().start().end(ended(KEY, outcome="error", retry=True)).end(SKIP.replace(attempt=2))
    assert lines.codes == set()
    counts = lines.checks.board.counts(lines.checks.matrix)
    assert (counts.error, counts.skipped, counts.attempts) == (1, 0, 1)
    assert lines.start(attempt=2).end(ended(KEY, attempt=2)).codes == set()


def test_skip_where_none_can_be_is_found() -> None:
    """After a decided attempt, while one is under way, of another number, or of a trial outside of the matrix."""
    assert Lines().start().end(ended(KEY)).end(SKIP.replace(attempt=2)).codes == {"ATTEMPT-ORDER"}
    assert Lines().start().end(SKIP).codes == {"ATTEMPT-ORDER"}
    assert Lines().start().end(SKIP.replace(attempt=2)).codes == {"ATTEMPT-ORDER"}
    assert Lines().end(SKIP.replace(attempt=2)).codes == {"ATTEMPT-ORDER"}
    assert Lines().end(SKIP.replace(trial=(NAME, "q1", 3))).codes == {"MATRIX-UNPLANNED"}
    assert Lines().end(SKIP.replace(trial=(NAME, "q9", 1))).codes == {"MATRIX-UNPLANNED"}


@pytest.mark.parametrize(
    "fields",
    [
        {"cause": "interrupted"},
        {"cause": None},
        {"metrics": {"correct": 0.0}},
        {"verdict": "passed"},
        {"cost": Money(nano=0, currency="USD")},
        {"usage": Usage(input=0)},
        {"calls": (LIVE,)},
        {"retry": True},
        {"received": 1},
        {"requests": ("r-1",)},
    ],
    ids=str,
)
def test_skip_says_its_cause_and_nothing_else(fields: dict[str, Any]) -> None:
    """Nothing was asked, so nothing can have come of it."""
    assert Lines().end(SKIP.replace(**fields)).codes == {"CELL-VALUE"}


def test_complete_with_a_skipped_trial_is_found() -> None:
    """A record that left something out does not call itself complete."""
    lines = Lines(plan_of(1)).end(SKIP)
    counts = lines.checks.board.counts(lines.checks.matrix)
    lines.checks.finish(RunClose(complete=True, reason="complete", counts=counts), "full")
    assert lines.codes == {"MATRIX-INCOMPLETE"}
    lines = Lines(plan_of(1)).end(SKIP)
    lines.checks.finish(RunClose(complete=False, reason="budget", counts=counts), "full")
    assert lines.codes == set()


# ------------------------------------------------------------------------------------------------------- V17: values


@pytest.mark.parametrize(
    "fields",
    [
        {"metrics": {"correct": 1.5}},
        {"metrics": {"correct": -0.5}},
        {"metrics": {"correct": 0.1234567}},
        {"metrics": {}},
        {"metrics": {"correct": 1.0, "other": 1.0}},
        {"metrics": {"correct": 1.0}, "unknown": {"correct": "scorer"}},
        {"metrics": {"correct": 1.0}, "unknown": {"other": "scorer"}},
        {"outcome": "error", "metrics": {"correct": 1.0}},
        {"outcome": "error", "cause": "scorer", "metrics": {}},
    ],
    ids=str,
)
def test_end_metrics_are_those_of_the_scorers_and_in_range(fields: dict[str, Any]) -> None:
    """Each metric that applies stands once, measured or unknown, and no other does."""
    assert "CELL-VALUE" in codes(**fields)


def test_end_scorer_that_failed_leaves_its_metric_unknown() -> None:
    """What could be measured is kept; what could not is named with its cause."""
    plan = plan_of(1, scorers=[scorer("correct"), scorer("grounded")])
    fields = {"outcome": "error", "cause": "scorer", "metrics": {"correct": 1.0}, "unknown": {"grounded": "scorer"}}
    assert codes(plan, **fields) == set()
    fields = {"outcome": "failed", "metrics": {"correct": 0.0}, "unknown": {"grounded": "scorer"}}
    assert codes(plan, **fields) == set()


def test_end_scorers_that_do_not_apply_to_the_case_give_no_metric() -> None:
    """A metric of another case's scorer is a finding, not a bonus."""
    plan = plan_of([case(1), case(2)], scorers=[scorer("correct"), scorer("extra", cases=Selector(id=("q2",)))])
    assert codes(plan) == set()
    assert codes(plan, metrics={"correct": 1.0, "extra": 1.0}) == {"CELL-VALUE"}


def test_end_verdict_of_a_graded_scorer_is_not_derived_from_its_metric() -> None:
    """Only scorers that say 1 or 0 have verdicts that follow from the number alone."""
    plan = plan_of(1, scorers=[scorer(type="similarity")])
    assert codes(plan, outcome="failed", metrics={"correct": 0.7}) == set()
    assert codes(plan, outcome="passed", metrics={"correct": 0.7}) == set()


@pytest.mark.parametrize(
    ("pricing", "usage", "cost", "found"),
    [
        (None, None, None, set()),
        (None, None, Money(nano=0, currency="USD"), {"COST"}),
        (Pricing(free=True), None, Money(nano=0, currency="USD"), set()),
        (Pricing(free=True), None, None, {"COST"}),
        (Pricing(input="1", output="2"), Usage(input=10, output=5), Money(nano=20_000, currency="USD"), set()),
        (Pricing(input="1", output="2"), Usage(input=10, output=5), Money(nano=19_999, currency="USD"), {"COST"}),
        (Pricing(input="1", output="2"), Usage(input=10, output=5), Money(nano=20_000, currency="EUR"), {"COST"}),
        (Pricing(input="1", output="2"), Usage(input=10, output=5), None, {"COST"}),
    ],
)
def test_end_cost_is_the_prices_times_the_tokens(
    pricing: Pricing | None, usage: Usage | None, cost: Money | None, found: set[str]
) -> None:
    """A cost that the plan does not give is a finding, in either direction."""
    plan = plan_of(1, configurations=[configuration(pricing=pricing)])
    assert codes(plan, usage=usage, cost=cost) == found


# ------------------------------------------------------------------------------------------------ V11, V12: attempts


@pytest.mark.parametrize("key", [("x", "q1", 1), (NAME, "q9", 1), (NAME, "q1", 3)])
def test_start_outside_the_matrix_is_unplanned(key: tuple[str, str, int]) -> None:
    """Another configuration, case or repeat than the planned ones is never counted."""
    lines = Lines().start(key)
    assert lines.codes == {"MATRIX-UNPLANNED"}
    assert not lines.checks.board.cells


def test_start_of_a_cell_that_no_line_plans_is_unplanned() -> None:
    """A pilot's left-out case does not come back in its record."""
    from trialplate.record.entries import Narrowing

    report = Report("pilot")
    checks = CellChecks(PLAN, narrow(PLAN, Narrowing(only=("q2",))), Board(), report)
    checks.start(TrialStart(trial=KEY, attempt=1), "r:1")
    assert [item.code for item in report.findings] == ["MATRIX-UNPLANNED"]


def test_start_after_a_decided_attempt_is_its_own_finding() -> None:
    """Asking a decided trial again is how results are improved; it has a name of its own."""
    lines = Lines().start().end(ended(KEY, outcome="failed")).start(attempt=2).end(ended(KEY, attempt=2))
    assert lines.codes == {"ATTEMPT-AFTER-DECIDED"}


def test_start_numbers_out_of_order_are_found() -> None:
    """Attempts count from 1 without a gap."""
    assert Lines().start(attempt=2).codes == {"ATTEMPT-ORDER"}
    assert Lines().start().start(attempt=3).codes == {"ATTEMPT-ORDER"}


def test_end_without_start_or_twice_is_found() -> None:
    """Each end has one start, and each start at most one end."""
    assert Lines().end(ended(KEY)).codes == {"ATTEMPT-ORDER"}
    assert Lines().start().end(ended(KEY)).end(ended(KEY)).codes == {"ATTEMPT-ORDER"}
    assert Lines().start().end(ended(KEY, attempt=2)).codes == {"ATTEMPT-ORDER"}
    assert Lines().start().end(ended(KEY, retry=True)).codes == {"ATTEMPT-ORDER"}


def test_start_more_often_than_the_plan_retries_is_found() -> None:
    """A cell may be asked 1 + max_retries times in each session, and a reopened run has one session more."""
    plan = plan_of(1, configurations=[configuration(retry=Retry(max_retries=1))])
    lines = Lines(plan)
    for attempt in (1, 2):
        lines.start(attempt=attempt).end(ended(KEY, attempt, "error", retry=True))
    assert lines.codes == set()
    lines.checks.sessions += 1
    for attempt in (3, 4):
        lines.start(attempt=attempt).end(ended(KEY, attempt, "error", retry=True))
    assert lines.codes == set()
    assert lines.start(attempt=5).codes == {"ATTEMPT-TOO-MANY"}


def _close(lines: Lines, complete: bool) -> set[str]:
    counts = lines.checks.board.counts(lines.checks.matrix)
    lines.checks.finish(RunClose(complete=complete, reason="complete", counts=counts), "full")
    return lines.codes


def test_finish_complete_needs_an_end_for_every_planned_trial() -> None:
    """A record that says it is complete lacks nothing; one that says it is not may."""
    assert _close(Lines(), complete=True) == {"MATRIX-INCOMPLETE"}
    assert _close(Lines(), complete=False) == set()
    whole = Lines()
    for key in narrow(PLAN, None).trials():
        whole.start(key).end(ended(key))
    assert _close(whole, complete=True) == set()
    running = Lines()
    for key in narrow(PLAN, None).trials():
        running.start(key)
    assert _close(running, complete=True) == {"MATRIX-INCOMPLETE"}


def test_finish_says_something_about_each_of_its_checks() -> None:
    """V11, V12, V13 and V17 are never silent."""
    lines = Lines()
    lines.checks.finish(None, "pilot")
    assert {"V11", "V12", "V13", "V17"} <= set(lines.report.said)
    assert "of a pilot" in lines.report.said["V11"]


# --------------------------------------------------------------------------------------------- V13: replays, served


def test_end_replayed_call_belongs_to_a_replay_and_a_live_one_to_a_live_run() -> None:
    """Either kind in the other's run is a finding."""
    assert codes(calls=(LIVE,)) == set()
    assert codes(calls=(LIVE, REPLAYED)) == {"REPLAY-FLAG"}
    replay = plan_of(1, cache="replay")
    assert codes(replay, calls=(REPLAYED,)) == set()
    assert codes(replay, calls=(LIVE,)) == {"REPLAY-FLAG"}
    auto = plan_of(1, cache="auto")
    assert codes(auto, calls=(LIVE,)) == codes(auto, calls=(REPLAYED,)) == codes(auto, calls=(LIVE, REPLAYED)) == set()


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"served": "gpt-x"}, set()),
        ({"served": "gpt-x-2026-01-31"}, set()),
        ({"served": "gpt-y"}, {"SERVED-FLAG"}),
        ({}, {"SERVED-FLAG"}),
        ({"outcome": "limit"}, {"SERVED-FLAG"}),
        ({"outcome": "failed", "cause": "rejected_request"}, set()),
        ({"outcome": "failed", "cause": "refusal"}, {"SERVED-FLAG"}),
        ({"outcome": "error", "cause": "wrong_model", "served": "gpt-y"}, set()),
        ({"outcome": "error"}, set()),
    ],
    ids=str,
)
def test_end_decided_answer_is_of_the_model_that_was_asked(fields: dict[str, Any], found: set[str]) -> None:
    """An answer of another model, or of an unnamed one, decides nothing."""
    plan = plan_of(1, configurations=[configuration(model_id="gpt-x", runner="openai-compatible")])
    assert codes(plan, calls=(LIVE,), **fields) == found


@pytest.mark.parametrize("runner", ["openai-compatible", "anthropic", "http", "python"])
@pytest.mark.parametrize("cache", ["off", "replay", "auto"])
def test_end_answer_of_a_called_model_without_its_call_is_found(cache: str, runner: str) -> None:
    """An answer that names no call could be a recording passed off as live."""
    plan = plan_of(1, cache=cache, configurations=[configuration(model_id="gpt-x", runner=runner)])
    assert codes(plan, served="gpt-x") == {"REPLAY-FLAG"}


def test_finish_request_ids_used_twice_are_noted_in_live_runs_only() -> None:
    """A copied answer carries the id of its original; a replay does so honestly."""
    for cache, noted in (("off", True), ("replay", False)):
        lines = Lines(plan_of(2, cache=cache))
        for key in ((NAME, "q1", 1), (NAME, "q2", 1)):
            lines.start(key).end(ended(key, requests=("req-1",)))
        lines.checks.finish(None, "full")
        assert [item.code for item in lines.report.findings if item.note] == ["REQUEST-ID-REUSED"] * noted
        assert lines.codes == set()


def test_counts_of_the_close_are_those_of_the_lines() -> None:
    """What the board counts is what a close must state."""
    lines = Lines().start().end(ended(KEY)).start((NAME, "q2", 1))
    assert lines.checks.board.counts(lines.checks.matrix) == Counts(
        planned=4,
        passed=1,
        failed=0,
        limit=0,
        needs_input=0,
        error=1,
        skipped=0,
        absent=2,
        attempts=2,
        replayed=0,
        reasked=0,
    )


# --------------------------------------------------------------------------------------------- what is not asked


HOSTED = plan_of(2, repeats=2, configurations=[configuration(runner="openai", model_id="m", accepts=("image/png",))])
PLAIN = plan_of(2, repeats=2, configurations=[configuration(runner="openai", model_id="m", structured="none")])
NOT_ASKED = TrialEnd(trial=KEY, attempt=1, outcome="skipped", cause="incompatible")


@pytest.mark.parametrize("plan", [HOSTED, PLAIN])
def test_trial_that_its_plan_may_not_ask_is_left_out_by_its_cause_alone(plan: Plan) -> None:
    """What the model takes, and how it is asked for an answer's form, stands in the plan."""
    assert Lines(plan).end(NOT_ASKED).codes == set()
    assert Lines(plan).end(NOT_ASKED.replace(received=1)).codes == {"CELL-VALUE"}
    assert Lines(plan).end(NOT_ASKED.replace(metrics={"correct": 1.0}, verdict="passed")).codes == {"CELL-VALUE"}


@pytest.mark.parametrize(
    "fields",
    [
        {"runner": "openai", "model_id": "m"},
        {"runner": "command", "accepts": ()},
        {"runner": "stand-in", "structured": "none"},
        {"runner": "openai", "model_id": "m", "structured": "native"},
    ],
)
def test_configuration_that_takes_everything_leaves_nothing_out(fields: dict[str, Any]) -> None:
    """Else any hard case could be called incompatible by the record alone."""
    assert Lines(plan_of(2, configurations=[configuration(**fields)])).end(NOT_ASKED).codes == {"CELL-VALUE"}


@pytest.mark.parametrize("cause", ["timeout", "lost", "replay_miss", None])
def test_trial_is_left_out_for_no_other_reason(cause: Any) -> None:
    """A budget, or what the plan says; an outage is an error."""
    assert Lines(HOSTED).end(NOT_ASKED.replace(cause=cause)).codes == {"CELL-VALUE"}


def test_run_is_complete_with_what_is_never_asked() -> None:
    """One that a budget left out keeps it open."""
    counts = Counts(**dict.fromkeys(Counts.__annotations__, 0))
    for cause, found in (("incompatible", set()), ("budget", {"MATRIX-INCOMPLETE"})):
        plan = plan_of(1, configurations=HOSTED.configurations)
        lines = Lines(plan).end(NOT_ASKED.replace(cause=cause))
        lines.checks.finish(RunClose(complete=True, reason="complete", counts=counts), "full")
        assert lines.codes == found


# ------------------------------------------------------------------------------------------------- the far end's word


@pytest.mark.parametrize("runner", ["http", "command", "python", "agent", "trace", "acme"])
def test_end_whose_far_end_counted_itself_says_so(runner: str) -> None:
    """Else its own count would choose the cheapest where the mark takes nobody's word."""
    fields: dict[str, Any] = {"pricing": Pricing(input="1", output="2")}
    plan = plan_of(1, configurations=[configuration(runner=runner, **fields)])
    made: dict[str, Any] = {"calls": (LIVE,), "cost": Money(nano=9000, currency="USD")}
    assert codes(plan, **made, usage=Usage(input=1, output=4, declared=True)) == set()
    assert codes(plan, **made, usage=Usage(input=1, output=4)) == {"COST"}


def test_end_with_a_cost_that_nobody_declared_is_found() -> None:
    """What a hosted model cost is the plan's price times its tokens."""
    assert codes(usage=Usage(cost_nano=5), cost=Money(nano=5, currency="USD")) == {"COST"}


# ------------------------------------------------------------------------------------------------------------- helpers

ANSWER, REPLIES = "a" * 43, tuple(letter * 43 for letter in "bcd")
PRICED = Pricing(input="1", output="2")
JUDGED = plan_of(
    1,
    scorers=[scorer(type="judge", also=("grounded",), helper="j")],
    helpers=(configuration("j", runner="openai-compatible", pricing=PRICED),),
    configurations=[configuration(retry=Retry(max_retries=5))],
)
HELPED: dict[str, Any] = {
    "metrics": {"correct": 1.0, "grounded": 0.0},
    "helper_calls": (LIVE,),
    "helper_usage": Usage(input=10, output=5),
    "helper_cost": Money(nano=20_000, currency="USD"),
    "private": Private(answer=ANSWER, replies={"correct": REPLIES[:1]}),
}


def test_end_with_a_judge_holds() -> None:
    """Its metrics, its reply and its money; a further metric may be unknown beside a verdict."""
    assert codes(JUDGED, **HELPED) == set()
    null = {**HELPED, "metrics": {"correct": 1.0}, "unknown": {"grounded": "scorer"}}
    assert codes(JUDGED, **null) == set()
    none = {**HELPED, "metrics": {"grounded": 1.0}, "unknown": {"correct": "scorer"}}
    assert codes(JUDGED, **none) == {"CELL-VERDICT"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"helper_cost": Money(nano=20_001, currency="USD")}, "COST"),
        ({"helper_cost": None}, "COST"),
        ({"helper_usage": None}, "COST"),
        ({"helper_calls": (), "private": Private(answer=ANSWER)}, "COST+CELL-VALUE"),
        ({"helper_calls": ()}, "ATTEMPT-ORDER"),
        ({"private": Private(answer=ANSWER)}, "CELL-VALUE"),
        ({"private": Private(answer=ANSWER, replies={"correct": REPLIES[:1], "other": ()})}, "CELL-VALUE"),
        ({"private": Private(answer=ANSWER, replies={"other": REPLIES[:1]})}, "CELL-VALUE"),
        ({"private": Private(answer=ANSWER, replies={"correct": REPLIES[:2]})}, "ATTEMPT-ORDER"),
        ({"helper_calls": (REPLAYED,)}, "REPLAY-FLAG"),
        ({"private": Private(answer=ANSWER, replies={"correct": REPLIES})}, "ATTEMPT-ORDER"),
    ],
)
def test_end_contradiction_about_a_helper_is_found(change: dict[str, Any], code: str) -> None:
    """Money that does not follow, a replay in a live run, and a third reply."""
    assert codes(JUDGED, **{**HELPED, **change}) == set(code.split("+"))


def test_end_of_a_similarity_without_a_call_is_found() -> None:
    """An embedder's vectors are not kept; that it was asked is."""
    plan = JUDGED.replace(scorers=(scorer(type="similarity", helper="j"),))
    near = {**HELPED, "metrics": {"correct": 1.0}, "private": Private(answer=ANSWER)}
    assert codes(plan, **near) == set()
    alone = {"helper_calls": (), "helper_usage": None, "helper_cost": None}
    assert codes(plan, **{**near, **alone}) == {"CELL-VALUE"}
    assert codes(plan, outcome="failed", cause="refusal", metrics={"correct": 0.0}) == set(), "nobody was asked"


def test_end_that_asks_a_helper_of_a_plan_without_one_is_found() -> None:
    """A call that the plan does not know."""
    assert codes(helper_calls=(LIVE,)) == {"COST"}


def test_rescored_answer_keeps_what_was_replied_about_it() -> None:
    """Who drops a reply and asks again until the judge is kind is found; who adds the second one is not."""
    unread = {"outcome": "error", "cause": "scorer", "verdict": None, "metrics": {}, "received": 5}
    unread |= {"unknown": {"correct": "scorer", "grounded": "scorer"}}
    first = ended(KEY, **{**HELPED, **unread})

    def again(*replies: str) -> set[str]:
        private = Private(answer=ANSWER, replies={"correct": replies})
        end = ended(KEY, 2, **{**HELPED, "answer_of": 1, "private": private})
        return Lines(JUDGED).start().end(first).start(attempt=2).end(end).codes

    assert again(*REPLIES[:2]) == set()
    assert again(REPLIES[1]) == {"ATTEMPT-ORDER"}
    assert again() == {"ATTEMPT-ORDER"}
    assert again(*REPLIES) == {"ATTEMPT-ORDER"}


def test_replayed_helper_makes_the_cell_a_replayed_one() -> None:
    """Under `evidence: {calls: live}` a judge from a cassette is none, whoever answered."""
    lines = Lines(JUDGED.replace(cache="auto")).start().end(ended(KEY, **{**HELPED, "helper_calls": (LIVE, REPLAYED)}))
    assert lines.codes == set()
    assert lines.checks.board.cells[KEY].replayed
    assert (lines.checks.board.cells[KEY].helper_nano, lines.checks.board.cells[KEY].cost_nano) == (20_000, 0)


# ------------------------------------------------------------------------------------------------ classes of labels

CLASSED = plan_of(
    [case(n).replace(classes={"label": n - 1}) for n in (1, 2)], repeats=2, scorers=[scorer("label", type="label")]
)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"metrics": {"label": 1}, "said": {"label": 0}}, False),
        ({"metrics": {"label": 1}}, True),
        ({"metrics": {"label": 1}, "said": {"label": 1}}, True),
        ({"outcome": "failed", "metrics": {"label": 0}}, False),
        ({"outcome": "failed", "metrics": {"label": 0}, "said": {"label": 1}}, False),
        ({"outcome": "failed", "metrics": {"label": 0}, "said": {"label": 0}}, True),
        ({"outcome": "failed", "metrics": {"label": 0}, "said": {"label": 2}}, True),
        ({"outcome": "failed", "metrics": {"label": 0}, "said": {"other": 1}}, True),
        ({"outcome": "failed", "cause": "empty", "metrics": {"label": 0}, "said": {"label": 1}}, True),
    ],
)
def test_end_class_that_was_named_is_right_as_the_metric_is(fields: dict[str, Any], found: bool) -> None:
    """Only of a scored answer, only of a class that there is, and its own exactly if the metric is 1."""
    assert ("CELL-VALUE" in codes(CLASSED, **fields)) is found


def test_end_without_classes_says_of_none() -> None:
    """Where no rule is about macro-F1 nothing is said."""
    assert codes(metrics={"correct": 1}, said={"correct": 0}) == {"CELL-VALUE"}
