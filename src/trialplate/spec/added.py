# SPDX-License-Identifier: Apache-2.0
"""What installed packages, and the program that runs a plan, add to the names that a plan may use.

This room looks nothing up by itself: who reads a project hands in an `Added`. Of what it finds, the name, the package
and its version go into the plan; what the code is asked here is only what it says of itself as attributes: `hosted` of
a runner, `metrics` (or `metric`) of a scorer. Nothing of it is called but a loader of cases.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from trialplate.errors import SpecError
from trialplate.record import values
from trialplate.record.frozen import Json
from trialplate.spec.document import Document, Path
from trialplate.spec.nearest import suggestion

__all__ = ["NOTHING", "OBJECT", "AddedGroup", "AddedName", "AddedNames", "check_options", "declared_metrics"]

SECRETS = frozenset({"apikey", "accesstoken", "authorization", "authtoken", "bearertoken", "clientsecret", "password"})
SECRETS |= {"secret", "secretkey", "token"}
"""What options are called that hold a key: without white space, - and _, in lower case."""
AddedGroup = Literal["runners", "scorers", "loaders"]
OBJECT = "object"
"""The scorer type of an object that a Python program gave; what its `package` begins with, too."""


@dataclass(frozen=True, slots=True)
class AddedName:
    """A name that is no built-in's."""

    package: str
    """"acme 1.2", or "object module:Class" for what a Python program gave: 1 to 128 printable ASCII characters."""
    load: Callable[[], Any]
    """Imports the code.

    Raises:
        SpecError: PLUGIN: it cannot be imported.
    """
    source: Mapping[str, Json] = field(default_factory=dict)
    """`file` and `digest` of the source of an object, where it has one."""

    @property
    def is_object(self) -> bool:
        """Say whether a Python program gave it, so that nothing else can make it again."""
        return self.package.startswith(f"{OBJECT} ")

    @property
    def answers(self) -> bool:
        """Say of a runner whether it has the full form, `answer(request, tools)`, and so is offered tools."""
        return callable(getattr(self.load(), "answer", None))

    @property
    def note(self) -> str:
        """Return in words what of it no digest pins."""
        if not self.is_object:
            return f"what {self.package} reads or calls, and the Python that runs it"
        module, _, name = self.package.removeprefix(f"{OBJECT} ").partition(":")
        return f"what {name} of module {module} does, and what it holds and calls"


class AddedNames(Protocol):
    """Where names that are no built-ins are looked up."""

    def names(self, group: AddedGroup) -> Iterable[str]:
        """Return the names of a group, those of built-ins excepted.

        Raises:
            SpecError: PLUGIN-CLASH.
        """
        ...

    def find(self, group: AddedGroup, name: str) -> AddedName:
        """Return what has a name; KeyError if nothing has."""
        ...


class _Nothing:
    def names(self, group: AddedGroup) -> Iterable[str]:
        return ()

    def find(self, group: AddedGroup, name: str) -> AddedName:
        raise KeyError(name)


NOTHING: AddedNames = _Nothing()


def check_options(made: Any, options: Mapping[str, Any], document: Document, path: Path) -> None:
    """Refuse options that hold a key, and those that a class or a function does not take.

    One whose parameters nobody can tell takes what comes.

    Args:
        made: what an entry point names.
        options: by name.
        path: to them in the file.

    Raises:
        SpecError: one is unknown, one is missing, or one would publish a key.
    """
    for place in _keys_in(options, path):
        message = f'"{place[-1]}": a key in the plan would be published'
        hint = "write secret: {env: NAME} at the model, or let a scorer read a variable whose name stands here"
        raise SpecError(message, where=document.where(place, key=True), hint=hint)
    if not callable(made):
        hint = "an entry point names a class, or a function that returns an object"
        raise SpecError("this plugin is no class and no function", where=document.where(path), hint=hint)
    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):
        return
    takes = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    names = [p.name for p in takes]
    for name in options:
        if name not in names and not any(p.kind is p.VAR_KEYWORD for p in parameters):
            where = document.where((*path, name), key=True)
            raise SpecError(f'unknown option "{name}"', where=where, hint=suggestion(name, names))
    for parameter in takes:
        if parameter.default is parameter.empty and parameter.name not in options:
            message = f'the option "{parameter.name}" is missing'
            raise SpecError(message, where=document.where(path), hint=f"add {parameter.name}:")


def _keys_in(value: Any, path: Path) -> Iterator[Path]:
    """Yield the places of texts that are called what keys are called, at any depth."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, str) and re.sub("[-_ ]", "", str(name)).lower() in SECRETS:
                yield (*path, name)
            yield from _keys_in(item, (*path, name))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _keys_in(item, (*path, index))


def declared_metrics(made: Any, where: str) -> tuple[str, ...]:
    """Return the metrics that a scorer says it yields, the first of which is its main one; empty: it says nothing.

    Args:
        made: an object with `metrics` or `metric`, or the class of such.
        where: for error texts.

    Raises:
        SpecError: they are no names, or one stands twice.
    """
    found = getattr(made, "metrics", None)
    if found is None or inspect.isroutine(found) or isinstance(found, property):
        found = getattr(made, "metric", None)
        found = () if found is None or inspect.isroutine(found) or isinstance(found, property) else (found,)
    names = tuple(found) if isinstance(found, list | tuple) else (found,)
    form = values.Name.__metadata__[0].regex  # type: ignore[attr-defined]
    if len(set(map(str, names))) < len(names) or not all(isinstance(n, str) and re.fullmatch(form, n) for n in names):
        message = f"its metrics are {str(names)[:100]}, which are no different names"
        raise SpecError(message, where=where, hint='write metrics = ("correct", "grounded")')
    return names
