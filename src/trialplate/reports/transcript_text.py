# SPDX-License-Identifier: Apache-2.0
"""A transcript in lines for a person: what was said, called and returned, turn by turn; whatever else it holds as JSON.

Whoever wrote a record may have written anything there: what has another form than ours is shown as its JSON.
"""

from __future__ import annotations

from collections.abc import Iterator

from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.reports.trials import answer_text

__all__ = ["transcript_text"]


def transcript_text(held: Json) -> str:
    """Return a transcript as lines."""
    if not isinstance(held, dict):
        return answer_text(held)
    lines: list[str] = []
    rest = dict(held)
    if (turns := _objects(held.get("turns"))) is not None:
        del rest["turns"]
        for number, turn in enumerate(turns, 1):
            lines += _turn_lines(number, turn)
        lines += [] if turns else ["no tool was called"]
    run = held.get("trajectory")
    if isinstance(run, dict) and run.keys() == {"steps"} and (steps := _objects(run["steps"])) is not None:
        del rest["trajectory"]
        for number, step in enumerate(steps, 1):
            lines += _step_lines(number, step)
        lines += [] if steps else ["no step"]
    return "\n".join([*lines, *([_shown(rest)] if rest or not lines else [])])


def _objects(value: Json) -> list[dict[str, Json]] | None:
    """Return a list of objects, None if it is none."""
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else None


def _turn_lines(number: int, turn: dict[str, Json]) -> Iterator[str]:
    rest = {name: item for name, item in turn.items() if name not in ("text", "tools")}
    if rest:
        yield f"turn {number} holds {_shown(rest)}"
    if "text" in turn:
        yield f"turn {number} says: {answer_text(turn['text'])}"
    calls = _objects(turn.get("tools", []))
    if calls is None:
        yield f"turn {number} calls {_shown(turn['tools'])}"
    for call in calls or ():
        yield f"turn {number} calls {_shown(call.get('name'))}: {_shown(call.get('arguments'))}"
        if "result" in call:
            yield f"  {'error' if call.get('error') else 'result'}: {_shown(call['result'])}"
        else:
            yield "  no result went back"


def _step_lines(number: int, step: dict[str, Json]) -> Iterator[str]:
    yield f"step {number} calls {_shown(step.get('tool'))}" + (f": {_shown(step['input'])}" if "input" in step else "")
    if "output" in step:
        yield f"  result: {_shown(step['output'])}"


def _shown(value: Json) -> str:
    """Return a text as it is, and another value as its JSON."""
    return value if isinstance(value, str) else canonical.encode(value).decode()
