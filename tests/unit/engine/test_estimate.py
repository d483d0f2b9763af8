# SPDX-License-Identifier: Apache-2.0
"""The estimate before a run: never below what the same tokens would cost, and unknown where a price is."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from small_runs import DIGEST, NAME, asked, configuration, matrix_of, plan_of

from trialplate.engine.estimate import bounds_of, estimate, trials_within
from trialplate.record.entries import Money, Narrowing, Usage
from trialplate.record.matrix import narrow
from trialplate.record.values import Case, CaseFile, PlanText, Pricing
from trialplate.rules.cost import cost_of
from trialplate.spec.bounds import UNSTATED_OUTPUT

SYSTEM, DOCUMENT, ANSWERS = "s" * 43, "d" * 43, "a" * 43
CASES = {f"q{n}": asked(f"q{n}", input="x" * 300) for n in (1, 2, 3)}


def estimated(opened: dict[str, Any] | None = None, repeats: int = 2, **fields: Any) -> Any:
    """Estimate one configuration over three cases."""
    plan = plan_of(3, configurations=[configuration(**fields)], repeats=repeats)
    matrix = matrix_of(plan)
    (found,) = estimate(matrix, bounds_of(plan, matrix, opened or {}, CASES))
    return found


def test_estimate_counts_every_trial_and_everything_that_is_sent() -> None:
    """System text and documents go with each trial; the script of a stand-in is sent nowhere."""
    texts = (
        PlanText(role="system", commitment=SYSTEM),
        PlanText(role="document", name="a.md", commitment=DOCUMENT),
        PlanText(role="answers", commitment=ANSWERS),
    )
    opened = {SYSTEM: "é" * 300, DOCUMENT: "y" * 900, ANSWERS: "z" * 10**6}
    plain, full = estimated(), estimated(opened, texts=texts)
    assert (plain.trials, full.trials) == (6, 6)
    assert plain.input_tokens >= 6 * 100
    assert 6 * 500 <= full.input_tokens - plain.input_tokens < 6 * 600
    assert estimated(repeats=4).input_tokens == 2 * plain.input_tokens


def test_estimate_counts_the_body_of_a_request() -> None:
    """What stands around the question is sent with it."""
    texts = (PlanText(role="body", commitment=SYSTEM),)
    found = estimated({SYSTEM: {"question": "{{input}}", "rules": "y" * 900}}, texts=texts)
    assert found.input_tokens - estimated().input_tokens >= 6 * 300


def test_estimate_output_is_the_configurations_own_limit_or_a_stated_guess() -> None:
    """Without a limit it says 4,096 a trial, and not nothing."""
    assert estimated().output_tokens == 6 * UNSTATED_OUTPUT
    assert estimated(settings={"max_tokens": 100}).output_tokens == 600
    assert estimated(settings={"max_completion_tokens": 50}).output_tokens == 300


def test_estimate_unknown_price_is_none_and_free_is_zero() -> None:
    """An unknown price is never zero."""
    assert estimated().cost is None
    assert estimated(pricing=Pricing(input="1")).cost is None
    assert estimated(pricing=Pricing(free=True)).cost == Money(nano=0, currency="USD")


def test_estimate_of_a_pilot_is_of_its_own_trials() -> None:
    """A narrowed matrix costs less, and configurations outside of it are not listed."""
    plan = plan_of(3, configurations=[configuration("m"), configuration("n")], repeats=2)
    matrix = narrow(plan, Narrowing(limit=1, repeats=1, models=("n",)))
    found = estimate(matrix, bounds_of(plan, matrix, {}, CASES))
    assert [(item.configuration, item.trials) for item in found] == [("n", 1)]


_price = st.sampled_from(["0", "0.5", "1", "3.75", "15"])


@given(
    st.builds(
        Pricing,
        input=_price,
        output=_price,
        cache_read=st.none() | _price,
        cache_write=st.none() | _price,
        reasoning=st.none() | _price,
    ),
    st.integers(1, 500),
    st.data(),
)
def test_estimate_is_not_below_any_usage_within_its_tokens(pricing: Pricing, limit: int, data: Any) -> None:
    """Whatever part of the input is billed as read from or written to a cache, the estimate is the upper one."""
    found = estimated(pricing=pricing, settings={"max_tokens": limit})
    total = data.draw(st.integers(0, found.input_tokens))
    read = data.draw(st.integers(0, total))
    written = data.draw(st.integers(0, total - read))
    output = data.draw(st.integers(0, found.output_tokens))
    thought = data.draw(st.none() | st.integers(0, output))
    usage = Usage(input=total, output=output, cache_read=read, cache_write=written, reasoning=thought)
    cost = cost_of(pricing, usage)
    assert cost is not None
    assert found.cost is not None
    assert cost.nano <= found.cost.nano


def test_trials_within_counts_in_the_order_of_the_matrix_and_all_that_cost_nothing() -> None:
    """How many fit is told from the start of the run on; what is free does not use anything up."""
    dear = configuration("dear", pricing=Pricing(input="0", output="1"), settings={"max_tokens": 1000})
    free = configuration("free", pricing=Pricing(free=True))
    plan = plan_of(3, configurations=[dear, free], repeats=2)
    matrix = matrix_of(plan)
    bounds = bounds_of(plan, matrix, {}, CASES)
    assert [trials_within(matrix, bounds, nano) for nano in (0, 999_999, 1_000_000, 2_500_000)] == [6, 6, 7, 8]
    assert trials_within(matrix, bounds, 6_000_000) == matrix.size == 12


def test_files_that_are_sent_are_part_of_the_bound() -> None:
    """An image as the largest that is not scaled down, another file by its bytes; what a tool reads is not sent."""
    made = plan_of(1, configurations=[configuration(runner="openai", model_id="m")])
    files = [CaseFile(name=kind, type=kind, digest=DIGEST) for kind in ("image/png", "application/pdf", "text/csv")]
    files[2] = files[2].replace(access=("local",))

    def tokens(*given: CaseFile, size: int = 300_000) -> int:
        cases = {"q1": Case(id="q1", input="What?", files=given)}
        return bounds_of(made, narrow(made, None), {}, cases, {DIGEST: size})[NAME].of("q1").input_tokens

    nothing = tokens()
    assert [tokens(file) - nothing for file in files] == [16_384, 100_000, 0]
    assert tokens(files[1], size=3) - nothing == 16_384
    assert tokens(*files) - nothing == 116_384
