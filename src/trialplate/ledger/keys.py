# SPDX-License-Identifier: Apache-2.0
"""The private half: a ledger's signing key and the secret of its salts, kept outside of every project.

One file per key, `<configuration folder>/keys/<name>.key`, readable by its owner alone:

    PRIVATE+KEY+<name>+<key id>+<base64>
    SECRET+<base64 of 32 random bytes>

The same two lines may stand in TRIALPLATE_KEY, or in the file that TRIALPLATE_KEY_FILE names; these come first, and
if one is set nothing else is tried. No error, representation or return value shows any of it but the public line.

What this module refuses to do: overwrite a key, read one that others may read, write one into a project.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trialplate.errors import FormatError, StorageError, UsageError
from trialplate.ledger.durable import create_private, storage
from trialplate.ledger.known import make_config_folder
from trialplate.record.note import Signer, format_private, parse_private, signer_from_seed
from trialplate.verify.known import config_folder

__all__ = ["LedgerKey", "keep_key", "key_names", "load_signer", "make_key", "new_key"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}")
_SECRET = "SECRET+"
_SECRET_BYTES = 32
_MAX_FILE = 4096


@dataclass(frozen=True, slots=True)
class LedgerKey:
    """What it takes to write a ledger: who signs, and the secret from which salts are made."""

    signer: Signer
    secret: bytes = field(repr=False)

    @property
    def line(self) -> str:
        """The public key line."""
        return self.signer.public.line


def new_key(name: str, folder: Path) -> str:
    """Make a key and keep it, and return the public line; see `make_key` and `keep_key`."""
    key = make_key(name)
    keep_key(key, folder)
    return key.line


def make_key(name: str) -> LedgerKey:
    """Make a key and a secret; nothing is written.

    Args:
        name: 1 to 64 letters, digits and ._:@- ; it stands in every signature.

    Raises:
        UsageError: the name cannot be used.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"a key cannot be called {name!r}", hint="use 1 to 64 letters, digits and ._:@- , such as your team's name"
        )
    return LedgerKey(signer_from_seed(name, secrets.token_bytes(32)), secrets.token_bytes(_SECRET_BYTES))


def keep_key(key: LedgerKey, folder: Path) -> None:
    """Keep a new key in the configuration folder, for the owner's eyes alone.

    Raises:
        UsageError: a key of that name is there; it is not touched.
        StorageError: it could not be written.
    """
    name = key.signer.name
    make_config_folder(folder)
    keys = folder / "keys"
    with storage(keys, "made"):
        keys.mkdir(mode=0o700, exist_ok=True)
    path = keys / f"{name}.key"
    try:
        create_private(path, _format(key).encode())
    except FileExistsError:
        hint = "use that key, or choose another name; an old key is needed for as long as its ledger is written"
        raise UsageError(f"there is a key {name} already", where=str(path), hint=hint) from None


def key_names(home: Path) -> list[str]:
    """Return the names of the keys that are kept in a configuration folder, sorted."""
    return sorted(path.stem for path in (home / "keys").glob("*.key"))


def load_signer(wanted: str, environ: Mapping[str, str]) -> LedgerKey:
    """Return the key of a public line or of a name.

    Args:
        wanted: the public line that a ledger's genesis names, or a key's name.
        environ: where TRIALPLATE_KEY, TRIALPLATE_KEY_FILE and the configuration folder are looked up.

    Raises:
        UsageError: there is no such key, it is another one, others may read it, or it is no key file.
    """
    name, is_line, _ = wanted.partition("+")
    if environ.get("TRIALPLATE_KEY"):
        place, key = "TRIALPLATE_KEY", _parse(environ["TRIALPLATE_KEY"], "TRIALPLATE_KEY")
    elif environ.get("TRIALPLATE_KEY_FILE"):
        place = environ["TRIALPLATE_KEY_FILE"]
        key = _parse(_read_private(Path(place), name), place)
    else:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no key's name", hint="give the name of a key in your configuration folder")
        path = config_folder(environ) / "keys" / f"{name}.key"
        place, key = str(path), _parse(_read_private(path, name), str(path))
    if (key.line if is_line else key.signer.name) != wanted:
        raise UsageError(
            f"this is the key {key.line}; needed is {wanted}",
            where=place,
            hint="put the needed key there, or unset TRIALPLATE_KEY and TRIALPLATE_KEY_FILE",
        )
    return key


def _format(key: LedgerKey) -> str:
    return f"{format_private(key.signer)}\n{_SECRET}{base64.b64encode(key.secret).decode('ascii')}\n"


def _parse(text: str, where: str) -> LedgerKey:
    """Read the two lines. Causes are left out of the error: they could hold what is secret."""
    lines = text.strip().split("\n")
    hint = "restore the key file; it has a private line and a secret line, as `trialplate keys new` writes them"
    if len(lines) != 2 or not lines[1].startswith(_SECRET):
        raise UsageError("this is no key of trialplate: two lines are needed", where=where, hint=hint)
    try:
        signer = parse_private(lines[0].strip())
        secret = base64.b64decode(lines[1].strip().removeprefix(_SECRET), validate=True)
    except FormatError as error:
        raise UsageError(f"this key cannot be used: {error.message}", where=where, hint=hint) from None
    except (binascii.Error, ValueError):
        secret = b""
    if len(secret) != _SECRET_BYTES:
        raise UsageError("the secret line of this key is damaged", where=where, hint=hint)
    return LedgerKey(signer, secret)


def _read_private(path: Path, name: str) -> str:
    """Read a key file that nobody else may read."""
    try:
        with storage(path, "read"), path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = file.read(_MAX_FILE)
    except StorageError as error:
        raise UsageError(
            f"the private key {name} {error.message}",
            where=str(path),
            hint="set TRIALPLATE_KEY or TRIALPLATE_KEY_FILE, or copy the key file from where the ledger was made",
        ) from None
    if os.name != "nt" and stat.S_IMODE(mode) & 0o077:
        message = f"others may read this private key (mode {stat.S_IMODE(mode):04o})"
        raise UsageError(message, where=str(path), hint=f"chmod 600 {path}, and ask who has read it")
    return raw.decode("utf-8", "replace")
