# SPDX-License-Identifier: Apache-2.0
"""Embeddings as pure functions: what is sent for some texts, and what a reply means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialplate.errors import SpecError
from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration
from trialplate.runners.base import Answer, Failure, Request
from trialplate.runners.providers.openai_embeddings import build_request, parse_reply

REPLY: dict[str, Any] = {
    "object": "list",
    "data": [
        {"object": "embedding", "index": 0, "embedding": [0.0023064255, -0.009327292]},
        {"object": "embedding", "index": 1, "embedding": [1, -1e-7]},
    ],
    "model": "text-embedding-3-small",
    "usage": {"prompt_tokens": 8, "total_tokens": 8},
}
"""The reply of the API reference, with two texts."""


def request(**changes: Any) -> Request:
    """Return a call of an embedder."""
    fields: dict[str, Any] = {"runner": "openai", "model_id": "text-embedding-3-small", "interface": "embeddings"}
    fields |= {"endpoint": "https://api.example.com/v1", "settings": {"dimensions": 2}, **changes}
    asked = Configuration(name="e", model="e", profile="default", **fields)
    return Request(configuration=asked, case=Case(id="q", input=""), repeat=1, attempt=1, timeout_s=1, request_id="r-1")


def parsed(body: Any, status: int = 200) -> Answer:
    """Parse a reply."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return parse_reply(status, {"content-type": "application/json", "x-request-id": "req-1"}, raw)


def test_request_holds_model_texts_and_settings_and_no_key() -> None:
    """As the reference has it; vectors come as numbers by default, so nothing asks for them."""
    made = build_request(request(), ["one", "two"])
    assert (made.method, made.url) == ("POST", "https://api.example.com/v1/embeddings")
    assert made.body == {"model": "text-embedding-3-small", "input": ["one", "two"], "dimensions": 2}
    assert "authorization" not in made.headers


@pytest.mark.parametrize("setting", ["model", "input", "encoding_format"])
def test_setting_that_the_request_sets_itself_is_refused(setting: str) -> None:
    """Else vectors could come in another form than is read."""
    with pytest.raises(SpecError, match=setting):
        build_request(request(settings={setting: "x"}), ["one"])


def test_reply_gives_vectors_in_the_order_of_the_texts() -> None:
    """Their index says which is whose; the input's tokens are all that there are."""
    answer = parsed({**REPLY, "data": REPLY["data"][::-1]})
    assert answer.transcript == {"embeddings": [[0.0023064255, -0.009327292], [1.0, -1e-7]]}
    assert (answer.usage, answer.served) == (Usage(input=8, output=0), "text-embedding-3-small")
    assert answer.request_ids == ("req-1",)
    assert parsed({**REPLY, "usage": None}).usage is None


@pytest.mark.parametrize(
    "data",
    [
        None, {}, [1], [{"index": 0}], [{"index": 0, "embedding": "AAAA"}], [{"index": 0, "embedding": [True]}],
        [{"index": 1, "embedding": [1.0]}], [{"index": 0, "embedding": [1.0]}] * 2, [{"index": "0", "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0, None]}], [{"index": 0, "embedding": [10**400]}],
    ],
)  # fmt: skip
def test_reply_without_vectors_is_none_that_can_be_used(data: Any) -> None:
    """Base64, gaps, and what is no number: nothing is guessed, and what was billed is told."""
    with pytest.raises(Failure) as caught:
        parsed({**REPLY, "data": data})
    assert (caught.value.kind, caught.value.usage) == ("bad_reply", Usage(input=8, output=0))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_vector_with_a_number_that_is_none_is_no_vector(number: str) -> None:
    """What Python's reader takes, no arithmetic may."""
    raw = json.dumps(REPLY).replace("-0.009327292", number).encode()
    with pytest.raises(Failure, match="no list of embeddings"):
        parsed(raw)


def test_error_is_told_whatever_its_status() -> None:
    """An error object inside a 200 is one, too; a page is no reply."""
    error = {"error": {"message": "model not found", "code": None}}
    with pytest.raises(Failure, match="status 404: model not found") as caught:
        parsed(error, 404)
    assert caught.value.status == 404
    with pytest.raises(Failure, match="an error inside a status 200: model not found"):
        parsed({**error, "data": []})
    with pytest.raises(Failure, match="non-JSON"):
        parsed(b"<html>")
