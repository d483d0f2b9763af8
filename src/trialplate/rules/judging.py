# SPDX-License-Identifier: Apache-2.0
"""A judge held against people: which of its answers are graded, and what the grades come to.

Nobody chooses the answers: they follow from the record's root and from how many are asked for. A run has one population
for each judge, the answers of candidates that it scored, and a case gives a configuration one place in it, whatever its
repeats. Each further sheet of that run is drawn from what the sheets before it left, so that all of them together are
one drawing without replacement, and no answer counts twice.

Source: docs/formats/ledger.md, clauses 2.18 to 2.26; ADR 52.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from trialplate.record.entries import TrialKey
from trialplate.record.frozen import Value
from trialplate.record.matrix import FULLY, Matrix, selects
from trialplate.record.values import Plan, Scorer
from trialplate.rules.cells import MICRO, Board
from trialplate.rules.circumstances import Grades

__all__ = ["Graded", "Scale", "counted", "drawn", "governing", "grades_of", "judges_of", "places", "population"]
__all__ += ["scale_of", "word_key"]

PASS, FAIL = "pass", "fail"
"""The words for an answer of a judge that gives no verdicts in words."""


def word_key(word: str) -> str:
    """Return what verdicts are compared by: case, outer blanks and how many blanks there are say nothing."""
    return " ".join(word.split()).casefold()


def judges_of(plan: Plan) -> tuple[Scorer, ...]:
    """Return the judges of a plan."""
    return tuple(scorer for scorer in plan.scorers if scorer.type == "judge")


# ---------------------------------------------------------------------------------------------------- which answers


def population(plan: Plan, matrix: Matrix, board: Board, scorer: Scorer) -> list[TrialKey]:
    """Return the trials of candidates whose answers this judge scored, in an order that only their names give.

    A trial that failed before it was judged (no answer, a refusal, a limit) has zeros from nobody: it is none of them.
    """
    candidates = {item.name for item in plan.configurations if item.role == "candidate"}
    cases = {case.id for case in matrix.cases if selects(scorer.cases, case)}
    return sorted(
        key
        for key, cell in board.cells.items()
        if key[0] in candidates and key[1] in cases and cell.known and cell.cause is None
        if cell.value(scorer.metric) is not None
    )


def places(trials: Sequence[TrialKey]) -> dict[tuple[str, str], list[TrialKey]]:
    """Return the trials by configuration and case, sorted: each of these gives one answer at most."""
    found: dict[tuple[str, str], list[TrialKey]] = {}
    for key in sorted(trials):
        found.setdefault(key[:2], []).append(key)
    return found


def drawn(
    root: bytes, count: int, trials: Sequence[TrialKey], verdicts: Mapping[TrialKey, str] | None = None
) -> list[TrialKey]:
    """Return the answers of a sheet, in the order of its rows; all there are, if they are fewer than `count`.

    First one repeat is drawn for each configuration and case, then `count` of these without replacement.

    Args:
        root: of the record, 32 bytes.
        count: how many are asked for.
        trials: the population, in any order.
        verdicts: to take as many of each verdict as of any other, as far as they go; None draws from all alike.
    """
    numbers = _numbers(hashlib.sha256(root + b"judge-check" + str(count).encode()).digest()[:8])
    one = [repeats[_below(len(repeats), numbers)] for repeats in places(trials).values()]
    if verdicts is None:
        return _taken(one, count, numbers)
    by_verdict: dict[str, list[TrialKey]] = {}
    for key in one:
        by_verdict.setdefault(verdicts[key], []).append(key)
    names = sorted(by_verdict)
    wanted = _even(count, [len(by_verdict[name]) for name in names])
    chosen = [
        key for name, number in zip(names, wanted, strict=True) for key in _taken(by_verdict[name], number, numbers)
    ]
    return _taken(chosen, count, numbers)


def _numbers(seed: bytes) -> Iterator[int]:
    """Yield 64-bit numbers: the first 8 bytes of SHA-256(seed, counter), the counter in 8 bytes from 0."""
    counter = 0
    while True:
        block = hashlib.sha256(seed + counter.to_bytes(8, "big")).digest()
        yield int.from_bytes(block[:8], "big")
        counter += 1


def _below(limit: int, numbers: Iterator[int]) -> int:
    """Return a number from 0 to limit - 1, each as likely: what would make the first ones likelier is passed over."""
    if limit == 1:
        return 0
    fair = 2**64 - 2**64 % limit
    return next(number for number in numbers if number < fair) % limit


def _taken(items: Sequence[TrialKey], count: int, numbers: Iterator[int]) -> list[TrialKey]:
    """Return `count` of these in a drawn order (Fisher and Yates), or all of them."""
    left = list(items)
    for place in range(min(count, len(left))):
        other = place + _below(len(left) - place, numbers)
        left[place], left[other] = left[other], left[place]
    return left[:count]


def _even(count: int, sizes: Sequence[int]) -> list[int]:
    """Return how many to take of each: one at a time, in turn, of those that have any left."""
    wanted = [0] * len(sizes)
    left = min(count, sum(sizes))
    while left:
        for place, size in enumerate(sizes):
            if left and wanted[place] < size:
                wanted[place] += 1
                left -= 1
    return wanted


# -------------------------------------------------------------------------------------------------- what they come to


class Scale(Value):
    """The verdicts of one judge. Each is told by its value in millionths, best first: two words of one value are one.

    A judge that gives no verdicts in words has two, passed and failed.
    """

    words: Mapping[str, int]
    """What a person may write, as `word_key` gives it, and its value."""
    written: Mapping[str, str]
    """The same as the plan spells it, the best first."""
    spelled: Mapping[int, str]
    """Each value in words."""
    metrics: Mapping[str, bool] = {}
    """What a person's verdict says of a metric: its value, or (True) whether that is 1."""
    cut: int | None = None
    """From which value of its score a judge without words passes an answer; None: its values are its verdicts."""
    passing: Sequence[tuple[bool, Fraction]] = ()
    """What an answer needs to pass: a value, or (True) the value 1."""

    def verdict(self, value: int) -> int:
        """Return the verdict that a judge's metric, in millionths, stands for."""
        return value if self.cut is None else MICRO if value >= self.cut else 0

    def passes(self, verdict: int) -> bool | None:
        """Say whether an answer of this verdict passes; None if that hangs on more than the verdict."""
        if not self.passing:
            return None
        return all((verdict == MICRO if fully else Fraction(verdict, MICRO)) >= least for fully, least in self.passing)

    def value(self, fully: bool, verdict: int) -> int:
        """Return the value of a metric under a verdict, in millionths."""
        return (MICRO if verdict == MICRO else 0) if fully else verdict


