# SPDX-License-Identifier: Apache-2.0
"""Recorded runs: the native form, OpenTelemetry's spans in both generations of names, OpenInference's; what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spans import export, span

from trialplate.errors import FormatError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.spec.traces import Trace, read_trace
from trialplate.spec.trajectories import Step, trajectory_json

OPENTELEMETRY_EXAMPLE = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "my.service"}}]},
            "scopeSpans": [
                {
                    "scope": {"name": "my.library", "version": "1.0.0"},
                    "spans": [
                        {
                            "traceId": "5B8EFFF798038103D269B633813FC60C",
                            "spanId": "EEE19B7EC3C1B174",
                            "parentSpanId": "EEE19B7EC3C1B173",
                            "name": "I'm a server span",
                            "startTimeUnixNano": 1544712660000000000,
                            "endTimeUnixNano": 1544712661000000000,
                            "kind": 2,
                            "attributes": [{"key": "my.span.attr", "value": {"stringValue": "some value"}}],
                        }
                    ],
                }
            ],
        }
    ]
}
"""examples/trace.json of open-telemetry/opentelemetry-proto, whose times are numbers beyond 2^53."""


def read(*spans: dict[str, Any]) -> Trace:
    """Read an export of these spans."""
    return read_trace(json.dumps(export(*spans)).encode())


def llm(
    name: str, parent: str = "", ms: Any = None, counts: tuple[int, int] | None = None, **more: Any
) -> dict[str, Any]:
    """Return an OpenInference span of a model."""
    if counts is not None:
        more |= {"llm__token_count__prompt": counts[0], "llm__token_count__completion": counts[1]}
    return span(name, parent, ms, openinference__span__kind="LLM", **more)


def tool(name: str, parent: str = "", ms: Any = None, **more: Any) -> dict[str, Any]:
    """Return an OpenInference span of a tool."""
    return span(name, parent, ms, openinference__span__kind="TOOL", tool__name=name, **more)


# -------------------------------------------------------------------------------------------------------------- native


@pytest.mark.parametrize(
    ("text", "steps", "final", "answer"),
    [
        ('{"steps": []}', (), None, '{"steps":[]}'),
        ('{"steps": [{"tool": "a"}], "final_output": "done"}', (Step("a"),), "done", "done"),
        (
            '{"steps": [{"tool": "a", "input": null, "output": 1.0, "note": 2}], "x": 1}',
            (Step("a", None, 1.0),),
            None,
            '{"steps":[{"output":1,"tool":"a"}]}',
        ),
        ('{"steps": [], "final_output": ""}', (), "", ""),
        ('{"steps": [], "final_output": null}', (), None, '{"steps":[]}'),
        ('{"steps": [{"tool": "a"}], "resourceSpans": []}', (Step("a"),), None, '{"steps":[{"tool":"a"}]}'),
        ('\ufeff{"steps": [{"tool": "a"}]}', (Step("a"),), None, '{"steps":[{"tool":"a"}]}'),
    ],
)
def test_native_trace_has_steps_an_answer_and_no_tokens(text: str, steps: Any, final: str | None, answer: str) -> None:
    """A final answer that is "" is there and is empty; one that is not there leaves the steps as the answer."""
    trace = read_trace(text.encode())
    assert (trace.steps, trace.final, trace.text) == (steps, final, answer)
    assert (trace.usage, trace.latency_ms) == (None, None)


def test_what_a_record_could_not_hold_is_told_in_another_way() -> None:
    """Integers beyond 2^53 become texts, and halves of surrogate pairs the replacement character."""
    text = '{"steps": [{"tool": "a", "input": {"big": 12345678901234567890, "far": 1e300, "cut": "x\\ud83d", "whole": "\\ud83d\\ude00"}}]}'
    (step,) = read_trace(text.encode()).steps
    assert step.input == {"big": "12345678901234567890", "far": "1e+300", "cut": "x\ufffd", "whole": "\U0001f600"}
    canonical.encode(trajectory_json([step]))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff{}", "not UTF-8, from byte 1 on"),
        (b"{}", "this is no trace"),
        (b"[]", "this is no trace"),
        (b'"steps"', "this is no trace"),
        (b'[{"steps": []}, {"steps": []}]', "this is no trace"),
        (b'{"steps": {}}', '"steps" is no list'),
        (b'{"steps": [{"tool": "a"}, {"tool": 3}]}', "step 2 names no tool"),
        (b'{"steps": [], "steps": []}', 'the key "steps" twice'),
        (b'{"steps": [{"tool": "a", "input": NaN}]}', "NaN"),
        (b'{"steps": [{"tool": "a", "input": 1e999}]}', "too large"),
        (b'{"steps": [{"tool": "a", "input": ' + b"[" * 60 + b"]" * 60 + b"}]}", "levels of nesting"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [7]}]}]}', '"spans" is no list of objects'),
        (b'{"resourceSpans": 3}', '"resourceSpans" is no list'),
        (b'{"resourceSpans": []}\n{"resourceLogs": []}', "this is no trace"),
        (b'{"resourceSpans": []}\n{"resourceSpans": ', "line 2 is no JSON"),
    ],
)
def test_file_that_is_no_trace_is_refused_with_its_reason(data: bytes, told: str) -> None:
    """One error, TRACE, with what to write instead; never a traceback."""
    with pytest.raises(FormatError) as caught:
        read_trace(data, "traces/a.json")
    assert (caught.value.code, caught.value.where) == ("TRACE", "traces/a.json")
    assert told in caught.value.message
    assert caught.value.hint


@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(str.encode)
    | st.recursive(
        st.none() | st.text(max_size=8) | st.integers(),
        lambda x: (
            st.lists(x, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "steps",
                        "tool",
                        "input",
                        "resourceSpans",
                        "scopeSpans",
                        "spans",
                        "attributes",
                        "key",
                        "value",
                        "final_output",
                    ]
                ),
                x,
                max_size=4,
            )
        ),
        max_leaves=12,
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_are_a_trace_or_are_refused(data: bytes) -> None:
    """Traces are not trusted: whatever stands there, there is a trace that a record can hold, or one error."""
    try:
        trace = read_trace(data)
    except FormatError:
        return
    canonical.encode(trajectory_json(trace.steps))
    assert isinstance(trace.text, str)


# ------------------------------------------------------------------------------------------------------- OpenTelemetry


def test_opentelemetrys_own_example_is_read() -> None:
    """Times are numbers there and texts elsewhere; a parent that is not here makes a root."""
    trace = read_trace(json.dumps(OPENTELEMETRY_EXAMPLE).encode())
    assert trace == Trace(steps=(), latency_ms=1000)


@pytest.mark.parametrize("form", ["object", "list", "lines", "pretty"])
def test_export_is_one_object_a_list_or_lines(form: str) -> None:
    """The file exporter of a collector writes one object on each line."""
    one, two = export(tool("a", "", (0, 1))), export(tool("b", "", (2, 3)))
    text = {
        "object": json.dumps({"resourceSpans": one["resourceSpans"] + two["resourceSpans"]}),
        "list": json.dumps([one, two]),
        "lines": f"{json.dumps(two)}\r\n\n{json.dumps(one)}\n",
        "pretty": json.dumps([one, two], indent=2),
    }[form]
    assert [step.tool for step in read_trace(text.encode()).steps] == ["a", "b"]


def test_values_are_unwrapped_to_any_depth() -> None:
    """Arrays and maps in each other, integers that are texts, a value that holds nothing."""
    given = {"list": [1, 2.5, True, None, {"deep": ["x"]}], "text": "y", "empty": {}}
    (step,) = read(tool("a", input__value=given)).steps
    assert step.input == given
    raw = tool("b")
    raw["attributes"].append({"key": "input.value", "value": {"arrayValue": {}}})
    raw["attributes"].append({"key": "output.value", "value": {"bytesValue": "aGk="}})
    assert read(raw).steps == (Step("b", [], "aGk="),)


@pytest.mark.parametrize(
    ("attributes", "step"),
    [
        (
            {
                "gen_ai__operation__name": "execute_tool",
                "gen_ai__tool__name": "t",
                "gen_ai__tool__call__arguments": {"q": 1},
                "gen_ai__tool__call__result": "r",
            },
            Step("t", {"q": 1}, "r"),
        ),
        (
            {
                "gen_ai__tool__name": "t",
                "gen_ai__tool__call__arguments": '{"q": 1}',
                "gen_ai__tool__call__result": "[1]",
            },
            Step("t", {"q": 1}, [1]),
        ),
        ({"gen_ai__operation__name": "execute_tool"}, Step("t")),
        (
            {
                "openinference__span__kind": "tool",
                "tool__name": "n",
                "input__value": '{"q": 1}',
                "output__value": "plain",
            },
            Step("n", {"q": 1}, "plain"),
        ),
        ({"openinference__span__kind": "TOOL"}, Step("t")),
        (
            {
                "openinference__span__kind": "TOOL",
                "tool__name": "n",
                "gen_ai__tool__name": "g",
                "input__value": "i",
                "gen_ai__tool__call__arguments": "a",
            },
            Step("g", "a"),
        ),
        ({"gen_ai__tool__name": "t", "input__value": "42"}, Step("t", 42)),
    ],
)
def test_call_of_a_tool_is_read_in_either_convention(attributes: dict[str, Any], step: Step) -> None:
    """By operation, by name or by kind; a text that is JSON is its value."""
    assert read(span("execute_tool t" if step.tool == "t" else "s", **attributes)).steps == (step,)


def test_steps_are_in_the_order_of_their_start_and_those_without_one_last() -> None:
    """However an exporter wrote them; equal starts stay as they stand."""
    spans = [tool("none"), tool("c", "", (5, 6)), tool("a", "", (1, 9)), tool("d", "", (5, 7)), tool("late")]
    assert [step.tool for step in read(*spans).steps] == ["a", "c", "d", "none", "late"]


def test_call_that_is_seen_from_both_sides_is_one_step() -> None:
    """A client's span and, right inside it, the server's of the same tool; a tool inside another is its own."""
    spans = [
        tool("search", "", (0, 9)),
        span("rpc", "search", (1, 8), gen_ai__tool__name="search"),
        tool("fetch", "rpc", (2, 3)),
    ]
    assert [step.tool for step in read(*spans).steps] == ["search", "fetch"]


def test_span_that_was_exported_twice_counts_once() -> None:
    """An exporter that tries again writes the same span; two that differ are a contradiction."""
    once = llm("a", "", (0, 1), (10, 1))
    assert read(once, once).usage == Usage(input=10, output=1, declared=True)
    with pytest.raises(FormatError, match="and differ"):
        read(once, {**once, "name": "other"})


# -------------------------------------------------------------------------------------------------------------- answer


def test_call_of_a_tool_is_never_the_answer() -> None:
    """Defect 20 of EvalCore: on a flat export the output of a trailing tool call was graded."""
    spans = [llm("a", "", (0, 1), output__value="The answer."), tool("log", "", (2, 3), output__value="logged")]
    assert read(*spans).final == "The answer."


def test_last_speaker_answers_on_a_flat_export() -> None:
    """A planner's first thought is no answer; ties go to the later one, and whoever has no start spoke last."""
    assert read(llm("a", "", (0, 1), output__value="plan"), llm("b", "", (2, 3), output__value="said")).final == "said"
    assert read(llm("a", "", (2, 3), output__value="x"), llm("b", "", (2, 9), output__value="y")).final == "y"
    assert read(llm("b", "", (2, 3), output__value="x"), llm("a", output__value="y")).final == "y"


