# SPDX-License-Identifier: Apache-2.0
"""Appending to a ledger: what is signed, what is refused, and what happens to lines that nobody signed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_project import RUN, TIME, Project, waiver

from trialplate.errors import FormatError, StorageError, UsageError, VerificationError
from trialplate.ledger import keys
from trialplate.ledger.create import init_ledger
from trialplate.ledger.ledger_writer import LedgerWriter, read_origin
from trialplate.ledger.lock import hold
from trialplate.record import canonical, disclosure
from trialplate.record.log import check_inclusion, leaf_hash, root_of
from trialplate.record.note import Checkpoint, format_checkpoint, open_note, parse_checkpoint, sign_note
from trialplate.verify.known import read_known


def test_init_ledger_makes_origin_genesis_and_checkpoint_and_is_known_here(project: Project) -> None:
    """The genesis entry names origin, key and the secret's commitment; the name ends in 8 random hex digits."""
    view = project.read()
    genesis = view.entries[0].body

    assert project.origin == view.origin == read_origin(project.folder)
    assert (project.origin, project.key.line) == (genesis.origin, genesis.key)
    assert disclosure.secret_commitment(project.key.secret) == genesis.secret
    assert project.origin.startswith("example.org/demo-")
    int(project.origin.removeprefix("example.org/demo-"), 16)
    known = read_known(project.config)[project.origin]
    assert (project.key.signer.public, project.checkpoint.read_bytes()) == (known.key, known.checkpoint)
    assert sorted(item.name for item in project.folder.iterdir()) == ["checkpoint", "entries.jsonl", "origin"]
    assert [project.folder] == list(project.folder.parent.iterdir())


def test_init_ledger_where_something_is_leaves_it_and_takes_an_empty_folder(project: Project, tmp_path: Path) -> None:
    """A ledger is never made anew; a folder that git made for its .gitkeep is not one either, an empty one is."""
    before = {item.name: item.read_bytes() for item in project.folder.iterdir()}
    with pytest.raises(UsageError, match="already"):
        init_ledger(project.folder, "again", project.key, project.config)
    assert before == {item.name: item.read_bytes() for item in project.folder.iterdir()}

    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="already"):
        init_ledger(tmp_path / "file", "again", project.key, project.config)

    (tmp_path / "empty").mkdir()
    init_ledger(tmp_path / "empty", "again", project.key, project.config)
    assert len(read_known(project.config)) == 2


@pytest.mark.parametrize("name", ["", "a b", "a+b", "é", "x" * 101, "/a"])
def test_init_ledger_of_a_name_that_no_origin_can_bear_is_refused(project: Project, tmp_path: Path, name: str) -> None:
    """Origins stand in notes."""
    with pytest.raises(UsageError):
        init_ledger(tmp_path / "other", name, project.key, project.config)

    assert not (tmp_path / "other").exists()


def test_append_returns_the_line_with_its_checkpoint_and_proof(project: Project) -> None:
    """Whoever holds what was returned can show the entry without the ledger."""
    for number in range(5):
        done = project.writer().append("waiver", waiver(number))

        point = parse_checkpoint(open_note(done.checkpoint, [project.key.signer.public]).text)
        proof = [bytes.fromhex(step.removeprefix("sha256:")) for step in done.proof]
        assert number + 1 == done.seq == done.ref.seq
        assert check_inclusion(leaf_hash(done.line), done.seq, point.size, proof, point.root)
        assert canonical.digest(done.line) == done.digest == done.ref.digest
        assert (
            done.checkpoint == project.checkpoint.read_bytes() == read_known(project.config)[project.origin].checkpoint
        )
        entry = canonical.decode(done.line)
        assert {"v": 1, "seq": done.seq, "time": TIME, "type": "waiver", "body": waiver(number)} == entry

    assert len(project.read().entries) == 6


def test_append_many_is_one_checkpoint_over_all_with_a_proof_for_each(project: Project) -> None:
    """Commitments of a run are made together."""
    done = project.writer().append_many([("waiver", waiver(number)) for number in range(3)])

    [note] = {item.checkpoint for item in done}
    point = parse_checkpoint(open_note(note, [project.key.signer.public]).text)
    assert point.size == 4
    for item in done:
        proof = [bytes.fromhex(step.removeprefix("sha256:")) for step in item.proof]
        assert check_inclusion(leaf_hash(item.line), item.seq, 4, proof, point.root)
    assert project.writer().append_many([]) == []
    assert len(project.read().entries) == 4


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("waiver", {"run_id": RUN}, "SCHEMA"),
        ("waiver", {"run_id": RUN, "reason": "x", "more": 1}, "SCHEMA"),
        ("waiver", {"run_id": RUN, "reason": "line\nbreak"}, "SCHEMA"),
        ("trial.end", {}, "ENTRY-TYPE"),
        ("unheard.of", {}, "ENTRY-TYPE"),
        ("log.genesis", {}, "ENTRY-ORDER"),
    ],
)
def test_append_of_what_no_reader_would_take_is_refused(project: Project, kind: str, body: object, code: str) -> None:
    """Nothing is signed that `verify` would then refuse; a good entry beside it is not appended either."""
    before = project.entries.read_bytes(), project.checkpoint.read_bytes()

    with pytest.raises(FormatError) as caught:
        project.writer().append_many([("waiver", waiver()), (kind, body)])

    assert code == caught.value.code
    assert before == (project.entries.read_bytes(), project.checkpoint.read_bytes())


