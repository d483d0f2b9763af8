# SPDX-License-Identifier: Apache-2.0
"""The files that cases name: found, read and pinned by the digest of their bytes.

A path is relative to the folder of the file that holds the cases, and stays inside the project. An address is fetched
once, by whoever loads the project and may use the network: the copy is kept in the project under the digest of the
address, and as long as it is there nobody is asked again. What a case keeps of a file is the digest of its bytes; where
they lie is remembered here, for the run that stores them with its content.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn
from urllib.parse import unquote, urlsplit

from trialplate.errors import FormatError, SpecError
from trialplate.record import canonical, values
from trialplate.record.values import CaseFile
from trialplate.spec.document import Document, named
from trialplate.spec.document import Path as Place
from trialplate.spec.media_types import (
    MEDIA_TYPE,
    SIGNATURE_BYTES,
    has_signature,
    normal_type,
    type_by_bytes,
    type_by_name,
)
from trialplate.spec.nearest import suggestion
from trialplate.spec.reading import read_inside
from trialplate.spec.traces import read_trace

__all__ = ["ACCESS", "FETCHED", "MAX_BYTES", "Access", "Beside", "CaseFiles", "Detail", "Fetch", "case_files"]
__all__ += ["read_blob"]

Access = Literal["native", "local"]
Detail = Literal["auto", "low", "medium", "high", "original"]
Fetch = Callable[[str, Path, int], None]
"""Puts what stands at an address, of at most so many bytes, into a new file."""

MAX_BYTES = 64 * 1024 * 1024
"""No model takes more in one request."""
MAX_FILES = 100
"""Files of one case."""
FETCHED = ".trialplate/fetched"
ACCESS: tuple[Access, ...] = ("native", "local")
_DETAILS: tuple[Detail, ...] = ("auto", "low", "medium", "high", "original")
_KEYS = frozenset({"name", "path", "url", "type", "digest", "access", "image_detail"})
_NAME = re.compile(values.CaseId.__metadata__[0].regex)  # type: ignore[attr-defined]
_DIGEST = re.compile(values.Digest.__metadata__[0].regex)  # type: ignore[attr-defined]
_FORM = "write files: [{name: picture, path: cat.png, type: image/png}]"


@dataclass(frozen=True)
class _Pinned:
    digest: str
    head: bytes
    """The first bytes, which may tell the type."""


@dataclass
class CaseFiles:
    """The files that the cases of a project name."""

    root: Path
    """The project's folder."""
    fetch: Fetch | None = None
    """None: nothing is fetched, and what was not fetched before cannot be used."""
    blobs: dict[str, str] = field(default_factory=dict)
    """Where their bytes lie, relative to the project's folder, by digest."""
    sizes: dict[str, int] = field(default_factory=dict)
    """How many these are, by digest."""
    doubts: list[str] = field(default_factory=list)
    """Warnings about what is probably not what it is said to be."""
    _known: dict[str, _Pinned] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """Return where each of them lies, relative to the project's folder."""
        return tuple(self._known)

    def local(self, beside: str, path: str, where: str) -> _Pinned:
        """Return what a file of the project holds.

        Args:
            beside: the file of cases, relative to the project's folder.
            path: as it is written there.
            where: the place that names it.

        Raises:
            SpecError: it leads out of the project, is not there, or is no regular file of a size that can be sent.
        """
        if not path or path.startswith(("/", "~")) or "\\" in path or "\0" in path or ":" in path.partition("/")[0]:
            hint = "write a path such as images/cat.png, relative to the file of cases; an address goes into url:"
            _refuse(where, "expected a path inside the project's folder", hint)
        name = posixpath.normpath(posixpath.join(posixpath.dirname(beside), path))
        if name.startswith("../"):
            _refuse(where, f"{path} leads out of the project's folder", "copy it into the project")
        return self._pinned(name, where, path)

    def remote(self, url: str, where: str) -> _Pinned:
        """Return what stands, or stood when it was fetched, at an address.

        Raises:
            SpecError: it is no plain http(s) address, it could not be fetched, or nothing may be fetched here.
        """
        parts = _checked(url, where)
        name = f"{FETCHED}/{canonical.digest(url.partition('#')[0].encode()).removeprefix('sha256:')}"
        shown = f"{parts.scheme}://{parts.netloc}{parts.path}"  # a query may hold a key
        if name not in self._known and not (self.root / name).exists():
            if self.fetch is None:
                _refuse(where, f"{shown} was not fetched yet", "`trialplate validate` fetches it")
            try:
                self.fetch(url.partition("#")[0], self.root / name, MAX_BYTES)
            except SpecError as error:
                raise SpecError(f"{shown}: {error.message}", where=where, hint=error.hint, code=error.code) from None
        return self._pinned(name, where)

    def _pinned(self, name: str, where: str, written: str | None = None) -> _Pinned:
        if name not in self._known:
            data = read_inside(self.root, name, where, MAX_BYTES, written)
            found = self._known[name] = _Pinned(canonical.digest(data), data[:SIGNATURE_BYTES])
            self.blobs.setdefault(found.digest, name)
            self.sizes[found.digest] = len(data)
        return self._known[name]


