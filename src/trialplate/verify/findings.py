# SPDX-License-Identifier: Apache-2.0
"""The numbered checks, the stable finding codes, and what a verification says of each.

A check is PASS, FAIL or SKIP, never silent. A finding belongs to one check by its code, carries a sentence and one
thing to do. A note is shown and changes nothing: it names what an honest crash or a plain choice leaves behind.
"""

from __future__ import annotations

from trialplate.errors import EXIT_DONE, EXIT_UNTRUSTED, TrialplateError, VerificationError
from trialplate.record.frozen import Value

__all__ = ["CHECKS", "CODES", "Finding", "Report", "counted"]

CHECKS = {
    "V01": "strict bytes",
    "V02": "digests",
    "V03": "log roots",
    "V04": "signatures",
    "V05": "trust and origin",
    "V06": "rollback",
    "V07": "formats and versions",
    "V08": "commits before the start",
    "V09": "start and open bind each other",
    "V10": "root at every pin",
    "V11": "matrix",
    "V12": "attempts and their order",
    "V13": "replayed and served",
    "V14": "counts at close",
    "V15": "record and run.end",
    "V16": "content",
    "V17": "cells and folds",
    "V18": "attempts at acceptance",
    "V19": "decisions re-derived",
    "V20": "assurance level",
    "V21": "answers scored again",
    "V22": "judges and the people who checked them",
}
WHERE_ASKED = ("V21", "V22")
"""Checks that are told of only where they were made: of answers scored again, of judges that were checked."""

_RESTORE = "restore the file from a copy you trust, or treat the run as worthless"
_ASK = "ask the signer for the file as it was written; do not repair it by hand"
_RENAME = "do not share this plan or record: rename what repeats a private text, and run again"
_SIGNER = "ask the log's owner, over another channel, which key signs; pass that key line with --trust"

CODES = {
    "STRICT-ENCODING": ("V01", _ASK),
    "STRICT-SYNTAX": ("V01", _ASK),
    "STRICT-DUPKEY": ("V01", _ASK),
    "STRICT-NUMBER": ("V01", _ASK),
    "STRICT-DEPTH": ("V01", _ASK),
    "STRICT-SURROGATE": ("V01", _ASK),
    "STRICT-NONCANONICAL": ("V01", _ASK),
    "STRICT-LIMIT": ("V01", _ASK),
    "FILE-MISSING": ("V01", "put the file back, or make it readable; a record is checked whole or not at all"),
    "PLAN-DIGEST": ("V02", _RESTORE),
    "TESTSET-MISMATCH": ("V02", "run again with the test set that was committed"),
    "MARK-MISMATCH": ("V02", "decide by the pass mark that was committed, or commit a new one and run again"),
    "LEDGER-ROOT": ("V03", _RESTORE),
    "LEDGER-TRUNCATED": ("V03", _RESTORE),
    "LEDGER-UNSIGNED-TAIL": ("V03", "run `trialplate ledger doctor`: it sets the lines aside"),
    "RECORD-ROOT": ("V03", _RESTORE),
    "RECORD-TRUNCATED": ("V03", _RESTORE),
    "RECORD-UNSIGNED-TAIL": (
        "V03",
        "nothing: an interrupted run leaves such lines; they are no evidence until a resume signs them",
    ),
    "RECORD-TAIL-AFTER-END": ("V03", "cut the lines beyond the checkpoint; nobody signed them"),
    "NOTE-MALFORMED": ("V04", _RESTORE),
    "NOTE-LIMIT": ("V04", _RESTORE),
    "NOTE-DUPLICATE": ("V04", _RESTORE),
    "NOTE-AMBIGUOUS": ("V04", "give each key once with --trust"),
    "CHECKPOINT-MALFORMED": ("V04", _RESTORE),
    "KEY-MALFORMED": ("V04", _RESTORE),
    "KEY-ID": ("V04", _RESTORE),
    "KEY-NAME": ("V04", _RESTORE),
    "KEY-TYPE": ("V04", _RESTORE),
    "NOTE-SIGNATURE": ("V04", _RESTORE),
    "SIG-MISSING": ("V04", _SIGNER),
    "KEY-UNTRUSTED": ("V05", _SIGNER),
    "KEY-CHANGED": ("V05", _SIGNER),
    "GENESIS-CHANGED": ("V05", _SIGNER),
    "ORIGIN-MISMATCH": ("V05", "check that record and ledger belong to the same project"),
    "LEDGER-ROLLED-BACK": ("V06", "fetch the ledger's newest state; somebody has put an older one here"),
    "LEDGER-FORK": ("V06", "keep both checkpoints: two that do not extend each other prove the fork"),
    "SCHEMA": ("V07", _ASK),
    "VERSION": ("V07", "use the version of trialplate that wrote it, or a newer one"),
    "ENTRY-TYPE": ("V07", "use the version of trialplate that wrote it, or a newer one"),
    "ENTRY-ORDER": ("V07", _ASK),
    "MARK-AFTER-RESULTS": ("V08", "commit the pass mark, then run again"),
    "TESTSET-AFTER-RESULTS": ("V08", "commit the test set, then run again"),
    "COMMIT-MISSING": ("V08", _ASK),
    "BASELINE": ("V08", "ask the signer why; a mark can only name a run that ended before it, as it then was"),
    "RUN-NOT-IN-LEDGER": ("V09", "put the run back beside the ledger that started it"),
    "START-MISMATCH": ("V09", _ASK),
    "START-PROOF": ("V09", _ASK),
    "CONFIGURATION-MISMATCH": ("V09", _ASK),
    "RUN-REWRITTEN": ("V10", "treat the run as worthless: its record was changed after the ledger pinned it"),
    "MATRIX-UNPLANNED": ("V11", _ASK),
    "MATRIX-INCOMPLETE": ("V11", "ask for the missing trials; a record that says it is complete lacks them"),
    "STOP-ORDER": ("V11", "treat the run as worthless: what is missing is not what its mark's stop rule leaves out"),
    "STOP-UNSEALED": ("V11", "do not rely on this run: it was ended before its mark allowed it; ask the signer why"),
    "RUN-UNFINISHED": (
        "V11",
        "wait if it is still going on; else `trialplate resume` it, or waive it and start another",
    ),
    "RUN-NEVER-STARTED": ("V11", "remove the folder: a crash left it before anything was asked"),
    "RUN-MISSING": ("V11", "ask for the runs that are not here, if you mean to check them"),
    "ATTEMPT-ORDER": ("V12", _ASK),
    "ATTEMPT-AFTER-DECIDED": ("V12", "treat the run as worthless: a decided trial was asked again"),
    "ATTEMPT-TOO-MANY": ("V12", _ASK),
    "REPLAY-FLAG": ("V13", "run again with --cache off"),
    "SERVED-FLAG": ("V13", "list the id under `served:` in the plan and run again"),
    "REQUEST-ID-REUSED": ("V13", "ask the provider whether it numbers requests; a copied answer looks like this"),
    "COUNTS": ("V14", _ASK),
    "RUN-END": ("V15", _ASK),
    "CONTENT-MISMATCH": ("V16", "ask for content.jsonl as it was written"),
    "CONTENT-MISSING": ("V16", "ask for the whole content.jsonl, or remove it: content is whole or withheld"),
    "CONTENT-UNUSED": ("V16", "nothing: openings whose trial never ended are left by a crash"),
    "PRIVATE-TEXT-PUBLIC": ("V16", _RENAME),
    "CELL-VALUE": ("V17", _ASK),
    "CELL-VERDICT": ("V17", _ASK),
    "COST": ("V17", _ASK),
    "MARK-LOOSER": ("V18", "ask why less is asked for than an earlier mark for this test set did"),
    "MARK-AFTER-RUNS": ("V18", "ask why the mark was changed once results on these cases were known"),
    "ATTEMPT-RECORD": ("V18", "verify that run by itself, and restore its record or waive it"),
    "BASELINE-RECORD": ("V18", "verify the baseline by itself, and restore its record, or commit a mark with another"),
    "BASELINE-MISSING": ("V18", "put the baseline's folder back, or commit a mark with another baseline and run again"),
    "BASELINE-DOUBTFUL": ("V18", "ask why this run is what others are held to; `baseline set` names another"),
    "RESCORE": ("V21", "do not rely on this record: its verdicts are not those of its answers; ask the signer why"),
    "JUDGE-SHEET": ("V22", "do not rely on these grades: ask the signer which answers were graded, and of which run"),
    "JUDGE-CHECK": ("V22", "do not rely on these grades; grade the sheet again with `trialplate judge-check score`"),
    "DECISION": ("V19", "do not rely on the stated decision; run `trialplate gate` again"),
}
"""Every finding code: the check it belongs to, and the one thing to do."""


