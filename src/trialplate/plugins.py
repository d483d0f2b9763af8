# SPDX-License-Identifier: Apache-2.0
"""Names to code: the built-in runners, scorers, loaders and reports, and those that installed packages add.

A built-in is a name and a place, imported when it is used and not before. Any other name is looked up among the entry
points of its group (`trialplate.runners`, `.scorers`, `.loaders`, `.reports`); these are discovered only then. A
built-in name cannot be replaced: an entry point that claims one, or two packages that claim the same name, are errors.
Only what a plan names is ever loaded. A loader whose name begins with a point is that of files with this ending.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

from trialplate.errors import SpecError, nearest
from trialplate.spec.providers import RUNNERS

__all__ = ["BUILT_IN", "PACKAGES", "Group", "Plugin", "find", "list_plugins", "load"]

Group = Literal["runners", "scorers", "loaders", "reports"]

BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "runners": {
        **dict.fromkeys(RUNNERS, "trialplate.runners.hosted:make"),
        "http": "trialplate.runners.http:make",
        "command": "trialplate.runners.command:make",
        "python": "trialplate.runners.python:make",
        "trace": "trialplate.runners.trace:make",
        "stand-in": "trialplate.runners.stand_in:make",
    },
    "scorers": {
        "exact": "trialplate.scorers.text_match:make_exact",
        "contains": "trialplate.scorers.text_match:make_contains",
        "regex": "trialplate.scorers.text_match:make_regex",
        "numeric": "trialplate.scorers.numeric:make_numeric",
        "choice": "trialplate.scorers.choice:make_choice",
        "json-schema": "trialplate.scorers.json_scorers:make_json_schema",
        "json-subset": "trialplate.scorers.json_scorers:make_json_subset",
        "value": "trialplate.scorers.value:make_value",
        "label": "trialplate.scorers.label:make_label",
        "trajectory": "trialplate.scorers.trajectory:make_trajectory",
        "judge": "trialplate.scorers.judge:make_judge",
        "similarity": "trialplate.scorers.similarity:make_similarity",
        "command": "trialplate.scorers.programs:make_command",
        "python": "trialplate.scorers.programs:make_python",
    },
    "loaders": dict.fromkeys(
        (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".yaml", ".yml"), "trialplate.spec.test_sets:load"
    ),
    "reports": {
        "text": "trialplate.reports.terminal:render",
        "markdown": "trialplate.reports.markdown:render",
        "json": "trialplate.reports.json_report:render",
        "csv": "trialplate.reports.csv_table:render",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A name and where its code is."""

    group: Group
    name: str
    place: str
    """ "module:attribute"."""
    distribution: str | None = None
    """The package that adds it; None for a built-in."""
    version: str | None = None

    @property
    def package(self) -> str:
        """Return the package and its version, as a plan names them."""
        return f"{self.distribution or 'trialplate'} {self.version or 'of no version'}"[:128]

    def load(self) -> Any:
        """Import the code.

        Raises:
            SpecError: PLUGIN: a package's code cannot be imported. A built-in's own error is not disguised.
        """
        module, _, attribute = self.place.partition(":")
        try:
            found: Any = import_module(module)
            for name in filter(None, attribute.split(".")):
                found = getattr(found, name)
        except (ImportError, AttributeError) as error:
            if self.distribution is None:
                raise
            message = f"{self.group[:-1]} {self.name!r} of {self.distribution} cannot be loaded: {error}"
            hint = f"reinstall {self.distribution}, or take it out of the plan"
            raise SpecError(message, hint=hint, code="PLUGIN") from error
        return found


def load(group: Group, name: str) -> Any:
    """Return the code behind a name.

    Raises:
        SpecError: see `find` and `Plugin.load`.
    """
    return find(group, name).load()


def find(group: Group, name: str) -> Plugin:
    """Return the plugin of a name; packages are looked at only if it is no built-in.

    Raises:
        SpecError: PLUGIN-UNKNOWN: nobody has this name; PLUGIN-CLASH: more than one has.
    """
    place = BUILT_IN[group].get(name)
    if place is not None:
        return Plugin(group=group, name=name, place=place)
    known = _discover(group)
    if name not in known:
        names = [*BUILT_IN[group], *known]
        near = nearest(name, names)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(sorted(names))}"
        raise SpecError(f"there is no {group[:-1]} {name!r}", hint=hint, code="PLUGIN-UNKNOWN")
    return known[name]


def list_plugins() -> list[Plugin]:
    """Return every built-in and every plugin of an installed package, by group and name; none is imported.

    Raises:
        SpecError: PLUGIN-CLASH.
    """
    found = []
    for group in get_args(Group):
        built_in = [Plugin(group=group, name=name, place=place) for name, place in BUILT_IN[group].items()]
        found += sorted([*built_in, *_discover(group).values()], key=lambda plugin: plugin.name)
    return found


def _discover(group: Group) -> dict[str, Plugin]:
    """Return what installed packages add to a group."""
    from importlib.metadata import entry_points

    found: dict[str, Plugin] = {}
    for entry in entry_points(group=f"trialplate.{group}"):
        package = entry.dist
        plugin = Plugin(
            group=group,
            name=entry.name,
            place=entry.value,
            distribution=package.name if package else "an unnamed package",
            version=package.version if package else None,
        )
        taken = "Trialplate itself" if entry.name in BUILT_IN[group] else None
        if entry.name in found and found[entry.name] != plugin:
            taken = found[entry.name].distribution
        if taken is not None:
            message = f"{group[:-1]} {entry.name!r} of {plugin.distribution} has a name that {taken} uses"
            hint = f"uninstall {plugin.distribution}, or ask its authors for another name"
            raise SpecError(message, hint=hint, code="PLUGIN-CLASH")
        found[entry.name] = plugin
    return found


class _Packages:
    """The names that installed packages add, as who reads a plan looks them up: `spec.added.AddedNames`."""

    def names(self, group: Group) -> Iterable[str]:
        """Return the names of a group.

        Raises:
            SpecError: PLUGIN-CLASH.
        """
        return _discover(group)

    def find(self, group: Group, name: str) -> Any:
        """Return what has a name; KeyError if nothing has."""
        from trialplate.spec.added import AddedName

        found = _discover(group)[name]
        return AddedName(package=found.package, load=found.load)


PACKAGES = _Packages()