@dataclass(frozen=True)
class Beside:
    """What one file of cases says of files, and where their paths are relative to."""

    file: str
    """The file of cases, relative to the project's folder."""
    files: CaseFiles | None = None
    """None: no file can be read here, and cases name none."""
    access: tuple[Access, ...] = ACCESS
    """Of a file that does not say it."""
    image_detail: Detail | None = None

    def trace(self, path: str, where: str) -> str:
        """Return the digest of a recorded run that can be read.

        Raises:
            SpecError: TRACE: it cannot be, with the reason; as `CaseFiles.local`.
        """
        files = self.all(path, where)
        digest = files.local(self.file, path, where).digest
        try:
            read_trace(read_blob(files.root, files.blobs[digest], digest))
        except FormatError as error:
            raise SpecError(f"{path}: {error.message}", where=where, hint=error.hint, code="TRACE") from None
        return digest

    def all(self, named: str, where: str) -> CaseFiles:
        """Return what reads files, if anything does."""
        if self.files is None:
            _refuse(where, f"the file {named} of a case cannot be read here", "load the whole project")
        return self.files


def read_blob(root: Path, path: str, digest: str) -> bytes:
    """Return the bytes that a case names, if they still are what was pinned.

    Raises:
        SpecError: FILE-CHANGED; as `read_inside`.
    """
    data = read_inside(root, path, path, MAX_BYTES)
    if canonical.digest(data) != digest:
        hint = "leave it alone while a run begins, then run again"
        raise SpecError("changed while it was read", where=path, hint=hint, code="FILE-CHANGED")
    return data


# ---------------------------------------------------------------------------------------------- what a case says


def case_files(document: Document, beside: Beside) -> tuple[CaseFile, ...]:
    """Return the files of a case, each by its digest, in the order in which they are written.

    Args:
        document: the case by itself.
        beside: the file of cases that it stands in.

    Raises:
        SpecError: with the place, at the first that cannot be used.
    """
    found = document.value.get("files", [])
    if not isinstance(found, list):
        _refuse(document.where(("files",)), '"files" must be a list', _FORM)
    if len(found) > MAX_FILES:
        _refuse(document.where(("files",)), f"more than {MAX_FILES} files in one case", "split the case")
    made: list[CaseFile] = []
    for index, item in enumerate(found):
        file = _file(document, ("files", index), item, beside)
        if any(file.name == other.name for other in made):
            message = f'two files of the case are called "{file.name}"'
            _refuse(document.where(("files", index, "name")), message, "give each a name of its own")
        made.append(file)
    return tuple(made)


def _file(document: Document, path: Place, item: Any, beside: Beside) -> CaseFile:
    if not isinstance(item, dict):
        _refuse(document.where(path), f'"{named(path)}" must have name and path', _FORM)
    for name in item:
        if name not in _KEYS:
            _refuse(document.where((*path, name), key=True), f'unknown key "{name}"', suggestion(name, _KEYS))
    for name in ("name", "path", "url", "type", "digest", "image_detail"):
        if name in item and not isinstance(item[name], str):
            _refuse(document.where((*path, name)), f'"{name}" must be a text in {named(path)}', _FORM)
    if "name" not in item:
        _refuse(document.where(path), f'"name" is missing in {named(path)}', _FORM)
    if ("path" in item) == ("url" in item):
        wrong = '"path" and "url" both stand' if "path" in item else '"path" is missing'
        _refuse(document.where(path), f"{wrong} in {named(path)}", "write path: for a file of the project, or url:")
    if not _NAME.fullmatch(item["name"]) or item["name"] != item["name"].strip():
        message = "the name of a file has 1 to 128 characters, no control characters and no spaces at its ends"
        _refuse(document.where((*path, "name")), message, "rename it; it is what the file is called to a model")
    pinned = _pinned(document, path, item, beside)
    media_type = _type(document, path, item, pinned)
    _doubt(document, path, item, pinned, media_type, beside)
    return CaseFile(
        name=item["name"],
        type=media_type,
        digest=pinned.digest,
        access=_access(document, (*path, "access"), item, beside),
        image_detail=_detail(document, (*path, "image_detail"), item, beside, media_type),
    )


