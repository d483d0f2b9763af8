# SPDX-License-Identifier: Apache-2.0
"""What a provider's parameters may be, and how settings are held against them.

A parameter has the name that authors write (snake_case; where interfaces differ, the name by which MindTrial's users
know it) and a range; the provider's own file under `runners.providers` says which field of the request it becomes.
Ranges are those that the provider's documentation states. What it does not state is not bounded here: a newer model may
take more, and the provider's refusal is its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from trialplate.spec.nearest import nearest, suggestion

__all__ = ["DOCUMENTS", "IMAGES", "PENALTY", "SHARE", "TEXT_TYPES", "Choice", "Flag", "HostedProvider", "Json"]
__all__ += ["ACCEPTED_WORDS", "Number", "Objects", "Parameter", "ShapeMode", "Whole", "media_types", "wrong_settings"]

ShapeMode = Literal["native", "json_object", "text"]
IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
DOCUMENTS = frozenset({"application/pdf"})
TEXT_TYPES = frozenset({"text/plain", "text/csv", "text/html", "text/markdown", "application/json"})


class Parameter(Protocol):
    """What a setting may be."""

    def wrong(self, value: Any) -> str | None:
        """Say what is expected instead of a value, None if it will do."""
        ...


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a range, both ends included."""

    low: float = -math.inf
    high: float = math.inf

    def wrong(self, value: Any) -> str | None:
        """Say what is expected instead of a value, None if it will do."""
        if type(value) in (int, float) and math.isfinite(value) and self.low <= value <= self.high:
            return None
        return f"a number{_range(self.low, self.high)}"


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number in a range, both ends included."""

    low: float = -math.inf
    high: float = math.inf

    def wrong(self, value: Any) -> str | None:
        """Say what is expected instead of a value, None if it will do."""
        if type(value) is int and self.low <= value <= self.high:
            return None
        return f"a whole number{_range(self.low, self.high)}"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    def wrong(self, value: Any) -> str | None:
        """Say what is expected instead of a value, None if it will do."""
        return None if isinstance(value, str) and value in self.words else f"one of {', '.join(self.words)}"


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def wrong(self, value: Any) -> str | None:
        """Say what is expected instead of a value, None if it will do."""
        return None if isinstance(value, bool) else "true or false"


@dataclass(frozen=True, slots=True)
class Objects:
    """A list of objects, each of which has a text under this name."""

    name: str

    def wrong(self, value: Any) -> str | None:
        """Say what is expected instead of a value, None if it will do."""
        items = value if isinstance(value, list) else [None]
        if all(isinstance(item, dict) and isinstance(item.get(self.name), str) and item[self.name] for item in items):
            return None
        return f"a list of objects, each with {self.name}:"


@dataclass(frozen=True, slots=True)
class Json:
    """A value of a form of its own."""

    form: type | tuple[type, ...]
    words: str
    """What is expected, in words."""

    def wrong(self, value: Any) -> str | None:
        """Say what is expected instead of a value, None if it will do."""
        return None if isinstance(value, self.form) else self.words


SHARE = Number(0, 1)
PENALTY = Number(-2, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedProvider:
    """A provider's defaults, its parameters, and what it takes."""

    url: str | None
    """Base address; None: the author must give one."""
    key: str | None
    """The environment variable that holds the key, where the author names none."""
    parameters: Mapping[str, Parameter]
    reserved: Collection[str] = ("model", "messages", "stream_options", "n")
    """What the request sets itself, and no setting may."""
    passes: bool = False
    """A setting that is not among the parameters goes into the request as it is."""
    together: tuple[tuple[str, str], ...] = ()
    """Pairs of parameters of which only one may be given."""
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Settings that other models or providers take and this one does not: what is wrong with each, and what to do."""
    accepts: frozenset[str] = IMAGES
    """Media types of the files that may be sent in a request."""
    shape: ShapeMode = "native"
    """How a form of the answer is asked for, where the author does not say."""
    shapes: Collection[ShapeMode] = ("native", "json_object", "text")
    """The ways in which it can be asked for."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings that are sent where the author gives none."""
    families: tuple[tuple[tuple[str, ...], HostedProvider], ...] = ()
    """How model ids begin, and what holds for such a model instead; the first that fits counts."""
    further: Callable[[Mapping[str, Any]], Iterator[tuple[str, str, str]]] | None = None
    """What of settings does not go together, told as `wrong_settings` tells it."""


ACCEPTED_WORDS = ("text", "image", "document")
"""What an author may write for media types."""


def media_types(provider: HostedProvider, given: Collection[str]) -> tuple[str, ...]:
    """Return the media types that a list of types and words means, each once and in order.

    `text` stands for no file, `image` and `document` for what of these the provider is known to take; of one that is
    known to take none, for the usual ones.
    """
    images = frozenset(name for name in provider.accepts if name.startswith("image/"))
    words = {"text": frozenset(), "image": images or IMAGES, "document": provider.accepts - images or DOCUMENTS}
    return tuple(sorted({name for item in given for name in words.get(item, (item,))}))


def wrong_settings(provider: HostedProvider, settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each setting that cannot be sent: its name, what is wrong, and what to do."""
    for name, value in settings.items():
        if name in provider.refused:
            yield name, *provider.refused[name]
        elif name in provider.reserved:
            yield name, "is what the runner itself sends", "take it out"
        elif name in provider.parameters:
            expected = provider.parameters[name].wrong(value)
            if expected is not None:
                words = getattr(provider.parameters[name], "words", ())
                near = nearest(value, words) if isinstance(value, str) and isinstance(words, tuple) else None
                yield name, f"expected {expected}", f'did you mean "{near}"?' if near else "correct it, or leave it out"
        elif not provider.passes:
            yield name, "is no parameter of this provider", suggestion(name, [*provider.parameters])
    for one, other in provider.together:
        if one in settings and other in settings:
            yield other, f"stands beside {one}, and only one of them may", "take one out"
    if provider.further is not None:
        yield from provider.further(settings)


def _range(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return ""
    if math.isinf(high):
        return f" of at least {low:g}"
    return f" of at most {high:g}" if math.isinf(low) else f" from {low:g} to {high:g}"
