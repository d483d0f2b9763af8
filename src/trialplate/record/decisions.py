# SPDX-License-Identifier: Apache-2.0
"""What a decision holds, as frozen values: each rule with its numbers, the evidence, the choice, the other attempts.

Like those of `values`, these classes are the one definition of their format. Numbers are exact fractions, as text
"n/d".

Source: docs/formats/ledger.md, docs/formats/pass-mark.md.
"""

# Annotations are evaluated here, once, as in `values`.
from typing import Annotated, Literal

from trialplate.record.frozen import Pattern, Value
from trialplate.record.values import CaseId, ConfigurationName, Count, Currency, Digest, EntryRef, Name, Positive, RunId

Result = Literal["pass", "fail", "inconclusive"]
DecisionWord = Literal["accepted", "rejected", "inconclusive"]
Rounded = Annotated[str, Pattern(r"-?[0-9]\.[0-9]{9}")]
"""A bound, which no fraction is: readers take two that differ by 1e-9 or less for the same."""


class CopyResult(Value):
    """What one copy of a rule came to: for the cases of one tag, kind or suite, a candidate, an alternative."""

    value: str
    result: Result
    reason: Name
    low: str | None = None
    high: str | None = None
    cells: Count
    cases: Count
    unknown: Count
    alpha: str | None = None
    lower: Rounded | None = None
    upper: Rounded | None = None
    units: Count = 0
    failing: tuple[CaseId, ...] = ()


class RuleResult(Value):
    """What one rule came to: exact fractions as text "n/d", over how many cells, with unknown ones at each extreme."""

    id: Name
    result: Result
    reason: Name
    threshold: str | None = None
    low: str | None = None
    """The quantity with every unknown cell at its worse value for the rule."""
    high: str | None = None
    cells: Count
    cases: Count
    unknown: Count
    alpha: str | None = None
    """Of a bound rule: the error that each of its bounds has, once the family and the attempts had their part."""
    lower: Rounded | None = None
    """The lower bound, with every unknown cell at the value that makes it lowest."""
    upper: Rounded | None = None
    units: Count = 0
    """Of a bound rule: how many cases, or clusters of them, count as drawn at random."""
    failing: tuple[CaseId, ...] = ()
    """The first cases that stand in the way, at most ten."""
    copies: tuple[CopyResult, ...] = ()
    """Of a rule with `each` or `any_of`; its own numbers are then over all of them, each case once. Of one against
    regressions: its cases by how they stand to the baseline."""


class EvidenceResult(Value):
    """One demand of the mark on the record, and whether it is met."""

    name: Name
    met: bool
    wanted: str
    found: str
    lower: Rounded | None = None
    """Of a judge: the lower bound of its agreement with people."""


class AttemptResult(Value):
    """A full run of the same configuration on some of the same cases, and what it came to under its own mark."""

    run_id: RunId
    configuration: ConfigurationName | None = None
    """Its name there, where that is not the one decided on: two names for one thing are two attempts at it."""
    status: Literal["decided", "open", "missing", "waived"]
    size: Count = 0
    decision: DecisionWord | None = None


class Contender(Value):
    """A configuration as `choose` compares it; an absent number is unknown."""

    configuration: ConfigurationName
    eligible: Result | None = None
    """Of a candidate: whether it passes by its own results."""
    comparable: bool = True
    """It was asked every case that is compared."""
    low: str | None = None
    high: str | None = None
    cost: str | None = None
    """10^-9 of its currency for each trial."""
    currency: Currency | None = None
    latency_ms: Count | None = None
    """The median."""


class Choice(Value):
    """Which configuration the run's results choose."""

    result: Literal["chosen", "none", "open"]
    reason: Name
    chosen: ConfigurationName | None = None
    possible: tuple[ConfigurationName, ...] = ()
    """Where it is open: those that it may come to."""
    within: RuleResult | None = None
    """How the configuration decided on stands to the reference."""
    keep: ConfigurationName | None = None
    """The one in use, where none is chosen and the mark names it."""
    contenders: tuple[Contender, ...] = ()


class Cut(Value):
    """That a decision is too long for a line: what it leaves out is bound by a digest."""

    digest: Digest
    """SHA-256 of the canonical bytes of the whole decision, without this field and without `lower` and `upper`."""
    reasons: Count
    rules: Count
    copies: Count
    attempts: Count
    contenders: Count
    """How many of each the whole has."""
    kept: Count = 0
    """How many of each list are stated at most."""


class Decision(Value):
    """`decision`: what the gate derived, from which bytes."""

    run_id: RunId
    configuration: ConfigurationName
    decision: DecisionWord
    reasons: tuple[Name, ...]
    plan: Digest
    pass_mark: EntryRef
    record_size: Positive
    record_root: Digest
    evidence: tuple[EvidenceResult, ...]
    rules: tuple[RuleResult, ...]
    attempts: tuple[AttemptResult, ...]
    attempt: Count = 0
    """Which attempt this is, where the mark says how many there may be or a bound depends on it."""
    stopped: Literal["sealed", "counts"] | None = None
    """The run ended before its last trial, as the mark allows: its estimates are those of a curtailed run."""
    choice: Choice | None = None
    cut: Cut | None = None
