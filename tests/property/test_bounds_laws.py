# SPDX-License-Identifier: Apache-2.0
"""Laws of the bounds that decide: what a better answer, another order, another role or one more case may do to them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trialplate.rules.bounds import (
    ROUNDING,
    Bound,
    agreement_lower,
    clopper_pearson,
    fewest_cases,
    guarded,
    guarded_between,
    guarded_diff,
    guarded_diff_between,
    guarded_ppi,
    guarded_ppi_between,
    max_failures,
    nearest_rank,
)
from trialplate.rules.shares import newcombe, wilson

LAST_BITS = 1e-12
alphas = st.sampled_from([0.1, 0.05, 0.025, 0.01, 0.05 / 3, 0.05 / 16])
shares = st.floats(0, 1)


@st.composite
def counts(draw: st.DrawFn, repeats: int = 10, most: int = 30) -> tuple[int, list[int]]:
    """Return a number of repeats, and of each case how many of them passed."""
    number = draw(st.integers(1, repeats))
    return number, draw(st.lists(st.integers(0, number), min_size=1, max_size=most))


@st.composite
def pairs(draw: st.DrawFn, most: int = 30) -> tuple[list[float], list[float]]:
    """Return case means of a candidate and of a reference on the same cases."""
    both = draw(st.lists(st.tuples(shares, shares), min_size=1, max_size=most))
    return [a for a, _ in both], [b for _, b in both]


def means_of(repeats: int, passes: list[int]) -> list[float]:
    """Return the mean of each case."""
    return [count / repeats for count in passes]


def ordered(bound: Bound, low: float = 0.0) -> None:
    """Hold a bound to low <= lower <= mean <= upper <= 1, with some width."""
    assert low <= bound.lower <= bound.mean + LAST_BITS
    assert bound.mean - LAST_BITS <= bound.upper <= 1
    assert bound.upper > bound.lower


@given(st.lists(st.booleans(), min_size=1, max_size=80), alphas)
def test_one_trial_a_case_is_clopper_pearson(passed: list[bool], alpha: float) -> None:
    """Pass or fail once: the guarded bound is the exact one, and worth exactly as many trials as there are cases."""
    found = guarded([float(item) for item in passed], alpha)
    assert (found.lower, found.upper) == pytest.approx(clopper_pearson(sum(passed), len(passed), alpha), abs=LAST_BITS)
    assert found.n_eff == pytest.approx(len(passed))


@given(counts(), alphas)
def test_guarded_bounds_enclose_the_mean(drawn: tuple[int, list[int]], alpha: float) -> None:
    """And are never without width, however alike the cases are."""
    ordered(guarded(means_of(*drawn), alpha))


@given(st.lists(st.tuples(shares, st.floats(0.1, 50)), min_size=1, max_size=20), alphas)
def test_weighted_bounds_enclose_the_mean(drawn: list[tuple[float, float]], alpha: float) -> None:
    """Clusters of any size, of which none shows more than so many perfect ones."""
    means, weights = [mean for mean, _ in drawn], [weight for _, weight in drawn]
    found = guarded(means, alpha, weights)
    ordered(found)
    perfect = guarded([1.0] * len(means), alpha, weights)
    assert found.lower <= perfect.lower <= alpha ** (1 / len(means)) + LAST_BITS


@given(counts(), alphas, st.floats(0.1, 50))
def test_equal_weights_are_no_weights(drawn: tuple[int, list[int]], alpha: float, weight: float) -> None:
    """Whatever the clusters' common size is."""
    means = means_of(*drawn)
    assert guarded(means, alpha, [weight] * len(means)) == pytest.approx(guarded(means, alpha), abs=1e-9, rel=1e-9)


@given(counts(repeats=2), alphas, st.data())
def test_one_more_passed_repeat_lowers_no_bound(
    drawn: tuple[int, list[int]], alpha: float, data: st.DataObject
) -> None:
    """With one repeat or two, whatever the cases."""
    before, after = _one_more(drawn, alpha, data)
    assert after.lower >= before.lower - LAST_BITS
    assert after.upper >= before.upper - LAST_BITS


@given(counts(), alphas, st.data())
def test_one_more_passed_repeat_lowers_bounds_by_a_hundredth_at_most(
    drawn: tuple[int, list[int]], alpha: float, data: st.DataObject
) -> None:
    """With more repeats a better answer may widen the spread, and cost more than it gains: never much."""
    before, after = _one_more(drawn, alpha, data)
    assert after.lower >= before.lower - 0.01
    assert after.upper >= before.upper - 0.01


