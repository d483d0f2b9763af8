# SPDX-License-Identifier: Apache-2.0
"""The ledger as a reader sees it: trust, rollback, references between entries, and what it says of each run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from run_project import Project

from trialplate.record import canonical, codec
from trialplate.record.entries import CommitPassMark, CommitTestSet, Counts, Pin, RunEnd, RunStart, Waiver
from trialplate.record.log import root_of
from trialplate.record.note import Checkpoint, format_checkpoint, sign_note, signer_from_seed
from trialplate.record.values import EntryRef
from trialplate.verify.findings import Report
from trialplate.verify.known import read_known
from trialplate.verify.ledger_view import LedgerEntry, LedgerView, Reader, read_ledger

RUN, OTHER = "20261130T100000000Z-0123abcd", "20261130T110000000Z-0123abcd"
DIGEST = "sha256:" + "0" * 64
ROOT = "sha256:" + "1" * 64
COUNTS = Counts(
    planned=1,
    passed=1,
    failed=0,
    limit=0,
    needs_input=0,
    error=0,
    skipped=0,
    absent=0,
    attempts=1,
    replayed=0,
    reasked=0,
)


def view_of(*bodies: tuple[str, object]) -> LedgerView:
    """Return a view of entries that nobody signed: for questions about what they say."""
    entries = [LedgerEntry(seq, f"t{seq}", kind, body, b"{}") for seq, (kind, body) in enumerate(bodies)]
    return LedgerView(Path("ledger"), "o", [], None, entries)  # type: ignore[arg-type]


def pin(size: int, run_id: str = RUN) -> Pin:
    """Return a pin of a record's size."""
    return Pin(run_id=run_id, size=size, root=ROOT)


def end(size: int = 9, run_id: str = RUN) -> RunEnd:
    """Return a run.end."""
    return RunEnd(run_id=run_id, size=size, root=ROOT, status="complete", counts=COUNTS)


# ---------------------------------------------------------------------------------------- what the ledger says


def test_end_of_a_resumed_run_is_undone_until_it_ends_again() -> None:
    """run.resume after run.end opens the run; a later run.end closes it again, and each moment is told apart."""
    view = view_of(("run.end", end()), ("run.resume", pin(9)), ("run.progress", pin(12)), ("run.end", end(15)))
    found = [view.end_of(RUN, before) for before in range(5)]
    assert [None if item is None else item.body.size for item in found] == [None, 9, None, None, 15]
    assert view.end_of(OTHER) is None


def test_end_of_a_run_is_not_undone_by_the_resume_of_another() -> None:
    """Entries are about the run that they name."""
    view = view_of(("run.end", end()), ("run.resume", pin(9, OTHER)), ("run.progress", pin(9)))
    found = view.end_of(RUN)
    assert found is not None
    assert found.seq == 0


def test_pins_of_a_run_come_in_order_of_size_and_hold_every_kind() -> None:
    """Progress, resume and end all pin the record."""
    view = view_of(
        ("run.progress", pin(5)),
        ("run.end", end(9)),
        ("run.resume", pin(9)),
        ("run.progress", pin(2)),
        ("run.progress", pin(1, OTHER)),
    )
    assert [(size, seq) for size, _, seq in view.pins_of(RUN)] == [(2, 3), (5, 0), (9, 1), (9, 2)]
    assert [size for size, _, _ in view.pins_of(RUN, before=2)] == [5, 9]


def test_waived_is_about_one_run_and_one_moment() -> None:
    """A waiver counts from its own entry on."""
    view = view_of(("waiver", Waiver(run_id=RUN, reason="power")), ("run.progress", pin(1)))
    assert view.waived(RUN)
    assert not view.waived(RUN, before=0)
    assert not view.waived(OTHER)


def test_entry_ref_is_its_number_and_the_digest_of_its_line() -> None:
    """Other entries name an entry by both."""
    entry = LedgerEntry(3, "t", "waiver", None, b'{"a":1}')
    assert entry.ref == EntryRef(seq=3, digest=canonical.digest(b'{"a":1}'))


# --------------------------------------------------------------------------------------- a real ledger, read strictly


def read(project: Project, reader: Reader | None = None) -> tuple[LedgerView | None, Report]:
    """Read a project's ledger."""
    report = Report("ledger")
    return read_ledger(project.ledger, reader or Reader(), report), report


def codes(report: Report) -> list[str]:
    """Return the codes of the findings, notes left out."""
    return [item.code for item in report.findings if not item.note]


