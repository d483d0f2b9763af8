# SPDX-License-Identifier: Apache-2.0
"""What is read at a glance is what the strict path reads: on sound lines, unusual ones, and lines damaged anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from value_documents import BAD, GOOD, documents

from trialplate.errors import FormatError
from trialplate.record import canonical, disclosure
from trialplate.record.entries import RECORD_TYPES, TrialEnd, TrialStart
from trialplate.record.glance import opening_reader, trial_reader
from trialplate.record.log import MAX_ENTRY
from trialplate.record.values import CaseId, Commitment, ConfigurationName, Name, Salt, Short, Time
from trialplate.verify.log_file import typed_entry

SEQ = 7
TIME = "2026-11-30T10:00:00.000Z"
TRIAL_TYPES = {"trial.start": TrialStart, "trial.end": TrialEnd}
trial_at_a_glance = trial_reader()
opening_at_a_glance = opening_reader()


def strictly(raw: bytes, seq: int = SEQ) -> str | None:
    """What the strict path makes of a record's line, in every detail; None where it refuses."""
    try:
        entry, body = typed_entry(raw, seq, "r:8", RECORD_TYPES)
    except FormatError:
        return None
    return repr((entry.time, body))


def agree(raw: bytes, seq: int = SEQ) -> bool:
    """Hold a glance against the strict path; say whether the glance had an answer."""
    seen = trial_at_a_glance(raw, seq)
    assert seen is None or repr(seen) == strictly(raw, seq)
    return seen is not None


def strict_opening(raw: bytes) -> Any:
    """What the strict path makes of a line of content."""
    try:
        return repr(disclosure.value_of(canonical.decode(raw), "c:1"))
    except FormatError:
        return None


def agree_on_opening(raw: bytes) -> bool:
    """Hold a glance at an opening against the strict path; say whether the glance had an answer."""
    seen = opening_at_a_glance(raw)
    assert seen is None or repr(seen) == strict_opening(raw)
    return seen is not None


def line(kind: str, body: Any, **changed: Any) -> bytes:
    """Return a canonical line."""
    return canonical.encode({"body": body, "seq": SEQ, "time": TIME, "type": kind, "v": 1, **changed})


COMMITMENT = GOOD[r"[A-Za-z0-9_-]{43}"][1]
START = line("trial.start", {"trial": ["m/default", "q1", 2], "attempt": 1})
PLAIN = line(
    "trial.end",
    {
        "trial": ["m", "q0", 1],
        "attempt": 1,
        "outcome": "failed",
        "cost": {"nano": 0, "currency": "USD"},
        "metrics": {"correct": 0},
        "private": {"answer": COMMITMENT, "reason": COMMITMENT},
        "received": 1,
        "verdict": "failed",
    },
)
CALLED = line(
    "trial.end",
    {
        "trial": ["m", "ünï-✓", 15],
        "attempt": 3,
        "outcome": "passed",
        "status": 200,
        "metrics": {"close": 0.25, "correct": 1},
        "usage": {"input": 9, "output": 999999999999999, "declared": True},
        "latency_ms": 51,
        "wall_ms": 60,
        "finish": "stop",
        "served": "m-2026-01-01 (eu)",
        "requests": ["req-1", "req-2"],
        "calls": [{"digest": "sha256:" + "0" * 64, "replayed": True}],
        "private": {"answer": COMMITMENT},
        "verdict": "passed",
    },
)
FAILED = line(
    "trial.end",
    {
        "trial": ["m", "q0", 1],
        "attempt": 1,
        "outcome": "error",
        "cause": "refused_connection",
        "status": -9,
        "retry": True,
        "ended_by": "harness",
        "unknown": {"correct": "scorer"},
        "private": {"error": COMMITMENT, "served": COMMITMENT, "transcript": COMMITMENT},
    },
)
JUDGED = line(
    "trial.end",
    {
        "trial": ["m", "q0", 1],
        "attempt": 2,
        "outcome": "passed",
        "metrics": {"correct": 1},
        "unknown": {"grounded": "scorer"},
        "answer_of": 1,
        "helper_calls": [{"digest": "sha256:" + "0" * 64}, {"digest": "sha256:" + "1" * 64, "replayed": True}],
        "helper_usage": {"input": 9, "output": 4, "cost_nano": 7, "declared": True},
        "helper_cost": {"nano": 12, "currency": "USD"},
        "private": {"answer": COMMITMENT, "replies": {"a": [], "judge": [COMMITMENT, COMMITMENT]}},
        "verdict": "passed",
    },
)
LEFT_OUT = line("trial.end", {"trial": ["m", "q0", 1], "attempt": 1, "outcome": "skipped", "cause": "incompatible"})
LINES = {"start": START, "plain": PLAIN, "called": CALLED, "failed": FAILED, "judged": JUDGED, "left out": LEFT_OUT}
OPENINGS = {
    "text": b'["0123456789abcdefghijkl","What is 4 and 4?"]',
    "empty": b'["0123456789abcdefghijkl",""]',
    "map": b'["0123456789abcdefghijkl",{"correct":"expected \\"8\\",\\nfound \\\\ \\u0001 \\u001f"}]',
    "letters": '["0123456789abcdefghijkl","é ✓ \ufffe \U0001f600 \x7f"]'.encode(),
}
SNIPPETS = [
    b"",
    b" ",
    b"0",
    b"-",
    b"-0",
    b"1.0",
    b"1e2",
    b"01",
    b"9007199254740993",
    b"null",
    b"true",
    b'"',
    b"\\",
    b",",
]
SNIPPETS += [
    b"\\u0041",
    b"\\u000a",
    b"\\u001F",
    b"\\/",
    b"\x1f",
    b"\x7f",
    b"\xff",
    b"\xc3",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
]
SNIPPETS += [b'"retry":false,', b'"wall_ms":0', b'"by":["x"],', b'"by":[],', b"[" * 70, "é".encode(), "\ue000".encode()]


