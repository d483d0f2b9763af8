# SPDX-License-Identifier: Apache-2.0
"""Scorers of JSON answers: `json-schema` and `json-subset`. Each yields 1 or 0, and a verdict.

json-schema   the answer is a JSON value that meets the plan's schema (draft 2020-12, its text of role `schema`).
              Nothing is fetched. Formats in `spec.answer_schemas.FORMATS` are checked, others are not. Patterns are
              those of the `regex` package. All of it has a time limit, for a pattern may try for ever, and so may a
              schema that refers to itself in several ways, on an answer that is nested deep
json-subset   the answer is a JSON value that holds a reference: of an object every key, recursively, and others may
              stand beside them; of an array the same number of items, one by one; numbers by value, and true is not 1;
              texts to the character; null is null. A reference that is a text and begins with { or [ is read as JSON

Setting of both: `parse`, see `transport.json_answers`. An answer that is no JSON has failed; that is no error.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextvars import ContextVar
from fractions import Fraction
from itertools import islice
from typing import Any

from trialplate.errors import FormatError
from trialplate.record import canonical, values
from trialplate.record.frozen import Json
from trialplate.record.values import Case
from trialplate.scorers.base import (
    NO_CONTEXT,
    Score,
    ScorerContext,
    ScorerError,
    Texts,
    pass_or_fail,
    quoted,
    refusal,
    require_settings,
    text_of,
)
from trialplate.scorers.text_match import INLINE_S, TIME_LIMIT_S
from trialplate.spec.answer_schemas import FORMATS, Parse
from trialplate.transport.json_answers import PARSES, NoJson, json_in

__all__ = ["JsonSchemaScorer", "JsonSubsetScorer", "answered_value", "make_json_schema", "make_json_subset"]
__all__ += ["parse_of", "read_reference"]

SHOWN = 3
LOOKED_AT = 1000
"""Violations that are sorted before the first ones are shown."""
LONG = 20_000
"""Characters of an answer above which validating it may hold up everything else."""
_CUT = 200
MOST_S = 60
"""Seconds that validating one answer may take, however long it is."""
_until: ContextVar[float] = ContextVar("_until")
"""When the validation under way shall be over."""


def parse_of(scorer: values.Scorer) -> Parse:
    """Return how JSON is found in an answer.

    Raises:
        SpecError: the setting `parse` does not take what is written.
    """
    parse: Any = scorer.settings.get("parse", PARSES[0])
    if parse not in PARSES:
        raise refusal(scorer, f"parse cannot be {parse!r}", f"choose one of {', '.join(PARSES)}")
    found: Parse = parse
    return found


async def answered_value(answer: str, parse: Parse) -> Json:
    """Return an answer's value; a long answer is read in a thread that lets others run.

    Raises:
        NoJson: it has none.
    """
    return _found(answer, parse) if len(answer) <= LONG else await asyncio.to_thread(_found, answer, parse)


def _found(answer: str, parse: Parse) -> Json:
    """Return an answer's value; what else could have read it is told with the reason, unless it is long.

    Raises:
        NoJson: it has none.
    """
    try:
        return json_in(answer, parse)
    except NoJson as error:
        for other in PARSES[PARSES.index(parse) + 1 :] if len(answer) <= LONG else ():
            try:
                json_in(answer, other)
            except NoJson:
                continue
            raise NoJson(f"{error}; parse: {other} would find a value") from None
        raise


# ---------------------------------------------------------------------------------------------------- json-schema


def make_json_schema(scorer: values.Scorer, texts: Texts) -> JsonSchemaScorer:
    """Make a `json-schema` scorer.

    Raises:
        SpecError: a setting that it does not have, or no schema.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    require_settings(scorer, {"parse"})
    schema = text_of(scorer, texts, "schema")
    if not isinstance(schema, dict):
        raise refusal(scorer, "json-schema has no schema", "add schema:")
    try:
        wrong = best_match(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema))
        problem = None if wrong is None else wrong.message[:_CUT]
    except RecursionError:
        problem = "it is nested too deep"
    if problem is not None:
        raise refusal(scorer, f"its schema is none of draft 2020-12: {problem}", "correct the schema")
    return JsonSchemaScorer(scorer, schema, parse_of(scorer))


