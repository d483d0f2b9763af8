# SPDX-License-Identifier: Apache-2.0
"""One trial: its attempts, each journaled before and after, until one decides or none is left.

The order on disk is the evidence: `trial.start`, then what opens the private parts, then `trial.end`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from trialplate.engine.attachments import attachments_of
from trialplate.engine.attempt import (
    Judgement,
    arrived,
    judge_answer,
    judge_failure,
    received,
    retry_delay_s,
    said_by,
)
from trialplate.engine.before import Before, Unscored
from trialplate.engine.consultation import Consultation
from trialplate.engine.forms import instructions_of, read_form, shape_of
from trialplate.engine.journal import Journal
from trialplate.engine.open_trial import OpenTrial, Step
from trialplate.engine.pace import Pace
from trialplate.engine.randomness import Randomness
from trialplate.engine.seats import Seat, Seats
from trialplate.engine.tally import Tally
from trialplate.engine.turns import FurtherTurns
from trialplate.record import canonical, codec
from trialplate.record.entries import Private, TrialEnd, TrialKey, TrialStart, Usage
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Opening
from trialplate.rules.cells import MOST_REPLIES, most_attempts
from trialplate.rules.cost import cost_of
from trialplate.runners.base import Answer, Failure, Recorded, Request
from trialplate.runners.scrubbed import scrubbed_json
from trialplate.verify.content import SHORTEST_LEAK, private_strings

__all__ = ["TrialRunner"]


class TrialRunner:
    """Runs trials against their seats and writes down everything that happens."""

    def __init__(
        self,
        seats: Seats,
        cases: Mapping[str, Case],
        journal: Journal,
        tally: Tally,
        before: Before,
        blob: Callable[[str], bytes],
    ) -> None:
        """Take what the trials of a session share.

        Args:
            blob: returns the bytes of the cases' files and traces, by digest.
        """
        self.seats, self.cases, self.scorers = seats.by_name, cases, seats.scorers
        self.journal, self.tally = journal, tally
        self.secrets, self.scrub = seats.secrets, seats.secrets.scrub
        self.pace: Pace | None = None
        """What bounds how fast helpers are asked."""
        self.further: Callable[[OpenTrial], FurtherTurns | None] = lambda trial: None
        """What the further requests of an attempt wait for."""
        self._helpers = seats.helpers
        self.before, self._blob = before, blob
        self._random = Randomness()
        self._texts_of = lru_cache(maxsize=64)(self._told_texts)
        self._unbegun = {name: self._attempts_after(0, name) for name in self.seats}
        self._numbers = seats.numbers
        self._recorded = {name: s.runner for name, s in self.seats.items() if isinstance(s.runner, Recorded)}

    def may_try(self, key: TrialKey) -> bool:
        """Say whether a trial is undecided and has an attempt left."""
        return self.before.wants(key) and bool(self._attempts(key))

    def _attempts(self, key: TrialKey) -> range:
        """Return the numbers of the attempts that a trial may have in this session."""
        cell = self.before.cells.get(key)
        return self._unbegun[key[0]] if cell is None else self._attempts_after(cell.attempts, key[0])

    def _attempts_after(self, made: int, name: str) -> range:
        retry = self.seats[name].configuration.retry
        most = most_attempts(retry, self.before.sessions + 1)
        return range(made + 1, min(made + retry.max_retries + 1, most) + 1)

    def recorded(self, key: TrialKey) -> bool:
        """Say whether a recorded answer would be replayed, so that nobody is asked."""
        runner = self._recorded.get(key[0])
        return runner is not None and runner.recorded(self._request(self.seats[key[0]], key, 1))

    def _request(self, seat: Seat, key: TrialKey, attempt: int) -> Request:
        """Return what a runner is given for an attempt."""
        case = self.cases[key[1]]
        return Request(
            configuration=seat.configuration,
            case=case,
            texts=seat.texts,
            repeat=key[2],
            attempt=attempt,
            timeout_s=seat.configuration.limits.attempt_timeout_ms / 1000,
            request_id=self._random.request_id(),
            shape=shape_of(case, seat.configuration),
            instructions=instructions_of(case, seat.configuration),
            files=attachments_of(case, seat.configuration, self._blob) if case.files else (),
            blob=self._blob,
        )

    def open(self, key: TrialKey) -> OpenTrial:
        """Begin with a trial: which attempts it may have. Nothing is written yet."""
        cell = self.before.cells.get(key)
        reasked = cell is not None and (cell.reasked or cell.running or cell.received)
        return OpenTrial(key, self._attempts(key), asks=key not in self.before.unscored, reasked=reasked)

    async def attempt(self, trial: OpenTrial) -> Step:
        """Make the next attempt of a trial.

        A cancelled attempt is ended as interrupted before the cancellation goes on.
        """
        seat = self.seats[trial.key[0]]
        if not trial.asks:
            end = await self._score_again(seat, trial, self.before.unscored[trial.key])
            return Step(end, None, None)
        number, last = trial.number, trial.number == trial.attempts[-1]
        trial.reasked = trial.reasked or trial.begun
        end, failure, cancelled = await self._attempt(seat, trial, number, last=last)
        trial.begun = end.received > 0 or end.ended_by == "harness"
        trial.end = end
        if cancelled:
            self.abandon(trial)
            raise asyncio.CancelledError
        if not end.retry or failure is None:
            self.abandon(trial)
            return Step(end, failure, None)
        delay = retry_delay_s(failure, seat.configuration, number - trial.attempts[0] + 1, random.random())
        return Step(end, failure, delay)

    def skip(self, trial: OpenTrial) -> TrialEnd:
        """Write down that the next attempt of a trial is not made, and count it.

        A trial that was asked before keeps the outcome that it had, and one whose last attempt was lost its line.
        """
        end = TrialEnd(trial=trial.key, attempt=trial.number, outcome="skipped", cause="budget")
        cell = self.before.cells.get(trial.key)
        if trial.end is not None or cell is None or not cell.running:
            self.journal.write(end)
        left_out = self.tally.left_out
        left_out[trial.key[0]] = left_out.get(trial.key[0], 0) + 1
        if trial.end is not None:
            self.abandon(trial)
        elif cell is None or not cell.attempts:
            self.tally.trial_done(end, attempts=0, reasked=trial.reasked, before=cell)
        return end

    def leave_out(self, key: TrialKey) -> TrialEnd:
        """Write down that a trial is never asked, since its configuration does not take the case, and count it."""
        end = TrialEnd(trial=key, attempt=1, outcome="skipped", cause="incompatible")
        self.journal.write(end)
        self.tally.trial_done(end, attempts=0, reasked=False, before=self.before.cells.get(key))
        return end

    def abandon(self, trial: OpenTrial) -> None:
        """Count a trial as its attempts of this session left it."""
        if trial.end is not None:
            self._done(trial.end, trial.attempts[0], reasked=trial.reasked)

    def _done(self, end: TrialEnd, first: int, *, reasked: bool) -> None:
        """Count a trial whose attempts of this session began with number `first`."""
        before, attempts = self.before.cells.get(end.trial), end.attempt - first + 1
        unjudged = end.cause == "scorer" and any(
            len(end.private.replies.get(scorer.name, ())) >= MOST_REPLIES and end.unknown.keys() & set(scorer.metrics)
            for scorer, _ in self.scorers[end.trial[1]]
        )
        self.tally.trial_done(end, attempts=attempts, reasked=reasked, before=before, unjudged=unjudged)

    async def _score_again(self, seat: Seat, trial: OpenTrial, unscored: Unscored) -> TrialEnd:
        """Make an attempt that asks nobody: an earlier answer, scored once more."""
        key = trial.key
        attempt = self._attempts(key)[0]
        self.journal.write(TrialStart(trial=key, attempt=attempt))
        self.tally.began()
        began, earlier, cancelled = time.monotonic(), unscored.end, False
        answer = Answer(
            text=unscored.text, finish=earlier.finish, served=earlier.served, transcript=unscored.transcript
        )
        asked = self._consultation(trial, unscored.replies)
        case = self.cases[key[1]]
        try:
            judgement = await judge_answer(answer, case, seat.configuration, self.scorers[key[1]], asked.context)
        except asyncio.CancelledError:
            judgement, cancelled = Judgement("error", "interrupted", ended_by="harness", error="interrupted"), True
        nothing = Usage(input=0, output=0)
        told = self._committed(self._told(judgement))
        end = TrialEnd(
            trial=key,
            attempt=attempt,
            outcome=judgement.outcome,
            cause=judgement.cause,
            ended_by=judgement.ended_by,
            metrics=judgement.metrics or {},
            unknown=judgement.unknown or {},
            said=said_by(self._numbers, judgement, case, answer.text),
            verdict=judgement.verdict,
            usage=nothing,
            cost=cost_of(seat.configuration.pricing, nothing),
            latency_ms=earlier.latency_ms,
            wall_ms=round((time.monotonic() - began) * 1000),
            received=earlier.received,
            answer_of=earlier.attempt,
            finish=earlier.finish,
            served=earlier.served,
            helper_calls=tuple(asked.calls),
            helper_usage=asked.usage,
            helper_cost=asked.cost,
            private=self._with_replies(earlier.private.replace(reason=None, error=None).replace(**told), asked),
        )
        self.journal.write(end)
        self.tally.spent(end, judgement.error)
        cell = self.before.cells[key]
        self._done(end, attempt, reasked=cell.reasked)
        if cancelled:
            raise asyncio.CancelledError
        return end

    def _consultation(self, trial: OpenTrial, earlier: Mapping[str, Sequence[Json]] | None = None) -> Consultation:
        """Return what the scorers of an answer ask their helpers through."""
        case, request_id = self.cases[trial.key[1]], self._random.request_id
        return self._helpers.consult(case, trial.key, request_id, self.pace, earlier, trial.allowance)

    def _with_replies(self, private: Private, asked: Consultation) -> Private:
        """Journal what opens new replies, and return the private parts with them behind the earlier ones."""
        replies = dict(private.replies)
        for scorer, items in asked.replies.items():
            found = self._committed({str(number): item for number, item in enumerate(items)})
            replies[scorer] = (*replies.get(scorer, ()), *found.values())
        return private.replace(replies=replies) if replies else private

    async def _attempt(
        self, seat: Seat, trial: OpenTrial, attempt: int, *, last: bool
    ) -> tuple[TrialEnd, Failure | None, bool]:
        """Make one attempt: journal its start, ask, judge, journal its end; says whether it was cancelled."""
        key = trial.key
        self.journal.write(TrialStart(trial=key, attempt=attempt))
        self.tally.began()
        request = self._request(seat, key, attempt)
        began = time.monotonic()
        answer: Answer | None = None
        failure: Failure | None = None
        scorers = self.scorers[key[1]]
        asked = self._consultation(trial)
        try:
            answer = arrived(await self._asked(seat, trial, request), seat.configuration, self.secrets)
            answer = read_form(answer, request.case, seat.configuration)
            if self._helpers.by_name:
                trial.answered(answer.usage)
            judgement = await judge_answer(answer, request.case, seat.configuration, scorers, asked.context)
        except Failure as caught:
            failure = caught
            judgement = judge_failure(caught, seat.configuration, [scorer for scorer, _ in scorers])
        except asyncio.CancelledError:
            cut = Judgement("error", "interrupted", ended_by="harness", error="interrupted")
            return self._end(key, attempt, cut, answer, None, seat, began, asked, retry=False), None, True
        retry = judgement.transient and not last
        if retry and judgement.outcome != "error":
            judgement = Judgement("error", judgement.cause, True, judgement.ended_by, error=judgement.error)
        return self._end(key, attempt, judgement, answer, failure, seat, began, asked, retry=retry), failure, False

    async def _asked(self, seat: Seat, trial: OpenTrial, request: Request) -> Answer:
        """Ask for an answer, with the tools of the case."""
        trial.further_tokens = 0
        several = request.case.tools or "server_tools" in seat.configuration.settings
        further = self.further(trial) if several else None
        if further is None:
            return await seat.runner.answer(request, seat.offered(request.case))
        try:
            return await seat.runner.answer(replace(request, next_turn=further), seat.offered(request.case))
        finally:
            trial.further_tokens = further.taken

    def _end(
        self,
        key: TrialKey,
        attempt: int,
        judgement: Judgement,
        answer: Answer | None,
        failure: Failure | None,
        seat: Seat,
        began: float,
        asked: Consultation,
        *,
        retry: bool,
    ) -> TrialEnd:
        """Journal the openings and the end of an attempt."""
        far = answer if answer is not None else failure
        usage = far.usage if far is not None else None
        end = TrialEnd(
            trial=key,
            attempt=attempt,
            outcome=judgement.outcome,
            cause=judgement.cause,
            status=failure.status if failure is not None else None,
            retry=retry,
            ended_by=judgement.ended_by,
            metrics=judgement.metrics or {},
            unknown=judgement.unknown or {},
            said=said_by(self._numbers, judgement, self.cases[key[1]], answer.text if answer is not None else ""),
            verdict=judgement.verdict,
            usage=usage,
            cost=cost_of(seat.configuration.pricing, usage),
            latency_ms=far.latency_ms if far is not None else 0,
            wall_ms=round((time.monotonic() - began) * 1000),
            received=received(answer, failure),
            finish=self._public(answer.finish, key, answer) if answer is not None else None,
            served=self._served(far.served, key, answer) if far is not None else None,
            requests=tuple(i for i in (far.request_ids if far is not None else ()) if self._public(i, key, answer)),
            calls=far.calls if far is not None else (),
            helper_calls=tuple(asked.calls),
            helper_usage=asked.usage,
            helper_cost=asked.cost,
            private=self._with_replies(self._private(judgement, answer, failure, key), asked),
        )
        self.journal.write(end)
        self.tally.spent(end, judgement.error)
        return end

    def _served(self, text: str | None, key: TrialKey, answer: Answer | None) -> str | None:
        """Return the served model's name: what the plan names itself may always stand in the open."""
        configuration = self.seats[key[0]].configuration
        if text is not None and text in (configuration.model_id, *configuration.served):
            return text
        return self._public(text, key, answer)

    def _public(self, text: str | None, key: TrialKey, answer: Answer | None) -> str | None:
        """Return what a far end named if it may stand in the open: short, and no echo of a private text.

        A far end could put a prompt into a header; the record would publish it.
        """
        if not text or len(text) > 128 or not text.isascii() or not text.isprintable():
            return None
        if len(text) < SHORTEST_LEAK:
            return text
        held = [*self._texts_of(key[0], key[1])]
        held += [answer.text, *private_strings(answer.transcript)] if answer is not None else []
        return None if any(text in item or (len(item) >= SHORTEST_LEAK and item in text) for item in held) else text

    def _told_texts(self, name: str, case: str) -> Sequence[str]:
        """Return the private texts of a trial that could come back: of its case, its prompts and its tools."""
        seat = self.seats[name]
        tools: list[Json] = [[item.tool.description, dict(item.tool.parameters)] for item in seat.tools.values()]
        parts = [codec.to_json(self.cases[case]), *seat.texts.values(), *tools]
        return [text for part in parts for text in private_strings(part)]

    def _private(self, judgement: Judgement, answer: Answer | None, failure: Failure | None, key: TrialKey) -> Private:
        """Journal what opens the private parts, and return their commitments."""
        found: dict[str, Json] = {}
        if answer is None and failure is not None and failure.transcript is not None:
            found["transcript"] = scrubbed_json(failure.transcript, self.scrub)
        if answer is not None:
            found["answer"] = canonical.text_out(answer.text)
            if answer.transcript is not None:
                found["transcript"] = answer.transcript
            if answer.served is not None and self._served(answer.served, key, answer) is None:
                found["served"] = canonical.text_out(answer.served)
        return Private().replace(**self._committed({**found, **self._told(judgement)}))

    def _told(self, judgement: Judgement) -> dict[str, Json]:
        """Return what the scorers said and what went wrong."""
        found: dict[str, Json] = {}
        if judgement.reasons:
            told = judgement.reasons.items()
            found["reason"] = {name: canonical.text_out(self.scrub(reason)) for name, reason in told}
        if judgement.error:
            found["error"] = canonical.text_out(self.scrub(judgement.error))
        return found

    def _committed(self, parts: Mapping[str, Json]) -> dict[str, str]:
        """Journal what opens the parts of one attempt, each under a fresh random salt; returns their commitments."""
        openings = [Opening(salt=self._random.salt(), value=value) for value in parts.values()]
        return dict(zip(parts, self.journal.openings(openings), strict=True))
