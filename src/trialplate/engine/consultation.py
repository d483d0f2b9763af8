# SPDX-License-Identifier: Apache-2.0
"""Helpers at work: what the scorers of one attempt ask them, what they replied, and what that took.

A helper has its own retries, time limit and pace. It waits for its turn like any attempt, and whoever waits holds
nothing: the attempt that is being scored has given its own place back when its answer had come. So a candidate and its
judge can share one provider that takes one request at a time.

A failed call is no reply. What became of it is told to the scorer, which leaves its cell unknown; nothing is made up.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trialplate.engine.attempt import judge_failure, part_reasoning, retry_delay_s
from trialplate.engine.budget import Allowance, unbilled
from trialplate.engine.pace import REFUSALS, Pace
from trialplate.engine.turns import own_turn
from trialplate.record import canonical
from trialplate.record.entries import Call, Money, TrialKey, Usage
from trialplate.record.flaws import MAX_INTEGER
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Configuration, Scorer
from trialplate.rules.cells import serves
from trialplate.rules.cost import cost_of
from trialplate.runners.base import Answer, Failure, Request, Runner, RunnerContext
from trialplate.runners.embeddings import Embedder
from trialplate.runners.embeddings import make as make_embedder
from trialplate.runners.hosted import HostedRunner
from trialplate.runners.hosted import make as make_hosted
from trialplate.runners.usage import added_up
from trialplate.scorers.base import NO_CONTEXT, Question, Reply, ScorerContext, ScorerError
from trialplate.spec.bounds import UNSTATED_OUTPUT, dearest, output_limit, tokens_in

__all__ = ["Consultation", "Helper", "Helpers", "kept_reply", "make_helper", "reply_of"]

_NOTHING = Usage(input=0, output=0)


@dataclass(frozen=True)
class Helper:
    """A helper of the plan and the client that asks it."""

    configuration: Configuration
    client: Runner | Embedder
    texts: Mapping[tuple[str, str], Json]

    async def ask(self, request: Request, question: Question) -> Answer:
        """Make one call.

        Raises:
            Failure: there is no reply.
        """
        if isinstance(self.client, Embedder):
            return await self.client.embed(request, question.texts)
        return await self.client.answer(request)

    def recorded(self, request: Request, question: Question) -> bool:
        """Say whether nobody would be asked, since a recorded reply would be replayed."""
        if isinstance(self.client, Embedder):
            return self.client.recorded(request, question.texts)
        return isinstance(self.client, HostedRunner) and self.client.recorded(request)

    async def close(self) -> None:
        """Let go of what the client holds."""
        if not isinstance(self.client, Embedder):
            await self.client.close()


def make_helper(configuration: Configuration, context: RunnerContext) -> Helper:
    """Return a helper of the plan with its client.

    Raises:
        SpecError: it cannot be asked, or its key is not in the environment.
    """
    make = make_embedder if configuration.interface == "embeddings" else make_hosted
    return Helper(configuration, make(configuration, context), context.texts)


@dataclass(frozen=True)
class Helpers:
    """The helpers of a run, and what all who ask them share."""

    by_name: Mapping[str, Helper]
    texts: Mapping[str, Mapping[tuple[str, str], Json]]
    """Opened texts of scorers, by the scorer's name."""
    scrub: Callable[[str], str]

    def consult(
        self,
        case: Case,
        of: TrialKey,
        request_id: Callable[[], str],
        pace: Pace | None = None,
        earlier: Mapping[str, Sequence[Json]] | None = None,
        allowance: Allowance | None = None,
    ) -> Consultation:
        """Return what the scorers of one answer ask through.

        Args:
            of: the trial whose answer it is.
            request_id: makes an id for each call.
            pace: what bounds how fast they are asked; None bounds nothing.
            earlier: what was replied about the same answer before, by scorer.
            allowance: what they may spend; None bounds nothing.
        """
        return Consultation(self, case, of, request_id, pace, earlier or {}, allowance)


@dataclass
class _Spent:
    """What the calls to one helper took."""

    parts: list[Usage] = field(default_factory=list)
    unknown: bool = False


