# SPDX-License-Identifier: Apache-2.0
"""V21: the recorded answers, scored again by the plan's scorers and compared with what the record says of them.

Each opened answer goes through the same judgement as in a run (`attempt.judge_answer`). Only scorers that are part of
this program and always say the same are run: others run code, which a reader has to ask for (`run_code`). A judge's
verdict is read again from its recorded replies. What could not be scored again is told and never counted as confirmed.

What this module refuses to do: ask a model, write anything, or change what a record says.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from trialplate.engine.attempt import Judgement, judge_answer, said_by
from trialplate.engine.consultation import reply_of
from trialplate.engine.forms import FORM, read_form
from trialplate.engine.making import Own, make_scorer
from trialplate.errors import FormatError, SpecError, VerificationError
from trialplate.record import canonical, codec
from trialplate.record.entries import DECIDED, TrialEnd, TrialKey
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Scorer
from trialplate.rules.cells import Cell, micro
from trialplate.runners.base import Answer
from trialplate.scorers.base import Scorer as ScorerObject
from trialplate.scorers.base import ScorerContext, ScorerInContext, Texts
from trialplate.spec.labels import numbered
from trialplate.spec.pins import is_pinned
from trialplate.verify.content import openings
from trialplate.verify.findings import Report, counted
from trialplate.verify.log_file import LogFile, record_entries
from trialplate.verify.record_view import RecordView, plan_commitments

__all__ = ["DETERMINISTIC", "rescore"]

DETERMINISTIC = frozenset({"exact", "contains", "regex", "numeric", "choice", "json-schema", "json-subset"})
DETERMINISTIC |= {"value", "label", "trajectory", "judge"}
"""Scorers of this program that need nothing but answer, transcript, case, plan and what a judge replied, which is read
again. What is not named here runs code, or asks a model."""
TIMED = frozenset({"regex", "json-schema"})
"""Scorers of this program that end at a time limit: what they could not say then they may say now. A judge's schemas
are met within one too."""
ASKING = frozenset({"similarity"})
"""Scorers that would have to ask their helper again."""
CHECK = "V21"

Applied = list[tuple[Scorer, ScorerObject]]


def rescore(record: RecordView, report: Report, *, run_code: bool) -> None:
    """Score every decided answer again and report what differs.

    Args:
        record: as it was verified.
        report: takes the findings, and what was looked at.
        run_code: run scorers that run code of the project or of another package, too.
    """
    if not report.holds:
        report.skip(CHECK, "not reached: see the findings")
        return
    if not (record.folder / "content.jsonl").exists():
        report.skip(CHECK, "content withheld: the answers are not here to be scored again")
        return
    try:
        again = _Rescoring(record, report, run_code)
        asyncio.run(again.run())
        again.tell()
    except SpecError as error:
        report.skip(CHECK, f"a scorer of the plan cannot be made here: {error.message}")
    except (FormatError, VerificationError) as error:
        report.caught(error)


class _Asked(NamedTuple):
    """A trial with an answer: its finish reason if that decides, and how many openings its answer needs."""

    key: TrialKey
    finish: str | None
    parts: int
    replies: Mapping[str, tuple[str, ...]]
    """What helpers replied about it, as commitments."""


class _Rescoring:
    """One record's answers."""

    def __init__(self, record: RecordView, report: Report, run_code: bool) -> None:
        self.record, self.report = record, report
        self.shown = f"runs/{record.run_id}"
        self.same = 0
        self.unsure = 0
        """Answers of which a scorer could not say this time what it said then."""
        self.unread = 0
        """Answers that no scorer was run on."""
        self.left_out: dict[str, str] = {}
        """Scorers that were not run, by name, with their type."""
        opened = self._plan_texts()
        made = {item.name: self._scorer(item, opened, run_code) for item in record.plan.scorers}
        self.applicable = {case.id: record.matrix.applicable(case) for case in record.matrix.cases}
        self.applied: dict[str, Applied] = {
            case: [(item, scorer) for item in scorers if (scorer := made[item.name]) is not None]
            for case, scorers in self.applicable.items()
        }
        where = f"{self.shown}: case"
        planned = record.plan.test_set.cases
        held = {case.id: codec.decode(Case, opened[case.commitment], f"{where} {case.id}") for case in planned}
        self.cases = {case.id: held[case.id] for case in record.matrix.cases}
        self.numbers = numbered(record.plan.scorers, record.plan.pass_mark, list(held.values()))
        self._check_classes()
        self.configurations = {item.name: item for item in record.plan.configurations}
        self.helpers = {item.name: item for item in record.plan.helpers}

    def _check_classes(self) -> None:
        """Compare the class of each case with its label: two labels under one number would be one."""
        for case in self.record.plan.test_set.cases:
            wanted = {name: each.of_case[case.id] for name, each in self.numbers.items() if case.id in each.of_case}
            if wanted != case.classes:
                message = f"case {case.id}: its label is not of the class that the plan says"
                self.report.found("RESCORE", message, f"{self.shown}/plan.json")

    def _plan_texts(self) -> dict[str, Json]:
        """Return the plan's cases and texts by commitment; the verified content opens each."""
        plan = self.record.plan
        needed = set(plan_commitments(plan))
        held = {case.commitment: case.opening.value for case in plan.test_set.cases if case.opening is not None}
        return held | {name: value for name, value in openings(self.record.folder, self.shown) if name in needed}

    def _scorer(self, scorer: Scorer, opened: Mapping[str, Json], run_code: bool) -> ScorerObject | None:
        """Return a scorer, or None for one that runs code nobody asked for.

        Raises:
            SpecError: nobody here has it, or it cannot be made.
        """
        if scorer.type in ASKING or (scorer.type not in DETERMINISTIC and not run_code):
            self.left_out[scorer.name] = scorer.type
            return None
        project = self.record.folder.parent.parent
        for file in scorer.files:
            if not is_pinned(project, file):
                hint = "put it back as it was when the run began"
                raise SpecError(f"{file.path} is not the file that the plan pins", hint=hint, code="FILE-CHANGED")
        texts: Texts = {(text.role, text.name): opened[text.commitment] for text in scorer.texts}
        return ScorerInContext(make_scorer(scorer, texts, Own()), ScorerContext(project=project, environ=os.environ))

    async def run(self) -> None:
        """Score each answer once its opening, its transcript's and those of its replies have gone by."""
        wanted = self._answers()
        held: dict[TrialKey, dict[str, Json]] = {}
        for commitment, value in openings(self.record.folder, self.shown):
            for asked, part in wanted.pop(commitment, ()):
                parts = held.setdefault(asked.key, {})
                parts[commitment if part == "reply" else part] = value
                if len(parts) == asked.parts:
                    await self._again(asked, held.pop(asked.key))
        self.unread += len(held)

    async def _again(self, asked: _Asked, parts: Mapping[str, Json]) -> None:
        """Score one answer."""
        key = asked.key
        applied, cell, configuration = self.applied[key[1]], self.record.board.cells[key], self.configurations[key[0]]
        case, transcript = self.cases[key[1]], parts.get("transcript")
        if not applied:
            self.unread += 1
            return
        answer = Answer(
            text=canonical.text_in(parts["answer"]),
            finish="length" if cell.cause == "truncated" else asked.finish,
            served=configuration.model_id,
            transcript=transcript,
            refusal=cell.cause == "refusal",
        )
        if cell.cause == "bad_format" and not (isinstance(transcript, dict) and FORM in transcript):
            answer = replace(answer, unreadable=read_form(answer, case, configuration).unreadable)

        def asking(scorer: Scorer) -> ScorerContext:
            helper = self.helpers.get(scorer.helper or "")
            kept = [parts[item] for item in asked.replies.get(scorer.name, ())]
            return ScorerContext(replies=tuple(reply_of(item, helper) for item in kept if helper is not None))

        judged = await judge_answer(answer, case, configuration, applied, asking)
        self._compare(key, cell, judged, applied)
        said = said_by(self.numbers, judged, case, answer.text)
        if cell.said != said:
            message = f"{_name(key)}: recorded as naming the classes {_classes(cell.said)}; read again {_classes(said)}"
            self.report.found("RESCORE", message, self.shown)

    def _answers(self) -> dict[str, list[tuple[_Asked, str]]]:
        """Return the trials with an answer by what opens it and what came with it, each with which it is.

        They are those that were decided, and those of which a scorer is said not to have known what they are worth.

        Raises:
            VerificationError: RECORD-ROOT: the record has changed since it was verified.
        """
        found: dict[str, list[tuple[_Asked, str]]] = {}
        for end, where in self._ends():
            unscored = end.cause == "scorer" and end.attempt == self.record.board.cells[end.trial].attempts
            if end.outcome not in DECIDED and not unscored:
                continue
            private = end.private
            if private.answer is not None:
                finish = end.finish if end.finish in ("length", "content_filter") else None
                others = {reply: "reply" for replies in private.replies.values() for reply in replies}
                others |= {} if private.transcript is None else {private.transcript: "transcript"}
                asked = _Asked(end.trial, finish, 1 + len(others), private.replies)
                for commitment, part in ({private.answer: "answer"} | others).items():
                    holders = found.setdefault(commitment, [])
                    holders.append((asked, part))
                    if len(holders) > 1:  # each has a salt of its own
                        message = f"{_name(end.trial)}: its {part} is that of {_name(holders[0][0].key)}"
                        self.report.found("RESCORE", message, where)
            elif end.cause is None:
                self.report.found("RESCORE", f"{_name(end.trial)}: it was scored, and no answer is committed", where)
        return found

    def _ends(self) -> Iterator[tuple[TrialEnd, str]]:
        shown = f"{self.shown}/record.jsonl"
        log = LogFile(self.record.folder / "record.jsonl", shown, self.record.size)
        for where, _, body in record_entries(log):
            if isinstance(body, TrialEnd):
                yield body, where
        if log.frontier.root() != self.record.signed.checkpoint.root:
            raise VerificationError("it changed while it was read", where=shown, code="RECORD-ROOT")

    def _compare(self, key: TrialKey, cell: Cell, judged: Judgement, applied: Applied) -> None:
        """Compare what the scorers say now with what the record says."""
        now = {name: micro(value) for name, value in (judged.metrics or {}).items()}
        then = {name: cell.value(name) for scorer, _ in applied for name in scorer.metrics}
        wrong = [name for name, value in now.items() if then[name] is not None and value != then[name]]
        new = {name: scorer for scorer, _ in applied for name in scorer.metrics if name in now and then[name] is None}
        late = any(_ends_at_a_time(scorer) for scorer in new.values())
        wrong += [] if late else new
        whole = len(applied) == len(self.applicable[key[1]])
        untold = bool(judged.unknown) or late
        if wrong or (not untold and not _agree(judged, cell, whole)):
            recorded, again = _told(cell.outcome, cell.cause, then), _told(judged.outcome, judged.cause, now)
            self.report.found("RESCORE", f"{_name(key)}: recorded {recorded}; scored again {again}", self.shown)
        elif late or any(then[name] is not None for name in judged.unknown or {}):
            self.unsure += 1
        else:
            self.same += 1

    def tell(self) -> None:
        """Say how far it went; what could not be confirmed makes the check no PASS."""
        left = "; ".join(
            f"{name} ({kind}) was not run: {'it would ask its helper' if kind in ASKING else '--run-code runs it'}"
            for name, kind in self.left_out.items()
        )
        told = f"{counted(self.same, 'answer')} scored again, as recorded" + (f"; {left}" if left else "")
        if self.unsure:
            one = f"of {counted(self.unsure, 'answer')} a scorer could not say this time what it said then"
            self.report.skip(CHECK, f"{one}; {told}")
        elif self.unread and not self.same:
            self.report.skip(CHECK, f"no answer was scored again: {left}")
        else:
            self.report.passed(CHECK, told)


def _ends_at_a_time(scorer: Scorer) -> bool:
    return scorer.type in TIMED or scorer.type not in DETERMINISTIC or scorer.settings.get("mode") == "schema"


def _agree(judged: Judgement, cell: Cell, whole: bool) -> bool:
    """Say whether outcome, cause and verdict are those of the record.

    Of some of a trial's scorers only a failure tells something: what failed by one of them has not passed.
    """
    if whole:
        return (judged.outcome, judged.cause, judged.verdict) == (cell.outcome, cell.cause, cell.verdict)
    return not (judged.outcome == "failed" and cell.outcome == "passed")


def _name(key: TrialKey) -> str:
    return f"{key[0]} {key[1]} repeat {key[2]}"


def _told(outcome: str, cause: str | None, values: Mapping[str, int | None]) -> str:
    """Return an outcome with its metrics, in words."""
    parts: Sequence[str] = [f"{name} {'unknown' if v is None else f'{v / 1e6:g}'}" for name, v in values.items()]
    return ", ".join([outcome + (f" ({cause})" if cause else ""), *parts])


def _classes(said: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(said.items())) or "none"
