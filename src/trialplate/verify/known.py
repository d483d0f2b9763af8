# SPDX-License-Identifier: Apache-2.0
"""What this user has seen of each log before: `known.json` in the configuration folder, outside of every project.

For each log's origin it holds the trusted key, the digest of the genesis entry and the newest checkpoint that was
signed or verified here. A log that does not extend that checkpoint was rolled back or forked.

    {"format":"trialplate-known/1","logs":{"<origin>":{"checkpoint":"<note>","genesis":"sha256:...","key":"<line>"}}}

What this module refuses to do: write that file (`ledger.known` does), or take trust from the project being verified.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from trialplate.errors import FormatError, UsageError, VerificationError
from trialplate.record import canonical
from trialplate.record.frozen import Json, Value
from trialplate.record.note import PublicKey, parse_key
from trialplate.verify.log_file import read_small

__all__ = ["FILE_NAME", "FORMAT", "Known", "config_folder", "read_known"]

FILE_NAME = "known.json"
FORMAT = "trialplate-known/1"
MAX_FILE = 16 * 1024 * 1024

_DIGEST = r"sha256:[0-9a-f]{64}"


class Known(Value, kw_only=False):
    """A log as this user last saw it."""

    key: PublicKey
    genesis: str
    """Digest of the first entry's line."""
    checkpoint: bytes
    """The newest note that was signed or verified here; whoever uses it checks its signature."""


def config_folder(environ: Mapping[str, str]) -> Path:
    """Return the user's configuration folder: TRIALPLATE_HOME, else trialplate in XDG_CONFIG_HOME or ~/.config."""
    own = environ.get("TRIALPLATE_HOME")
    if own:
        if not Path(own).is_absolute():
            hint = "give an absolute path: keys and known checkpoints would be elsewhere in every folder"
            raise UsageError("this is a relative path", where=f"TRIALPLATE_HOME={own}", hint=hint)
        return Path(own)
    base = environ.get("XDG_CONFIG_HOME", "")
    if not Path(base).is_absolute():  # the XDG specification: a relative path is ignored
        base = str(Path(environ.get("HOME") or Path.home()) / ".config")
    return Path(base) / "trialplate"


def read_known(folder: Path) -> dict[str, Known]:
    """Return what is known, by origin; nothing if there is no file yet.

    Raises:
        FormatError: KNOWN, if the file cannot be read or is not of this format. Ignoring it would hide a rollback.
    """
    path = folder / FILE_NAME
    if not path.exists():
        return {}
    try:
        raw = read_small(path, "it", MAX_FILE)
    except (FormatError, VerificationError) as error:
        raise _broken(path, f"cannot be used: {error.message}") from error
    try:
        value = canonical.parse(raw, limit=MAX_FILE)
    except FormatError as error:
        raise _broken(path, f"cannot be used: {error.message}") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _broken(path, f"is not of the format {FORMAT}")
    logs = value.get("logs")
    if set(value) != {"format", "logs"} or not isinstance(logs, dict):
        raise _broken(path, 'has other fields than "format" and "logs"')
    return {origin: _read_one(path, origin, item) for origin, item in logs.items()}


def _read_one(path: Path, origin: str, item: Json) -> Known:
    fields = {"checkpoint", "genesis", "key"}
    if not isinstance(item, dict) or set(item) != fields or not all(isinstance(text, str) for text in item.values()):
        raise _broken(path, f"has an entry for {origin} without its key, genesis and checkpoint")
    if not re.fullmatch(_DIGEST, item["genesis"]):
        raise _broken(path, f"names a genesis of {origin} that is no sha256 digest")
    try:
        return Known(parse_key(item["key"]), item["genesis"], item["checkpoint"].encode())
    except FormatError as error:
        raise _broken(path, f"names a key of {origin} that cannot be read: {error.message}") from error


def _broken(path: Path, message: str) -> FormatError:
    hint = "restore the file; moved away, rollbacks before today go unseen, and no log is trusted until you say so"
    return FormatError(f"the file of known checkpoints {message}", where=str(path), hint=hint, code="KNOWN")
