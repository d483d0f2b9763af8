# SPDX-License-Identifier: Apache-2.0
"""Golden requests and replies of every provider: what is sent byte for byte, and what a reply is read as.

Each file of tests/vectors/providers names the page of the provider's documentation that it follows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from provider_vectors import FILES, named, present, read, request_of, vector_of

from trialplate.record.entries import Usage
from trialplate.rules.cells import HOSTED_RUNNERS
from trialplate.runners.base import Failure, ToolResult, Turn
from trialplate.runners.hosted import provider_module
from trialplate.spec.providers import RUNNERS, provider_of

ROOT = Path(__file__).parents[3]
FEATURES = (
    "text",
    "system-prompt",
    "image",
    "document",
    "structured-output",
    "tool-call",
    "refusal",
    "truncation",
    "error-in-200",
    "missing-usage",
)


def test_hosted_runners_of_the_auditor_are_those_of_the_plan() -> None:
    """Whose failure it is, and whether a call must be named, is decided by the auditor's own list."""
    assert set(RUNNERS) == HOSTED_RUNNERS


@pytest.mark.parametrize("path", present(), ids=named)
def test_request_is_the_golden_one(path: Path) -> None:
    """URL, headers and body are those of the provider's documentation."""
    vector = vector_of(path)
    made = provider_module(path.parent.name).build_request(request_of(path.parent.name, vector))
    wanted = vector["request"]

    assert wanted["body"] == made.body
    assert wanted["url"] == made.url
    assert wanted.get("headers", {}).items() <= {**made.headers}.items()


@pytest.mark.parametrize("path", present(), ids=named)
def test_reply_is_read_as_the_golden_answer(path: Path) -> None:
    """Text, usage, finish reason, served model, tool calls and refusals; or the failure that it is."""
    vector = vector_of(path)
    if "failure" in vector:
        with pytest.raises(Failure) as caught:
            read(path.parent.name, vector)
        assert vector["failure"] == {name: getattr(caught.value, name) for name in vector["failure"]}
        return
    answer = read(path.parent.name, vector)
    wanted = dict(vector["answer"])
    if isinstance(wanted.get("usage"), dict):
        wanted["usage"] = Usage(**wanted["usage"])
    if "tool_calls" in wanted:
        calls = [(c.id, c.name, json.loads(c.arguments)) for c in answer.tool_calls]
        assert [(c["id"], c["name"], json.loads(c["arguments"])) for c in wanted.pop("tool_calls")] == calls

    assert wanted == {name: getattr(answer, name) for name in wanted}


@pytest.mark.parametrize("path", [p for p in present() if "then" in vector_of(p)], ids=named)
def test_next_turn_is_the_golden_one(path: Path) -> None:
    """What goes back after tool calls: the reply as it came, and all results of the turn."""
    vector, runner = vector_of(path), path.parent.name
    reply = read(runner, vector)
    said = {item["id"]: item for item in vector["then"].get("results", [])}
    results = tuple(
        ToolResult(call=call, text=said[call.id]["text"], error=said[call.id].get("error", False))
        for call in reply.tool_calls
    )
    made = provider_module(runner).build_request(request_of(runner, vector, (Turn(reply=reply, results=results),)))

    assert vector["then"]["body"] == made.body


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_provider_shows_every_feature_or_says_why_not(runner: str) -> None:
    """There is no empty cell in the table of the documentation."""
    there = {path.stem for path in FILES if path.parent.name == runner}

    assert set(FEATURES) <= there


@pytest.mark.parametrize("path", FILES, ids=named)
def test_vector_names_its_source_and_an_absent_feature_is_not_offered(path: Path) -> None:
    """A table cell rests on a page of documentation; a kind of file that is absent is no accepted type."""
    vector = vector_of(path)
    assert vector["source"]
    if "absent" in vector and path.stem in ("image", "document"):
        kind = "image/" if path.stem == "image" else "application/pdf"
        assert not [item for item in provider_of(path.parent.name).accepts if item.startswith(kind)]


def test_table_of_the_documentation_is_made_from_these_vectors() -> None:
    """No cell is written by hand."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import provider_table

    page = (ROOT / "docs" / "reference" / "providers.md").read_text(encoding="utf-8")
    written = page[page.index(provider_table.BEGIN) + len(provider_table.BEGIN) : page.index(provider_table.END)]
    assert written == provider_table.table(), "run: python scripts/provider_table.py --write"
    assert {folder for folder, _ in provider_table.ROWS.values()} == set(RUNNERS)
    assert tuple(provider_table.FEATURES) == FEATURES
