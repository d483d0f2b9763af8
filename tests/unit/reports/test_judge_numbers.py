# SPDX-License-Identifier: Apache-2.0
"""What one person's grades of a sheet come to: vector J1 to every published digit, and what is undefined."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_runs import ended

from trialplate.record.entries import JudgeSheet
from trialplate.record.values import Scorer
from trialplate.reports.judge_numbers import Numbers, numbers_of
from trialplate.reports.judge_sheet import SheetRow
from trialplate.reports.judge_text import between
from trialplate.rules.judging import scale_of
from trialplate.verify.judges import Sheet
from trialplate.verify.ledger_view import LedgerEntry

SETTINGS = {
    "mode": "verdicts",
    "parse": "fenced",
    "verdicts": {"correct": "1", "partial": "0.5", "incorrect": "0"},
    "pass_when": {"correct": "1"},
}
JUDGE = Scorer(name="judge", type="judge", metric="correct", settings=SETTINGS)
DIGEST = "sha256:" + "0" * 64
J1 = (
    [("correct", "correct")] * 13
    + [("correct", "partial")]
    + [("partial", w) for w in ("correct", "partial", "incorrect")]
)
J1 += [("incorrect", "incorrect")] * 3


def sheet_of(said: Sequence[str], strata: dict[str, int] | None = None) -> Sheet:
    """Return a sheet on which the judge gave these verdicts."""
    scale = scale_of(JUDGE)
    body = JudgeSheet(
        run_id="20261130T104417907Z-ad71595c",
        size=9,
        root=DIGEST,
        scorer="judge",
        judge=DIGEST,
        count=len(said),
        population=len(said),
        stratify=strata is not None,
    )
    return Sheet(
        entry=LedgerEntry(6, "", "judge.sample", body, b""),
        scorer=JUDGE,
        scale=scale,
        answers=tuple(("m", f"q{number}", 1) for number in range(len(said))),
        judged=tuple(scale.words[word] for word in said),
        strata={scale.words[word]: Fraction(number) for word, number in (strata or {}).items()},
    )


def numbers(pairs: Sequence[tuple[str, str]], strata: dict[str, int] | None = None, alpha: float = 0.05) -> Numbers:
    """Return the numbers of these (person, judge) verdicts."""
    sheet = sheet_of([judge for _, judge in pairs], strata)
    rows = [SheetRow(f"s6-{i}", key, "", "", "", ended(key)) for i, key in enumerate(sheet.answers)]
    record: Any = SimpleNamespace(folder=Path("nowhere"))
    return numbers_of(record, sheet, rows, "AB", [person for person, _ in pairs], alpha)


def test_vector_j1() -> None:
    """T49."""
    found = numbers(J1)
    assert found.table == ((13, 1, 0), (1, 1, 1), (0, 0, 3))
    assert (found.agreement, found.kinder, found.harsher) == (0.85, 1, 2)
    assert found.kappa == pytest.approx(0.677419, abs=5e-7)
    assert found.weighted_kappa == pytest.approx(0.788732, abs=5e-7)
    assert found.interval == pytest.approx((0.6396, 0.9476), abs=5e-5)
    assert found.lower == pytest.approx(0.6563, abs=5e-4)
    assert (found.sensitivity, found.specificity) == ((13, 14), (5, 6))
    assert found.by_verdict == {"correct": (13, 14), "partial": (1, 3), "incorrect": (3, 3)}


def test_perfect_sheet_of_one_verdict() -> None:
    """20 of 20 is [0.8389, 1] and shows 0.861; kappa is undefined, and no 1."""
    found = numbers([("correct", "correct")] * 20)
    assert found.interval == pytest.approx((0.8389, 1), abs=5e-5)
    assert found.lower == pytest.approx(0.861, abs=5e-4)
    assert (found.kappa, found.weighted_kappa) == (None, None)


def test_blank_rows_are_no_verdicts() -> None:
    """Of 20 rows, 1 graded."""
    found = numbers([("correct", "incorrect"), *[("", "correct")] * 19])
    assert (found.graded, found.rows, found.equal, found.agreement) == (1, 20, 0, 0)
    assert found.disagreements[0].reason is None


def test_stratified_sheet_is_weighted_by_what_the_judge_says() -> None:
    """Right about 3 of 3, 1 of 2 and 0 of 2 of its verdicts, which it gives 6, 2 and 2 times."""
    pairs = [("correct", "correct")] * 3 + [
        ("partial", "partial"),
        ("correct", "partial"),
        *[("correct", "incorrect")] * 2,
    ]
    found = numbers(pairs, {"correct": 6, "partial": 2, "incorrect": 2})
    assert found.agreement == pytest.approx(0.7)
    assert 0 < found.lower < 0.7
    assert (found.kappa, found.interval, found.sensitivity, found.by_verdict) == (None, None, None, {})
    untold = numbers([*pairs[:3], ("", "partial")], {"correct": 6, "partial": 2})
    assert untold.agreement is None
    assert untold.lower < 0.75


def test_people_are_compared_on_what_both_graded() -> None:
    """In their order, with kappa, undefined where nothing varies."""
    sheet = sheet_of(["correct"] * 4)
    words = [["correct", "correct", "incorrect", ""], ["correct", "incorrect", "incorrect", "partial"]]
    (found,) = between(sheet, ["A", "B"], words)
    assert (found.first, found.second, found.graded, found.equal) == ("A", "B", 3, 2)
    assert found.kappa == pytest.approx(0.4)
    (same,) = between(sheet, ["A", "B"], [["correct"] * 4] * 2)
    assert same.kappa is None
    assert between(sheet, ["A"], words[:1]) == []
    assert len(between(sheet, ["A", "B", "C"], [*words, words[0]])) == 3