def test_append_of_more_than_a_line_may_hold_is_refused_with_all_that_came_with_it(project: Project) -> None:
    """65,535 bytes is the limit of an entry; the good one before it was written already, and is cut back."""
    before = project.entries.read_bytes(), project.checkpoint.read_bytes()
    digest = "sha256:" + "0" * 64
    decision = {"run_id": RUN, "configuration": "m/p", "decision": "inconclusive", "reasons": ["r" * 60] * 1100}
    decision |= {"plan": digest, "pass_mark": {"seq": 0, "digest": digest}, "record_size": 1, "record_root": digest}
    decision |= {"evidence": [], "rules": [], "attempts": []}

    with pytest.raises(FormatError) as caught:
        project.writer().append_many([("waiver", waiver()), ("decision", decision)])

    assert caught.value.code == "ENTRY-LIMIT"
    assert before == (project.entries.read_bytes(), project.checkpoint.read_bytes())


def test_append_while_the_clock_goes_back_never_writes_an_earlier_time(project: Project) -> None:
    """A laptop's clock was set back by a year; order comes from the sequence numbers."""
    project.time = "2026-12-01T00:00:00.000Z"
    project.writer().append("waiver", waiver())
    project.time = "2025-12-01T00:00:00.000Z"
    project.writer().append("waiver", waiver())
    project.time = "2026-12-01T00:00:00.001Z"
    project.writer().append("waiver", waiver())

    times = [entry.time for entry in project.read().entries[1:]]
    assert times == ["2026-12-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z", "2026-12-01T00:00:00.001Z"]


@pytest.mark.parametrize(
    ("tail", "lines", "torn"),
    [
        (b'{"body":{"reason":"forged","run_id":"x"},"seq":2,"time":"2026-11-30T09:00:00.000Z"}\n', 1, False),
        (b'{"body":{}', 0, True),
        (b"a\nb\nc", 2, True),
        (b"\n", 1, False),
        (b"\x00" * 200_000, 0, True),
    ],
)
def test_append_sets_unsigned_lines_aside_and_never_signs_them(
    project: Project, tail: bytes, lines: int, torn: bool
) -> None:
    """Forged or torn, what stands beyond the checkpoint goes to a file, is reported, and is gone from the log."""
    project.writer().append("waiver", waiver("mine"))
    with project.entries.open("ab") as file:
        file.write(tail)

    project.writer().append("waiver", waiver("next"))

    [moved] = project.moved
    assert (lines, torn, tail) == (moved.lines, moved.torn, moved.path.read_bytes())
    assert project.folder == moved.path.parent
    assert moved.path.name.startswith("set-aside-20261130T090000000Z-")
    assert [entry.body.reason for entry in project.read().entries[1:]] == ["mine", "next"]


def test_append_sets_aside_a_valid_line_of_its_own_that_has_no_checkpoint(project: Project) -> None:
    """A crash between line and note: the append had not happened, even though its line is perfect."""
    note = project.checkpoint.read_bytes()
    before = len(project.entries.read_bytes())
    line = project.writer().append("waiver", waiver("lost")).line
    project.checkpoint.write_bytes(note)
    (project.config / "known.json").unlink()

    project.writer().append("waiver", waiver("after"))

    [moved] = project.moved
    assert line + b"\n" == moved.path.read_bytes()
    assert [entry.body.reason for entry in project.read().entries[1:]] == ["after"]
    assert b"lost" not in project.entries.read_bytes()[before:]


def test_settle_sets_aside_without_appending_and_twice_with_two_names(project: Project) -> None:
    """`ledger doctor` moves what nobody signed, and a second file does not overwrite the first."""
    for text in (b"one", b"two"):
        with project.entries.open("ab") as file:
            file.write(text)
        assert project.writer().settle().size == 1

    assert [moved.path.read_bytes() for moved in project.moved] == [b"one", b"two"]
    assert project.writer().settle().size == 1
    assert len(project.moved) == 2
    assert "0 unsigned lines and a torn one set aside in" in str(project.moved[0])


