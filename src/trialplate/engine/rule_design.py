# SPDX-License-Identifier: Apache-2.0
"""From a rule and the matrix to what is drawn at random and what is asked of it: the form in which chances are told.

A rule that is no mean of cases, or that compares two configurations, has no such form; then a few words say why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from trialplate.record.values import PlanCase, Rule
from trialplate.rules.quantities import draws_of, is_pooled, kind_of
from trialplate.rules.ruling import Ruling
from trialplate.stats.operating import Demand, Layout, Unit

__all__ = ["Asked", "around", "asked_of", "demand_of", "flipped", "has_curve", "no_case_may_fail", "layout_of"]
__all__ += ["ten_points_off"]

WITHOUT_CURVE = {
    "percentile": "a percentile has no rate",
    "cost": "it depends on prices and on how much is used",
    "tokens": "it depends on how much is used",
    "macro_f1": "macro-F1 is no mean of cases",
    "agreement": "it depends on the judge's checks, and not on this run",
}


class Asked(NamedTuple):
    """The cases of a rule that a configuration is asked."""

    cases: tuple[PlanCase, ...]
    repeats: tuple[int, ...]
    """Of each case."""
    left_out: int
    """Cases that the rule is about and the matrix leaves out."""

    @property
    def trials(self) -> int:
        """Return how many trials these are."""
        return sum(self.repeats)


def asked_of(wanted: Sequence[PlanCase], ruling: Ruling, name: str) -> Asked:
    """Return which of the wanted cases a configuration is asked, and how often."""
    matrix = ruling.matrix
    planned = dict(zip((case.id for case in matrix.cases), matrix.counts[name], strict=True))
    cases = tuple(case for case in wanted if planned[case.id])
    return Asked(cases, tuple(planned[case.id] for case in cases), len(wanted) - len(cases))


def has_curve(rule: Rule, asked: Asked, over: str) -> str | None:
    """Return why a rule has no operating curve, None if it has one."""
    if rule.no_regressions is not None:
        return "it compares case by case with what the baseline did"
    if rule.must_pass is not None:
        return None
    kind = kind_of(rule.of)
    if kind != "mean":
        return WITHOUT_CURVE[kind]
    if rule.correct_for_judge is not None:
        return "its bounds depend on the judge's checks"
    k = draws_of(rule.of)
    if k is not None and any(repeats < k for repeats in asked.repeats):
        return f"some cases have fewer than {k} repeats, so that it cannot be told"
    if k is not None and k > 1 and any(repeats != k for repeats in asked.repeats):
        return f"it is over {k} of more repeats"
    if over == "this_set" and rule.basis == "bound" and _folded(rule) and max(asked.repeats, default=1) > 1:
        return "verdicts over repeats are no trials of their own"
    return None


def _folded(rule: Rule) -> bool:
    """Say whether all repeats of a case make one verdict together."""
    return rule.must_pass is not None or rule.of == "case_pass_rate" or (draws_of(rule.of) or 0) > 1


def layout_of(rule: Rule, asked: Asked, ruling: Ruling, icc: float) -> Layout:
    """Return what is drawn at random.

    Cases that share a unit are taken to resemble each other as much as repeats of one case do.

    Args:
        rule: one with a curve.
        asked: at least one case.
    """
    if ruling.mark.over == "this_set" and rule.must_pass is None and not _folded(rule):
        alike = len(asked.cases) * min(asked.repeats)  # a case with few repeats scatters a mean of cases the most
        return Layout((Unit(1, 1),) * (asked.trials if is_pooled(rule.of or "") else alike), icc)
    folded, pooled = _folded(rule), is_pooled(rule.of or "")
    units: Mapping[str, str] = {} if rule.must_pass is not None else ruling.units
    found: dict[str, Unit] = {}
    for case, repeats in zip(asked.cases, asked.repeats, strict=True):
        name = units.get(case.id, f"case {case.id}")
        cells, weight = found.get(name, Unit(0, 0))
        found[name] = Unit(cells + (1 if folded else repeats), weight + (repeats if pooled else 1))
    return Layout(tuple(found.values()), icc)


def demand_of(rule: Rule, alpha: Fraction | None) -> Demand:
    """Return what is asked of the mean.

    Args:
        alpha: the error of its bounds; None of an estimate.
    """
    if rule.must_pass is not None:
        return Demand(Fraction(1), floor=True, alpha=None)
    text = rule.at_least if rule.at_least is not None else rule.at_most
    bound = alpha if rule.basis == "bound" else None
    return Demand(Fraction(text or "0"), rule.at_least is not None, None if bound is None else float(bound))


def flipped(demand: Demand, value: Fraction) -> Fraction:
    """Return a value as a floor sees it; and back."""
    return value if demand.floor else 1 - value


def no_case_may_fail(demand: Demand, repeats: tuple[int, int], units: int) -> bool:
    """Say whether an estimate over single trials asks for all of them, though its threshold is less."""
    bar = flipped(demand, demand.threshold)
    return demand.alpha is None and repeats == (1, 1) and bar < 1 and units * (1 - bar) < 1


def ten_points_off(demand: Demand) -> Fraction:
    """Return a true value that should not pass: ten points from the threshold, or half of what is left."""
    bar = flipped(demand, demand.threshold)
    return flipped(demand, bar - Fraction(1, 10) if bar > Fraction(1, 10) else bar / 2)


def around(demand: Demand) -> Iterator[Fraction]:
    """Yield true values around a threshold: some that should not pass, and closer and closer to perfect."""
    bar = flipped(demand, demand.threshold)
    for off in (Fraction(1, 10), Fraction(1, 20)):
        if bar > off:
            yield flipped(demand, bar - off)
    for part in (Fraction(1), Fraction(7, 10), Fraction(1, 2), Fraction(3, 10), Fraction(1, 5), Fraction(1, 10)):
        yield flipped(demand, 1 - (1 - bar) * part)