def _one_more(drawn: tuple[int, list[int]], alpha: float, data: st.DataObject) -> tuple[Bound, Bound]:
    """Return the bounds before and after one more repeat of one case passed."""
    repeats, passes = drawn
    index = data.draw(st.sampled_from(range(len(passes))))
    assume(passes[index] < repeats)
    better = [count + (place == index) for place, count in enumerate(passes)]
    return guarded(means_of(repeats, passes), alpha), guarded(means_of(repeats, better), alpha)


def test_a_better_answer_can_lower_a_bound() -> None:
    """The reason for `guarded_between`: with eight repeats of two cases, at 95 %."""
    assert guarded([6 / 8, 7 / 8], 0.05).lower > guarded([6 / 8, 1], 0.05).lower + 0.0003


@given(counts(), alphas, st.booleans(), st.data())
def test_no_completion_leaves_what_was_said_between(
    drawn: tuple[int, list[int]], alpha: float, weighted: bool, data: st.DataObject
) -> None:
    """Bounds at the worst and the best hold for any answers in between, so that a run may end before they come."""
    repeats, passes = drawn
    best = [data.draw(st.integers(count, repeats)) for count in passes]
    filled = [data.draw(st.integers(low, high)) for low, high in zip(passes, best, strict=True)]
    weights = [data.draw(st.integers(1, 9)) for _ in passes] if weighted else None
    low, high = guarded_between(means_of(repeats, passes), means_of(repeats, best), alpha, weights)
    found = guarded(means_of(repeats, filled), alpha, weights)
    assert low.lower - LAST_BITS <= found.lower
    assert found.upper <= high.upper + LAST_BITS
    assert low.mean - LAST_BITS <= found.mean <= high.mean + LAST_BITS
    assert guarded_between(means_of(repeats, filled), means_of(repeats, filled), alpha, weights) == (found, found)


@given(st.integers(1, 10), st.data(), alphas)
def test_no_completion_of_a_difference_leaves_what_was_said_between(
    repeats: int, data: st.DataObject, alpha: float
) -> None:
    """Missing answers of either side."""
    cell = st.tuples(*[st.integers(0, repeats)] * 3).map(sorted)
    rows = data.draw(st.lists(st.tuples(cell, cell), min_size=1, max_size=20))
    mine, other = ([means_of(repeats, [row[side][at] for row in rows]) for at in range(3)] for side in (0, 1))
    low, high = guarded_diff_between((mine[0], mine[2]), (other[0], other[2]), alpha)
    found = guarded_diff(mine[1], other[1], alpha)
    assert low.lower - LAST_BITS <= found.lower
    assert found.upper <= high.upper + LAST_BITS


@given(counts(), st.lists(st.floats(-1, 1), min_size=1, max_size=20), alphas, st.data())
def test_no_completion_of_a_judged_mean_leaves_what_was_said_between(
    drawn: tuple[int, list[int]], differences: list[float], alpha: float, data: st.DataObject
) -> None:
    """Answers that the judge has not seen yet."""
    repeats, passes = drawn
    best = [data.draw(st.integers(count, repeats)) for count in passes]
    filled = [data.draw(st.integers(low, high)) for low, high in zip(passes, best, strict=True)]
    low, high = guarded_ppi_between(means_of(repeats, passes), means_of(repeats, best), differences, alpha)
    found = guarded_ppi(means_of(repeats, filled), differences, alpha)
    assert low.lower - LAST_BITS <= found.lower
    assert found.upper <= high.upper + LAST_BITS


@given(shares, st.floats(0.5, 300), st.floats(1, 5), alphas)
def test_more_trials_at_the_same_share_bring_exact_bounds_nearer(
    share: float, trials: float, times: float, alpha: float
) -> None:
    """On which `guarded_between` stands, and that more passes raise them."""
    few, many = (clopper_pearson(min(share * n, n), n, alpha) for n in (trials, trials * times))
    assert few[0] <= many[0] + LAST_BITS
    assert many[1] <= few[1] + LAST_BITS


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30), alphas, st.data())
def test_one_better_case_of_the_candidate_lowers_no_bound_of_the_difference(
    rows: list[tuple[bool, bool]], alpha: float, data: st.DataObject
) -> None:
    """With one trial a case; and one of the reference raises none."""
    index = data.draw(st.sampled_from(range(len(rows))))
    assume(not rows[index][0])
    mine, other = [float(a) for a, _ in rows], [float(b) for _, b in rows]
    better = [mean + (place == index) for place, mean in enumerate(mine)]
    before, after = guarded_diff(mine, other, alpha), guarded_diff(better, other, alpha)
    assert after.lower >= before.lower - LAST_BITS
    assert after.upper >= before.upper - LAST_BITS


