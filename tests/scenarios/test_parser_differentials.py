# SPDX-License-Identifier: Apache-2.0
"""Cheat: bytes that two parsers read differently, in every file that verify reads, each signed by the owner of the key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from forger import Forger, edited, raw_lines
from small_project import SmallProject

from trialplate.record import canonical

FILES = ("plan", "record", "ledger", "content")
TYPED = ("plan", "record", "ledger")
LOGS = ("record", "ledger")

Change = Callable[[bytes], bytes]

_INTEGER = re.compile(rb'("[a-z_]+"):([0-9]+)')
_TEXT = re.compile(rb'("[a-z_]+"):"([A-Za-z0-9])')


def number(literal: str) -> Change:
    """Replace the first integer of the document; "#" stands for itself."""
    return lambda raw: _INTEGER.sub(lambda m: m[1] + b":" + literal.encode().replace(b"#", m[2]), raw, count=1)


def text(literal: bytes) -> Change:
    """Replace the first character of the document's first text; "%" stands for its code in hex."""
    return lambda raw: _TEXT.sub(lambda m: m[1] + b':"' + literal.replace(b"%", b"%04x" % ord(m[2])), raw, count=1)


def with_field(name: str, value: object) -> Change:
    """Add a field to the document, or an item to a list, written canonically."""

    def changed(raw: bytes) -> bytes:
        document = canonical.decode(raw)
        return canonical.encode([*document, value] if isinstance(document, list) else {**document, name: value})

    return changed


def reordered(raw: bytes) -> bytes:
    """Write the same document with its keys the other way round."""
    document = canonical.decode(raw)
    held = document[1] if isinstance(document, list) else document
    turned = dict(reversed(held.items()))
    fresh = [document[0], turned] if isinstance(document, list) else turned
    return json.dumps(fresh, separators=(",", ":"), ensure_ascii=False).encode()


