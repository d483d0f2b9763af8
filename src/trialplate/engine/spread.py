# SPDX-License-Identifier: Apache-2.0
"""How much the repeats of a case resemble each other: assumed, or measured in a run that was made before.

A pilot is enough: nothing is decided here. What it cannot tell (no repeats, a quantity that it did not measure) stays
as it is assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

from trialplate.rules.quantities import RATES, Row, cases_of, draws_of, kind_of, mean_of, measured_cases
from trialplate.stats.components import anova_components
from trialplate.verify.record_view import RecordView

__all__ = ["ASSUMED", "Spread", "measured"]

ASSUMED = 0.5
"""The intraclass correlation of repeats where nothing is known of it."""
FEWEST_CASES = 2
"""Cases with repeats from which a resemblance can be told."""


@dataclass(frozen=True)
class Spread:
    """What a design's chances are worked out with."""

    icc: float = ASSUMED
    """Of every quantity that is not measured, in [0, 1]."""
    run_id: str | None = None
    """The run that the rest was measured in."""
    measured: Mapping[str, float] = field(default_factory=dict)
    """By quantity: the intraclass correlation, over all configurations of the run."""
    rates: Mapping[tuple[str, str], Fraction] = field(default_factory=dict)
    """By quantity and configuration: the mean of the cells that are known."""
    differing: Mapping[str, float] = field(default_factory=dict)
    """By quantity: the mean square of the difference of two configurations over a case, over all pairs of them."""

    def of(self, quantity: str) -> float:
        """Return the intraclass correlation to reckon with."""
        return self.measured.get(quantity, self.icc)


def measured(record: RecordView, icc: float = ASSUMED) -> Spread:
    """Return what a verified record shows of each quantity that its mark or its scorers name.

    Args:
        icc: what is assumed of the quantities that it cannot tell.
    """
    names = {metric for scorer in record.plan.scorers for metric in scorer.metrics} | set(RATES)
    mark = record.plan.pass_mark
    names |= {rule.of for rule in (*mark.rules, *mark.alternatives) if rule.of and kind_of(rule.of) == "mean"}
    correlations: dict[str, float] = {}
    rates: dict[tuple[str, str], Fraction] = {}
    differing: dict[str, float] = {}
    for of in sorted(names):
        about = measured_cases(of, record.matrix)
        rows = {
            name: [item for item in record.board.of(record.matrix, name) if item[0] in about]
            for name in record.matrix.counts
        }
        known = [found for row in rows.values() if (found := _resemblance(of, row, record)) is not None]
        if known:
            correlations[of] = min(max(sum(known) / len(known), 0.0), 1.0)
        for name, row in rows.items():
            mean, _ = mean_of(cases_of(of, row, record.plan.verdict.case, "exclude"))
            if mean is not None:
                rates[of, name] = mean
        squares = _squares(of, rows, record)
        if squares:
            differing[of] = sum(squares) / len(squares)
    return Spread(icc, record.run_id, correlations, rates, differing)


def _resemblance(of: str, row: Row, record: RecordView) -> float | None:
    """Return the intraclass correlation of a configuration's repeats; None where they cannot tell."""
    if of == "case_pass_rate" or draws_of(of):
        return None
    fold = record.plan.verdict.case
    values = []
    for case, repeats in row:
        alone = [cases_of(of, [(case, [cell])], fold, "exclude") for cell in repeats]
        known = [item[0].low / item[0].of for item in alone if item]
        if known:
            values.append(known)
    if sum(len(item) > 1 for item in values) < FEWEST_CASES:
        return None
    return anova_components(values).icc


def _squares(of: str, rows: Mapping[str, Row], record: RecordView) -> list[float]:
    """Return for each pair of configurations the mean square of their difference over the cases of both."""
    fold = record.plan.verdict.case
    means = {
        name: {item.case: item.low / item.of for item in cases_of(of, row, fold, "exclude")}
        for name, row in rows.items()
    }
    found = []
    for one, other in combinations(means.values(), 2):
        both = [(one[case] - other[case]) ** 2 for case in one if case in other]
        if both:
            found.append(sum(both) / len(both))
    return found
