# SPDX-License-Identifier: Apache-2.0
"""Cassettes: keys, strict reading, recording, replacing, and what a crash leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trialplate.errors import FormatError, StorageError
from trialplate.record import canonical
from trialplate.transport.cassette import Cassette, cassette_path
from trialplate.transport.exchange import encode_exchange, exchange_key
from trialplate.transport.http import HttpReply, HttpRequest

CASES = Path(__file__).parents[2] / "vectors" / "cases" / "http"
NOON = "2026-01-01T12:00:00.000Z"


def wire(body: Any = None, url: str = "http://127.0.0.1:1/v1/chat/completions", **headers: str) -> HttpRequest:
    """Return a request."""
    return HttpRequest(url=url, headers=headers, body={"model": "m"} if body is None else body)


def reply(text: str = "{}", latency_ms: int = 7, headers: Mapping[str, str] | None = None) -> HttpReply:
    """Return a reply."""
    return HttpReply(status=200, headers=headers or {}, body=text.encode(), latency_ms=latency_ms)


def recorded(path: Path, *entries: tuple[HttpRequest, HttpReply, str, int]) -> Path:
    """Record these exchanges, and return the path."""
    cassette = Cassette.live(path)
    for request, answer, case, repeat in entries:
        cassette.record(request, answer, case=case, repeat=repeat, recorded_at=NOON)
    cassette.close()
    return path


def found(path: Path, request: HttpRequest, case: str, repeat: int) -> HttpReply | None:
    """Replay one exchange."""
    cassette = Cassette.replay(path)
    try:
        return cassette.find(request, case, repeat)
    finally:
        cassette.close()


def test_key_of_requests_that_differ_in_any_setting_differs() -> None:
    """Cases Q01, Q02: temperature, token limit and model are all in the key."""
    requests = json.loads((CASES / "cache_keys.json").read_text())["requests"]
    assert len({exchange_key(wire(body), "q1", 1) for body in requests}) == 5


def test_key_of_the_same_request_written_otherwise_is_the_same() -> None:
    """Key order and 1 against 1.0 do not matter."""
    one = exchange_key(wire({"a": 1, "b": {"c": 2.0, "d": 3}}), "q1", 1)
    assert one == exchange_key(wire({"b": {"d": 3, "c": 2}, "a": 1.0}), "q1", 1)


def test_key_of_another_case_repeat_or_address_differs() -> None:
    """Two cases with one prompt, and two repeats of one case, are separate samples."""
    keys = {exchange_key(wire(), "q1", 1), exchange_key(wire(), "q2", 1), exchange_key(wire(), "q1", 2)}
    keys.add(exchange_key(wire(url="http://127.0.0.1:2/v1/chat/completions"), "q1", 1))
    assert len(keys) == 4


def test_replay_of_recorded_repeats_gives_each_its_own_answer_and_latency(tmp_path: Path) -> None:
    """Cases Q03, Q06: a, b, c by repeat, with the latency of then and marked as replayed."""
    vector = json.loads((CASES / "cache_repeats.json").read_text())
    entries = [
        (wire(), reply(line["answer"], line["latency_ms"]), "q1", line["repeat"] + 1) for line in vector["recorded"]
    ]
    path = recorded(tmp_path / "c" / "m.jsonl", *entries)
    replies = [found(path, wire(), "q1", repeat) for repeat in (1, 2, 3)]
    assert [r and r.body.decode() for r in replies] == vector["expect"]["replay"]
    assert [r and r.latency_ms for r in replies] == vector["expect"]["latency_ms"]
    assert all(r is not None and r.replayed for r in replies)


def test_find_of_what_was_not_recorded_finds_nothing(tmp_path: Path) -> None:
    """Case Q02: model B is never answered by model A's recording."""
    path = recorded(tmp_path / "m.jsonl", (wire({"model": "a"}), reply(), "q1", 1))
    assert found(path, wire({"model": "b"}), "q1", 1) is None
    assert found(path, wire({"model": "a"}), "q1", 2) is None


def test_recorded_line_is_canonical_and_holds_no_header_that_is_not_allowed(tmp_path: Path) -> None:
    """Case Q07: whatever the header is called, its value is not there."""
    secret = "PLANTED-7f3a-not-a-real-key"
    sent = dict.fromkeys(("authorization", "api-key", "x-goog-api-key", "cookie", "x-own"), secret)
    request = wire(**{"content-type": "application/json"}, **sent)
    answer = reply("{}", headers={"set-cookie": secret, "x-request-id": "req-1", "content-type": "application/json"})
    raw = recorded(tmp_path / "m.jsonl", (request, answer, "q1", 1)).read_bytes()
    assert secret.encode() not in raw
    line = canonical.decode(raw.removesuffix(b"\n"))
    assert line["request"]["headers"] == {"content-type": "application/json"}
    assert line["reply"]["headers"] == {"content-type": "application/json", "x-request-id": "req-1"}


