# SPDX-License-Identifier: Apache-2.0
"""Signed notes: one byte form only, keys by name and id, checkpoints, and nothing secret in an error."""

from __future__ import annotations

import base64

import pytest

from trialplate.errors import FormatError, VerificationError
from trialplate.record.note import (
    Checkpoint,
    PublicKey,
    format_checkpoint,
    format_private,
    open_note,
    parse_checkpoint,
    parse_key,
    parse_private,
    sign_note,
    signer_from_seed,
)

ALICE = signer_from_seed("example.org/alice", bytes(range(32)))
BOB = signer_from_seed("bob", bytes(32))
TEXT = format_checkpoint(Checkpoint("example.org/log-0123abcd", 1734, bytes(range(100, 132))))
NOTE = sign_note(TEXT, ALICE)


def damaged(bits: bytes) -> list[bytes]:
    return [
        bits[:place] + bytes([bits[place] ^ 1 << bit]) + bits[place + 1 :]
        for place in range(len(bits))
        for bit in range(8)
    ]


def test_note_with_any_single_bit_flipped_is_refused_or_has_no_signature() -> None:
    """Every bit of a note counts: none can be turned and the note still be the key's."""
    survivors = []
    for raw in damaged(NOTE):
        try:
            opened = open_note(raw, [ALICE.public])
        except (FormatError, VerificationError):
            continue
        if opened.verified:
            survivors.append(raw)

    assert survivors == []


def test_note_cut_at_any_byte_or_with_one_more_is_refused() -> None:
    """No prefix of a note is a note, and nothing may follow it."""
    for end in range(len(NOTE)):
        with pytest.raises((FormatError, VerificationError)):
            open_note(NOTE[:end], [ALICE.public])
    for more in (b"\n", b" ", b"x", b"\x00"):
        with pytest.raises((FormatError, VerificationError)):
            open_note(NOTE + more, [ALICE.public])


def test_key_line_with_any_single_bit_flipped_is_refused_or_is_another_key() -> None:
    """No two lines are the same key."""
    for raw in damaged(ALICE.public.line.encode()):
        try:
            other = parse_key(raw.decode())
        except (FormatError, UnicodeDecodeError):
            continue
        assert other != ALICE.public


def test_note_opened_without_its_key_lists_the_signature_and_verifies_nothing() -> None:
    """An unknown key is no error and no evidence."""
    opened = open_note(NOTE, [BOB.public])

    assert opened.text == TEXT
    assert opened.verified == ()
    assert (("example.org/alice", ALICE.public.key_id),) == opened.unknown


def test_note_under_the_right_name_and_id_but_another_key_is_rejected_as_a_whole() -> None:
    """A known key whose signature fails outweighs another that holds."""
    impostor = PublicKey(ALICE.name, ALICE.public.key_id, BOB.public.key)
    note = sign_note(TEXT, ALICE, BOB)

    with pytest.raises(VerificationError) as caught:
        open_note(note, [BOB.public, impostor])

    assert caught.value.code == "NOTE-SIGNATURE"
    assert "example.org/alice" in caught.value.message


def test_note_opened_with_two_keys_of_one_name_and_id_is_an_error() -> None:
    """Which of the two is meant cannot be told; the same key given twice is one key."""
    twin = PublicKey(ALICE.name, ALICE.public.key_id, BOB.public.key)

    with pytest.raises(FormatError) as caught:
        open_note(NOTE, [ALICE.public, twin])

    assert caught.value.code == "NOTE-AMBIGUOUS"
    assert (ALICE.public,) == open_note(NOTE, [ALICE.public, ALICE.public]).verified


def test_note_whose_text_has_empty_lines_is_parted_at_the_last_one() -> None:
    """The text of a note may hold paragraphs."""
    note = sign_note("one\n\ntwo\n\n", ALICE)

    assert open_note(note, [ALICE.public]).text == "one\n\ntwo\n\n"


SIGNATURE = NOTE.decode().rpartition(" ")[2]
UNUSED_BITS = base64.b64encode(bytes(5)).decode().replace("AA=", "AB=")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "NOTE-MALFORMED"),
        (TEXT.encode(), "NOTE-MALFORMED"),
        (TEXT.encode() + b"\n", "NOTE-MALFORMED"),
        (NOTE.replace(b"\n", b"\r\n"), "NOTE-MALFORMED"),
        (b"\x00" + NOTE, "NOTE-MALFORMED"),
        (b"a\tb\n\n" + NOTE.split(b"\n\n")[1], "NOTE-MALFORMED"),
        (NOTE + b"\xff", "NOTE-MALFORMED"),
        (NOTE.replace("—".encode(), b"-"), "NOTE-MALFORMED"),
        (NOTE.replace(b" example.org/alice ", b" example.org/alice  "), "NOTE-MALFORMED"),
        (NOTE.replace(b"org/alice", b"org+alice"), "NOTE-MALFORMED"),
        (NOTE.replace(b"org/alice", "org\u2028alice".encode()), "NOTE-MALFORMED"),
        (TEXT.encode() + f"\n— bob {UNUSED_BITS}\n".encode(), "NOTE-MALFORMED"),
        (TEXT.encode() + b"\n\xe2\x80\x94 bob AAAA\n", "NOTE-MALFORMED"),
        (NOTE + NOTE.split(b"\n\n")[1], "NOTE-DUPLICATE"),
        (b"x" * 1_000_001, "NOTE-LIMIT"),
        (
            TEXT.encode() + b"\n" + b"".join(b"\xe2\x80\x94 k%d AAAAAAA=\n" % number for number in range(101)),
            "NOTE-LIMIT",
        ),
    ],
)
def test_note_that_is_malformed_is_refused_with_its_code(raw: bytes, code: str) -> None:
    """Line ends, controls, encodings, base64, repeats and sizes that are not a note's."""
    with pytest.raises(FormatError) as caught:
        open_note(raw, [])

    assert code == caught.value.code


