# SPDX-License-Identifier: Apache-2.0
"""From a project's files to a run that could start: the frozen plan, its matrix, and what opens its texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from trialplate.engine.baselines import baseline_of, check_comparable
from trialplate.engine.estimate import Estimate, bounds_of, estimate_helpers
from trialplate.engine.fetching import fetch
from trialplate.engine.making import Own
from trialplate.errors import UsageError
from trialplate.ledger.blobs import blobs_of
from trialplate.record import codec
from trialplate.record.entries import Narrowing, TrialKey
from trialplate.record.frozen import Json
from trialplate.record.matrix import Matrix, narrow
from trialplate.record.values import CacheMode, Case, Plan
from trialplate.rules.shape import MOST_TRIALS
from trialplate.spec.bounds import AttemptBounds
from trialplate.spec.compatible_cases import incompatible_cases
from trialplate.spec.document import Path as Place
from trialplate.spec.freeze import Frozen, freeze
from trialplate.spec.limits import Ceiling, check_limits
from trialplate.spec.nearest import nearest
from trialplate.spec.project import Project, load_project

__all__ = ["Prepared", "blobs_needed", "prepare"]


@dataclass(frozen=True)
class Prepared:
    """A plan, and everything that a run of it needs besides the world."""

    project: Path
    frozen: Frozen
    matrix: Matrix
    narrowing: Narrowing | None
    opened: Mapping[str, Json]
    """Every text and case of the plan, by commitment."""
    cases: Mapping[str, Case]
    blobs: Mapping[str, str] = field(default_factory=dict)
    """Where the bytes lie that the cases to be asked need, in the project's folder, by digest; a run stores them."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """How many bytes these are, by digest."""
    where: Callable[[Place], str] = lambda keys: ".".join(map(str, keys))
    """Tells where a value stands in the author's file, by its keys, if there is one."""
    own: Own = field(default_factory=Own)
    """The objects of the program that runs it."""

    @property
    def plan(self) -> Plan:
        """Return the plan."""
        return self.frozen.plan

    @cached_property
    def incompatible(self) -> Mapping[str, Mapping[str, str]]:
        """Return the cases that each configuration does not take, each with what it does not take of it."""
        return incompatible_cases(self.plan.configurations, self.matrix, self.cases)

    @cached_property
    def asked(self) -> Matrix:
        """Return the matrix without the trials that nobody is ever asked."""
        cases = self.matrix.cases
        counts = {
            name: [times * (case.id not in self.incompatible[name]) for case, times in zip(cases, row, strict=True)]
            for name, row in self.matrix.counts.items()
        }
        return self.matrix.replace(counts=counts)

    def incompatible_trials(self) -> Iterator[TrialKey]:
        """Yield the trials that nobody is ever asked."""
        for name, row in self.matrix.counts.items():
            for case, times in zip(self.matrix.cases, row, strict=True):
                if case.id in self.incompatible[name]:
                    yield from ((name, case.id, repeat) for repeat in range(1, times + 1))

    @cached_property
    def bounds(self) -> Mapping[str, AttemptBounds]:
        """Return the most that an attempt should take, by configuration; worked out once for all who ask."""
        return bounds_of(self.plan, self.matrix, self.opened, self.cases, self.sizes)

    @property
    def helper_estimates(self) -> list[Estimate]:
        """Return the most that each helper should cost."""
        return estimate_helpers(self.plan, self.asked, self.bounds, self.opened, self.cases)


def prepare(
    project: Path | Project,
    secret: bytes,
    *,
    cache: CacheMode | None = None,
    narrowing: Narrowing | None = None,
    ceiling: Ceiling | None = None,
    own: Own | None = None,
    reach: bool = True,
) -> Prepared:
    """Read a project, if it is not read yet, freeze it, and narrow its matrix. What cases name by address is fetched.

    Args:
        project: trialplate.yaml, its folder, or what was read of it.
        secret: the ledger's, from which salts are derived.
        cache, ceiling: what the command line says, over what the file says.
        reach: refuse a mark that no run could pass.
        own: objects that the plan names as its runners and scorers.

    Raises:
        SpecError: the project cannot be used, its public plan would hold a private text, its budget or its limits
            could not be kept, or what it compares with cannot be compared.
        VerificationError, FormatError: the ledger or the record of what it compares with does not hold.
        UsageError: the narrowing names something that is not there, or leaves nothing.
    """
    own = own or Own()
    if not isinstance(project, Project):
        project = load_project(project, fetch, own)
    compared = baseline_of(project)
    baseline = compared.baseline if compared is not None else None
    frozen = freeze(project, secret, cache=cache, ceiling=ceiling, baseline=baseline, reach=reach)
    plan = frozen.plan
    if compared is not None:
        check_comparable(plan, compared, project)
    if narrowing is not None:
        _check_narrowing(plan, narrowing)
    matrix = narrow(plan, narrowing)
    if matrix.size == narrow(plan, None).size:
        narrowing = None  # it leaves nothing out, so this is the plan
    if not matrix.size:
        raise UsageError("this selection leaves no trial", hint="select at least one case and one configuration")
    if matrix.size > MOST_TRIALS:
        message = f"{matrix.size} trials are more than the {MOST_TRIALS} that a run may have"
        raise UsageError(message, hint="narrow the matrix, or repeat less often")
    opened = {commitment: opening.value for commitment, opening in frozen.openings.items()}
    cases = {case.id: codec.decode(Case, opened[case.commitment], case.id) for case in plan.test_set.cases}
    blobs = {digest: project.blobs[digest] for digest in blobs_needed(matrix, cases)}
    prepared = Prepared(
        project.root, frozen, matrix, narrowing, opened, cases, blobs, project.sizes, project.document.where, own
    )
    check_limits(plan, prepared.asked, prepared.bounds, prepared.where)
    return prepared


def blobs_needed(matrix: Matrix, cases: Mapping[str, Case]) -> list[str]:
    """Return the digests of the files and traces of the cases that a run asks, each once."""
    asked = [any(row[index] for row in matrix.counts.values()) for index in range(len(matrix.cases))]
    wanted = [cases[case.id] for case, is_asked in zip(matrix.cases, asked, strict=True) if is_asked]
    return list(dict.fromkeys(digest for case in wanted for digest in blobs_of(case)))


def _check_narrowing(plan: Plan, narrowing: Narrowing) -> None:
    """Refuse a name that is not in the plan: a mistyped selection is never an empty success."""
    cases = [case.id for case in plan.test_set.cases]
    models = [name for item in plan.configurations for name in (item.name, item.model)]
    for option, given, known in (("--only", narrowing.only, cases), ("--models", narrowing.models, models)):
        for name in given:
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near}?" if near else f"there are {', '.join(dict.fromkeys(known[:8]))}"
                raise UsageError(f"{option}: there is no {name!r} in this plan", hint=hint)