def test_read_ledger_that_holds_says_each_check(made: Project) -> None:
    """V01, V03, V04, V05, V07, V08 pass; V06 is skipped aloud when nothing is known."""
    view, report = read(made)
    assert view is not None
    assert codes(report) == []
    assert {"V01", "V03", "V04", "V05", "V07", "V08", "V20"} <= set(report.said)
    assert "rollback=NOT-CHECKED" in report.skipped["V06"]
    assert report.level == "A0"
    assert "nobody you trust" in report.said["V20"]
    assert str(view.signed) == report.checkpoint


def test_read_ledger_trust_decides_the_level(made: Project) -> None:
    """A key that the reader named, or knows for this log, gives A1; naming another one is a finding."""
    key = made.key().signer.public
    other = signer_from_seed("OTHER", bytes(range(32))).public
    _, report = read(made, Reader(trust=[other, key]))
    assert (report.level, codes(report)) == ("A1", [])
    _, report = read(made, Reader(known=read_known(made.home)))
    assert (report.level, codes(report)) == ("A1", [])
    assert report.said["V06"].startswith("extends 1 checkpoint ")
    _, report = read(made, Reader(trust=[other]))
    assert (report.level, codes(report)) == ("A0", ["KEY-UNTRUSTED"])


def test_read_ledger_known_under_another_key_or_genesis_is_found(made: Project) -> None:
    """Who took a known log's name is told, whatever else holds."""
    known = read_known(made.home)
    (origin,) = known
    other = signer_from_seed("OTHER", bytes(range(32))).public
    _, report = read(made, Reader(known={origin: known[origin].replace(key=other)}))
    assert "KEY-CHANGED" in codes(report)
    assert report.level == "A0"
    _, report = read(made, Reader(known={origin: known[origin].replace(genesis=DIGEST)}))
    assert codes(report) == ["GENESIS-CHANGED"]


def test_read_ledger_rolled_back_to_an_earlier_state_is_found(project: Project) -> None:
    """An older ledger that was whole in its time does not extend what was seen since."""
    before = project.ledger.with_name("before")
    shutil.copytree(project.ledger, before)
    project.run()
    newer = (project.ledger / "checkpoint").read_bytes()
    shutil.rmtree(project.ledger)
    before.rename(project.ledger)
    for reader in (Reader(against=[newer]), Reader(known=read_known(project.home))):
        _, report = read(project, reader)
        assert codes(report) == ["LEDGER-ROLLED-BACK"]


def test_read_ledger_forked_after_a_common_beginning_is_found(project: Project) -> None:
    """Two ledgers of one size and other lines cannot both be the log."""
    twin = Project(project.folder.with_name("twin"), project.home.with_name("twin-home"))
    shutil.copytree(project.folder, twin.folder)
    shutil.copytree(project.home, twin.home)
    for item, reason in ((project, "one"), (twin, "two")):
        item.writer().append("waiver", codec.to_json(Waiver(run_id=RUN, reason=reason)))
    _, report = read(project, Reader(against=[(twin.ledger / "checkpoint").read_bytes()]))
    assert codes(report) == ["LEDGER-FORK"]


@pytest.mark.parametrize("note", [b"", b"no note", b"log\n1\nAAAA\n\n", b"\xff\xff"])
def test_read_ledger_against_what_is_no_note_is_a_finding(made: Project, note: bytes) -> None:
    """A checkpoint that cannot be read shows nothing, and is not skipped in silence."""
    _, report = read(made, Reader(against=[note]))
    assert codes(report)
    assert not report.holds


@pytest.mark.parametrize("name", ["origin", "entries.jsonl", "checkpoint"])
def test_read_ledger_without_one_of_its_files_says_which(project: Project, name: str) -> None:
    """Each file is needed."""
    (project.ledger / name).unlink()
    view, report = read(project)
    assert view is None
    assert codes(report) == ["FILE-MISSING"]
    assert name in report.findings[0].message


@pytest.mark.parametrize("origin", ["other-0123abcd\n", "", "x", "a\nb\n"])
def test_read_ledger_of_another_origin_is_refused(project: Project, origin: str) -> None:
    """The checkpoint is of the log that the folder says it is."""
    (project.ledger / "origin").write_text(origin)
    view, report = read(project)
    assert view is None
    assert codes(report)[0] in ("ORIGIN-MISMATCH", "SCHEMA")