@pytest.mark.parametrize("text", ["no newline", "", "tab\t\n", "\ud800\n", "\u2028\n"])
def test_sign_note_of_a_text_that_would_not_be_read_is_refused(text: str) -> None:
    """We write nothing that we would refuse."""
    with pytest.raises(FormatError) as caught:
        sign_note(text, ALICE)

    assert caught.value.code == "NOTE-MALFORMED"


def test_sign_note_without_a_signer_or_twice_with_one_is_refused() -> None:
    """A note has at least one signature, and each key's once."""
    with pytest.raises(FormatError, match="signed by somebody"):
        sign_note(TEXT)
    with pytest.raises(FormatError, match="twice"):
        sign_note(TEXT, ALICE, ALICE)


def test_key_lines_come_back_as_they_were_and_show_no_secret() -> None:
    """Public and private lines round-trip; only the private line holds the seed."""
    private = format_private(ALICE)

    assert ALICE.public == parse_key(ALICE.public.line)
    assert ALICE.public == parse_private(private).public
    assert private == format_private(parse_private(private))
    assert private.split("+", 4)[4] not in repr(ALICE) + str(ALICE) + repr(ALICE.public)


LINE = ALICE.public.line


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("", "KEY-MALFORMED"),
        ("alice", "KEY-MALFORMED"),
        (LINE + "\n", "KEY-MALFORMED"),
        (LINE + "=", "KEY-MALFORMED"),
        (LINE[:-1] + "!", "KEY-MALFORMED"),
        ("PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", "KEY-MALFORMED"),
        (LINE.replace("example.org/", "example.com/"), "KEY-ID"),
        (LINE.replace("example.org/", "example org/"), "KEY-NAME"),
        (LINE.removeprefix("example.org/alice"), "KEY-NAME"),
        ("a+00000000+" + base64.b64encode(b"\x04" + bytes(32)).decode(), "KEY-TYPE"),
        ("a+00000000+" + base64.b64encode(b"\x01" + bytes(31)).decode(), "KEY-MALFORMED"),
        (format_private(ALICE), "KEY-MALFORMED"),
    ],
)
def test_key_line_that_is_malformed_is_refused_with_its_code(line: str, code: str) -> None:
    """Another algorithm, another id, another length, another spelling."""
    with pytest.raises(FormatError) as caught:
        parse_key(line)

    assert code == caught.value.code


def test_private_line_that_is_damaged_is_refused_without_repeating_it() -> None:
    """An error about a private key shows its name at most."""
    private = format_private(ALICE)
    secret = private.split("+", 4)[4]

    for line in (private[:-1], private + " ", private.replace("alice", "malice"), secret, private.lower()):
        with pytest.raises(FormatError) as caught:
            parse_private(line)
        assert secret[4:20] not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"


def test_signer_of_a_seed_of_another_length_is_refused() -> None:
    """Ed25519 seeds have 32 bytes."""
    with pytest.raises(FormatError) as caught:
        signer_from_seed("alice", bytes(31))

    assert caught.value.code == "KEY-MALFORMED"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "log\n1\n",
        TEXT[:-1],
        TEXT + "extension\n",
        TEXT + "\n",
        TEXT.replace("1734", "01734"),
        TEXT.replace("1734", "+1734"),
        TEXT.replace("1734", "-1"),
        TEXT.replace("1734", "1_734"),
        TEXT.replace("1734", "١٧٣٤"),
        TEXT.replace("1734", "9007199254740992"),
        TEXT.replace("1734", "9" * 5000),
        TEXT.replace("example.org/log", "example.org log"),
        TEXT.replace("example.org/log-0123abcd", ""),
        TEXT.replace("example.org/log-0123abcd", "a" * 201),
        "log\n0\n" + base64.b64encode(bytes(31)).decode() + "\n",
        "log\n0\n" + base64.b64encode(bytes(32)).decode().replace("A=", "B=") + "\n",
    ],
)
def test_checkpoint_that_is_malformed_is_refused(text: str) -> None:
    """Three lines, a number that formats to itself, a root of 32 bytes, nothing else."""
    with pytest.raises(FormatError) as caught:
        parse_checkpoint(text)

    assert caught.value.code == "CHECKPOINT-MALFORMED"


def test_checkpoint_comes_back_as_it_was_and_none_is_written_that_would_not_be_read() -> None:
    """Format and parse are each other's inverse."""
    checkpoint = Checkpoint("log", 0, bytes(32))

    assert checkpoint == parse_checkpoint(format_checkpoint(checkpoint))
    for wrong in (Checkpoint("a log", 0, bytes(32)), Checkpoint("log", -1, bytes(32)), Checkpoint("log", 0, b"")):
        with pytest.raises(FormatError):
            format_checkpoint(wrong)
