# SPDX-License-Identifier: Apache-2.0
"""Whose failure it is, for every kind of failure and every family of runners; what an answer comes to; how long to wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import asked, configuration, scorer

from trialplate.engine.attempt import judge_answer, judge_failure, part_reasoning, quantised, retry_delay_s
from trialplate.record.values import AnswerRule, Case, Retry
from trialplate.rules.cells import FAR_END_RUNNERS, HOSTED_RUNNERS, micro
from trialplate.runners.base import Answer, Failure, FailureKind
from trialplate.scorers.base import Score, ScorerError

HOSTED = ["openai-compatible", "anthropic", "stand-in"]
UNDER_TEST = sorted(FAR_END_RUNNERS)
ON_THIS_MACHINE = ("command", "python")
ERROR, FAILED, LIMIT = "error", "failed", "limit"

# kind: (hosted, the thing under test), each (outcome, cause, worth another attempt), once the request was sent
TABLE: dict[str, tuple[tuple[str, str, bool], tuple[str, str, bool]]] = {
    "refused_connection": ((ERROR, "refused_connection", True), (ERROR, "refused_connection", True)),
    "not_started": ((ERROR, "not_started", False), (ERROR, "not_started", False)),
    "replay_miss": ((ERROR, "replay_miss", False), (ERROR, "replay_miss", False)),
    "closed_connection": ((ERROR, "closed_connection", True), (FAILED, "closed_connection", True)),
    "transport": ((ERROR, "transport", True), (FAILED, "closed_connection", True)),
    "timeout": ((ERROR, "timeout", True), (FAILED, "timeout", True)),
    "bad_reply": ((ERROR, "bad_reply", False), (FAILED, "bad_reply", False)),
    "exit_status": ((ERROR, "exit_status", False), (FAILED, "exit_status", False)),
    "too_long": ((FAILED, "too_long", False), (FAILED, "too_long", False)),
    "max_turns": ((LIMIT, "max_turns", False), (LIMIT, "max_turns", False)),
}
STATUSES: dict[int, tuple[tuple[str, str, bool], tuple[str, str, bool]]] = {
    400: ((FAILED, "rejected_request", False), (FAILED, "http_status", False)),
    413: ((FAILED, "rejected_request", False), (FAILED, "http_status", False)),
    422: ((FAILED, "rejected_request", False), (FAILED, "http_status", False)),
    401: ((ERROR, "authentication", False), (FAILED, "http_status", False)),
    403: ((ERROR, "authentication", False), (FAILED, "http_status", False)),
    404: ((ERROR, "http_status", False), (FAILED, "http_status", False)),
    408: ((ERROR, "server_error", True), (FAILED, "http_status", True)),
    429: ((ERROR, "rate_limited", True), (FAILED, "http_status", True)),
    500: ((ERROR, "server_error", True), (FAILED, "http_status", True)),
    503: ((ERROR, "server_error", True), (FAILED, "http_status", True)),
    529: ((ERROR, "server_error", True), (FAILED, "http_status", True)),
}


def judged(kind: Any, runner: str, **fields: Any) -> Any:
    """Judge a failure of a runner."""
    failure = Failure(kind, "it failed", **{"sent": True, **fields})
    model_id = "m" if runner in HOSTED_RUNNERS else None
    asked = configuration(runner=runner, model_id=model_id)
    return judge_failure(failure, asked, [scorer("correct"), scorer("grounded")])


def test_failure_table_has_every_kind() -> None:
    """A new kind of failure must be given to somebody first."""
    assert {*TABLE, "http_status"} == set(get_args(FailureKind))


@pytest.mark.parametrize("kind", TABLE)
@pytest.mark.parametrize("runner", [*HOSTED, *UNDER_TEST])
def test_failure_once_sent_belongs_to_the_host_or_to_the_thing_under_test(kind: FailureKind, runner: str) -> None:
    """The table of DESIGN 6, line by line."""
    found = judged(kind, runner)
    outcome, cause, transient = TABLE[kind][runner in FAR_END_RUNNERS]
    alone = runner in ON_THIS_MACHINE and outcome == FAILED  # a program on this machine that failed did so by itself
    assert (found.outcome, found.cause, found.transient) == (outcome, cause, transient and not alone)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("runner", [*HOSTED, *UNDER_TEST])
def test_failure_http_status_is_sorted_by_number(status: int, runner: str) -> None:
    """A rejected request is the model's own, an outage the host's; from the thing under test any status is its own."""
    found = judged("http_status", runner, status=status)
    outcome, cause, transient = STATUSES[status][runner in FAR_END_RUNNERS]
    assert (found.outcome, found.cause, found.transient) == (
        outcome,
        cause,
        transient and runner not in ON_THIS_MACHINE,
    )


@pytest.mark.parametrize("kind", ["refused_connection", "not_started", "replay_miss", "timeout", "closed_connection"])
@pytest.mark.parametrize("runner", [*HOSTED, *UNDER_TEST])
def test_failure_before_anything_was_sent_is_never_the_far_ends(kind: FailureKind, runner: str) -> None:
    """What was not asked cannot have failed."""
    found = judged(kind, runner, sent=False)
    assert found.outcome == ERROR
    if runner in FAR_END_RUNNERS and kind in ("timeout", "closed_connection"):
        assert found.cause == "refused_connection"


@pytest.mark.parametrize("kind", get_args(FailureKind))
@pytest.mark.parametrize("runner", ["openai-compatible", "command"])
def test_failure_of_its_own_has_zero_metrics_and_an_outage_has_none(kind: FailureKind, runner: str) -> None:
    """A failure of the model's own scores 0 everywhere; an outage is unknown, and never 0."""
    found = judged(kind, runner, status=400)
    if found.outcome in (FAILED, LIMIT):
        assert (found.metrics, found.verdict) == ({"correct": 0, "grounded": 0}, "failed")
    else:
        assert (found.metrics, found.verdict) == (None, None)
    assert found.error == "it failed"
    assert found.ended_by == ("harness" if kind in ("timeout", "too_long") else "model")


