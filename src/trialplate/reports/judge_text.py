# SPDX-License-Identifier: Apache-2.0
"""What `judge-check score` says of a scored sheet, in lines and as one object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialplate.record.entries import JudgeSheet
from trialplate.record.frozen import Json
from trialplate.reports.judge_numbers import TWO_SIDED, Numbers, SelfAgreement, Share
from trialplate.rules.bounds import agreement_lower
from trialplate.rules.circumstances import Grades
from trialplate.rules.judging import word_key
from trialplate.stats.agreement import cohens_kappa
from trialplate.verify.findings import counted
from trialplate.verify.judges import Sheet
from trialplate.verify.record_view import RecordView
from trialplate.verify.text import visible

__all__ = ["People", "Scored", "between", "score_json", "score_lines"]

UNDEFINED = "undefined: no variation"


@dataclass(frozen=True)
class People:
    """How far two people who graded the same sheet agree with each other."""

    first: str
    second: str
    graded: int
    """Answers that both graded."""
    equal: int
    kappa: float | None


@dataclass(frozen=True)
class Scored:
    """A scored sheet, and what all checks of its judge come to."""

    record: RecordView
    sheet: Sheet
    numbers: Sequence[Numbers]
    entries: Sequence[int]
    people: Sequence[People]
    itself: SelfAgreement
    pooled: Grades
    minimum: float | None

    @property
    def alpha(self) -> float:
        """Return the error of the bounds."""
        return float(1 - Fraction(self.record.plan.pass_mark.confidence))

    @property
    def lower(self) -> float:
        """Return what the judge's agreement with these people is at least: that of the one it agrees with less."""
        return min(item.lower for item in self.numbers)


def between(sheet: Sheet, graders: Sequence[str], words: Sequence[Sequence[str]]) -> list[People]:
    """Return the agreement of every two people; none of one person."""
    found = []
    order = sorted(sheet.scale.spelled, reverse=True)
    for later in range(1, len(graders)):
        for earlier in range(later):
            table = [[0] * len(order) for _ in order]
            for one, two in zip(words[earlier], words[later], strict=True):
                if one and two:
                    places = [order.index(sheet.scale.words[word_key(word)]) for word in (one, two)]
                    table[places[0]][places[1]] += 1
            equal, graded = sum(table[i][i] for i in range(len(order))), sum(map(sum, table))
            found.append(People(graders[earlier], graders[later], graded, equal, cohens_kappa(table)))
    return found


# ------------------------------------------------------------------------------------------------------------- lines


def score_lines(scored: Scored) -> Iterator[str]:
    """Yield it in lines."""
    body: JudgeSheet = scored.sheet.entry.body
    yield f"judge {body.scorer} of run {body.run_id}, sheet of ledger entry {scored.sheet.entry.seq}"
    for item in scored.people:
        share = _of((item.equal, item.graded))
        yield f"people: {item.first} and {item.second} agree on {share}; kappa {_number(item.kappa)}"
    confidence = f"{100 * (1 - scored.alpha):g} %"
    for numbers in scored.numbers:
        yield from _grader_lines(numbers, confidence)
    yield from _itself(scored.itself)
    yield from _pooled(scored, confidence)
    if scored.minimum is not None:
        word = "below" if scored.lower < scored.minimum else "not below"
        yield f"agreement at least {scored.lower:.4f}: {word} --min {scored.minimum:g}"


def _grader_lines(numbers: Numbers, confidence: str) -> Iterator[str]:
    yield f"{numbers.grader}: graded {numbers.graded} of {numbers.rows}, {numbers.rows - numbers.graded} left blank"
    if numbers.stratified:
        share = "undefined: a verdict of the judge has no grade" if numbers.agreement is None else None
        shown = share or f"{numbers.agreement:.4f}"
        yield f"  agreement weighted by how often the judge gives each verdict: {shown}"
        yield f"  at least {numbers.lower:.4f} with {confidence} confidence"
    else:
        share = _of((numbers.equal, numbers.graded))
        low, high = numbers.interval or (0.0, 1.0)
        yield f"  agreement {share}; at least {numbers.lower:.4f} with {confidence} confidence"
        yield f"  Wilson interval, {100 * TWO_SIDED:g} %: [{low:.4f}, {high:.4f}]"
    yield from _table(numbers)
    if not numbers.stratified:
        yield f"  Cohen's kappa {_number(numbers.kappa)}; linear-weighted {_number(numbers.weighted_kappa)}"
        yield f"  Gwet's AC1 {_number(numbers.ac1)}"
        for name, pair in (("sensitivity", numbers.sensitivity), ("specificity", numbers.specificity)):
            told = "undefined: the verdict alone does not pass an answer" if pair is None else _of(pair)
            yield f"  {name} {told}"
        for title, shares in (
            ("configuration", numbers.by_configuration),
            ("the person's verdict", numbers.by_verdict),
        ):
            yield f"  by {title}: " + "; ".join(f"{visible(name)} {_of(pair)}" for name, pair in shares.items())
        yield f"  the judge was kinder {numbers.kinder} times, harsher {numbers.harsher} times"
    for item in numbers.disagreements:
        reason = "its reason is not here" if item.reason is None else visible(item.reason)
        which = f"row {item.row}, {item.configuration} {item.case} repeat {item.repeat}"
        yield f"  {visible(which)}: person {item.person}, judge {item.judge}: {reason}"


