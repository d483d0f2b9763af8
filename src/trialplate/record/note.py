# SPDX-License-Identifier: Apache-2.0
"""Signed notes, their keys, and the checkpoint that a note carries (C2SP signed-note and tlog-checkpoint), Ed25519.

A note is a text that ends in a newline, an empty line, and signature lines; the last empty line parts them:

    example.org/log-0123abcd
    1734
    <base64 of the Merkle root>

    — operator <base64 of key id (4 bytes) and signature (64 bytes)>

A key is one printable line. Its id binds name, algorithm and key: SHA-256(name || LF || 0x01 || key)[:4].

    public   name+<key id in hex>+<base64 of 0x01 and the key>
    private  PRIVATE+KEY+name+<key id in hex>+<base64 of 0x01 and the seed>

Every text is accepted in exactly one byte form: lines end at LF only, base64 must be what encoding its bytes gives,
numbers must format to themselves, a key may sign once. A signature by an unknown key is listed and proves nothing; a
signature by a known key that fails rejects the whole note.

What this module refuses to do: decide whom to trust, read key files, compute signatures by hand.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from trialplate.errors import FormatError, VerificationError
from trialplate.record.frozen import Value

__all__ = ["Checkpoint", "OpenedNote", "PublicKey", "Signer", "format_checkpoint", "format_private", "open_note"]
__all__ += ["parse_checkpoint", "parse_key", "parse_private", "sign_note", "signer_from_seed"]

MAX_NOTE = 1_000_000
"""The longest note in bytes."""
MAX_SIGNATURES = 100
MAX_SIZE = 2**53 - 1
"""The largest log size a checkpoint may claim."""

_ED25519 = b"\x01"
_PRIVATE = "PRIVATE+KEY+"
_MARK = "— "
_KEY_ID = re.compile(r"[0-9a-f]{8}")
_ORIGIN = re.compile(r"[!-*,-~]{1,200}")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


# ----------------------------------------------------------------------------------------------------------- keys


class PublicKey(Value, kw_only=False):
    """An Ed25519 key under a name."""

    name: str
    key_id: bytes
    """Four bytes that bind name and key; a hint for finding the key, never a proof."""
    key: bytes
    """32 bytes."""

    @property
    def line(self) -> str:
        """The key as one printable line."""
        return f"{self.name}+{self.key_id.hex()}+{_base64(_ED25519 + self.key)}"

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Whether the signature over the data is this key's."""
        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(signature, data)
        except (InvalidSignature, ValueError):
            return False
        return True


class Signer:
    """A private Ed25519 key under a name. It never prints itself."""

    __slots__ = ("_private", "name", "public")

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        key = private.public_key().public_bytes_raw()
        self.name = _checked_name(name, "a key's name", "KEY-NAME")
        self.public = PublicKey(name, _key_id(name, key), key)
        self._private = private

    def __repr__(self) -> str:
        return f"Signer({self.public.line})"

    def sign(self, data: bytes) -> bytes:
        """Return the 64 bytes of the signature; the same for the same data."""
        return self._private.sign(data)


def signer_from_seed(name: str, seed: bytes) -> Signer:
    """Return the signer of a 32-byte seed.

    Raises:
        FormatError: KEY-NAME for a name with a space, a plus or a control character; KEY-MALFORMED for another length.
    """
    if len(seed) != 32:
        raise FormatError(f"an Ed25519 seed has 32 bytes, not {len(seed)}", code="KEY-MALFORMED")
    return Signer(name, Ed25519PrivateKey.from_private_bytes(seed))


def parse_key(line: str) -> PublicKey:
    """Return the key of a public line; `parse_key(line).line == line`.

    Raises:
        FormatError: KEY-MALFORMED, KEY-NAME, KEY-TYPE for another algorithm than Ed25519, KEY-ID if the id is not that
            of name and key.
    """
    if line.startswith(_PRIVATE):
        raise FormatError(
            "this is a PRIVATE key line where a public one belongs",
            hint="use the public line, and treat the private one as leaked",
            code="KEY-MALFORMED",
        )
    name, key_id, key = _parse_key_fields(line, "public key line")
    if _key_id(name, key) != key_id:
        raise _wrong_key_id(name)
    return PublicKey(name, key_id, key)


def format_private(signer: Signer) -> str:
    """Return the private line of a signer, as Go's sumdb/note writes it. It is a secret."""
    seed = signer._private.private_bytes_raw()
    return f"{_PRIVATE}{signer.name}+{signer.public.key_id.hex()}+{_base64(_ED25519 + seed)}"


