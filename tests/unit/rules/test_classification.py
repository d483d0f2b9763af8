# SPDX-License-Identifier: Apache-2.0
"""Accuracy, precision, recall and F1 against published numbers and, where it is installed, scikit-learn."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import oracle

from trialplate.rules.classification import classify

_FILE = Path(__file__).parents[2] / "vectors" / "decisions" / "decision_vectors.json"
VECTORS = [v for v in json.loads(_FILE.read_text(encoding="utf-8"))["vectors"] if v["group"] == "classification"]
LABELS = st.sampled_from("abcd")


@pytest.mark.parametrize("vector", VECTORS, ids=lambda item: item["id"])
def test_numbers_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    """Worked examples of EvalCore's guide and of scikit-learn's manual, and the edges."""
    inputs, expected = vector["inputs"], vector["expected"]
    found = classify(zip(inputs["expected"], inputs["predicted"], strict=True))
    for name in ("accuracy", "macro_f1"):
        assert abs(float(getattr(found, name)) - expected[name]) <= vector["tolerance"], name


def test_report_of_scikit_learn_is_reproduced() -> None:
    """classification_report's example in its manual, to two digits: five pairs of three classes."""
    found = classify(zip("01222", "00221", strict=True))
    shown = [(i.label, *(round(float(x), 2) for x in (i.precision, i.recall, i.f1)), i.support) for i in found.labels]
    assert shown == [("0", 0.5, 1.0, 0.67, 1), ("1", 0.0, 0.0, 0.0, 1), ("2", 1.0, 0.67, 0.8, 3)]
    assert (round(float(found.accuracy), 2), round(float(found.macro_f1), 2)) == (0.6, 0.49)


def test_nothing_said_is_wrong_and_no_class() -> None:
    """A trial without an answer lowers recall and accuracy, and makes no class of its own."""
    found = classify([("a", "a"), ("a", None), ("b", "b")])
    assert [item.label for item in found.labels] == ["a", "b"]
    assert (found.accuracy, found.unanswered) == (Fraction(2, 3), 1)
    assert (found.labels[0].precision, found.labels[0].recall) == (1, Fraction(1, 2))


def test_what_is_said_and_never_right_is_no_class() -> None:
    """A label that is no case's lowers the recall of the right one, and the precision of none."""
    found = classify([("a", "z"), ("a", "a")])
    assert [(item.label, item.precision, item.recall) for item in found.labels] == [("a", 1, Fraction(1, 2))]


@given(st.lists(st.tuples(LABELS, LABELS | st.none()), max_size=30))
def test_laws_of_the_numbers(pairs: list[tuple[str, str | None]]) -> None:
    """Everything is in [0, 1]; accuracy is the recall weighted by support; order does not matter."""
    found = classify(pairs)
    for item in found.labels:
        assert all(0 <= value <= 1 for value in (item.precision, item.recall, item.f1))
        both = item.precision + item.recall
        assert item.f1 == (2 * item.precision * item.recall / both if both else 0)
    weighted = sum((item.recall * item.support for item in found.labels), Fraction(0))
    assert found.accuracy == (weighted / len(pairs) if pairs else 0)
    assert classify(reversed(pairs)) == found


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=30))
def test_scikit_learn_says_the_same(pairs: list[tuple[str, str]]) -> None:
    """Over the classes that are right somewhere, where it is installed."""
    metrics = oracle("sklearn.metrics")
    right, said = [wanted for wanted, _ in pairs], [found for _, found in pairs]
    classes = sorted(set(right))
    theirs = metrics.f1_score(right, said, labels=classes, average="macro", zero_division=0)
    assert float(classify(pairs).macro_f1) == pytest.approx(theirs, abs=1e-12)
