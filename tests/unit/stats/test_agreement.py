# SPDX-License-Identifier: Apache-2.0
"""Agreement where it is undefined; its numbers stand in the shared vectors and against statsmodels and scikit-learn."""

from __future__ import annotations

import pytest

from trialplate.stats import agreement


def test_undefined_is_none() -> None:
    """All verdicts alike, no answer, one rater: never 0 and never 1."""
    alike = [[20, 0], [0, 0]]
    assert agreement.agreement(alike) == 1.0
    assert agreement.cohens_kappa(alike) is None
    assert agreement.krippendorff_alpha_of_table(alike) is None
    assert agreement.gwet_ac1(alike) == 1.0
    for empty in ([], [[0, 0], [0, 0]]):
        assert agreement.agreement(empty) is agreement.cohens_kappa(empty) is agreement.gwet_ac1(empty) is None
        assert agreement.krippendorff_alpha_of_table(empty) is None
    assert agreement.gwet_ac1([[5]]) is None
    assert agreement.krippendorff_alpha([]) is None
    assert agreement.krippendorff_alpha([["a", None], [None, "b"]]) is None
    assert agreement.fleiss_kappa([]) is agreement.fleiss_kappa([[1, 0]]) is agreement.fleiss_kappa([[3, 0]]) is None
    assert agreement.detection([[0, 0], [1, 2]]) == (None, 2 / 3)
    assert agreement.detection([[3, 1], [0, 0]]) == (0.75, None)


def test_a_rare_verdict_misleads_kappa_and_not_ac1() -> None:
    """Gwet's paradox: 118 of 125 agree, and kappa is below 0."""
    table = [[118, 5], [2, 0]]
    assert agreement.agreement(table) == 0.944
    assert (agreement.cohens_kappa(table) or 0) < 0 < 0.94 < (agreement.gwet_ac1(table) or 0)


def test_a_judge_that_tells_nothing_puts_nothing_right() -> None:
    """Sensitivity and specificity of together 1."""
    assert agreement.rogan_gladen(0.5, 0.75, 0.25) is None
    assert agreement.lang_reiczigel((5, 10), (4, 8), (4, 8), 0.95) is None


def test_alpha_takes_words_where_the_level_is_nominal() -> None:
    """Four raters of Krippendorff's example give the published 0.743."""
    ratings = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    words = [[None if value is None else "abcde"[value - 1] for value in row] for row in ratings]
    assert round(agreement.krippendorff_alpha(words) or 0, 3) == 0.743


def test_what_cannot_be_is_refused() -> None:
    """Tables that are not square, counts below 0, rows of other lengths."""
    for refused in (
        lambda: agreement.agreement([[1, 2]]),
        lambda: agreement.cohens_kappa([[1, -1], [0, 1]]),
        lambda: agreement.detection([[1]]),
        lambda: agreement.krippendorff_alpha([[1], [1, 2]]),
        lambda: agreement.fleiss_kappa([[1, 2], [1, 1]]),
        lambda: agreement.lang_reiczigel((1, 2), (0, 0), (1, 2), 0.95),
        lambda: agreement.lang_reiczigel((1, 2), (1, 2), (1, 2), 1.0),
    ):
        with pytest.raises(ValueError):
            refused()
