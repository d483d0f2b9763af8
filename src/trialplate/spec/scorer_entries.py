# SPDX-License-Identifier: Apache-2.0
"""What an author writes about scorers: one class per scorer type of this version.

Patterns, values and schemas become commitments; every other setting stands in the public plan.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, model_validator
from pydantic_core import PydanticCustomError

from trialplate.spec.answer_schemas import Parse
from trialplate.spec.any_scorer import AnyScorer
from trialplate.spec.choices import OPTIONS
from trialplate.spec.entries import Command, Function
from trialplate.spec.fields import (
    Author,
    Exact,
    FilePath,
    Many,
    Milliseconds,
    Share,
    Text,
    refused,
)
from trialplate.spec.helped_entries import JudgeScorer, SimilarityScorer
from trialplate.spec.trajectory_entries import TrajectoryRule

__all__ = [
    "BuiltInScorer",
    "ChoiceScorer",
    "CommandScorer",
    "ContainsScorer",
    "ExactScorer",
    "JsonSchemaScorer",
    "JsonSubsetScorer",
    "LabelScorer",
    "Normalize",
    "NumericScorer",
    "PythonScorer",
    "RegexScorer",
    "ScoringCode",
    "TrajectoryScorer",
    "ValueScorer",
]


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
            raise refused('stands beside "after"', "keep one of find and after", "find")
        if (self.after is None) != (self.which is None):
            there, absent = ("after", "which")[:: 1 if self.which is None else -1]
            hint = (
                "add which: first or last, of the marker's occurrences"
                if there == "after"
                else "add after: with a marker"
            )
            raise refused(f'needs "{absent}"', hint, there)
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
