# SPDX-License-Identifier: Apache-2.0
"""The form of an answer: how a case's `answer_format` or `answer_schema` is asked for, and how the reply is read.

A case with a form is asked for one JSON object, the same in all modes:

    {"title": "...", "explanation": "...", "final_answer": ...}

where `final_answer` is a text for `answer_format` and `{"content": ...}` for `answer_schema`, since interfaces want an
object at the root of a schema. In mode `native` the interface is given the schema; in `json_object` it promises some
object, and in `text` nothing, and the schema is told in words. What comes back is read the same way in all three: the
one JSON value of the reply, by the rule `embedded` of `transport.json_answers`, which has all three members and no
other. Else the answer is not in the form that was asked for, which is the model's own failure; nothing is guessed. What
is scored is `final_answer`: a text as it is, a value as canonical JSON. A text that came as a number, true, false or
null is that value's JSON. Title and explanation stand in the transcript.

Under `none` the format is asked for in words and the whole reply is the answer. So it is with a runner of one's own,
which is handed the words and may do with them what it likes; it is told a schema in words, too.

These words and rules reach the model and the score: they are those of form 1, which `structured` in the plan means.
"""

from __future__ import annotations

from dataclasses import replace

from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Configuration
from trialplate.rules.cells import serves
from trialplate.runners.base import Answer, Shape
from trialplate.runners.providers.prompts import told_form
from trialplate.transport.json_answers import NoJson, json_in

__all__ = ["FORM", "instructions_of", "read_form", "shape_of"]

_ALONE = "Reply with the answer alone: no explanation, no formatting."
FORM = "form"
"""Where the transcript holds the other members of a reply that was in its form."""
_MEMBERS = ("explanation", "final_answer", "title")


def shape_of(case: Case, configuration: Configuration) -> Shape | None:
    """Return what a reply to this case must look like, None if any text will do."""
    mode = configuration.structured
    if mode is None or mode == "none" or (case.answer_format is None and case.answer_schema is None):
        return None
    return Shape(schema=_envelope(case), mode=mode)


def instructions_of(case: Case, configuration: Configuration) -> tuple[str, ...]:
    """Return what is said about the form besides the question."""
    said: list[str] = []
    if configuration.plugin is not None and case.answer_schema is not None:
        schema = canonical.encode(dict(case.answer_schema)).decode()
        said.append(f"Give the final answer as JSON that meets this JSON Schema: {schema}")
    shape = shape_of(case, configuration)
    if shape is not None and shape.mode != "native":
        said.append(told_form(shape))
    if configuration.structured == "none" and case.answer_format is not None:
        said.append(_ALONE)
    asked = configuration.structured is not None or configuration.plugin is not None
    if asked and case.answer_format is not None:
        said.append(f"Give the final answer in this format: {case.answer_format}")
    return tuple(said)


def read_form(answer: Answer, case: Case, configuration: Configuration) -> Answer:
    """Return an answer as it is recorded and scored: the final answer of a reply that is in its form.

    A reply that does not count as an answer, for whatever reason, is left as it came.
    """
    if shape_of(case, configuration) is None or answer.refusal or answer.finish in ("length", "content_filter"):
        return answer
    if not answer.text.strip() or not serves(configuration, answer.served):
        return answer
    try:
        said = json_in(answer.text, "embedded")
    except NoJson as problem:
        return replace(answer, unreadable=str(problem))
    wrong = _wrong(said, case)
    if wrong is not None:
        return replace(answer, unreadable=wrong)
    assert isinstance(said, dict)  # noqa: S101  `_wrong` has seen it
    final = said["final_answer"] if case.answer_schema is None else said["final_answer"]["content"]
    text = canonical.text_in(final) if isinstance(final, str) else canonical.encode(final).decode()
    if isinstance(final, str) and case.answer_schema is not None:
        text = canonical.encode(final).decode()  # a value that is a text stays a JSON value
    held = answer.transcript if isinstance(answer.transcript, dict) else {}
    form = {name: _held(said[name]) for name in ("explanation", "title")}
    return replace(answer, text=text, transcript={**held, FORM: form})


def _held(value: Json) -> Json:
    """Return a title or an explanation as a transcript holds it: a value that is no text as its JSON."""
    return value if isinstance(value, str) else canonical.encode(value).decode()


def _wrong(said: Json, case: Case) -> str | None:
    """Say what keeps a reply from being in its form."""
    if not isinstance(said, dict):
        return "the reply is no JSON object"
    missing = [name for name in _MEMBERS if name not in said]
    more = sorted(said.keys() - set(_MEMBERS))
    if missing or more:
        return f"the reply has no {' and no '.join(missing)}" if missing else f"the reply has also {', '.join(more)}"
    final = said["final_answer"]
    if case.answer_schema is not None:
        whole = isinstance(final, dict) and final.keys() == {"content"}
        return None if whole else "final_answer is no object with content alone"
    return "final_answer is no text" if isinstance(final, dict | list) else None


def _envelope(case: Case) -> dict[str, Json]:
    """Return the schema of a whole reply."""
    final: Json = {"type": "string", "description": "The final answer alone, in the format that was asked for."}
    if case.answer_schema is not None:
        final = {
            "type": "object",
            "description": "The final answer alone.",
            "properties": {"content": case.answer_schema},
            "required": ["content"],
            "additionalProperties": False,
        }
    return {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What the answer is about, in a few words."},
            "explanation": {"type": "string", "description": "How the answer was found, step by step."},
            "final_answer": final,
        },
        "required": list(_MEMBERS),
        "additionalProperties": False,
    }