class JsonSchemaScorer:
    """Whether the answer meets a schema."""

    def __init__(self, scorer: values.Scorer, schema: dict[str, Any], parse: Parse) -> None:
        self._scorer, self._parse = scorer, parse
        self._validator = _validator(schema)

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: it took too long, or the schema cannot be followed.
        """
        from referencing.exceptions import Unresolvable
        from regex import error as no_pattern

        try:
            value = await answered_value(answer, self._parse)
        except NoJson as error:
            return pass_or_fail(self._scorer, False, f"{error}; found {quoted(answer)}")
        try:
            wrong = await self._violations(value, answer)
        except TimeoutError:
            raise ScorerError(f"time limit: the schema had no result within {_seconds(answer):g} s") from None
        except RecursionError:
            raise ScorerError("the schema goes deeper than can be followed") from None
        except (Unresolvable, no_pattern) as error:  # of a plan that nobody checked
            raise ScorerError(f"the schema cannot be followed: {str(error)[:_CUT]}") from None
        if wrong:
            return pass_or_fail(self._scorer, False, "; ".join(wrong))
        return pass_or_fail(self._scorer, True, "the schema is met")

    async def _violations(self, value: Json, answer: str) -> list[str]:
        """Validate at once if that is quick; else in a thread that lets others run."""
        try:
            if len(answer) <= LONG:
                return self._within(value, INLINE_S)
        except TimeoutError:
            pass
        return await asyncio.to_thread(self._within, value, _seconds(answer))

    def _within(self, value: Json, seconds: float) -> list[str]:
        _until.set(time.monotonic() + seconds)
        return violations(self._validator, value)


def _seconds(answer: str) -> float:
    """Return how long validating an answer may take: a long one has more to be looked at."""
    return min(MOST_S, TIME_LIMIT_S * (1 + len(answer) // LONG))


def violations(validator: Any, value: Json) -> list[str]:
    """Return the first violations, sorted as texts: "pointer: what is wrong", with <root> for the empty pointer."""
    told = (f"{_pointer(error.absolute_path)}: {error.message}" for error in validator.iter_errors(value))
    return sorted(text[:_CUT] for text in islice(told, LOOKED_AT))[:SHOWN]


def _pointer(path: Any) -> str:
    """Return a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path) or "<root>"


