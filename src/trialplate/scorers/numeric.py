# SPDX-License-Identifier: Apache-2.0
"""The scorer `numeric`: whether the answer is one of the accepted numbers. It yields 1 or 0, and a verdict.

Settings (how a number is written: see `spec.numbers`):

    find        whole (default): the answer is the number; first, last: the first or last word that holds a digit;
                after: the rest of the line behind a marker, read as `whole` would be
    after       the marker, such as "ANSWER:" or "####", found as it is written
    which       first or last: which occurrence of the marker; it has no default
    tolerance   how far from a reference the answer may lie, decimal text (0)
    relative    the same as a share of the reference (0); within either is near enough
    separators, percent, units

Compared in exact fractions. A reference that is a text is also compared as a text with what was found, so that
["20", "20%"] accepts "20%". Where what was found is no number, nothing else is looked for: the answer failed, and the
reason says what stood there.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from trialplate.record import canonical, values
from trialplate.record.frozen import Json
from trialplate.record.values import Case
from trialplate.scorers.base import (
    NO_CONTEXT,
    Score,
    ScorerContext,
    ScorerError,
    Texts,
    expected,
    pass_or_fail,
    quoted,
    refusal,
    require_settings,
)
from trialplate.scorers.unicode_forms import composed_text
from trialplate.spec.numbers import Found, NumberRules, find_number, number_rules, whole_number

__all__ = ["NumericScorer", "make_numeric"]

_is_decimal = values.DecimalText.__metadata__[0].check()  # type: ignore[attr-defined]
SETTINGS = {"find", "after", "which", "tolerance", "relative", "separators", "percent", "units"}


def make_numeric(scorer: values.Scorer, texts: Texts) -> NumericScorer:
    """Make a `numeric` scorer.

    Raises:
        SpecError: a setting that it does not have, or a value that the setting does not take.
    """
    require_settings(scorer, SETTINGS)
    given: Mapping[str, Any] = scorer.settings
    find, which, after = given.get("find", "whole"), given.get("which"), given.get("after")
    if after is not None and not isinstance(after, str):
        raise refusal(scorer, "after is no text", 'write after: "ANSWER:"')
    if find not in ("whole", "first", "last", "after") or (find == "after") != bool(after):
        raise refusal(scorer, f"find cannot be {find!r}", "choose whole, first, last, or after: with a marker")
    if (find == "after") != (which in ("first", "last")):
        raise refusal(scorer, f"which cannot be {which!r}", "write which: first or which: last beside after:")
    try:
        rules = number_rules(given)
        near = _share(given.get("tolerance", "0")), _share(given.get("relative", "0"))
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise refusal(scorer, f"a setting of numeric cannot be used: {error}", "see the author plan") from error
    return NumericScorer(scorer, rules, near)


def _share(text: Any) -> Fraction:
    """Return a decimal text as a fraction; an exponent, which could ask for gigabytes, is none of its form."""
    if not isinstance(text, str) or not _is_decimal(text):
        raise ValueError(f"{text!r} is no decimal text")
    return Fraction(text)


class NumericScorer:
    """Whether the answer is an accepted number."""

    def __init__(self, scorer: values.Scorer, rules: NumberRules, near: tuple[Fraction, Fraction]) -> None:
        self._scorer, self._rules = scorer, rules
        self._tolerance, self._relative = near

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: the case has no reference.
        """
        if not case.references:
            raise ScorerError(f"case {case.id!r} has no reference to compare with")
        found = self._found(answer)
        texts = [item if isinstance(item, str) else canonical.encode(item).decode() for item in case.references]
        for reference, text in zip(case.references, texts, strict=True):
            if not found.absurd and self._equals(found, reference):
                return pass_or_fail(self._scorer, True, f"found {quoted(found.text)}, which is {quoted(text)}")
        what = f"found {quoted(found.text)}" if found.text else "found nothing"
        why = f", which is no number: {found.problem}" if found.problem else ""
        return pass_or_fail(self._scorer, False, f"expected {expected(texts)}, {what}{why}")

    def _found(self, answer: str) -> Found:
        """Return what stands where the number shall be."""
        find = self._scorer.settings.get("find", "whole")
        if find == "whole":
            return whole_number(answer, self._rules)
        if find in ("first", "last"):
            return find_number(answer, find, self._rules)
        marker = self._scorer.settings["after"]
        parts = answer.split(marker, 1) if self._scorer.settings["which"] == "first" else answer.rsplit(marker, 1)
        if len(parts) == 1:
            return Found(problem=f"there is no {quoted(marker)}")
        return whole_number(parts[1].lstrip(" \t").partition("\n")[0], self._rules)

    def _equals(self, found: Found, reference: Json) -> bool:
        """Say whether what was found is a reference, as a text or as a number."""
        if isinstance(reference, str):
            if found.text and _same(found.text) == _same(reference):
                return True
            wanted = whole_number(reference, self._rules).number
        else:
            is_number = isinstance(reference, int | float) and not isinstance(reference, bool)
            wanted = Decimal(canonical.encode(reference).decode()) if is_number else None
        if found.number is None or wanted is None:
            return False
        there, right = Fraction(found.number), Fraction(wanted)
        return abs(there - right) <= max(self._tolerance, self._relative * abs(right))


def _same(text: str) -> str:
    return composed_text(text.strip())
