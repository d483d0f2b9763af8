# SPDX-License-Identifier: Apache-2.0
"""The auditor's program: `verify` and `gate`, on argparse, with rfc8785 and cryptography as the only packages.

It opens files and prints. It writes nothing: `gate` here appends no decision (the front door of trialplate does).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from trialplate.errors import (
    EXIT_DONE,
    EXIT_NEGATIVE,
    EXIT_UNTRUSTED,
    FormatError,
    TrialplateError,
    UsageError,
    VerificationError,
    nearest,
)
from trialplate.record.decisions import Decision
from trialplate.record.frozen import Value
from trialplate.record.note import PublicKey, open_note, parse_checkpoint, parse_key
from trialplate.verify import decision_text, text
from trialplate.verify.findings import CODES
from trialplate.verify.gate import Others, configuration_named
from trialplate.verify.known import config_folder, read_known
from trialplate.verify.ledger_view import Reader
from trialplate.verify.locate import Found, find, find_with_ledger
from trialplate.verify.log_file import MAX_NOTE, read_small
from trialplate.verify.output import no_output, tell
from trialplate.verify.procedure import Verified, verify

__all__ = [
    "Gated",
    "exit_code_of",
    "gate_run",
    "main",
    "parsed",
    "parser",
    "print_error",
    "reader_of",
    "show_gate",
    "verify_paths",
]


COMMANDS = ("verify", "gate")


def _fixed_width(prog: str) -> argparse.HelpFormatter:
    """Format help without asking for the terminal's width: that imports shutil and its archives, a tenth of a start."""
    return argparse.HelpFormatter(prog, width=100)


class _Parser(argparse.ArgumentParser):
    """A parser that refuses as every command does: what is wrong, and one thing to do."""

    def error(self, message: str) -> NoReturn:
        missing = "the following arguments are required: RUN" in message
        hint = "name it: a run's id, the beginning of one, or latest" if missing else f"see {self.prog} --help"
        raise UsageError(f"{self.prog}: {'which run?' if missing else message}", hint=hint)


def parser(named: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of these commands: one that is named alone need not wait for the other's to be made."""
    top = _Parser(
        prog="trialplate", description="Check a ledger, a record and a decision, offline.", formatter_class=_fixed_width
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="verify|gate")
    made = [_add_verify(commands) if name == "verify" else _add_gate(commands) for name in named]
    for command in made:
        command.add_argument(
            "--against", metavar="NOTE", action="append", default=[], help="a checkpoint the ledger must extend"
        )
        command.add_argument(
            "--trust", metavar="FILE|LINE", action="append", default=[], help="a public key line, or a file of them"
        )
        command.add_argument("--ledger", metavar="DIR", type=Path, help="the ledger, if it is not above the run")
        command.add_argument("--json", action="store_true", help="print one JSON object")
    return top


def _add_verify(commands: Any) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        "verify", help="verify a project, a ledger, or a run, offline", formatter_class=_fixed_width
    )
    made.add_argument("--rescore", action="store_true", help="score the recorded answers again, and compare")
    made.add_argument("--run-code", action="store_true", help="with --rescore: also run scorers that run code")
    made.add_argument(
        "paths", nargs="*", metavar="PATH", help="project, ledger, run folder, run id or latest (default: .)"
    )
    return made


def _add_gate(commands: Any) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        "gate", help="verify a run and decide on one configuration", formatter_class=_fixed_width
    )
    made.add_argument("run", metavar="RUN", help="a path, a run id, its beginning, or latest")
    made.add_argument("--model", metavar="NAME[/PROFILE]", help="the configuration to decide on")
    made.add_argument("--chosen", action="store_true", help="accept it only if it is the one that the mark chooses")
    made.add_argument(
        "--exit-inconclusive",
        metavar="N",
        type=_exit_code,
        default=EXIT_NEGATIVE,
        help="exit with N, from 1 to 125, where the result is inconclusive and not rejected (default: 1)",
    )
    made.add_argument("--no-append", action="store_true", help="decide without appending the decision to the ledger")
    return made


