# SPDX-License-Identifier: Apache-2.0
"""V16: what opens the private parts of a run, and whether a private text stands in the open all the same.

Content is whole or withheld: if content.jsonl is there, every commitment of plan and record must be opened by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from trialplate.errors import FormatError, VerificationError
from trialplate.record import canonical, codec, disclosure
from trialplate.record.values import Json, Opening, Plan
from trialplate.verify.findings import Report
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.record_view import RecordView

__all__ = ["check_content", "leak_in", "openings", "public_text"]

MAX_LINE = 64 * 1024 * 1024
SHORTEST_LEAK = 16
"""Shorter texts (yes, 42, Paris) stand in the open by chance."""


def openings(folder: Path, shown: str) -> Iterator[tuple[str, Opening]]:
    """Yield (commitment, opening) of each complete line of content.jsonl; a torn last line is left out.

    Raises:
        FormatError: STRICT-..., SCHEMA.
    """
    with (folder / "content.jsonl").open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE):
            number += 1
            if not line.endswith(b"\n"):
                return
            where = f"{shown}/content.jsonl:{number}"
            opening = disclosure.opening_of(canonical.decode(line[:-1], where, MAX_LINE), where)
            yield disclosure.commitment_of(line[:-1]), opening


def check_content(record: RecordView, ledger: LedgerView, report: Report) -> None:
    """Check every opening against the commitments, and every private text against what is public."""
    shown = f"runs/{record.run_id}"
    public = {case.commitment for case in record.plan.test_set.cases if case.opening is not None}
    try:
        for case in record.plan.test_set.cases:
            held = case.opening
            if held is not None and disclosure.commit(held.salt, held.value) != case.commitment:
                message = f"the public case {case.id} is not what was committed"
                report.found("CONTENT-MISMATCH", message, f"{shown}/plan.json")
        if not (record.folder / "content.jsonl").exists():
            report.skip("V16", f"content withheld: {len(record.commitments)} commitments are not opened here")
            return
        leaks = leak_in(public_text(record.plan, ledger, record.free_texts))
        _check_openings(record, public, leaks, shown, report)
    except (FormatError, VerificationError, OSError) as error:
        if isinstance(error, OSError):
            message = f"content.jsonl cannot be read ({error.strerror})"
            error = VerificationError(message, where=shown, code="FILE-MISSING")
        report.caught(error)


def _check_openings(
    record: RecordView, public: set[str], leaks: Callable[[Json], str | None], shown: str, report: Report
) -> None:
    missing = set(record.commitments)
    unused = opened = 0
    for commitment, opening in openings(record.folder, shown):
        opened += commitment in missing
        unused += commitment not in missing
        missing.discard(commitment)
        leaked = None if commitment in public else leaks(opening.value)
        if leaked is not None:
            message = f"a private text stands in the plan, the record or the ledger: {leaked[:40]!r}..."
            report.found("PRIVATE-TEXT-PUBLIC", message, shown)
    if missing:
        report.found("CONTENT-MISSING", f"{len(missing)} commitments are opened by nothing", f"{shown}/content.jsonl")
    if unused:
        report.found("CONTENT-UNUSED", f"{unused} openings belong to no line", f"{shown}/content.jsonl", note=True)
    report.passed("V16", f"{opened} openings match their commitments; no private text stands in the open")


def public_text(plan: Plan, ledger: LedgerView | None, free: Iterable[str] = ()) -> str:
    """Return every string that stands in the open, one a line."""
    found: list[str] = list(free)
    json = codec.to_json(plan)
    for case in json["test_set"]["cases"]:
        case.pop("opening", None)
    found += _strings(json)
    for entry in ledger.entries if ledger is not None else ():
        found += _strings(codec.to_json(entry.body))
    return "\n".join(found)


def leak_in(text: str) -> Callable[[Json], str | None]:
    """Return a function that names a private string of a value which stands in the public text."""

    def leak(value: Json) -> str | None:
        return next((item for item in _strings(_private(value)) if len(item) >= SHORTEST_LEAK and item in text), None)

    return leak


def _private(value: Json) -> Json:
    """Return a value without what of a case stands in every plan, since rules select by it."""
    if isinstance(value, dict) and "id" in value and "input" in value:
        return {key: item for key, item in value.items() if key not in ("id", "kind", "tags", "suite")}
    return value


def _strings(value: Json) -> Iterator[str]:
    """Yield every string value, and no key, of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
