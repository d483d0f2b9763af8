# SPDX-License-Identifier: Apache-2.0
"""What an author writes about models: one class per runner of this version. Scorers: see `scorer_entries`.

A model's `settings` are sent as they are and stand in the public plan; documents, system prompts and scripted answers
become commitments. A secret is only ever the NAME of an environment variable.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from trialplate.rules.cells import CALLING_RUNNERS
from trialplate.spec.fields import (
    Author,
    EnvName,
    FilePath,
    Many,
    Milliseconds,
    Name,
    Short,
    Text,
    added_name,
    check_path,
    refused,
)
from trialplate.spec.media_types import MEDIA_TYPE, normal_type
from trialplate.spec.nearest import nearest
from trialplate.spec.pricing import PricingForm
from trialplate.spec.providers import HostedRunnerName, provider_of
from trialplate.spec.providers.base import ACCEPTED_WORDS
from trialplate.spec.request_entries import HeaderName, RequestEntry, ResponseEntry, check_address

__all__ = [
    "RECORDED_RUNNERS",
    "Command",
    "CommandModel",
    "Function",
    "HelperEntry",
    "HostedModel",
    "HttpModel",
    "ModelEntry",
    "PluginModel",
    "Profile",
    "ProviderEntry",
    "PythonModel",
    "Settings",
    "StandInModel",
    "TextModel",
    "TraceModel",
]


RECORDED_RUNNERS = CALLING_RUNNERS | {"command"}
"""Runners whose exchanges can be recorded and replayed."""
EMBEDDING_RUNNERS = ("openai", "openai-compatible")
"""Runners that can ask for embeddings."""


def _accepted(value: str) -> str:
    """Check a media type, or a word for some."""
    value = normal_type(value)
    if value not in ACCEPTED_WORDS and not re.fullmatch(MEDIA_TYPE, value):
        near = nearest(value, ACCEPTED_WORDS)
        words = "expected text, image, document or a media type such as image/tiff, in lower case"
        raise refused(words, f'did you mean "{near}"?' if near else "write one of these")
    return value


def _url(value: str) -> str:
    check_address(value)
    path = urlsplit(value).path.rstrip("/").lower()
    for added in ("/chat/completions", "/messages", "/embeddings"):
        if path.endswith(added):
            raise PydanticCustomError("url", f"expected the base address, to which {added} is added: leave that out")
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


class SentSecret(Secret):
    """Where the key is found, and in which header it goes."""

    header: HeaderName = "authorization"
    prefix: Annotated[str, StringConstraints(pattern=r"^[ -~]{0,100}$")] | None = None
    """Before the key: `Bearer ` in `authorization`, nothing in another header, unless it is written."""


def _form(value: Any) -> str:
    if isinstance(value, str):
        return "as a word"
    return "as a list" if isinstance(value, list) else "as a map"


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
    pricing: PricingForm | None = None


class AnswerEntry(Author):
    """What of an answer is scored."""

    reasoning: Literal["keep", "strip"] = "keep"


class _Model(Author):
    """What every model entry may say."""

    pricing: PricingForm | None = None
    retry: Retry = Retry()
    limits: Limits = Limits()
    provider: Short | None = None
    subject: Short | None = None
    role: Literal["candidate", "comparison"] = "candidate"
    answer: AnswerEntry = AnswerEntry()


def _callable(value: str) -> str:
    file, _, function = value.rpartition(":")
    if not file.endswith(".py") or not function.isidentifier():
        raise PydanticCustomError("callable", "expected a file and a function of it, such as my_system.py:answer")
    check_path(file)
    return value


class TextModel(_Model):
    """A model that takes settings and documents."""

    settings: Settings = Settings()


class HostedModel(TextModel):
    """A model that a provider hosts, or any server that speaks one of their interfaces; see `spec.providers`."""

    runner: HostedRunnerName
    url: Url | None = None
    """The base address; the provider's own, if it is not written."""
    model: Short
    secret: Secret | None = None
    """The provider's own variable, if it is not written."""
    system: Text | None = None
    served: Many[Short] = ()
    structured: Literal["native", "json_object", "text", False] | None = None
    accepts: Annotated[Many[Annotated[str, AfterValidator(_accepted)]], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _has_an_address(self) -> HostedModel:
        if self.url is None and provider_of(self.runner).url is None:
            message = 'the key "url" is missing: this runner has no address of its own'
            raise refused(message, "add url: with the base address, such as http://127.0.0.1:8080/v1")
        return self


class HelperEntry(HostedModel):
    """A model that scorers ask: a judge, or with `endpoint: embeddings` an embedder."""

    endpoint: Literal["chat", "embeddings"] = "chat"

    @model_validator(mode="after")
    def _is_no_candidate(self) -> HelperEntry:
        given = [key for key in ("role", "accepts", "subject") if key in self.model_fields_set]
        if given:
            raise refused("is said of models, and this one only serves scorers", "take it out", given[0])
        if self.settings.documents:
            message = "documents of a judge stand under its scorer"
            raise refused(message, "move documents: to the scorer", "settings")
        return self

    @model_validator(mode="after")
    def _can_embed(self) -> HelperEntry:
        if self.endpoint == "embeddings":
            if self.runner not in EMBEDDING_RUNNERS:
                message = f"embeddings are asked by the runners {' and '.join(EMBEDDING_RUNNERS)} alone"
                raise refused(message, "write runner: openai-compatible with the url of the server", "endpoint")
            given = [key for key in ("system", "structured", "answer") if key in self.model_fields_set]
            if given:
                raise refused("says nothing to an embedder", "take it out", given[0])
        return self


class HttpModel(_Model):
    """A service of your own behind HTTP."""

    runner: Literal["http"]
    request: RequestEntry
    response: ResponseEntry = ResponseEntry()
    secret: SentSecret | None = None
    subject: Short

    @model_validator(mode="after")
    def _one_place_for_the_key(self) -> HttpModel:
        if self.secret is not None and self.secret.header in self.request.headers:
            raise PydanticCustomError(
                "auth_twice",
                "the header that carries the key stands under request: headers: too",
            )
        return self


class Function(Author):
    """A function of a file of the project, and what of the environment it sees."""

    callable: Annotated[str, AfterValidator(_callable)]
    env: Many[EnvName] = ()

    @property
    def file(self) -> str:
        """Return the file's path."""
        return self.callable.rpartition(":")[0]

    @property
    def function(self) -> str:
        """Return the function's name."""
        return self.callable.rpartition(":")[2]


class PythonModel(TextModel, Function):
    """A function of your own."""

    runner: Literal["python"]
    model: Short | None = None
    """What the function gets as its first argument; the model's name, if it is not written."""
    secret: Secret | None = None


class Command(Author):
    """How a program is started, and what of the environment it sees."""

    argv: Annotated[Many[str], Field(min_length=1)] | None = None
    shell: Text | None = None
    env: Many[EnvName] = ()

    @model_validator(mode="after")
    def _one_way_to_start(self) -> Self:
        if (self.argv is None) == (self.shell is None):
            hint = (
                "keep argv: or shell:"
                if self.argv is not None
                else "add argv: [python3, bot.py], or shell: with a line"
            )
            raise refused('expected exactly one of "argv" and "shell"', hint, "shell")
        if self.argv is not None and (not self.argv[0] or any("\0" in word for word in self.argv)):
            message = "begins with a program, and no word of it holds a NUL"
            raise refused(message, "write argv: [python3, bot.py]", "argv")
        return self


class CommandModel(_Model, Command):
    """A program that reads the question and writes the answer."""

    runner: Literal["command"]
    secret: Secret | None = None


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


class TraceModel(_Model):
    """Agent runs that were recorded elsewhere: each case brings its own, and nobody is asked."""

    runner: Literal["trace"]


_BuiltIn = HostedModel | HttpModel | CommandModel | PythonModel | StandInModel | TraceModel
_RUNNERS = tuple(name for entry in get_args(_BuiltIn) for name in get_args(entry.model_fields["runner"].annotation))


class PluginModel(TextModel):
    """A model whose runner an installed package adds, or an object of the Python program that runs the plan."""

    runner: Annotated[Name, Field(json_schema_extra={"not": {"enum": list(_RUNNERS)}})]
    model: Short | None = None
    """What the runner is told to ask for; the model's name, if it is not written."""
    system: Text | None = None
    secret: Secret | None = None
    served: Many[Short] = ()

    @model_validator(mode="before")
    @classmethod
    def _is_there(cls, value: Any, info: ValidationInfo) -> Any:
        added_name(value, info, "runner", _RUNNERS)
        return value


def _whose(value: Any) -> str:
    """Say whose a model's runner is; without one, and for what is no name, the built-in ones tell what is wrong."""
    runner = value.get("runner") if isinstance(value, dict) else getattr(value, "runner", None)
    return "added" if isinstance(runner, str) and runner not in _RUNNERS else "built in"


ModelEntry = Annotated[
    Annotated[Annotated[_BuiltIn, Field(discriminator="runner")], Tag("built in")]
    | Annotated[PluginModel, Tag("added")],
    Discriminator(_whose),
]
