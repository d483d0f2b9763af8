# SPDX-License-Identifier: Apache-2.0
"""`doctor`: what stands between a person and a run here, a line each, with one thing to do. Nothing is changed.

OK needs nothing. WARN names what will matter for some command. FAIL is what makes a run or a signature impossible or
untrustworthy here; only then is the exit code 2. Of secrets only the names of variables are told.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trialplate import __version__
from trialplate.engine.project import check_new, open_runs, verified_ledger
from trialplate.errors import EXIT_DONE, EXIT_USAGE, TrialplateError, VerificationError
from trialplate.ledger.clock import utc_now
from trialplate.ledger.index import index_state
from trialplate.ledger.keys import load_signer
from trialplate.plugins import PACKAGES
from trialplate.verify.cli import print_json
from trialplate.verify.findings import Report, counted
from trialplate.verify.known import config_folder
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.locate import given_ledger, ledger_above
from trialplate.verify.text import visible

__all__ = ["Line", "examine"]

LEAST_BYTES = 100 * 1024 * 1024
ENOUGH_BYTES = 1024 * 1024 * 1024
OLDEST_DOCKER_API = (1, 41)
DOCKER_WAIT_S = 5
PLAN = "trialplate.yaml"

Word = Literal["OK", "WARN", "FAIL"]


@dataclass(frozen=True)
class Line:
    """What was looked at, how it stands, and what to do about it."""

    about: str
    word: Word
    found: str
    do: str = ""


Lines = Iterator[Line]


def examine(given: Path | None, as_json: bool) -> int:
    """Print a line for each thing that was looked at; returns 2 if any of them is a FAIL."""
    here = Path.cwd()
    ledger = given_ledger(here, given) if given else ledger_above(here.absolute())
    project = ledger.parent if ledger is not None else here
    lines = [*_versions(), *_configuration(), *_guarded("ledger", lambda: _ledger(ledger, project))]
    lines += [*_guarded("plan", lambda: _plan(project)), *_folders(project, ledger), *_disk(project)]
    lines += _guarded("docker", _docker)
    failed = sum(1 for line in lines if line.word == "FAIL")
    if as_json:
        made = {"format": "trialplate-doctor/1", "ok": not failed, "lines": [line.__dict__ for line in lines]}
        print_json(made)
    else:
        for line in lines:
            print(f"{line.word:<4} {line.about}: {visible(line.found)}")
            if line.do:
                print(f"       do: {visible(line.do)}")
        print("nothing stands in the way" if not failed else f"{counted(failed, 'thing')} to mend first")
    return EXIT_USAGE if failed else EXIT_DONE


def _guarded(about: str, looks: Callable[[], Lines]) -> Lines:
    """Yield lines; an error that looking ends in is a line as well: whoever asks the doctor has trouble already."""
    try:
        yield from looks()
    except TrialplateError as error:
        yield Line(about, "FAIL", str(error), error.hint)
    except OSError as error:
        yield Line(about, "FAIL", f"{error.filename}: {error.strerror}", "correct the path, or the permission")


# --------------------------------------------------------------------------------------------------------- machine


def _versions() -> Lines:
    from importlib.metadata import PackageNotFoundError, requires, version

    python = ".".join(map(str, sys.version_info[:3]))
    yield Line("versions", "OK", f"trialplate {__version__}, Python {python} on {sys.platform}")
    missing, there = [], []
    for need in requires("trialplate") or ():
        if "extra ==" in need:
            continue
        name = re.split(r"[^A-Za-z0-9._-]", need, maxsplit=1)[0]
        try:
            there.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Line("packages", "FAIL", f"not installed: {', '.join(missing)}", "pip install trialplate")
    else:
        yield Line("packages", "OK", ", ".join(there))


def _disk(project: Path) -> Lines:
    for about, folder in (("disk", project), ("disk of the configuration", config_folder(os.environ))):
        there = next((path for path in (folder, *folder.parents) if path.exists()), None)
        if there is None:
            continue
        free = shutil.disk_usage(there).free
        told = f"{free / 1e9:.1f} GB free at {there}"
        if free < LEAST_BYTES:
            yield Line(about, "FAIL", told, "free some space: a run that cannot write its record stops")
        elif free < ENOUGH_BYTES:
            yield Line(about, "WARN", told, "free some space before a long run")
        else:
            yield Line(about, "OK", told)


def _docker() -> Lines:
    """Look for an engine; agents and images need one, nothing else does."""
    hint = "start Docker if a plan of yours needs it; models and commands do not"
    try:
        told = _docker_version()
    except (OSError, ValueError, ImportError) as error:
        yield Line("docker", "WARN", f"no engine answers: {str(error)[:120]}", hint)
        return
    api = str(told.get("ApiVersion", "0"))
    found = f"engine {told.get('Version')}, API {api}"
    old = tuple(int(part) for part in api.split(".") if part.isdigit()) < OLDEST_DOCKER_API
    yield Line("docker", "WARN" if old else "OK", found, "update the engine: API 1.41 is the oldest" if old else "")


def _docker_version() -> Any:
    """Return what the engine says of itself.

    Raises:
        OSError, ValueError, ImportError: there is none.
    """
    import docker
    from docker.errors import DockerException

    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if host.startswith("unix://"):  # the package leaves its socket open where nobody answers
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as tried:
            tried.settimeout(DOCKER_WAIT_S)
            tried.connect(host.removeprefix("unix://"))
    try:
        client = docker.from_env(timeout=DOCKER_WAIT_S)
        try:
            return client.version()
        finally:
            client.close()
    except DockerException as error:
        raise OSError(str(error)) from error


# ---------------------------------------------------------------------------------------------------- configuration


def _configuration() -> Lines:
    """Look at the configuration folder and the private keys in it."""
    try:
        folder = config_folder(os.environ)
    except TrialplateError as error:
        yield Line("configuration", "FAIL", str(error), error.hint)
        return
    if not folder.is_dir():
        yield Line("configuration", "OK", f"{folder} is not there yet: the first key makes it")
    elif not os.access(folder, os.W_OK | os.X_OK):
        hint = "set TRIALPLATE_HOME to a folder of yours that stays"
        yield Line("configuration", "FAIL", f"{folder} cannot be written", hint)
    else:
        yield Line("configuration", "OK", str(folder))
    files = sorted((folder / "keys").glob("*.key")) if (folder / "keys").is_dir() else []
    if named := os.environ.get("TRIALPLATE_KEY_FILE"):
        files.append(Path(named))
    for path in files:
        yield from _guarded(f"key {path.stem}", lambda path=path: _key(path))  # type: ignore[misc]
    if not files and not os.environ.get("TRIALPLATE_KEY"):
        yield Line("keys", "WARN", "there is no signing key", "`trialplate run --yes` or `trialplate keys new NAME`")


def _key(path: Path) -> Lines:
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name != "nt" and mode & 0o077:
        yield Line(f"key {path.stem}", "FAIL", f"others may read it (mode {mode:04o})", f"chmod 600 {path}")
    else:
        yield Line(f"key {path.stem}", "OK", f"readable by you alone (mode {mode:04o})")


# ---------------------------------------------------------------------------------------------------------- project


def _ledger(folder: Path | None, project: Path) -> Lines:
    """Look at the ledger, its key, the clock against its last entry, and the index."""
    if folder is None:
        yield from _no_ledger(project)
        return
    report = Report("ledger")
    try:
        view = verified_ledger(folder, report)
    except VerificationError as error:
        yield Line("ledger", "FAIL", f"{error.code}: {error}", error.hint)
        return
    for note in report.findings:
        yield Line("ledger", "WARN", f"{note.code}: {note.message}", note.hint)
    yield Line("ledger", "OK", f"holds: {view.signed}; {report.said.get('V20', '')}")
    yield from _signer(view)
    yield from _clock(view)
    yield from _runs(view)
    state = index_state(view)
    if state == "damaged":
        yield Line("index", "WARN", state, "nothing: the next `trialplate ls` makes it anew")
    else:
        yield Line("index", "OK", state)


def _no_ledger(project: Path) -> Lines:
    """Tell whether a first run would make the ledger."""
    if not (project / PLAN).exists():
        hint = "go to a project's folder; a new project gets one from `trialplate run --yes`"
        yield Line("ledger", "WARN", "there is none here or above", hint)
        return
    from trialplate.spec.project import load_project

    check_new(project, load_project(project, added=PACKAGES).author.name)
    yield Line("ledger", "OK", "there is none yet: `trialplate run --yes` makes it")


def _signer(view: LedgerView) -> Lines:
    try:
        load_signer(view.keys[0].line, os.environ)
        yield Line("ledger's key", "OK", f"{view.keys[0].name} is here")
    except TrialplateError as error:
        yield Line("ledger's key", "WARN", f"{error.message}; you can verify, and gate with --no-append", error.hint)


def _clock(view: LedgerView) -> Lines:
    now, last = utc_now(), view.entries[-1].time
    if now < last:
        message = f"it is {now} here, and the ledger's last entry says {last}"
        yield Line("clock", "FAIL", message, "set the clock; what is signed now would carry a wrong time")
    else:
        yield Line("clock", "OK", f"{now}, after the ledger's last entry")


def _runs(view: LedgerView) -> Lines:
    """Tell how many runs stand open: each is an attempt that counts."""
    open_ = [f"{run_id} ({state})" for run_id, state in open_runs(view)]
    number = counted(len(view.starts()), "run")
    if open_:
        told = f"{number}, open: {', '.join(open_[-3:])}"
        yield Line("runs", "WARN", told, "finish them with `trialplate resume RUN`, or waive them")
    else:
        yield Line("runs", "OK", f"{number}, none open")


def _plan(project: Path) -> Lines:
    """Look at the plan and at the names of the secrets that a live run needs."""
    if not (project / PLAN).exists():
        yield Line("plan", "WARN", f"there is no {PLAN} in {project}", "go to a project's folder, or `trialplate init`")
        return
    from trialplate.engine.baselines import named_baseline
    from trialplate.spec.validate import validate

    try:
        found = validate(project / PLAN, added=PACKAGES, baseline=named_baseline)
    except TrialplateError as error:
        yield Line("plan", "WARN", str(error), error.hint or "run `trialplate validate`")
        return
    yield Line("plan", "OK", f"{found.name}: {counted(found.trials, 'trial')}")
    for name in found.secrets:
        if os.environ.get(name):
            yield Line("secret", "OK", f"{name} is set")
        else:
            yield Line("secret", "WARN", f"{name} is not set", f"export {name}=... before a live run")


def _folders(project: Path, ledger: Path | None) -> Lines:
    """Look whether what a run writes can be written."""
    wanted = [project, project / "runs", project / "cassettes", project / ".trialplate"]
    closed = []
    for folder in [*wanted, *([ledger] if ledger is not None else [])]:
        if folder.exists() and not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            closed.append(os.path.relpath(folder, project))
    if closed:
        hint = "give yourself permission to write there, or work in a copy"
        yield Line("folders", "FAIL", f"cannot be written: {', '.join(closed)}", hint)
    else:
        yield Line("folders", "OK", "everything that a run writes can be written")
