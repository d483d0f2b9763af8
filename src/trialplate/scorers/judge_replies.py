# SPDX-License-Identifier: Apache-2.0
"""How the reply of a judge is read, in each of its three modes. Deterministic: a re-score reads the same.

verdicts  {"verdict": word, each further metric: true | false | null, "reason": text}. The word's weight is the first
          metric, `fully_` before its name is 1 only for the weight 1, null leaves that metric unknown
score     {"score": number, "reason": text} on the plan's scale; a number outside it is no score, and never cut to it.
          Forms that a plan allows by name: `fraction`, the text "8/10" where the scale ends in 10; `labelled`, a reply
          without JSON that holds `Score: 0.3` exactly once
schema    a value that meets the plan's `verdict_format`; it passes if it is one of `passing_verdicts`, compared as
          MindTrial's values (`scorers.value`), or meets their schema

JSON is found by the plan's `parse`. Members that nobody asked for are passed over. Whatever else came is unreadable,
with a reason that quotes nothing: it is told to the judge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Protocol

from trialplate.record import canonical, values
from trialplate.record.matrix import FULLY
from trialplate.record.values import Case
from trialplate.scorers.base import Texts, quoted, refusal
from trialplate.scorers.json_scorers import JsonSchemaScorer
from trialplate.scorers.value import canonical_text, canonical_value
from trialplate.spec.answer_schemas import Parse
from trialplate.spec.judge_words import DEFAULT_FORMAT, DEFAULT_PASSING, KNOWN_METRICS, word_key
from trialplate.transport.json_answers import NoJson, json_in

__all__ = ["Reader", "Reading", "Unreadable", "reader_of"]

_NUMBER = r"(-?[0-9]+(?:\.[0-9]+)?)"
_END = r"(?![0-9]|[.,][0-9]|\s*[/%])"
_LABEL = re.compile(rf"\bscore\s*[:=]\s*{_NUMBER}(?:\s*/\s*([0-9]+(?:\.[0-9]+)?))?{_END}", re.IGNORECASE)
_LABELS = re.compile(r"\bscore\s*[:=]", re.IGNORECASE)
_FRACTION = re.compile(rf"\s*{_NUMBER}\s*/\s*([0-9]+(?:\.[0-9]+)?)\s*")
_MOST_DIGITS = 40


class Unreadable(Exception):
    """A reply that holds no verdict in the form that was asked for; the message says why, and quotes nothing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says."""

    metrics: Mapping[str, float]
    verdict: Literal["passed", "failed"] | None
    """None: a metric that it needs is unknown."""
    told: str
    """The verdict in words, with the judge's reason."""
    unknown: tuple[str, ...] = ()


class Reader(Protocol):
    """One mode with its settings."""

    @property
    def asked(self) -> str:
        """Return how a judge is told to reply."""
        ...

    async def read(self, case: Case, text: str) -> Reading:
        """Return what a reply says.

        Raises:
            Unreadable: it is in no form that the plan takes.
        """
        ...


def reader_of(scorer: values.Scorer, texts: Texts) -> Reader:
    """Return the reader of a scorer's mode.

    Raises:
        SpecError: SCORER: its settings are none of a judge.
    """
    mode = scorer.settings.get("mode")
    if mode == "verdicts":
        return _Verdicts(scorer)
    if mode == "score":
        return _Scores(scorer)
    if mode == "schema":
        return _Schema(scorer, texts)
    raise refusal(scorer, f"a judge has no mode {mode!r}", "choose verdicts, score or schema")


def _object(text: str, parse: Parse) -> dict[str, Any]:
    try:
        value = json_in(text, parse)
    except NoJson as error:
        raise Unreadable(f"it holds no single JSON value ({str(error).partition(':')[0]})") from None
    if not isinstance(value, dict):
        raise Unreadable("it is JSON, and no object")
    return value


def _reason(said: Mapping[str, Any]) -> str:
    reason = said.get("reason")
    return f": {reason}" if isinstance(reason, str) and reason.strip() else ""


@dataclass
class _Verdicts:
    scorer: values.Scorer
    weights: dict[str, Fraction] = field(init=False)
    needed: dict[str, Fraction] = field(init=False)

    def __post_init__(self) -> None:
        settings: Any = self.scorer.settings
        weights = {word: Fraction(weight) for word, weight in settings["verdicts"].items()}
        # By weight and not by place: a plan's keys are sorted, and a resumed run shall ask in the same words.
        self.weights = dict(sorted(weights.items(), key=lambda item: (-item[1], item[0])))
        self.words = {word_key(word): word for word in self.weights}
        self.needed = {name: Fraction(least) for name, least in settings["pass_when"].items()}
        self.parse: Parse = settings["parse"]
        first, *further = self.scorer.metrics
        self.first, self.fully = first, FULLY + first
        self.further = [name for name in further if name != self.fully]

    @property
    def asked(self) -> str:
        words = ", ".join(f'"{word}"' for word in self.weights)
        lines = [f'- "verdict": one of {words}']
        for name in self.further:
            meaning = f", {KNOWN_METRICS[name]}" if name in KNOWN_METRICS else ", null if it cannot be told"
            lines.append(f'- "{name}": true or false{meaning}')
        lines.append('- "reason": one sentence that says why')
        return "\n".join(["Reply with one JSON object and nothing else, with these members:", *lines])

    async def read(self, case: Case, text: str) -> Reading:
        said = _object(text, self.parse)
        word = said.get("verdict")
        if not isinstance(word, str) or word_key(word) not in self.words:
            raise Unreadable('"verdict" is none of the words that were given')
        word = self.words[word_key(word)]
        weight = self.weights[word]
        found = {self.first: weight, self.fully: Fraction(weight == 1)}
        unknown = []
        for name in self.further:
            if name not in said or not (said[name] is None or isinstance(said[name], bool)):
                raise Unreadable(f'"{name}" is neither true nor false nor null')
            if said[name] is None:
                unknown.append(name)
            else:
                found[name] = Fraction(said[name])
        metrics = {name: float(value) for name, value in found.items() if name in self.scorer.metrics}
        return Reading(metrics, self._verdict(found), word + _reason(said), tuple(unknown))

    def _verdict(self, found: Mapping[str, Fraction]) -> Literal["passed", "failed"] | None:
        """Fail by any metric that falls short; else an unknown one leaves it open."""
        if any(name in found and found[name] < least for name, least in self.needed.items()):
            return "failed"
        return "passed" if self.needed.keys() <= found.keys() else None


