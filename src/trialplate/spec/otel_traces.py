# SPDX-License-Identifier: Apache-2.0
"""Agent runs in OpenTelemetry's JSON: the spans of GenAI's and of OpenInference's conventions.

All spans of a file are one run, whatever their trace ids; they are taken in the order of their start, and those without
one come last, as they stand. A span that stands there twice is one; two that share an id and differ are refused.

Tool call   a span that says `execute_tool` or has `gen_ai.tool.name`, or whose `openinference.span.kind` is TOOL. Right
            inside a call of the same tool it is that call once more, as its server saw it. Input and output are
            `gen_ai.tool.call.arguments` and `.result`, else `input.value` and `output.value`; a text that is JSON is
            its value
Answer      of the spans highest in their tree that have an output, the one that began last: whoever spoke last
            answered. A call of a tool, a retrieval, an embedding and the like never answers, nor does what is inside it
Tokens      are added up over the spans that count them and have none inside them that does: a parent that adds up its
            children is not counted again. Of one span the counts are taken from one convention, the first that has any.
            If a model was called and nobody counted, or one of two counts is missing, the sum is unknown: a part is no
            whole. Embeddings have no output
Time        from the first start to the last end, over the spans that have both

Sources: OTLP/JSON of opentelemetry-proto 1.x (docs/specification.md, JSON Protobuf Encoding); the GenAI conventions
v0.1.0 of open-telemetry/semantic-conventions-genai (execute-tool.md, client-inference.md), and the names before them:
`gen_ai.usage.cache_creation.input_tokens` (to v1.41), `gen_ai.usage.prompt_tokens` and `gen_ai.completion` (to v1.27);
OpenInference's spec/semantic_conventions.md of August 2026.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trialplate.errors import FormatError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.flaws import MAX_INTEGER
from trialplate.record.frozen import Json
from trialplate.spec.trajectories import Step

__all__ = ["Told", "read_spans"]

_COUNTS: tuple[Mapping[str, tuple[str, ...]], ...] = (
    {
        "input": ("gen_ai.usage.input_tokens",),
        "output": ("gen_ai.usage.output_tokens",),
        "cache_read": ("gen_ai.usage.cache_read.input_tokens",),
        "cache_write": ("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens"),
        "reasoning": ("gen_ai.usage.reasoning.output_tokens",),
    },
    {"input": ("gen_ai.usage.prompt_tokens",), "output": ("gen_ai.usage.completion_tokens",)},
    {
        "input": ("llm.token_count.prompt",),
        "output": ("llm.token_count.completion",),
        "cache_read": ("llm.token_count.prompt_details.cache_read",),
        "cache_write": ("llm.token_count.prompt_details.cache_write",),
        "reasoning": ("llm.token_count.completion_details.reasoning",),
    },
)
"""By convention, the attributes that count tokens."""
_CALLS_A_MODEL = frozenset({"chat", "generate_content", "text_completion", "llm"})
_EMBEDS = frozenset({"embeddings", "embedding", "reranker"})
_SILENT = frozenset(
    {"execute_tool", "create_agent", "plan", "retrieval", *_EMBEDS}
    | {f"{verb}_memory" for verb in ("create", "search", "update", "upsert", "delete")}
    | {"create_memory_store", "delete_memory_store"}
    | {"tool", "retriever", "guardrail", "evaluator", "prompt", "decision"}
)
"""What a span may be and never answers; one of any other name does the work of an agent or of a model."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the spans of a file tell."""

    steps: tuple[Step, ...]
    final: str | None
    usage: Usage | None
    latency_ms: int | None


@dataclass(eq=False, slots=True)
class _Span:
    """One span, its attributes unwrapped."""

    name: str
    start: int | None
    end: int | None
    attributes: Mapping[str, Json]
    parent: _Span | None = None
    children: list[_Span] = field(default_factory=list)

    @property
    def kinds(self) -> frozenset[str]:
        """Return what it is by each convention, in lower case."""
        named = (self.attributes.get(key) for key in ("gen_ai.operation.name", "openinference.span.kind"))
        return frozenset(item.lower() for item in named if isinstance(item, str))

    @property
    def tool(self) -> str | None:
        """Return the name of the tool that it is a call of, None if it is none."""
        told = self.attributes.get("gen_ai.tool.name")
        if not isinstance(told, str) and self.kinds.isdisjoint({"execute_tool", "tool"}):
            return None
        names = (told, self.attributes.get("tool.name"), self.name.removeprefix("execute_tool "))
        return next(name for name in names if isinstance(name, str))

    @property
    def silent(self) -> bool:
        """Say whether it never answers."""
        return self.tool is not None or not self.kinds.isdisjoint(_SILENT)