CHANGES: list[tuple[str, Change, str, tuple[str, ...]]] = [
    ("key twice, same value", lambda raw: _INTEGER.sub(rb"\1:\2,\1:\2", raw, count=1), "STRICT-DUPKEY", FILES),
    ("key twice, other value", lambda raw: _INTEGER.sub(rb"\1:999,\1:\2", raw, count=1), "STRICT-DUPKEY", FILES),
    (
        "key twice, one escaped",
        lambda raw: _TEXT.sub(rb'"\\u0074":"x","t":"y",\g<0>', raw, count=1),
        "STRICT-DUPKEY",
        FILES,
    ),
    ("1E400", number("1E400"), "STRICT-NUMBER", FILES),
    ("-1E400", number("-1E400"), "STRICT-NUMBER", FILES),
    ("NaN", number("NaN"), "STRICT-NUMBER", FILES),
    ("Infinity", number("Infinity"), "STRICT-NUMBER", FILES),
    ("2^53", number("9007199254740992"), "STRICT-NUMBER", FILES),
    ("5000 digits", number("9" * 5000), "STRICT-NUMBER", FILES),
    ("1e16", number("1e16"), "STRICT-NUMBER", FILES),
    ("1.0 for 1", number("#.0"), "STRICT-NONCANONICAL", FILES),
    ("1e0 for 1", number("#e0"), "STRICT-NONCANONICAL", FILES),
    ("minus zero", number("-0"), "STRICT-NONCANONICAL", FILES),
    ("leading zero", number("0#"), "STRICT-SYNTAX", FILES),
    ("plus sign", number("+#"), "STRICT-SYNTAX", FILES),
    ("escaped letter", text(rb"\u%"), "STRICT-NONCANONICAL", FILES),
    ("escaped slash", text(rb"\/"), "STRICT-NONCANONICAL", FILES),
    ("lone surrogate", text(rb"\ud835"), "STRICT-SURROGATE", FILES),
    ("surrogates the wrong way round", text(rb"\udc00\ud800"), "STRICT-SURROGATE", FILES),
    ("surrogate in bytes", text(b"\xed\xa0\xb5"), "STRICT-ENCODING", FILES),
    ("overlong slash", text(b"\xc0\xaf"), "STRICT-ENCODING", FILES),
    ("raw control character", text(b"\x01"), "STRICT-SYNTAX", FILES),
    ("byte order mark", lambda raw: b"\xef\xbb\xbf" + raw, "STRICT-ENCODING", FILES),
    ("UTF-16", lambda raw: raw.decode().encode("utf-16-le").replace(b"\n", b""), "STRICT-SYNTAX", FILES),
    ("CRLF", lambda raw: raw + b"\r", "STRICT-NONCANONICAL", FILES),
    ("space behind", lambda raw: raw + b" ", "STRICT-NONCANONICAL", FILES),
    ("space before", lambda raw: b" " + raw, "STRICT-NONCANONICAL", FILES),
    ("space inside", lambda raw: raw.replace(b":", b": ", 1), "STRICT-NONCANONICAL", FILES),
    ("keys in another order", reordered, "STRICT-NONCANONICAL", FILES),
    ("two documents", lambda raw: raw + raw, "STRICT-SYNTAX", FILES),
    ("comma behind", lambda raw: raw[:-1] + b",}", "STRICT-SYNTAX", FILES),
    ("comment", lambda raw: raw + b"//", "STRICT-SYNTAX", FILES),
    ("nothing", lambda raw: b"", "STRICT-SYNTAX", FILES),
    ("65 levels", number("[" * 65 + "]" * 65), "STRICT-DEPTH", FILES),
    ("20,000 levels", number("[" * 20_000 + "]" * 20_000), "STRICT-DEPTH", FILES),
    ("20,000 open levels", number("[" * 20_000), "STRICT-DEPTH", FILES),
    ("a list", lambda raw: b"[]", "SCHEMA", FILES),
    ("unknown field", with_field("zz", 0), "SCHEMA", FILES),
    ("null for absent, an entry", with_field("by", None), "SCHEMA", LOGS),
    ("null for absent, a plan", with_field("order", None), "SCHEMA", ("plan",)),
    ("true for a number", number("true"), "SCHEMA", TYPED),
    ("text for a number", number('"#"'), "SCHEMA", TYPED),
    ("1.5 for a number", number("1.5"), "SCHEMA", TYPED),
    ("a negative number", number("-1"), "SCHEMA", TYPED),
    ("unknown type", with_field("type", "trial.middle"), "ENTRY-TYPE", LOGS),
    ("a type of the other log", lambda raw: raw, "ENTRY-TYPE", ()),
    ("another number", lambda raw: canonical.encode({**canonical.decode(raw), "seq": 77}), "ENTRY-ORDER", LOGS),
]
ROWS = [(name, change, code, file) for name, change, code, files in CHANGES for file in files]


def plant(project: SmallProject, file: str, change: Change) -> None:
    """Change one document of a file and, where it is in a log, sign that log again."""
    forger = Forger(project)
    if file == "plan":
        path = project.last / "plan.json"
        path.write_bytes(edited([path.read_bytes()], 0, change)[0])
    elif file == "content":
        path = project.last / "content.jsonl"
        salt = canonical.decode(raw_lines(path)[0])[0]
        lines = [canonical.encode([salt, {"n": 7, "t": "x"}]), *raw_lines(path)]
        path.write_bytes(b"".join(line + b"\n" for line in edited(lines, 0, change)))
    elif file == "record":
        lines = raw_lines(project.last / "record.jsonl")
        forger.sign_record_lines(edited(lines, 1, change))
    else:
        lines = raw_lines(project.ledger / "entries.jsonl")
        index = next(n for n, line in enumerate(lines) if b'"run.progress"' in line)
        forger.sign_ledger_lines(edited(lines, index, change))


@pytest.mark.parametrize(("name", "change", "code", "file"), ROWS, ids=[f"{file}: {name}" for name, _, _, file in ROWS])
def test_bytes_that_parsers_read_differently_are_refused(
    finished: SmallProject, tmp_path: Path, name: str, change: Change, code: str, file: str
) -> None:
    """Each deviation from canonical JSON, or from the schema, is its own finding in every file, signed or not."""
    plant(finished, file, change)
    stranger = finished.as_stranger(tmp_path)
    assert code in stranger.codes()
    assert stranger("gate", finished.last.name, "--model", "good", "--no-append").code == 3