class _Scores:
    def __init__(self, scorer: values.Scorer) -> None:
        settings: Any = scorer.settings
        self.metric = scorer.metric
        self.low, self.high = (Fraction(end) for end in settings["scale"])
        self.ends: tuple[str, str] = tuple(settings["scale"])
        self.threshold = Fraction(settings["threshold"])
        self.forms: list[str] = settings.get("forms", [])
        self.parse: Parse = settings["parse"]

    @property
    def asked(self) -> str:
        low, high = self.ends
        members = f'- "score": a number from {low} to {high}\n- "reason": one sentence that says why'
        return f"Reply with one JSON object and nothing else, with these members:\n{members}"

    async def read(self, case: Case, text: str) -> Reading:
        if "labelled" in self.forms and "{" not in text:
            value, told = self._labelled(text), ""
        else:
            said = _object(text, self.parse)
            value, told = self._number(said.get("score")), _reason(said)
        if not self.low <= value <= self.high:
            raise Unreadable(f"the score is outside the scale from {self.ends[0]} to {self.ends[1]}")
        share = float((value - self.low) / (self.high - self.low))
        shown = f"{float(value):g} on {self.ends[0]}..{self.ends[1]}"
        return Reading({self.metric: share}, "passed" if value >= self.threshold else "failed", shown + told)

    def _number(self, found: Any) -> Fraction:
        if isinstance(found, int | float) and not isinstance(found, bool):
            return Fraction(repr(found))
        if isinstance(found, str) and "fraction" in self.forms:
            match = _FRACTION.fullmatch(found)
            if match is not None and len(found) <= _MOST_DIGITS:
                return self._of(match[1], match[2])
        raise Unreadable('"score" is no number')

    def _labelled(self, text: str) -> Fraction:
        found = list(_LABEL.finditer(text))
        if len(found) != 1 or len(_LABELS.findall(text)) != 1 or len(found[0][0]) > _MOST_DIGITS:
            raise Unreadable("it holds neither JSON nor one labelled score")
        if found[0][2] is None:
            return Fraction(found[0][1])
        if "fraction" not in self.forms:
            raise Unreadable("the score is a fraction")
        return self._of(found[0][1], found[0][2])

    def _of(self, number: str, whole: str) -> Fraction:
        """Return a fraction's number, where what it is counted of is the end of the scale, which begins at 0."""
        if self.low != 0 or Fraction(whole) != self.high:
            raise Unreadable(f"the fraction is not one of the scale from {self.ends[0]} to {self.ends[1]}")
        return Fraction(number)


class _Schema:
    def __init__(self, scorer: values.Scorer, texts: Texts) -> None:
        settings: Any = scorer.settings
        self.scorer, self.parse = scorer, settings["parse"]
        self.format: Any = texts.get(("schema", "verdict_format"), DEFAULT_FORMAT)
        self._form = JsonSchemaScorer(scorer, self.format, self.parse)
        passing: Any = texts.get(("value", "passing_verdicts"), DEFAULT_PASSING)
        self._passing = JsonSchemaScorer(scorer, passing, self.parse) if isinstance(passing, dict) else None
        self._literal = (
            None if isinstance(passing, dict) else [canonical_value(item, canonical_text) for item in passing]
        )

    @property
    def asked(self) -> str:
        told = canonical.encode(self.format).decode()
        return f"Reply with one JSON value and nothing else. It must meet this JSON Schema:\n{told}"

    async def read(self, case: Case, text: str) -> Reading:
        try:
            said = json_in(text, self.parse)
        except NoJson as error:
            raise Unreadable(f"it holds no single JSON value ({str(error).partition(':')[0]})") from None
        if (await self._form.score(case, text)).verdict != "passed":
            raise Unreadable("it does not meet the JSON Schema that was given")
        if self._passing is not None:
            passed = (await self._passing.score(case, text)).verdict == "passed"
        else:
            passed = canonical_value(said, canonical_text) in (self._literal or [])
        metrics = dict.fromkeys(self.scorer.metrics, float(passed))
        return Reading(metrics, "passed" if passed else "failed", quoted(canonical.encode(said).decode()))