def swap(path: Path, old: bytes, new: bytes) -> None:
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new))


def forge_checkpoint(project: Project) -> None:
    lines = project.entries.read_bytes().split(b"\n")[:2]
    note = sign_note(format_checkpoint(Checkpoint("other-00000000", 2, root_of(lines))), project.key.signer)
    project.checkpoint.write_bytes(note)


def another_signer(project: Project) -> None:
    key = keys.load_signer(keys.new_key("mallory", project.config), {"TRIALPLATE_HOME": str(project.config)})
    text = project.checkpoint.read_text().rpartition("\n\n")[0] + "\n"
    project.checkpoint.write_bytes(sign_note(text, key.signer))


DAMAGE: list[tuple[str, Callable[[Project], object], str]] = [
    ("an entry edited", lambda p: swap(p.entries, b"reason 1", b"reason 9"), "LEDGER-ROOT"),
    ("the last line cut", lambda p: p.entries.write_bytes(p.entries.read_bytes()[:-1]), "LEDGER-TRUNCATED"),
    (
        "a line gone",
        lambda p: p.entries.write_bytes(p.entries.read_bytes().split(b"\n")[0] + b"\n"),
        "LEDGER-TRUNCATED",
    ),
    ("all gone", lambda p: p.entries.write_bytes(b""), "LEDGER-TRUNCATED"),
    ("no entries", lambda p: p.entries.unlink(), "FILE-MISSING"),
    ("no checkpoint", lambda p: p.checkpoint.unlink(), "FILE-MISSING"),
    ("no origin", lambda p: (p.folder / "origin").unlink(), "FILE-MISSING"),
    ("a size edited", lambda p: swap(p.checkpoint, b"\n2\n", b"\n1\n"), "NOTE-SIGNATURE"),
    ("another origin", forge_checkpoint, "ORIGIN-MISMATCH"),
    ("another signer", another_signer, "SIG-MISSING"),
    ("lines ended by CRLF", lambda p: swap(p.entries, b"\n", b"\r\n"), "LEDGER-ROOT"),
]


@pytest.mark.parametrize(("what", "damage", "code"), DAMAGE, ids=[item[0] for item in DAMAGE])
def test_append_to_a_ledger_that_does_not_hold_is_refused_and_writes_nothing(
    project: Project, what: str, damage: Callable[[Project], object], code: str
) -> None:
    """Each damage has its code, and the files stay as they were found."""
    project.writer().append("waiver", waiver("reason 1"))
    damage(project)
    before = {item.name: item.read_bytes() for item in project.folder.iterdir()}

    for act in (lambda writer: writer.append("waiver", waiver("next")), lambda writer: writer.settle()):
        with pytest.raises(VerificationError) as caught:
            act(project.writer())
        assert code == caught.value.code, what

    assert before == {item.name: item.read_bytes() for item in project.folder.iterdir()}


@pytest.mark.parametrize("text", [b"", b"two\nlines\n", b"no newline", "é\n".encode()])
def test_append_to_a_ledger_with_a_damaged_origin_is_a_format_error(project: Project, text: bytes) -> None:
    """The origin file is one line."""
    (project.folder / "origin").write_bytes(text)

    with pytest.raises(FormatError):
        project.writer().append("waiver", waiver())


def test_append_to_a_ledger_that_was_rolled_back_is_refused(project: Project, tmp_path: Path) -> None:
    """An older copy was put in place; this machine signed a newer checkpoint."""
    project.writer().append("waiver", waiver("one"))
    shutil.copytree(project.folder, tmp_path / "old")
    project.writer().append("waiver", waiver("two"))
    shutil.rmtree(project.folder)
    shutil.copytree(tmp_path / "old", project.folder)
    before = project.entries.read_bytes()

    with pytest.raises(VerificationError) as caught:
        project.writer().append("waiver", waiver("three"))

    assert caught.value.code == "LEDGER-ROLLED-BACK"
    assert "size 3" in caught.value.message
    assert caught.value.hint
    assert before == project.entries.read_bytes()


def test_append_to_a_ledger_that_forked_from_the_known_one_is_refused(project: Project, tmp_path: Path) -> None:
    """The key's owner went on with an old copy elsewhere; here the newer history is known, whatever the sizes."""
    shutil.copytree(project.folder, tmp_path / "fork")
    project.writer().append("waiver", waiver("here"))
    elsewhere = LedgerWriter(tmp_path / "fork", project.key.signer, tmp_path / "other machine")
    elsewhere.append("waiver", waiver("there"))
    elsewhere.append("waiver", waiver("there"))
    shutil.rmtree(project.folder)
    shutil.copytree(tmp_path / "fork", project.folder)

    with pytest.raises(VerificationError) as caught:
        project.writer().append("waiver", waiver("next"))

    assert caught.value.code == "LEDGER-FORK"


