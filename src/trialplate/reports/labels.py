# SPDX-License-Identifier: Apache-2.0
"""How well labels were told apart: the numbers of `rules.classification` for each label scorer and configuration.

A pair is a trial: the case's label, and the label that was answered. A trial without an answer that counted (an error,
a refusal, one cut off, none at all) is a pair of which nothing was said, and wrong. So these numbers are no input of
any decision, which tells apart what is unknown. Labels are private texts: where content is not here, there are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trialplate.record.entries import TrialKey
from trialplate.record.values import Case, PlanCase, Scorer
from trialplate.reports.trials import answer_text, last_ends, opened_cases
from trialplate.rules.classification import Classification, classify
from trialplate.spec.labels import Labels
from trialplate.verify.content import openings
from trialplate.verify.record_view import RecordView

__all__ = ["LabelTable", "label_tables"]

NO_CLASS = ""
"""What stands for an answer that is no case's label; no label is blank."""


@dataclass(frozen=True)
class LabelTable:
    """One configuration's answers under one label scorer."""

    scorer: str
    configuration: str
    numbers: Classification


def label_tables(record: RecordView, *, withhold: bool) -> tuple[LabelTable, ...] | None:
    """Return a table for each label scorer and configuration; None where there would be some and content is not here.

    Raises:
        VerificationError, FormatError: the record or its content changed after it was verified.
    """
    scorers = [item for item in record.plan.scorers if item.type == "label"]
    if not scorers:
        return ()
    if withhold or not (record.folder / "content.jsonl").exists():
        return None
    cases = opened_cases(record.folder, record.matrix.cases)
    return tuple(table for scorer in scorers for table in _tables(record, scorer, cases))


def _tables(record: RecordView, scorer: Scorer, cases: Mapping[str, Case]) -> Iterator[LabelTable]:
    labels = Labels(scorer)
    wanted: dict[str, str] = {}
    for case in record.matrix.cases:
        label = labels.wanted(cases[case.id]) if _applies(record, scorer, case) else None
        if label is not None:
            wanted[case.id] = label
    said = _said(record, labels, wanted)
    for name in record.matrix.counts:
        keys = [
            (name, case, repeat)
            for case, repeats in record.board.of(record.matrix, name)
            for repeat in range(1, len(repeats) + 1)
            if case in wanted
        ]
        if keys:
            yield LabelTable(scorer.name, name, classify((wanted[key[1]], said.get(key)) for key in keys))


def _applies(record: RecordView, scorer: Scorer, case: PlanCase) -> bool:
    return scorer in record.matrix.applicable(case)


def _said(record: RecordView, labels: Labels, wanted: Mapping[str, str]) -> dict[TrialKey, str]:
    """Return the label that each trial with an answer that counted answered."""
    classes = set(wanted.values())
    keys: dict[str, TrialKey] = {}
    for end in last_ends(record.folder, record.signed, record.board):
        counted = end.outcome in ("passed", "failed") and end.cause is None
        if counted and end.trial[1] in wanted and end.private.answer is not None:
            keys[end.private.answer] = end.trial
    said: dict[TrialKey, str] = {}
    for commitment, value in openings(record.folder, f"runs/{record.run_id}"):
        if commitment in keys:
            label = labels.said(answer_text(value))
            said[keys[commitment]] = label if label in classes else NO_CLASS
    return said
