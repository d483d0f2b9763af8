# SPDX-License-Identifier: Apache-2.0
"""What an author writes about scorers that ask a helper: a judge, and an embedder's similarity."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from trialplate.record.matrix import FULLY
from trialplate.spec.answer_schemas import Parse
from trialplate.spec.any_scorer import AnyScorer
from trialplate.spec.fields import Exact, FilePath, Many, Name, Share, refused
from trialplate.spec.judge_words import VERDICTS, word_key
from trialplate.spec.nearest import suggestion

__all__ = ["JudgeScorer", "SimilarityScorer"]

_OF_MODE = {
    "verdicts": ("verdicts", "metrics", "pass_when"),
    "score": ("scale", "threshold", "forms"),
    "schema": ("verdict_format", "passing_verdicts"),
}
"""Keys of a judge that belong to one of its modes."""
Word = Annotated[str, StringConstraints(pattern=r"^[!-~](?:[ -~]{0,62}[!-~])?$")]


def _form(value: Any) -> str:
    return "as a word" if isinstance(value, str) else "as a list" if isinstance(value, list) else "as a map"


_Least = Annotated[
    Annotated[bool, Tag("a flag")] | Annotated[Share, Tag("a share")],
    Discriminator(lambda value: "a flag" if isinstance(value, bool) else "a share"),
]


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
    pass_when: Annotated[dict[Name, _Least], Field(min_length=1)] | None = None
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
                message = f"belongs to mode: {mode}, and the mode here is {self.mode}"
                raise refused(message, f"take it out, or write mode: {mode}", given)
        return self

    @model_validator(mode="after")
    def _words_with_weights(self) -> Self:
        if self.metric is not None and self.metrics:
            raise refused('stands beside "metric"', "keep one of metric and metrics", "metrics")
        if len({word_key(word) for word in self.verdicts}) < len(self.verdicts):
            raise refused("two verdicts are the same word but for case", "rename one", "verdicts")
        if len(set(self.metrics)) < len(self.metrics):
            raise refused("a metric is listed twice", "list it once", "metrics")
        if self.metrics and FULLY + self.metrics[0] == self.metrics[0]:
            raise refused("the first metric is the weight of the verdict", "list another one first", "metrics")
        return self

    @model_validator(mode="after")
    def _scores_on_a_scale(self) -> Self:
        if self.mode != "score":
            return self
        low, high = (Decimal(end) for end in self.scale)
        if low >= high:
            raise refused("expected its lowest and its highest score", "write them as in scale: [0, 10]", "scale")
        if self.threshold is None:
            message = 'the key "threshold" is missing: the score from which on a trial passes'
            raise refused(message, f"add threshold: with a score above {self.scale[0]} and up to {self.scale[1]}")
        if not low < Decimal(self.threshold) <= high:
            on_scale = f"above {self.scale[0]} and up to {self.scale[1]}"
            raise refused(f"{self.threshold} is not on the scale", f"write a score {on_scale}", "threshold")
        if "fraction" in self.forms and low != 0:
            raise refused("fraction is a form of scales that begin at 0", "take fraction out", "forms")
        return self

    @model_validator(mode="after")
    def _a_pair(self) -> Self:
        if (self.verdict_format is None) != (self.passing_verdicts is None):
            there, absent = ("passing_verdicts", "verdict_format")[:: -1 if self.passing_verdicts is None else 1]
            raise refused(f'stands without "{absent}"', f"add {absent}:, or take {there} out", there)
        if isinstance(self.passing_verdicts, dict) and "$schema" not in self.passing_verdicts:
            message = "expected a list of values, or one JSON Schema that says so by its $schema"
            raise refused(message, "write a list, such as [{grade: A}]", "passing_verdicts")
        if self.passing_verdicts == []:
            raise refused("is empty: nothing could pass", "list a verdict that passes", "passing_verdicts")
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
            ValueError: it names another metric, holds whatever is said, or could never hold.
        """
        first, *further = self.metric_names(name)
        wanted = {key: str(int(least)) if isinstance(least, bool) else least for key, least in self._wanted(first)}
        most = max(map(Decimal, self.verdicts.values()))
        for key, least in wanted.items():
            if key not in (first, *further):
                raise ValueError(f'"{key}" is none of its metrics: {suggestion(key, (first, *further))}')
            if not Decimal(least):
                raise ValueError(f'"{key}" is at least 0 whatever the judge says')
            reachable = most if key == first else Decimal(most == 1) if key == FULLY + first else Decimal(1)
            if Decimal(least) > reachable:
                raise ValueError(f"no verdict has {key} of {least} or more: nothing could pass")
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
            raise refused("0 lets every answer pass", "write a share above 0, such as 0.8", "threshold")
        return self