def _table(numbers: Numbers) -> Iterator[str]:
    width = max(len(word) for word in (*numbers.verdicts, "person"))
    yield "  person \\ judge".ljust(width + 11) + " ".join(word.rjust(width) for word in numbers.verdicts)
    for word, row in zip(numbers.verdicts, numbers.table, strict=True):
        yield f"  {word}".ljust(width + 11) + " ".join(str(number).rjust(width) for number in row)


def _itself(found: SelfAgreement) -> Iterator[str]:
    if not found.answers:
        yield "self-agreement: no answer was judged twice"
        return
    share = _of((found.same, found.judged))
    yield f"self-agreement: {share} verdicts on {counted(found.answers, 'answer')} that it judged more than once"


def _pooled(scored: Scored, confidence: str) -> Iterator[str]:
    grades = scored.pooled
    if not grades.graded:
        yield "all checks of this judge: none that counts as evidence yet"
    else:
        lower = agreement_lower(grades.equal, grades.graded, scored.alpha)
        share = _of((grades.equal, grades.graded))
        yield f"all checks of this judge: {share}; at least {lower:.4f} with {confidence} confidence"
    if grades.open:
        yield f"still open: {counted(grades.open, 'sheet')} drawn and not scored; until then the judge is unchecked"
    if grades.stale:
        yield f"stale: {counted(grades.stale, 'answer')} graded of another judge of this name"


def _of(share: Share) -> str:
    part, whole = share
    return f"{part} of {whole}" + (f" ({part / whole:.4f})" if whole else "")


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.4f}"


# ------------------------------------------------------------------------------------------------------------- object


def score_json(scored: Scored) -> Json:
    """Return it as one object; what is undefined is null."""
    body: JudgeSheet = scored.sheet.entry.body
    grades = scored.pooled
    lower = agreement_lower(grades.equal, grades.graded, scored.alpha) if grades.graded else None
    pooled = {"equal": grades.equal, "graded": grades.graded, "blank": grades.blank, "lower": lower}
    return {
        "format": "trialplate-judge-check/1",
        "run_id": body.run_id,
        "scorer": body.scorer,
        "judge": body.judge,
        "sheet": scored.sheet.entry.seq,
        "confidence": scored.record.plan.pass_mark.confidence,
        "people": [dict(item.__dict__) for item in scored.people],
        "graders": [
            {"entry": entry, **_numbers_json(numbers)}
            for entry, numbers in zip(scored.entries, scored.numbers, strict=True)
        ],
        "self_agreement": dict(scored.itself.__dict__),
        "all_checks": {**pooled, "open": grades.open, "stale": grades.stale},
        "lower": scored.lower,
        "min": scored.minimum,
        "met": None if scored.minimum is None else scored.lower >= scored.minimum,
    }


def _numbers_json(numbers: Numbers) -> dict[str, Json]:
    shown: dict[str, Json] = {**numbers.__dict__, "verdicts": list(numbers.verdicts)}
    shown["table"] = [list(row) for row in numbers.table]
    for name in ("interval", "sensitivity", "specificity"):
        pair = shown[name]
        shown[name] = None if pair is None else list(pair)
    for name in ("by_configuration", "by_verdict"):
        shown[name] = {key: list(pair) for key, pair in shown[name].items()}
    shown["disagreements"] = [
        {"sample_id" if name == "row_id" else name: part for name, part in item.__dict__.items()}
        for item in numbers.disagreements
    ]
    return shown