def test_root_answers_before_what_is_inside_it() -> None:
    """The agent's own output, though a model spoke later; without one, the models right below it, and no deeper."""
    agent = span("agent", "", (0, 9), openinference__span__kind="AGENT")
    inside = [llm("one", "agent", (1, 2), output__value="first"), llm("two", "agent", (5, 6), output__value="second")]
    deep = [tool("sub", "agent", (6, 8)), llm("deep", "sub", (7, 8), output__value="of another agent")]
    spoken = span("agent", "", (0, 9), openinference__span__kind="AGENT", output__value="mine")
    assert read(spoken, *inside, *deep).final == "mine"
    assert read(agent, *inside, *deep).final == "second"
    assert read(agent, *deep).final is None


@pytest.mark.parametrize("kind", ["RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT"])
def test_what_only_helps_never_answers(kind: str) -> None:
    """An evaluation that ran after the answer is none."""
    helper = span("h", "", (5, 6), openinference__span__kind=kind, output__value="0.9")
    assert read(llm("a", "", (0, 1), output__value="said"), helper).final == "said"


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        (
            {
                "gen_ai__output__messages": [
                    {
                        "role": "assistant",
                        "parts": [{"type": "text", "content": "It is "}, {"type": "text", "content": "4."}],
                        "finish_reason": "stop",
                    }
                ]
            },
            "It is 4.",
        ),
        ({"gen_ai__output__messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "4"}]}]'}, "4"),
        ({"gen_ai__output__messages": [{"role": "assistant", "parts": [{"type": "tool_call", "name": "add"}]}]}, None),
        ({"gen_ai__output__messages": "no JSON"}, None),
        ({"gen_ai__completion": "4"}, "4"),
        ({"gen_ai__completion__0__content": "4"}, "4"),
        ({"output__value": '{"a": 1}'}, '{"a": 1}'),
        ({"output__value": ""}, ""),
        ({"output__value": 4}, None),
    ],
)
def test_output_is_read_in_either_generation_of_names(attributes: dict[str, Any], said: str | None) -> None:
    """A text as it is, never unwrapped; a reply that only calls tools says nothing."""
    assert read(span("chat m", "", (0, 1), gen_ai__operation__name="chat", **attributes)).final == said


