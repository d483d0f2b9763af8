# SPDX-License-Identifier: Apache-2.0
"""The wire format of embeddings, two pure functions: what is sent for some texts, and what a reply means.

What is sent: `model`, `input` as a list of texts, and the configuration's settings as they are; the reply's vectors are
asked for as numbers, which is the interface's default. What is read: `data`, put in the order of its `index`, the
model that answered, and `prompt_tokens`; an embedder writes nothing, so its output is 0 where its input is known. A
vector that is not all finite numbers is no vector, and the reply is `bad_reply`.

Source: OpenAI API reference, "Create embeddings" (POST /embeddings) and "The embedding object", read in 2026-11.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trialplate.record.entries import Usage
from trialplate.runners.base import Answer, Request
from trialplate.runners.providers import prompts, replies
from trialplate.transport.http import HttpRequest

__all__ = ["RESERVED", "build_request", "parse_reply"]

RESERVED = ("model", "input", "encoding_format")
_PATH = "/embeddings"


def build_request(request: Request, texts: Sequence[str]) -> HttpRequest:
    """Return what is sent to embed some texts, the key excepted.

    Raises:
        SpecError: settings that the request sets itself, no model id, or an endpoint that is no plain http(s) URL.
    """
    configuration = request.configuration
    prompts.check(configuration, RESERVED)
    return HttpRequest(
        url=prompts.endpoint(configuration, _PATH),
        headers={
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "x-client-request-id": request.request_id,
        },
        body={**configuration.settings, "model": configuration.model_id, "input": list(texts)},
    )


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the vectors of a reply, as `transcript` of an answer without text.

    Raises:
        Failure: `http_status` for a status other than 2xx or an error object inside a 200; `bad_reply` for a reply
            without vectors.
    """
    value = replies.read_json(body)
    if not 200 <= status <= 299:
        message = f"status {status}: {replies.error_text(value) or replies.snippet(body)}"
        raise replies.failure("http_status", message, value, headers, body, status=status)
    value = replies.require_object(value, headers, body)
    if value.get("error") is not None:
        code = replies.error_code(value["error"])
        message = f"an error inside a status {status}: {replies.error_text(value) or replies.snippet(body)}"
        raise replies.failure("http_status", message, value, headers, body, status=code or status)
    usage, served = _usage(value.get("usage")), value.get("model")
    vectors = _vectors(value.get("data"))
    if vectors is None:
        message = f"the reply has no list of embeddings: {replies.snippet(body)}"
        raise replies.failure("bad_reply", message, value, headers, body, usage=usage)
    return Answer(
        text="",
        usage=usage,
        served=served if isinstance(served, str) and served else None,
        request_ids=replies.request_ids(value, headers),
        received=len(body),
        transcript={"embeddings": vectors},
    )


def _vectors(data: Any) -> list[list[float]] | None:
    """Return the vectors in the order of the texts; None if they are none, or stand in no order."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        return None
    places = [item.get("index", number) for number, item in enumerate(data)]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(len(data))):
        return None
    found = dict(zip(places, (item.get("embedding") for item in data), strict=True))
    vectors: list[list[float]] = []
    for place in range(len(data)):
        vector = found[place]
        if not isinstance(vector, list) or not all(type(x) in (int, float) for x in vector):
            return None
        try:
            vectors.append([float(x) for x in vector])
        except OverflowError:
            return None
        if not all(map(math.isfinite, vectors[-1])):
            return None
    return vectors


def _usage(raw: Any) -> Usage | None:
    tokens = replies.count(raw, "prompt_tokens")
    return None if tokens is None else Usage(input=tokens, output=0)