def scale_of(scorer: Scorer) -> Scale:
    """Return the verdicts of a judge.

    Raises:
        AttributeError, TypeError, ValueError, ArithmeticError, LookupError: its settings are none of a judge.
    """
    settings: Any = scorer.settings
    own = {name: name == FULLY + scorer.metric for name in scorer.metrics}
    if settings.get("mode") == "verdicts":
        weights = {word: round(_number(weight) * MICRO) for word, weight in settings["verdicts"].items()}
        spelled: dict[int, list[str]] = {}
        for word, value in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
            spelled.setdefault(value, []).append(word)
        needed = [(own.get(name, False), _number(least), name) for name, least in settings["pass_when"].items()]
        return Scale(
            words={word_key(word): value for word, value in weights.items()},
            written={word_key(word): word for words in spelled.values() for word in words},
            spelled={value: "/".join(words) for value, words in spelled.items()},
            metrics={name: fully for name, fully in own.items() if fully or name == scorer.metric},
            passing=[(fully, least) for fully, least, name in needed if fully or name == scorer.metric],
        )
    cut = None
    if settings.get("mode") == "score":
        low, high = (_number(end) for end in settings["scale"])
        cut = round((_number(settings["threshold"]) - low) / (high - low) * MICRO)
    words, spelled_out = {PASS: MICRO, FAIL: 0}, {MICRO: PASS, 0: FAIL}
    metrics = {scorer.metric: False} if cut is None else {}
    written = {word: word for word in words}
    return Scale(
        words=words, written=written, spelled=spelled_out, metrics=metrics, cut=cut, passing=[(True, Fraction(1))]
    )


