# SPDX-License-Identifier: Apache-2.0
"""A trajectory: the tools that an agent called, in their order, in one form for all that tell of it; and its rules.

A step is what was asked for, whatever came of it: a call that failed is a call. Steps come from a recorded run (see
`traces`), from the turns of a conversation, as `runners.conversation` writes them into a transcript, or from an answer
that is itself a trajectory in the native form of `traces`.

Rules, each of exactly one kind:

    {must_call: T, with: {ARGUMENT: {contains: "..."}}, after: U}
                   some step calls T, and every condition holds for that same step; `after`: behind the first call of U,
                   and if U is never called, no step is
    {must_not_call: T, before: U}
                   no step calls T; `before`: none ahead of the first call of U, and if U is never called, none at all
    {max_steps: N} there are at most N steps

A condition is about one argument of the call, by its name, or by a JSON Pointer (RFC 6901) if it begins with "/".
`contains` looks into a text as it is, and into any other value as its canonical JSON; `equals` compares JSON values:
numbers by value, and nothing else across kinds, so that true is not 1 and "1" is not 1. What is not there meets none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trialplate.errors import FormatError
from trialplate.record import canonical
from trialplate.record.frozen import Json

__all__ = ["RULE_KINDS", "Step", "broken_rules", "rule_problem", "steps_in", "steps_json", "trajectory_json"]

RULE_KINDS: Mapping[str, frozenset[str]] = {
    "must_call": frozenset({"with", "after"}),
    "must_not_call": frozenset({"before"}),
    "max_steps": frozenset(),
}
"""What may stand beside each kind of rule."""
_SHOWN = 200


class Step(NamedTuple):
    """One call of a tool."""

    tool: str
    input: Json = None
    output: Json = None


def steps_json(steps: Iterable[Step]) -> Json:
    """Return steps as they stand in a transcript; what is null is left out."""
    kept = ([("tool", step.tool), ("input", step.input), ("output", step.output)] for step in steps)
    return [{name: item for name, item in pairs if item is not None} for pairs in kept]


def trajectory_json(steps: Iterable[Step]) -> dict[str, Json]:
    """Return the part of a transcript that holds a recorded run's steps."""
    return {"trajectory": {"steps": steps_json(steps)}}


def steps_in(transcript: Json | None) -> tuple[Step, ...] | None:
    """Return the steps that a transcript tells of; None if it tells of none, which is not the same as that none was.

    Raises:
        FormatError: it holds something else where its steps should be.
    """
    if not isinstance(transcript, dict):
        return None
    if "trajectory" in transcript:
        held = transcript["trajectory"]
        return tuple(steps_of(held.get("steps") if isinstance(held, dict) else None))
    if "turns" in transcript:
        return tuple(_called(transcript["turns"]))
    return None


def steps_of(items: Json) -> Iterator[Step]:
    """Yield the steps of a native list.

    Raises:
        FormatError: SCHEMA: it is none; `where` is empty.
    """
    if not isinstance(items, list):
        raise FormatError('"steps" is no list', hint='write {"steps": [{"tool": "...", "input": {}}]}', code="SCHEMA")
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict) or not isinstance(item.get("tool"), str):
            hint = 'each step is an object such as {"tool": "search", "input": {"query": "..."}}'
            raise FormatError(f"step {number} names no tool", hint=hint, code="SCHEMA")
        yield Step(item["tool"], item.get("input"), item.get("output"))


def _called(turns: Json) -> Iterator[Step]:
    """Yield what the turns of a conversation called."""
    for turn in turns if isinstance(turns, list) else ():
        for call in turn.get("tools", ()) if isinstance(turn, dict) else ():
            yield Step(
                canonical.text_in(call["name"]),
                _value(canonical.text_in(call["arguments"])),
                canonical.text_in(call["result"]),
            )


def _value(text: str) -> Json:
    """Return the JSON value of a text, or the text if it is none."""
    try:
        return canonical.parse(text.encode("utf-8", "surrogatepass"))
    except FormatError:
        return text


# ---------------------------------------------------------------------------------------------------------- rules


