# SPDX-License-Identifier: Apache-2.0
"""How far a judge and people agree, as reports show it; what a rule asks of it is `rules.bounds.agreement_lower`.

A table is square: `table[i][j]` answers to which people give verdict i and the judge gives verdict j. Of a pass or fail
judge, 0 is passed and 1 is failed. What is undefined, such as kappa where all verdicts are one and the same, is None,
and never 0 or 1. Numbers are worked out as fractions and returned as doubles.

Kappa alone misleads where one verdict is rare, so it is shown beside the plain agreement and AC1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import sqrt
from typing import Any, Literal, NamedTuple

from trialplate.rules.special import normal_quantile

__all__ = [
    "Detection",
    "agreement",
    "cohens_kappa",
    "detection",
    "fleiss_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "krippendorff_alpha_of_table",
    "lang_reiczigel",
    "rogan_gladen",
]

Table = Sequence[Sequence[int]]


class Detection(NamedTuple):
    """How well a judge tells passed from failed; None where people passed, or failed, nothing."""

    sensitivity: float | None
    """Of the answers that people pass, the share that the judge passes."""
    specificity: float | None
    """Of the answers that people fail, the share that the judge fails."""


def agreement(table: Table) -> float | None:
    """Return the share of answers with the same verdict from both; None of no answer.

    Raises:
        ValueError: the table is not square, or a count is below 0.
    """
    total = _total(table)
    return sum(table[i][i] for i in range(len(table))) / total if total else None


def cohens_kappa(table: Table, *, linear: bool = False) -> float | None:
    """Return Cohen's kappa; None where chance alone would agree always.

    Args:
        table: verdicts of people and judge.
        linear: weigh a disagreement by how many places apart the verdicts are, of an ordered scale.

    Raises:
        ValueError: the table is not square, or a count is below 0.

    Source: Cohen 1960; Cohen 1968 for weights.
    """
    total, k = _total(table), len(table)
    rows = [sum(row) for row in table]
    columns = [sum(row[j] for row in table) for j in range(k)]
    cells = [(i, j, abs(i - j) if linear else int(i != j)) for i in range(k) for j in range(k)]
    seen = sum(apart * table[i][j] for i, j, apart in cells)
    by_chance = sum(apart * rows[i] * columns[j] for i, j, apart in cells)
    return float(1 - Fraction(seen * total, by_chance)) if by_chance else None


def gwet_ac1(table: Table) -> float | None:
    """Return Gwet's AC1, which a rare verdict does not bring down; None of one verdict or no answer.

    Raises:
        ValueError: the table is not square, or a count is below 0.

    Source: Gwet 2002; Gwet 2008.
    """
    total, k = _total(table), len(table)
    if not total or k < 2:
        return None
    shares = [Fraction(sum(table[i]) + sum(row[i] for row in table), 2 * total) for i in range(k)]
    chance = sum((share * (1 - share) for share in shares), Fraction(0)) / (k - 1)
    same = Fraction(sum(table[i][i] for i in range(k)), total)
    return float((same - chance) / (1 - chance))


def krippendorff_alpha_of_table(table: Table) -> float | None:
    """Return Krippendorff's alpha of two raters and unordered verdicts; None where all verdicts are the same.

    Raises:
        ValueError: the table is not square, or a count is below 0.

    Source: Krippendorff 2011.
    """
    total, k = _total(table), len(table)
    counts = [sum(table[i]) + sum(row[i] for row in table) for i in range(k)]
    pairs = 2 * total * (2 * total - 1)
    unlike = pairs - sum(count * (count - 1) for count in counts)
    apart = total - sum(table[i][i] for i in range(k))
    return float(1 - Fraction(apart * pairs, total * unlike)) if unlike else None


def krippendorff_alpha(
    ratings: Sequence[Sequence[Any]], level: Literal["nominal", "ordinal", "interval"] = "nominal"
) -> float | None:
    """Return Krippendorff's alpha of any number of raters, who need not have rated everything.

    Args:
        ratings: a row for each rater with a rating of each answer, None where there is none. Ratings of a level
            "nominal" are equal or not; of "ordinal" they can be sorted; of "interval" they are numbers.
        level: what a distance between ratings is.

    Returns:
        None where no two ratings of one answer can be compared, or all ratings are the same.

    Raises:
        ValueError: the rows are not as long as each other.

    Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability".
    """
    if len({len(row) for row in ratings}) > 1:
        raise ValueError("each rater has a place for each answer")
    units = [[value for value in unit if value is not None] for unit in zip(*ratings, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    counts = Counter(value for unit in units for value in unit)
    distance = _distance(level, counts)
    number = counts.total()
    by_chance = sum(n * m * distance(a, b) for a, n in counts.items() for b, m in counts.items())
    if not by_chance:
        return None
    seen = Fraction(0)
    for unit in units:
        tally = Counter(unit)
        apart = sum((n * m * distance(a, b) for a, n in tally.items() for b, m in tally.items()), Fraction(0))
        seen += apart / (len(unit) - 1)
    return float(1 - (number - 1) * seen / by_chance)


def _distance(level: str, counts: Counter[Any]) -> Callable[[Any, Any], Fraction]:
    """Return the squared distance of two ratings."""
    if level == "nominal":
        return lambda a, b: Fraction(a != b)
    if level == "interval":
        return lambda a, b: (Fraction(a) - Fraction(b)) ** 2
    ranks: dict[Any, Fraction] = {}
    below = 0
    for value in sorted(counts):
        ranks[value] = below + Fraction(counts[value], 2)
        below += counts[value]
    return lambda a, b: (ranks[a] - ranks[b]) ** 2


def fleiss_kappa(counts: Table) -> float | None:
    """Return Fleiss' kappa of several raters who all rate every answer.

    Args:
        counts: a row for each answer, with how many raters gave each verdict; all rows have the same sum.

    Returns:
        None with fewer than two raters, of no answer, or where all verdicts are the same.

    Raises:
        ValueError: the rows do not have the same sum or length, or a count is below 0.

    Source: Fleiss 1971.
    """
    if len({(len(row), sum(row)) for row in counts}) > 1 or any(n < 0 for row in counts for n in row):
        raise ValueError("every answer has a verdict of each rater")
    raters = sum(counts[0]) if counts else 0
    if raters < 2:
        return None
    pairs = len(counts) * raters * (raters - 1)
    same = Fraction(sum(n * (n - 1) for row in counts for n in row), pairs)
    totals = [sum(row[j] for row in counts) for j in range(len(counts[0]))]
    chance = Fraction(sum(total**2 for total in totals), (len(counts) * raters) ** 2)
    return float((same - chance) / (1 - chance)) if chance != 1 else None


def detection(table: Table) -> Detection:
    """Return sensitivity and specificity of a judge from a table of two verdicts.

    Raises:
        ValueError: the table is not two by two, or a count is below 0.
    """
    _total(table)
    if len(table) != 2:
        raise ValueError("a judge that passes or fails has two verdicts")
    (both_pass, missed), (let_through, both_fail) = table
    passed, failed = both_pass + missed, let_through + both_fail
    return Detection(both_pass / passed if passed else None, both_fail / failed if failed else None)


def rogan_gladen(share: float, sensitivity: float, specificity: float) -> float | None:
    """Return the share of answers that people would pass, from the share that the judge passes.

    Returns:
        A share that can lie outside [0, 1]; None of a judge that says pass as often of what people fail.

    Source: Rogan and Gladen 1978.
    """
    informed = sensitivity + specificity - 1
    return (share + specificity - 1) / informed if informed else None


def lang_reiczigel(
    judged: tuple[int, int], sensitivity: tuple[int, int], specificity: tuple[int, int], conf: float
) -> tuple[float, float] | None:
    """Return the interval of `rogan_gladen` when sensitivity and specificity come from counts too.

    Args:
        judged: how many answers the judge passes, of how many.
        sensitivity: how many of those that people pass the judge passes, of how many; at least one.
        specificity: how many of those that people fail the judge fails, of how many; at least one.
        conf: two-sided, in (0, 1).

    Returns:
        Limits that can lie outside [0, 1]; None of a judge that tells nothing.

    Raises:
        ValueError: an argument is outside its range.

    Source: Lang and Reiczigel 2014; for judges Lee et al. 2025, arXiv 2511.21140.
    """
    if not 0 < conf < 1 or any(not 0 <= x <= n or not n for x, n in (judged, sensitivity, specificity)):
        raise ValueError("counts are some of a number of answers above 0, and a confidence is in (0, 1)")
    z = -normal_quantile((1 - conf) / 2)
    n, n_sens, n_spec = judged[1] + z * z, sensitivity[1] + 2, specificity[1] + 2
    share = (judged[0] + z * z / 2) / n
    sens, spec = (sensitivity[0] + 1) / n_sens, (specificity[0] + 1) / n_spec
    informed = sens + spec - 1
    if not informed:
        return None
    middle = (share + spec - 1) / informed
    of_sens, of_spec = sens * (1 - sens) / n_sens, spec * (1 - spec) / n_spec
    moved = middle + 2 * z * z * (middle * of_sens - (1 - middle) * of_spec)
    variance = share * (1 - share) / n + middle**2 * of_sens + (1 - middle) ** 2 * of_spec
    away = z * sqrt(variance) / abs(informed)
    return moved - away, moved + away


def _total(table: Table) -> int:
    """Return how many answers a table has.

    Raises:
        ValueError: the table is not square, or a count is below 0.
    """
    if any(len(row) != len(table) for row in table) or any(n < 0 for row in table for n in row):
        raise ValueError("a table of verdicts is square, with counts from 0")
    return sum(sum(row) for row in table)