def _validator(schema: dict[str, Any]) -> Any:
    from jsonschema import Draft202012Validator, FormatChecker, validators
    from referencing import Registry

    known = FormatChecker(tuple(name for name in FORMATS if name != "date-time"))
    known.checkers = {**known.checkers, "date-time": (_is_date_time, ())}
    keywords = {
        "$ref": _in_time(Draft202012Validator.VALIDATORS["$ref"]),
        "$dynamicRef": _in_time(Draft202012Validator.VALIDATORS["$dynamicRef"]),
        "multipleOf": _multiple_of,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    make: Any = validators.extend
    bounded = make(Draft202012Validator, keywords)
    return bounded(schema, registry=Registry(), format_checker=known)


def _is_date_time(value: object) -> bool:
    """Say whether a text is a date and time of RFC 3339; of a leap second, no."""
    import re
    from datetime import datetime

    if not isinstance(value, str):
        return True
    form = r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
    match = re.fullmatch(form, value)
    try:
        return match is not None and bool(datetime.fromisoformat(f"{match[1]}T{match[2]}{match[3].upper()}"))
    except ValueError:
        return False


def _left() -> float:
    """Return what is left of the time, in seconds; raises TimeoutError if nothing is."""
    left = _until.get() - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _search(pattern: str, text: str) -> bool:
    """Search within what is left of the time."""
    import regex

    return regex.search(pattern, text, regex.V0, timeout=_left(), concurrent=True) is not None


def _in_time(follow: Any) -> Any:
    """Return what follows a reference while there is time: whatever never ends follows some again and again."""

    def check(validator: Any, reference: str, instance: Any, schema: Any) -> Iterator[Any]:
        _left()
        yield from follow(validator, reference, instance, schema) or ()

    return check


def _error(message: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message)


def _multiple_of(validator: Any, factor: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Divide the decimals as they are written: 4.35 is a multiple of 0.01, and of their binary neighbours it is not."""
    if isinstance(instance, int | float) and not isinstance(instance, bool):
        number, step = (Fraction(canonical.encode(item).decode()) for item in (instance, factor))
        if number % step:
            yield _error(f"{instance!r} is not a multiple of {factor}")


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _search(pattern, instance):
        yield _error(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    for pattern, inner in patterns.items() if isinstance(instance, dict) else ():
        for key, item in instance.items():
            if _search(pattern, key):
                yield from validator.descend(item, inner, path=key, schema_path=pattern)


def _additional_properties(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for key, item in instance.items():
        if key in known or any(_search(pattern, key) for pattern in patterns):
            continue
        if rule is False:
            yield _error(f"{key!r} is not one of its properties")
        else:
            yield from validator.descend(item, rule, path=key)


def _unique_items(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Compare by canonical bytes, in which equal values are equal: pairs would take for ever."""
    if rule and isinstance(instance, list) and len({canonical.encode(item) for item in instance}) < len(instance):
        yield _error("it holds the same item more than once")


# ---------------------------------------------------------------------------------------------------- json-subset


def make_json_subset(scorer: values.Scorer, texts: Texts) -> JsonSubsetScorer:
    """Make a `json-subset` scorer.

    Raises:
        SpecError: a setting that it does not have.
    """
    require_settings(scorer, {"parse"})
    return JsonSubsetScorer(scorer, parse_of(scorer))


class JsonSubsetScorer:
    """Whether the answer holds a reference."""

    def __init__(self, scorer: values.Scorer, parse: Parse) -> None:
        self._scorer, self._parse = scorer, parse

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: the case has no reference, or one that is no JSON.
        """
        if not case.references:
            raise ScorerError(f"case {case.id!r} has no reference to compare with")
        try:
            wanted = [read_reference(item) for item in case.references]
        except FormatError as error:
            raise ScorerError(f"a reference of case {case.id!r} is {error.message}") from None
        try:
            value = await answered_value(answer, self._parse)
        except NoJson as error:
            return pass_or_fail(self._scorer, False, f"{error}; found {quoted(answer)}")
        first: list[str] = []
        for reference in wanted:
            wrong = list(islice(_missing(reference, value, ()), SHOWN))
            if not wrong:
                return pass_or_fail(self._scorer, True, f"holds {_shown(reference)}")
            first = first or wrong
        others = f"; nor does it hold one of {len(wanted) - 1} more" if len(wanted) > 1 else ""
        return pass_or_fail(self._scorer, False, "; ".join(first) + others)


def read_reference(reference: Json) -> Json:
    """Return the value that a reference means: a text that begins with { or [ is JSON, as in a cell of a CSV file.

    Raises:
        FormatError: it begins so and is none.
    """
    if isinstance(reference, str) and reference.strip()[:1] in ("{", "["):
        return canonical.parse(reference.strip().encode())
    return reference


def _missing(wanted: Json, found: Json, path: tuple[str | int, ...]) -> Iterator[str]:
    """Yield what of a reference is not there."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, item in wanted.items():
            if key not in found:
                yield f"{_pointer((*path, key))}: is not there"[:_CUT]
            else:
                yield from _missing(item, found[key], (*path, key))
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _missing(one, other, (*path, index))
    elif not _equal(wanted, found):
        yield f"{_pointer(path)}: expected {_shown(wanted)}, found {_shown(found)}"[: 2 * _CUT]


def _equal(wanted: Json, found: Json) -> bool:
    """Compare scalars: numbers by value, and nothing else across kinds."""
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, int | float) and isinstance(found, int | float):
        return wanted == found
    return type(wanted) is type(found) and not isinstance(wanted, dict | list) and bool(wanted == found)


def _shown(value: Json) -> str:
    text = canonical.encode(value).decode()
    return text if len(text) <= _CUT // 2 else f"{text[: _CUT // 2]}... ({len(text)} characters)"