def _number(text: str) -> Fraction:
    """Return a number of a plan's settings; one with an exponent could take more memory than there is."""
    if len(text) > 40 or not set(text) <= set("-.0123456789"):
        raise ValueError
    return Fraction(text)


class Graded(Value):
    """A sheet that was scored: the judge's verdicts on its answers, and what each person wrote."""

    scale: Scale
    judged: Sequence[int]
    """The judge's verdict on each answer, in the order in which they were drawn."""
    checks: Sequence[Sequence[str]]
    """A word for each answer from each person; "" for one that was not graded."""

    def people(self, check: Sequence[str]) -> list[int | None]:
        """Return one person's verdicts."""
        return [self.scale.words[word_key(word)] if word else None for word in check]


def counted(graded: Graded, check: Sequence[str]) -> tuple[int, int]:
    """Return on how many answers one person and the judge are of one mind, and on how many they are not."""
    pairs = [
        (person, judge) for person, judge in zip(graded.people(check), graded.judged, strict=True) if person is not None
    ]
    equal = sum(1 for person, judge in pairs if person == judge)
    return equal, len(pairs) - equal


def governing(graded: Graded) -> tuple[int, int]:
    """Return the equal and the unequal answers of a sheet, as the person has it with whom the judge agrees least.

    What one person left blank is taken from the others, and is unequal if one of them found it so. So whoever grades a
    sheet again, or a part of it, can add answers that nobody had graded, and never make one equal that was not.
    """
    people = [graded.people(check) for check in graded.checks]
    number = 0
    wrong = [0] * len(people)
    for given, judge in zip(zip(*people, strict=True), graded.judged, strict=True):
        told = [grade != judge for grade in given if grade is not None]
        number += bool(told)
        for place, grade in enumerate(given):
            wrong[place] += any(told) if grade is None else grade != judge
    most = max(wrong, default=0)
    return number - most, most


def grades_of(sheets: Sequence[Graded], *, open_sheets: int = 0, stale: int = 0) -> Grades:
    """Return the grades of one judge over all its sheets.

    Of an answer that several people graded, the strictest grade stands where grades are compared one by one.
    """
    equal = unequal = blank = 0
    pairs: dict[str, Counter[tuple[int, int]]] = {}
    tally: Counter[tuple[bool, bool]] = Counter()
    for sheet in sheets:
        found = governing(sheet)
        equal, unequal = equal + found[0], unequal + found[1]
        people = [sheet.people(check) for check in sheet.checks]
        for place, judge in enumerate(sheet.judged):
            given = [grade for person in people if (grade := person[place]) is not None]
            if not given:
                blank += 1
                continue
            strictest = min(given)
            for name, fully in sheet.scale.metrics.items():
                both = sheet.scale.value(fully, strictest), sheet.scale.value(fully, judge)
                pairs.setdefault(name, Counter())[both] += 1
            person_passes, judge_passes = sheet.scale.passes(strictest), sheet.scale.passes(judge)
            if person_passes is not None and judge_passes is not None:
                tally[person_passes, judge_passes] += 1
    return Grades(
        equal=equal,
        graded=equal + unequal,
        blank=blank,
        open=open_sheets,
        stale=stale,
        pairs={name: tuple((*both, number) for both, number in sorted(of.items())) for name, of in pairs.items()},
        sensitivity=(tally[True, True], tally[True, True] + tally[True, False]),
        specificity=(tally[False, False], tally[False, False] + tally[False, True]),
    )