class Consultation:
    """What the scorers of one attempt ask their helpers."""

    def __init__(
        self,
        helpers: Helpers,
        case: Case,
        of: TrialKey,
        request_id: Callable[[], str],
        pace: Pace | None,
        earlier: Mapping[str, Sequence[Json]],
        allowance: Allowance | None,
    ) -> None:
        """Begin with nothing asked; see `Helpers.consult`."""
        self._helpers, self._texts, self._scrub = helpers.by_name, helpers.texts, helpers.scrub
        self._case, self._of, self._request_id = case, of, request_id
        self._pace, self._earlier, self._allowance = pace, earlier, allowance
        self.replies: dict[str, list[Json]] = {}
        """New replies by scorer, as they are kept."""
        self.calls: list[Call] = []
        self._spent: dict[str, _Spent] = {}

    def context(self, scorer: Scorer) -> ScorerContext:
        """Return what a scorer may ask and what was replied to it before."""
        if scorer.helper is None:
            return NO_CONTEXT
        helper = self._helpers[scorer.helper]
        earlier = tuple(reply_of(item, helper.configuration) for item in self._earlier.get(scorer.name, ()))

        async def ask(question: Question) -> Reply:
            return await self._ask(scorer, helper, question)

        return ScorerContext(ask=ask, replies=earlier)

    # ---------------------------------------------------------------------------------------------- what it came to

    @property
    def usage(self) -> Usage | None:
        """Return the tokens of all calls; None if there was none, or one that nobody counted."""
        parts = [part for spent in self._spent.values() for part in spent.parts]
        if not self.calls or any(spent.unknown for spent in self._spent.values()):
            return None
        return added_up(parts)

    @property
    def cost(self) -> Money | None:
        """Return the cost of all calls; None if there was none, or one whose cost is unknown."""
        costs = []
        for name, spent in self._spent.items():
            pricing = self._helpers[name].configuration.pricing
            costs.append(cost_of(pricing, None if spent.unknown else added_up(spent.parts)))
        known = [item for item in costs if item is not None]
        if not self.calls or len(known) < len(costs) or len({item.currency for item in known}) != 1:
            return None
        total = sum(item.nano for item in known)
        return Money(nano=total, currency=known[0].currency) if total <= MAX_INTEGER else None

    def _took(
        self, helper: Helper, bound: int, calls: tuple[Call, ...], usage: Usage | None, *, billed: bool = True
    ) -> None:
        """Count a call, and give back what it did not cost of its bound; of one that nobody counted nothing is."""
        if calls:
            self.calls += calls
            spent = self._spent.setdefault(helper.configuration.name, _Spent())
            if usage is not None and usage.input is not None and usage.output is not None:
                spent.parts.append(usage)
            elif billed:
                spent.unknown = True
                return
            else:
                usage = _NOTHING
                spent.parts.append(usage)
        if self._allowance is not None:
            replayed = all(call.replayed for call in calls)
            cost = None if replayed else cost_of(helper.configuration.pricing, usage)
            if cost is not None or replayed:
                self._allowance.give_back(bound - (0 if cost is None else cost.nano))

    def _set_aside(self, helper: Helper, request: Request, question: Question) -> int:
        """Set aside the most that a call can cost; returns it, in 10^-9.

        Raises:
            ScorerError: there is no money for it.
        """
        if self._allowance is None or helper.recorded(request, question):
            return 0
        money = dearest(helper.configuration, *_bound(helper, request, question))
        if money is not None and self._allowance.take(money.nano):
            return money.nano
        raise ScorerError(f"{helper.configuration.name} is not asked: the budget has no room for the call")

    # ------------------------------------------------------------------------------------------------------- asking

    async def _ask(self, scorer: Scorer, helper: Helper, question: Question) -> Reply:
        """Ask until a reply comes or no retry is left.

        Raises:
            ScorerError: no reply came.
        """
        configuration, texts = helper.configuration, self._texts.get(scorer.name, {})
        attempt = 0
        while True:
            attempt += 1
            request = self._request(scorer, helper, question, texts, attempt)
            bound = self._set_aside(helper, request, question)
            try:
                answer = await self._paced(helper, request, question)
            except Failure as failure:
                if failure.kind == "max_turns":
                    self._took(helper, bound, failure.calls, failure.usage)
                    return self._keep(scorer, configuration, {"text": "", "unfit": "it calls a tool"})
                judged = judge_failure(failure, configuration, ())
                billed = not unbilled(judged.cause, failure.status)
                self._took(helper, bound, failure.calls, failure.usage, billed=billed)
                if not (judged.transient and attempt <= configuration.retry.max_retries):
                    tries = f" (after {attempt} tries)" if attempt > 1 else ""
                    raise ScorerError(self._scrub(f"{configuration.name}: {failure.message}{tries}")) from failure
                await asyncio.sleep(_delay_s(failure, configuration, attempt))
                continue
            self._took(helper, bound, answer.calls, answer.usage)
            if not serves(configuration, answer.served):
                told = f"asked {configuration.model_id}, answered by {answer.served or 'no named model'}"
                raise ScorerError(self._scrub(f"{configuration.name}: {told}"))
            if configuration.interface == "embeddings":
                return Reply(vectors=_vectors(answer))
            return self._keep(scorer, configuration, kept_reply(answer, self._scrub))

    def _keep(self, scorer: Scorer, configuration: Configuration, kept: Json) -> Reply:
        self.replies.setdefault(scorer.name, []).append(kept)
        return reply_of(kept, configuration)

    def _request(
        self, scorer: Scorer, helper: Helper, question: Question, texts: Mapping[tuple[str, str], Json], attempt: int
    ) -> Request:
        own = helper.configuration
        return Request(
            configuration=own.replace(texts=(*own.texts, *question.documents)) if question.documents else own,
            case=Case(id=self._case.id, input=question.text, max_turns=1),
            texts={**helper.texts, **texts},
            repeat=self._of[2],
            attempt=attempt,
            timeout_s=own.limits.attempt_timeout_ms / 1000,
            request_id=self._request_id(),
            pins={"configuration": self._of[0], "scorer": scorer.name},
        )

    async def _call(self, helper: Helper, request: Request, question: Question) -> Answer:
        """Make one call; nobody knows what one costs that is cut off."""
        try:
            return await helper.ask(request, question)
        except asyncio.CancelledError:
            self._spent.setdefault(helper.configuration.name, _Spent()).unknown = True
            raise

    async def _paced(self, helper: Helper, request: Request, question: Question) -> Answer:
        """Make one call when its turn has come, and say how it went to whoever keeps the pace."""
        meter = None if self._pace is None else self._pace.meter(helper.configuration.name)
        if meter is None or helper.recorded(request, question):
            return await self._call(helper, request, question)
        tokens = sum(_bound(helper, request, question)) if meter.counts_tokens else 0
        await own_turn(meter, tokens)
        wave = meter.begin(tokens, time.monotonic())
        try:
            answer = await self._call(helper, request, question)
        except Failure as failure:
            now = time.monotonic()
            if failure.kind == "http_status" and failure.status in REFUSALS:
                own = _delay_s(failure, helper.configuration, request.attempt)
                meter.account.refused(now, wave, failure.status or 0, failure.retry_after_s, own)
            elif failure.kind == "bad_reply":
                meter.account.accepted(now)
            else:
                meter.account.failed()
            raise
        except BaseException:
            meter.account.failed()
            raise
        now = time.monotonic()
        usage = answer.usage
        if meter.counts_tokens and usage is not None and usage.input is not None and usage.output is not None:
            meter.correct(tokens, usage.input + usage.output, now)
        meter.account.accepted(now)
        return answer