def parse_private(line: str) -> Signer:
    """Return the signer of a private line. No error text repeats any of the line but the name.

    Raises:
        FormatError: as `parse_key`.
    """
    if not line.startswith(_PRIVATE):
        raise FormatError('not a private key line: it does not begin with "PRIVATE+KEY+"', code="KEY-MALFORMED")
    name, key_id, seed = _parse_key_fields(line.removeprefix(_PRIVATE), "private key line")
    signer = signer_from_seed(name, seed)
    if signer.public.key_id != key_id:
        raise _wrong_key_id(name)
    return signer


def _parse_key_fields(line: str, what: str) -> tuple[str, bytes, bytes]:
    name, _, rest = line.partition("+")
    key_id, _, text = rest.partition("+")
    if not _KEY_ID.fullmatch(key_id):
        raise FormatError(f"not a {what}: it reads name+8 hex digits+base64", code="KEY-MALFORMED")
    _checked_name(name, "a key's name", "KEY-NAME")
    raw = _unbase64(text, f"the key in a {what}", "KEY-MALFORMED")
    if raw[:1] != _ED25519:
        raise FormatError(f"the {what} of {name} is of another algorithm than Ed25519", code="KEY-TYPE")
    if len(raw) != 33:
        raise FormatError(f"the {what} of {name} holds {len(raw) - 1} key bytes instead of 32", code="KEY-MALFORMED")
    return name, bytes.fromhex(key_id), raw[1:]


def _key_id(name: str, key: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + key).digest()[:4]


def _wrong_key_id(name: str) -> FormatError:
    return FormatError(f"the key id of {name} is not that of its name and key", code="KEY-ID")


def _checked_name(name: str, what: str, code: str) -> str:
    """Signed-note: not empty, no Unicode space, no plus; and no control character, no lone surrogate."""
    if not 0 < len(name) <= 255 or not name.isprintable() or " " in name or "+" in name:
        message = f"{what} is empty, too long, or holds a space, a plus or a control character"
        raise FormatError(message, code=code)
    return name


# ---------------------------------------------------------------------------------------------------------- notes


class OpenedNote(Value, kw_only=False):
    """A well-formed note. Only if `verified` is not empty does anybody known vouch for the text."""

    text: str
    verified: tuple[PublicKey, ...]
    unknown: tuple[tuple[str, bytes], ...]
    """Name and key id of each signature whose key was not given; unchecked."""


def sign_note(text: str, *signers: Signer) -> bytes:
    """Return the signed note.

    Args:
        text: ends in a newline and holds no other control character.
        signers: at least one; each signs once.

    Raises:
        FormatError: NOTE-MALFORMED for another text.
    """
    if not text.endswith("\n") or not signers or not text.replace("\n", "").isprintable():
        message = "a note's text is printable, ends in a newline, and is signed by somebody"
        raise FormatError(message, code="NOTE-MALFORMED")
    body = text.encode()
    lines = [f"{_MARK}{s.name} {_base64(s.public.key_id + s.sign(body))}\n" for s in signers]
    raw = (text + "\n" + "".join(lines)).encode()
    _split_note(raw)  # we never write what we would not read
    return raw


def open_note(raw: bytes, keys: Sequence[PublicKey]) -> OpenedNote:
    """Read a note and check the signatures of the keys given.

    Raises:
        FormatError: NOTE-MALFORMED, NOTE-LIMIT, NOTE-DUPLICATE (a key signed twice), NOTE-AMBIGUOUS (two given keys
            share name and id).
        VerificationError: NOTE-SIGNATURE, if a signature of a given key is wrong.
    """
    known: dict[tuple[str, bytes], PublicKey] = {}
    for key in keys:
        if known.setdefault((key.name, key.key_id), key) != key:
            raise FormatError(f"two different keys share the name {key.name} and an id", code="NOTE-AMBIGUOUS")
    text, signatures = _split_note(raw)
    verified: list[PublicKey] = []
    unknown: list[tuple[str, bytes]] = []
    for (name, key_id), signature in signatures.items():
        found = known.get((name, key_id))
        if found is None:
            unknown.append((name, key_id))
        elif found.verifies(signature, text.encode()):
            verified.append(found)
        else:
            message = f"the signature of {name} ({key_id.hex()}) does not match the note"
            hint = "the text was changed after it was signed, or another key of that name signed it"
            raise VerificationError(message, hint=hint, code="NOTE-SIGNATURE")
    return OpenedNote(text, tuple(verified), tuple(unknown))