def _exit_code(text: str) -> int:
    """Return an exit code for what is not accepted; 0 says accepted, and 126 on a shell's own words."""
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= 125):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 125; 0 is for accepted alone")
    return int(text)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options; what is unknown is refused in the words of its own command, with what was meant."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    named = given[:1] if given[:1] in (["verify"], ["gate"]) else COMMANDS
    options, unknown = parser(named).parse_known_args(given)
    if unknown:
        wrong = unknown[0].partition("=")[0]
        known = ["--help", *(f"--{name.replace('_', '-')}" for name in vars(options))]
        near = None if wrong in known else nearest(wrong, known, cutoff=0.75)
        hint = f"did you mean {near}?" if near else f"see trialplate {options.command} --help"
        raise UsageError(f"trialplate {options.command} takes no {wrong}", hint=hint)
    return options


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run `verify` or `gate` and return the exit code."""
    try:
        options = parsed(arguments)
        if options.command == "verify":
            if options.rescore or options.run_code:
                hint = "`trialplate verify --rescore` does, with the whole of trialplate installed"
                raise UsageError("this program verifies with two packages and scores nothing", hint=hint)
            return verify_paths(options, environ)[0]
        gated = gate_run(options, environ)
        show_gate(options, gated)
        return exit_code_of(options, gated)
    except TrialplateError as error:
        print_error(error)
        return error.exit_code
    except OSError as error:
        return no_output(error)


def print_error(error: TrialplateError) -> None:
    """Write an error to stderr: what, where, and one thing to do."""
    shown = "\n  ".join(text.visible(line) for line in str(error).split("\n"))
    tell(f"error: {shown}")
    hint = error.hint or CODES.get(error.code, ("", ""))[1]
    if hint:
        tell(f"  do: {text.visible(hint)}")


def verify_paths(
    options: argparse.Namespace, environ: Mapping[str, str], also: Callable[[Verified], None] = lambda done: None
) -> tuple[int, list[Verified]]:
    """Verify everything that was named; returns the highest exit code, and what was verified.

    Args:
        also: a further check, which adds to the report of each; none is made here.
    """
    reader = reader_of(environ, options.trust, options.against)
    found = [item for path in options.paths or ["."] for item in find(path, Path.cwd(), options.ledger)]
    others: dict[Path | None, Others] = {}
    done = [verify(item, reader, others.setdefault(item.ledger, {})) for item in found]
    for item in done:
        also(item)
    if options.json:
        print_json([text.report_json(item.report) for item in done])
    else:
        for item in done:
            print("\n".join(text.report_lines(item.report)))
        if len(done) > 1:
            failed = [item.report.subject for item in done if not item.report.holds]
            print(
                f"{len(done) - len(failed)} of {len(done)} hold"
                + (f"; not: {text.visible(', '.join(failed))}" if failed else "")
            )
    return max((item.report.exit_code for item in done), default=EXIT_DONE), done


class Gated(Value, kw_only=False):
    """What was verified, and the decisions, if the evidence holds: one, or one per candidate where none is chosen."""

    verified: Verified
    decisions: tuple[Decision, ...]
    must_be_chosen: bool = False
    """Nobody named a configuration, or whoever did wants it to be the chosen one."""

    @property
    def exit_code(self) -> int:
        """Return 0 for accepted and nothing else."""
        if not self.decisions:
            return EXIT_NEGATIVE if self.verified.report.holds else EXIT_UNTRUSTED
        first = self.decisions[0]
        chosen = first.choice is not None and first.choice.chosen == first.configuration
        accepted = len(self.decisions) == 1 and first.decision == "accepted" and (chosen or not self.must_be_chosen)
        return EXIT_DONE if accepted else EXIT_NEGATIVE

    @property
    def inconclusive(self) -> bool:
        """Say whether what was asked for is left open, and not refused."""
        if not self.decisions:
            return False
        first, choice = self.decisions[0], self.decisions[0].choice
        if len(self.decisions) == 1 and first.decision != "accepted":
            return first.decision == "inconclusive"
        return choice is not None and (choice.result == "open" or choice.reason == "none_shown")


def exit_code_of(options: argparse.Namespace, gated: Gated) -> int:
    """Return the exit code of `gate`, as its options have it."""
    if gated.exit_code == EXIT_NEGATIVE and gated.inconclusive:
        return int(options.exit_inconclusive)
    return gated.exit_code


def gate_run(options: argparse.Namespace, environ: Mapping[str, str]) -> Gated:
    """Verify a run and decide."""
    run, ledger = find_with_ledger(options.run, Path.cwd(), options.ledger)
    if ledger is None:
        raise UsageError(
            "a record without its ledger cannot be gated", where=str(options.run), hint="give --ledger DIR"
        )
    done = verify(Found(ledger, run), reader_of(environ, options.trust, options.against))
    if done.gate is None or not done.report.holds:
        return Gated(done, ())
    chooses = done.gate.record.plan.pass_mark.choose is not None
    if options.chosen and not chooses:
        raise UsageError("--chosen: this run's pass mark chooses nothing", hint="leave it out, or give it a choose:")
    if options.model is None and chooses:
        return Gated(done, done.gate.decide_chosen(), must_be_chosen=True)
    name = configuration_named(done.gate.record, options.model)
    return Gated(done, (done.gate.decide(name),), must_be_chosen=options.chosen)


def show_gate(options: argparse.Namespace, gated: Gated) -> None:
    """Print a decision, or why there is none."""
    done, decisions = gated.verified, gated.decisions
    if not decisions or done.gate is None:
        if options.json:
            print_json(text.report_json(done.report))
        else:
            print("\n".join(text.report_lines(done.report)))
            holds = done.report.holds
            print(f"NO DECISION: {'the run has no signed record' if holds else 'the evidence does not hold'}")
    elif options.json:
        print_json(decision_text.decision_json(decisions, done.report))
    else:
        mark = done.gate.record.plan.pass_mark
        for decision in decisions:
            outlooks = done.gate.outlooks(decision.configuration)
            print("\n".join(decision_text.decision_lines(decision, mark, done.report, outlooks)))
        print(done.report.uses)
        choice = decisions[0].choice
        if gated.must_be_chosen and choice is not None:
            print(f"chosen: {decision_text.chosen_text(choice)}")


def reader_of(environ: Mapping[str, str], trust: Sequence[str] = (), against: Sequence[str] = ()) -> Reader:
    """Return who reads: trust from the arguments or the environment, known checkpoints from the user's own folder."""
    given = [(item, f"--trust {item[:80]}") for item in trust]
    if not given and environ.get("TRIALPLATE_TRUST"):
        given = [(environ["TRIALPLATE_TRUST"], "TRIALPLATE_TRUST")]
    keys = [key for item, where in given for key in _keys(item, where)]
    return Reader(trust=keys, known=read_known(config_folder(environ)), against=[_note(path) for path in against])


