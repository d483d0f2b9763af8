# SPDX-License-Identifier: Apache-2.0
"""What an author writes about models and scorers: one class per runner and per scorer type of this version.

A model's `settings` are sent as they are and stand in the public plan; documents, system prompts, scripted answers,
patterns and values become commitments. A secret is only ever the NAME of an environment variable.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from trialplate.spec.fields import (
    Author,
    AuthorSelector,
    EnvName,
    Exact,
    FilePath,
    Many,
    Milliseconds,
    Name,
    Short,
    Text,
)

__all__ = [
    "CommandModel",
    "ContainsScorer",
    "ExactScorer",
    "ModelEntry",
    "Normalize",
    "OpenAiCompatibleModel",
    "PricingEntry",
    "Profile",
    "ProviderEntry",
    "RegexScorer",
    "ScorerEntry",
    "Settings",
    "StandInModel",
]


_SECRET_WORDS = ("key", "token", "secret", "password", "signature", "sig", "code")


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        port_is_valid, parts = False, urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid:
        raise PydanticCustomError("url", "expected an address such as https://api.example.com/v1")
    if "@" in parts.netloc or parts.fragment:
        raise PydanticCustomError("url", "an address holds neither a user, a password nor a fragment: plans are public")
    if parts.path.rstrip("/").lower().endswith("/chat/completions"):
        raise PydanticCustomError("url", "expected the base address, to which /chat/completions is added")
    if any(word in name.lower() for name, _ in parse_qsl(parts.query) for word in _SECRET_WORDS):
        raise PydanticCustomError(
            "url", "a key in an address would be published with the plan; write secret: {env: NAME}"
        )
    return value


Url = Annotated[str, AfterValidator(_url), Field(max_length=1000)]


class Settings(Author):
    """What is sent with every question, verbatim; `documents` are files whose text stands before the question."""

    model_config = ConfigDict(extra="allow")

    documents: Many[FilePath] = ()

    def sent(self) -> dict[str, Any]:
        """Return the settings that go to the far end."""
        return dict(self.model_extra or {})


class Profile(Author):
    """A named overlay of settings."""

    settings: Settings | None = None


class Secret(Author):
    """Where the key is found."""

    env: EnvName


class PricingEntry(Author):
    """Prices per million tokens."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "USD"
    input: Exact
    output: Exact
    cache_read: Exact | None = None
    cache_write: Exact | None = None
    reasoning: Exact | None = None


def _form(value: Any) -> str:
    if isinstance(value, str):
        return "as a word"
    return "as a list" if isinstance(value, list) else "as a map"


def _pricing_form(value: Any) -> str:
    return "as a word" if isinstance(value, str) else "as a map"


Pricing = Annotated[
    Annotated[Literal["free"], Tag("as a word")] | Annotated[PricingEntry, Tag("as a map")],
    Discriminator(_pricing_form),
]


class Retry(Author):
    """Further attempts after a transient failure."""

    max_retries: Annotated[int, Field(ge=0, le=20)] = 2
    initial_delay_s: Milliseconds = Field(default="0.5", validate_default=True)
    max_delay_s: Milliseconds = Field(default="10", validate_default=True)


PerMinute = Annotated[int, Field(ge=1, le=10**12)]


class Limits(Author):
    """Bounds of one attempt, and of how fast attempts follow each other."""

    attempt_timeout_s: Annotated[Milliseconds, Field(gt=0)] = Field(default="120", validate_default=True)
    answer_bytes: Annotated[int, Field(ge=1, le=2**30)] = 8 * 1024 * 1024
    requests_per_minute: PerMinute | None = None
    tokens_per_minute: PerMinute | None = None


class ProviderEntry(Author):
    """What all models behind one account share."""

    requests_per_minute: PerMinute | None = None
    tokens_per_minute: PerMinute | None = None
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = None


class _Model(Author):
    """What every model entry may say."""

    pricing: Pricing | None = None
    retry: Retry = Retry()
    limits: Limits = Limits()
    provider: Short | None = None
    subject: Short | None = None
    role: Literal["candidate", "comparison"] = "candidate"


class OpenAiCompatibleModel(_Model):
    """A server that speaks the chat completions interface."""

    runner: Literal["openai-compatible"]
    url: Url
    model: Short
    secret: Secret | None = None
    system: Text | None = None
    settings: Settings = Settings()
    served: Many[Short] = ()


class CommandModel(_Model):
    """A program that reads the question and writes the answer."""

    runner: Literal["command"]
    argv: Annotated[Many[str], Field(min_length=1)] | None = None
    shell: Text | None = None
    secret: Secret | None = None
    env: Many[EnvName] = ()

    @model_validator(mode="after")
    def _one_way_to_start(self) -> CommandModel:
        if (self.argv is None) == (self.shell is None):
            raise PydanticCustomError("one_of", 'expected exactly one of "argv" and "shell"')
        if self.argv is not None and (not self.argv[0] or any("\0" in word for word in self.argv)):
            raise PydanticCustomError("argv", '"argv" begins with a program, and no word of it holds a NUL')
        return self


class StandInModel(_Model):
    """Scripted answers, for trying a plan out: no model is asked."""

    runner: Literal["stand-in"]
    answers: Annotated[
        Annotated[FilePath, Tag("as a word")]
        | Annotated[dict[str, Any], Tag("as a map")]
        | Annotated[list[Any], Tag("as a list")],
        Discriminator(_form),
    ]
    """A file, or the script itself; see `stand_in`."""


ModelEntry = Annotated[OpenAiCompatibleModel | CommandModel | StandInModel, Field(discriminator="runner")]


class _Scorer(Author):
    """What every scorer may say."""

    metric: Name | None = None
    cases: AuthorSelector = AuthorSelector()


class Normalize(Author):
    """What `exact` does to the answer and to each reference before it compares them."""

    case: Literal["keep", "fold"] = "keep"
    trim: Literal["outer", "lines", "none"] = "outer"
    whitespace: Literal["keep", "collapse", "remove"] = "keep"
    unicode: Literal["NFC", "NFKC", "keep"] = "NFC"
    punctuation: Literal["keep", "plain"] = "keep"


class ExactScorer(_Scorer):
    """The answer equals one of the references."""

    type: Literal["exact"]
    normalize: Normalize = Normalize()


class ContainsScorer(_Scorer):
    """The answer holds the value; without one, any of the references."""

    type: Literal["contains"]
    value: Text | None = None
    case_sensitive: bool = True


class RegexScorer(_Scorer):
    """The pattern is found in the answer."""

    type: Literal["regex"]
    pattern: Text
    flags: Many[Literal["ascii", "dotall", "ignorecase", "multiline", "verbose"]] = ()


ScorerEntry = Annotated[ExactScorer | ContainsScorer | RegexScorer, Field(discriminator="type")]
