# SPDX-License-Identifier: Apache-2.0
"""Replies in a form that mean harm: whatever they hold is recorded, or is no answer in the form."""

from __future__ import annotations

import json

import pytest
from small_runs import configuration

from trialplate.engine.forms import read_form
from trialplate.record import canonical
from trialplate.record.values import Case
from trialplate.runners.base import Answer

DEEP = json.loads("[" * 60 + "]" * 60)


@pytest.mark.parametrize(
    "held", [DEEP, {"a": 1}, 7, None, "\ud800", "x"], ids=["deep", "object", "number", "null", "half", "text"]
)
@pytest.mark.parametrize("name", ["title", "explanation", "final_answer"])
def test_whatever_a_form_holds_is_recorded_or_refused(name: str, held: object) -> None:
    """A transcript has room for 64 levels, of which some are its own."""
    said = {"title": "t", "explanation": "e", "final_answer": "f", name: held}
    asked = configuration("m").replace(structured="text", model_id=None)
    case = Case(id="c", input="?", answer_format="one word")
    answer = read_form(Answer(text=json.dumps(said)), case, asked)
    opened = {"salt": "x", "value": answer.transcript, "answer": canonical.text_out(answer.text)}
    assert canonical.encode(opened)
    if held is DEEP and name != "final_answer":
        assert answer.text == "f"
        assert answer.transcript == {"form": {"explanation": "e", "title": "t", name: canonical.encode(DEEP).decode()}}
