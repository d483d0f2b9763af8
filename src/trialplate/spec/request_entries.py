# SPDX-License-Identifier: Apache-2.0
"""How an author describes the one request that asks a service, and how its reply is read.

Everything here but the body stands in the public plan, so an address or a header that looks like a key is refused. The
one placeholder is `{{input}}`, in the url and in texts of the body.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, model_validator
from pydantic_core import PydanticCustomError

from trialplate.spec.fields import Author, Many
from trialplate.spec.placeholders import INPUT

__all__ = ["HeaderName", "RequestEntry", "ResponseEntry", "TokensEntry", "check_address"]

_SECRET_WORDS = ("key", "token", "secret", "password", "signature", "sig", "code")
_OWN_HEADERS = frozenset(
    {"connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)
_SECRET_HEADERS = ("authorization", "cookie", "credential", "key", "password", "secret", "token")


def check_address(value: str) -> str:
    """Return an address that is one and holds no secret.

    Raises:
        PydanticCustomError: it is none.
    """
    try:
        parts = urlsplit(value)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        port_is_valid, parts = False, urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid:
        raise PydanticCustomError("url", "expected an address such as https://api.example.com/v1")
    if "@" in parts.netloc or parts.fragment:
        raise PydanticCustomError("url", "an address holds neither a user, a password nor a fragment: plans are public")
    queried = [name.lower() for name, text in parse_qsl(parts.query) if text != INPUT]
    if any(word in name for name in queried for word in _SECRET_WORDS):
        raise PydanticCustomError(
            "url", "a key in an address would be published with the plan; write secret: {env: NAME}"
        )
    return value


def _request_url(value: str) -> str:
    check_address(value)
    if "{" in urlsplit(value).netloc:
        raise PydanticCustomError("url", "the input stands in the path or the query, never in the host")
    return value


RequestUrl = Annotated[str, AfterValidator(_request_url), Field(max_length=1000)]


def _header(value: str) -> str:
    name = value.lower()
    if name in _OWN_HEADERS:
        raise PydanticCustomError("header", "this header belongs to the connection, and the client sets it")
    return name


HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"), AfterValidator(_header)]
HeaderText = Annotated[str, StringConstraints(pattern=r"^([!-~]([ -~]{0,998}[!-~])?)?$")]
Pointer = Annotated[str, StringConstraints(pattern=r"^(/([^~]|~[01])*)?$", max_length=500)]
"""A JSON Pointer; "" is the whole reply."""


class RequestEntry(Author):
    """The one request that asks a service."""

    url: RequestUrl
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: dict[HeaderName, HeaderText] = {}  # noqa: RUF012  the models are frozen and copy their defaults
    body: (
        Annotated[
            Annotated[dict[str, Any], Tag("as a map")] | Annotated[Many[Any], Tag("as a list")],
            Discriminator(lambda value: "as a list" if isinstance(value, list | tuple) else "as a map"),
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _holds_the_input(self) -> RequestEntry:
        if self.method == "GET" and self.body is not None:
            raise PydanticCustomError("request_body", "a GET has no body; put {{input}} into the url, or write POST")
        if INPUT not in self.url and not _holds(self.body, INPUT):
            raise PydanticCustomError(
                "request_input", "{{input}} is nowhere, so the question would not be sent; put it into body or url"
            )
        for name in self.headers:
            if any(word in name for word in _SECRET_HEADERS):
                raise PydanticCustomError(
                    "request_header", "a key in headers would be published with the plan; write secret: beside request:"
                )
        return self


def _holds(value: Any, text: str) -> bool:
    """Say whether a text stands in any of the texts of a value; keys do not count."""
    if isinstance(value, str):
        return text in value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return any(_holds(item, text) for item in items)


class TokensEntry(Author):
    """Where a reply says how many tokens it took."""

    input: Pointer | None = None
    output: Pointer | None = None


class ResponseEntry(Author):
    """How a service's reply is read."""

    pointer: Pointer | None = None
    tokens: TokensEntry | None = None
