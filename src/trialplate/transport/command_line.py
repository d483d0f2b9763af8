# SPDX-License-Identifier: Apache-2.0
"""What a command's settings mean: `argv` or `shell`, and the names of the variables that it may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from trialplate.errors import SpecError

__all__ = ["command_argv"]


def command_argv(settings: Mapping[str, Any], where: str) -> list[str]:
    """Return the argv that a command's settings mean.

    Args:
        settings: with `argv` (a list; no shell reads it) or `shell` (one line for `sh -c`), and perhaps `env`.
        where: the place in the plan, for error texts.

    Raises:
        SpecError: COMMAND: not exactly one of `argv` and `shell`, or not of the right form.
    """
    if not _are_texts(settings.get("env", [])):
        hint = "write env: [NAME, OTHER_NAME]"
        raise SpecError("env is no list of variable names", where=where, hint=hint, code="COMMAND")
    argv, shell = settings.get("argv"), settings.get("shell")
    if (argv is None) == (shell is None):
        message = "a command needs either argv or shell"
        raise SpecError(message, where=where, hint="write argv: [program, argument]", code="COMMAND")
    name, words = ("argv", argv) if shell is None else ("shell", [shell])
    if not _are_texts(words) or not words or not words[0].strip():
        hint = "write argv: [program, argument], or shell: with one line"
        raise SpecError(f"{name} names no program to run", where=where, hint=hint, code="COMMAND")
    return list(words) if shell is None else ["sh", "-c", words[0]]


def _are_texts(value: Any) -> TypeGuard[Sequence[str]]:
    return isinstance(value, list | tuple) and all(isinstance(item, str) and "\0" not in item for item in value)
