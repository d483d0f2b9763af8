# SPDX-License-Identifier: Apache-2.0
"""`report`: what a run came to, verified first, in one of the formats that the plugins of `reports` name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trialplate import plugins
from trialplate.errors import EXIT_DONE, EXIT_NEGATIVE, StorageError, UsageError
from trialplate.ledger.durable import replacing, storage
from trialplate.reports.formats import report_format
from trialplate.reports.reported import gather
from trialplate.verify.cli import print_json, reader_of
from trialplate.verify.findings import Report
from trialplate.verify.locate import Found, find_with_ledger
from trialplate.verify.output import tell
from trialplate.verify.procedure import verify
from trialplate.verify.text import report_json, report_lines, visible

__all__ = ["ReportOptions", "refuse_evidence", "show_report"]

BY_EXTENSION = {".md": "markdown", ".markdown": "markdown", ".json": "json", ".csv": "csv", ".txt": "text"}
EVIDENCE = ("ledger", "runs", "cassettes", "keys")
"""Folders of a project that no report is written into: it would spoil what is signed or pinned."""


@dataclass(frozen=True)
class ReportOptions:
    """What the command line said."""

    format: str | None = None
    """None: by the ending of `output`, else text."""
    output: Path | None = None
    by_tag: bool = False
    failures: int = 5
    withhold: bool = False


def show_report(name: str, options: ReportOptions, ledger: Path | None) -> int:
    """Print or write a report; returns the exit code: 3 if the record does not hold, whatever it says."""
    chosen = _format(options)
    render = report_format(chosen)
    run, ledger = find_with_ledger(name, Path.cwd(), ledger)
    if ledger is None:
        raise UsageError("a record without its ledger cannot be reported on", where=name, hint="give --ledger DIR")
    refuse_evidence(options.output, ledger.parent)
    done = verify(Found(ledger, run), reader_of(os.environ))
    if done.gate is None or not done.report.holds:
        _refuse(done.report, chosen)
        return done.report.exit_code or EXIT_NEGATIVE
    reported = gather(done.gate, by_tag=options.by_tag, shown=options.failures, withhold=options.withhold)
    lines = render(reported)
    if options.output is None or str(options.output) == "-":
        _print(lines)
    else:
        _write(options.output, lines)
        tell(f"wrote {visible(str(options.output))}")
    return EXIT_DONE


def _refuse(report: Report, chosen: str) -> None:
    """Say why there is no report: in the format's own way where that is text or an object, else aside."""
    reason = "the run has no signed record" if report.holds else "the evidence does not hold"
    if chosen == "json":
        print_json({"format": "trialplate-report/1", "refused": reason, "verification": report_json(report)})
        return
    say = print if chosen == "text" else tell  # a table of a spreadsheet is no place for it
    for line in report_lines(report):
        say(line)
    say(f"NO REPORT: {reason}")


def _format(options: ReportOptions) -> str:
    """Return the format that was named, or that the ending of the file means."""
    known = sorted(plugins.BUILT_IN["reports"])
    if options.format is not None:
        return options.format
    if options.output is None or str(options.output) == "-":
        return "text"
    ending = options.output.suffix.lower()
    if ending not in BY_EXTENSION:
        message = f"no format belongs to files that end in {ending!r}" if ending else "a file's ending tells its format"
        raise UsageError(
            message, where=f"--output {options.output}", hint=f"name one with --format: {', '.join(known)}"
        )
    return BY_EXTENSION[ending]


def refuse_evidence(output: Path | None, project: Path) -> None:
    """Refuse the plan, and a file among those that are signed, pinned or trusted: a report is never an input.

    Raises:
        UsageError: it is one of these.
    """
    if output is None:
        return
    place = output.absolute().resolve()
    if place == (project / "trialplate.yaml").resolve():
        raise UsageError("that is the plan", where=f"--output {output}", hint="name another file, such as report.md")
    for folder in EVIDENCE:
        if place.is_relative_to((project / folder).resolve()):
            hint = "write it elsewhere, such as reports/"
            raise UsageError(
                f"nothing is written into {folder}/ but what belongs there", where=f"--output {output}", hint=hint
            )


def _print(lines: Iterator[str]) -> None:
    """Print the lines; what goes to a terminal is made visible once more, whatever the format lets through."""
    import sys

    shown = sys.stdout is not None and sys.stdout.isatty()
    for line in lines:
        print("\n".join(map(visible, line.split("\n"))) if shown else line)


def _write(path: Path, lines: Iterator[str]) -> None:
    """Write a file whole or not at all; a device or a pipe takes the lines as they come.

    Raises:
        UsageError: a folder stands there.
        StorageError: it could not be written.
    """
    try:
        mode = path.stat().st_mode if path.exists() else stat.S_IFREG
    except OSError as error:
        raise StorageError(f"cannot be written: {error.strerror}", where=str(path), hint="correct the path") from None
    if stat.S_ISDIR(mode):
        raise UsageError("a folder stands there", where=f"--output {path}", hint="name a file in it")
    if not stat.S_ISREG(mode):
        with storage(path), path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.writelines(line + "\n" for line in lines)
        return
    with replacing(path) as write:
        for line in lines:
            write(line + "\n")