# ------------------------------------------------------------------------------------------------------- answers


class _Fixed:
    """A scorer that says what it was told to."""

    def __init__(self, *results: Score | ScorerError) -> None:
        self.results = list(results)

    async def score(self, case: Case, answer: str, context: object = None) -> Score:
        result = self.results.pop(0)
        if isinstance(result, ScorerError):
            raise result
        return result


def score(value: Any, verdict: Any = None, metric: str = "correct") -> Score:
    """Return a score whose verdict follows from the value unless it is given."""
    return Score(metrics={metric: value}, verdict=verdict or ("passed" if value == 1 else "failed"), reason="because")


async def answered(answer: Answer, *results: Score | ScorerError, **fields: Any) -> Any:
    """Judge an answer under one scorer per result."""
    names = ["correct", "grounded"][: len(results)]
    pairs: Sequence[Any] = [(scorer(name), _Fixed(result)) for name, result in zip(names, results, strict=True)]
    return await judge_answer(answer, asked(), configuration(**fields), pairs)


async def test_answer_passes_if_every_scorer_passes_it() -> None:
    """All must pass; the reasons of each are kept."""
    found = await answered(Answer(text="yes"), score(1), score(1.0, metric="grounded"))
    assert (found.outcome, found.verdict, found.metrics) == ("passed", "passed", {"correct": 1, "grounded": 1})
    assert found.reasons == {"correct": "because", "grounded": "because"}
    found = await answered(Answer(text="yes"), score(1), score(0, metric="grounded"))
    assert (found.outcome, found.verdict) == ("failed", "failed")


async def test_answer_with_a_failed_scorer_is_unknown_unless_another_fails_it() -> None:
    """A failure decides; otherwise what could not be scored leaves the trial unknown, never passed."""
    broken = ScorerError("too slow")
    found = await answered(Answer(text="yes"), score(1), broken)
    assert (found.outcome, found.cause, found.verdict) == ("error", "scorer", None)
    assert (found.metrics, found.unknown) == ({"correct": 1}, {"grounded": "scorer"})
    assert "too slow" in found.error
    assert not found.transient
    found = await answered(Answer(text="yes"), score(0), ScorerError("too slow"))
    assert (found.outcome, found.verdict, found.unknown) == ("failed", "failed", {"grounded": "scorer"})


@pytest.mark.parametrize("value", [1.7, -0.2, "C", None, True, float("nan"), float("inf")])
async def test_answer_score_that_is_no_number_in_range_is_a_scorer_error(value: Any) -> None:
    """T13: shown and refused, never clamped."""
    found = await answered(Answer(text="yes"), score(value, "passed"))
    assert (found.outcome, found.cause) == ("error", "scorer")
    assert repr(value) in found.error


async def test_answer_score_without_its_metric_is_a_scorer_error() -> None:
    """A scorer that yields another metric than the plan says has not scored."""
    found = await answered(Answer(text="yes"), score(1, metric="other"))
    assert (found.outcome, found.unknown) == ("error", {"correct": "scorer"})


@pytest.mark.parametrize(
    ("fields", "outcome", "cause"),
    [
        ({"text": "cut off her", "finish": "length"}, "limit", "truncated"),
        ({"text": "", "finish": "length"}, "limit", "truncated"),
        ({"text": "I can't", "refusal": True}, "failed", "refusal"),
        ({"text": "x", "finish": "content_filter"}, "failed", "refusal"),
        ({"text": ""}, "failed", "empty"),
        ({"text": " \n\t"}, "failed", "empty"),
    ],
)
async def test_answer_that_is_none_fails_with_zero_and_is_not_scored(
    fields: dict[str, Any], outcome: str, cause: str
) -> None:
    """Cut off, refused or empty: the model's own failure, whatever a scorer would have said."""
    found = await answered(Answer(**fields), score(1))
    assert (found.outcome, found.cause, found.verdict, found.metrics) == (outcome, cause, "failed", {"correct": 0})


