# SPDX-License-Identifier: Apache-2.0
"""What an author writes as a pass mark: the rules, and the evidence that a record must show before it decides.

The rules themselves are in `mark_rules`, what they are about in `mark_quantities`. Rules and `choose` decide by what
the cases show with the mark's confidence, unless they say `basis: estimate`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from trialplate.record import values
from trialplate.spec.fields import Author, Exact, Many, Name, Share, Text
from trialplate.spec.mark_quantities import MarkQuantity, quantity_text
from trialplate.spec.mark_rules import Basis, CountAtLeast, ModelName, RuleEntry

__all__ = ["BaselineEntry", "ChooseEntry", "EvidenceEntry", "MarkEntry", "StopEntry"]


class ShareAtMost(Author):
    """An upper bound on a share."""

    at_most: Share


class ShareAtLeast(Author):
    """A lower bound on a share."""

    at_least: Share


class JudgeEvidenceEntry(Author):
    """How well a judge must agree with people, over all checks of it."""

    scorer: Name
    graded: CountAtLeast = CountAtLeast(at_least=1)
    agreement: ShareAtLeast

    def resolved(self) -> values.JudgeEvidence:
        """Return the demand of a plan."""
        return values.JudgeEvidence(scorer=self.scorer, graded=self.graded.at_least, agreement=self.agreement.at_least)


class EvidenceEntry(Author):
    """Unmet evidence is inconclusive, never a rejection."""

    calls: Literal["live", "any"] = "live"
    selection: Literal["full"] = "full"
    complete: Share = "1"
    reasked: ShareAtMost = ShareAtMost(at_most="0.02")
    infrastructure_errors: ShareAtMost | None = None
    cases: CountAtLeast = CountAtLeast(at_least=1)
    repeats: CountAtLeast = CountAtLeast(at_least=1)
    judge: JudgeEvidenceEntry | None = None

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
            judge=self.judge.resolved() if self.judge else None,
        )


class AttemptsEntry(Author):
    """How earlier and later runs of the same configuration count."""

    scope: Literal["configuration", "model"] = "configuration"
    use: Literal["all", "last"] = "all"
    max: Annotated[int, Field(ge=1)] | None = None
    spend: bool = False

    def resolved(self) -> values.AttemptsRule:
        """Return how attempts count in a plan."""
        return values.AttemptsRule(scope=self.scope, use=self.use, max=self.max, spend=self.spend)


TieBreak = Literal["score", "cost", "latency", "order"]
_TIES: dict[str, tuple[TieBreak, ...]] = {
    "cheapest": ("score", "latency", "order"),
    "best": ("cost", "latency", "order"),
    "fastest": ("score", "cost", "order"),
}


class ChooseEntry(Author):
    """Which configuration is taken of those that pass, and how far from its reference each of them may be."""

    by: Literal["cheapest", "best", "fastest"]
    of: MarkQuantity
    basis: Basis = "bound"
    within: Share | None = None
    against: ModelName = "best"
    best_among: Literal["all", "floors_met"] = "all"
    tie_break: Annotated[Many[TieBreak], Field(min_length=1)] | None = None
    keep: ModelName | None = None

    def resolved(self) -> values.Choose:
        """Return the choice of a plan, with what breaks a tie written out.

        `against` and `keep` may still be a model's name.
        """
        return values.Choose(
            by=self.by,
            of=quantity_text(self.of),
            within=self.within,
            against=self.against,
            best_among=self.best_among,
            basis=self.basis,
            tie_break=_TIES[self.by] if self.tie_break is None else self.tie_break,
            keep=self.keep,
        )


class StopFixed(Author):
    """A run ends at its last trial, or as soon as no missing answer could change a decision."""

    mode: Literal["none", "sealed"]

    def resolved(self) -> values.Stop | None:
        """Return the stop rule of a plan, None without one."""
        return None if self.mode == "none" else values.Stop(mode="sealed")


_BOUNDARY_SCHEMA = {"type": "array", "minItems": 1, "items": {"type": ["integer", "null"], "minimum": 0}}
Boundary = Annotated[Many[Annotated[int, Field(ge=0)] | None], Field(min_length=1), WithJsonSchema(_BOUNDARY_SCHEMA)]
"""After the first, second, ... case: a number of failures; null where the boundary is not met, whatever it is."""


class StopCounts(Author):
    """A run ends where the number of cases that failed reaches a boundary of one rule."""

    mode: Literal["counts"]
    rule: Name
    accept: Boundary
    reject: Boundary

    def resolved(self) -> values.Stop:
        """Return the stop rule of a plan."""
        accept = tuple(-1 if most is None else most for most in self.accept)
        reject = tuple(case + 1 if least is None else least for case, least in enumerate(self.reject, 1))
        return values.Stop(mode="counts", rule=self.rule, accept=accept, reject=reject)


def _stop_form(value: Any) -> str | None:
    mode = value.get("mode", "none") if isinstance(value, dict) else "none"
    return "counts" if mode == "counts" else "fixed" if mode in ("none", "sealed") else None


StopEntry = Annotated[
    Annotated[StopFixed, Tag("fixed")] | Annotated[StopCounts, Tag("counts")],
    Discriminator(
        _stop_form, custom_error_type="stop_mode", custom_error_message="its mode is one of none, sealed and counts"
    ),
]
"""When a run may end before its last trial."""


class BaselineEntry(Author):
    """The run that rules compare with, named here; absent: the one that `baseline set` named in the ledger."""

    record: Annotated[Text, Field(max_length=512)]
    """`runs/RUN_ID`, or `sha256:...`, the root of its record."""
    configuration: ModelName | None = None


def _confidence(value: str) -> str:
    if not Decimal("0.5") < Decimal(value) < 1:
        raise PydanticCustomError("confidence", "expected a number above 0.5 and below 1")
    return value


class MarkEntry(Author):
    """The pass mark."""

    require: Literal["eligible", "chosen"] = "eligible"
    confidence: Annotated[Exact, AfterValidator(_confidence)] = "0.95"
    over: Literal["cases", "this_set"] = "cases"
    unit: Annotated[str, Field(pattern=r"^(?:case|meta\.[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63})$")] = "case"
    family: Literal["plan", "each"] = "plan"
    errors: Literal["bound", "zero", "exclude"] = "bound"
    evidence: EvidenceEntry = EvidenceEntry()
    attempts: AttemptsEntry = AttemptsEntry()
    rules: Annotated[Many[RuleEntry], Field(min_length=1)]
    choose: ChooseEntry | None = None
    absent_rivals: Literal["bound", "drop"] = "bound"
    declared_usage: Literal["refuse", "accept"] = "refuse"
    stop: StopEntry | None = None
    baseline: BaselineEntry | None = None

    def resolved(self, baseline: values.Baseline | None = None) -> values.PassMark:
        """Return the pass mark of a plan.

        Args:
            baseline: the run that rules compare with, if there is one; without such a rule it is no part of the mark.
        """
        made = [rule.resolved(rule.id or "") for rule in self.rules]
        rules = tuple(first for first, *_ in made)
        alternatives = tuple(rule for _, *others in made for rule in others)
        compared = any("baseline" in (rule.not_worse_than, rule.no_regressions) for rule in (*rules, *alternatives))
        return values.PassMark(
            require=self.require,
            confidence=self.confidence,
            over=self.over,
            unit=self.unit,
            family=self.family,
            errors=self.errors,
            evidence=self.evidence.resolved(),
            attempts=self.attempts.resolved(),
            rules=rules,
            alternatives=alternatives,
            choose=self.choose.resolved() if self.choose is not None else None,
            absent_rivals=self.absent_rivals,
            declared_usage=self.declared_usage,
            stop=self.stop.resolved() if self.stop is not None else None,
            baseline=baseline if compared else None,
        )
