# SPDX-License-Identifier: Apache-2.0
"""What the replies of all far ends have in common: strict JSON, counts, ids, and how what is no answer is told.

Pure functions over a reply's headers and bytes; what a field means is each provider's own to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from trialplate.record.entries import Usage
from trialplate.record.flaws import MAX_INTEGER
from trialplate.runners.base import Failure

__all__ = ["SNIPPET", "UNREADABLE", "count", "error_code", "error_text", "event_data", "failure", "is_short"]
__all__ += ["json_text", "read_json", "reason_of", "request_ids", "require_object", "sendable", "shown", "snippet"]
__all__ += ["unreadable"]

SNIPPET = 200
"""Characters of a foreign text that a message quotes."""
UNREADABLE = object()
"""What `read_json` returns for a body that is no JSON."""
_SHORT = re.compile(r"[ -~]{1,128}")
_LEVELS = 128
"""How deep a reply may be nested: twice what a record holds, and far from what a walk through it cannot take."""


def read_json(body: bytes) -> Any:
    """Return a body's value, or `UNREADABLE`.

    Lone surrogates, NaN and large numbers may stand anywhere in what a far end sends, and are looked at where a field
    is used; a key that stands twice is two replies in one, and what is nested deeper than any answer is none.
    """
    try:
        value = json.loads(body.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return UNREADABLE
    return value if body.count(b"[") + body.count(b"{") <= _LEVELS or _is_shallow(value) else UNREADABLE


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(_LEVELS):
        held = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [child for items in held for child in items if isinstance(child, dict | list)]
        if not level:
            return True
    return False


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def event_data(body: bytes) -> Iterator[bytes]:
    """Yield the data of a stream's events, each of one line, as all providers send them."""
    for line in body.replace(b"\r\n", b"\n").split(b"\n"):
        if line.startswith(b"data:"):
            yield line[len(b"data:") :].strip()


def unreadable(headers: Mapping[str, str], body: bytes) -> Failure:
    """Return the failure of a body that is no JSON: one that was cut is told from one that never was."""
    media = headers.get("content-type", "no content type").partition(";")[0].strip()
    undeclared = "content-length" not in headers and "chunked" not in headers.get("transfer-encoding", "")
    if undeclared and body.lstrip()[:1] == b"{" and not body.rstrip().endswith(b"}"):
        message = f"the reply was cut after {len(body)} bytes: {snippet(body)}"
        return failure("transport", message, None, headers, body)
    return failure("bad_reply", f"non-JSON body ({shown(media)}): {snippet(body)}", None, headers, body)


def require_object(value: Any, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """Return the JSON object that `read_json` found in a body.

    Raises:
        Failure: `bad_reply`, or `transport` for a body that was cut: it holds none.
    """
    if value is UNREADABLE:
        raise unreadable(headers, body)
    if not isinstance(value, dict):
        raise failure("bad_reply", f"the reply is no JSON object: {snippet(body)}", value, headers, body)
    return value


def failure(
    kind: Any,
    message: str,
    value: Any,
    headers: Mapping[str, str],
    body: bytes,
    *,
    status: int | None = None,
    usage: Usage | None = None,
) -> Failure:
    """Return the failure of a complete reply without an answer.

    Args:
        kind: a `FailureKind`.
        value: what the body holds, if it could be read.
        status: the HTTP status, where that is what is wrong.
        usage: what was billed all the same.
    """
    served = value.get("model") if isinstance(value, dict) else None
    return Failure(
        kind,
        message,
        status=status,
        sent=True,
        received=len(body),
        request_ids=request_ids(value, headers),
        usage=usage,
        served=served if isinstance(served, str) and served else None,
    )


def count(holder: Any, name: str) -> int | None:
    """Return a count of tokens; None if it is not there or is none."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if type(value) is int and 0 <= value <= MAX_INTEGER else None


def request_ids(value: Any, headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ids by which the far end knows this exchange, each once."""
    found = [headers.get("x-request-id"), headers.get("request-id")]
    if isinstance(value, dict):
        found += [value.get("request_id"), value.get("id")]
    return tuple(dict.fromkeys(item for item in found if is_short(item)))


def is_short(value: Any) -> TypeGuard[str]:
    """Say whether a value is a text that a record may hold in the open."""
    return isinstance(value, str) and _SHORT.fullmatch(value) is not None


def reason_of(value: Any) -> str | None:
    """Return why a reply stopped; what is no word for it is a reason that nobody knows."""
    return value if value is None or isinstance(value, str) else "unknown"


def error_code(error: Any) -> int | None:
    """Return the HTTP status that an error object names, if it names one."""
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    text = str(code) if isinstance(code, int | str) and not isinstance(code, bool) else ""
    return int(text) if re.fullmatch("[45][0-9]{2}", text, re.ASCII) else None


def error_text(value: Any) -> str:
    """Return what a far end says went wrong, in the forms that are in use."""
    error = value.get("error", value) if isinstance(value, dict) else None
    for found in (error.get("message"), error.get("detail")) if isinstance(error, dict) else (error,):
        if isinstance(found, str) and found:
            return shown(found)
    return ""


def sendable(value: Any) -> Any:
    """Return what came from elsewhere as it can be sent: lone surrogates, which no UTF-8 holds, are U+FFFD in it."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [sendable(item) for item in value]
    if isinstance(value, dict):
        return {sendable(name): sendable(item) for name, item in value.items()}
    return value


def json_text(value: Any) -> str:
    """Return a value of a reply as a text of JSON, with whatever characters it holds."""
    return json.dumps(value, ensure_ascii=False)


def snippet(body: bytes) -> str:
    """Return the beginning of a body as text."""
    return shown(body[: SNIPPET * 4].decode(errors="replace"))


def shown(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= SNIPPET else text[:SNIPPET] + "..."
