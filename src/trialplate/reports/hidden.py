# SPDX-License-Identifier: Apache-2.0
"""What an estimate can hide: how often a configuration that is truly worse than the mark passes it all the same.

A rule by an estimate compares the measured number as it is, and says nothing about chance. The number here is that of
`plan`, for the cases and repeats that were asked. Of repeats it is supposed that half of what their results differ by
lies between cases: nobody knows that of a configuration that is not there.

Source: reference of the statistics, rulings 4 and 7; docs/formats/report.md 2.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialplate.record.matrix import selects
from trialplate.record.values import PlanCase, Rule
from trialplate.rules.cells import MICRO
from trialplate.rules.quantities import is_pooled, kind_of, measured_cases, measured_in
from trialplate.stats.draws import Stream
from trialplate.stats.operating import Demand, Layout, Operating, Unit
from trialplate.verify.record_view import RecordView
from trialplate.verify.text import decimal_text, percent_text

__all__ = ["ICC", "Hidden", "hidden_behind"]

ICC = 0.5
"""How alike the repeats of one case are supposed to be."""
WORSE_BY = Fraction(1, 10)
"""How much worse than the mark the configuration is of which it is told."""
MOST_TRIALS = 2000
"""Beyond it nothing is said: an estimate over so many hides little, and the distribution takes long."""


@dataclass(frozen=True)
class Hidden:
    """How often a rule passes what is worse than it asks for."""

    rule: str
    truth: Fraction
    passes: float
    cases: int
    repeats: int
    icc: float | None
    """None where each case has one result, and nothing is supposed."""

    @property
    def sentence(self) -> str:
        """Return it in words."""
        supposed = ""
        if self.icc is not None:
            supposed = f", if half of what repeats differ by lies between cases (ICC {self.icc})"
        truly = percent_text(str(float(self.truth)))
        often = Fraction(f"{100 * self.passes:.9f}")
        told = f"{min(round(often), 99)} %" if often >= 1 else f"{decimal_text(often, Fraction(0), digits=1)} %"
        about = f"rule {self.rule} is an estimate: a configuration truly at {truly}"
        return f"{about} passes it {told} of the time{supposed}"


def hidden_behind(record: RecordView) -> Iterator[Hidden]:
    """Yield, for each rule that is an estimate of a mean over all its cases, what it hides of a run of this size."""
    for rule in record.plan.pass_mark.rules:
        found = _of_rule(record, rule)
        if found is not None:
            yield found


def _of_rule(record: RecordView, rule: Rule) -> Hidden | None:
    of = rule.of or ""
    threshold = rule.at_least or rule.at_most
    plain = rule.basis == "estimate" and threshold is not None and not rule.each and not rule.correct_for_judge
    if not plain or kind_of(of) != "mean" or of.startswith(("pass_", "error_rate", "share:")):
        return None
    bar, floor = Fraction(threshold or "0"), rule.at_least is not None
    truth = bar - WORSE_BY if floor else bar + WORSE_BY
    about = measured_cases(of, record.matrix)
    cases = [case for case in record.matrix.cases if case.id in about and selects(rule.where, case)]
    units = _units(record, of, cases)
    if (
        not 0 < truth < 1
        or not units
        or not _pass_or_fail(record, of)
        or sum(unit.cells for unit in units) > MOST_TRIALS
    ):
        return None
    layout = Layout(units, ICC)
    if len(layout.strata) > 1:  # it is worked out, and never drawn
        return None
    operating = Operating(layout, Demand(bar, floor, None), Stream(bytes(32), 1))
    repeats = units[0].cells
    passes = operating.chances(float(truth)).accept
    return Hidden(rule.id, truth, passes, len(units), repeats, ICC if repeats > 1 else None)


def _pass_or_fail(record: RecordView, of: str) -> bool:
    """Say whether a quantity was 0 or 1 in every cell: of scores in between this says nothing."""
    metric = measured_in(of)
    values = {None if metric is None else cell.value(metric) for cell in record.board.cells.values()}
    return values <= {None, 0, MICRO}


def _units(record: RecordView, of: str, cases: Sequence[PlanCase]) -> tuple[Unit, ...]:
    """Return what is drawn at random in the run of its first candidate: a case with its repeats."""
    candidates = [item.name for item in record.plan.configurations if item.role == "candidate"]
    name = next((item for item in candidates if item in record.matrix.counts), None)
    asked = {} if name is None else {case: len(repeats) for case, repeats in record.board.of(record.matrix, name)}
    found = []
    for case in cases:
        repeats = asked.get(case.id, 0)
        if repeats:
            cells = 1 if of == "case_pass_rate" else repeats
            found.append(Unit(cells, repeats if is_pooled(of) else 1))
    return tuple(found)
