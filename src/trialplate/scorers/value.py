# SPDX-License-Identifier: Apache-2.0
r"""The scorer `value`: the answer is a reference once both are in canonical form. It yields 1 or 0, and a verdict.

Settings, all false by default:

    case_sensitive     else every letter is lowered by itself: by Unicode's simple mapping, so that İ is i, Σ is σ also
                       at the end of a word, and ẞ is ß, never ss
    ignore_whitespace  spaces, tabs, line feeds, form feeds and carriage returns are taken out; a no-break space, a
                       vertical tab and a next-line character are none of these and stay
    trim_lines         each line loses the white space at its ends; lines end in LF or CRLF, and in nothing else.
                       Ignored with ignore_whitespace
    parse              how JSON is found in an answer that is a value, see `transport.json_answers` (strict)

Without ignore_whitespace the white space at both ends of a text is taken off. It is Unicode's White_Space: a zero-width
space, and U+001C to U+001F, are none.

What is compared: where the case has an answer_schema, or the reference is no text, the answer is read as JSON, and the
two values must be the same: the same keys and no other, to the letter; lists in their order; texts within them in
canonical form; numbers by value to the last digit, so that 1.0 is 1; true is not 1, and "1" is not 1. Else the answer
is a text, whatever it looks like, and is compared with the reference as a text.

Doing it twice changes nothing more.

Source: MindTrial's value match (its Go code; unicode.ToLower, strings.TrimSpace and RE2's \s).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from trialplate.record import values
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
from trialplate.scorers.json_scorers import answered_value, parse_of
from trialplate.scorers.text_match import reference_texts
from trialplate.spec.answer_schemas import Parse
from trialplate.spec.labels import WHITE_SPACE
from trialplate.transport.json_answers import NoJson

__all__ = ["ValueScorer", "canonical_text", "canonical_value", "make_value"]

_FLAGS = ("case_sensitive", "ignore_whitespace", "trim_lines")
_LINE_END = re.compile(r"\r?\n")
_TAKEN_OUT = str.maketrans("", "", "\t\n\f\r ")

Fold = Callable[[str], str]


def canonical_text(
    text: str, *, case_sensitive: bool = False, ignore_whitespace: bool = False, trim_lines: bool = False
) -> str:
    """Return a text in the form in which it is compared."""
    if ignore_whitespace:
        text = text.translate(_TAKEN_OUT)
    else:
        if trim_lines:
            text = "\n".join(line.strip(WHITE_SPACE) for line in _LINE_END.split(text))
        text = text.strip(WHITE_SPACE)
    # Python's own `lower` gives a Σ at the end of a word another form, and İ a dot of its own.
    return text if case_sensitive else text.replace("İ", "i").replace("Σ", "σ").lower()


def canonical_value(value: Json, fold: Fold) -> Any:
    """Return a JSON value such that two are the same if and only if what this returns is equal.

    Args:
        value: numbers may also be `Decimal`, and integers of any size.
        fold: makes a text canonical.
    """
    if isinstance(value, str):
        return fold(value)
    if isinstance(value, dict):
        return {name: canonical_value(item, fold) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [canonical_value(item, fold) for item in value]
    if isinstance(value, bool) or value is None:
        return (value,)  # Python holds True for 1
    return ("number", Decimal(value) if isinstance(value, int) else Decimal(str(value)))


def make_value(scorer: values.Scorer, texts: Texts) -> ValueScorer:
    """Make a `value` scorer.

    Raises:
        SpecError: a setting that it does not have, or a value that the setting does not take.
    """
    require_settings(scorer, {*_FLAGS, "parse"})
    for name in _FLAGS:
        if not isinstance(scorer.settings.get(name, False), bool):
            raise refusal(scorer, f"{name} is neither true nor false", f"write {name}: true")
    return ValueScorer(scorer, parse_of(scorer))


class ValueScorer:
    """Whether the answer is a reference, both in canonical form."""

    def __init__(self, scorer: values.Scorer, parse: Parse) -> None:
        self._scorer, self._parse = scorer, parse
        self._flags = {name: bool(scorer.settings.get(name, False)) for name in _FLAGS}

    def _fold(self, text: str) -> str:
        return canonical_text(text, **self._flags)

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: the case has no reference.
        """
        if not case.references:
            raise ScorerError(f"case {case.id!r} has no reference to compare with")
        as_values = [item for item in case.references if case.answer_schema is not None or not isinstance(item, str)]
        as_texts = [item for item in case.references if case.answer_schema is None and isinstance(item, str)]
        said = self._fold(answer)
        if any(self._fold(item) == said for item in as_texts):
            return pass_or_fail(self._scorer, True, f"equal to {quoted(answer)}")
        why = ""
        if as_values:
            try:
                value = canonical_value(await answered_value(answer, self._parse), self._fold)
            except NoJson as error:
                why = f"; {error}"
            else:
                if any(canonical_value(item, self._fold) == value for item in as_values):
                    return pass_or_fail(self._scorer, True, f"equal to {quoted(answer)}")
        reason = f"expected {expected(reference_texts(case))}, found {quoted(answer)}{why}"
        return pass_or_fail(self._scorer, False, reason)
