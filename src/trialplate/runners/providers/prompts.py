# SPDX-License-Identifier: Apache-2.0
"""What the requests of all providers are made of: the texts in their order, and the address.

Every provider gets the same words: the system text, and one user text with each document in order ("Document: NAME",
an empty line, its text, an empty line) before the case's input. So two providers differ in their wire format alone.
Files are announced by their names, each before what it holds, and stand before the user text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Attachment, Failure, Request, Shape
from trialplate.runners.providers.replies import shown

__all__ = ["announced", "check", "data_url", "encoded", "endpoint", "file_text", "headers", "renamed", "system"]
__all__ += ["told_form", "user"]


def check(configuration: Configuration, reserved: Iterable[str]) -> None:
    """Refuse settings that the request sets itself, and a configuration without a model id.

    Raises:
        SpecError: RESERVED or MODEL-ID.
    """
    where = f"models.{configuration.model}"
    taken = sorted(set(reserved) & configuration.settings.keys())
    if taken:
        message = f"settings may not hold {', '.join(taken)}: the request sets it itself"
        raise SpecError(message, where=where, hint="remove it from settings", code="RESERVED")
    if configuration.model_id is None:
        hint = "add model: with the provider's id"
        raise SpecError("has no model id to ask for", where=where, hint=hint, code="MODEL-ID")


def system(request: Request) -> list[str]:
    """Return the system texts: one or none."""
    return [text for _, text in _texts(request, "system")]


def user(request: Request) -> str:
    """Return the documents and the case's input as one text."""
    documents = [f"Document: {name}\n\n{text}\n\n" for name, text in _texts(request, "document")]
    return "".join([*documents, request.case.input])


def announced(file: Attachment) -> str:
    """Return what a model is told of every file, also of one that it must open with a tool."""
    return f"[file: {file.name}]"


def data_url(file: Attachment) -> str:
    """Return a file's bytes as an address that holds them."""
    return f"data:{file.type};base64,{encoded(file)}"


def headers(request: Request, *, streamed: bool = False) -> dict[str, str]:
    """Return the headers of a request to an interface of OpenAI's making, the key excepted."""
    return {
        "accept": "text/event-stream" if streamed else "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "x-client-request-id": request.request_id,
    }


def renamed(settings: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    """Return settings as fields of a request.

    Args:
        settings: by the names that authors write.
        names: the field of each that is called otherwise; "a.b" is the member b of the object a.
    """
    made: dict[str, Json] = {}
    for name, value in settings.items():
        outer, _, inner = names[name].partition(".") if name in names else (name, "", "")
        made[outer] = {**made.get(outer, {}), inner: value} if inner else value
    return made


def encoded(file: Attachment) -> str:
    """Return what a file holds as base64."""
    return base64.b64encode(file.data).decode()


def file_text(file: Attachment) -> str:
    """Return what a text file holds.

    Raises:
        Failure: `not_started`: it is no UTF-8, and so no text that a request could hold.
    """
    try:
        return file.data.decode()
    except UnicodeDecodeError:
        raise Failure("not_started", f"the file {file.name} is sent as text and is not UTF-8") from None


def told_form(shape: Shape) -> str:
    """Return the words that ask for an answer's form where the interface does not enforce it."""
    told = json.dumps(shape.schema, indent=2, ensure_ascii=False, sort_keys=True)
    return f"Reply with one JSON object and nothing else. It must meet this JSON Schema:\n\n{told}"


def _texts(request: Request, role: str) -> list[tuple[str, Any]]:
    """Return the names and texts of a role, in the plan's order."""
    return [(text.name, request.texts[role, text.name]) for text in request.configuration.texts if text.role == role]


def endpoint(configuration: Configuration, path: str) -> str:
    """Return the URL to post to: the configuration's base address with `path` behind it.

    Raises:
        SpecError: URL or URL-SECRET: it is no plain http(s) URL, or holds what would stand in every record.
    """
    return _endpoint(configuration.endpoint or "", path, f"models.{configuration.model}")


@lru_cache(maxsize=256)
def _endpoint(base: str, path: str, where: str) -> str:
    hint = "give the base URL, such as https://api.example.com/v1"
    try:
        parts = urlsplit(base)
        plain = parts.scheme in {"http", "https"} and parts.hostname is not None and (parts.port or 1) > 0
    except ValueError:
        plain = False
    if not plain:
        raise SpecError(f"the url {shown(base)!r} is no http(s) URL", where=where, hint=hint, code="URL")
    if parts.username is not None or parts.password is not None:
        message = "the url holds a user or a password, which would stand in every record"
        raise SpecError(message, where=where, hint="name the variable under secret: {env: NAME}", code="URL-SECRET")
    if parts.fragment:
        raise SpecError("the url holds a #fragment, which is never sent", where=where, hint=hint, code="URL")
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))
