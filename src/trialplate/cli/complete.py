# SPDX-License-Identifier: Apache-2.0
"""What a shell offers after TAB: names that are there, looked up when they are asked for.

Nothing is written, nothing is said, and whatever cannot be looked up is not offered: a half-typed line must never end
in an error. Only what is asked for is read; the module itself loads nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

__all__ = [
    "SHELLS",
    "cache_modes",
    "cases",
    "cases_of_run",
    "colours",
    "configurations",
    "formats",
    "install",
    "judges",
    "keys",
    "models",
    "ran",
    "ready",
    "runs",
    "schemas",
    "shell_of",
    "show",
    "starters",
]

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_TRIALPLATE_COMPLETE"
_PLAIN = re.compile(r"\w[\w.,:@+/=%-]*")
"""What is offered: a shell takes it into the line as it is, and would run a case that is called `$(...)`."""


def _quiet(find: Callable[[Any, str], Iterable[str]]) -> Callable[[Any, str], list[str]]:
    """Make a look-up one that offers nothing where it fails."""

    def offered(ctx: Any, incomplete: str) -> list[str]:
        try:
            return [name for name in find(ctx, incomplete) if _PLAIN.fullmatch(name)]
        except Exception:  # a shell waits for the answer, and has no place for a traceback
            return []

    offered.__annotations__ = {}  # so the parser goes by the names of the arguments
    return offered


def _listed(names: Iterable[str], incomplete: str) -> Iterator[str]:
    """Yield what could follow in a comma list: each name that is not in it yet, behind what was typed before."""
    before, comma, _ = incomplete.rpartition(",")
    there = before.split(",")
    yield from (f"{before}{comma}{name}" for name in names if name not in there)


@_quiet
def starters(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the starters of `init`."""
    from trialplate.cli.init import STARTERS

    return list(STARTERS)


@_quiet
def cache_modes(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the values of `--cache`."""
    from typing import get_args

    from trialplate.record.values import CacheMode

    return list(get_args(CacheMode))


@_quiet
def colours(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the values of `--color`."""
    from typing import get_args

    from trialplate.cli.colour import ColourMode

    return list(get_args(ColourMode))


@_quiet
def schemas(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the formats that have a schema."""
    from trialplate.spec.schemas import documents

    return [name.partition(".")[0] for name in documents()]


@_quiet
def keys(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the names of this user's keys."""
    from trialplate.verify.known import config_folder

    return sorted(path.stem for path in (config_folder(os.environ) / "keys").glob("*.key"))


@_quiet
def runs(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the runs of the project here, the newest first, and `latest`."""
    folder = _ledger(ctx).parent / "runs"
    return ["latest", *sorted((path.name for path in folder.iterdir() if path.is_dir()), reverse=True)]


@_quiet
def configurations(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the candidates of the run that was named, else of the newest."""
    return [item["name"] for item in _plan(ctx)["configurations"] if item.get("role") != "comparison"]


@_quiet
def judges(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the judges of the run that was named, else of the newest."""
    return [item["name"] for item in _plan(ctx)["scorers"] if item["type"] == "judge"]


@_quiet
def ran(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer every configuration of that run, and the models that have several."""
    there = _plan(ctx)["configurations"]
    return dict.fromkeys([*(item["name"] for item in there), *(item["model"] for item in there)])


@_quiet
def cases_of_run(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the cases of that run."""
    return [case["id"] for case in _plan(ctx)["test_set"]["cases"]]


@_quiet
def formats(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the formats of a report."""
    from trialplate.plugins import BUILT_IN

    return list(BUILT_IN["reports"])


@_quiet
def models(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the models and configurations of the plan that was named, as a comma list."""
    from trialplate.spec.resolve import matrix_lines

    project = _project(ctx)
    named = [name for line in matrix_lines(project) for name in line.configurations]
    return _listed(dict.fromkeys([*project.author.models, *named]), incomplete)


@_quiet
def cases(ctx: Any, incomplete: str) -> Iterable[str]:
    """Offer the ids of the plan's cases, as a comma list."""
    return _listed([case.id for case in _project(ctx).cases], incomplete)


def _ledger(ctx: Any) -> Path:
    from trialplate.verify.locate import ledger_above

    found = ctx.params.get("ledger") or ledger_above(Path.cwd())
    return Path(found or "ledger").absolute()


def _plan(ctx: Any) -> Any:
    """Return the plan of the run that was named, else of the newest; what it says is only offered."""
    import json

    from trialplate.verify.locate import find_run

    named = ctx.params.get("run") or "latest"
    return json.loads((find_run(str(named), Path.cwd(), ctx.params.get("ledger")) / "plan.json").read_bytes())


def _project(ctx: Any) -> Any:
    from trialplate.plugins import PACKAGES
    from trialplate.spec.project import load_project

    return load_project(str(ctx.params.get("plan") or "trialplate.yaml"), added=PACKAGES)


# ----------------------------------------------------------------------------------------------------- into the shell


def ready() -> None:
    """Teach the parser the shells, if one of them asks."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
        _join_equals(os.environ)


def _join_equals(environ: MutableMapping[str, str]) -> None:
    """Read what bash says as the parser does: it splits `--model=good` into three words."""
    if not environ.get("COMP_CWORD", "").isdecimal():
        return
    current, words = int(environ["COMP_CWORD"]), environ.get("COMP_WORDS", "").split("\n")
    kept: list[str] = []
    at = current
    for index, word in enumerate(words):
        if word == "=" and kept and kept[-1].startswith("--"):
            if index == current:
                kept.append("")
            at -= index < current
        else:
            kept.append(word)
    environ.update(COMP_WORDS="\n".join(kept), COMP_CWORD=str(at))


def shell_of(name: str | None) -> str:
    """Return the shell of a name, or the user's own.

    Raises:
        UsageError: it is none that can be served.
    """
    from trialplate.errors import UsageError, nearest

    own = Path(os.environ.get("SHELL", "")).name
    found = name or own
    if found in SHELLS:
        return found
    near = nearest(found, SHELLS)
    hint = f"did you mean {near}?" if near else f"name one of {', '.join(SHELLS)}, as in --show-completion bash"
    message = f"there is no completion for {found!r}" if found else "which shell is it for?"
    raise UsageError(message, hint=hint)


def show(shell: str) -> None:
    """Print the lines that a shell reads to complete commands of trialplate."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name="trialplate", complete_var=VARIABLE, shell=shell_of(shell)))


def install(shell: str) -> None:
    """Put those lines where the shell reads them at its start, and say where."""
    from typer.completion import install as put  # type: ignore[attr-defined]

    _, path = put(shell=shell_of(shell), prog_name="trialplate", complete_var=VARIABLE)
    print(f"completion for {shell} is in {path}; it works in the next shell that you open")
