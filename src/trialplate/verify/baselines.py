# SPDX-License-Identifier: Apache-2.0
"""The baseline of a mark as a gate has it: another run's record, verified, at the size and root that the mark names.

A baseline whose record is not here leaves what rests on it inconclusive. A decision that was stated while it was here
is then taken at its word in that one thing, and held to the record in all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trialplate.record.decisions import CopyResult, Decision, RuleResult
from trialplate.record.entries import BaselineSet
from trialplate.record.values import Baseline, PassMark
from trialplate.rules.circumstances import Former
from trialplate.rules.passmark import Evaluation
from trialplate.rules.regressions import baseline_rules
from trialplate.verify.findings import Report
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.record_view import RecordView, board_at

__all__ = ["doubts_of", "former_of", "lacks_it", "missed_it", "with_stated"]

_OF_THE_CHOICE = frozenset({"choice_open", "not_chosen"})


def former_of(mark: PassMark, read: Callable[[str], RecordView | None], report: Report) -> Former | None:
    """Return the baseline of a mark, None where it has none or its record is not here.

    Args:
        read: returns the record of a run, verified, and None where it is not here or cannot be used; what it found
            against it is a finding of whoever asks.
        report: gets a finding if the record is another than the mark names.
    """
    named = mark.baseline
    view = read(named.run_id) if named is not None else None
    if named is None or view is None:
        return None
    root = view.signed.checkpoint.root if view.size == named.size else view.roots.get(named.size, b"")
    if f"sha256:{root.hex()}" != named.root or view.plan.test_set.root != named.test_set:
        message = f"the mark names {named.run_id} as a baseline at a size, root or test set that is not its record's"
        report.found("BASELINE", message, f"runs/{named.run_id}")
        return None
    board = view.board if view.size == named.size else board_at(view.folder, view.plan, named.size)[0]
    return Former(view.plan, view.matrix, board)


def doubts_of(ledger: LedgerView, named: Baseline | BaselineSet, names: Sequence[str]) -> Iterator[str]:
    """Yield what a reader should know of a baseline that is compared with all the same.

    Args:
        names: the configurations that are compared, each with the baseline's of its own name unless it names one.
    """
    if ledger.waived(named.run_id):
        yield f"the baseline {named.run_id} was waived: it does not count as an attempt, and is compared with as it was"
    last = {entry.body.configuration: entry for entry in ledger.decisions(named.run_id)}
    for name in names if named.configuration is None else [named.configuration]:
        entry = last.get(name)
        if entry is not None and entry.body.decision == "rejected":
            told = f"the baseline {named.run_id} {name} was itself rejected, by ledger entry {entry.seq}"
            yield f"{told}: not to be worse than it says little"


# ---------------------------------------------------------------------------------------------- decisions stated before


def missed_it(stated: Decision | None) -> bool:
    """Say whether the baseline was not here when a decision was stated."""
    return stated is not None and any(map(_missed, stated.rules))


def lacks_it(own: Evaluation) -> bool:
    """Say whether a run's own result may be another one with its baseline, which is not here."""
    missed = {item.id for item in own.rules if _missed(item)}
    return own.decision == "inconclusive" and not missed.isdisjoint(own.reasons)


def _missed(result: RuleResult | CopyResult) -> bool:
    copies = result.copies if isinstance(result, RuleResult) else ()
    return result.reason == "baseline_missing" or any(map(_missed, copies))


def with_stated(derived: Decision, stated: Decision, mark: PassMark) -> Decision:
    """Return a decision derived without its baseline, with what the stated one says of the rules that rest on it.

    The word and its reasons are then the stated ones, but an acceptance only where all else that is derived accepts.
    """
    resting = baseline_rules(mark)
    said = {item.id: item for item in stated.rules if item.id in resting}
    cut_out = resting - said.keys() if stated.cut is not None else set()
    rules = tuple(said.get(item.id, item) for item in derived.rules if item.id not in cut_out)
    made = derived.replace(rules=rules)
    others = set(derived.reasons) - resting - (_OF_THE_CHOICE if mark.choose is not None else set())
    if stated.decision == "accepted" and (others or any(item.result != "pass" for item in rules)):
        return made
    return made.replace(decision=stated.decision, reasons=stated.reasons, choice=stated.choice)
