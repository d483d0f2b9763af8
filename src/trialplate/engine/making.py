# SPDX-License-Identifier: Apache-2.0
"""Making the runners and scorers that a plan names: the built-in ones, those of packages, and a person's own objects.

What a plan was made with is what runs it: another version of a package, or another object, is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialplate import plugins
from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration, Scorer
from trialplate.runners.base import Runner, RunnerContext
from trialplate.scorers.base import Scorer as ScorerObject
from trialplate.scorers.base import Texts
from trialplate.spec.added import OBJECT, AddedGroup, AddedName
from trialplate.spec.pins import pin_digest

__all__ = ["Own", "make_runner", "make_scorer"]


@dataclass(frozen=True)
class Own:
    """The objects that a Python program gave, by name, beside what is installed; it is a `spec.added.AddedNames`."""

    runners: Mapping[str, Any] = field(default_factory=dict)
    """By the name that models give as their runner."""
    scorers: Mapping[str, Any] = field(default_factory=dict)
    """By the scorer's name; their type is `object`."""

    def names(self, group: AddedGroup) -> Iterable[str]:
        """Return the names of a group, those of built-ins excepted.

        Raises:
            SpecError: PLUGIN-CLASH: between packages, or an object has a name that is taken.
        """
        installed = list(plugins.PACKAGES.names(group))
        if group == "runners":
            for name in self.runners:
                if name in installed or name in plugins.BUILT_IN[group]:
                    message = f"the runner {name!r} is there already, and would be another than yours"
                    raise SpecError(
                        message, where=f"runners[{name!r}]", hint="give yours another name", code="PLUGIN-CLASH"
                    )
            return [*installed, *self.runners]
        return [*installed, *([OBJECT] if group == "scorers" and self.scorers else [])]

    def find(self, group: AddedGroup, name: str) -> AddedName:
        """Return what has a name; KeyError if nothing has."""
        own = self.runners if group == "runners" else self.scorers if group == "scorers" else {}
        return _named(own[name]) if name in own else plugins.PACKAGES.find(group, name)


def make_runner(configuration: Configuration, context: RunnerContext, own: Own) -> Runner:
    """Make the runner of a configuration.

    Raises:
        SpecError: it is not there, is another than the plan's, or cannot be made.
    """
    name = configuration.runner
    if configuration.plugin is None:
        made: Runner = plugins.load("runners", name)(configuration, context)
        return made
    from trialplate.runners.own import OwnRunner

    settings = configuration.settings
    found, given = _made("runners", name, configuration.plugin, settings, f"models.{configuration.model}", own)
    return OwnRunner(configuration, context, found, closes=not given)


def make_scorer(scorer: Scorer, texts: Texts, own: Own) -> ScorerObject:
    """Make a scorer.

    Raises:
        SpecError: it is not there, is another than the plan's, or cannot be made.
    """
    if scorer.plugin is None:
        make = plugins.load("scorers", scorer.type)
        try:
            made: ScorerObject = make(scorer, texts)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            message = f"its settings are none of the scorer {scorer.type} ({type(error).__name__}: {str(error)[:100]})"
            hint = "use a plan that this program made"
            raise SpecError(message, where=f"scorers.{scorer.name}", hint=hint, code="SCORER") from error
        return made
    from trialplate.scorers.own import OwnScorer

    name = scorer.name if scorer.type == OBJECT else scorer.type
    found, _ = _made("scorers", name, scorer.plugin, scorer.settings, f"scorers.{scorer.name}", own)
    return OwnScorer(scorer, found)


def _made(
    group: AddedGroup, name: str, package: str, settings: Mapping[str, Json], where: str, own: Own
) -> tuple[Any, bool]:
    """Return an object, and whether a Python program gave it."""
    word = group.removesuffix("s")
    if package.startswith(f"{OBJECT} "):
        if name not in (own.runners if group == "runners" else own.scorers):
            message = f"the {word} {name!r} was an object of a Python program ({package.removeprefix(OBJECT).strip()})"
            hint = "go on from Python, with trialplate.RunRecord.open(...).resume(...), which gives it again"
            raise SpecError(message, where=where, hint=hint, code="PLUGIN")
        now = own.find(group, name)
        if now.package != package or dict(now.source) != dict(settings.get("source", {})):
            what = now.package.removeprefix(OBJECT).strip()
            message = f"the {word} {name!r} is {what} now, and not what the plan was made with"
            hint = "give the object that it was, from the file as it was; or begin another run"
            raise SpecError(message, where=where, hint=hint, code="PLUGIN-CHANGED")
        return now.load(), True
    try:
        found = plugins.PACKAGES.find(group, name)
    except KeyError:
        hint = f"install {package}"
        raise SpecError(
            f"the {word} {name!r} of {package} is not installed", where=where, hint=hint, code="PLUGIN"
        ) from None
    if found.package != package:
        message = f"the {word} {name!r} is that of {found.package} now, and the plan was made with {package}"
        raise SpecError(message, where=where, hint=f"install {package}", code="PLUGIN-CHANGED")
    try:
        return found.load()(**settings.get("options", {})), False
    except SpecError:
        raise
    except Exception as error:
        message = f"the {word} {name!r} of {package} cannot be made: {type(error).__name__}: {str(error)[:200]}"
        raise SpecError(message, where=where, hint="correct its options", code="PLUGIN") from error


def _named(made: Any) -> AddedName:
    """Return an object as a plan names it: by its class, and by the digest of its source where it has one."""
    kind = made if inspect.isclass(made) or inspect.isroutine(made) else type(made)
    label = f"{kind.__module__}:{kind.__qualname__}"
    package = f"{OBJECT} {label.encode('ascii', 'replace').decode()}"[:128]
    return AddedName(package=package, load=lambda: made, source=_source(kind))


def _source(kind: Any) -> dict[str, Json]:
    """Return file and digest of where a class is written; nothing for what was typed into a session."""
    try:
        file = Path(inspect.getsourcefile(kind) or "")
        return {"file": canonical.text_out(file.name), "digest": pin_digest(file.read_bytes())}
    except (OSError, TypeError):
        return {}
