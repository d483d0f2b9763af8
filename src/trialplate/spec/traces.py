# SPDX-License-Identifier: Apache-2.0
"""A recorded agent run, from the bytes of its file: its steps, its final answer, tokens and time.

Two kinds of file are read, and a file that is neither is refused:

native         {"steps": [{"tool": "...", "input": ..., "output": ...}], "final_output": "..."}. Other keys are not
               read. It knows no tokens and no time. `steps` decides: whatever stands beside it, the file is native
OpenTelemetry  one object with `resourceSpans`, a list of such objects, or one on each line: see `otel_traces`

JSON is read as strictly as elsewhere (no duplicate key, no NaN) but for integers of any size, since clocks count
nanoseconds: one that a record could not hold becomes its decimal text. Half of a surrogate pair, of which such files
have some where a text was cut, becomes U+FFFD.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from trialplate.errors import FormatError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.flaws import MAX_INTEGER
from trialplate.record.frozen import Json
from trialplate.spec import otel_traces
from trialplate.spec.trajectories import Step, steps_json, steps_of

__all__ = ["MAX_NESTING", "Trace", "read_native", "read_trace"]

MAX_NESTING = 48
"""Levels of what a step holds: a transcript has 64, of which some stand around it."""
_MAX_DIGITS = 400
_FORMS = 'it is {"steps": [...]} or an OpenTelemetry export with resourceSpans, as one object or one on each line'


@dataclass(frozen=True, slots=True)
class Trace:
    """What a file tells of one run."""

    steps: tuple[Step, ...]
    final: str | None = None
    """The final answer; None if it tells none, "" if it is empty."""
    usage: Usage | None = None
    """None is unknown, never zero. It is the file's own word."""
    latency_ms: int | None = None

    @property
    def text(self) -> str:
        """Return what is scored as the answer: the final one, else the steps as canonical JSON."""
        if self.final is not None:
            return self.final
        return canonical.encode({"steps": steps_json(self.steps)}).decode()


def read_trace(data: bytes, where: str = "") -> Trace:
    """Read a recorded run.

    Args:
        data: the whole file.
        where: what to call it in an error.

    Raises:
        FormatError: TRACE: it cannot be read; the message says why.
    """
    try:
        return _read(data)
    except FormatError as error:
        raise FormatError(error.message, where=where, hint=error.hint or _FORMS, code="TRACE") from None
    except RecursionError:
        raise FormatError("it is nested too deep", where=where, hint=_FORMS, code="TRACE") from None


def read_native(text: str) -> Trace:
    """Read an answer that is a trajectory in the native form.

    Raises:
        FormatError: it is none.
    """
    try:
        value = _json(text)
    except (json.JSONDecodeError, RecursionError):
        value = None
    if not isinstance(value, dict) or "steps" not in value:
        raise FormatError("this is no trajectory", hint=_FORMS, code="TRACE")
    return _native(value)


def _read(data: bytes) -> Trace:
    documents = _documents(_text(data))
    only = documents[0] if len(documents) == 1 else None
    if isinstance(only, dict) and "steps" in only:
        return _native(only)
    if not documents or not all(isinstance(item, dict) and "resourceSpans" in item for item in documents):
        raise FormatError("this is no trace")
    told = otel_traces.read_spans(documents)
    return Trace(_held(told.steps), told.final, told.usage, told.latency_ms)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"it is not UTF-8, from byte {error.start + 1} on") from None


def _documents(text: str) -> list[Json]:
    """Return the objects of a file: the whole of it, the items of its list, or its lines."""
    try:
        whole = _json(text)
    except json.JSONDecodeError as error:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(" \t\r")]
        if error.msg != "Extra data" or len(lines) < 2:
            raise FormatError(f"it is no JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
        return [_line(number, line) for number, line in lines]
    return whole if isinstance(whole, list) else [whole]


def _line(number: int, line: str) -> Json:
    try:
        return _json(line)
    except json.JSONDecodeError as error:
        raise FormatError(f"line {number} is no JSON: {error.msg} at column {error.colno}") from None


def _json(text: str) -> Json:
    return json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_constant, object_pairs_hook=_object)


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise FormatError(f"it holds an integer of {len(text)} digits")
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise FormatError(f"it holds the number {text[:40]}, which is too large")
    return number


def _constant(text: str) -> None:
    raise FormatError(f"it holds {text}, which is no JSON")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise FormatError(f"an object has the key {json.dumps(twice)[:80]} twice")
    return made


def _native(value: dict[str, Any]) -> Trace:
    final = value.get("final_output")
    if final is not None and not isinstance(final, str):
        raise FormatError('"final_output" is no text', hint="write a text, or leave it out")
    return Trace(_held(tuple(steps_of(value["steps"]))), None if final is None else _clean(final))


def _held(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return steps as a record can hold them."""
    return tuple(Step(_clean(step.tool), _plain(step.input), _plain(step.output)) for step in steps)


def _plain(value: Json, level: int = 0) -> Json:
    """Return a value as a record can hold it."""
    if level > MAX_NESTING:
        raise FormatError(f"a step holds more than {MAX_NESTING} levels of nesting")
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, dict):
        return {_clean(name): _plain(item, level + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, level + 1) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > MAX_INTEGER:
        return str(value)
    return value


def _clean(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
