# SPDX-License-Identifier: Apache-2.0
"""Whether an attempt may start now: time, pace and money asked together, and taken all at once or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from trialplate.engine.budget import Allowance, Purse, charge
from trialplate.engine.open_trial import OpenTrial, Step
from trialplate.engine.pace import REFUSALS, Hold, Pace
from trialplate.engine.turns import FurtherTurns
from trialplate.record.entries import TrialKey, Usage
from trialplate.spec.bounds import AttemptBounds

__all__ = ["Admission", "LeftOut", "Permit"]

LeftOut = Literal["budget", "time"]
"""Why a trial is left out."""


class Permit(NamedTuple):
    """What an attempt took, to be settled when it ends."""

    tokens: int
    nano: int
    wave: int
    paced: bool = True


NOTHING = Permit(0, 0, 0, paced=False)
"""Of an attempt that nothing bounds, or that asks nobody."""


class Admission:
    """Lets attempts start. Only the schedule calls it, and never waits between asking and starting."""

    def __init__(
        self,
        pace: Pace,
        bounds: Mapping[str, AttemptBounds],
        purse: Purse | None = None,
        ends_at: float | None = None,
        recorded: Callable[[TrialKey], bool] = lambda key: False,
    ) -> None:
        """Take what bounds a session.

        Args:
            bounds: by configuration.
            purse: None if money is not bounded.
            ends_at: the clock's time from which no attempt starts; None if time is not bounded.
            recorded: says of a trial that its answer would be replayed: it costs nothing, and waits for nobody.
        """
        self.pace, self.bounds, self.purse, self.ends_at = pace, bounds, purse, ends_at
        self._recorded = recorded

    def ask(self, trial: OpenTrial, now: float) -> Permit | Hold | LeftOut:
        """Return a permit, with everything taken; or why the attempt waits; or why it is never made."""
        if self.ends_at is not None and now >= self.ends_at:
            return "time"
        name, case_id, _ = trial.key
        meter = self.pace.meter(name)
        if self.purse is None and (meter is None or not trial.asks):
            return NOTHING
        if trial.asks and trial.recorded is None:
            trial.recorded = self._recorded(trial.key)
        asks = trial.asks and not trial.recorded
        if self.purse is None and not asks:
            return NOTHING
        tokens = 0
        if meter is not None and asks:
            if meter.counts_tokens:
                tokens = self.bounds[name].of(case_id).request_tokens
            held = meter.hold(tokens, now)
            if held is not None:
                if self.purse is not None:
                    self.purse.step_back(trial)
                return held
        nano = 0
        if self.purse is not None:
            bound = self.bounds[name].of(case_id)
            answer = self.purse.reserve(trial, bound.whole if asks else bound.helping)
            if answer == "never":
                return "budget"
            if answer == "wait":
                return Hold(name, "budget: what is under way could use it up", None)
            nano = bound.cost.nano if bound.cost is not None and asks else 0
            trial.allowance = Allowance(self.purse, bound.helping or 0)
        paced = meter is not None and asks
        return Permit(tokens, nano, meter.begin(tokens, now) if meter is not None and asks else 0, paced)

    def further(self, trial: OpenTrial) -> FurtherTurns | None:
        """Return what the further requests of an attempt wait for; None if nothing bounds their pace."""
        name, case_id, _ = trial.key
        meter = None if trial.recorded else self.pace.meter(name)
        if meter is None:
            return None
        return FurtherTurns(meter, self.bounds[name].of(case_id).request_tokens if meter.counts_tokens else 0)

    def answered(self, trial: OpenTrial, permit: Permit, usage: Usage | None, now: float) -> None:
        """Give back an attempt's place with its provider: its answer has come, and is only scored from now on."""
        meter = self.pace.meter(trial.key[0]) if permit.paced else None
        if meter is None or trial.place_given_back:
            return
        trial.place_given_back = True
        if meter.counts_tokens and usage is not None and usage.input is not None and usage.output is not None:
            meter.correct(permit.tokens + trial.further_tokens, usage.input + usage.output, now)
        meter.account.accepted(now)

    def settle(self, trial: OpenTrial, permit: Permit, step: Step, now: float) -> None:
        """Put what an attempt came to in the place of what it took."""
        if self.purse is not None and trial.allowance is not None:
            helping, trial.allowance = trial.allowance.reserved, None
            self.purse.settle(permit.nano + helping, charge(step.end, permit.nano, helping))
        failure = step.failure
        if failure is None or failure.kind == "bad_reply":
            self.answered(trial, permit, step.end.usage, now)
        elif permit.paced and (meter := self.pace.meter(trial.key[0])) is not None:
            usage = step.end.usage
            if meter.counts_tokens and usage is not None and usage.input is not None and usage.output is not None:
                meter.correct(permit.tokens + trial.further_tokens, usage.input + usage.output, now)
            if failure.kind == "http_status" and failure.status in REFUSALS:
                own = step.delay_s if step.delay_s is not None else self.pace.backoff_s(trial.key[0])
                meter.account.refused(now, permit.wave, failure.status or 0, failure.retry_after_s, own)
            else:
                meter.account.failed()
