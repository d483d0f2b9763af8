# SPDX-License-Identifier: Apache-2.0
"""A budget is never exceeded by what is known, whatever runs at once; what is unknown keeps its reservation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_time import FlatBounds, Reply, limited, play
from run_project import Project
from small_runs import DIGEST, NAME, asked, configuration, ended, plan_of

from trialplate.engine.budget import Allowance, Purse, Spending, charge
from trialplate.engine.estimate import bounds_of
from trialplate.engine.open_trial import OpenTrial
from trialplate.engine.prepare import prepare
from trialplate.errors import SpecError
from trialplate.record.entries import Call, Money, Narrowing, TrialEnd, TrialStart
from trialplate.record.values import Pricing, Scorer
from trialplate.spec.bounds import AttemptBounds, HelperBounds
from trialplate.spec.limits import Ceiling

KEY = (NAME, "q1", 1)
CENT = 10**7


def usd(nano: int) -> Money:
    """Return an amount."""
    return Money(nano=nano, currency="USD")


def test_budget_of_one_with_calls_of_at_most_forty_cents_makes_three() -> None:
    """K07: the most is reserved before a call starts: three calls, 0.90 spent, seventeen left out."""
    plan = plan_of(1, configurations=[limited("m")])
    played = play(
        plan,
        {"m": 20},
        lambda trial, now: Reply(cost=30 * CENT),
        at_once=8,
        bounds={"m": FlatBounds(nano=40 * CENT)},
        limit_nano=100 * CENT,
    )
    assert len(played.attempts.begun) == 3
    assert sum(end.cost.nano for end in played.ends if end.cost is not None) == 90 * CENT
    assert len(played.attempts.skipped) == 17
    assert played.stop.left_out == "budget"
    told = [item for waiting in played.waited for item in waiting]
    assert any(item.reason.startswith("budget") for item in told)


def test_dear_trial_is_not_kept_waiting_by_cheap_ones_for_ever() -> None:
    """Whoever waits for money first gets it first, and what costs nothing waits for nobody."""
    made = [limited(name) for name in ("cheap", "dear", "free")]
    bounds = {"cheap": FlatBounds(nano=10), "dear": FlatBounds(nano=95), "free": FlatBounds(nano=0)}
    plan = plan_of(1, configurations=made)
    counts = {"cheap": 50, "dear": 1, "free": 50}
    played = play(plan, counts, lambda trial, now: Reply(cost=0), at_once=3, bounds=bounds, limit_nano=100)
    assert len(played.ends) == 101
    assert not played.attempts.skipped
    (dear,) = [when for when, key, _ in played.attempts.begun if key[0] == "dear"]
    assert dear <= 2


def test_retry_reserves_anew_and_an_unknown_cost_keeps_its_reservation() -> None:
    """H11: an attempt of which nobody knows the cost counts with the most that it could be."""

    def reply(trial: OpenTrial, now: float) -> Reply:
        return Reply(status=500, delay_s=0.1, cost=None)

    bounds = {"m": FlatBounds(nano=40)}
    plan = plan_of(1, configurations=[limited("m")])
    played = play(plan, {"m": 2}, reply, at_once=1, bounds=bounds, limit_nano=100)
    assert len(played.attempts.begun) == 2
    assert sorted(played.attempts.skipped) == [("m", "q1", 1), ("m", "q2", 1)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"cost": usd(7)}, 7),
        ({"cost": usd(0)}, 0),
        ({}, 40),
        ({"cost": usd(7), "calls": (Call(digest=DIGEST, replayed=True),)}, 0),
        ({"cost": usd(7), "calls": (Call(digest=DIGEST, replayed=True), Call(digest=DIGEST))}, 7),
        ({"outcome": "error", "cause": "refused_connection"}, 0),
        ({"outcome": "error", "cause": "rate_limited", "status": 429}, 0),
        ({"outcome": "error", "cause": "authentication", "status": 401}, 0),
        ({"outcome": "failed", "cause": "rejected_request", "status": 400}, 0),
        ({"outcome": "error", "cause": "http_status", "status": 404}, 0),
        ({"outcome": "error", "cause": "http_status", "status": 302}, 40),
        ({"outcome": "error", "cause": "server_error", "status": 500}, 40),
        ({"outcome": "error", "cause": "server_error", "status": 408}, 40),
        ({"outcome": "failed", "cause": "exit_status", "status": 1}, 40),
        ({"outcome": "error", "cause": "timeout"}, 40),
        ({"outcome": "error", "cause": "interrupted"}, 40),
        ({"outcome": "skipped", "cause": "budget"}, 0),
        ({"outcome": "error", "cause": "rate_limited", "status": 429, "calls": (Call(digest=DIGEST),)}, 0),
        ({"outcome": "error", "cause": "rate_limited", "status": 429, "calls": (Call(digest=DIGEST),) * 2}, 40),
        ({"outcome": "failed", "cause": "rejected_request", "status": 400, "calls": (Call(digest=DIGEST),) * 2}, 40),
        ({"outcome": "error", "cause": "not_started", "calls": (Call(digest=DIGEST),)}, 40),
        ({"outcome": "error", "cause": "refused_connection", "calls": (Call(digest=DIGEST),)}, 40),
        ({"outcome": "error", "cause": "replay_miss", "calls": (Call(digest=DIGEST, replayed=True),)}, 0),
    ],
    ids=str,
)
def test_charge_of_an_attempt(fields: dict[str, Any], expected: int) -> None:
    """What is known counts as it is; what was refused as it stood costs nothing; the rest costs what it could."""
    assert charge(ended(KEY, **fields), 40) == expected


def test_purse_waits_only_while_something_could_come_back() -> None:
    """An unknown bound never fits; what does not fit waits for what is reserved, and for nothing else."""
    purse = Purse(100, spent_nano=30)
    first, second = object(), object()
    assert purse.reserve(first, None) == "never"
    assert purse.reserve(first, 71) == "never"
    assert purse.reserve(first, 50) == "yes"
    assert purse.reserve(second, 40) == "wait"
    assert purse.reserve(object(), 1) == "wait"
    assert purse.reserve(object(), 0) == "yes"
    purse.settle(50, 20)
    assert purse.reserve(object(), 1) == "wait"
    assert purse.reserve(second, 40) == "yes"
    assert (purse.spent, purse.reserved) == (50, 40)


def test_spending_of_a_record_counts_lost_attempts_with_their_bound() -> None:
    """What earlier sessions spent is read from the lines alone: ended ones as charged, lost ones at their most."""
    made = configuration(pricing=Pricing(input="0", output="1"), settings={"max_tokens": 40})
    spending = Spending({NAME: AttemptBounds(made, {}, {"q1": asked("q1"), "q2": asked("q2")})})
    spending.start(TrialStart(trial=KEY, attempt=1))
    spending.end(ended(KEY, cost=usd(7)))
    other = (NAME, "q2", 1)
    spending.start(TrialStart(trial=other, attempt=1))
    assert spending.nano == 7 + 40_000
    spending.start(TrialStart(trial=other, attempt=2))
    spending.end(ended(other, 2, cost=usd(5)))
    spending.end(TrialEnd(trial=(NAME, "q3", 1), attempt=1, outcome="skipped", cause="budget"))
    assert spending.nano == 7 + 40_000 + 5


def test_helpers_take_more_than_was_reserved_only_where_there_is_room() -> None:
    """A call that may have been billed keeps what was set aside; one more begins if the whole limit still holds."""
    purse = Purse(100, spent_nano=10)
    assert purse.reserve(object(), 60) == "yes"
    allowance = Allowance(purse, 40)
    assert allowance.take(30)
    assert allowance.take(30)
    assert (allowance.reserved, purse.reserved) == (60, 80)
    assert not allowance.take(30)
    assert (allowance.reserved, purse.reserved) == (60, 80)
    allowance.give_back(30)
    assert allowance.take(30)
    assert purse.reserved == 80


@pytest.mark.parametrize(("calls", "share"), [(0, 0), (1, 1), (2, 1), (3, 2), (7, 4)])
def test_spending_counts_each_call_of_unknown_cost_of_a_helper(calls: int, share: int) -> None:
    """A judge has two calls in its bound; a record that names more of them, at no known cost, may have cost more."""
    judge = configuration(name="j", pricing=Pricing(input="0", output="1"), settings={"max_tokens": 40})
    scorer = Scorer(name="s", type="judge", version=1, metric="correct", helper="j", settings={})
    plan = plan_of(1).replace(helpers=(judge,), scorers=(scorer,))
    candidate = configuration(pricing=Pricing(free=True))
    cases = {"q1": asked("q1")}
    spending = Spending({NAME: AttemptBounds(candidate, {}, cases, HelperBounds(plan, {}, cases))})
    spending.start(TrialStart(trial=KEY, attempt=1))
    spending.end(ended(KEY, cost=usd(0), helper_calls=(Call(digest=DIGEST),) * calls))
    assert spending.nano == share * 2 * 40_000


def test_tools_of_the_providers_own_may_take_every_turn() -> None:
    """A turn that the provider pauses goes on, so one attempt has as many replies as its case allows."""
    case = asked("q1").replace(max_turns=3)
    plain = AttemptBounds(configuration(settings={"max_tokens": 40}), {}, {"q1": case}).of("q1")
    served = {"max_tokens": 40, "server_tools": [{"type": "web_search_20250305"}]}
    bound = AttemptBounds(configuration(settings=served), {}, {"q1": case}).of("q1")
    assert (plain.output_tokens, bound.output_tokens) == (40, 120)
    assert bound.input_tokens > 3 * plain.input_tokens


# ------------------------------------------------------------------------------------------------------- whole runs

PLAN = """\
trialplate: 1
name: small
test_sets: [{file: cases/q.csv}]
models:
  m: {runner: stand-in, PRICING answers: {"*": {text: "yes", usage: {input: 10, output: 3072}}}}
  f: {runner: stand-in, pricing: free, answers: {"*": "yes"}}
