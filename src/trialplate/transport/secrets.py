# SPDX-License-Identifier: Apache-2.0
"""Secrets: taken from the environment by name, and kept out of everything that is kept.

A plan names an environment variable, never a value. `Secrets.resolve` reads it and remembers it; `Secrets.scrub`
replaces it, and the forms in which it turns up (URL-encoded, JSON-escaped), in any text that will be stored or shown.
Out of scope, and said so: other encodings such as base64, parts of a secret, and values shorter than `SHORTEST`
characters, which are placeholders ("none", "test") whose replacement would garble ordinary answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from trialplate.errors import SpecError

__all__ = ["REPLACEMENT", "SHORTEST", "Secrets", "named_as_secret"]

REPLACEMENT = "[secret]"
SHORTEST = 8
"""Characters below which a value is not replaced in texts."""
_NAMED = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


def named_as_secret(names: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """Return the values of those variables whose name says that they are secret.

    A program that may see such a variable may print it, and no plan has to call it a secret a second time.
    """
    return [environ[name] for name in names if name in environ and _NAMED.search(name)]


class Secrets:
    """The secret values that this process knows."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._escaped: re.Pattern[str] | None = None
        """The same where any character may be written as JSON's escape: slower, and looked for where there are some."""

    def resolve(self, name: str, environ: Mapping[str, str], *, where: str = "") -> str:
        """Return the value of the variable `name`, without outer white space, and remember it.

        Raises:
            SpecError: "SECRET": it is not set, empty, or holds what no header may hold.
        """
        value = environ.get(name, "").strip()
        hint = f"export {name}=... in the shell that starts the run; it is never stored"
        if not value:
            raise SpecError(f"the environment variable {name} is not set", where=where, hint=hint, code="SECRET")
        if not (value.isascii() and value.isprintable()):
            message = f"the environment variable {name} holds a character that no HTTP header may hold"
            raise SpecError(message, where=where, hint=hint, code="SECRET")
        self.remember([value])
        return value

    def remember(self, values: Iterable[str]) -> None:
        """Replace these values too from now on."""
        self._values.update(value for value in values if len(value) >= SHORTEST)
        # Longest first: a secret may begin with another one.
        ordered = sorted(self._values, key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join(map(_pattern_of, ordered))) if ordered else None
        escaped = ("".join(map(_forms_of, value)) for value in ordered)
        self._escaped = re.compile("|".join(escaped)) if ordered else None

    @property
    def none(self) -> bool:
        """Whether no secret is known, so that no text can hold one."""
        return self._pattern is None

    def scrub(self, text: str) -> str:
        """Return the text with every known secret replaced."""
        if self._pattern is None or self._escaped is None:
            return text
        text = self._pattern.sub(REPLACEMENT, text)
        return self._escaped.sub(REPLACEMENT, text) if "\\u" in text else text


def _pattern_of(value: str) -> str:
    """Return a pattern for every way in which encoders write a value in URLs, JSON and Python texts.

    They differ in which characters they escape, so each that may be escaped is matched in any of its forms.
    """
    return "".join(re.escape(char) if char.isalnum() else _forms_of(char) for char in value)


def _forms_of(char: str) -> str:
    forms = [rf"\\{{1,8}}u(?i:{ord(char):04x})", f"%(?i:{ord(char):02x})"]  # JSON in JSON doubles the backslash
    if char in '/\\"':
        forms.append(re.escape("\\" + char))
    if char == " ":
        forms.append(r"\+")
    return f"(?:{'|'.join([*forms, re.escape(char)])})"  # the plain one last: a percent sign begins its own code
