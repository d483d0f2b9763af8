# SPDX-License-Identifier: Apache-2.0
"""What a mark demands of the record itself, and of its judge, before anything is decided.

Source: DESIGN section 6; docs/formats/pass-mark.md, clause 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from trialplate.record.decisions import EvidenceResult
from trialplate.record.values import JudgeEvidence, PassMark
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.judges import JudgeNumbers
from trialplate.rules.quantities import Row
from trialplate.rules.shown import judged_by, rounded

__all__ = ["evidence_of"]


def evidence_of(mark: PassMark, name: str, row: Row, given: Circumstances) -> Iterable[EvidenceResult]:
    """Yield each demand on a configuration's cells, met or not."""
    wanted = mark.evidence
    cells = [cell for _, repeats in row for cell in repeats]
    total = len(cells)
    begun = [cell for cell in cells if cell is not None]
    yield _demand("selection", given.selection == "full", "full", given.selection)
    yield _demand("finished", given.finished, "run.end", "run.end" if given.finished else "unfinished")
    unfit = sum(1 for cell in begun if cell.incompatible)
    sealed_off = given.not_needed.get(name, 0)
    attempted = sum(1 for cell in begun if cell.final not in ("absent", "skipped")) + unfit
    share = Fraction(attempted + sealed_off, total) if total else Fraction(0)
    found = f"{attempted} of {total} trials" + (f", {sealed_off} not needed" if sealed_off else "")
    yield _demand("complete", total > 0 and share >= Fraction(wanted.complete), f"at least {wanted.complete}", found)
    replayed = sum(1 for cell in begun if cell.replayed)
    yield _demand(
        "calls", wanted.calls == "any" or not replayed, wanted.calls, f"{replayed} of {total} trials replayed"
    )
    reasked = sum(1 for cell in begun if cell.reasked)
    asked = total - unfit - sealed_off  # what nobody asked makes nothing else rarer
    met = Fraction(reasked) <= Fraction(wanted.reasked) * asked
    yield _demand("reasked", met, f"at most {wanted.reasked}", f"{reasked} of {asked} cells")
    if wanted.infrastructure_errors is not None:
        errors = sum(1 for cell in begun if cell.final == "error")
        met = Fraction(errors) <= Fraction(wanted.infrastructure_errors) * asked
        yield _demand(
            "infrastructure_errors", met, f"at most {wanted.infrastructure_errors}", f"{errors} of {asked} cells"
        )
    yield _demand("cases", len(row) >= wanted.cases, f"at least {wanted.cases}", str(len(row)))
    fewest = min((len(repeats) for _, repeats in row), default=0)
    yield _demand("repeats", fewest >= wanted.repeats, f"at least {wanted.repeats}", str(fewest))
    if wanted.judge is not None:
        yield _judge(wanted.judge, 1 - Fraction(mark.confidence), given)


def _judge(wanted: JudgeEvidence, alpha: Fraction, given: Circumstances) -> EvidenceResult:
    """Return whether a judge is shown to agree with people; alpha is not divided, since it is no candidate's."""
    grades = given.grades.get(wanted.scorer)
    numbers = JudgeNumbers(grades)
    text = f"agreement at least {wanted.agreement} on {wanted.graded} answers or more"
    if numbers.problem is not None:
        stale = grades.stale if grades is not None else 0
        never = "never checked"
        if stale:
            never = f"not checked as it is now; {stale} graded answers are of another judge"
        open_sheet = "a sheet was drawn and never scored"
        return _demand("judge", False, text, open_sheet if numbers.problem == "judge_open" else never)
    lower, upper = numbers.ends(alpha)
    shows = judged_by((lower, upper), Fraction(wanted.agreement), floor=True)[0] == "pass"
    met = shows and numbers.graded >= wanted.graded
    found = f"{numbers.agreement * numbers.graded} of {numbers.graded} equal"
    return _demand("judge", met, text, found).replace(lower=rounded(lower))


def _demand(name: str, met: bool, wanted: str, found: str) -> EvidenceResult:
    return EvidenceResult(name=name, met=met, wanted=wanted, found=found)