def test_recording_again_replaces_that_exchange_and_keeps_the_others(tmp_path: Path) -> None:
    """A pilot that records one case anew does not lose the rest, and no key stands twice."""
    path = tmp_path / "m.jsonl"
    recorded(path, (wire(), reply("old"), "q2", 1), (wire(), reply("kept"), "q1", 1))
    recorded(path, (wire(), reply("new"), "q2", 1))
    assert len(path.read_bytes().splitlines()) == 2
    assert (found(path, wire(), "q2", 1) or reply()).body == b"new"
    assert (found(path, wire(), "q1", 1) or reply()).body == b"kept"


def test_recording_in_any_order_gives_the_same_file(tmp_path: Path) -> None:
    """Requests end in any order; a review of the file should not depend on it."""
    entries = [(wire(), reply(f"{case}{n}"), case, n) for case in ("q1", "q2") for n in (1, 2)]
    one = recorded(tmp_path / "a" / "m.jsonl", *entries).read_bytes()
    assert one == recorded(tmp_path / "b" / "m.jsonl", *reversed(entries)).read_bytes()


def test_live_after_a_crash_takes_over_complete_lines_and_drops_the_torn_one(tmp_path: Path) -> None:
    """What was paid for is kept; half a line never reaches the cassette."""
    path = tmp_path / "m.jsonl"
    crashed = Cassette.live(path)
    crashed.record(wire(), reply("paid"), case="q1", repeat=1, recorded_at=NOON)
    crashed._release()  # as a process that dies: nothing is merged
    left = tmp_path / "m.jsonl.new"
    left.write_bytes(left.read_bytes() + b'{"case":"q2"')
    recorded(path, (wire(), reply("later"), "q3", 1))
    assert [json.loads(line)["case"] for line in path.read_bytes().splitlines()] == ["q1", "q3"]
    assert not left.exists()


def test_live_that_records_nothing_leaves_the_cassette_as_it_is(tmp_path: Path) -> None:
    """Opening and closing changes no byte, and makes no empty file."""
    recorded(tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()
    path = recorded(tmp_path / "m.jsonl", (wire(), reply(), "q1", 1))
    before = path.read_bytes()
    assert recorded(path).read_bytes() == before


def test_live_while_another_records_is_refused(tmp_path: Path) -> None:
    """Two writers would each rename their own merge over the other's."""
    first = Cassette.live(tmp_path / "m.jsonl")
    with pytest.raises(StorageError) as caught:
        Cassette.live(tmp_path / "m.jsonl")
    assert caught.value.code == "CASSETTE-LOCKED"
    first.close()
    Cassette.live(tmp_path / "m.jsonl").close()


def test_live_over_a_damaged_cassette_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """Merging what cannot be read would lose it."""
    path = tmp_path / "m.jsonl"
    path.write_bytes(b"{}\n")
    with pytest.raises(FormatError):
        Cassette.live(path)
    assert path.read_bytes() == b"{}\n"


def test_replay_of_a_pinned_cassette_that_was_changed_is_refused(tmp_path: Path) -> None:
    """The plan names the bytes that will be replayed."""
    path = recorded(tmp_path / "m.jsonl", (wire(), reply("a"), "q1", 1))
    cassette = Cassette.replay(path)
    pinned = cassette.digest
    cassette.close()
    assert pinned == canonical.digest(path.read_bytes())
    Cassette.replay(path, pinned=pinned).close()
    recorded(path, (wire(), reply("b"), "q1", 1))
    with pytest.raises(FormatError) as caught:
        Cassette.replay(path, pinned=pinned)
    assert caught.value.code == "CASSETTE-PIN"


def test_replay_of_no_file_is_refused_with_the_way_to_make_one(tmp_path: Path) -> None:
    """Replay never calls, so there is nothing else it could do."""
    with pytest.raises(StorageError) as caught:
        Cassette.replay(tmp_path / "m.jsonl")
    assert caught.value.code == "CASSETTE-READ"
    assert "--cache live" in caught.value.hint


def _edited(line: bytes, change: Any) -> bytes:
    value = json.loads(line)
    change(value)
    return canonical.encode(value) + b"\n"


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda line: line + line, "CASSETTE-TWICE"),
        (lambda line: line[:-1], "CASSETTE-TORN"),
        (lambda line: line.replace(b":", b": ", 1), "STRICT-NONCANONICAL"),
        (lambda line: b"\n" + line, "STRICT-SYNTAX"),
        (lambda line: _edited(line, lambda v: v.update(format="trialplate-exchange/2")), "VERSION"),
        (lambda line: _edited(line, lambda v: v.update(note="x")), "SCHEMA"),
        (lambda line: _edited(line, lambda v: v["request"].update(body={"model": "other"})), "CASSETTE-KEY"),
        (lambda line: _edited(line, lambda v: v.update(repeat=2)), "CASSETTE-KEY"),
        (lambda line: _edited(line, lambda v: v["reply"].update(status=500)), "CASSETTE-STATUS"),
    ],
)
def test_replay_of_a_damaged_line_is_refused_with_its_place(tmp_path: Path, damage: Any, code: str) -> None:
    """One bad line refuses the file, and says which line it is."""
    path = recorded(tmp_path / "m.jsonl", (wire(), reply(), "q1", 1))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FormatError) as caught:
        Cassette.replay(path)
    assert caught.value.code == code
    assert caught.value.where.startswith("m.jsonl:")


