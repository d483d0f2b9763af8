# SPDX-License-Identifier: Apache-2.0
"""How a number is read from a text: one rule for references, which are checked early, and for answers.

A word (a run without blanks) is a number if all of it is one: 42, -3.5, .5, 6e23. Around it, brackets, quotes, the
marks `*`, `_`, `~` and "`", and at its end `. , ; : ! ?`, are no part of it. Everything that could be meant in two ways
is no number, and says why, unless a setting says how it is meant:

    1,234   1.234,5   1 234     separators: {thousands: ",", decimal: "."}
    20%   20 %   20 per cent    percent: keep (20% is 20) or divide (20% is 0.2)
    5km   $5                    units: [km]: spellings of one unit, before or after the number, glued or apart
    20 million   3 / 4   9+9   minus 5    never

So a word that holds a digit and is no number is never passed over for another one. A word that follows apart, as in
"72 clips", is no unit. Numbers are exact decimals of at most 60 digits and an exponent of at most two digits; a longer
one, like 1e400, is none, and equals nothing.

What this module refuses to do: guess, round, read words such as "seven".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from trialplate.record.frozen import Json

__all__ = ["Found", "NumberRules", "find_number", "number_rules", "reference_problem", "whole_number"]

MAX_DIGITS = 60
_EXPONENT = re.compile(r"[eE][+-]?0*[0-9]{1,2}")
_LEADING = "([{<\"'*_~`\u201c\u2018\u00ab"
_TRAILING = ")]}>\"'*_~`\u201d\u2019\u00bb.,;:!?"
_JOINING = "\u00a0\u202f\u2007\u2009"
"""Blanks that hold a number together: what they join is one word."""
_WORD = re.compile("[^ \t-\r\x1c-\x1f\x85\u1680\u2000-\u2006\u2008\u200a\u2028\u2029\u205f\u3000]+")
"""Anything but the other blanks: one class, since an answer may have millions of words."""
_DIGIT = re.compile(r"\d")
_PERCENT = re.compile(r"[%\u2030\uff05]")
_SCALES = {"hundred", "thousand", "lakh", "million", "crore", "billion", "trillion", "quadrillion", "dozen"}
_SCALES |= {f"{scale}s" for scale in _SCALES} | {"mn", "mio", "bn"}
_PERCENT_WORDS = frozenset({"percent", "pct", "percentage"})
_PER = frozenset({"cent", "centum", "mille", "mil"})
_NEGATIVE = frozenset({"minus", "negative"})
_OPERATORS = frozenset("+-*/^=\u00d7\u00f7\u2212\u2013\u00b1") - {"="}
_SHOWN = 60
_LONGEST = 1000
"""Characters of a text that may be one number with its unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRules:
    """How numbers are written, by the plan."""

    thousands: str = ""
    """One character between groups of three digits; "" for none."""
    decimal: str = "."
    percent: Literal["refuse", "keep", "divide"] = "refuse"
    units: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What stood where the number was looked for."""

    text: str = ""
    """The words, as they are written; "" if nothing with a digit was there."""
    number: Decimal | None = None
    problem: str = ""
    """Why it is no number."""
    absurd: bool = False
    """Too long to be one, and so equal to nothing, not even to the same text."""


def whole_number(text: str, rules: NumberRules) -> Found:
    """Read a text that shall be one number and nothing else."""
    text = text.strip()
    if len(text) > _LONGEST:
        return Found(text=_shown(text), problem="more than a number", absurd=True)
    words = _WORD.findall(text)
    if not words:
        return Found(problem="nothing")
    at = 1 if len(words) > 1 and _bare_unit(words[0], rules.units) else 0
    read, rest = _read(words, at, rules)
    if read.number is not None and rest < len(words):
        return Found(text=text, problem="more than a number")
    return Found(text=text, number=read.number, problem=read.problem, absurd=read.absurd)


def find_number(text: str, which: Literal["first", "last"], rules: NumberRules) -> Found:
    """Read the first or the last word that holds a digit."""
    words = _WORD.findall(text)
    order = range(len(words)) if which == "first" else range(len(words) - 1, -1, -1)
    for at in order:
        if _DIGIT.search(words[at]):
            return _read(words, at, rules)[0]
    return Found(problem="no number in it")


def _read(words: Sequence[str], at: int, rules: NumberRules) -> tuple[Found, int]:
    """Read the word at an index with what belongs to it; returns what was found, and the index behind it."""
    if len(words[at]) > _LONGEST:
        return Found(text=_shown(words[at]), problem="too long or too large to be a number", absurd=True), at + 1
    word = _bare(words[at])
    after = at + 1
    shown = word
    following = words[after].lower() if after < len(words) else ""
    percent = _PERCENT.search(word) is not None
    length = _percent_words(words, after)
    if not percent and length:
        percent, shown, after = True, " ".join([word, *map(_bare, words[after : after + length])]), after + length
    digits = word.rstrip("%\uff05") if percent else word
    digits = _without_unit(digits, rules.units)
    if after == at + 1 and following and _bare_unit(words[after], rules.units):
        shown, after = f"{shown} {_bare_unit(words[after], rules.units)}", after + 1
    problem, absurd = _problem(digits, rules), _is_absurd(digits)
    if not problem and percent and rules.percent == "refuse":
        problem = "a percent sign"
    if not problem:
        problem = _neighbours(words, at, after, digits)
    if problem:
        return Found(text=_shown(shown), problem=problem, absurd=absurd), after
    number = _decimal(digits, rules)
    if percent and rules.percent == "divide":
        sign, figures, exponent = number.as_tuple()
        number = Decimal((sign, figures, int(exponent) - 2))  # exact, where a context would round
    return Found(text=shown, number=number), after


def _percent_words(words: Sequence[str], at: int) -> int:
    """Return how many words from an index on say that the number before them is a percentage; 0 if none does."""
    said = [_bare(word).lower() for word in words[at : at + 2]]
    if said and (_PERCENT.match(words[at]) or said[0] in _PERCENT_WORDS):
        return 1
    return 2 if said[:1] == ["per"] and said[-1] in _PER else 0


def _bare(word: str) -> str:
    return word.lstrip(_LEADING).rstrip(_TRAILING)


def _bare_unit(word: str, units: Sequence[str]) -> str:
    """Return the unit that a word is, "" if it is none."""
    return next((unit for unit in units if unit in (word, _bare(word))), "")


def _without_unit(word: str, units: Sequence[str]) -> str:
    """Return a word without the unit that is glued to it."""
    for unit in sorted(units, key=len, reverse=True):
        if word.endswith(unit) and word != unit:
            return word[: -len(unit)].rstrip(_JOINING)
        if word.startswith(unit) and word != unit:
            return word[len(unit) :]
        if word[:1] in "+-\u2212" and word[1:].startswith(unit):
            return word[0] + word[1 + len(unit) :]
    return word


def _pattern(rules: NumberRules) -> str:
    whole = "[0-9]+"
    if rules.thousands:
        whole = rf"(?:[0-9]{{1,3}}(?:{re.escape(rules.thousands)}[0-9]{{3}})+|[0-9]+)"
    point = re.escape(rules.decimal)
    return rf"[+\-\u2212]?(?:{whole}(?:{point}[0-9]+)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"


def _problem(word: str, rules: NumberRules) -> str:
    """Return why a word is no number, "" if it is one."""
    if _is_absurd(word):
        return "too long or too large to be a number"
    if re.fullmatch(_pattern(rules), word):
        return ""
    if _PERCENT.search(word):
        return "a percent sign"
    if re.fullmatch(r"[+\-\u2212]?[0-9][0-9.,'\u2019_" + _JOINING + r"]*", word):
        return "separators that may mean thousands or decimals"
    return "something glued to the number" if _DIGIT.search(word) else "no number"


def _is_absurd(word: str) -> bool:
    exponent = re.search(r"[0-9.]([eE][+-]?[0-9]+)$", word)
    if sum(char.isdigit() for char in word[: 4 * MAX_DIGITS]) > MAX_DIGITS or len(word) > 4 * MAX_DIGITS:
        return True
    return exponent is not None and _EXPONENT.fullmatch(exponent[1]) is None


def _neighbours(words: Sequence[str], at: int, after: int, digits: str) -> str:
    """Return what the words beside a number make of it, if it is then no number by itself."""
    before = words[at - 1] if at else ""
    follows = words[after] if after < len(words) else ""
    if before in _OPERATORS or follows in _OPERATORS:
        return "a part of an expression"
    if _bare(before).lower() in _NEGATIVE:
        return f'"{_bare(before)}" stands before it'
    if _bare(follows).lower() in _SCALES:
        return f'"{_bare(follows)}" follows it'
    # 12 345 may be one number or two.
    if re.fullmatch("[0-9]{3}", digits) and re.fullmatch(r"[+\-\u2212]?[0-9]{1,3}", before):
        return "digits before it, which may belong to it"
    is_group = re.fullmatch("[0-9]{3}", re.split(r"[^0-9]", follows, maxsplit=1)[0]) is not None
    if words[at][-1:].isdigit() and is_group and re.fullmatch(r"[+\-\u2212]?[0-9]{1,3}", digits):
        return "digits behind it, which may belong to it"
    return ""


def _decimal(word: str, rules: NumberRules) -> Decimal:
    text = word.replace(rules.thousands, "") if rules.thousands else word
    return Decimal(text.replace("\u2212", "-").replace(rules.decimal, "."))


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def number_rules(settings: Mapping[str, Any]) -> NumberRules:
    """Return the rules that the settings of a plan's scorer describe.

    Raises:
        ValueError: a setting is none of its kind; a plan need not come from an author's file that was checked.
    """
    separators, percent = settings.get("separators", {}), settings.get("percent", "refuse")
    units = settings.get("units", [])
    if percent not in ("refuse", "keep", "divide"):
        raise ValueError(f"percent cannot be {percent!r}")
    if not isinstance(separators, dict) or not separators.keys() <= {"thousands", "decimal"}:
        raise ValueError("separators has thousands and decimal")
    marks = {"thousands": "", "decimal": ".", **separators}
    if not all(isinstance(mark, str) and len(mark) <= 1 for mark in marks.values()) or not marks["decimal"]:
        raise ValueError("a separator is one character")
    if not isinstance(units, list | tuple) or not all(isinstance(unit, str) and unit for unit in units):
        raise ValueError("units is a list of texts")
    return NumberRules(**marks, percent=percent, units=tuple(units))


def reference_problem(reference: Json, find: str, rules: NumberRules) -> str:
    """Return why an accepted answer could never be what a text is compared with, "" if it could.

    Args:
        reference: a text or a number.
        find: where the number is looked for, as the scorer says.
        rules: how numbers are written.
    """
    if isinstance(reference, bool) or not isinstance(reference, str | int | float):
        return "is neither a number nor a text"
    if not isinstance(reference, str):
        return ""
    read = whole_number(reference, rules)
    if read.absurd:
        return "is too long or too large to be a number, and nothing equals it"
    if find in ("first", "last") and not _DIGIT.search(reference):
        return f"holds no digit, and find: {find} looks for a word that does"
    return ""