def _note(path: str) -> bytes:
    """Return the note of a checkpoint that the reader kept; whose it is and who signed it is checked later."""
    hint = "give the file of a checkpoint that you kept, such as a copy of ledger/checkpoint"
    try:
        note = read_small(Path(path), path, MAX_NOTE)
        parse_checkpoint(open_note(note, ()).text)
    except (FormatError, VerificationError) as error:
        raise UsageError(f"this is no checkpoint: {error.message}", where=f"--against {path}", hint=hint) from None
    return note


def _keys(item: str, where: str) -> list[PublicKey]:
    """Return the keys of a file, or of one key line."""
    try:
        lines = Path(item).read_text(encoding="utf-8").splitlines() if Path(item).is_file() else [item]
    except (OSError, UnicodeDecodeError):
        lines = [item]  # too long for a path, or no text: then it is no key either, and is told so
    kept = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    hint = "give a public key line (name+id+base64), or a file that holds such lines"
    if len(lines) == 1 and "+" not in lines[0] and not Path(item[:255]).exists():
        raise UsageError("no key to trust: there is no such file, and it is no key line", where=where, hint=hint)
    if not kept:  # else whoever passes an unset variable would trust nobody, and not know it
        raise UsageError("no key to trust: there is no key line in it", where=where, hint=hint)
    try:
        return [parse_key(line) for line in kept]
    except TrialplateError as error:
        raise UsageError(f"no key to trust: {error.message}", where=where, hint=hint) from None


def print_json(value: object) -> None:
    """Print one JSON object, in ASCII, so that no terminal control goes out."""
    print(json.dumps(value, indent=2, sort_keys=True, allow_nan=False))
