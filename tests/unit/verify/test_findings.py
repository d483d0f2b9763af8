# SPDX-License-Identifier: Apache-2.0
"""The table of findings: complete, stable, and of one mind with every code that the source raises."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import trialplate
from trialplate.errors import FormatError, UsageError, VerificationError
from trialplate.verify.findings import CHECKS, CODES, Report

SOURCE = Path(trialplate.__file__).parent
OUTSIDE = {
    "CANON": "a value of ours that has no canonical JSON: a bug, or refused before anything is written",
    "TEXT": "as CANON, for stored text",
    "KNOWN": "the reader's own memory of logs; an error of the command, exit 3",
    "RUN": "a run that was named and is not there: usage",
    "MODEL": "a configuration that was named and is not there: usage",
}
"""Codes that are errors of a command and never a finding about evidence, each with its reason."""


def raised_codes(*rooms: str, errors: set[str] | None = None) -> dict[str, set[str]]:
    """Return every literal code that these rooms raise or find, with the files that do; `errors` keeps some classes."""
    found: dict[str, set[str]] = {}
    for room in rooms:
        for file in sorted((SOURCE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and (errors is None or getattr(node.func, "id", "") in errors):
                    for code in _codes_of(node):
                        found.setdefault(code, set()).add(file.name)
    return found


def _codes_of(node: ast.Call) -> list[str]:
    """Return the codes of one call: `code=...`, or the first argument of `.found(...)` and `Finding(...)`."""
    values = [item.value for item in node.keywords if item.arg == "code"]
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("found", "Finding") and node.args:
        values.append(node.args[0])
    return [
        item.value
        for value in values
        for item in ast.walk(value)
        if isinstance(item, ast.Constant)
        and isinstance(item.value, str)
        and item.value[:1].isupper()
        and item.value.isupper()
    ]


def test_codes_of_record_and_verify_are_in_the_table_or_outside_by_decision() -> None:
    """Whatever the auditor's half finds belongs to a check and says what to do, or is listed as something else."""
    codes = raised_codes("record", "rules", "verify")
    assert set(codes) - set(CODES) - set(OUTSIDE) == set()
    assert len(codes) > 50


def test_codes_of_the_ledger_room_with_the_name_of_a_finding_mean_the_same() -> None:
    """A writer that meets damaged evidence says it with the verifier's code; its own codes are about its own files."""
    evidence = raised_codes("ledger", errors={"VerificationError"})
    assert set(evidence) - set(CODES) - set(OUTSIDE) == set()
    own = raised_codes("ledger", errors={"StorageError", "UsageError"})
    assert set(own) & set(CODES) == set()
    assert evidence
    assert own


def test_codes_outside_are_raised_somewhere_and_are_no_findings() -> None:
    """The list of exceptions does not outlive what it excuses."""
    codes = raised_codes("record", "rules", "verify", "ledger")
    assert not set(OUTSIDE) & set(CODES)
    assert set(OUTSIDE) <= set(codes)


def test_codes_in_the_table_are_all_found_by_something() -> None:
    """A code that nothing can find would be a promise nobody keeps."""
    sources = "".join(file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py") if file.name != "findings.py")
    unused = {code for code in CODES if f'"{code}"' not in sources}
    built = {f"{kind}-TRUNCATED" for kind in ("LEDGER", "RECORD")}
    built |= {code for code in CODES if code.startswith("STRICT-")}
    assert unused - built == set()


@pytest.mark.parametrize("code", CODES)
def test_code_has_a_check_and_one_thing_to_do(code: str) -> None:
    """Every finding belongs to one numbered check and carries an action."""
    check, hint = CODES[code]
    assert check in CHECKS
    assert len(hint) > 10
    assert not hint.endswith(".")
    assert code == code.upper()


def test_checks_are_numbered_without_a_gap() -> None:
    """From V01 on."""
    assert list(CHECKS) == [f"V{number:02}" for number in range(1, 23)]


def test_report_is_fail_by_finding_and_not_by_note() -> None:
    """A note is shown and changes nothing; a finding fails its check and the whole."""
    report = Report("x")
    assert (report.status("V16"), report.holds, report.exit_code) == ("SKIP", True, 0)
    report.found("CONTENT-UNUSED", "left by a crash", note=True)
    report.passed("V16", "all match")
    assert (report.status("V16"), report.holds, report.exit_code) == ("PASS", True, 0)
    report.found("CONTENT-MISMATCH", "not what was committed")
    assert (report.status("V16"), report.holds, report.exit_code) == ("FAIL", False, 3)


def test_report_pass_does_not_hide_a_finding() -> None:
    """Whatever was said before or after, a finding fails its check."""
    report = Report("x")
    report.passed("V03", "fine")
    report.found("LEDGER-ROOT", "not fine")
    report.passed("V03", "fine again")
    assert report.status("V03") == "FAIL"


def test_report_caught_error_keeps_its_code_and_an_unknown_one_is_a_schema_finding() -> None:
    """An error on the way is a finding, whatever it calls itself; it is never lost."""
    report = Report("x")
    report.caught(VerificationError("cut", where="r", code="RECORD-TRUNCATED"))
    report.caught(FormatError("odd", where="r"))
    report.caught(UsageError("odd"))
    assert [item.code for item in report.findings] == ["RECORD-TRUNCATED", "SCHEMA", "SCHEMA"]
    assert not report.holds


def test_report_unknown_code_is_our_own_bug() -> None:
    """A finding without a check cannot be reported."""
    report = Report("x")
    report.found("NO-SUCH-CODE", "x")
    with pytest.raises(KeyError):
        report.status("V01")
