# SPDX-License-Identifier: Apache-2.0
"""The six rules of a pass mark as an author writes them.

A rule is told from the others by the one key that it is named after. A threshold compares what its cases show with the
mark's confidence (`basis: bound`), unless it says that the measured number shall be compared as it is
(`basis: estimate`). The members of an `any_of` are rules themselves; those without an id are numbered under its own.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from trialplate.record import values
from trialplate.spec.fields import Author, AuthorSelector, Exact, Many, Margin, Name, OneOrMany, Text, refused
from trialplate.spec.mark_quantities import FORMS, MarkQuantity, is_amount, quantity_text

__all__ = [
    "AnyOfRule",
    "AtLeastRule",
    "AtMostRule",
    "Basis",
    "CountAtLeast",
    "MustPassRule",
    "NoRegressionsRule",
    "NotWorseThanRule",
    "RuleEntry",
]

Basis = Literal["bound", "estimate"]
ModelName = Annotated[str, Field(min_length=1, max_length=129)]
"""A model, or a model and its profile."""


class CountAtLeast(Author):
    """A lower bound on a count."""

    at_least: Annotated[int, Field(ge=1)]


class _Threshold(Author):
    """What rules over a number of the cases have alike."""

    id: Name | None = None
    of: MarkQuantity
    basis: Basis = "bound"
    where: AuthorSelector = AuthorSelector()
    each: Literal["tag", "kind", "suite", "configuration"] | None = None
    cases: CountAtLeast = CountAtLeast(at_least=1)

    def shared(self) -> dict[str, Any]:
        """Return the fields of a plan's rule that all of them have."""
        return {
            "of": quantity_text(self.of),
            "basis": self.basis,
            "where": self.where.resolved(),
            "each": self.each,
            "cases": self.cases.at_least,
        }

    def _check(self, key: str, threshold: str) -> None:
        if Decimal(threshold) > 1 and not is_amount(quantity_text(self.of)):
            message = "expected a share between 0 and 1, such as 0.90 for 90 %"
            form = FORMS.get(self.of) if isinstance(self.of, str) else None
            hint = f"write a share such as {'0.90' if key == 'at_least' else '0.05'}"
            raise refused(message, hint if form is None else f"of an amount write of: {form}", key)


class AtLeastRule(_Threshold):
    """The quantity is at least this."""

    at_least: Exact
    correct_for_judge: bool = False
    """The metric is a judge's: what its checks show that it is wrong by is taken off."""

    @model_validator(mode="after")
    def _is_share(self) -> Self:
        self._check("at_least", self.at_least)
        return self

    def resolved(self, name: str) -> list[values.Rule]:
        """Return the rule of a plan; whose the corrected metric is, is not known here, and is said as the metric."""
        judge = quantity_text(self.of) if self.correct_for_judge else None
        return [values.Rule(id=name, at_least=self.at_least, correct_for_judge=judge, **self.shared())]


class AtMostRule(_Threshold):
    """The quantity is at most this."""

    at_most: Exact

    @model_validator(mode="after")
    def _is_share(self) -> Self:
        self._check("at_most", self.at_most)
        return self

    def resolved(self, name: str) -> list[values.Rule]:
        """Return the rule of a plan."""
        return [values.Rule(id=name, at_most=self.at_most, **self.shared())]


class NotWorseThanRule(_Threshold):
    """The quantity is at most `by` less than the reference's: of the baseline, or of a configuration of this plan."""

    not_worse_than: ModelName
    by: Margin

    def resolved(self, name: str) -> list[values.Rule]:
        """Return the rule of a plan; the reference may still be a model's name."""
        return [values.Rule(id=name, not_worse_than=self.not_worse_than, by=self.by, **self.shared())]


def _selector_form(value: Any) -> str:
    return "as a word" if isinstance(value, str) else "as a map"


def _named(value: AuthorSelector) -> AuthorSelector:
    if not value.model_fields_set:
        raise PydanticCustomError("empty_selector", "an empty selector would name every case")
    return value


_Named = Annotated[AuthorSelector, AfterValidator(_named)]


class MustPassRule(Author):
    """Every case named here passes; `all` names every case."""

    id: Name | None = None
    must_pass: Annotated[
        Annotated[Literal["all"], Tag("as a word")] | Annotated[_Named, Tag("as a map")],
        Discriminator(_selector_form),
    ]
    require: Literal["all", "majority", "any"] = "all"

    def resolved(self, name: str) -> list[values.Rule]:
        """Return the rule of a plan; without `require` every repeat must pass, the strictest reading."""
        selected = values.Selector() if isinstance(self.must_pass, str) else self.must_pass.resolved()
        return [values.Rule(id=name, must_pass=selected, require=self.require)]


class NoRegressionsRule(Author):
    """No case that passed in the baseline fails now, and no new one does."""

    id: Name | None = None
    no_regressions: Literal["baseline"]
    allow: OneOrMany[Text] = ()
    where: AuthorSelector = AuthorSelector()

    def resolved(self, name: str) -> list[values.Rule]:
        """Return the rule of a plan."""
        allowed = tuple(dict.fromkeys(self.allow))
        named = self.where.resolved()
        return [values.Rule(id=name, no_regressions=self.no_regressions, allow=allowed, where=named)]


class AnyOfRule(Author):
    """One of these rules holds."""

    id: Name | None = None
    any_of: Annotated[Many[_Rule], Field(min_length=2)]

    def resolved(self, name: str) -> list[values.Rule]:
        """Return the rule of a plan, and after it the members, each with those of its own."""
        members = [member.resolved(member.id or f"{name}.{number}") for number, member in enumerate(self.any_of, 1)]
        ids = tuple(first.id for first, *_ in members)
        return [values.Rule(id=name, any_of=ids), *(rule for made in members for rule in made)]


KINDS = ("at_least", "at_most", "must_pass", "not_worse_than", "no_regressions", "any_of")


def _kind(value: Any) -> str | None:
    """Return the tag of a rule: the one of these keys that it has."""
    if not isinstance(value, dict):
        return None
    has = [kind for kind in KINDS if kind in value]
    return f"rule {has[0]}" if len(has) == 1 else None


_Rule = Annotated[
    Annotated[AtLeastRule, Tag("rule at_least")]
    | Annotated[AtMostRule, Tag("rule at_most")]
    | Annotated[MustPassRule, Tag("rule must_pass")]
    | Annotated[NotWorseThanRule, Tag("rule not_worse_than")]
    | Annotated[NoRegressionsRule, Tag("rule no_regressions")]
    | Annotated[AnyOfRule, Tag("rule any_of")],
    Discriminator(
        _kind,
        custom_error_type="rule_kind",
        custom_error_message=f"a rule has exactly one of {', '.join(KINDS[:-1])} and {KINDS[-1]}",
    ),
]
AnyOfRule.model_rebuild()


def _has_id(rule: Any) -> Any:
    if rule.id is None:
        raise PydanticCustomError("missing_key", "missing", {"key": "id"})
    return rule


RuleEntry = Annotated[_Rule, AfterValidator(_has_id), Field(json_schema_extra={"required": ["id"]})]
"""A rule that stands in the mark itself, and so has an id: decisions name it."""
