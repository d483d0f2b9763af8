# SPDX-License-Identifier: Apache-2.0
"""Finding what a person named: a project, a ledger, a run by path, id, unique prefix or `latest`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from trialplate.errors import UsageError, nearest
from trialplate.record import canonical
from trialplate.record.frozen import Value
from trialplate.record.values import RunId
from trialplate.verify.log_file import MAX_NOTE, LogFile, claimed_size, read_small

_RUN_ID: str = RunId.__metadata__[0].regex  # type: ignore[attr-defined]
__all__ = ["Found", "find", "find_run", "find_with_ledger", "given_ledger", "ledger_above"]


class Found(Value, kw_only=False):
    """Something to verify: a run and its ledger (None where it stands alone), or a ledger by itself."""

    ledger: Path | None
    run: Path | None


def ledger_above(path: Path) -> Path | None:
    """Return the ledger folder of the nearest ancestor that has one.

    A run's folder and the folder of runs are passed over: a ledger that somebody put there is not the project's.
    """
    for folder in (path, *path.parents):
        if folder.name == "runs" or folder.parent.name == "runs":
            continue
        if (folder / "ledger" / "origin").exists() or (folder / "ledger" / "entries.jsonl").exists():
            return folder / "ledger"
    return None


def find(name: str, here: Path, ledger: Path | None) -> list[Found]:
    """Return what a path or a run's name stands for; a project is its ledger and every run in it.

    Raises:
        UsageError: nothing of that name.
    """
    _check_name(name)
    path = _absolute(here, name)
    ledger = None if ledger is None else given_ledger(here, ledger)
    if path.name in ("record.jsonl", "entries.jsonl") and path.is_file():
        path = path.parent
    if _is_run(path):
        return [Found(ledger or ledger_above(path), path)]
    if (path / "entries.jsonl").exists() or (path / "origin").exists():
        return [Found(path, None)]
    above = ledger_above(path) if path.is_dir() else None
    if above is not None:
        own = ledger or above
        runs = sorted(p for p in (above.parent / "runs").glob("*") if p.is_dir())
        return [Found(own, None), *(Found(own, run) for run in runs)]
    run = find_run(name, here, ledger)
    return [Found(ledger or ledger_above(run), run)]


def given_ledger(here: Path, name: str | Path) -> Path:
    """Return the folder that `--ledger` names.

    Raises:
        UsageError: there is no ledger in it.
    """
    path = _absolute(here, name)
    if not any((path / file).exists() for file in ("entries.jsonl", "origin", "checkpoint")):
        raise UsageError("this is no ledger's folder", where=str(name), hint="give the folder that holds entries.jsonl")
    return path


def _is_run(path: Path) -> bool:
    """Say whether a folder is a run's, even one that lacks its files."""
    if any((path / file).exists() for file in ("record.jsonl", "plan.json")):
        return True
    return path.parent.name == "runs" and path.is_dir() and ledger_above(path) is not None


def find_with_ledger(name: str, here: Path, ledger: Path | None) -> tuple[Path, Path | None]:
    """Return the folder of a run, and of its ledger: the one given, else the nearest above it, if there is one.

    Raises:
        UsageError: no run, or more than one, of that name; or no ledger where one was given.
    """
    run = find_run(name, here, ledger)
    return run, given_ledger(here, ledger) if ledger else ledger_above(run)


def find_run(name: str, here: Path, ledger: Path | None) -> Path:
    """Return the folder of a run.

    Raises:
        UsageError: no run, or more than one, of that name.
    """
    _check_name(name)
    path = _absolute(here, name)
    if path.name == "record.jsonl":
        path = path.parent
    if name != "latest" and _is_run(path):
        return path
    own = ledger_above(_absolute(here, ".")) if ledger is None else given_ledger(here, ledger)
    if own is None:
        where = f"in {path} or above it" if path.is_dir() else f"here or above, and so no run {name!r}"
        hint = "a new project gets its ledger from `trialplate run --yes`; else go to its folder, or give a run's path"
        raise UsageError(f"there is no ledger {where}", hint=hint, code="RUN")
    runs = own.parent / "runs"
    if name == "latest":
        return runs / _latest(own)
    there = sorted(p.name for p in runs.glob("*") if p.is_dir()) if runs.is_dir() else []
    matches = [item for item in there if item.startswith(name)]
    if len(matches) == 1:
        return runs / matches[0]
    if matches:
        raise UsageError(f"{name!r} is the beginning of {', '.join(matches)}", hint="give more of the id", code="RUN")
    more = f"{len(there) - 5} older ones and " if len(there) > 5 else ""
    shown = more + ", ".join(there[-5:]) if there else "none yet"
    near = nearest(name, [*there, "latest"], cutoff=0.75)
    hint = f"did you mean {near}?" if near else "the first name is a run's: its id, the beginning of one, or latest"
    raise UsageError(f"no run {name!r}; there are: {shown}", hint=hint, code="RUN")


def _check_name(name: str) -> None:
    """Refuse a name of nothing: a variable that was never set is not the newest run, and not this folder."""
    if not name.strip():
        raise UsageError(
            "an empty name names no run", hint="give a run's id, the beginning of one, or latest", code="RUN"
        )


def _absolute(here: Path, path: str | Path) -> Path:
    """Return a path without `..`, so that its name and its ancestors are the ones it means; links stay links.

    Raises:
        UsageError: nothing can have this name.
    """
    try:
        found = Path(os.path.normpath(here.absolute() / path))
        found.is_dir(), (found / "record.jsonl").exists()
    except (OSError, ValueError) as error:
        message = f"this cannot be a path: {getattr(error, 'strerror', None) or error}"
        raise UsageError(message, where=str(path)[:80], hint="give a path, a run id, or latest") from None
    return found


def _latest(ledger: Path) -> str:
    """Return the run of the highest run.start in the ledger's file; what it says is verified later.

    Raises:
        VerificationError: FILE-MISSING, LEDGER-TRUNCATED.
        FormatError: a checkpoint that is none, or a run.start that is no canonical JSON.
    """
    latest = ""
    shown = f"{ledger.name}/checkpoint"
    size = claimed_size(read_small(ledger / "checkpoint", shown, MAX_NOTE), shown)  # an unsigned line does not count
    log = LogFile(ledger / "entries.jsonl", f"{ledger.name}/entries.jsonl", size)
    for line in log.lines("LEDGER"):
        if b'"type":"run.start"' in line:
            entry = canonical.decode(line, log.shown)
            body = entry.get("body") if isinstance(entry, dict) else None
            run_id = body.get("run_id") if isinstance(body, dict) else None
            latest = run_id if isinstance(run_id, str) and re.fullmatch(_RUN_ID, run_id) else latest
    there = sorted(p.name for p in (ledger.parent / "runs").glob("*") if re.fullmatch(_RUN_ID, p.name))
    if not latest and not there:
        raise UsageError("no run has been started in this ledger", hint="trialplate run --yes", code="RUN")
    return latest or there[-1]  # a checkpoint that covers no run, where there are runs, is for the checks to tell