repeats: 1
run: {budget: BUDGET}
scorers: {correct: {type: contains}}
pass_mark: {rules: [{id: correct, at_least: 0.5, of: correct, basis: estimate}]}
"""
CASES = "id,input,reference,tags\n" + "".join(f"q{n},say {n},yes,\n" for n in range(20))
FORTY_CENTS = 'pricing: {input: 0, output: "97.65625"},'


def plan(pricing: str = FORTY_CENTS, budget: str = '{cost_usd: "1.00"}') -> str:
    """Return an author's plan; one answer costs 0.30, and at most 0.40."""
    return PLAN.replace("PRICING", pricing).replace("BUDGET", budget)


def test_run_with_a_budget_is_incomplete_and_verifies(project_of: Callable[..., Project]) -> None:
    """The record says what was left out, and why; free models are asked; nobody is accepted by an incomplete run."""
    project = project_of(plan(), CASES)
    finished = project.run(at_once=8)
    assert (finished.reason, finished.exit_code, finished.left_out) == ("budget", 4, {"m": 17})
    assert (finished.counts.passed, finished.counts.skipped, finished.counts.attempts) == (23, 17, 23)
    verified = project.verify(project.runs[-1])
    assert verified.report.holds, verified.report.findings
    assert verified.gate is not None
    assert {name: verified.gate.decide(name).decision for name in "mf"} == dict.fromkeys("mf", "inconclusive")


