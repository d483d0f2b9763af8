# SPDX-License-Identifier: Apache-2.0
"""What `trialplate validate` tells: that a plan can be used, its digests and counts, and what deserves a look.

Nothing is run, written or committed. The plan is frozen with a secret of zeros, so that every check of a run is made;
no commitment that comes of it leaves this module.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from trialplate.record.frozen import Json
from trialplate.record.matrix import attempt_key, mark_digest, narrow
from trialplate.record.values import Baseline
from trialplate.spec.added import NOTHING, AddedNames
from trialplate.spec.bounds import AttemptBounds, HelperBounds
from trialplate.spec.case_files import Fetch
from trialplate.spec.freeze import freeze, plain_digest, portable_digest
from trialplate.spec.limits import check_limits
from trialplate.spec.project import Project, load_project

__all__ = ["Validation", "validate"]

UNTAGGED = "(untagged)"


@dataclass(frozen=True, slots=True)
class Validation:
    """A plan that can be used, in numbers."""

    name: str
    test_set: str
    """Name, and version if there is one."""
    visibility: str
    digest: str
    """Of the test set's cases in the open; publish it for public sets only."""
    portable: str | None
    """The digest that other tools can compute; None if a case holds more than they know."""
    without_reference: tuple[str, ...]
    """Ids of the cases without an accepted answer, or with a blank one only."""
    automatic: tuple[str, ...]
    """Ids that come from a case's place in its file."""
    with_files: dict[str, int]
    """Number of files by case, for those that have any."""
    pass_mark: str
    """Digest of the pass mark."""
    cases: int
    tags: dict[str, int]
    """Cases by tag, in order of tag; a case counts for each of its tags."""
    configurations: dict[str, str]
    """Attempt key by configuration name."""
    scorers: dict[str, int]
    """Cases that each scorer applies to."""
    rules: tuple[str, ...]
    trials: int
    secrets: tuple[str, ...]
    """Names of the environment variables that a live run needs."""
    pinned: dict[str, str]
    """Digest of every file that the plan pins, by path: what commands name, and the cassettes of a replay."""
    unpinned: tuple[str, ...]
    warnings: tuple[str, ...]


def validate(
    path: str | os.PathLike[str],
    fetch: Fetch | None = None,
    added: AddedNames = NOTHING,
    baseline: Callable[[Project], Baseline | None] = lambda project: None,
) -> Validation:
    """Check everything about a plan that can be checked without running it.

    Args:
        path, fetch, added: as `load_project` takes them.
        baseline: looks up the run that its rules compare with, in a ledger.

    Raises:
        SpecError: the plan cannot be used.
    """
    project = load_project(path, fetch, added)
    frozen = freeze(project, bytes(32), baseline=baseline(project))
    plan, matrix = frozen.plan, narrow(frozen.plan, None)
    opened = {commitment: opening.value for commitment, opening in frozen.openings.items()}
    cases = {case.id: case for case in project.cases}
    helping = HelperBounds(plan, opened, cases)
    bounds = {item.name: AttemptBounds(item, opened, cases, helping, project.sizes) for item in plan.configurations}
    check_limits(plan, matrix, bounds, project.document.where)
    tags = Counter(tag for case in project.cases for tag in case.tags or (UNTAGGED,))
    applied = Counter(scorer.name for case in plan.test_set.cases for scorer in matrix.applicable(case))
    label = plan.test_set.name + (f" {plan.test_set.version}" if plan.test_set.version else "")
    files = [*plan.cassettes, *(file for item in plan.configurations for file in item.all_files)]
    files += [file for scorer in plan.scorers for file in scorer.files]
    return Validation(
        name=plan.name,
        test_set=label,
        visibility=plan.test_set.visibility,
        digest=plain_digest(project.cases),
        portable=portable_digest(project.cases),
        without_reference=tuple(case.id for case in project.cases if all(_is_blank(item) for item in case.references)),
        automatic=project.automatic,
        with_files={case.id: len(case.files) for case in project.cases if case.files},
        pass_mark=mark_digest(plan.pass_mark),
        cases=len(project.cases),
        tags=dict(sorted(tags.items())),
        configurations={item.name: attempt_key(item) for item in plan.configurations},
        scorers={scorer.name: applied[scorer.name] for scorer in plan.scorers},
        rules=tuple(rule.id for rule in plan.pass_mark.rules),
        trials=matrix.size,
        secrets=tuple(sorted({item.secret for item in plan.configurations if item.secret})),
        pinned={item.path: item.digest for item in sorted(files, key=lambda item: item.path)},
        unpinned=plan.unpinned,
        warnings=frozen.warnings,
    )


def _is_blank(reference: Json) -> bool:
    return isinstance(reference, str) and not reference.strip()
