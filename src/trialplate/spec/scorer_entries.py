# SPDX-License-Identifier: Apache-2.0
"""What an author writes about scorers: one class per scorer type of this version.

Patterns, values and schemas become commitments; every other setting stands in the public plan.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, model_validator
from pydantic_core import PydanticCustomError

from trialplate.spec.choices import OPTIONS
from trialplate.spec.entries import Command, Function
from trialplate.spec.fields import (
    Author,
    AuthorSelector,
    Exact,
    FilePath,
    Many,
    Milliseconds,
    Name,
    Share,
    Text,
)
from trialplate.spec.judge_words import FULLY, VERDICTS, word_key
from trialplate.spec.nearest import suggestion
from trialplate.spec.trajectory_entries import TrajectoryRule

__all__ = [
    "AnyScorer",
    "BuiltInScorer",
    "ChoiceScorer",
    "CommandScorer",
    "ContainsScorer",
    "ExactScorer",
    "JsonSchemaScorer",
    "JsonSubsetScorer",
    "JudgeScorer",
    "LabelScorer",
    "Normalize",
    "NumericScorer",
    "PythonScorer",
    "RegexScorer",
    "ScoringCode",
    "SimilarityScorer",
    "TrajectoryScorer",
    "ValueScorer",
]


class AnyScorer(Author):
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


class ExactScorer(AnyScorer):
    """The answer equals one of the references."""

    type: Literal["exact"]
    normalize: Normalize = Normalize()


class ContainsScorer(AnyScorer):
    """The answer holds the value; without one, any of the references."""

    type: Literal["contains"]
    value: Text | None = None
    case_sensitive: bool = True


class RegexScorer(AnyScorer):
    """The pattern is found in the answer."""

    type: Literal["regex"]
    pattern: Text
    flags: Many[Literal["ascii", "dotall", "ignorecase", "multiline", "verbose"]] = ()


class Separators(Author):
    """How numbers are written."""

    thousands: Annotated[str, StringConstraints(pattern="^(?:[,.'_\u2019\u00a0\u202f\u2009]?)$")] = ""
    decimal: Literal[".", ","] = "."

    @model_validator(mode="after")
    def _two_characters(self) -> Self:
        if self.thousands == self.decimal:
            raise PydanticCustomError("separators", "thousands and decimal are the same character")
        return self


def _unit(value: str) -> str:
    if not value.strip() or any(char.isdigit() or char.isspace() for char in value) or value in "+-.,":
        raise PydanticCustomError("unit", "expected a unit without digits and blanks, such as km")
    return value


def _marker(value: str) -> str:
    if not value.strip() or "\n" in value:
        raise PydanticCustomError("marker", "expected a marker that is not blank and stands on one line")
    return value


class NumericScorer(AnyScorer):
    """The answer is one of the accepted numbers; see `numbers` for how one is read."""

    type: Literal["numeric"]
    find: Literal["whole", "first", "last"] = "whole"
    after: Annotated[str, AfterValidator(_marker), Field(max_length=100)] | None = None
    which: Literal["first", "last"] | None = None
    tolerance: Exact = Field(default="0", validate_default=True)
    relative: Share = Field(default="0", validate_default=True)
    separators: Separators = Separators()
    percent: Literal["refuse", "keep", "divide"] = "refuse"
    units: Many[Annotated[str, AfterValidator(_unit), Field(max_length=32)]] = ()

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.after is not None and "find" in self.model_fields_set:
            raise PydanticCustomError("one_of", 'expected one of "find" and "after"')
        if (self.after is None) != (self.which is None):
            message = '"after" needs "which": first or last occurrence of the marker, and "which" needs "after"'
            raise PydanticCustomError("which", message)
        return self


def _option(value: str) -> str:
    if value.upper() not in OPTIONS | set("0123456789"):
        raise PydanticCustomError("option", "expected a letter or a digit")
    return value.upper()


class ChoiceScorer(AnyScorer):
    """The answer names the right choices."""

    type: Literal["choice"]
    after: Annotated[str, AfterValidator(_marker), Field(max_length=100)] = "ANSWER:"
    options: Many[Annotated[str, AfterValidator(_option)]] = tuple(sorted(OPTIONS))

    @model_validator(mode="after")
    def _a_choice(self) -> Self:
        if len(set(self.options)) < 2:
            raise PydanticCustomError("options", "expected at least two different options")
        return self


Parse = Literal["strict", "fenced", "embedded"]


class JsonSchemaScorer(AnyScorer):
    """The answer is JSON that meets a schema."""

    type: Literal["json-schema"]
    schema_: Annotated[
        Annotated[FilePath, Tag("as a word")] | Annotated[dict[str, Any], Tag("as a map")],
        Discriminator(lambda value: "as a word" if isinstance(value, str) else "as a map"),
    ] = Field(alias="schema")
    """A file, or the schema itself."""
    parse: Parse = "strict"


class JsonSubsetScorer(AnyScorer):
    """The answer is JSON that holds a reference."""

    type: Literal["json-subset"]
    parse: Parse = "strict"


class ValueScorer(AnyScorer):
    """The answer is a reference, both in canonical form; see `scorers.value`."""

    type: Literal["value"]
    case_sensitive: bool = False
    ignore_whitespace: bool = False
    trim_lines: bool = False
    parse: Parse = "strict"

    @model_validator(mode="after")
    def _lines_left(self) -> Self:
        if self.trim_lines and self.ignore_whitespace:
            message = "ignore_whitespace leaves no lines to trim: keep one of the two"
            raise PydanticCustomError("one_of", message)
        return self


class LabelScorer(AnyScorer):
    """The answer is the case's label."""

    type: Literal["label"]
    labels: Literal["reference"] = "reference"
    trim: bool = True


