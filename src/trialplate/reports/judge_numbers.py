# SPDX-License-Identifier: Apache-2.0
"""How far one person and a judge agree on a sheet, in numbers. Nothing here decides: that is for `rules.judges`.

The share of equal verdicts comes first, with what it shows at the mark's confidence; kappa, weighted kappa and AC1
stand beside it, since each of them misleads alone. Of a sheet that was drawn by the judge's verdict only the share
weighted by how often the judge gives each verdict says anything of its answers, so all else is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from trialplate.record.entries import TrialEnd
from trialplate.record.frozen import Json
from trialplate.reports.judge_sheet import SheetRow
from trialplate.reports.trials import answer_text, last_ends, opened, reasons_of
from trialplate.rules.bounds import agreement_lower
from trialplate.rules.judging import Graded, counted, population
from trialplate.stats.agreement import cohens_kappa, gwet_ac1
from trialplate.stats.intervals import wilson
from trialplate.verify.judges import Sheet
from trialplate.verify.record_view import RecordView

__all__ = ["Disagreement", "Numbers", "SelfAgreement", "numbers_of", "self_agreement"]

TWO_SIDED = 0.95
"""Of the interval that is shown; the bound that decides is one-sided, at the mark's confidence."""

Share = tuple[int, int]
"""So many of so many."""


@dataclass(frozen=True)
class Disagreement:
    """An answer on which a person and the judge are not of one mind."""

    row: int
    row_id: str
    configuration: str
    case: str
    repeat: int
    person: str
    judge: str
    reason: str | None
    """What the judge said; None where it is not here."""


@dataclass(frozen=True)
class Numbers:
    """One person's grades of one sheet, held against the judge's."""

    grader: str
    rows: int
    graded: int
    equal: int
    lower: float
    """What the agreement is at least, at the mark's confidence; 0 of no answer."""
    agreement: float | None
    """The share of equal verdicts; of a stratified sheet weighted; None where a verdict of the judge has no grade."""
    stratified: bool
    verdicts: tuple[str, ...]
    """The verdicts in words, the best first: rows and columns of the table."""
    table: tuple[tuple[int, ...], ...]
    """Rows: the person; columns: the judge."""
    interval: tuple[float, float] | None = None
    kappa: float | None = None
    weighted_kappa: float | None = None
    ac1: float | None = None
    sensitivity: Share | None = None
    specificity: Share | None = None
    by_configuration: Mapping[str, Share] = field(default_factory=dict)
    by_verdict: Mapping[str, Share] = field(default_factory=dict)
    """By the person's verdict."""
    kinder: int = 0
    """Answers to which the judge gave a better verdict than the person."""
    harsher: int = 0
    disagreements: tuple[Disagreement, ...] = ()


def numbers_of(
    record: RecordView, sheet: Sheet, rows: Sequence[SheetRow], grader: str, words: Sequence[str], alpha: float
) -> Numbers:
    """Return one person's grades in numbers.

    Args:
        rows: of the sheet, in the order in which they were drawn.
        words: a verdict for each row; "" for one that was not graded.
        alpha: the error of the lower bound.
    """
    graded = Graded(scale=sheet.scale, judged=sheet.judged, checks=(words,))
    people = graded.people(words)
    order = sorted(sheet.scale.spelled, reverse=True)
    table = [[0] * len(order) for _ in order]
    for person, judge in zip(people, sheet.judged, strict=True):
        if person is not None:
            table[order.index(person)][order.index(judge)] += 1
    equal, unequal = counted(graded, words)
    found = Numbers(
        grader=grader,
        rows=len(rows),
        graded=equal + unequal,
        equal=equal,
        lower=agreement_lower(equal, equal + unequal, alpha),
        agreement=equal / (equal + unequal),
        stratified=sheet.entry.body.stratify,
        verdicts=tuple(sheet.scale.spelled[value] for value in order),
        table=tuple(map(tuple, table)),
        disagreements=_disagreements(record, sheet, rows, people),
    )
    if sheet.entry.body.stratify:
        share, lower = _weighted(sheet, people, alpha)
        return _with(found, agreement=share, lower=lower)
    return _with(found, **_plain(sheet, rows, people, table, equal + unequal, equal))


def _with(found: Numbers, **more: object) -> Numbers:
    return Numbers(**{**found.__dict__, **more})


