# SPDX-License-Identifier: Apache-2.0
"""A rule that is decided case by case: the first boundary counts, and what is unknown decides nothing by itself."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.record.values import Stop
from trialplate.rules.walk import ends, walk

Verdict = tuple[bool | None, bool | None]
P, F, U = (True, True), (False, False), (False, True)
STOP = Stop(mode="counts", rule="correct", accept=(-1, -1, 0, 0, 1, 2), reject=(2, 2, 2, 3, 3, 3))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([P, P, P], ("pass", 3)),
        ([P, P], ("inconclusive", 2)),
        ([F, F], ("fail", 2)),
        ([F, F, P, P, P, P], ("fail", 2)),
        ([P, P, P, F, F, F], ("pass", 3)),
        ([F, P, P, P, P], ("pass", 5)),
        ([F, P, P, F, P, P], ("pass", 6)),
        ([F, P, P, F, F, P], ("fail", 5)),
        ([U, P, P, P, P], ("pass", 5)),
        ([U, P, P, F, F, P], ("inconclusive", 6)),
        ([U, F, F, F, P, P], ("fail", 3)),
        ([(None, None), P, P, P, P], ("pass", 5)),
        ([], ("inconclusive", 0)),
    ],
)
def test_walk_takes_the_first_boundary(verdicts: list[Verdict], expected: tuple[str, int]) -> None:
    """Later cases change nothing; unknown ones count as both, and decide only where both agree."""
    assert walk(STOP, verdicts) == expected


def test_walk_beyond_its_boundaries_decides_nothing() -> None:
    """A table that is shorter than the test set leaves the rest without a boundary."""
    assert walk(Stop(mode="counts", rule="r", accept=(-1,), reject=(2,)), [F, F, F]) == ("inconclusive", 3)


@given(st.data())
def test_walk_says_what_every_completion_says(data: st.DataObject) -> None:
    """Whatever the unknown cases turn out to be, the walk over them comes to what was said before."""
    size = data.draw(st.integers(1, 7))
    bounds = [sorted(data.draw(st.lists(st.integers(-1, 6), min_size=2, max_size=2, unique=True))) for _ in range(size)]
    stop = Stop(
        mode="counts", rule="r", accept=tuple(low for low, _ in bounds), reject=tuple(high for _, high in bounds)
    )
    verdicts = data.draw(st.lists(st.sampled_from([P, F, U]), min_size=size, max_size=size))
    said, used = walk(stop, verdicts)
    open_cases = [place for place, item in enumerate(verdicts) if item == U]
    found = set()
    for answers in product([P, F], repeat=len(open_cases)):
        whole = list(verdicts)
        for place, answer in zip(open_cases, answers, strict=True):
            whole[place] = answer
        result, after = walk(stop, whole)
        found.add(result)
        assert after <= used
    worst, best = ends(stop, verdicts)
    assert {worst, best} <= found
    if said != "inconclusive":
        assert found == {said}
    elif worst == best:
        assert found == {"inconclusive"}