@pytest.mark.parametrize("file", LOGS)
def test_entry_over_its_longest_is_refused_without_being_parsed(
    finished: SmallProject, tmp_path: Path, file: str
) -> None:
    """A line of more than 65,535 bytes is refused, whatever it holds."""
    plant(finished, file, with_field("zz", "x" * 70_000))
    assert finished.as_stranger(tmp_path).codes() & {"STRICT-LIMIT"}


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("ledger", with_field("v", 2)),
        ("record", with_field("v", 2)),
        ("plan", with_field("format", "trialplate-plan/2")),
    ],
    ids=["ledger entry", "record entry", "plan"],
)
def test_unknown_version_is_named_as_such(finished: SmallProject, tmp_path: Path, file: str, change: Change) -> None:
    """A file of a later version tells its reader to use that version, not that it is damaged."""
    plant(finished, file, change)
    assert "VERSION" in finished.as_stranger(tmp_path).codes()
    assert finished("gate", finished.last.name, "--model", "good").code == 3


# ---------------------------------------------------------------------------------------------------- run.open's entry


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (lambda text: text + " ", {"START-MISMATCH", "START-PROOF"}),
        (lambda text: text.replace('"seq"', '"\\u0073eq"'), {"START-MISMATCH", "START-PROOF"}),
        (lambda text: text.replace('"trials":16', '"trials":16.0'), {"START-MISMATCH", "START-PROOF"}),
        (lambda text: "", {"START-MISMATCH", "START-PROOF"}),
    ],
    ids=["space", "escape", "16.0", "nothing"],
)
def test_start_entry_inside_the_record_must_be_the_ledgers_bytes(
    finished: SmallProject, tmp_path: Path, change: Callable[[str], str], codes: set[str]
) -> None:
    """The run.start line in run.open is compared byte by byte, never as a parsed value."""
    forger = Forger(finished)
    start = forger.record[0]["body"]["start"]
    start["entry"] = change(start["entry"])
    forger.sign_record()
    assert codes <= finished.as_stranger(tmp_path).codes()


# --------------------------------------------------------------------------------------------------------------- notes


def signature_with(change: Callable[[bytes], bytes]) -> Change:
    """Change the base64 of a note's signature."""

    def changed(raw: bytes) -> bytes:
        head, _, last = raw[:-1].rpartition(b" ")
        return head + b" " + change(last) + b"\n"

    return changed


def loose_bits(encoded: bytes) -> bytes:
    """Set a bit that base64 does not use, so that lenient decoders see the same bytes."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    body = encoded.rstrip(b"=")
    return body[:-1] + bytes([alphabet[alphabet.index(body[-1]) ^ 1]]) + encoded[len(body) :]


def line_with(index: int, change: Callable[[bytes], bytes]) -> Change:
    """Change one line of a note's text, and leave its signature."""

    def changed(raw: bytes) -> bytes:
        lines = raw.split(b"\n")
        lines[index] = change(lines[index])
        return b"\n".join(lines)

    return changed


