# SPDX-License-Identifier: Apache-2.0
"""Scorers that compare text: `exact`, `contains`, `regex`. Each yields 1 or 0 for its one metric, and a verdict.

exact     the answer equals any reference, both normalised alike. Settings:
              unicode      NFC (default), NFKC, keep
              punctuation  keep (default), plain: curly quotes and dashes become " ' -
              case         keep (default), fold
              trim         outer (default), lines (each line, then outer), none
              whitespace   keep (default), collapse (runs become one space), remove
          A reference that is no text is compared as its canonical JSON (42, true, {"a":1}). Numbers are not parsed.
contains  the answer holds the plan's `value`, or without one any reference, under NFC. Settings: `case_sensitive`
          (default true).
regex     the plan's `pattern` is found anywhere in the answer, which is taken as it is. Settings: `flags`, a list of
          ignorecase, multiline, dotall, verbose, ascii. The dialect is that of the `regex` package, version 0
          behaviour, which is Python's `re`. A search that takes longer than `TIME_LIMIT_S` is a scorer error: never a
          match, and never a miss.

An empty text to look for would be found in every answer, so it is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from trialplate.record import canonical, values
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
    text_of,
)
from trialplate.scorers.unicode_forms import composed_text

__all__ = ["ContainsScorer", "ExactScorer", "RegexScorer", "make_contains", "make_exact", "make_regex", "normaliser"]
__all__ += ["reference_texts"]

TIME_LIMIT_S = 1.0
"""Seconds that one search may take."""
INLINE_S = 0.02
"""Seconds that a search may hold up everything else, before it is begun again beside it."""
CHOICES = {
    "unicode": ("NFC", "NFKC", "keep"),
    "punctuation": ("keep", "plain"),
    "case": ("keep", "fold"),
    "trim": ("outer", "lines", "none"),
    "whitespace": ("keep", "collapse", "remove"),
}
"""What the settings of `exact` may say; the first of each is the default."""
FLAGS = {"ascii": "A", "dotall": "S", "ignorecase": "I", "multiline": "M", "verbose": "X"}
_PLAIN = str.maketrans(
    {**dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"), **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
)
_LOOSE = {"unicode": "NFKC", "punctuation": "plain"}


def _only_text(scorer: values.Scorer, texts: Texts, role: str) -> str | None:
    """Return the scorer's text of a role, None if the plan has none."""
    text = text_of(scorer, texts, role)
    if text is not None and (not isinstance(text, str) or not text):
        raise refusal(scorer, f"the {role} of {scorer.type} is no text, or an empty one", f"give one {role}:")
    return text


def reference_texts(case: Case) -> list[str]:
    """Return the accepted answers as texts, one that is none as its canonical JSON.

    Raises:
        ScorerError: there is none.
    """
    if not case.references:
        raise ScorerError(f"case {case.id!r} has no reference to compare with")
    return [item if isinstance(item, str) else canonical.encode(item).decode() for item in case.references]


# ---------------------------------------------------------------------------------------------------------- exact


def normaliser(settings: Mapping[str, Any]) -> Callable[[str], str]:
    """Return the function that the settings of `exact` describe; unknown ones must have been refused."""
    chosen = {name: settings.get(name, choices[0]) for name, choices in CHOICES.items()}
    form, fold = chosen["unicode"], chosen["case"] == "fold"

    def composed(text: str) -> str:
        return text if form == "keep" else composed_text(text, form)

    def normalise(text: str) -> str:
        text = composed(text)
        if chosen["punctuation"] == "plain":
            text = text.translate(_PLAIN)
        if fold:
            text = composed(text.casefold())
        if chosen["trim"] == "lines":
            text = "\n".join(line.strip() for line in text.split("\n"))
        if chosen["trim"] != "none":
            text = text.strip()
        if chosen["whitespace"] != "keep":
            text = ("" if chosen["whitespace"] == "remove" else " ").join(text.split())
        return composed(text)  # a letter and its accent may have come together only now

    return normalise


def make_exact(scorer: values.Scorer, texts: Texts) -> ExactScorer:
    """Make an `exact` scorer.

    Raises:
        SpecError: a setting that it does not have.
    """
    require_settings(scorer, set(CHOICES))
    for name, choice in scorer.settings.items():
        if choice not in CHOICES[name]:
            hint = f"choose one of {', '.join(CHOICES[name])}"
            raise refusal(scorer, f"{name} cannot be {choice!r}", hint)
    return ExactScorer(scorer)


