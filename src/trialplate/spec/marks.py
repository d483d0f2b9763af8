# SPDX-License-Identifier: Apache-2.0
"""What an author writes as a pass mark: the rules, and the evidence that a record must show before it decides.

Only `basis: estimate` exists in this version, for rules and for `choose`; `later` refuses the rest with a sentence.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from trialplate.record import values
from trialplate.spec.fields import Author, AuthorSelector, Many, Name, Share

__all__ = [
    "AtLeastRule",
    "AtMostRule",
    "ChooseEntry",
    "Draws",
    "EvidenceEntry",
    "MarkEntry",
    "MustPassRule",
    "RuleEntry",
    "quantity_text",
]


class ShareAtMost(Author):
    """An upper bound on a share."""

    at_most: Share


class CountAtLeast(Author):
    """A lower bound on a count."""

    at_least: Annotated[int, Field(ge=1)]


class EvidenceEntry(Author):
    """Unmet evidence is inconclusive, never a rejection."""

    calls: Literal["live", "any"] = "live"
    selection: Literal["full"] = "full"
    complete: Share = "1"
    reasked: ShareAtMost = ShareAtMost(at_most="0.02")
    infrastructure_errors: ShareAtMost | None = None
    cases: CountAtLeast = CountAtLeast(at_least=1)
    repeats: CountAtLeast = CountAtLeast(at_least=1)

    def resolved(self) -> values.Evidence:
        """Return the evidence of a plan."""
        limit = self.infrastructure_errors
        return values.Evidence(
            calls=self.calls,
            selection=self.selection,
            complete=self.complete,
            reasked=self.reasked.at_most,
            infrastructure_errors=limit.at_most if limit else None,
            cases=self.cases.at_least,
            repeats=self.repeats.at_least,
        )


class AttemptsEntry(Author):
    """How earlier and later runs of the same configuration count."""

    scope: Literal["configuration", "model"] = "configuration"
    use: Literal["all", "last"] = "all"
    max: Annotated[int, Field(ge=1)] | None = None


class Draws(Author):
    """The chance that k repeats of a case, drawn at random, have a pass (`pass_at`) or are all passes (`pass_hat`)."""

    pass_at: Annotated[int, Field(ge=1, le=999)] | None = None
    pass_hat: Annotated[int, Field(ge=1, le=999)] | None = None


def _one(value: Draws) -> Draws:
    if (value.pass_at is None) == (value.pass_hat is None):
        raise PydanticCustomError("draws", 'expected one of "pass_at" and "pass_hat"')
    return value


def _quantity_form(value: Any) -> str:
    return "quantity" if isinstance(value, dict) else "metric"


Quantity = Annotated[
    Annotated[Name, Tag("metric")] | Annotated[Draws, AfterValidator(_one), Tag("quantity")],
    Discriminator(_quantity_form),
]
"""A metric or a rate by name, or a chance over repeats."""


def quantity_text(of: str | Draws) -> str:
    """Return the name of a quantity in a plan."""
    if isinstance(of, str):
        return of
    return f"pass_at:{of.pass_at}" if of.pass_at is not None else f"pass_hat:{of.pass_hat}"


class _Threshold(Author):
    id: Name
    of: Quantity
    basis: Literal["estimate"]
    where: AuthorSelector = AuthorSelector()
    each: Literal["tag", "kind", "suite"] | None = None
    cases: CountAtLeast = CountAtLeast(at_least=1)

    def shared(self) -> dict[str, Any]:
        """Return the fields of a plan's rule that floors and ceilings have alike."""
        return {
            "id": self.id,
            "of": quantity_text(self.of),
            "where": self.where.resolved(),
            "each": self.each,
            "cases": self.cases.at_least,
        }


class AtLeastRule(_Threshold):
    """The quantity is at least this."""

    at_least: Share

    def resolved(self) -> values.Rule:
        """Return the rule of a plan."""
        return values.Rule(at_least=self.at_least, **self.shared())


