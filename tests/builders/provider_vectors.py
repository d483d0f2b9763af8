# SPDX-License-Identifier: Apache-2.0
"""The golden requests and replies of tests/vectors/providers, as requests and answers."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from trialplate.record.values import Case, Configuration, PlanText
from trialplate.runners.base import Answer, Attachment, Request, Shape, Tool, Turn
from trialplate.runners.hosted import provider_module
from trialplate.spec.providers import provider_of
from trialplate.spec.providers.base import wrong_settings

__all__ = ["FILES", "VECTORS", "named", "present", "read", "request_of", "vector_of"]

VECTORS = Path(__file__).parents[1] / "vectors" / "providers"
FILES = sorted(VECTORS.glob("*/*.json"))
KEYS = {"absent", "answer", "documents", "endpoint", "failure", "feature", "files", "input", "instructions", "model_id"}
KEYS |= {"reply", "request", "settings", "shape", "source", "system", "then", "tools"}


def vector_of(path: Path) -> dict[str, Any]:
    """Return a vector, which has no unknown keys."""
    vector: dict[str, Any] = json.loads(path.read_text())
    assert not vector.keys() - KEYS, f"unknown keys {vector.keys() - KEYS}"
    return vector


def present() -> list[Path]:
    """Return the files of features that a provider has."""
    return [path for path in FILES if "absent" not in vector_of(path)]


def named(path: Path) -> str:
    """Return what a vector is called."""
    return f"{path.parent.name}/{path.stem}"


def request_of(runner: str, vector: dict[str, Any], turns: tuple[Turn, ...] = ()) -> Request:
    """Return the attempt that a vector is about."""
    provider = provider_of(runner, vector["model_id"])
    settings = {**provider.defaults, **vector.get("settings", {})}
    assert not list(wrong_settings(provider, settings))
    roles = [("system", "", vector["system"])] if "system" in vector else []
    roles += [("document", name, text) for name, text in vector.get("documents", {}).items()]
    configuration = Configuration(
        name="m",
        model="m",
        profile="default",
        runner=runner,
        model_id=vector["model_id"],
        endpoint=vector.get("endpoint", provider.url),
        settings=settings,
        texts=tuple(PlanText(role=role, name=name, commitment="A" * 43) for role, name, _ in roles),
    )
    shape = vector.get("shape")
    return Request(
        configuration=configuration,
        case=Case(id="c1", input=vector["input"]),
        texts={(role, name): text for role, name, text in roles},
        repeat=1,
        attempt=1,
        timeout_s=60,
        request_id="trial-1",
        files=tuple(_file(item) for item in vector.get("files", [])),
        shape=None if shape is None else Shape(schema=shape["schema"], mode=shape["mode"]),
        instructions=tuple(vector.get("instructions", [])),
        tools=tuple(Tool(**item) for item in vector.get("tools", [])),
        turns=turns,
    )


def _file(item: dict[str, Any]) -> Attachment:
    data = base64.b64decode(item["base64"], validate=True) if "base64" in item else item["text"].encode()
    named = {name: item[name] for name in ("name", "type", "native", "detail") if name in item}
    return Attachment(data=data, **named)


def read(runner: str, vector: dict[str, Any]) -> Answer:
    """Return what the reply of a vector is read as."""
    reply = vector["reply"]
    body = reply["body"] if isinstance(reply["body"], str) else json.dumps(reply["body"], ensure_ascii=False)
    headers = {"content-type": "application/json", **reply.get("headers", {})}
    return provider_module(runner).parse_reply(reply.get("status", 200), headers, body.encode())
