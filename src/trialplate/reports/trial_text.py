# SPDX-License-Identifier: Apache-2.0
"""A case's trials in words and as one JSON object. Every line of a foreign text stands behind a bar, made visible."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from trialplate.record import canonical, codec
from trialplate.record.entries import Money, TrialEnd, Usage
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Configuration
from trialplate.reports.request_again import body_digest
from trialplate.reports.transcript_text import transcript_text
from trialplate.reports.trial_view import Attempt, CaseView, Trial
from trialplate.reports.trials import answer_text, reasons_of, timed
from trialplate.reports.words import amount_text, share_text, trial_text
from trialplate.rules.compatible import incompatible
from trialplate.verify.findings import counted
from trialplate.verify.text import visible

__all__ = ["block", "case_json", "case_lines", "money_text"]


def case_lines(view: CaseView) -> Iterator[str]:
    """Yield a case with its prompt, and its trials."""
    planned, case = view.planned, view.case
    told = [f"tags {', '.join(planned.tags)}"] if planned.tags else []
    told += [f"suite {planned.suite}"] if planned.suite else []
    yield visible(f"case {planned.id}" + (f" ({'; '.join(told)})" if told else ""))
    yield from block("input", None if case is None else case.input)
    if case is None:
        yield from block("references", None)
    for item in case.references if case is not None else ():
        yield from block("reference", item if isinstance(item, str) else canonical.encode(item).decode())
    if case is not None:
        yield from _more_of_case(case)
    for item in view.configurations:
        yield ""
        yield from _prompt_lines(item, view)
        for trial in view.trials:
            if trial.configuration == item.name:
                yield from _trial_lines(trial, view)


def _more_of_case(case: Case) -> Iterator[str]:
    """Yield what a case holds besides its question and its accepted answers."""
    if case.answer_format is not None:
        yield from block("answer_format", case.answer_format)
    if case.answer_schema is not None:
        yield from block("answer_schema", canonical.encode(dict(case.answer_schema)).decode())
    for passage in case.context:
        yield from block("context", passage)
    for file in case.files:
        told = [file.type, f"access {' '.join(file.access)}"]
        told += [f"image_detail {file.image_detail}"] if file.image_detail else []
        yield visible(f"  file {file.name}: {', '.join(told)}, {file.digest}")
    for tool in case.tools:
        most = f", at most {counted(tool.max_calls, 'call')}" if tool.max_calls is not None else ""
        yield visible(f"  tool {tool.name}: {tool.timeout_ms / 1000:g} s for a call{most}")
    if case.max_turns is not None:
        yield f"  max_turns: {case.max_turns}"
    if case.trace is not None:
        yield f"  trace: {case.trace}"
    if case.meta:
        yield from block("meta", canonical.encode(dict(case.meta)).decode())


def block(label: str, text: str | None, indent: str = "  ") -> Iterator[str]:
    """Yield a text under its label, whole and line by line; None is withheld."""
    if text is None:
        yield f"{indent}{label}: withheld"
        return
    lines = text.split("\n")
    if len(lines) == 1 and len(text) <= 80:
        yield f"{indent}{label}: {visible(text)}" if text else f"{indent}{label}: (empty)"
        return
    yield f"{indent}{label}:"
    for line in lines:
        yield f"{indent}  | {visible(line)}".rstrip()


def _prompt_lines(item: Configuration, view: CaseView) -> Iterator[str]:
    """Yield what is asked along with the case: system text and documents, in the order in which they are sent."""
    who = f"{item.name}: {item.runner}" + (f" {item.model_id}" if item.model_id is not None else "")
    yield visible(who + (f" at {item.endpoint}" if item.endpoint is not None else ""))
    if item.settings:
        yield visible(f"  settings: {canonical.encode(dict(item.settings)).decode()}")
    for text in item.texts:
        if text.role != "answers":
            held = view.texts.get(text.commitment)
            label = text.role + (f" {visible(text.name)}" if text.name else "")
            yield from block(label, None if held is None else answer_text(held))


def _trial_lines(trial: Trial, view: CaseView) -> Iterator[str]:
    outcome, cause = trial.outcome
    why_not = "" if trial.attempts else f": {_why_not(trial, view)}"
    yield f"  repeat {trial.repeat}: {trial_text(outcome, cause)}{why_not}"
    several = len(trial.attempts) > 1
    for number, attempt in enumerate(trial.attempts, start=1):
        if several:
            yield f"    attempt {number}, begun {attempt.started}: {_attempt_text(attempt)}"
        if attempt.end is not None:
            yield from _end_lines(attempt.end, view, "      " if several else "    ")


def _why_not(trial: Trial, view: CaseView) -> str:
    """Say why a trial has no attempt."""
    if trial.left_out == "incompatible":
        item = next(item for item in view.configurations if item.name == trial.configuration)
        why = None if view.case is None else incompatible(view.case, item)
        return f"not asked, and without credit: {visible(why or 'what it does not take is withheld')}"
    return "it never began" if trial.left_out is None else "it was left out, by the budget's money or time"


def _attempt_text(attempt: Attempt) -> str:
    if attempt.end is None:
        return "it has no end: lost, or still under way"
    return trial_text(attempt.end.outcome, attempt.end.cause) + (", tried again" if attempt.end.retry else "")


def _end_lines(end: TrialEnd, view: CaseView, inner: str) -> Iterator[str]:
    """Yield what an attempt came to."""
    private = end.private
    for label, commitment in (("answer", private.answer), ("transcript", private.transcript), ("error", private.error)):
        if commitment is not None:
            held = view.texts.get(commitment)
            text = transcript_text if label == "transcript" else answer_text
            yield from block(label, None if held is None else text(held), inner)
    for scorer, replies in private.replies.items():
        for number, commitment in enumerate(replies, 1):
            held = view.texts.get(commitment)
            yield from block(f"reply {number} to {visible(scorer)}", None if held is None else _reply_text(held), inner)
    if private.reason is not None and private.reason not in view.texts:
        yield from block("why", None, inner)
    elif private.reason is not None:
        for name, said in reasons_of(view.texts[private.reason]).items():
            yield from block(f"why {visible(name)}", said, inner)
    if end.metrics or end.unknown:
        told = [f"{name} {share_text(Fraction(str(value)))}" for name, value in end.metrics.items()]
        told += [f"{name} unknown ({why})" for name, why in end.unknown.items()]
        yield f"{inner}metrics: {', '.join(told)}"
    for line in _fact_lines(end, view):
        yield f"{inner}{line}"


def _reply_text(held: Json) -> str:
    """Return a helper's reply as it was kept, and why it was no verdict whatever stands in it."""
    if isinstance(held, dict) and "unfit" in held:
        return f"({held['unfit']}) {answer_text(held['text'])}"
    return answer_text(held)