class TrajectoryScorer(AnyScorer):
    """The tools that were called keep rules; see `trajectories`."""

    type: Literal["trajectory"]
    rules: Annotated[Many[TrajectoryRule], Field(min_length=1)]


_OF_MODE = {
    "verdicts": ("verdicts", "metrics", "pass_when"),
    "score": ("scale", "threshold", "forms"),
    "schema": ("verdict_format", "passing_verdicts"),
}
"""Keys of a judge that belong to one of its modes."""
Word = Annotated[str, StringConstraints(pattern=r"^[!-~](?:[ -~]{0,62}[!-~])?$")]


def _form(value: Any) -> str:
    return "as a word" if isinstance(value, str) else "as a list" if isinstance(value, list) else "as a map"


class JudgeScorer(AnyScorer):
    """Another model grades the answer."""

    type: Literal["judge"]
    model: Name
    """The helper that is asked."""
    mode: Literal["verdicts", "score", "schema"] = "verdicts"
    rules: FilePath | None = None
    """A file whose text stands in the place of the built-in rules."""
    template: FilePath | None = None
    """A file with the whole prompt."""
    documents: Many[FilePath] = ()
    parse: Parse = "fenced"
    strict_judge: bool = False
    """A judge that is a candidate too, or of its family, is an error."""
    verdicts: Annotated[dict[Word, Share], Field(min_length=2)] = Field(default_factory=lambda: dict(VERDICTS))
    """Each word with its weight."""
    metrics: Many[Name] = ()
    pass_when: Annotated[dict[Name, bool | Share], Field(min_length=1)] | None = None
    """The least that metrics must be for the trial to pass."""
    scale: Annotated[Many[Exact], Field(min_length=2, max_length=2)] = ("0", "1")
    threshold: Exact | None = None
    """On the scale: this, and more, passes."""
    forms: Many[Literal["fraction", "labelled"]] = ()
    verdict_format: (
        Annotated[
            Annotated[FilePath, Tag("as a word")] | Annotated[dict[str, Any], Tag("as a map")], Discriminator(_form)
        ]
        | None
    ) = None
    """JSON Schema of a verdict: a file, or the schema itself."""
    passing_verdicts: (
        Annotated[
            Annotated[list[Any], Tag("as a list")] | Annotated[dict[str, Any], Tag("as a map")], Discriminator(_form)
        ]
        | None
    ) = None
    """The values that pass, or one JSON Schema (a map with $schema) that a passing one meets."""

    @model_validator(mode="after")
    def _one_mode(self) -> Self:
        for mode, keys in _OF_MODE.items():
            given = next((key for key in keys if key in self.model_fields_set and mode != self.mode), None)
            if given is not None:
                raise PydanticCustomError(
                    "mode", f'"{given}" belongs to mode: {mode}, and the mode here is {self.mode}'
                )
        return self

    @model_validator(mode="after")
    def _words_with_weights(self) -> Self:
        if self.metric is not None and self.metrics:
            raise PydanticCustomError("one_of", 'expected one of "metric" and "metrics"')
        if len({word_key(word) for word in self.verdicts}) < len(self.verdicts):
            raise PydanticCustomError("verdicts", "two verdicts are the same word but for case")
        if len(set(self.metrics)) < len(self.metrics):
            raise PydanticCustomError("metrics", "a metric is listed twice")
        if self.metrics and FULLY + self.metrics[0] == self.metrics[0]:
            raise PydanticCustomError("metrics", "the first metric is the weight of the verdict")
        return self

    @model_validator(mode="after")
    def _scores_on_a_scale(self) -> Self:
        if self.mode != "score":
            return self
        low, high = (Decimal(end) for end in self.scale)
        if low >= high:
            raise PydanticCustomError("scale", '"scale" is its lowest and its highest score, such as [0, 10]')
        if self.threshold is None:
            raise PydanticCustomError("threshold", '"threshold" is missing: the score from which on a trial passes')
        if not low < Decimal(self.threshold) <= high:
            message = (
                f"the threshold {self.threshold} is not on the scale above {self.scale[0]} and up to {self.scale[1]}"
            )
            raise PydanticCustomError("threshold", message)
        if "fraction" in self.forms and low != 0:
            raise PydanticCustomError("forms", "fraction is a form of scales that begin at 0")
        return self

    @model_validator(mode="after")
    def _a_pair(self) -> Self:
        if (self.verdict_format is None) != (self.passing_verdicts is None):
            raise PydanticCustomError("pair", '"verdict_format" and "passing_verdicts" stand together or not at all')
        if isinstance(self.passing_verdicts, dict) and "$schema" not in self.passing_verdicts:
            message = '"passing_verdicts" is a list of values, or one JSON Schema that says so by its $schema'
            raise PydanticCustomError("pair", message)
        if self.passing_verdicts == []:
            raise PydanticCustomError("pair", '"passing_verdicts" is empty: nothing could pass')
        return self

    def texts(self) -> list[tuple[str, str]]:
        """Return the files of its texts, each with its key, the documents excepted."""
        return [(key, file) for key, file in (("rules", self.rules), ("template", self.template)) if file is not None]

    def schemas(self) -> list[tuple[str, str | dict[str, Any]]]:
        """Return its JSON Schemas, each with its key: a file, or the schema itself."""
        found: list[tuple[str, str | dict[str, Any]]] = []
        if self.verdict_format is not None:
            found.append(("verdict_format", self.verdict_format))
        if isinstance(self.passing_verdicts, dict):
            found.append(("passing_verdicts", self.passing_verdicts))
        return found

    def metric_names(self, name: str) -> tuple[str, ...]:
        """Return the metrics that it yields, the first of them first."""
        return self.metrics or (self.metric or name,)

    def needed(self, name: str) -> dict[str, str]:
        """Return the least that each metric must be for the trial to pass: by default a verdict of weight 1.

        Raises:
            PydanticCustomError: it names another metric, holds whatever is said, or could never hold.
        """
        first, *further = self.metric_names(name)
        wanted = {key: str(int(least)) if isinstance(least, bool) else least for key, least in self._wanted(first)}
        most = max(map(Decimal, self.verdicts.values()))
        for key, least in wanted.items():
            if key not in (first, *further):
                raise PydanticCustomError(
                    "pass_when", f'"{key}" is none of its metrics: {suggestion(key, (first, *further))}'
                )
            if not Decimal(least):
                raise PydanticCustomError("pass_when", f'"{key}" is at least 0 whatever the judge says')
            reachable = most if key == first else Decimal(most == 1) if key == FULLY + first else Decimal(1)
            if Decimal(least) > reachable:
                raise PydanticCustomError("pass_when", f"no verdict has {key} of {least} or more: nothing could pass")
        return wanted

    def _wanted(self, first: str) -> list[tuple[str, bool | str]]:
        return list((self.pass_when or {first: "1"}).items())


class SimilarityScorer(AnyScorer):
    """The answer means about the same as a reference, by an embedder."""

    type: Literal["similarity"]
    model: Name
    """The helper that embeds."""
    threshold: Share

    @model_validator(mode="after")
    def _not_everything(self) -> Self:
        if not Decimal(self.threshold):
            raise PydanticCustomError("threshold", "a threshold of 0 lets every answer pass")
        return self


class ScoringCode(Author):
    """A scorer that is code of the project."""

    timeout_s: Annotated[Milliseconds, Field(gt=0)] = Field(default="60", validate_default=True)
    threshold: Share = Field(default="0.5", validate_default=True)


class CommandScorer(AnyScorer, Command, ScoringCode):
    """A program gives the score."""

    type: Literal["command"]


class PythonScorer(AnyScorer, Function, ScoringCode):
    """A function gives the score."""

    type: Literal["python"]


BuiltInScorer = (
    ExactScorer
    | ContainsScorer
    | RegexScorer
    | NumericScorer
    | ChoiceScorer
    | JsonSchemaScorer
    | JsonSubsetScorer
    | ValueScorer
    | LabelScorer
    | TrajectoryScorer
    | JudgeScorer
    | SimilarityScorer
    | CommandScorer
    | PythonScorer
)
