# SPDX-License-Identifier: Apache-2.0
"""Freeze: from a project as read to the plan that is committed, run and verified.

The same files and the same secret give the same bytes, on any machine and in any order of reading. Texts leave the
project only as commitments; what opens them is returned beside the plan and belongs in content.jsonl. The test set's
root is taken over the commitments in order of case id, so that re-ordering a file does not make another test set; its
plain digest is published for public sets only, since a private one could be guessed from it (T2).

What this module refuses to do: read a file, draw a random number, look at a clock or an environment variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trialplate import __version__
from trialplate.errors import SpecError
from trialplate.record import canonical, codec, log
from trialplate.record.frozen import Json
from trialplate.record.values import (
    Baseline,
    CacheMode,
    Case,
    Opening,
    Plan,
    PlanCase,
    PlanFile,
    PlanTestSet,
    Scorer,
    Verdicts,
)
from trialplate.spec import resolve, resolve_helpers, resolve_mark, resolve_scorers
from trialplate.spec.added_entries import loader_notes
from trialplate.spec.checks import check, check_leaks
from trialplate.spec.labels import numbered
from trialplate.spec.limits import Ceiling, budget_of, laid_over, providers_of
from trialplate.spec.nearest import nearest
from trialplate.spec.project import Project
from trialplate.spec.vault import Vault

__all__ = ["TEST_SET_SCHEMA", "Frozen", "cases_root", "freeze", "plain_digest", "portable_digest"]

TEST_SET_SCHEMA = "trialplate/test-set/1"


@dataclass(frozen=True, slots=True)
class Frozen:
    """A plan, its bytes, and what it keeps to itself."""

    plan: Plan
    raw: bytes
    """plan.json, byte for byte."""
    digest: str
    openings: Mapping[str, Opening]
    """What opens every commitment of the plan, by commitment and in order of it."""
    warnings: tuple[str, ...] = ()


def freeze(
    project: Project,
    secret: bytes,
    *,
    cache: CacheMode | None = None,
    ceiling: Ceiling | None = None,
    baseline: Baseline | None = None,
    reach: bool = True,
) -> Frozen:
    """Resolve a project into its plan.

    Args:
        project: as `load_project` read it.
        secret: the ledger's secret, from which salts are derived.
        cache, ceiling: what the command line says, over what the file says.
        baseline: the run that rules compare with, if there is one; the mark's `baseline`, or what the ledger names.
        reach: refuse a mark that no run could pass; `plan` shows what it would take instead.

    Raises:
        SpecError: the parts do not fit together, no record could decide under this pass mark, or the public plan
            would hold a private text.
    """
    author = project.author
    vault = Vault(secret)
    lines = resolve.matrix_lines(project)
    configurations, unpinned = resolve.configurations(project, vault)
    helpers, served = resolve_helpers.helpers(project, vault)
    scorers, notes = resolve_scorers.scorers(project, vault.text)
    mode = cache or author.run.cache
    plan = Plan(
        name=author.name,
        test_set=_test_set(project, vault, scorers),
        configurations=configurations,
        helpers=helpers,
        scorers=scorers,
        matrix=lines,
        verdict=Verdicts(trial=author.verdict.trial, case=author.verdict.case),
        pass_mark=resolve_mark.pass_mark(project, configurations, scorers, baseline),
        concurrency=author.run.concurrency,
        providers=providers_of(project, (*configurations, *helpers)),
        budget=laid_over(budget_of(project), (*configurations, *helpers), ceiling or Ceiling()),
        order=author.run.order,
        cache=mode,
        cassettes=_cassettes(project, mode),
        software=f"trialplate/{__version__}",
        unpinned=(*unpinned, *served, *notes, *loader_notes(project)),
    )
    warnings = (*project.warnings, *check(plan, project, reach=reach))
    check_leaks(plan, vault.openings)
    raw = canonical.encode(codec.to_json(plan))
    if len(raw) > canonical.MAX_BYTES:
        raise SpecError(
            f"the plan would have {len(raw)} bytes, more than the {canonical.MAX_BYTES} that a verifier reads",
            where=project.document.file,
            hint="make the test set private, or split it",
        )
    openings = {commitment: vault.openings[commitment] for commitment in sorted(vault.openings)}
    return Frozen(plan=plan, raw=raw, digest=canonical.digest(raw), openings=openings, warnings=warnings)


def cases_root(commitments: Mapping[str, str]) -> str:
    """Return the root over case commitments, by case id: RFC 6962 over their ASCII bytes in order of id (T2)."""
    root = log.root_of(commitments[case_id].encode("ascii") for case_id in sorted(commitments, key=_utf16))
    return f"sha256:{root.hex()}"


def plain_digest(cases: Iterable[Case]) -> str:
    """Return the digest of a test set in the open: the same for any order of its cases (T2)."""
    by_id: dict[str, Json] = {case.id: codec.to_json(case) for case in cases}
    ordered = [by_id[case_id] for case_id in sorted(by_id, key=_utf16)]
    return canonical.digest_value({"schema": TEST_SET_SCHEMA, "cases": ordered})


def portable_digest(cases: Iterable[Case]) -> str | None:
    """Return the digest that other tools can compute from the same file, or None if a case holds more than they know.

    It is taken over an array of the cases in file order, each with exactly `id`, `input`, `reference` (a text, empty if
    there is none) and `tags` (T2).
    """
    known: list[Json] = []
    for case in cases:
        reference, *others = case.references or ("",)
        plain_case = Case(id=case.id, input=case.input, references=case.references, tags=case.tags)
        if others or not isinstance(reference, str) or case != plain_case:
            return None
        known.append({"id": case.id, "input": case.input, "reference": reference, "tags": list(case.tags)})
    return canonical.digest_value(known)


def _utf16(text: str) -> bytes:
    """Return the sort key by UTF-16 code unit, as RFC 8785 sorts."""
    return text.encode("utf-16-be")


def _test_set(project: Project, vault: Vault, scorers: Sequence[Scorer]) -> PlanTestSet:
    entries = project.author.test_sets
    public = {entry.visibility for entry in entries}
    if len(public) > 1:
        raise SpecError(
            "one file of the test set is public and another private",
            where=project.document.where(("test_sets",)),
            hint="a merged test set is public or private as a whole; give each file the same visibility",
        )
    visibility = entries[0].visibility
    mark = project.author.pass_mark.resolved()
    numbers = numbered(scorers, mark, project.cases)
    cases = []
    for case in project.cases:
        commitment = vault.commit("case", codec.to_json(case))
        opening = vault.openings[commitment] if visibility == "public" else None
        cases.append(
            PlanCase(
                id=case.id,
                kind=case.kind,
                tags=case.tags,
                suite=case.suite,
                commitment=commitment,
                asked=vault.commit("asked", case.asked),
                unit=_unit(case, mark.unit, project, vault),
                classes={metric: each.of_case[case.id] for metric, each in numbers.items() if case.id in each.of_case},
                opening=opening,
            )
        )
    label = "+".join(name for name, _ in project.labels)
    versions = dict.fromkeys(version for _, version in project.labels if version)
    return PlanTestSet(
        name=label if len(label) <= 64 else project.author.name,
        version="+".join(versions)[:128] or None,
        visibility=visibility,
        root=cases_root({case.id: case.commitment for case in cases}),
        digest=plain_digest(project.cases) if visibility == "public" else None,
        portable=portable_digest(project.cases) if visibility == "public" else None,
        cases=tuple(cases),
    )


def _unit(case: Case, unit: str, project: Project, vault: Vault) -> str | None:
    """Commit to what a case is one with others by, where the mark says so.

    Raises:
        SpecError: the case does not say it.
    """
    if unit == "case":
        return None
    key = unit.removeprefix("meta.")
    if key not in case.meta:
        near = nearest(key, case.meta)
        none = f'give every case "{key}" under meta (in CSV a column of that name), or write unit: case'
        hint = f'did you mean "meta.{near}"?' if near else none
        message = f'case "{case.id}" has no "{key}" in meta, and the mark counts cases by it (unit: {unit})'
        raise SpecError(message, where=project.places[case.id], hint=hint)
    return vault.commit("unit", [key, case.meta[key]])


def _cassettes(project: Project, mode: CacheMode) -> tuple[PlanFile, ...]:
    """Pin what may be replayed; `auto` may find nothing."""
    if mode not in ("replay", "auto"):
        return ()
    if not project.cassettes and mode == "replay":
        raise SpecError(
            "there is nothing to replay: the folder cassettes holds no .jsonl file",
            where=project.document.where(("run", "cache")),
            hint="record one with --cache live",
        )
    return tuple(PlanFile(path=name, digest=digest) for name, digest in project.cassettes.items())