def _delay_s(failure: Failure, configuration: Configuration, attempt: int) -> float:
    return retry_delay_s(failure, configuration, attempt, random.random())  # noqa: S311  how long to wait is no secret


def _bound(helper: Helper, request: Request, question: Question) -> tuple[int, int]:
    """Return the most tokens that a call may take, in and out."""
    held = (request.texts[text.role, text.name] for text in request.configuration.texts)
    sent = tokens_in([question.text, *question.texts, *(item for item in held if isinstance(item, str))])
    if helper.configuration.interface == "embeddings":
        return sent, 0
    return sent, output_limit(helper.configuration) or UNSTATED_OUTPUT


def _vectors(answer: Answer) -> tuple[tuple[float, ...], ...]:
    held: Any = answer.transcript
    return tuple(tuple(vector) for vector in held["embeddings"])


# -------------------------------------------------------------------------------------------------- replies as kept


def kept_reply(answer: Answer, scrub: Callable[[str], str]) -> Json:
    """Return a judge's reply as content.jsonl keeps it: its raw text; one that is unfit says why beside it."""
    text = canonical.text_out(scrub(answer.text))
    unfit = None
    if answer.refusal or answer.finish == "content_filter":
        unfit = "it is a refusal"
    elif answer.finish == "length":
        unfit = "it was cut off at its token limit"
    return text if unfit is None else {"text": text, "unfit": unfit}


def reply_of(kept: Json, configuration: Configuration) -> Reply:
    """Return a kept reply as a scorer reads it, its reasoning left out where the helper's plan says so."""
    unfit = None
    if isinstance(kept, dict) and "unfit" in kept:
        kept, unfit = kept["text"], str(kept["unfit"])
    text = canonical.text_in(kept)
    return Reply(text=part_reasoning(Answer(text=text), configuration).text, unfit=unfit)