# -------------------------------------------------------------------------------------------------------------- tokens


def test_parent_that_adds_up_its_children_is_not_counted_again() -> None:
    """Defect 20 of EvalCore: tokens of a span with both conventions, and of parents, were counted twice."""
    both = {"gen_ai__usage__input_tokens": 20, "gen_ai__usage__output_tokens": 2}
    agent = span(
        "agent",
        "",
        (0, 9),
        gen_ai__operation__name="invoke_agent",
        gen_ai__usage__input_tokens=30,
        gen_ai__usage__output_tokens=3,
    )
    middle = span("step", "agent", (0, 8), openinference__span__kind="CHAIN")
    spans = [agent, middle, llm("a", "step", (1, 2), (10, 1)), llm("b", "step", (3, 4), (20, 2), **both)]
    assert read(*spans).usage == Usage(input=30, output=3, declared=True)


def test_agent_alone_may_count_for_models_that_do_not() -> None:
    """What is inside a span that counts is in its count."""
    agent = span(
        "agent",
        "",
        (0, 9),
        openinference__span__kind="AGENT",
        llm__token_count__prompt=30,
        llm__token_count__completion=3,
    )
    assert read(agent, llm("a", "agent", (1, 2)), llm("b", "agent", (3, 4))).usage == Usage(
        input=30, output=3, declared=True
    )