def read_spans(documents: Sequence[Mapping[str, Any]]) -> Told:
    """Return what OTLP documents tell of a run.

    Raises:
        FormatError: one is none, or there is no span at all.
    """
    roots, spans = _tree(list(_raw_spans(documents)))
    if not spans:
        raise FormatError("it holds no span")
    times = [(span.start, span.end) for span in spans if span.start is not None and span.end is not None]
    latency = max(end for _, end in times) - min(start for start, _ in times) if times else None
    return Told(
        steps=tuple(_steps(spans)),
        final=_final(roots),
        usage=_usage(roots, spans),
        latency_ms=None if latency is None or latency // 1_000_000 > MAX_INTEGER else max(0, latency) // 1_000_000,
    )


# ---------------------------------------------------------------------------------------------------------- spans


def _raw_spans(documents: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for document in documents:
        for resource in _items(document, "resourceSpans"):
            for scope in _items(resource, "scopeSpans"):
                yield from _items(scope, "spans")


def _items(holder: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return a list of objects; one that is not there is empty, as in protobuf."""
    found = holder.get(name) or []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise FormatError(f'"{name}" is no list of objects')
    return found


def _tree(raw: Sequence[Mapping[str, Any]]) -> tuple[list[_Span], list[_Span]]:
    """Return the spans without a parent here, and all of them, both in the order of their start."""
    seen: dict[tuple[str, str], Mapping[str, Any]] = {}
    made: list[tuple[_Span, tuple[str, str], str]] = []
    for item in raw:
        trace, own, parent = (_id(item, name) for name in ("traceId", "spanId", "parentSpanId"))
        if own and (trace, own) in seen:
            if seen[trace, own] != item:
                raise FormatError(f'two spans have the id "{own[:40]}" and differ')
            continue
        seen[trace, own] = item
        made.append((_span(item), (trace, own), parent))
    made.sort(key=lambda part: (part[0].start is None, part[0].start or 0))
    by_id = {place: span for span, place, _ in made if place[1]}
    parents: dict[_Span, _Span] = {}
    for span, (trace, _), parent in made:
        above = by_id.get((trace, parent)) if parent else None
        if above is not None:
            parents[span] = above
    spans = [span for span, _, _ in made]
    for span in _ring_tops(spans, parents):
        del parents[span]
    for span, above in parents.items():
        span.parent = above
        above.children.append(span)
    return [span for span in spans if span not in parents], spans


def _ring_tops(spans: Sequence[_Span], parents: Mapping[_Span, _Span]) -> Iterator[_Span]:
    """Yield a span of each ring of parents, which has no top and is cut open: the one that began last."""
    place = {span: number for number, span in enumerate(spans)}
    walk: dict[_Span, _Span] = {}
    for begin in spans:
        span: _Span | None = begin
        while span is not None and span not in walk:
            walk[span] = begin
            span = parents.get(span)
        if span is None or walk[span] is not begin:
            continue
        ring = [span]
        while (above := parents[ring[-1]]) is not span:
            ring.append(above)
        yield max(ring, key=place.__getitem__)


def _id(item: Mapping[str, Any], name: str) -> str:
    found = item.get(name)
    return found.lower() if isinstance(found, str) else ""


def _span(item: Mapping[str, Any]) -> _Span:
    name = item.get("name")
    return _Span(
        name=name if isinstance(name, str) else "",
        start=_nanoseconds(item.get("startTimeUnixNano")),
        end=_nanoseconds(item.get("endTimeUnixNano")),
        attributes=_pairs(_items(item, "attributes")),
    )


def _nanoseconds(value: Json) -> int | None:
    """Return a time; 0 is how protobuf writes that there is none."""
    return _count(value) or None


def _pairs(items: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    return {item["key"]: _unwrapped(item.get("value")) for item in items if isinstance(item.get("key"), str)}


def _unwrapped(value: Json) -> Json:
    """Return what an AnyValue holds; one that holds nothing is null, and what is no AnyValue is left as it is."""
    if not isinstance(value, dict):
        return value
    for kind, item in value.items():
        if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
            return item
        if kind == "intValue":
            return int(item) if isinstance(item, str) and _is_integer(item) else item
        if kind == "arrayValue":
            return [_unwrapped(part) for part in _items(item or {}, "values")]
        if kind == "kvlistValue":
            return _pairs(_items(item or {}, "values"))
    return None


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 40


# ----------------------------------------------------------------------------------------------- steps and the answer


def _steps(spans: Sequence[_Span]) -> Iterator[Step]:
    for span in spans:
        tool = span.tool
        if tool is None or (span.parent is not None and span.parent.tool == tool):
            continue
        given, said = (
            next((_value(span.attributes[name]) for name in names if name in span.attributes), None)
            for names in (("gen_ai.tool.call.arguments", "input.value"), ("gen_ai.tool.call.result", "output.value"))
        )
        yield Step(tool, given, said)


def _value(value: Json) -> Json:
    """Return the JSON value of a text that is one; anything else as it is."""
    if isinstance(value, str):
        try:
            return canonical.parse(value.encode("utf-8", "surrogatepass"))
        except FormatError:
            return value
    return value


def _final(roots: Sequence[_Span]) -> str | None:
    """Return the output of the highest spans that have one: of several, of the one that began last."""
    level = list(roots)
    while level := [span for span in level if not span.silent]:
        said = [(span, text) for span in level if (text := _output(span)) is not None]
        if said:
            return max(enumerate(said), key=lambda item: (_began(item[1][0]), item[0]))[1][1]
        level = [child for span in level for child in span.children]
    return None


def _began(span: _Span) -> float:
    return float("inf") if span.start is None else span.start


def _output(span: _Span) -> str | None:
    """Return what a span says, None if it says nothing."""
    said = span.attributes.get("output.value")
    if isinstance(said, str):
        return said
    messages = span.attributes.get("gen_ai.output.messages")
    text = _text_of(_loaded(messages) if isinstance(messages, str) else messages)
    if text is not None:
        return text
    older = (span.attributes.get(name) for name in ("gen_ai.completion", "gen_ai.completion.0.content"))
    return next((item for item in older if isinstance(item, str)), None)


def _loaded(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text_of(messages: Json) -> str | None:
    """Return the text parts of the last message that has any; None if there is none."""
    for message in reversed(messages if isinstance(messages, list) else []):
        parts = message.get("parts") if isinstance(message, dict) else None
        texts = [
            part["content"]
            for part in (parts if isinstance(parts, list) else [])
            if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("content"), str)
        ]
        if texts:
            return "".join(texts)
    return None


# --------------------------------------------------------------------------------------------------------- tokens


def _usage(roots: Sequence[_Span], spans: Sequence[_Span]) -> Usage | None:
    """Return the sum over the lowest spans that count; None if a model's call is in no count."""
    counts = {span: found for span in spans if (found := _counts(span))}
    lowest, uncounted = _lowest(roots, counts)
    if uncounted or not lowest:
        return None
    total = {name: _sum(name, [counts[span] for span in lowest]) for name in _COUNTS[0]}
    return Usage(**total, declared=True)


def _counts(span: _Span) -> dict[str, int]:
    """Return a span's counts, from the first convention that has its input or its output."""
    for convention in _COUNTS:
        found: dict[str, int] = {}
        for name, keys in convention.items():
            count = next((n for key in keys if (n := _count(span.attributes.get(key))) is not None), None)
            if count is not None:
                found[name] = count
        if "input" in found or "output" in found:
            if "output" not in found and not span.kinds.isdisjoint(_EMBEDS):
                found["output"] = 0
            return found
    return {}


def _count(value: Json) -> int | None:
    """Return a count that is a whole number, however it is written."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _is_integer(value):
        value = int(value)
    if isinstance(value, int | float) and value >= 0 and value == int(value):
        return int(value)
    return None


def _lowest(roots: Sequence[_Span], counts: Mapping[_Span, object]) -> tuple[list[_Span], bool]:
    """Return the spans that count and have none inside them that does, and whether a model's call is in no count."""
    order: list[_Span] = []
    stack = list(roots)
    while stack:
        span = stack.pop()
        order.append(span)
        stack += span.children
    inside: set[_Span] = set()
    for span in reversed(order):  # children before their parents
        if span in counts or any(child in inside for child in span.children):
            inside.add(span)
    lowest = [span for span in order if span in counts and not any(child in inside for child in span.children)]
    counted = set(lowest)
    for span in order:  # what is within a counted span is in its count
        if span.parent in counted:
            counted.add(span)
    called = (span for span in order if not span.kinds.isdisjoint(_CALLS_A_MODEL))
    return lowest, any(span not in counted and span not in inside for span in called)


def _sum(name: str, found: Sequence[Mapping[str, int]]) -> int | None:
    """Return the sum of a count: of input and output unknown if one is missing, of their parts over those that tell."""
    given = [item[name] for item in found if name in item]
    if not given or (name in ("input", "output") and len(given) < len(found)):
        return None
    total = sum(given)
    return total if total <= MAX_INTEGER else None