def _fact_lines(end: TrialEnd, view: CaseView) -> Iterator[str]:
    """Yield what is known of a call beside its answer."""
    if end.answer_of is not None:
        yield f"answer: that of attempt {end.answer_of}, scored again without asking the model"
    if end.status is not None:
        yield f"status: {end.status}"
    yield f"tokens: {_usage_text(end.usage)}"
    yield f"cost: {money_text(end.cost)}"
    if end.helper_calls:
        asked = counted(len(end.helper_calls), "call")
        yield f"helpers: {asked}, tokens {_usage_text(end.helper_usage)}, cost {money_text(end.helper_cost)}"
    runner = next(item.runner for item in view.configurations if item.name == end.trial[0])
    took = timed(end, runner)
    far = "unknown" if took is None else f"{took} ms"
    yield f"time: {far} at the far end, {end.wall_ms} ms in all; {end.received} bytes received"
    served = end.served
    if served is None and end.private.served is not None:
        held = view.texts.get(end.private.served)
        served = "withheld" if held is None else answer_text(held)
    if served is not None:
        yield f"served by: {visible(served)}"
    if end.finish is not None:
        yield f"finish: {visible(end.finish)}"
    if end.requests:
        yield f"request ids: {visible(', '.join(end.requests))}"
    same = body_digest(view.requests.get(end.trial[0]))
    for call in end.calls:
        yield f"call: {call.digest}" + (" (replayed from a cassette)" if call.replayed else "")
        if call.digest == same:
            yield "sent: the texts above, to the byte: a request built of them has this call's digest"