def _pinned(document: Document, path: Place, item: dict[str, Any], beside: Beside) -> _Pinned:
    """Read a file, and hold it against the digest that its author gives."""
    key = "path" if "path" in item else "url"
    where = document.where((*path, key))
    files = beside.all(item[key], where)
    pinned = files.local(beside.file, item[key], where) if key == "path" else files.remote(item[key], where)
    given = item.get("digest")
    if given is not None and not _DIGEST.fullmatch(given):
        _refuse(document.where((*path, "digest")), '"digest" is no digest', f"write digest: {pinned.digest}")
    if given is not None and given != pinned.digest:
        message = f"the bytes have another digest: {pinned.digest}"
        hint = "look at what changed; then write that digest"
        if key == "url":
            hint += f", or delete its copy in {FETCHED} to have it fetched again"
        _refuse(document.where((*path, "digest")), message, hint)
    return pinned


def _type(document: Document, path: Place, item: dict[str, Any], pinned: _Pinned) -> str:
    """Return the media type: as it is written, else by the extension, else by the first bytes."""
    example = "write type: image/png, application/pdf, text/plain"
    if "type" in item:
        given = normal_type(item["type"])
        if not re.fullmatch(MEDIA_TYPE, given):
            message = "expected a media type in lower case, without parameters"
            _refuse(document.where((*path, "type")), f'"type": {message}', example)
        return given
    name = item["path"] if "path" in item else unquote(urlsplit(item["url"]).path)
    found = type_by_name(name) or type_by_bytes(pinned.head)
    if found is None:
        message = f"neither the name nor the first bytes of {named(path)} say of what type it is"
        _refuse(document.where(path), message, example)
    return found


def _doubt(
    document: Document, path: Place, item: dict[str, Any], pinned: _Pinned, media_type: str, beside: Beside
) -> None:
    """Refuse a file without a byte, and note one that does not begin as files of its type do: a far end refuses it."""
    key = "path" if "path" in item else "url"
    where = document.where((*path, key))
    if not pinned.head:
        _refuse(where, f"{item[key]} is empty", "write it, or take it out")
    if has_signature(media_type) and type_by_bytes(pinned.head) != media_type:
        said = f"{where}: {item['name']} is sent as {media_type}, and does not begin as such a file does"
        beside.all(item[key], where).doubts.append(said)


def _access(document: Document, path: Place, item: dict[str, Any], beside: Beside) -> tuple[Access, ...]:
    """Return how models get at a file: its own list in the place of the default one."""
    if "access" not in item:
        return beside.access
    given = item["access"]
    example = "write access: [native], [local] or [native, local]"
    if not isinstance(given, list) or not given:
        what = "is empty: nothing could get at the file" if given == [] else "must be a list"
        _refuse(document.where(path), f'"access" {what}', example)
    for word in given:
        if word not in ACCESS:
            _refuse(document.where(path), f'"access": there is no "{word}"', example)
    return tuple(word for word in ACCESS if word in given)


def _detail(document: Document, path: Place, item: dict[str, Any], beside: Beside, media_type: str) -> Detail | None:
    """Return how closely an image is looked at, or the pages of a PDF; other files have nothing to look at."""
    looked_at = media_type.startswith("image/") or media_type == "application/pdf"
    if "image_detail" not in item:
        return beside.image_detail if looked_at else None
    found: Detail | None = next((word for word in _DETAILS if word == item["image_detail"]), None)
    if found is None:
        message = f'there is no image_detail "{item["image_detail"]}"'
        _refuse(document.where(path), message, f"write one of {', '.join(_DETAILS)}")
    if not looked_at:
        _refuse(document.where(path), f'"image_detail" says nothing about {media_type}', "take it out")
    return found


def _checked(url: str, where: str) -> Any:
    """Return the parts of an address that can be fetched."""
    try:
        parts = urlsplit(url)
        is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_plain = False
    if not is_plain or not url.isascii() or any(char <= " " for char in url):
        _refuse(where, "expected an http or https address", "write url: https://example.com/cat.png, percent-encoded")
    if parts.username is not None or parts.password is not None:
        _refuse(where, "the address holds a user or a password", "fetch it yourself, and name the copy by path:")
    return parts


def _refuse(where: str, message: str, hint: str) -> NoReturn:
    raise SpecError(message, where=where, hint=hint)