def rule_problem(rule: Json) -> str:
    """Say what keeps a value from being a rule, "" if it is one."""
    if not isinstance(rule, dict):
        return "a rule is a map such as {must_call: search}"
    kinds = [kind for kind in RULE_KINDS if kind in rule]
    if len(kinds) != 1:
        found = f"this one has {' and '.join(kinds)}" if kinds else "this one has none of them"
        return f"a rule has exactly one of {', '.join(RULE_KINDS)}, and {found}"
    kind = kinds[0]
    more = sorted(map(str, rule.keys() - RULE_KINDS[kind] - {kind}))
    if more:
        return f"{kind} takes no {', '.join(more)}"
    if kind == "max_steps":
        steps = rule[kind]
        return "" if type(steps) is int and steps >= 0 else "max_steps is a whole number from 0"
    names = [rule[kind], *(rule[key] for key in ("after", "before") if key in rule)]
    if not all(isinstance(name, str) and name for name in names):
        return "a tool is called by its name, which is a text"
    return _conditions_problem(rule.get("with", {}))


def _conditions_problem(conditions: Json) -> str:
    if not isinstance(conditions, dict) or not all(isinstance(name, str) for name in conditions):
        return "with is a map from an argument's name to a condition"
    for name, condition in conditions.items():
        if not isinstance(condition, dict) or len(condition) != 1 or not condition.keys() <= {"contains", "equals"}:
            return f"the condition on {name} is exactly one of {{contains: ...}} and {{equals: ...}}"
        if "contains" in condition and (not isinstance(condition["contains"], str) or not condition["contains"]):
            return f"contains takes a text that is not empty, and the one on {name} is none"
    return ""


def broken_rules(rules: Sequence[Mapping[str, Any]], steps: Sequence[Step]) -> list[str]:
    """Return one sentence for each rule that the steps do not keep, in the order of the rules."""
    return [told for rule in rules if (told := _broken(rule, steps))]


def _broken(rule: Mapping[str, Any], steps: Sequence[Step]) -> str:
    if "max_steps" in rule:
        most = rule["max_steps"]
        return "" if len(steps) <= most else f"{len(steps)} steps, and at most {most} are allowed"
    if "must_not_call" in rule:
        return _called_after_all(rule, steps)
    return _never_called(rule, steps)


def _called_after_all(rule: Mapping[str, Any], steps: Sequence[Step]) -> str:
    tool, before = rule["must_not_call"], rule.get("before")
    end = _first(before, steps) if before is not None else None
    number = next((number for number, step in enumerate(steps[:end], 1) if step.tool == tool), None)
    if number is None:
        return ""
    ahead = "" if before is None else f" before {before}" + (", which is never called" if end is None else "")
    return f"{tool} is called{ahead}, in step {number}"


def _never_called(rule: Mapping[str, Any], steps: Sequence[Step]) -> str:
    tool, after, conditions = rule["must_call"], rule.get("after"), rule.get("with", {})
    begin, behind = 0, ""
    if after is not None:
        first = _first(after, steps)
        if first is None:
            return f"{tool} is not called after {after}, which is never called"
        begin, behind = first + 1, f" after {after}"
    calls = [step for step in steps[begin:] if step.tool == tool]
    if not calls:
        return f"{tool} is not called{behind}"
    if any(all(_meets(step.input, name, wanted) for name, wanted in conditions.items()) for step in calls):
        return ""
    told = " and ".join(_told(name, wanted) for name, wanted in conditions.items())
    return f"{tool} is called{behind}, and never with {told}"


def _first(tool: str, steps: Sequence[Step]) -> int | None:
    return next((index for index, step in enumerate(steps) if step.tool == tool), None)


def _meets(arguments: Json, name: str, wanted: Mapping[str, Any]) -> bool:
    """Say whether an argument is there and meets a condition."""
    found = list(_at(arguments, name))
    if not found:
        return False
    if "equals" in wanted:
        return canonical.encode(found[0]) == canonical.encode(wanted["equals"])
    text = found[0] if isinstance(found[0], str) else canonical.encode(found[0]).decode()
    return wanted["contains"] in text


def _at(value: Json, name: str) -> Iterator[Json]:
    """Yield the value that a name or a JSON Pointer finds, if it is there."""
    for part in _parts(name):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and part == str(int(part)):
            if int(part) >= len(value):
                return
            value = value[int(part)]
        else:
            return
    yield value


def _parts(name: str) -> list[str]:
    if not name.startswith("/"):
        return [name]
    return [part.replace("~1", "/").replace("~0", "~") for part in name[1:].split("/")]


def _told(name: str, wanted: Mapping[str, Any]) -> str:
    kind, value = next(iter(wanted.items()))
    word = {"contains": "containing", "equals": "equal to"}[kind]
    return f"{name} {word} {canonical.encode(value).decode()[:_SHOWN]}"