@pytest.mark.parametrize("raw", LINES.values(), ids=LINES)
def test_line_that_a_run_writes_is_read_at_a_glance(raw: bytes) -> None:
    """The expressions fit what they were made for; else every record would be read the slow way, unseen."""
    assert agree(raw)
    assert not agree(raw, SEQ + 1)


@pytest.mark.parametrize("raw", OPENINGS.values(), ids=OPENINGS)
def test_opening_that_a_run_writes_is_read_at_a_glance(raw: bytes) -> None:
    """A text, and the reasons of one scorer."""
    assert agree_on_opening(raw)


@pytest.mark.parametrize("raw", [*LINES.values(), *OPENINGS.values()], ids=[*LINES, *OPENINGS])
def test_each_byte_changed_or_lost_or_put_in_is_read_as_the_strict_path_reads_it(raw: bytes) -> None:
    """At every place: each bit flipped, the byte gone, doubled, and each snippet put before it or in its place."""
    held: Callable[[bytes], bool] = agree_on_opening if raw.startswith(b"[") else agree
    answered = 0
    for place in range(len(raw) + 1):
        head, byte, tail = raw[:place], raw[place : place + 1], raw[place + 1 :]
        flipped = [bytes([byte[0] ^ 1 << bit]) for bit in range(8)] if byte else []
        for snippet in (*flipped, byte + byte, *SNIPPETS):
            answered += held(head + snippet + tail)
            answered += held(head + snippet + byte + tail)
    assert answered > 0, "some damage is a sound line with another value, such as one letter for another"


@given(
    st.sampled_from(sorted(TRIAL_TYPES)).flatmap(lambda kind: st.tuples(st.just(kind), documents(TRIAL_TYPES[kind])))
)
def test_any_document_of_a_trial_line_is_read_as_the_strict_path_reads_it(drawn: tuple[str, Any]) -> None:
    """Fields that are there with their default, unusual letters, the largest integers: one answer or none."""
    kind, body = drawn
    agree(line(kind, body))


FORMS = [CaseId, Commitment, ConfigurationName, Name, Salt, Short, Time]


@given(
    st.sampled_from(sorted(LINES)),
    st.lists(
        st.sampled_from([text for kind in FORMS for table in (GOOD, BAD) for text in table[kind.__metadata__[0].regex]])
        | st.text(max_size=4),
        min_size=1,
        max_size=2,
    ),
    st.data(),
)
def test_any_text_in_any_field_is_read_as_the_strict_path_reads_it(name: str, texts: list[str], data: Any) -> None:
    """A string that has the form of another field, or of none, escaped as RFC 8785 does it or as others would."""
    document = json.loads(LINES[name])
    for text in texts:
        place = data.draw(st.sampled_from(sorted(_strings(document))), label="place")
        holder = document
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = text
    agree(json.dumps(document, ensure_ascii=data.draw(st.booleans()), separators=(",", ":")).encode("utf-8", "replace"))


@given(st.sampled_from(sorted(LINES)), st.data())
def test_line_damaged_in_several_places_is_read_as_the_strict_path_reads_it(name: str, data: Any) -> None:
    """Bytes cut, replaced and put in, up to four times."""
    raw = LINES[name]
    for _ in range(data.draw(st.integers(1, 4))):
        place, width = data.draw(st.integers(0, len(raw))), data.draw(st.integers(0, 30))
        raw = raw[:place] + data.draw(st.sampled_from(SNIPPETS) | st.binary(max_size=2)) + raw[place + width :]
    agree(raw)


@given(st.text(max_size=30) | st.dictionaries(st.text(max_size=4), st.text(max_size=8), max_size=2), st.booleans())
def test_any_opening_is_read_as_the_strict_path_reads_it(value: Any, sound: bool) -> None:
    """Every string that RFC 8785 can write, and the spellings of it that it does not write."""
    pair = ["0123456789abcdefghijkl", value]
    agree_on_opening(
        canonical.encode(pair) if sound else json.dumps(pair, separators=(",", ":")).encode("utf-8", "replace")
    )


def test_line_that_is_too_long_or_too_deep_is_left_to_the_strict_path() -> None:
    """A glance has no limits of its own that the strict path has not."""
    long = line("trial.end", {**json.loads(PLAIN)["body"], "requests": ["r" * 120] * 600})
    assert len(long) > MAX_ENTRY
    assert not agree(long)
    deep = PLAIN.replace(b'{"correct":0}', b'{"correct":' + b"[" * 63 + b"]" * 63 + b"}")
    assert not agree(deep)


def _strings(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of all strings of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [at] if isinstance(value, str) else []
    return found + [place for step, item in inner for place in _strings(item, (*at, step))]