def test_read_ledger_unsigned_lines_behind_it_are_noted_and_not_read(project: Project) -> None:
    """What a crash or a forger left beyond the checkpoint is told, and is no entry."""
    entries = project.ledger / "entries.jsonl"
    count = len(entries.read_bytes().splitlines())
    entries.write_bytes(entries.read_bytes() + b'{"forged":1}\n')
    view, report = read(project)
    assert view is not None
    assert len(view.entries) == count
    assert [(item.code, item.note) for item in report.findings] == [("LEDGER-UNSIGNED-TAIL", True)]


# -------------------------------------------------------------------------------------------------- references


def start_of(view: LedgerView) -> RunStart:
    """Return the first run.start."""
    body: RunStart = view.starts()[0].body
    return body


@pytest.mark.parametrize("field", ["test_set", "pass_mark"])
def test_run_start_that_names_what_comes_after_it_is_found(project: Project, field: str) -> None:
    """A mark or a test set that is committed after the start was chosen after it."""
    view = project.view()
    later = EntryRef(seq=len(view.entries) + 1, digest=DIGEST)
    body = start_of(view).replace(**{"run_id": OTHER, field: later})
    project.writer().append("run.start", codec.to_json(body))
    _, report = read(project)
    expected = "MARK-AFTER-RESULTS" if field == "pass_mark" else "TESTSET-AFTER-RESULTS"
    assert expected in codes(report)
    assert report.status("V08") == "FAIL"


@pytest.mark.parametrize("field", ["test_set", "pass_mark"])
def test_run_start_that_names_another_line_or_kind_is_found(project: Project, field: str) -> None:
    """A reference is a number and a digest, to an entry of the right kind."""
    view = project.view()
    start = start_of(view)
    right: EntryRef = getattr(start, field)
    genesis = view.entries[0].ref
    for wrong in (right.replace(digest=DIGEST), genesis):
        body = start.replace(**{"run_id": OTHER, field: wrong})
        project.writer().append("run.start", codec.to_json(body))
        _, report = read(project)
        assert "COMMIT-MISSING" in codes(report)


def test_run_start_with_the_mark_of_another_test_set_is_found(project: Project) -> None:
    """A mark is committed for one test set."""
    view = project.view()
    first = next(view.bodies(CommitTestSet)).body
    other = project.writer().append("commit.testset", codec.to_json(first.replace(name="other"))).ref
    project.writer().append("run.start", codec.to_json(start_of(view).replace(run_id=OTHER, test_set=other)))
    _, report = read(project)
    assert codes(report) == ["MARK-MISMATCH"]


def test_commit_whose_digest_is_not_of_its_mark_is_found(project: Project) -> None:
    """The digest beside a mark is checked, so that nobody quotes another one."""
    mark: CommitPassMark = next(project.view().bodies(CommitPassMark)).body
    project.writer().append("commit.passmark", codec.to_json(mark.replace(digest=DIGEST)))
    _, report = read(project)
    assert codes(report) == ["MARK-MISMATCH"]


def forge(project: Project, **fields: object) -> None:
    """Sign one more entry that no writer of ours would write: a copy of the last one, changed."""
    entries, signer = project.ledger / "entries.jsonl", project.key().signer
    lines = entries.read_bytes().splitlines()
    made = {**canonical.decode(lines[-1]), "seq": len(lines), **fields}
    lines.append(canonical.encode(made))
    entries.write_bytes(b"".join(line + b"\n" for line in lines))
    point = Checkpoint(origin=project.view().origin, size=len(lines), root=root_of(lines))
    (project.ledger / "checkpoint").write_bytes(sign_note(format_checkpoint(point), signer))


def test_second_genesis_is_found(project: Project) -> None:
    """A log begins once."""
    forge(project, type="log.genesis", body=codec.to_json(project.view().entries[0].body))
    _, report = read(project)
    assert codes(report) == ["ENTRY-ORDER"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"time": "2000-01-01T00:00:00.000Z"}, "ENTRY-ORDER"),
        ({"seq": 0}, "ENTRY-ORDER"),
        ({"type": "run.note"}, "ENTRY-TYPE"),
        ({"v": 2}, "VERSION"),
        ({"extra": 1}, "SCHEMA"),
        ({"body": {}}, "SCHEMA"),
    ],
)
def test_signed_entry_that_no_writer_writes_is_found(project: Project, fields: dict[str, object], code: str) -> None:
    """A signature does not make an entry right: order, type, version and fields are checked all the same."""
    forge(project, **fields)
    _, report = read(project)
    assert set(codes(report)) == {code}
