# SPDX-License-Identifier: Apache-2.0
"""One recorded exchange with a far end: the line of a cassette, its key, and the strict reading of such lines.

The key is the digest of everything that makes the answer this answer: method, URL, the whole body, the case, the
repeat, and the pins (what is not sent or not kept, such as the author's `subject`). So repeats, settings and models
never share one, and key order or 1 against 1.0 do not matter. No header value is kept except those of an allow-list. A
line is read only if it is canonical, has exactly these fields, a status of success, and the key that its own request
gives.

A program is an exchange too: `RUN command:` or `CALL python:` with its words, its files and its input for a body, and
its exit status, which must be 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, BinaryIO, Literal

from trialplate.errors import FormatError
from trialplate.record import canonical, codec
from trialplate.record.frozen import Json, Pattern, Value
from trialplate.record.values import CaseId, Count, Digest, Positive, Time
from trialplate.transport.http import HttpReply, HttpRequest

__all__ = ["LINE_BYTES", "Exchange", "Index", "RecordedReply", "RecordedRequest", "encode_exchange", "exchange_key"]
__all__ += ["index_lines", "read_exchange"]

PROGRAMS = frozenset({"RUN", "CALL"})
"""Methods of programs: their status of success is 0."""
REQUEST_HEADERS = frozenset({"anthropic-version", "content-type"})
REPLY_HEADERS = frozenset({"content-type", "request-id", "x-request-id"})
LINE_BYTES = 64 * 1024 * 1024
"""The longest line that is read, and so the longest that is written."""

Index = dict[bytes, int]
"""Where each key's line begins; keys as 32 bytes, since a large cassette has 100,000 of them."""


class RecordedRequest(Value):
    """What was sent."""

    method: Annotated[str, Pattern(r"[A-Z]{1,16}")]
    url: str
    headers: Mapping[str, str] = {}
    body: Json
    pins: Mapping[str, str] = {}


class RecordedReply(Value):
    """What came back: complete, and with a status of success."""

    status: Count
    headers: Mapping[str, str] = {}
    body: Json
    """The text of the body, secrets replaced; `{"ascii_json": ...}` if it is not valid Unicode."""
    latency_ms: Count


class Exchange(Value):
    """One line of a cassette."""

    format: Literal["trialplate-exchange/1"] = "trialplate-exchange/1"
    key: Digest
    case: CaseId
    repeat: Positive
    recorded_at: Time
    request: RecordedRequest
    reply: RecordedReply


def exchange_key(request: HttpRequest | RecordedRequest, case: str, repeat: int) -> str:
    """Return the digest by which an exchange is found: of method, URL, body, pins, case, repeat, and nothing else."""
    keyed: dict[str, Json] = {
        "trialplate": "exchange-key/1",
        "method": request.method,
        "url": request.url,
        "body": request.body,
        "case": case,
        "repeat": repeat,
    }
    if request.pins:
        keyed["pins"] = dict(request.pins)
    return canonical.digest_value(keyed)


def encode_exchange(request: HttpRequest, reply: HttpReply, *, case: str, repeat: int, recorded_at: str) -> bytes:
    """Return the line of an exchange, LF included."""
    exchange = Exchange(
        key=exchange_key(request, case, repeat),
        case=case,
        repeat=repeat,
        recorded_at=recorded_at,
        request=RecordedRequest(
            method=request.method,
            url=request.url,
            headers=_allowed(request.headers, REQUEST_HEADERS),
            body=request.body,
            pins=request.pins,
        ),
        reply=RecordedReply(
            status=reply.status,
            headers=_allowed(reply.headers, REPLY_HEADERS),
            body=canonical.text_out(reply.body.decode(errors="surrogateescape")),
            latency_ms=reply.latency_ms,
        ),
    )
    return canonical.encode(codec.to_json(exchange)) + b"\n"


def read_exchange(line: bytes, where: str) -> Exchange:
    """Read one line, without its LF.

    Raises:
        FormatError: it is damaged, of another version, no success, or its key is not that of its request.
    """
    exchange = codec.decode(Exchange, canonical.decode(line, where, LINE_BYTES), where)
    success = range(1) if exchange.request.method in PROGRAMS else range(200, 300)
    if exchange.reply.status not in success:
        message = f"a status {exchange.reply.status} is no answer and is never recorded"
        raise FormatError(message, where=where, hint="remove this line", code="CASSETTE-STATUS")
    canonical.text_in(exchange.reply.body)
    if exchange.key != exchange_key(exchange.request, exchange.case, exchange.repeat):
        hint = "the request was edited after it was recorded; record it again with --cache live"
        raise FormatError("the key is not that of this request", where=where, hint=hint, code="CASSETTE-KEY")
    return exchange


def index_lines(file: BinaryIO, name: str, *, torn: bool) -> tuple[Index, str, int]:
    """Read a whole cassette, every line strictly.

    Args:
        file: open at any position.
        name: what to call it in errors, which add the line number.
        torn: a last line without LF is left out instead of refused, and a repeated key takes its last line: the file
            is one that a crash may have left.

    Returns:
        Where each key stands, the digest of the bytes, and the offset at which the complete lines end.

    Raises:
        FormatError: a line that cannot be read, or CASSETTE-TWICE: two lines of one key.
    """
    index: Index = {}
    digest = hashlib.sha256()
    offset = 0
    file.seek(0)
    for number, line in enumerate(file, 1):
        where = f"{name}:{number}"
        digest.update(line)
        if not line.endswith(b"\n"):
            if torn:
                break
            hint = "the file was cut; take it from version control, or remove this line"
            raise FormatError("the last line has no end", where=where, hint=hint, code="CASSETTE-TORN")
        exchange = read_exchange(line[:-1], where)
        key = packed(exchange.key)
        if key in index and not torn:
            message = f"case {exchange.case!r}, repeat {exchange.repeat}: the same request is recorded on two lines"
            raise FormatError(message, where=where, hint="remove one of them", code="CASSETTE-TWICE")
        index[key] = offset
        offset += len(line)
    return index, "sha256:" + digest.hexdigest(), offset


def packed(key: str) -> bytes:
    """Return a key as 32 bytes."""
    return bytes.fromhex(key.removeprefix("sha256:"))


def _allowed(headers: Mapping[str, str], names: frozenset[str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name in names}
