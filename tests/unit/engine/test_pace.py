# SPDX-License-Identifier: Apache-2.0
"""How fast a run asks: limits per minute, fairness between models, and what a provider that refuses is asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from fake_time import FlatBounds, Reply, limited, most_within, play
from hypothesis import given, settings
from hypothesis import strategies as st
from run_project import Project
from small_runs import plan_of

from trialplate.engine.open_trial import OpenTrial
from trialplate.engine.pace import LONGEST_BLOCK_S, Account, Bucket, Pace
from trialplate.engine.turns import FurtherTurns
from trialplate.record.values import Limits, Plan, Provider


def plan(*configurations: Any, **fields: Any) -> Plan:
    """Return a plan of these configurations."""
    return plan_of(1, configurations=configurations, **fields)


def answer(trial: OpenTrial, now: float) -> Reply:
    """Answer after a second."""
    return Reply()


def times(played: Any, name: str) -> list[float]:
    """Return when the attempts of one configuration began."""
    return [when for when, key, _ in played.attempts.begun if key[0] == name]


# ---------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("per_minute", [1, 7, 30, 60, 600, 6000])
def test_requests_per_minute_hold_in_every_window_and_are_used(per_minute: int) -> None:
    """No window of a minute holds more than the limit and a tenth of a second's worth; nor much less."""
    number = min(3 * per_minute, 400)
    slow = limited("m", limits=Limits(requests_per_minute=per_minute))
    played = play(plan(slow), {"m": number}, lambda trial, now: Reply(takes_s=0.0), at_once=50)
    assert len(played.ends) == number
    assert most_within(times(played, "m"), 60) <= per_minute + max(1, per_minute // 600)
    assert played.time <= (number - 1) * 60 / per_minute + 0.1


def test_tokens_per_minute_count_what_was_used_and_not_what_was_feared() -> None:
    """An estimate is taken, and corrected once the count is there: a tenth of it lets ten times as many through."""
    slow = limited("m", limits=Limits(tokens_per_minute=6000))
    bounds = {"m": FlatBounds(tokens=1000)}
    feared = play(plan(slow), {"m": 30}, lambda trial, now: Reply(takes_s=0.5), bounds=bounds)
    used = play(plan(slow), {"m": 30}, lambda trial, now: Reply(takes_s=0.5, tokens=100), bounds=bounds)
    more = play(plan(slow), {"m": 30}, lambda trial, now: Reply(takes_s=0.5, tokens=2000), bounds=bounds)
    assert 280 <= feared.time <= 300
    assert used.time <= 60
    assert more.time >= 570


@pytest.mark.parametrize("tokens", [6001, 10**6, 2**53 - 1])
def test_count_without_sense_holds_its_model_up_for_a_minute_and_not_for_ever(tokens: int) -> None:
    """A far end says what it used; one answer never costs more than the minute that it was let through in."""
    slow = limited("m", limits=Limits(tokens_per_minute=6000))
    played = play(
        plan(slow), {"m": 5}, lambda trial, now: Reply(tokens=tokens), bounds={"m": FlatBounds(tokens=10)}, at_once=1
    )
    assert len(played.ends) == 5
    assert 4 * 60 <= played.time <= 4 * 62 + 2


def test_model_limit_is_shared_by_its_profiles_and_a_providers_by_its_models() -> None:
    """Two profiles of one model share its limit; two models share their provider's."""
    same = [limited(f"m/{p}", model="m", profile=p, limits=Limits(requests_per_minute=60)) for p in "ab"]
    played = play(plan(*same), {"m/a": 30, "m/b": 30}, answer)
    assert most_within([when for when, _, _ in played.attempts.begun], 60) <= 61
    two = [limited("a", endpoint="https://api.example.com/v1"), limited("b", endpoint="https://api.example.com/v2")]
    other = limited("c", endpoint="https://other.example.com/v1")
    shared = plan(*two, other, providers=(Provider(name="api.example.com", requests_per_minute=60),))
    played = play(shared, {"a": 30, "b": 30, "c": 30}, answer)
    assert most_within([*times(played, "a"), *times(played, "b")], 60) <= 61
    assert max(times(played, "c")) < 30


def test_provider_concurrency_holds_at_every_moment() -> None:
    """Two at once are two at once, whatever the run may do."""
    shared = plan(limited("a"), limited("b"), providers=(Provider(name="openai-compatible", concurrency=2),))
    played = play(shared, {"a": 10, "b": 10}, answer, at_once=8)
    assert played.attempts.most == 2
    assert played.time == 10


def test_slow_model_holds_up_no_other_and_takes_no_place() -> None:
    """With three places, a model at one request a minute leaves two others all of them; they end first."""
    slow, a, b = limited("slow", limits=Limits(requests_per_minute=1)), limited("a"), limited("b")
    played = play(plan(slow, a, b), {"slow": 10, "a": 60, "b": 60}, answer, at_once=3)
    assert max(*times(played, "a"), *times(played, "b")) < 60
    assert max(times(played, "slow")) >= 540
    told = [item for waiting in played.waited for item in waiting]
    assert {(item.who, item.reason) for item in told} == {("slow", "1 requests a minute")}
    assert all(item.until is not None for item in told)


def test_trial_that_waits_for_its_next_attempt_takes_no_place() -> None:
    """A long back-off of one trial leaves the one place to the others."""

    def reply(trial: OpenTrial, now: float) -> Reply:
        return Reply(status=500, delay_s=100) if trial.key[1] == "q1" and trial.number == 1 else Reply()

    played = play(plan(limited("m")), {"m": 20}, reply, at_once=1)
    assert [key[1] for _, key, number in played.attempts.begun][:2] == ["q1", "q2"]
    assert times(played, "m")[-1] == 101
    assert played.time == 102


# ---------------------------------------------------------------------------------------------------------- refusals


def test_retry_after_blocks_the_whole_account_and_no_other() -> None:
    """One refusal of one model: nothing is asked of its provider until then; another provider goes on."""
    two = [limited("a", endpoint="https://x.example.com"), limited("b", endpoint="https://x.example.com")]
    other = limited("c", endpoint="https://y.example.com")

    def reply(trial: OpenTrial, now: float) -> Reply:
        return Reply(status=429, asked_s=30, delay_s=0.1) if trial.key == ("a", "q1", 1) and now < 1 else Reply()

    played = play(plan(*two, other), {"a": 5, "b": 5, "c": 40}, reply, at_once=3)
    shared = sorted(times(played, "a") + times(played, "b"))
    assert [when for when in shared if 1 < when < 31] == []
    assert len([when for when in times(played, "c") if 1 < when < 31]) >= 28
    assert len(played.ends) == 50
    assert all(end.outcome == "passed" for end in played.ends)
    told = {(item.who, item.reason) for waiting in played.waited for item in waiting}
    assert ("x.example.com", "429, Retry-After") in told


def test_longest_wait_that_is_believed_is_bounded() -> None:
    """A provider that asks for a day is asked again after ten minutes."""
    account = Account("x")
    account.refused(100.0, account.begin(100.0), 429, 86_400.0, 0.5)
    assert account.blocked_until == 100.0 + LONGEST_BLOCK_S


def test_refusals_of_one_wave_slow_down_once_and_answers_speed_up_again() -> None:
    """Twenty refusals of requests that were under way together halve once; then it grows back to its limit."""
    account = Account("x", 20)
    waves = [account.begin(0.0) for _ in range(20)]
    for wave in waves:
        account.refused(0.5, wave, 429, 1.0, 0.1)
    assert (account.at_once, account.under_way, account.wave) == (10, 0, 1)
    now = 10.0
    for _ in range(400):
        account.begin(now)
        account.accepted(now)
        now += 1
    assert account.at_once == 20


@pytest.mark.parametrize("status", [429, 503, 529])
def test_storm_that_says_when_to_come_back_loses_no_trial(status: int) -> None:
    """R01's kind: a server that takes five a second and refuses the rest; a hundred at once all end well."""
    taken: list[float] = []

    def reply(trial: OpenTrial, now: float) -> Reply:
        recent = [when for when in taken if now - when < 1]
        if len(recent) >= 5:
            return Reply(takes_s=0.01, status=status, asked_s=1, delay_s=0.5)
        taken.append(now)
        return Reply(takes_s=0.01)

    played = play(plan(limited("m")), {"m": 100}, reply, at_once=20, retries=3)
    assert all(end.outcome == "passed" for end in played.ends)
    assert len(played.ends) == 100
    assert len(played.attempts.begun) < 200
    assert played.time < 60


def test_storm_without_end_stops_the_run_and_a_single_one_does_not() -> None:
    """Trials that end in one storm count once; five storms without one answer between them end the run."""

    def refused_for_ever(trial: OpenTrial, now: float) -> Reply:
        return Reply(takes_s=0.01, status=429, asked_s=10, delay_s=0.1)

    played = play(plan(limited("m")), {"m": 1000}, refused_for_ever, at_once=50)
    assert played.stop.reason == "infrastructure"
    assert played.time >= 40
    assert len(played.attempts.begun) < 120
    assert set(played.attempts.abandoned).isdisjoint(end.trial for end in played.ends)

    def one_storm(trial: OpenTrial, now: float) -> Reply:
        return Reply(takes_s=0.01, status=429, asked_s=10, delay_s=0.1) if now < 1 else Reply(takes_s=0.01)

    played = play(plan(limited("m")), {"m": 200}, one_storm, at_once=50, retries=0)
    assert played.stop.reason is None
    assert sum(end.outcome == "error" for end in played.ends) == 50


# -------------------------------------------------------------------------------------------------------- properties

_PER_MINUTE = st.none() | st.sampled_from([1, 3, 60, 1000])
_REPLY = st.builds(
    Reply,
    takes_s=st.sampled_from([0.0, 0.01, 1.0, 30.0]),
    status=st.sampled_from([None, None, None, 429, 500, 503]),
    asked_s=st.sampled_from([None, 0.0, 0.5, 20.0]),
    delay_s=st.sampled_from([0.0, 0.5, 10.0]),
    tokens=st.sampled_from([None, 0, 5, 50]),
    cost=st.sampled_from([None, 0, 3, 10]),
)


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(_PER_MINUTE, _PER_MINUTE, st.sampled_from(["x", "y"]), st.integers(0, 6)), min_size=1, max_size=4
    ),
    st.tuples(_PER_MINUTE, _PER_MINUTE, st.none() | st.integers(1, 3)),
    st.integers(1, 5),
    st.lists(_REPLY, min_size=1, max_size=6),
    st.none() | st.integers(0, 60),
    st.none() | st.sampled_from([0.5, 40.0]),
)
def test_schedule_ends_at_any_setting_and_keeps_every_bound(
    models: list[tuple[int | None, int | None, str, int]],
    shared: tuple[int | None, int | None, int | None],
    at_once: int,
    replies: list[Reply],
    limit_nano: int | None,
    ends_at: float | None,
) -> None:
    """R06: whatever the limits, replies, budget and time: it ends, each trial once, and no bound is broken."""
    made = [
        limited(f"m{n}", provider=name, limits=Limits(requests_per_minute=requests, tokens_per_minute=tokens))
        for n, (requests, tokens, name, _) in enumerate(models)
    ]
    provider = Provider(name="x", requests_per_minute=shared[0], tokens_per_minute=shared[1], concurrency=shared[2])
    counts = {f"m{n}": number for n, (*_, number) in enumerate(models)}
    calls = 0

    def reply(trial: OpenTrial, now: float) -> Reply:
        nonlocal calls
        calls += 1
        return replies[calls % len(replies)]

    bounds = {item.name: FlatBounds(tokens=20, nano=10) for item in made}
    played = play(
        plan(*made, providers=(provider,)),
        counts,
        reply,
        at_once=at_once,
        bounds=bounds,
        limit_nano=limit_nano,
        ends_at=ends_at,
    )
    over = [end.trial for end in played.ends]
    assert len(over) == len(set(over))
    if played.stop.reason is None:
        assert len(over) == sum(counts.values())
    assert played.attempts.most <= at_once
    if ends_at is not None:
        assert all(when < ends_at for when, _, _ in played.attempts.begun)
    for n, (requests, _, _, _) in enumerate(models):
        if requests is not None:
            assert most_within(times(played, f"m{n}"), 60) <= requests + max(1, requests // 600)
    if limit_nano is not None:
        known = sum(end.cost.nano for end in played.ends if end.cost is not None)
        assert known <= limit_nano


@given(st.integers(1, 10_000), st.lists(st.tuples(st.floats(0, 100), st.floats(0, 20_000)), max_size=30))
def test_bucket_is_ready_when_it_says_so(per_minute: int, steps: list[tuple[float, float]]) -> None:
    """At the time it names, it is ready; a request larger than the limit only waits longer, and not for ever."""
    bucket, now = Bucket("m", per_minute, "tokens", 0.0), 0.0
    for passes, amount in steps:
        now += passes
        ready = bucket.ready_at(amount, now)
        assert now <= ready <= now + 61
        now = ready
        assert bucket.ready_at(amount, now) == now
        bucket.take(amount, now)


# ----------------------------------------------------------------------------------------------------- the real clock

LIMITED = """\
trialplate: 1
name: small
test_sets: [{file: cases/q.csv}]
models:
  m: {runner: stand-in, answers: {"*": "yes"}, pricing: free, limits: {requests_per_minute: 6000}}
repeats: 4
scorers: {correct: {type: contains}}
pass_mark: {rules: [{id: correct, at_least: 0.5, of: correct, basis: estimate}]}
"""
CASES = "id,input,reference,tags\nq1,say yes,yes,\nq2,say no,yes,\n"


def test_clock_that_is_set_back_keeps_nothing_waiting(
    project_of: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R05: the date jumps back an hour at each look; a limit waits by the monotonic clock, and the run ends."""
    real, jumps = time.time, [0.0]

    def set_back() -> float:
        jumps[0] += 3600
        return real() - jumps[0]

    monkeypatch.setattr(time, "time", set_back)
    project = project_of(LIMITED, CASES)
    finished = project.run(at_once=2)
    assert (finished.reason, finished.counts.passed) == ("complete", 8)
    assert all(0 <= end < 600_000 for end in _waits(project))


def _waits(project: Project) -> list[int]:
    """Return the wall times of the last run's attempts, in milliseconds."""
    import json

    lines = (project.runs[-1] / "record.jsonl").read_text(encoding="utf-8").splitlines()
    return [item["body"].get("wall_ms", 0) for item in map(json.loads, lines) if item["type"] == "trial.end"]


@pytest.mark.parametrize("status", [429, 503, 529])
def test_stray_refusal_among_many_answers_slows_nothing_down(status: int) -> None:
    """A server that fails one time in twenty is unsteady: slower requests would fail as often."""
    account = Account("example.com")
    now = 0.0
    for number in range(400):
        now += 0.01
        wave = account.begin(now)
        if number % 20 == 19:
            account.refused(now, wave, status, 0.0, 0.0)
        else:
            account.accepted(now)
    assert account.wave == 0
    assert account.at_once == math.inf
    assert account.hold(now + 0.001) is None


def test_refusals_that_are_no_strays_slow_it_down_once_for_each_wave() -> None:
    """One in three is more than bad luck: fewer at once, and spaced."""
    account = Account("example.com")
    waves = [account.begin(1.0) for _ in range(30)]
    for number, wave in enumerate(waves):
        if number % 3 == 2:
            account.refused(1.0, wave, 503, None, 0.0)
        else:
            account.accepted(1.0)
    assert account.wave == 1
    assert account.at_once < 30


async def test_further_requests_of_an_attempt_wait_for_the_minute_and_keep_their_place() -> None:
    """Three requests of one attempt take three of the minute's, and the tokens of each; the place is taken once."""
    slow = limited("m", limits=Limits(requests_per_minute=6_000_000, tokens_per_minute=6_000_000))
    meter = Pace(plan(slow), time.monotonic()).meter("m")
    assert meter is not None
    meter.begin(100, time.monotonic())
    further = FurtherTurns(meter, 100)
    before = meter.ready_again(0, 0.0)
    waited = [await further(), await further()]
    assert further.taken == 200
    assert meter.account.under_way == 1
    assert all(seconds >= 0 for seconds in waited)
    assert meter.ready_again(10**9, 0.0) >= before


def test_further_request_waits_while_the_provider_wants_to_be_left_alone() -> None:
    """And for a request, and for tokens, whichever takes longest."""
    slow = limited("m", limits=Limits(requests_per_minute=60, tokens_per_minute=600))
    meter = Pace(plan(slow), 0.0).meter("m")
    assert meter is not None
    meter.begin(10, 0.0)
    assert meter.ready_again(1, 0.0) == pytest.approx(1.0)
    meter.take(10, 1.0)
    assert meter.ready_again(1, 1.0) == pytest.approx(2.0, abs=0.1)
    meter.account.refused(1.0, 0, 429, 30.0, 1.0)
    assert meter.ready_again(1, 1.0) == pytest.approx(31.0)
