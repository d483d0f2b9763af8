# SPDX-License-Identifier: Apache-2.0
"""The media type of a file whose author gives none: by the extension, else by the bytes it begins with.

The table is this one and never the machine's, so that a case is the same everywhere; text types carry no charset. Types
are those that the IANA registry has for the extension, but for source code and wav, where it has none, or another than
providers use (OpenAI "File inputs", Gemini "Document understanding", "Audio understanding").
"""

from __future__ import annotations

import posixpath

__all__ = ["MEDIA_TYPE", "SIGNATURE_BYTES", "has_signature", "normal_type", "type_by_bytes", "type_by_name"]

MEDIA_TYPE = "[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}"
"""In lower case, without parameters."""
_OFFICE = "application/vnd.openxmlformats-officedocument"
_BY_EXTENSION = {
    "avif": "image/avif",
    "bmp": "image/bmp",
    "c": "text/x-c",
    "cpp": "text/x-c++",
    "css": "text/css",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
    "htm": "text/html",
    "html": "text/html",
    "java": "text/x-java",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": "application/json",
    "log": "text/plain",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "odt": "application/vnd.oasis.opendocument.text",
    "pdf": "application/pdf",
    "png": "image/png",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": f"{_OFFICE}.presentationml.presentation",
    "py": "text/x-python",
    "rtf": "application/rtf",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "tsv": "text/tab-separated-values",
    "txt": "text/plain",
    "wav": "audio/wav",
    "webp": "image/webp",
    "xls": "application/vnd.ms-excel",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
}
_SPELLINGS = {"image/jpg": "image/jpeg", "application/x-pdf": "application/pdf"}
_SIGNATURES = (
    (0, b"%PDF-", "application/pdf"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBPVP", "image/webp"),
)
"""Offset, bytes and type; WebP also begins with RIFF. Source: WHATWG MIME Sniffing, "image type pattern"."""
SIGNATURE_BYTES = 14
"""So many bytes tell."""


def normal_type(given: str) -> str:
    """Return one spelling of a media type that people write in two ways."""
    return _SPELLINGS.get(given, given)


def type_by_name(path: str) -> str | None:
    """Return the type that a path's extension stands for, in any case; None if the table has none."""
    return _BY_EXTENSION.get(posixpath.splitext(path)[1].removeprefix(".").lower())


def has_signature(media_type: str) -> bool:
    """Say whether all files of a type begin with bytes that are known here."""
    return any(found == media_type for _, _, found in _SIGNATURES)


def type_by_bytes(head: bytes) -> str | None:
    """Return the type of a file that begins with these bytes, if they are a signature.

    Args:
        head: the first `SIGNATURE_BYTES` or more.
    """
    for offset, signature, found in _SIGNATURES:
        if head.startswith(signature, offset) and (found != "image/webp" or head.startswith(b"RIFF")):
            return found
    return None