NOTES: list[tuple[str, Change, set[str]]] = [
    ("root with loose bits", line_with(2, loose_bits), {"CHECKPOINT-MALFORMED", "NOTE-SIGNATURE"}),
    ("root without padding", line_with(2, lambda line: line.rstrip(b"=")), {"CHECKPOINT-MALFORMED", "NOTE-SIGNATURE"}),
    ("signature url-safe", signature_with(lambda s: s[:8] + b"-_" + s[10:]), {"NOTE-MALFORMED"}),
    ("signature with a space", signature_with(lambda s: s[:9] + b" " + s[9:]), {"NOTE-MALFORMED"}),
    ("signature cut", signature_with(lambda s: s[:40]), {"NOTE-SIGNATURE", "NOTE-MALFORMED"}),
    ("signature twice", lambda raw: raw + raw[raw.rindex(b"\n", 0, -1) + 1 :], {"NOTE-DUPLICATE"}),
    ("CRLF", lambda raw: raw.replace(b"\n", b"\r\n"), {"NOTE-MALFORMED"}),
    ("no last newline", lambda raw: raw[:-1], {"NOTE-MALFORMED"}),
    ("one newline more", lambda raw: raw + b"\n", {"NOTE-MALFORMED"}),
    ("byte order mark", lambda raw: b"\xef\xbb\xbf" + raw, {"NOTE-SIGNATURE", "CHECKPOINT-MALFORMED"}),
    ("line separator for newline", lambda raw: raw.replace(b"\n", "\u2028".encode(), 1), {"NOTE-SIGNATURE"}),
    ("size with a leading zero", line_with(1, lambda line: b"0" + line), {"NOTE-SIGNATURE"}),
    ("size in other digits", line_with(1, lambda line: "\u0663".encode()), {"NOTE-SIGNATURE"}),
    ("extension line", line_with(2, lambda line: line + b"\nextension"), {"NOTE-SIGNATURE"}),
    ("hyphen for the dash", lambda raw: raw.replace("\u2014".encode(), b"-"), {"NOTE-MALFORMED"}),
    ("not UTF-8", lambda raw: raw[:-1] + b"\xff\n", {"NOTE-MALFORMED"}),
    ("nothing", lambda raw: b"", {"NOTE-MALFORMED"}),
    ("too long", lambda raw: raw + b"x" * 70_000, {"STRICT-LIMIT", "NOTE-LIMIT"}),
    ("text of another log, signed", lambda raw: raw, {"ORIGIN-MISMATCH"}),
]


@pytest.mark.parametrize("where", ["ledger", "run"])
@pytest.mark.parametrize(("name", "change", "codes"), NOTES, ids=[name for name, _, _ in NOTES])
def test_note_in_any_other_byte_form_is_refused(
    finished: SmallProject, where: str, name: str, change: Change, codes: set[str]
) -> None:
    """A checkpoint is accepted in exactly one byte form; lenient base64, line ends and digits are findings."""
    folder, other = (finished.ledger, finished.last) if where == "ledger" else (finished.last, finished.ledger)
    path = folder / "checkpoint"
    path.write_bytes((other / "checkpoint").read_bytes() if "another log" in name else change(path.read_bytes()))
    assert finished.codes() & codes
    assert finished("gate", finished.last.name, "--model", "good").code == 3


@pytest.mark.parametrize(
    "change",
    [loose_bits, lambda s: s.rstrip(b"="), lambda s: s.replace(b"+", b"-").replace(b"/", b"_") + b"\n"],
    ids=["loose bits", "no padding", "url-safe, newline"],
)
def test_signature_in_lenient_base64_is_refused(finished: SmallProject, change: Callable[[bytes], bytes]) -> None:
    """Signature bytes that only a lenient decoder accepts are refused (68 bytes end in padding, so bits are unused)."""
    path = finished.ledger / "checkpoint"
    raw = path.read_bytes()
    fresh = signature_with(change)(raw)
    assert fresh != raw
    path.write_bytes(fresh)
    assert "NOTE-MALFORMED" in finished.codes()


def test_signature_of_an_unknown_key_beside_the_good_one_changes_nothing(finished: SmallProject) -> None:
    """A witness's line that this reader does not know is ignored, as the note format says."""
    path = finished.ledger / "checkpoint"
    path.write_bytes(path.read_bytes() + "\u2014 witness AAAAAWJiYmI=\n".encode())
    assert finished.codes() == set()


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw[:-1],
        lambda raw: raw + b"\n",
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: b"",
        lambda raw: raw + raw,
        lambda raw: b" " + raw,
        lambda raw: b"x" * 5000 + b"\n",
    ],
    ids=["no newline", "two newlines", "CRLF", "byte order mark", "nothing", "twice", "space", "too long"],
)
def test_origin_in_any_other_byte_form_is_refused(finished: SmallProject, change: Change) -> None:
    """The origin file is one line, and the line that the checkpoint signs."""
    path = finished.ledger / "origin"
    path.write_bytes(change(path.read_bytes()))
    assert finished.codes() & {"SCHEMA", "ORIGIN-MISMATCH", "STRICT-LIMIT"}
    assert finished("gate", finished.last.name, "--model", "good").code == 3


