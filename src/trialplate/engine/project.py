# SPDX-License-Identifier: Apache-2.0
"""What commands and the Python interface share about a project: its ledger, verified before it is written, its key."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from trialplate.errors import UsageError
from trialplate.ledger.durable import storage
from trialplate.ledger.keys import LedgerKey, key_names, load_signer
from trialplate.ledger.ledger_writer import LedgerWriter
from trialplate.ledger.log_writer import SetAside
from trialplate.record import codec
from trialplate.record.decisions import Decision
from trialplate.verify.cli import reader_of
from trialplate.verify.findings import Report
from trialplate.verify.known import config_folder, read_known
from trialplate.verify.ledger_view import LedgerView, read_ledger
from trialplate.verify.locate import given_ledger, ledger_above
from trialplate.verify.output import tell

__all__ = ["append_decisions", "begin_ledger", "check_new", "find_ledger", "open_ledger", "open_runs", "open_writer"]
__all__ += ["verified_ledger"]


GITIGNORE = """\
# what opens the private parts of a run, and what is derived or momentary
runs/*/content.jsonl
runs/*/content/
grades*.csv
.trialplate/
.lock
*.lock
*.new
*.merged
*.tmp
"""
GITATTRIBUTES = """\
# these bytes are hashed and signed: no line-end conversion, no merge
ledger/** -text -merge
runs/** -text -merge
cassettes/** -text -merge
"""


def begin_ledger(project: Path, name: str, key: LedgerKey) -> str:
    """Make a project's ledger; returns its origin.

    The public line of its key goes where readers look for it, and git is told what is private and what it must not
    touch, whatever way the project began.
    """
    from trialplate.ledger.create import init_ledger

    origin = init_ledger(project / "ledger", name, key, config_folder(os.environ))
    with storage(project / "keys", "made"):
        (project / "keys").mkdir(exist_ok=True)
        (project / "keys" / f"{key.signer.name}.pub").write_text(key.line + "\n", encoding="utf-8")
    for file, lines in ((".gitignore", GITIGNORE), (".gitattributes", GITATTRIBUTES)):
        with storage(project / file):
            _add_lines(project / file, lines)
    return origin


def _add_lines(path: Path, lines: str) -> None:
    """Append the lines that a file does not hold yet."""
    there = path.read_text(encoding="utf-8") if path.exists() else ""
    missing = [line for line in lines.splitlines() if line not in there.splitlines()]
    if missing:
        gap = "\n" if there and not there.endswith("\n") else ""
        path.write_text(there + gap + "\n".join(missing) + "\n", encoding="utf-8")


def check_new(project: Path, name: str) -> None:
    """Refuse to make a ledger where there was one: else a project could shed its history by deleting it.

    Args:
        project: a folder without a ledger.
        name: the plan's.

    Raises:
        UsageError: NO-LEDGER: a run is here, or a checkpoint of that name is known.
    """
    home = config_folder(os.environ)
    known = [origin for origin in read_known(home) if origin.rpartition("-")[0] == name]
    runs = (project / "runs").exists()
    if not known and not runs:
        return
    what = f"a ledger of that name is known here ({known[0]})" if known else "there are runs without their ledger"
    keys = key_names(home)
    which = f" --key {name if name in keys else keys[0]}" if len(keys) > 1 else ""
    begin = f"begin another ledger with `trialplate ledger init {name}{which}`"
    other = "" if runs else "if this is another project, give it a `name:` of its own; "
    hint = f"{other}else restore the ledger from where it was, or {begin}"
    raise UsageError(
        f"this project has no ledger, but {what}", where=str(project), hint=hint.removeprefix("else "), code="NO-LEDGER"
    )


def find_ledger(here: Path, given: Path | None = None) -> Path:
    """Return the ledger's folder: the one given, or the nearest ancestor's.

    Raises:
        UsageError: there is none.
    """
    found = given_ledger(here, given) if given else ledger_above(here.absolute())
    if found is None:
        hint = "go to the project's folder, or give --ledger DIR; a new project gets one from `trialplate run --yes`, "
        hint += "or from `trialplate keys new NAME` and `trialplate ledger init`"
        raise UsageError("there is no ledger here or above", where=str(here), hint=hint, code="NO-LEDGER")
    return found


def verified_ledger(folder: Path, report: Report | None = None) -> LedgerView:
    """Return a ledger that holds, by what this user knows of it; its notes are left in the report.

    Raises:
        VerificationError: it does not hold; the first finding says why.
    """
    report = report if report is not None else Report("ledger")
    view = read_ledger(folder, reader_of(os.environ), report)
    report.require()
    assert view is not None  # noqa: S101  a ledger that cannot be read says why
    return view


def open_runs(ledger: LedgerView) -> Iterator[tuple[str, str]]:
    """Yield the full runs that leave decisions open until they are resumed or waived, and the state of each."""
    for entry in ledger.starts():
        run_id = entry.body.run_id
        end = ledger.end_of(run_id)
        if entry.body.selection != "full" or ledger.waived(run_id) or (end and end.body.status == "complete"):
            continue
        yield run_id, "unfinished" if end is None else "incomplete"


def open_writer(folder: Path, key_line: str) -> LedgerWriter:
    """Return the writer of a ledger whose key is here."""
    key = load_signer(key_line, os.environ)
    return LedgerWriter(folder, key.signer, config_folder(os.environ), on_set_aside=_tell)


def open_ledger(folder: Path) -> tuple[LedgerView, LedgerWriter, LedgerKey]:
    """Return a verified ledger, its writer and its key."""
    view = verified_ledger(folder)
    key = load_signer(view.keys[0].line, os.environ)
    return view, open_writer(folder, view.keys[0].line), key


def append_decisions(ledger: LedgerView, decisions: Sequence[Decision]) -> Iterator[int]:
    """Append decisions, but for one that is the same as the last about its configuration of its run.

    Yields the number of each entry once it is written.

    Raises:
        StorageError: LEDGER-MOVED: somebody appended since the ledger was read, and it may decide otherwise.
        UsageError: the ledger's key is not here.
    """
    last = {e.body.configuration: e.body for e in ledger.decisions(decisions[0].run_id)}
    fresh = [decision for decision in decisions if last.get(decision.configuration) != decision]
    if fresh:
        writer = open_writer(ledger.folder, ledger.keys[0].line)
        for place, decision in enumerate(fresh, start=len(ledger.entries)):
            yield writer.append("decision", codec.to_json(decision), at=place).seq


def _tell(aside: SetAside) -> None:
    tell(f"LEDGER-TAIL-SET-ASIDE: {aside}; it was never signed, and is not in the ledger")