def test_sum_with_a_gap_is_unknown() -> None:
    """A part is no whole: a call that nobody counted, and a count that one of the spans has not."""
    assert read(llm("a", "", (1, 2), (10, 1)), llm("b", "", (3, 4))).usage is None
    assert read(span("c", gen_ai__operation__name="chat")).usage is None
    assert read(tool("t")).usage is None
    half = read(llm("a", "", (1, 2), (10, 1)), llm("b", "", (3, 4), llm__token_count__prompt=5)).usage
    assert half == Usage(input=15, output=None, declared=True)
    agent = span(
        "agent",
        "",
        (0, 9),
        openinference__span__kind="AGENT",
        llm__token_count__prompt=30,
        llm__token_count__completion=3,
    )
    assert read(agent, llm("a", "agent", (1, 2), (10, 1)), llm("b", "agent", (3, 4))).usage is None


@pytest.mark.parametrize(
    ("attributes", "usage"),
    [
        (
            {
                "gen_ai__usage__input_tokens": 9,
                "gen_ai__usage__output_tokens": 4,
                "gen_ai__usage__cache_read__input_tokens": 3,
                "gen_ai__usage__cache_write__input_tokens": 2,
                "gen_ai__usage__reasoning__output_tokens": 1,
            },
            {"input": 9, "output": 4, "cache_read": 3, "cache_write": 2, "reasoning": 1},
        ),
        (
            {
                "gen_ai__usage__input_tokens": 9,
                "gen_ai__usage__output_tokens": 4,
                "gen_ai__usage__cache_creation__input_tokens": 2,
            },
            {"input": 9, "output": 4, "cache_write": 2},
        ),
        ({"gen_ai__usage__prompt_tokens": 9, "gen_ai__usage__completion_tokens": 4}, {"input": 9, "output": 4}),
        (
            {
                "llm__token_count__prompt": 9,
                "llm__token_count__completion": 4,
                "llm__token_count__total": 13,
                "llm__token_count__prompt_details__cache_read": 3,
                "llm__token_count__prompt_details__cache_write": 2,
                "llm__token_count__completion_details__reasoning": 1,
            },
            {"input": 9, "output": 4, "cache_read": 3, "cache_write": 2, "reasoning": 1},
        ),
        ({"gen_ai__usage__input_tokens": 9.0, "gen_ai__usage__output_tokens": "4"}, {"input": 9, "output": 4}),
        ({"gen_ai__usage__input_tokens": 0, "gen_ai__usage__output_tokens": 0}, {"input": 0, "output": 0}),
        ({"gen_ai__usage__input_tokens": 1, "llm__token_count__completion": 7}, {"input": 1}),
        (
            {"gen_ai__usage__input_tokens": True, "llm__token_count__prompt": 9, "llm__token_count__completion": 4},
            {"input": 9, "output": 4},
        ),
    ],
)
def test_counts_of_a_span_are_of_one_convention(attributes: dict[str, Any], usage: dict[str, int]) -> None:
    """Both generations of GenAI's names, then OpenInference's: the first that has any, and never two mixed."""
    assert read(span("chat m", gen_ai__operation__name="chat", **attributes)).usage == Usage(**usage, declared=True)


