# SPDX-License-Identifier: Apache-2.0
"""Keys that are known and refused: those of the full language whose engine comes later, and those that never come.

Each is refused by one sentence of its own, so that nobody takes a rule that was not read for a rule that was passed.
What a sentence refuses is cut out of the document before the models see it: the author reads one error, not five.

The order of use: `refuse(document)` gives the problems and what remains; the models check what remains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trialplate.spec.document import Document, Path
from trialplate.spec.placeholders import INPUT
from trialplate.spec.problems import Problem
from trialplate.spec.providers import RUNNERS

__all__ = ["CASE_FIELDS", "LATER", "NEVER", "Refusal", "refuse"]

_NOT_YET = "is not in this version"
_HINT = "take it out for now"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A place in the file, what may not stand there, and the sentence that says so."""

    path: Path
    """"*" stands for any key or index."""
    sentence: str
    values: frozenset[Any] = frozenset()
    """Only these values are refused; empty: whatever stands there."""
    cut: int = 0
    """How many levels above the value are cut out with it: a model whose runner is unknown is not read at all."""
    hint: str = _HINT

    def refuses(self, value: Any) -> bool:
        """Say whether this value is refused; of a list, whether any of its items is."""
        if not self.values:
            return True
        items = value if isinstance(value, list) else [value]
        return any(isinstance(item, str) and item in self.values for item in items)


def _later(path: str, what: str, *values: str, cut: int = 0, hint: str = _HINT) -> Refusal:
    parts = tuple(path.split("."))
    shown = f'"{parts[-1]}"' if not values else f'"{parts[-1]}: {{value}}"'
    return Refusal(parts, f"{shown}: {what} {_NOT_YET}", frozenset(values), cut, hint)


_RUNNERS = ("agent",)
_THIS_RUNNERS = f"runners: {', '.join(RUNNERS)}, http, command, python, trace, stand-in"
_SCORERS = ("container", "checks")
_THIS_SCORERS = "scorer types: exact, contains, regex, numeric, choice, json-schema, json-subset, value, label, "
_THIS_SCORERS += "trajectory, judge, similarity, command, python"

LATER: tuple[Refusal, ...] = (
    *(
        _later(f"tools.*.{key}", "a tool that runs in a container", cut=1, hint="a tool of this version has callable:")
        for key in ("image", "command", "parameter_files", "auxiliary_dir", "shared_dir", "dependencies")
    ),
    _later("services", "a service that runs beside a trial"),
    _later("validators", "a trusted container that scores"),
    _later("case_ids", "hiding case ids behind pseudonyms"),
    _later("test_sets.*.case_ids", "hiding case ids behind pseudonyms"),
    _later("test_sets.*.defaults.limits", "limits of an agent's work"),
    _later("test_sets.*.defaults.checks_on_limit", "checks that run in a workspace"),
    _later("profiles.*.agent_args", "passing arguments to an agent"),
    _later("models.*.runner", "the runner {value}", *_RUNNERS, cut=1, hint=_THIS_RUNNERS),
    _later("models.*.fallback", "forbidding or allowing answers from another model"),
    _later("models.*.adapter", "reading an agent's exit status, steps and cost"),
    _later("models.*.environment", "choosing where an agent runs"),
    _later("scorers.*.type", "the scorer type {value}", *_SCORERS, cut=1, hint=_THIS_SCORERS),
    *(
        _later(
            f"{place}.kind", "the case kind {value}", "workspace", cut=cut, hint="this version runs prompt and trace"
        )
        for place, cut in (
            ("matrix.*.cases", 0),
            ("scorers.*.cases", 0),
            *((f"pass_mark.rules.*.{member}where", 0) for member in ("", "any_of.*.")),
            *((f"pass_mark.rules.*.{member}must_pass", 2) for member in ("", "any_of.*.")),
        )
    ),
    _later("run.workspace", "how an agent's workspace is made and kept"),
    _later("run.sandbox", "how containers are bounded"),
)

_IN_THE_PLAN = "a key in the plan"
_BY_NAME = "write secret: {env: NAME_OF_THE_VARIABLE}; the plan is public, and only the name stands in it"


_TAKE = "take it out; a scorer of your own gives metrics in [0, 1]"


def _never(path: str, sentence: str, hint: str) -> Refusal:
    parts = tuple(path.split("."))
    return Refusal(parts, f'"{parts[-1]}": {sentence}', hint=hint)


def _reserved() -> Iterator[Refusal]:
    """Yield what may not stand in the settings of a model or of a profile."""
    for place in ("models.*.settings", "profiles.*.settings", "helpers.*.settings"):
        for key in ("model", "messages", "stream_options"):
            yield _never(f"{place}.{key}", "is what the runner itself sends", "take it out")
        yield _never(f"{place}.n", "a trial asks for one answer", "take it out; repeats: N asks N times")
        for key in ("system", "prompt"):
            message = "is no setting, and texts do not stand in a public plan"
            yield _never(f"{place}.{key}", message, "write system: beside settings:")
        for key in ("api_key", "apikey", "authorization", "headers", "password", "token", "secret"):
            yield _never(f"{place}.{key}", f"{_IN_THE_PLAN} would be sent and published", _BY_NAME)