def test_run_whose_time_is_over_at_once_asks_nothing(project_of: Callable[..., Project]) -> None:
    """Every trial is accounted for, though none was asked."""
    project = project_of(plan(budget="{wall_time_s: 0.001}"), CASES)
    finished = project.run()
    assert (finished.reason, finished.exit_code) == ("time", 4)
    assert finished.counts.skipped == 40 - finished.counts.attempts
    assert project.verify(project.runs[-1]).report.holds


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (plan(pricing=""), "BUDGET-PRICE"),
        (plan().replace("pricing: free", 'pricing: {currency: EUR, input: "1", output: "1"}'), "BUDGET-CURRENCY"),
        (plan(pricing='pricing: {currency: EUR, input: "1", output: "1"},'), "BUDGET-CURRENCY"),
    ],
    ids=["unknown price", "two currencies", "another currency"],
)
def test_budget_that_could_not_hold_is_refused_before_anything(
    project_of: Callable[..., Project], text: str, code: str
) -> None:
    """K05: an unknown price is named, and is not taken for zero; nothing is asked and nothing written."""
    project = project_of(text, CASES)
    with pytest.raises(SpecError) as caught:
        project.run()
    assert caught.value.code == code
    assert "trialplate.yaml:" in str(caught.value.where)
    assert not (project.folder / "runs").exists()


def test_budget_under_which_nothing_could_begin_is_refused(project_of: Callable[..., Project]) -> None:
    """A run that asks nothing would stand as an open attempt; an amount for one attempt is enough to begin."""
    project = project_of(plan(pricing='pricing: {input: "1", output: "1"},', budget="{cost_usd: 9}"), CASES)
    prepared = prepare(project.folder, bytes(32))
    bounds = bounds_of(prepared.plan, prepared.matrix, prepared.opened, prepared.cases)
    costs = [bounds[name].of(case).cost for name, case, _ in prepared.matrix.trials()]
    least = min(money.nano for money in costs if money is not None and money.nano)
    only_priced = Narrowing(models=("m",))
    for nano in (0, least - 1):
        with pytest.raises(SpecError) as caught:
            prepare(project.folder, bytes(32), narrowing=only_priced, ceiling=Ceiling(cost_nano=nano))
        assert caught.value.code == "BUDGET-SMALL"
    prepare(project.folder, bytes(32), narrowing=only_priced, ceiling=Ceiling(cost_nano=least))
    prepare(project.folder, bytes(32), ceiling=Ceiling(cost_nano=0))  # the free model can be asked


def test_command_line_goes_over_the_plan_and_stands_in_it(project_of: Callable[..., Project]) -> None:
    """--max-cost is in the currency of the prices; what it does not say stays."""
    text = plan(pricing='pricing: {currency: EUR, input: "1", output: "1"},', budget="{wall_time_s: 60}")
    project = project_of(text, CASES)
    found = prepare(project.folder, bytes(32), ceiling=Ceiling(cost_nano=5)).plan.budget
    assert found is not None
    assert (found.cost_nano, found.currency, found.wall_time_ms) == (5, "EUR", 60_000)
    assert prepare(project.folder, bytes(32), ceiling=Ceiling(wall_time_ms=7)).plan.budget != found
