# SPDX-License-Identifier: Apache-2.0
"""What an author writes as a pass mark: the rules, and the evidence that a record must show before it decides.

Only `basis: estimate` rules exist in this version; `later` refuses the others with a sentence.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from trialplate.record import values
from trialplate.spec.fields import Author, AuthorSelector, Many, Name, Share

__all__ = ["AtLeastRule", "AtMostRule", "EvidenceEntry", "MarkEntry", "MustPassRule", "RuleEntry"]


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

    scope: Literal["configuration"] = "configuration"
    use: Literal["all"] = "all"


class _Threshold(Author):
    id: Name
    of: Name
    basis: Literal["estimate"]
    where: AuthorSelector = AuthorSelector()


class AtLeastRule(_Threshold):
    """The quantity is at least this."""

    at_least: Share

    def resolved(self) -> values.Rule:
        """Return the rule of a plan."""
        return values.Rule(id=self.id, at_least=self.at_least, of=self.of, where=self.where.resolved())


class AtMostRule(_Threshold):
    """The quantity is at most this."""

    at_most: Share

    def resolved(self) -> values.Rule:
        """Return the rule of a plan."""
        return values.Rule(id=self.id, at_most=self.at_most, of=self.of, where=self.where.resolved())


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


class MarkEntry(Author):
    """The pass mark."""

    require: Literal["eligible"] = "eligible"
    errors: Literal["bound", "zero", "exclude"] = "bound"
    evidence: EvidenceEntry = EvidenceEntry()
    attempts: AttemptsEntry = AttemptsEntry()
    rules: Annotated[Many[RuleEntry], Field(min_length=1)]

    def resolved(self) -> values.PassMark:
        """Return the pass mark of a plan."""
        return values.PassMark(
            errors=self.errors,
            evidence=self.evidence.resolved(),
            attempts=values.AttemptsRule(scope=self.attempts.scope, use=self.attempts.use),
            rules=tuple(rule.resolved() for rule in self.rules),
        )