@pytest.mark.parametrize(("same_key", "code"), [(False, "KEY-CHANGED"), (True, "GENESIS-CHANGED")])
def test_append_to_another_ledger_under_a_known_name_is_refused(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same_key: bool, code: str
) -> None:
    """Somebody made a ledger of the very same origin, with his own key or with ours: this machine knows better."""
    home = tmp_path / "elsewhere"
    key = project.key
    if not same_key:
        key = keys.load_signer(keys.new_key("mallory", home), {"TRIALPLATE_HOME": str(home)})
    suffix = project.origin.rpartition("-")[2]
    monkeypatch.setattr("trialplate.ledger.create.secrets.token_hex", lambda size: suffix)
    assert project.origin == init_ledger(tmp_path / "forged", "example.org/demo", key, home)

    with pytest.raises(VerificationError) as caught:
        LedgerWriter(tmp_path / "forged", key.signer, project.config).append("waiver", waiver())

    assert code == caught.value.code


def test_append_with_what_is_known_damaged_is_refused_and_writes_nothing(project: Project) -> None:
    """A broken memory is not an empty one."""
    (project.config / "known.json").write_text("{")
    before = project.entries.read_bytes()

    with pytest.raises(FormatError) as caught:
        project.writer().append("waiver", waiver())

    assert caught.value.code == "KNOWN"
    assert before == project.entries.read_bytes()


def test_append_on_a_machine_that_knows_nothing_yet_remembers_the_ledger(project: Project, tmp_path: Path) -> None:
    """A fresh clone with the key: first use is trusted, from then on it is known."""
    done = LedgerWriter(project.folder, project.key.signer, tmp_path / "fresh").append("waiver", waiver())

    assert done.checkpoint == read_known(tmp_path / "fresh")[project.origin].checkpoint


@pytest.mark.parametrize("which", ["ledger", "origin"])
def test_append_while_another_holds_the_lock_waits_and_then_says_who_may(project: Project, which: str) -> None:
    """The ledger's own lock, and the one of its name on this machine."""
    if which == "ledger":
        path = project.folder / ".lock"
    else:
        project.writer().settle()
        [path] = (project.config / "locks").iterdir()

    with hold(path, "a test"), pytest.raises(StorageError) as caught:
        project.writer().append("waiver", waiver())

    assert caught.value.code == "LOCKED"
    assert "run, gate, commit or waive" in caught.value.message
    assert caught.value.hint
    project.writer().append("waiver", waiver())


def test_append_whose_checkpoint_cannot_be_written_leaves_the_ledger_as_it_was(project: Project) -> None:
    """An append without its checkpoint has not happened: the line is cut back, and the next append is clean."""
    before = project.entries.read_bytes(), project.checkpoint.read_bytes()
    (project.folder / "checkpoint.tmp").mkdir()

    with pytest.raises(StorageError):
        project.writer().append("waiver", waiver("lost"))

    assert before == (project.entries.read_bytes(), project.checkpoint.read_bytes())
    (project.folder / "checkpoint.tmp").rmdir()
    project.writer().append("waiver", waiver("next"))
    assert project.moved == []
    assert [entry.body.reason for entry in project.read().entries[1:]] == ["next"]


def test_append_whose_last_step_failed_keeps_the_lines_that_the_new_checkpoint_covers(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rename was done, only the folder's fsync failed: cutting the line now would break the ledger."""

    def fail(folder: Path) -> None:
        if (project.folder / "checkpoint").read_bytes() != before:
            raise StorageError("the disk went away")

    before = project.checkpoint.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("trialplate.ledger.durable.fsync_dir", fail)
        with pytest.raises(StorageError, match="went away"):
            project.writer().append("waiver", waiver("signed"))

    assert [entry.body.reason for entry in project.read().entries[1:]] == ["signed"]
    project.writer().append("waiver", waiver("next"))
    assert len(project.read().entries) == 3


def test_append_that_cannot_be_remembered_says_that_it_stands_all_the_same(project: Project) -> None:
    """The entry is signed; only this machine's memory is behind, and repeating it would append it twice."""
    (project.config / "known.json.tmp").mkdir()

    with pytest.raises(StorageError) as caught:
        project.writer().append("waiver", waiver("stands"))

    assert caught.value.code == "KNOWN-NOT-KEPT"
    assert "size 2" in caught.value.message
    (project.config / "known.json.tmp").rmdir()
    assert [entry.body.reason for entry in project.read().entries[1:]] == ["stands"]