class ExactScorer:
    """Whether the answer is a reference."""

    def __init__(self, scorer: values.Scorer) -> None:
        self._scorer = scorer
        self._normalise = normaliser(scorer.settings)
        self._loose = normaliser({**scorer.settings, **_LOOSE})

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer."""
        references = reference_texts(case)
        found = self._normalise(answer)
        for reference in references:
            if self._normalise(reference) == found:
                return pass_or_fail(self._scorer, True, f"equal to {quoted(reference)}")
        reason = f"expected {expected(references)}, found {quoted(answer)}"
        loose = self._loose(answer)
        if any(self._loose(reference) == loose for reference in references):
            reason += "; equal after NFKC+quotes (settings unicode and punctuation)"
        return pass_or_fail(self._scorer, False, reason)


# ------------------------------------------------------------------------------------------------------- contains


def make_contains(scorer: values.Scorer, texts: Texts) -> ContainsScorer:
    """Make a `contains` scorer.

    Raises:
        SpecError: a setting that it does not have, or an empty value.
    """
    require_settings(scorer, {"case_sensitive"})
    sensitive = scorer.settings.get("case_sensitive", True)
    if not isinstance(sensitive, bool):
        raise refusal(scorer, "case_sensitive is neither true nor false", "write case_sensitive: false")
    return ContainsScorer(scorer, _only_text(scorer, texts, "value"), sensitive)


class ContainsScorer:
    """Whether the answer holds a text."""

    def __init__(self, scorer: values.Scorer, value: str | None, sensitive: bool) -> None:
        self._scorer = scorer
        self._value = value
        self._normalise = normaliser({"case": "keep" if sensitive else "fold", "trim": "none"})

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer."""
        wanted = reference_texts(case) if self._value is None else [self._value]
        found = self._normalise(answer)
        for text in wanted:
            sought = self._normalise(text)
            if not sought:
                raise ScorerError(f"case {case.id!r} has an empty reference, which every answer contains")
            if sought in found:
                return pass_or_fail(self._scorer, True, f"contains {quoted(text)}")
        return pass_or_fail(self._scorer, False, f"expected to contain {expected(wanted)}, found {quoted(answer)}")


# ---------------------------------------------------------------------------------------------------------- regex


def make_regex(scorer: values.Scorer, texts: Texts) -> RegexScorer:
    """Make a `regex` scorer.

    Raises:
        SpecError: a setting that it does not have, no pattern, or one that does not compile.
    """
    import regex

    require_settings(scorer, {"flags"})
    names = scorer.settings.get("flags", [])
    if not isinstance(names, list | tuple) or not set(map(str, names)) <= FLAGS.keys():
        raise refusal(scorer, f"flags cannot be {names!r}", f"it is a list of {', '.join(FLAGS)}")
    pattern = _only_text(scorer, texts, "pattern")
    if pattern is None:
        raise refusal(scorer, "regex has no pattern", "add pattern:")
    flags = regex.V0
    for name in names:
        flags |= getattr(regex, FLAGS[name])
    try:
        return RegexScorer(scorer, pattern, regex.compile(pattern, flags))
    except (regex.error, RecursionError, OverflowError) as error:
        raise refusal(scorer, f"the pattern does not compile: {error}", "correct the pattern") from error


class RegexScorer:
    """Whether a pattern is found in the answer."""

    def __init__(self, scorer: values.Scorer, source: str, pattern: Any) -> None:
        self._scorer = scorer
        self._source = source
        self._pattern = pattern

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: the search took too long, or too much memory.
        """
        try:
            found = await self._search(answer)
        except TimeoutError:
            text = f"regex time limit: no result for {quoted(self._source)} within {TIME_LIMIT_S:g} s"
            raise ScorerError(text) from None
        except MemoryError:
            raise ScorerError(f"regex memory limit: {quoted(self._source)} needs more than there is") from None
        if found is None:
            reason = f"expected a match of {quoted(self._source)}, found {quoted(answer)}"
            return pass_or_fail(self._scorer, False, reason)
        return pass_or_fail(self._scorer, True, f"matches {quoted(self._source)}: {quoted(found.group())}")

    async def _search(self, text: str) -> Any:
        """Search at once if it is quick, as nearly every search is; else in a thread that lets others run."""
        try:
            return self._pattern.search(text, timeout=INLINE_S)
        except TimeoutError:
            return await asyncio.to_thread(self._pattern.search, text, timeout=TIME_LIMIT_S, concurrent=True)
