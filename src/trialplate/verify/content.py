# SPDX-License-Identifier: Apache-2.0
"""V16: what opens the private parts of a run, and whether a private text stands in the open all the same.

Content is whole or withheld: if content.jsonl is there, every commitment of plan and record must be opened by it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Set
from pathlib import Path

from trialplate.errors import FormatError, VerificationError
from trialplate.record import canonical, codec, disclosure
from trialplate.record.frozen import Json
from trialplate.record.glance import opening_reader
from trialplate.record.values import Case, Plan, PlanCase
from trialplate.rules.compatible import incompatible
from trialplate.verify.findings import Report
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.log_file import open_regular
from trialplate.verify.record_view import RecordView, plan_commitments

__all__ = ["SHORTEST_LEAK", "check_content", "leak_in", "openings", "private_strings", "public_commitments"]
__all__ += ["public_text"]

MAX_LINE = MAX_BLOB = 64 * 1024 * 1024
_ASKED = frozenset({"input", "files", "trace"})
_UNIT = re.compile(r"meta\.[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63}")
"""What a mark counts cases by: a key that its author shows."""
SHORTEST_LEAK = 16
"""Shorter texts (yes, 42, Paris) stand in the open by chance."""


def openings(folder: Path, shown: str) -> Iterator[tuple[str, Json]]:
    """Yield (commitment, value) of each complete line of content.jsonl; a torn last line is left out.

    Raises:
        FormatError: STRICT-..., SCHEMA.
    """
    glance = opening_reader()
    with open_regular(folder / "content.jsonl", f"{shown}/content.jsonl") as file:
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            if not line.endswith(b"\n"):
                return
            line = line[:-1]
            value = glance(line)
            if value is None:
                where = f"{shown}/content.jsonl:{number}"
                value = disclosure.value_of(canonical.decode(line, where, MAX_LINE), where)
            yield disclosure.commitment_of(line), value


def check_content(record: RecordView, ledger: LedgerView, report: Report) -> None:
    """Check every opening against the commitments, and every private text against what is public."""
    shown = f"runs/{record.run_id}"
    public = public_commitments(record.plan)
    settled = {(*key[:2], cell.incompatible) for key, cell in record.board.cells.items() if cell.settled}
    try:
        for case in record.plan.test_set.cases:
            held = case.opening
            if held is not None and disclosure.commit(held.salt, held.value) != case.commitment:
                message = f"the public case {case.id} is not what was committed"
                report.found("CONTENT-MISMATCH", message, f"{shown}/plan.json")
            elif held is not None:
                _check_case(case, held.value, record, settled, report)
        _check_blobs(record.folder / "content", shown, report)
        if not (record.folder / "content.jsonl").exists():
            report.skip("V16", f"content withheld: {len(record.commitments)} commitments are not opened here")
            return
        _check_openings(record, public, settled, _Leaks(record, ledger), report)
        if not _ends_in_newline(record.folder / "content.jsonl"):
            report.found("CONTENT-UNUSED", "a torn last line opens nothing", f"{shown}/content.jsonl", note=True)
    except (FormatError, VerificationError, OSError) as error:
        if isinstance(error, OSError):
            message = f"content.jsonl cannot be read ({error.strerror})"
            error = VerificationError(message, where=shown, code="FILE-MISSING")
        report.caught(error)


def _check_blobs(folder: Path, shown: str, report: Report) -> None:
    """Check that each file or trace that is here has the digest that it is called by; one that is not is withheld."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if re.fullmatch("[0-9a-f]{64}", path.name):
            where = f"{shown}/content/{path.name}"
            with open_regular(path, where) as file:
                fits = os.fstat(file.fileno()).st_size <= MAX_BLOB
                if not fits or hashlib.file_digest(file, "sha256").hexdigest() != path.name:
                    report.found("CONTENT-MISMATCH", "its bytes do not have the digest that it is called by", where)


def _check_openings(
    record: RecordView, public: set[str | None], settled: Set[tuple[str, str, bool]], leaks: _Leaks, report: Report
) -> None:
    shown = f"runs/{record.run_id}"
    missing = set(record.commitments)
    of_plan = set(plan_commitments(record.plan))
    cases = {case.commitment: case for case in record.plan.test_set.cases}
    said = {item for case in record.plan.test_set.cases for item in (case.asked, case.unit)}
    asks: dict[str | None, Json] = {}
    shares: dict[str, Json] = {}
    unused = opened = 0
    for commitment, value in openings(record.folder, shown):
        opened += commitment in missing
        unused += commitment not in missing
        missing.discard(commitment)
        if commitment in cases:
            held = _check_case(cases[commitment], value, record, settled, report)
            asks[commitment], shares[commitment] = held.asked, _unit_of(held, record.plan.pass_mark.unit)
        if commitment in said:
            asks[commitment] = value
        leaked = None if commitment in public else leaks.of(value, of_plan=commitment in of_plan)
        if leaked is not None:
            message = f"a private text stands in the plan, the record or the ledger: {leaked[:40]!r}..."
            report.found("PRIVATE-TEXT-PUBLIC", message, shown)
    for case in record.plan.test_set.cases:
        if asks.keys() >= {case.asked, case.commitment} and asks[case.asked] != asks[case.commitment]:
            report.found("CONTENT-MISMATCH", f"case {case.id} does not ask what its plan says that it asks", shown)
        if case.unit in asks and case.commitment in shares and asks[case.unit] != shares[case.commitment]:
            report.found("CONTENT-MISMATCH", f"case {case.id} is not of the unit that its plan says", shown)
    if missing:
        report.found("CONTENT-MISSING", f"{len(missing)} commitments are opened by nothing", f"{shown}/content.jsonl")
    if unused:
        report.found("CONTENT-UNUSED", f"{unused} openings belong to no line", f"{shown}/content.jsonl", note=True)
    report.passed("V16", f"{opened} openings match their commitments; no private text stands in the open")