def _split_note(raw: bytes) -> tuple[str, dict[tuple[str, bytes], bytes]]:
    """Return the text, and by name and key id the signatures."""
    if len(raw) > MAX_NOTE:
        raise FormatError(f"a note of {len(raw)} bytes; at most {MAX_NOTE} are read", code="NOTE-LIMIT")
    try:
        whole = raw.decode()
    except UnicodeDecodeError:
        raise FormatError("a note is UTF-8, this is not", code="NOTE-MALFORMED") from None
    if "\r\n" in whole:
        raise FormatError("its line ends were converted to CR LF; a note's lines end in LF", code="NOTE-MALFORMED")
    if _CONTROL.search(whole):
        raise FormatError("a note holds no control character but the newline", code="NOTE-MALFORMED")
    text, gap, tail = whole.rpartition("\n\n")
    if not gap or not tail.endswith("\n"):
        message = "a note is a text, an empty line and signature lines that each end in a newline"
        raise FormatError(message, code="NOTE-MALFORMED")
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise FormatError(f"{len(lines)} signatures; at most {MAX_SIGNATURES} are read", code="NOTE-LIMIT")
    signatures: dict[tuple[str, bytes], bytes] = {}
    for line in lines:
        name, key_id, signature = _parse_signature(line)
        if (name, key_id) in signatures:
            raise FormatError(f"the key {name} ({key_id.hex()}) signed the note twice", code="NOTE-DUPLICATE")
        signatures[name, key_id] = signature
    return text + "\n", signatures


def _parse_signature(line: str) -> tuple[str, bytes, bytes]:
    fields = line.removeprefix(_MARK).split(" ")
    if not line.startswith(_MARK) or len(fields) != 2:
        raise FormatError("a signature line reads: em dash, space, name, space, base64", code="NOTE-MALFORMED")
    name = _checked_name(fields[0], "a signature's name", "NOTE-MALFORMED")
    raw = _unbase64(fields[1], f"the signature of {name}", "NOTE-MALFORMED")
    if len(raw) < 5:
        raise FormatError(f"the signature of {name} is shorter than a key id", code="NOTE-MALFORMED")
    return name, raw[:4], raw[4:]


# ----------------------------------------------------------------------------------------------------- checkpoint


class Checkpoint(Value, kw_only=False):
    """What a log's note says: its name, the number of its entries, and the Merkle root over them."""

    origin: str
    size: int
    root: bytes


def format_checkpoint(checkpoint: Checkpoint) -> str:
    """Return the text of a note for the checkpoint.

    Raises:
        FormatError: CHECKPOINT-MALFORMED, for what `parse_checkpoint` would refuse.
    """
    text = f"{checkpoint.origin}\n{checkpoint.size}\n{_base64(checkpoint.root)}\n"
    parse_checkpoint(text)
    return text


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint of a note's text; formatting it gives the text back. No extension lines are accepted.

    Raises:
        FormatError: CHECKPOINT-MALFORMED.
    """
    lines = text.split("\n")
    if len(lines) != 4 or lines[3]:
        raise FormatError("a checkpoint has three lines: origin, size, root", code="CHECKPOINT-MALFORMED")
    origin, size, root = lines[:3]
    if not _ORIGIN.fullmatch(origin):
        message = "a checkpoint's origin is 1 to 200 printable ASCII characters without space and plus"
        raise FormatError(message, code="CHECKPOINT-MALFORMED")
    if not re.fullmatch(r"0|[1-9][0-9]{0,15}", size) or int(size) > MAX_SIZE:
        raise FormatError("a checkpoint's size is a plain decimal number", code="CHECKPOINT-MALFORMED")
    raw = _unbase64(root, "a checkpoint's root", "CHECKPOINT-MALFORMED")
    if len(raw) != 32:
        raise FormatError(f"a checkpoint's root has 32 bytes, not {len(raw)}", code="CHECKPOINT-MALFORMED")
    return Checkpoint(origin, int(size), raw)


# --------------------------------------------------------------------------------------------------------- base64


def _base64(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).decode("ascii")


def _unbase64(text: str, what: str, code: str) -> bytes:
    """Decode standard base64, accepting only the one text that its bytes encode to."""
    try:
        raw = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raw = b""
    if not raw or _base64(raw) != text:
        raise FormatError(f"{what} is not canonical base64", code=code)
    return raw