@given(pairs(), alphas)
def test_swapped_roles_turn_the_difference_around(drawn: tuple[list[float], list[float]], alpha: float) -> None:
    """What one is better by, the other is worse by, with the bounds changing places."""
    candidate, reference = drawn
    there, back = guarded_diff(candidate, reference, alpha), guarded_diff(reference, candidate, alpha)
    ordered(there, low=-1.0)
    assert back == pytest.approx((-there.mean, there.n_eff, -there.upper, -there.lower), abs=1e-9, rel=1e-9)


@given(st.lists(shares, min_size=1, max_size=30), alphas, st.randoms())
def test_order_of_cases_does_not_matter(means: list[float], alpha: float, rng: object) -> None:
    """To the last bit: two programs that read a record in other orders decide alike."""
    shuffled = list(means)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert guarded(shuffled, alpha) == guarded(means, alpha)
    halves = [0.5] * len(means)
    assert guarded_diff(shuffled, halves, alpha) == guarded_diff(means, halves, alpha)


@given(st.lists(shares, min_size=1, max_size=30), st.lists(st.floats(-1, 1), min_size=1, max_size=20), alphas)
def test_bounds_put_right_lie_within_the_scale(judged: list[float], differences: list[float], alpha: float) -> None:
    """And always have width; the mean is what the numbers say, even outside the scale."""
    found = guarded_ppi(judged, differences, alpha)
    assert 0 <= found.lower < found.upper <= 1 or found.lower in (0.0, 1.0) or found.upper in (0.0, 1.0)
    expected = sum(judged) / len(judged) + sum(differences) / len(differences)
    assert found.mean == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 300), st.integers(1, 999), alphas)
def test_perfect_run_passes_from_the_fewest_cases_on(n: int, thousandths: int, alpha: float) -> None:
    """ceil(ln alpha / ln t), except where the bound would be the threshold itself; and the real bound agrees."""
    threshold = thousandths / 1000
    needed = fewest_cases(threshold, alpha)
    assert needed - ceil(log(alpha) / log(threshold)) in (0, 1)
    assert (guarded([1.0] * n, alpha).lower - threshold > ROUNDING) is (n >= needed)
    assert (max_failures(n, threshold, alpha) is not None) is (n >= needed)


@given(st.integers(1, 250), shares, alphas)
def test_one_failure_more_than_allowed_misses_the_threshold(n: int, threshold: float, alpha: float) -> None:
    """By the bound that decides, not by the one that the search uses."""
    allowed = max_failures(n, threshold, alpha)

    def reaches(failures: int) -> bool:
        return guarded([0.0] * failures + [1.0] * (n - failures), alpha).lower - threshold > ROUNDING

    if allowed is None:
        assert not reaches(0)
    else:
        assert reaches(allowed)
        assert not reaches(allowed + 1)


@given(st.integers(1, 400), st.data(), alphas)
def test_bounds_of_shares_enclose_them(trials: int, data: st.DataObject, alpha: float) -> None:
    """Wilson's and the exact ones, whole counts or not; more passes show more."""
    passes = data.draw(st.floats(0, trials) | st.integers(0, trials).map(float))
    for low, high in (clopper_pearson(passes, trials, alpha), wilson(passes / trials, trials, alpha)):
        assert 0 <= low <= passes / trials + LAST_BITS
        assert passes / trials - LAST_BITS <= high <= 1
    more = min(passes + 1, trials)
    assert clopper_pearson(more, trials, alpha) >= clopper_pearson(passes, trials, alpha)
    whole = int(passes)
    assert agreement_lower(whole, trials, alpha) == clopper_pearson(whole, trials, alpha)[0]


@given(st.integers(1, 99), st.integers(1, 99), st.data(), alphas)
def test_newcombes_bounds_turn_around_with_the_roles(n1: int, n2: int, data: st.DataObject, alpha: float) -> None:
    """And enclose the difference."""
    p1, p2 = data.draw(st.integers(0, n1)) / n1, data.draw(st.integers(0, n2)) / n2
    low, high = newcombe(p1, n1, p2, n2, alpha)
    assert -1 - LAST_BITS <= low <= p1 - p2 <= high <= 1 + LAST_BITS
    assert newcombe(p2, n2, p1, n1, alpha) == pytest.approx((-high, -low), abs=LAST_BITS)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40), st.fractions(Fraction(1, 1000), 1))
def test_nearest_rank_is_the_smallest_value_with_enough_below(values: list[int], q: Fraction) -> None:
    """By counting."""
    found = nearest_rank(values, q)
    assert sum(item <= found for item in values) >= q * len(values)
    assert sum(item < found for item in values) < q * len(values)