async def test_answer_of_another_model_is_unknown_and_says_what_to_do() -> None:
    """A fallback model's answer is neither a pass nor a fail, even if it was cut off or refused."""
    for fields in ({}, {"finish": "length"}, {"refusal": True}):
        found = await answered(Answer(text="yes", served="other", **fields), score(1), model_id="gpt-x")
        assert (found.outcome, found.cause, found.metrics, found.transient) == ("error", "wrong_model", None, False)
        assert "served" in found.error
    found = await answered(Answer(text="yes", served="gpt-x-2026-01-31"), score(1), model_id="gpt-x")
    assert found.outcome == "passed"


STRIP = {"answer": AnswerRule(reasoning="strip")}


@pytest.mark.parametrize(
    ("text", "transcript", "answer", "kept"),
    [
        ("<think>a</think>42", None, "42", {"stripped": "<think>a</think>"}),
        ("<think>a</think>42", {"reasoning": "b"}, "42", {"reasoning": "b", "stripped": "<think>a</think>"}),
        ("<think>a</think>42", ["t"], "42", {"transcript": ["t"], "stripped": "<think>a</think>"}),
        ("<think>\ud835</think>42", None, "42", {"stripped": {"ascii_json": '"<think>\\ud835</think>"'}}),
        (" 42 ", {"reasoning": "b"}, " 42 ", {"reasoning": "b"}),
    ],
)
def test_reasoning_is_recorded_apart_where_the_plan_says_so(text: str, transcript: Any, answer: str, kept: Any) -> None:
    """Case P02: the rest is the answer, the reasoning stands in the transcript; by default nothing is touched."""
    given_answer = Answer(text=text, transcript=transcript)
    parted = part_reasoning(given_answer, configuration(**STRIP))
    assert (parted.text, parted.transcript) == (answer, kept)
    assert part_reasoning(given_answer, configuration()) is given_answer
    assert part_reasoning(parted, configuration(**STRIP)).text == answer


async def test_answer_that_is_only_reasoning_is_empty_and_says_so() -> None:
    """Case P03: nothing stands after the last closing tag, and no scorer sees it."""
    parted = part_reasoning(Answer(text="42</think>"), configuration(**STRIP))
    found = await answered(parted, score(1))
    assert (found.outcome, found.cause, found.metrics, found.error) == (
        "failed",
        "empty",
        {"correct": 0},
        "only reasoning",
    )
    assert (await answered(Answer(text=" "), score(1))).error is None


@given(st.floats(0, 1))
def test_quantised_value_is_one_the_record_may_hold(value: float) -> None:
    """Six decimals, half to even by the decimal text, and within half a millionth."""
    made = quantised(value)
    assert micro(made) is not None
    assert abs(made - value) <= 0.5e-6 + 1e-12


@pytest.mark.parametrize(("value", "expected"), [(0.0000005, 0.0), (0.0000015, 0.000002), (2 / 3, 0.666667), (1, 1.0)])
def test_quantised_halves_go_to_the_even_neighbour(value: float, expected: float) -> None:
    """The rounding is stated, so it can be repeated."""
    assert quantised(value) == expected


# --------------------------------------------------------------------------------------------------------- waiting


def delay(attempt: int, spread: float, asked_s: float | None = None, **retry: int) -> float:
    """Return the wait after an attempt."""
    rules = Retry(**{"initial_delay_ms": 500, "max_delay_ms": 10_000, **retry})
    failure = Failure("http_status", "busy", status=429, retry_after_s=asked_s)
    return retry_delay_s(failure, configuration(retry=rules), attempt, spread)


def test_retry_delay_doubles_up_to_its_cap() -> None:
    """0.5, 1, 2, 4, 8, then 10 s for ever, also after a thousand attempts."""
    assert [delay(n, 0.9999999) for n in (1, 2, 3, 4, 5, 6, 1000)] == pytest.approx([0.5, 1, 2, 4, 8, 10, 10])


def test_retry_delay_spreads_over_the_upper_half() -> None:
    """Many that failed together do not come back together."""
    assert delay(3, 0.0) == pytest.approx(1.0)
    assert delay(3, 0.5) == pytest.approx(1.5)


def test_retry_delay_asked_for_is_a_floor_within_the_cap() -> None:
    """Retry-After is honoured, and an absurd one does not stop the run for an hour."""
    assert delay(1, 0.0, asked_s=3) == 3
    assert delay(1, 0.0, asked_s=3600) == 10
    assert delay(4, 0.9999999, asked_s=1) == pytest.approx(4)
    assert delay(1, 0.0, asked_s=0) == pytest.approx(0.25)
    assert delay(1, 0.5, initial_delay_ms=0) == 0


@given(
    st.integers(1, 10**6),
    st.floats(0, 1, exclude_max=True),
    st.none() | st.floats(0, 1e9),
    st.integers(0, 60_000),
    st.integers(0, 60_000),
)
def test_retry_delay_is_within_its_bounds(
    attempt: int, spread: float, asked_s: float | None, first: int, longest: int
) -> None:
    """Never negative, never longer than the cap, never shorter than what was asked within it."""
    found = delay(attempt, spread, asked_s, initial_delay_ms=first, max_delay_ms=longest)
    assert 0 <= found <= longest / 1000
    assert found >= min(asked_s or 0, longest / 1000)
