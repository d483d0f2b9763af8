# SPDX-License-Identifier: Apache-2.0
"""The script of a stand-in model: read from the plan or from a file of its own, and checked before anything runs.

    script:   [entry, ...]    by turn; a prompt case has one turn, so the first answers every case
              {ID: entries}   by case id; "*" stands for every case that is not named
    entries:  an entry, or a list of entries by repeat
    entry:    "text", {text: ..., ...}, {error: ..., ...} or {attempts: [entry, ...]}

What the words of an entry do is the runner's to say; here only their form is checked, so that a typing error is told
with its place and not in the middle of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NoReturn

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.spec import yaml_strict
from trialplate.spec.document import plain
from trialplate.spec.nearest import suggestion

__all__ = ["MAX_SCRIPT", "script"]

MAX_SCRIPT = 16 * 1024 * 1024

_ANSWER = frozenset({"text", "usage", "finish", "served", "latency_ms", "refusal"})
_ERROR = frozenset({"error", "status", "retry_after_s", "message"})
_ATTEMPTS = frozenset({"attempts"})


def script(answers: str | Json, texts: Mapping[str, str], case_ids: Set[str], where: str) -> Json:
    """Return a script as plain JSON.

    Args:
        answers: the path of a file, or the script itself.
        texts: the files of the project that were read.
        case_ids: the cases that there are.
        where: the place of `answers`, for error texts.

    Raises:
        SpecError: a case id that no case has, or something that is no entry.
    """
    value = answers
    if isinstance(answers, str):
        value = yaml_strict.load(texts[answers].encode(), answers, limit=MAX_SCRIPT).value
        where = answers
    value = plain(value)
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value:
        for index, item in enumerate(value):
            _check_entry(item, f"{where}, turn {index + 1}")
    elif isinstance(value, dict) and value:
        for name, entries in value.items():
            if name not in case_ids and name != "*":
                _refuse(where, f'the script answers case "{name}", which is not there', suggestion(name, case_ids))
            if entries == []:
                _refuse(where, f'the script has an empty list for case "{name}"', "write at least one answer")
            for item in entries if isinstance(entries, list) else [entries]:
                _check_entry(item, f'{where}, case "{name}"')
    else:
        _refuse(where, "a script is a list of answers, or a map of answers by case id", 'write {"*": "an answer"}')
    return value


def _check_entry(entry: Json, where: str, *, nested: bool = False) -> None:
    """Check the form of one scripted answer."""
    if isinstance(entry, str):
        return
    if isinstance(entry, dict):
        for key, known in (("text", _ANSWER), ("error", _ERROR), ("attempts", _ATTEMPTS)):
            if key in entry and not (nested and key == "attempts"):
                for name in entry.keys() - known:
                    _refuse(where, f'unknown key "{name}" beside "{key}"', suggestion(name, known))
                if key == "attempts":
                    attempts = entry[key]
                    if not isinstance(attempts, list) or not attempts:
                        _refuse(where, '"attempts" is no list of answers', "write attempts: [first, second]")
                    for item in attempts:
                        _check_entry(item, where, nested=True)
                elif not isinstance(entry[key], str):
                    _refuse(where, f'"{key}" must be a text', "put it in quotes")
                return
    _refuse(where, "an answer is a text, or an object with text, error or attempts", 'write "an answer", in quotes')


def _refuse(where: str, message: str, hint: str) -> NoReturn:
    raise SpecError(message, where=where, hint=hint)