def test_embeddings_count_as_input_and_have_no_output() -> None:
    """They are paid for, and leave the sum of outputs whole."""
    embedded = span("e", "", (0, 1), openinference__span__kind="EMBEDDING", llm__token_count__prompt=5)
    assert read(embedded, llm("a", "", (1, 2), (10, 1))).usage == Usage(input=15, output=1, declared=True)


def test_ring_of_parents_is_cut_open() -> None:
    """A damaged export ends, and every span of it is read once."""
    spans = [llm("a", "b", (0, 1), (10, 1)), llm("b", "a", (2, 3), (20, 2)), tool("own", "own", (4, 5))]
    trace = read(*spans)
    assert trace.usage == Usage(input=10, output=1, declared=True)
    assert [step.tool for step in trace.steps] == ["own"]


def test_ring_is_cut_where_it_closes_and_what_hangs_on_it_stays() -> None:
    """The span of a ring that began last is its top; a branch of a ring is no ring."""
    ring = [llm("a", "b", (0, 9), (1, 1)), llm("b", "c", (1, 9), (2, 1)), llm("c", "a", (2, 9), (4, 1))]
    branch = llm("d", "a", (3, 4), (8, 1))
    assert read(*ring, branch).usage == Usage(input=8, output=1, declared=True), "the branch is the lowest that counts"


@pytest.mark.parametrize("last", ["", "s29999"])
def test_chain_of_many_spans_and_a_ring_of_many_are_read(last: str) -> None:
    """Each span is looked at a few times, however deep it is; the square of their number would take minutes."""
    spans = [tool(f"s{n}", f"s{n - 1}" if n else last, (n, n + 1)) for n in range(30_000)]
    assert len(read(*spans).steps) == 30_000


def test_key_that_stands_twice_among_many_is_named() -> None:
    """The last of very many keys, found without comparing each with each."""
    pairs = [f'"k{n}":1' for n in range(100_000)]
    with pytest.raises(FormatError, match='the key "k99999" twice'):
        read_trace(("{" + ",".join([*pairs, pairs[-1]]) + "}").encode())


def test_time_that_no_record_could_hold_is_unknown() -> None:
    """A clock may say anything."""
    made = tool("a", "", (0, 1))
    assert read({**made, "startTimeUnixNano": "1", "endTimeUnixNano": "9" * 39}).latency_ms is None


def test_time_is_from_the_first_start_to_the_last_end() -> None:
    """Over spans that have both; without any it is unknown."""
    assert read(tool("a", "", (3, 5)), tool("b", "", (10, 12)), tool("c")).latency_ms == 9
    assert read(tool("a")).latency_ms is None