class AtMostRule(_Threshold):
    """The quantity is at most this."""

    at_most: Share

    def resolved(self) -> values.Rule:
        """Return the rule of a plan."""
        return values.Rule(at_most=self.at_most, **self.shared())


def _selector_form(value: Any) -> str:
    return "as a word" if isinstance(value, str) else "as a map"


def _named(value: AuthorSelector) -> AuthorSelector:
    if not value.model_fields_set:
        raise PydanticCustomError("empty_selector", "an empty selector would name every case")
    return value


_Named = Annotated[AuthorSelector, AfterValidator(_named)]


class MustPassRule(Author):
    """Every case named here passes; `all` names every case."""

    id: Name
    must_pass: Annotated[
        Annotated[Literal["all"], Tag("as a word")] | Annotated[_Named, Tag("as a map")],
        Discriminator(_selector_form),
    ]
    require: Literal["all", "majority", "any"] = "all"

    def resolved(self) -> values.Rule:
        """Return the rule of a plan; without `require` every repeat must pass, the strictest reading."""
        named = values.Selector() if isinstance(self.must_pass, str) else self.must_pass.resolved()
        return values.Rule(id=self.id, must_pass=named, require=self.require)


KINDS = ("at_least", "at_most", "must_pass")


def _kind(value: Any) -> str | None:
    """Return the tag of a rule: the one of the three keys that it has."""
    if not isinstance(value, dict):
        return None
    has = [kind for kind in KINDS if kind in value]
    return f"rule {has[0]}" if len(has) == 1 else None


RuleEntry = Annotated[
    Annotated[AtLeastRule, Tag("rule at_least")]
    | Annotated[AtMostRule, Tag("rule at_most")]
    | Annotated[MustPassRule, Tag("rule must_pass")],
    Discriminator(
        _kind,
        custom_error_type="rule_kind",
        custom_error_message='a rule has exactly one of "at_least", "at_most" and "must_pass"',
    ),
]


TieBreak = Literal["score", "cost", "latency", "order"]
_TIES: dict[str, tuple[TieBreak, ...]] = {
    "cheapest": ("score", "latency", "order"),
    "best": ("cost", "latency", "order"),
    "fastest": ("score", "cost", "order"),
}


class ChooseEntry(Author):
    """Which configuration is taken of those that pass, and how far from its reference each of them may be."""

    by: Literal["cheapest", "best", "fastest"]
    of: Quantity
    basis: Literal["estimate"]
    within: Share | None = None
    against: Annotated[str, Field(min_length=1, max_length=129)] = "best"
    best_among: Literal["all", "floors_met"] = "all"
    tie_break: Annotated[Many[TieBreak], Field(min_length=1)] | None = None

    def resolved(self) -> values.Choose:
        """Return the choice of a plan, with what breaks a tie written out; `against` may still be a model's name."""
        return values.Choose(
            by=self.by,
            of=quantity_text(self.of),
            within=self.within,
            against=self.against,
            best_among=self.best_among,
            tie_break=_TIES[self.by] if self.tie_break is None else self.tie_break,
        )


class MarkEntry(Author):
    """The pass mark."""

    require: Literal["eligible", "chosen"] = "eligible"
    errors: Literal["bound", "zero", "exclude"] = "bound"
    evidence: EvidenceEntry = EvidenceEntry()
    attempts: AttemptsEntry = AttemptsEntry()
    rules: Annotated[Many[RuleEntry], Field(min_length=1)]
    choose: ChooseEntry | None = None
    absent_rivals: Literal["bound", "drop"] = "bound"
    declared_usage: Literal["refuse", "accept"] = "refuse"

    def resolved(self) -> values.PassMark:
        """Return the pass mark of a plan."""
        return values.PassMark(
            require=self.require,
            errors=self.errors,
            evidence=self.evidence.resolved(),
            attempts=values.AttemptsRule(scope=self.attempts.scope, use=self.attempts.use, max=self.attempts.max),
            rules=tuple(rule.resolved() for rule in self.rules),
            choose=self.choose.resolved() if self.choose is not None else None,
            absent_rivals=self.absent_rivals,
            declared_usage=self.declared_usage,
        )