def _check_case(
    case: PlanCase, value: Json, record: RecordView, settled: Set[tuple[str, str, bool]], report: Report
) -> Case:
    """Check that plan and record say of a case what the committed case says, since rules go by it.

    Args:
        settled: configurations and cases of the record's trials, and whether they are incompatible.

    Returns:
        The committed case.
    """
    shown = f"runs/{record.run_id}"
    held = codec.decode(Case, value, f"{shown}: case {case.id}")
    if (held.id, held.kind, held.tags, held.suite) != (case.id, case.kind, case.tags, case.suite):
        message = f"case {case.id} was committed with another id, kind, suite or other tags than the plan shows"
        report.found("CONTENT-MISMATCH", message, f"{shown}/plan.json")
    for item in record.plan.configurations:
        asked = incompatible(held, item) is None
        if (item.name, case.id, asked) in settled:
            said = "left out as incompatible, and there is nothing" if asked else "asked, and there is something"
            message = f"{item.name} {case.id}: {said} that it does not take"
            report.found("CELL-VALUE", message, f"{shown}/record.jsonl")
    return held


def _unit_of(case: Case, unit: str) -> Json:
    """Return what a case's unit is the commitment to: the key of `meta` and what it holds."""
    key = unit.removeprefix("meta.")
    return [key, case.meta.get(key)]


class _Leaks:
    """Looks for private texts among what is public.

    The plan's own private texts must stand nowhere in plan, ledger or record. What a trial produced must not stand in
    what far ends named; that it repeats something the plan had published before is no leak, and else a model could
    spoil any record by saying its own name.
    """

    def __init__(self, record: RecordView, ledger: LedgerView) -> None:
        told = {name for item in record.plan.configurations for name in (item.model_id, *item.served) if name}
        self.named = record.far_texts - told
        prose = "\n".join(text for text in self.named if " " in text)
        self._in_prose = leak_in(prose)
        ids = {case.id for case in record.plan.test_set.cases}
        self._in_public = leak_in(public_text(record.plan, ledger) + "\n" + prose, ids)

    def of(self, value: Json, *, of_plan: bool) -> str | None:
        """Return a private string of the value that stands in the open."""
        if not of_plan and not self.named:
            return None
        words = next(
            (text for text in private_strings(value) if len(text) >= SHORTEST_LEAK and text in self.named), None
        )
        return words or (self._in_public if of_plan else self._in_prose)(value)


def _ends_in_newline(path: Path) -> bool:
    with path.open("rb") as file:
        return file.seek(0, 2) == 0 or (file.seek(-1, 2) >= 0 and file.read(1) == b"\n")


def public_commitments(plan: Plan) -> set[str | None]:
    """Return the commitments to what stands in the open: the cases of a public test set."""
    shown = [case for case in plan.test_set.cases if case.opening is not None]
    return {item for case in shown for item in (case.commitment, case.asked, case.unit)}


def public_text(plan: Plan, ledger: LedgerView | None) -> str:
    """Return what plan and ledger say in the open, one string a line, as far as it is long enough to hold a text.

    Left out are the cases' commitments: they hold nothing, and each private text would be looked for in all of them.
    """
    found = [text for case in plan.test_set.cases for text in (case.id, *case.tags, case.suite or "")]
    found += _strings(codec.to_json(plan.replace(test_set=plan.test_set.replace(cases=()))))
    for entry in ledger.entries if ledger is not None else ():
        found += _strings(codec.to_json(entry.body))
    return "\n".join(text for text in found if len(text) >= SHORTEST_LEAK and not _UNIT.fullmatch(text))


def leak_in(text: str, ids: Set[str] = frozenset()) -> Callable[[Json], str | None]:
    """Return a function that names a private string of a value which stands in the public text.

    A key that is the id of a case tells nothing: so a script of answers names the case that each is for.

    Looking for each of 100,000 texts in as many case ids would take minutes. What stands there begins and ends with
    strings that stand there, which a table of their hashes tells almost always.
    """
    size, table = SHORTEST_LEAK, bytearray(8 * len(text) + 1)
    for start in range(len(text) - size + 1):
        table[hash(text[start : start + size]) % len(table)] = 1

    def stands(item: str) -> bool:
        if len(item) < size:
            return False
        return all(table[hash(end) % len(table)] for end in (item[:size], item[-size:])) and item in text

    def leak(value: Json) -> str | None:
        return next((item for item in private_strings(value, ids) if stands(item)), None)

    return leak


def private_strings(value: Json, ids: Set[str] = frozenset()) -> Iterator[str]:
    """Yield the strings of a value, without what of a case stands in every plan, since rules select by it.

    Nor with its files and trace, of which it holds digests: a command that reads one names it, and the plan pins it.
    """
    if isinstance(value, str):
        return iter((value,))
    if isinstance(value, dict) and "input" in value and ("id" in value or value.keys() <= _ASKED):
        shown = ("id", "kind", "tags", "suite", "files", "trace")
        value = {key: item for key, item in value.items() if key not in shown}
    return _strings(value, ids)


def _strings(value: Json, ids: Set[str] = frozenset()) -> Iterator[str]:
    """Yield every string of a JSON value, its keys too: a reference or a setting may hold a text as a key."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (key for key in value if key not in ids)
        for item in value.values():
            yield from _strings(item, ids)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, ids)