def counted(number: int, noun: str) -> str:
    """Return a number and its noun: 1 case, 2 cases."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Finding(Value, kw_only=False):
    """Something that does not hold (`note` false), or that a reader should know (`note` true)."""

    code: str
    message: str
    where: str = ""
    note: bool = False

    @property
    def check(self) -> str:
        """Return the number of the check it belongs to."""
        return CODES[self.code][0]

    @property
    def hint(self) -> str:
        """Return the one thing to do."""
        return CODES[self.code][1]


class Report:
    """What a verification found, check by check."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.findings: list[Finding] = []
        self.said: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self.checkpoint = ""
        """Origin, size and root of the ledger that was read."""
        self.level = "A0"
        self.uses = ""
        """Which use of its test set a run is, in words."""

    def found(self, code: str, message: str, where: str = "", *, note: bool = False) -> None:
        """Add a finding."""
        self.findings.append(Finding(code, message, where, note))

    def caught(self, error: TrialplateError) -> None:
        """Add the finding that an error carries."""
        self.found(error.code if error.code in CODES else "SCHEMA", error.message, error.where)

    def passed(self, check: str, sentence: str) -> None:
        """Say what a check looked at; it is PASS unless a finding says otherwise."""
        self.said[check] = sentence

    def skip(self, check: str, sentence: str) -> None:
        """Say why a check could not be made."""
        self.skipped[check] = sentence

    def status(self, check: str) -> str:
        """Return PASS, FAIL or SKIP."""
        if any(item.check == check and not item.note for item in self.findings):
            return "FAIL"
        if check == "V20" and not self.holds:
            return "SKIP"
        return "PASS" if check in self.said else "SKIP"

    @property
    def checks(self) -> list[str]:
        """Return the numbers of the checks that are told of: all, but some only where they were made or asked for."""
        return [
            item for item in CHECKS if item not in WHERE_ASKED or item in self.skipped or self.status(item) != "SKIP"
        ]

    @property
    def holds(self) -> bool:
        """Say whether nothing was found against the evidence."""
        return all(item.note for item in self.findings)

    def require(self) -> None:
        """Raise the first thing that was found against the evidence.

        Raises:
            VerificationError: with the code and the hint of the finding.
        """
        for item in self.findings:
            if not item.note:
                raise VerificationError(item.message, where=item.where, hint=item.hint, code=item.code)

    @property
    def exit_code(self) -> int:
        """Return 0 if everything that was checked holds, else 3."""
        return EXIT_DONE if self.holds else EXIT_UNTRUSTED