def test_path_of_a_models_cassette_is_in_the_projects_folder(tmp_path: Path) -> None:
    """One file per model."""
    assert cassette_path(tmp_path, "haiku") == tmp_path / "cassettes" / "haiku.jsonl"


# ---------------------------------------------------------------------------------------- programs, pins, odd bytes


def program(method: str = "RUN", **pins: str) -> HttpRequest:
    """Return the exchange of a program."""
    return HttpRequest(method=method, url="command:", body={"shell": "cat", "stdin": "?"}, pins=pins)


def output(raw: bytes, status: int = 0) -> HttpReply:
    """Return what a program said."""
    return HttpReply(status=status, body=raw, latency_ms=7)


@pytest.mark.parametrize("raw", [b"Paris\n", b"", b"\xff\xfe\x00Paris", "\u00e9\U0001f600".encode()])
def test_output_of_a_program_comes_back_byte_for_byte(tmp_path: Path, raw: bytes) -> None:
    """Case D08 recorded: bytes that are not UTF-8 stand in the line in their ASCII form."""
    path = recorded(tmp_path / "m.jsonl", (program(), output(raw), "q1", 1))
    reply_again = found(path, program(), "q1", 1)
    assert reply_again is not None
    assert (reply_again.status, reply_again.body, reply_again.replayed) == (0, raw, True)


def test_pins_are_a_part_of_the_key_and_none_is_as_before(tmp_path: Path) -> None:
    """Another subject is another thing; a line without pins has the key that it always had."""
    path = recorded(tmp_path / "m.jsonl", (program(subject="1"), output(b"a"), "q1", 1))
    assert found(path, program(subject="1"), "q1", 1) is not None
    assert found(path, program(subject="2"), "q1", 1) is None
    assert found(path, program(), "q1", 1) is None
    assert "pins" not in json.loads(recorded(tmp_path / "n.jsonl", (wire(), reply(), "q1", 1)).read_bytes())
    assert exchange_key(HttpRequest(url="https://h", body=1), "q1", 1) == canonical.digest_value(
        {"trialplate": "exchange-key/1", "method": "POST", "url": "https://h", "body": 1, "case": "q1", "repeat": 1}
    )


@pytest.mark.parametrize(
    ("request_", "status"), [(program(), 1), (program("CALL"), 200), (wire(), 0), (wire(), 199), (wire(), 300)]
)
def test_line_without_its_status_of_success_is_refused(tmp_path: Path, request_: HttpRequest, status: int) -> None:
    """0 of a program, 2xx of a server: a failure is never replayed, whoever wrote it there."""
    path = tmp_path / "m.jsonl"
    path.write_bytes(encode_exchange(request_, output(b"x", status), case="q1", repeat=1, recorded_at=NOON))
    with pytest.raises(FormatError) as caught:
        Cassette.replay(path)
    assert caught.value.code == "CASSETTE-STATUS"


@pytest.mark.parametrize("body", [5, None, ["x"], {"ascii_json": 5}, {"ascii_json": '"plain"'}, {"a": "b"}])
def test_line_whose_body_is_no_text_is_refused(tmp_path: Path, body: Any) -> None:
    """A text, or the one form of a text that is not valid Unicode."""
    path = recorded(tmp_path / "m.jsonl", (wire(), reply("x"), "q1", 1))
    line = json.loads(path.read_bytes())
    line["reply"]["body"] = body
    path.write_bytes(canonical.encode(line) + b"\n")
    with pytest.raises(FormatError):
        Cassette.replay(path)


def test_exchange_too_long_to_be_read_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one line would make the whole cassette unreadable."""
    monkeypatch.setattr("trialplate.transport.cassette.LINE_BYTES", 1000)
    path = recorded(tmp_path / "m.jsonl", (wire(), reply("x" * 1000), "q1", 1), (wire(), reply("x"), "q2", 1))
    assert found(path, wire(), "q1", 1) is None
    assert found(path, wire(), "q2", 1) is not None