# --------------------------------------------------------------------------------------------- files the reader brings


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: b"",
        lambda raw: raw[:-10],
        lambda raw: raw.replace(b'"format"', b'"format":"x","format"', 1),
        lambda raw: raw.replace(b"trialplate-known/1", b"trialplate-known/2"),
        lambda raw: raw.replace(b'"genesis":"sha256:', b'"genesis":"sha256:0'),
        lambda raw: raw.replace(b'"key":"small+', b'"key":"other+'),
    ],
    ids=["empty", "torn", "key twice", "unknown version", "no digest", "another key id"],
)
def test_damaged_memory_of_known_checkpoints_is_an_error_and_never_ignored(
    finished: SmallProject, change: Change
) -> None:
    """Ignoring a damaged known.json would hide a rollback: verify and gate refuse with exit 3."""
    path = finished.home / "known.json"
    path.write_bytes(change(path.read_bytes()))
    for arguments in (["verify"], ["gate", "latest", "--model", "good", "--no-append"]):
        said = finished(*arguments)
        assert said.code == 3
        assert "known checkpoints" in said.err


@pytest.mark.parametrize("line", ["small", "small+00000000+AAAA", "PRIVATE+KEY+small+00000000+AAAA"])
def test_trust_that_cannot_be_read_is_an_error_and_never_no_trust(finished: SmallProject, line: str) -> None:
    """A mistyped key to trust does not quietly become trust in nobody or in everybody."""
    said = finished("verify", "--trust", line)
    assert said.code == 2
    assert "no key to trust" in said.err


def test_empty_trust_argument_is_an_error(finished: SmallProject, tmp_path: Path) -> None:
    """`--trust "$UNSET_VARIABLE"` in a pipeline must not verify as if nothing had been demanded."""
    assert finished.as_stranger(tmp_path)("verify", "--trust", "").code == 2


def test_empty_trust_file_does_not_lower_the_demand(finished: SmallProject, tmp_path: Path) -> None:
    """A file without any key, given as trust, must not be read as a demand that nothing has to meet."""
    (finished.root / "nobody.pub").write_text("# no key yet\n")
    said = finished.as_stranger(tmp_path)("verify", "--trust", "nobody.pub")
    assert said.code != 0


READERS = pytest.mark.parametrize(
    "arguments",
    [["verify", "latest"], ["gate", "latest", "--model", "good"], ["report", "latest"]],
    ids=["verify", "gate", "report"],
)


@READERS
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"type":"run.start"}', id="no body"),
        pytest.param(b'{"body":[],"type":"run.start"}', id="body a list"),
        pytest.param(b'{"body":{"run_id":7},"type":"run.start"}', id="id a number"),
        pytest.param(b'{"body":{"run_id":"../../elsewhere"},"type":"run.start"}', id="id a path"),
        pytest.param(b'["type":"run.start"]', id="no JSON"),
    ],
)
def test_latest_in_a_damaged_ledger_is_a_clear_error(finished: SmallProject, arguments: list[str], line: bytes) -> None:
    """Looking for the latest run in a ledger that somebody damaged ends in an exit code, not in a traceback."""
    entries = finished.ledger / "entries.jsonl"
    entries.write_bytes(entries.read_bytes() + line + b"\n")
    said = finished(*arguments)
    assert said.code in (0, 2, 3)
    assert said.code or "HOLDS" in said.out or "ACCEPTED" in said.out


@READERS
def test_latest_without_the_ledgers_entries_is_a_clear_error(finished: SmallProject, arguments: list[str]) -> None:
    """A ledger whose entries are gone is named as such."""
    (finished.ledger / "entries.jsonl").unlink()
    said = finished(*arguments)
    assert said.code in (2, 3)
    assert said.err or said.out