NEVER: tuple[Refusal, ...] = (
    *_reserved(),
    *(
        _never(f"runners.*.{key}", f"{_IN_THE_PLAN} would be published", "write secret: {env: NAME} at the model")
        for key in ("api_key", "apikey", "authorization", "password", "token", "secret")
    ),
    *(
        _never(f"{place}.*.{key}", f"{_IN_THE_PLAN} would be published", _BY_NAME)
        for place in ("models", "helpers")
        for key in ("api_key", "apikey", "authorization", "headers", "password", "token")
    ),
    *(
        _never(f"pass_mark.rules.{place}range", "a metric lies between 0 and 1 here, so there is nothing to map", _TAKE)
        for place in ("*.", "*.any_of.*.")
    ),
)

CASE_FIELDS: dict[str, str] = {
    key: f'"{key}": {what} {_NOT_YET}'
    for key, what in {
        "service_inputs": "inputs of a service",
        "repo": "a repository as a case",
        "base": "a repository as a case",
        "input_file": "a question in a file of its own",
        "checks": "checks that run in a workspace",
        "checks_on_limit": "checks that run in a workspace",
        "limits": "limits of an agent's work",
        "solution": "a solution that proves the checks",
    }.items()
}
"""Fields of a case whose engine comes later: they would change the prompt or the score, so they are not ignored."""


_WITH_PLACEHOLDERS = (
    *(f"models.*.{key}" for key in ("system", "argv", "shell", "url", "settings", "request")),
    *(f"helpers.*.{key}" for key in ("system", "url", "settings")),
    "profiles.*.settings",
)
_TAKES_INPUT = ("url", "body")
"""The parts of an http request in which {{input}} is filled in."""
_BRACES = "take the {{ out: it would be sent as it stands; what a document or a case holds is left alone"

_INPUT_ONLY = f"write {INPUT}, without spaces, or take the {{{{ out"

_Found = tuple[Path, Path, str, str, bool]
"""What to cut out of the document, the place, the sentence, the hint, and whether it is about the key."""


def refuse(document: Document) -> tuple[list[Problem], Any]:
    """Return the problems, and a copy of the document without what they are about."""
    found: list[_Found] = []
    for refusal in (*LATER, *NEVER):
        for path, value in _matches(document.value, refusal.path):
            if refusal.refuses(value):
                shown = next((item for item in _items(value) if item in refusal.values), "")
                message = refusal.sentence.replace("{value}", shown)
                found.append((path[: len(path) - refusal.cut], path, message, refusal.hint, True))
    found += _placeholders(document.value)
    cuts = frozenset(cut for cut, *_ in found)
    # What stands inside something else that is refused is not worth a sentence of its own.
    problems = [
        Problem.at(document, path, message, hint, key=key)
        for cut, path, message, hint, key in found
        if not any(cut[:length] in cuts for length in range(1, len(cut)))
    ]
    return problems, _without(document.value, (), cuts)


def _placeholders(value: Any) -> Iterator[_Found]:
    """Yield the texts of models and profiles that hold a placeholder: this version would send it as it stands."""
    for pattern in _WITH_PLACEHOLDERS:
        for start, below in _matches(value, tuple(pattern.split("."))):
            for path, text in _texts(below, start):
                in_request = path[2] == "request"
                takes = in_request and len(path) > 3 and path[3] in _TAKES_INPUT
                if "{{" in (text.replace(INPUT, "") if takes else text):
                    # Without its shell or its url, a model would seem to have none.
                    cut = (*path, "") if path[-1] == "shell" else path[:2] if path[-1] == "url" else path
                    name = next(part for part in reversed(path) if isinstance(part, str))
                    message = f'"{name}": a placeholder, {{{{...}}}}, {_NOT_YET} and comes with a later one'
                    if in_request:
                        # The whole entry, since a request without its url or input would be told as a second mistake.
                        cut, message = (
                            path[:2],
                            f'"{name}": only {INPUT} is filled in here, in the url and in texts of the body',
                        )
                    yield cut, path, message, _INPUT_ONLY if in_request else _BRACES, False


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield every text below a place in the file."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(item, (*path, key))


def _items(value: Any) -> list[str]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


def _matches(value: Any, pattern: Path, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every place in the file that a pattern names."""
    if not pattern:
        yield path, value
    elif pattern[0] != "*":
        if isinstance(value, dict) and pattern[0] in value:
            yield from _matches(value[pattern[0]], pattern[1:], (*path, pattern[0]))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _matches(item, pattern[1:], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _matches(item, pattern[1:], (*path, index))


def _without(value: Any, path: Path, cut: frozenset[Path]) -> Any:
    """Copy a value without the places that are cut out."""
    if isinstance(value, dict):
        return {key: _without(item, (*path, key), cut) for key, item in value.items() if (*path, key) not in cut}
    if isinstance(value, list):
        # A cut item of a list becomes None, so that the others keep their places; the models never see it.
        inner = [(item, (*path, index)) for index, item in enumerate(value)]
        return [None if place in cut else _without(item, place, cut) for item, place in inner]
    return value
