# SPDX-License-Identifier: Apache-2.0
"""A trial as a project on disk: trialplate.yaml and the files that it names, so that every command works on it.

What stands there is read back by the loader of every plan: there is one language, and one set of errors.
"""

from __future__ import annotations

import json
import math
import os
import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from trialplate.api.test_sets import TestSet
from trialplate.errors import SpecError, UsageError
from trialplate.ledger.durable import replacing, storage
from trialplate.spec.case_files import FETCHED

__all__ = ["PLAN", "write_project"]

PLAN = "trialplate.yaml"
MARK = "# Written by trialplate.run_trial from a Python program, and written anew by the next that runs here.\n"
"""The first line of a plan that may be replaced: nobody's own work is lost."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_PLAIN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def write_project(folder: Path, test_set: TestSet, plan: Mapping[str, Any]) -> None:
    """Write a plan, and beside it the files that it names and that are not there yet.

    Args:
        folder: the project's; it is made.
        test_set: stands under `test_sets`: in place if it lies in the folder, else as a copy under cases/.
        plan: what else the plan says.

    Raises:
        UsageError: somebody's own plan stands there, or a value has no place in a plan.
        SpecError: a file would be overwritten by another.
        StorageError: it could not be written.
    """
    path = folder / PLAN
    if path.exists() and not path.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        hint = "name another folder, or run that plan: `trialplate run --yes`"
        raise UsageError("a plan of somebody's own stands here", where=str(path), hint=hint)
    again = path.exists()
    with storage(folder, "made"):
        folder.mkdir(parents=True, exist_ok=True)
    entry = {"file": _test_set(folder, test_set, again=again)}
    if test_set.loader is not None:
        entry["loader"] = test_set.loader
    for name in _named_files(plan):
        _take(Path(name), folder, name, again=again)
    whole = {"trialplate": 1, "name": plan["name"], "test_sets": [entry], **plan}
    lines = list(_lines(whole, "", ()))
    with replacing(path) as write:
        write(MARK)
        for line in lines:
            write(line + "\n")


def _test_set(folder: Path, test_set: TestSet, *, again: bool) -> str:
    """Return the path of the test set in the project, copied with the files of its cases if it lies elsewhere."""
    real, root = test_set.path.resolve(), folder.resolve()
    if real.is_relative_to(root):
        return real.relative_to(root).as_posix()
    for name in (test_set.path.name, *test_set.files):
        goal = name if name.startswith(f"{FETCHED}/") else f"cases/{name}"
        _take(test_set.path.parent / name, folder, goal, again=again)
    return f"cases/{test_set.path.name}"


def _named_files(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that models and scorers name, as far as a copy of each by itself is what they are."""
    for model in plan["models"].values():
        settings = model.get("settings")
        documents = settings.get("documents", ()) if isinstance(settings, Mapping) else ()
        yield from (item for item in documents if isinstance(item, str))
        if isinstance(answers := model.get("answers"), str):
            yield answers
    for scorer in plan["scorers"].values():
        if isinstance(schema := scorer.get("schema"), str):
            yield schema
    for entry in (*plan["models"].values(), *plan["scorers"].values()):
        if isinstance(place := entry.get("callable"), str) and place.rpartition(":")[0]:
            yield place.rpartition(":")[0]


def _take(source: Path, folder: Path, name: str, *, again: bool) -> None:
    """Copy a file into the project, unless it is there already; what is missing is told when the plan is read."""
    goal = folder / posixpath.normpath(name)
    outside = os.path.isabs(name) or posixpath.normpath(name).startswith("../")
    if outside or not source.is_file() or (goal.exists() and source.samefile(goal)):
        return
    data = source.read_bytes()
    if goal.exists() and goal.read_bytes() != data and not again:
        hint = "name another folder, or give the file that is there"
        raise SpecError(f"another file than {source.name} stands here", where=str(goal), hint=hint)
    with storage(goal):
        goal.parent.mkdir(parents=True, exist_ok=True)
        fresh = goal.with_name(f"{goal.name}.new")
        shutil.copyfile(source, fresh)
        os.replace(fresh, goal)


# ------------------------------------------------------------------------------------------------------- as YAML


def _lines(value: Any, indent: str, path: tuple[str | int, ...]) -> Iterator[str]:
    """Yield the lines of a mapping or a list in block style; texts are quoted as JSON, which YAML reads as it is."""
    items: Sequence[tuple[str, Any, str | int]]
    if isinstance(value, Mapping):
        items = [(f"{_key(name, path)}:", item, name) for name, item in value.items()]
    else:
        items = [("-", item, index) for index, item in enumerate(value)]
    for head, item, key in items:
        if isinstance(item, Mapping | list | tuple) and item:
            first, *others = _lines(item, f"{indent}  ", (*path, key))
            yield from (f"{indent}- {first.lstrip()}", *others) if head == "-" else (f"{indent}{head}", first, *others)
        else:
            yield f"{indent}{head} {_scalar(item, (*path, key))}"


def _key(name: Any, path: tuple[str | int, ...]) -> str:
    if not isinstance(name, str):
        raise _no_place(name, path)
    return name if _PLAIN.fullmatch(name) and name.lower() not in _NOT_PLAIN else json.dumps(name)


def _scalar(value: Any, path: tuple[str | int, ...]) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    if isinstance(value, Decimal) and value.is_finite():
        return json.dumps(format(value, "f"))
    plain = value is None or isinstance(value, str | bool | int)
    if not plain and not (isinstance(value, float) and math.isfinite(value)):
        raise _no_place(value, path)
    return json.dumps(value)


def _no_place(value: Any, path: tuple[str | int, ...]) -> UsageError:
    where = ".".join(map(str, path)) or "plan"
    message = f"{type(value).__name__} has no place in a plan"
    return UsageError(message, where=where, hint="give texts, finite numbers, True, False, lists and dicts")