def _plain(
    sheet: Sheet,
    rows: Sequence[SheetRow],
    people: Sequence[int | None],
    table: list[list[int]],
    graded: int,
    equal: int,
) -> dict[str, object]:
    """Return what a sheet says that was drawn from all answers alike."""
    by_configuration: dict[str, list[int]] = {}
    by_verdict: dict[str, list[int]] = {}
    passing: Counter[tuple[bool | None, bool | None]] = Counter()
    for row, person, judge in zip(rows, people, sheet.judged, strict=True):
        if person is None:
            continue
        passing[sheet.scale.passes(person), sheet.scale.passes(judge)] += 1
        for tally, name in ((by_configuration, row.trial[0]), (by_verdict, sheet.scale.spelled[person])):
            of = tally.setdefault(name, [0, 0])
            of[0] += person == judge
            of[1] += 1
    told = (None, None) not in passing
    places = range(len(table))
    return {
        "interval": wilson(equal, graded, TWO_SIDED),
        "kappa": cohens_kappa(table),
        "weighted_kappa": cohens_kappa(table, linear=True),
        "ac1": gwet_ac1(table),
        "sensitivity": (passing[True, True], passing[True, True] + passing[True, False]) if told else None,
        "specificity": (passing[False, False], passing[False, False] + passing[False, True]) if told else None,
        "by_configuration": {name: (of[0], of[1]) for name, of in sorted(by_configuration.items())},
        "by_verdict": {name: (of[0], of[1]) for name, of in by_verdict.items()},
        "kinder": sum(table[i][j] for i in places for j in places if j < i),
        "harsher": sum(table[i][j] for i in places for j in places if j > i),
    }


def _weighted(sheet: Sheet, people: Sequence[int | None], alpha: float) -> tuple[float | None, float]:
    """Return the agreement weighted by how many answers have each verdict of the judge, and what it is at least.

    Each verdict's bound has its part of the error, so that together they hold with all of it.
    """
    whole = sum(sheet.strata.values(), Fraction(0))
    share, lower, untold = Fraction(0), 0.0, False
    pairs = [(person, judge) for person, judge in zip(people, sheet.judged, strict=True) if person is not None]
    for value, number in sheet.strata.items():
        same = [person == judge for person, judge in pairs if judge == value]
        if same:
            share += number / whole * Fraction(sum(same), len(same))
            lower += float(number / whole) * agreement_lower(sum(same), len(same), alpha / len(sheet.strata))
        else:
            untold = True
    return None if untold else float(share), lower


def _disagreements(
    record: RecordView, sheet: Sheet, rows: Sequence[SheetRow], people: Sequence[int | None]
) -> tuple[Disagreement, ...]:
    wrong = [
        (number, row, person, judge)
        for number, (row, person, judge) in enumerate(zip(rows, people, sheet.judged, strict=True), 1)
        if person is not None and person != judge
    ]
    needed = {row.end.private.reason for _, row, _, _ in wrong}
    texts = opened(record.folder, {item for item in needed if item is not None})
    return tuple(
        Disagreement(
            row=number,
            row_id=row.row_id,
            configuration=row.trial[0],
            case=row.trial[1],
            repeat=row.trial[2],
            person=sheet.scale.spelled[person],
            judge=sheet.scale.spelled[judge],
            reason=_reason(row.end, sheet.scorer.name, texts),
        )
        for number, row, person, judge in wrong
    )


def _reason(end: TrialEnd, scorer: str, texts: Mapping[str, Json]) -> str | None:
    if end.private.reason is None or end.private.reason not in texts:
        return None
    return reasons_of(texts[end.private.reason]).get(scorer)


# ----------------------------------------------------------------------------------------------- judged more than once


@dataclass(frozen=True)
class SelfAgreement:
    """Answers of the same words to the same case that the judge was asked about more than once."""

    answers: int
    judged: int
    """How often it was asked about them together."""
    same: int
    """How often it said what it had said first; the first verdict counts with these."""


def self_agreement(record: RecordView, sheet: Sheet) -> SelfAgreement:
    """Return how often the judge says again what it first said of the same answer; a replayed verdict is no second one.

    The verdict of a trial is always the first that was read, whatever this comes to.
    """
    trials = set(population(record.plan, record.matrix, record.board, sheet.scorer))
    ends = [
        end
        for end in last_ends(record.folder, record.signed, record.board, trials)
        if not any(call.replayed for call in end.helper_calls)
    ]
    texts = opened(record.folder, {end.private.answer for end in ends if end.private.answer is not None})
    said: dict[tuple[str, str], list[int]] = {}
    for end in ends:
        if end.private.answer in texts:
            value = record.board.cells[end.trial].value(sheet.scorer.metric) or 0
            same = (end.trial[1], answer_text(texts[end.private.answer]))
            said.setdefault(same, []).append(sheet.scale.verdict(value))
    twice = [verdicts for verdicts in said.values() if len(verdicts) > 1]
    return SelfAgreement(
        answers=len(twice),
        judged=sum(map(len, twice)),
        same=sum(1 for verdicts in twice for verdict in verdicts if verdict == verdicts[0]),
    )