def _usage_text(usage: Usage | None) -> str:
    if usage is None:
        return "unknown"
    parts = [("in", usage.input), ("out", usage.output), ("read from cache", usage.cache_read)]
    parts += [("written to cache", usage.cache_write), ("of reasoning", usage.reasoning)]
    told = [f"{number} {word}" for word, number in parts if number is not None]
    return (", ".join(told) or "unknown") + (", as the thing under test says" if usage.declared else "")


def money_text(cost: Money | None) -> str:
    """Return an amount with its currency, or that nobody knows it."""
    return "unknown" if cost is None else amount_text(cost.nano, cost.currency)


# -------------------------------------------------------------------------------------------------------------- json


_MORE = ("answer_format", "answer_schema", "context", "files", "tools", "max_turns", "trace")
"""What a case may hold besides, under the names that it has there."""


def case_json(view: CaseView) -> Json:
    """Return the stable object of `show RUN CASE --json`."""
    planned, case = view.planned, view.case
    return {
        "format": "trialplate-trials/1",
        "run_id": view.run.folder.name,
        "case": {
            "id": planned.id,
            "kind": planned.kind,
            "tags": list(planned.tags),
            "suite": planned.suite,
            "withheld": case is None,
            "input": None if case is None else case.input,
            "references": None if case is None else list(case.references),
            "meta": None if case is None else dict(case.meta),
            **{name: None if case is None else codec.to_json(getattr(case, name)) for name in _MORE},
        },
        "configurations": [_configuration_json(item, view) for item in view.configurations],
        "trials": [_trial_json(trial, view) for trial in view.trials],
    }


def _configuration_json(item: Configuration, view: CaseView) -> Json:
    return {
        "name": item.name,
        "runner": item.runner,
        "model_id": item.model_id,
        "endpoint": item.endpoint,
        "settings": dict(item.settings),
        "request": {"body": view.requests.get(item.name), "digest": body_digest(view.requests.get(item.name))},
        "texts": [
            {"role": text.role, "name": text.name, **_part(text.commitment, view)}
            for text in item.texts
            if text.role != "answers"
        ],
    }


def _part(commitment: str | None, view: CaseView) -> dict[str, Json]:
    """Return a committed value as it is; what is not opened is withheld, what was not committed was not there."""
    if commitment is None:
        return {"withheld": False, "value": None}
    return {"withheld": commitment not in view.texts, "value": view.texts.get(commitment)}


def _trial_json(trial: Trial, view: CaseView) -> Json:
    outcome, cause = trial.outcome
    return {
        "configuration": trial.configuration,
        "repeat": trial.repeat,
        "outcome": outcome,
        "cause": cause,
        "attempts": [_attempt_json(number, attempt, view) for number, attempt in enumerate(trial.attempts, start=1)],
    }


def _attempt_json(number: int, attempt: Attempt, view: CaseView) -> Json:
    made: dict[str, Json] = {"attempt": number, "started": attempt.started, "ended": attempt.ended, "end": None}
    if attempt.end is not None:
        made["end"] = {k: v for k, v in codec.to_json(attempt.end).items() if k not in ("trial", "attempt", "private")}
        made["private"] = {name: _part(c, view) for name, c in attempt.end.private.commitments.items()}
    return made
