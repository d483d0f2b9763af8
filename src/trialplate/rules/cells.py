# SPDX-License-Identifier: Apache-2.0
"""What became of each trial: attempts folded into cells, in the order in which the record tells them.

A cell is known when its last attempt was decided. Everything else (an error, a lost attempt, nothing at all) leaves it
unknown, which is neither a pass nor a fail nor absent; but for one that is incompatible, which nobody ever asks: it is
settled, without credit. The engine counts with this fold and the verifier recounts with
it, so both mean the same by every number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import get_args

from trialplate.record.entries import DECIDED, OUTCOMES, Counts, OwnCause, TrialEnd, TrialKey, TrialStart
from trialplate.record.matrix import Matrix
from trialplate.record.values import Configuration, Retry

__all__ = ["MICRO", "PARTS", "Board", "Cell", "micro", "most_attempts", "serves", "under_test", "unsettled"]

MICRO = 1_000_000
"""Metric values are counted in millionths: quantised to 6 decimals when written, summed as integers when read."""

OWN_CAUSES: frozenset[str] = frozenset(get_args(OwnCause))
"""Causes for which a model may have failed by itself: then every metric of the trial is 0."""
HOSTED_RUNNERS = frozenset({"openai", "anthropic", "google", "mistralai", "deepseek", "xai", "alibaba", "moonshotai"})
HOSTED_RUNNERS |= {"openrouter", "openai-compatible"}
"""Runners that ask a provider for a model by its id."""
CALLING_RUNNERS = HOSTED_RUNNERS | {"http", "python"}
"""Runners whose every answer came by a call that its line names. (`command` names its calls, and did not always.)"""
FAR_END_RUNNERS = frozenset({"http", "command", "python", "agent"})
"""Runners whose far end is the thing under test: what it does once it was asked is its own."""
ASKING_NOBODY = frozenset({"stand-in", "trace"})
"""Runners that ask nobody: they read what was written before."""
SCORED_AGAIN = frozenset({"scorer", "interrupted"})
"""Causes of an error after an answer: a resumed run scores that answer again and asks nobody."""
MOST_REPLIES = 2
"""Replies of a helper about one answer, for ever: else whoever asks until the judge is kind finds a kind one."""
FEWEST_AT_MOST = 20
"""However few retries a plan allows: the attempts that a trial may take over all resumes."""
PARTS = {"wall_s": 1000, "latency_s": 1000, "cost": 10**9}
"""In how many parts a unit of a measure is counted; tokens are whole."""
AFTER_DECIDED = "an attempt begins after a decided one"

_DATE = r"[-@](20[0-9]{2}-?[01][0-9]-?[0-3][0-9])"


def micro(value: float) -> int | None:
    """Return a metric value in millionths, or None if it is outside [0,1] or has more than 6 decimals.

    The decimal text decides, never the binary float: 0.1 is one tenth.
    """
    if value in (0, 1):
        return int(value) * MICRO
    if not 0 < value < 1:
        return None
    scaled = Decimal(repr(value)).scaleb(6)
    whole = int(scaled)
    return whole if whole == scaled else None


def under_test(configuration: Configuration) -> bool:
    """Say whether the far end is the thing under test: also whatever is not asked for a model by its id."""
    unnamed = configuration.model_id is None and configuration.runner not in ASKING_NOBODY
    return unnamed or configuration.runner in FAR_END_RUNNERS


def serves(configuration: Configuration, served: str | None) -> bool:
    """Say whether an answer came from the model that was asked.

    The far end must name it: the same id, that id with a date behind it, or one the author listed under `served`.
    A runner without a model id has nothing to compare.
    """
    asked = configuration.model_id
    if asked is None:
        return True
    if served is None:
        return False
    if served == asked or served in configuration.served:
        return True
    return served.startswith(asked) and re.fullmatch(_DATE, served[len(asked) :]) is not None


def most_attempts(retry: Retry, sessions: int) -> int:
    """Return how many attempts a trial may have: each session has the plan's own anew, and all together have an end."""
    own = retry.max_retries + 1
    return min(own * sessions, max(FEWEST_AT_MOST, own * 4))


class Cell:
    """One trial as far as it has come."""

    __slots__ = (
        "answer",
        "attempts",
        "cause",
        "cost_nano",
        "cost_unknown",
        "declared",
        "helper_nano",
        "helper_unknown",
        "input_tokens",
        "latency_ms",
        "lost",
        "metrics",
        "outcome",
        "output_tokens",
        "reasked",
        "received",
        "replayed",
        "replies",
        "retrying",
        "running",
        "said",
        "uncounted",
        "unpriced",
        "verdict",
        "wall_ms",
        "was_reasked",
    )

    def __init__(self) -> None:
        self.attempts = 0
        self.answer: tuple[int, str | None] | None = None
        """The attempt whose answer nobody could score, and the commitment to that answer."""
        self.running = False
        self.outcome = "absent"
        self.cause: str | None = None
        self.verdict: str | None = None
        self.metrics: Mapping[str, float] = {}
        self.replayed = False
        self.replies: Mapping[str, tuple[str, ...]] = {}
        """What helpers replied about the answer that nobody could score, as commitments."""
        self.helper_nano = 0
        self.helper_unknown = False
        self.reasked = False
        self.was_reasked = False
        """Before the attempt that is under way."""
        self.lost = 0
        self.received = False
        self.retrying = False
        """The last attempt said that another would follow."""
        self.cost_nano = 0
        self.cost_unknown = False
        self.unpriced = False
        """An attempt of unknown cost was answered, or may have been: one that ended before any answer is not billed."""
        self.declared = False
        """An attempt's tokens were counted by the thing under test itself."""
        self.latency_ms = 0
        self.wall_ms = 0
        """Of all attempts together, as are the tokens."""
        self.input_tokens = 0
        self.output_tokens = 0
        self.uncounted = False
        """An attempt that was answered, or may have been, says nothing of its tokens."""
        self.said: Mapping[str, int] = {}

    @property
    def known(self) -> bool:
        """Say whether the last attempt was decided."""
        return self.outcome in DECIDED and not self.running

    @property
    def incompatible(self) -> bool:
        """Say whether it was never asked, since its configuration does not take what the case is made of."""
        return self.outcome == "skipped" and self.cause == "incompatible"

    @property
    def settled(self) -> bool:
        """Say whether nothing is left to try: it was decided, or cannot be asked."""
        return self.known or self.incompatible

    @property
    def final(self) -> str:
        """Return the outcome; an attempt without an end is an error (its cause is `lost`)."""
        return "error" if self.running else self.outcome

    def value(self, metric: str) -> int | None:
        """Return the metric in millionths, None while it is unknown."""
        if self.running or metric not in self.metrics:
            return None
        return micro(self.metrics[metric])

    def amount(self, name: str, *, declared: bool) -> int | None:
        """Return what was measured of the trial, in the parts of `PARTS`; None while unknown.

        Args:
            name: one of `quantities.MEASURES`.
            declared: take tokens and costs that are the word of the thing under test.
        """
        if not self.known:
            return None
        if name == "wall_s":
            return self.wall_ms
        if name == "latency_s":
            return self.latency_ms
        if self.declared and not declared:
            return None
        if name == "cost":
            return None if self.unpriced or self.cost_unknown else self.cost_nano
        if self.uncounted:
            return None
        tokens = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        return tokens.get(name, self.input_tokens + self.output_tokens)

    def measure(self, name: str, *, declared: bool) -> Fraction | None:
        """Return the same in seconds, units of the currency, or tokens."""
        found = self.amount(name, declared=declared)
        return None if found is None else Fraction(found, PARTS.get(name, 1))


def unsettled(cells: Iterable[Cell | None]) -> int:
    """Return how many cells there is something left to try of; None is one that never began."""
    return sum(1 for cell in cells if cell is None or not cell.settled)


class Board:
    """Every cell of a matrix that has begun. `start` and `end` return a sentence when the order is impossible."""

    def __init__(self) -> None:
        self.cells: dict[TrialKey, Cell] = {}
        self.attempts = 0

    def start(self, body: TrialStart) -> str | None:
        """Count the beginning of an attempt."""
        cell = self.cells.get(body.trial)
        if cell is None:
            cell = self.cells[body.trial] = Cell()
        wrong = None
        if cell.settled:
            wrong = AFTER_DECIDED
        elif body.attempt != cell.attempts + 1:
            wrong = f"attempt {body.attempt} follows attempt {cell.attempts}"
        if cell.running:
            cell.lost += 1
            cell.unpriced = True
        cell.was_reasked = cell.reasked
        if cell.running or cell.received:
            cell.reasked = True
        cell.attempts, cell.running = body.attempt, True
        self.attempts += 1
        return wrong

    def end(self, body: TrialEnd) -> str | None:
        """Count the end of an attempt, or a trial that was left out."""
        if body.outcome == "skipped":
            return self._skip(body)
        cell = self.cells.get(body.trial)
        if cell is None or not cell.running or cell.attempts != body.attempt:
            return f"attempt {body.attempt} ends without having begun"
        cell.running, cell.retrying = False, body.retry
        cell.outcome, cell.cause, cell.verdict = body.outcome, body.cause, body.verdict
        cell.metrics, cell.said = body.metrics, body.said
        cell.wall_ms += body.wall_ms
        usage = body.usage
        if usage is not None and usage.input is not None and usage.output is not None:
            cell.input_tokens += usage.input
            cell.output_tokens += usage.output
        elif body.answer_of is None and (body.outcome in DECIDED or body.received):
            cell.uncounted = True
        wrong = None
        replayed = any(call.replayed for call in (*body.calls, *body.helper_calls))
        replies, held = body.private.replies, {} if body.answer_of is None else cell.replies
        if body.answer_of is None:
            cell.replayed = replayed
        else:  # nobody was asked but helpers: it is the earlier answer, as it came, with what they had replied
            cell.reasked, cell.replayed = cell.was_reasked, cell.replayed or replayed
            if cell.answer != (body.answer_of, body.private.answer) or body.calls:
                wrong = f"scores again an answer that attempt {body.answer_of} did not leave unscored"
        if any(replies.get(name, ())[: len(items)] != items for name, items in held.items()):
            wrong = "an earlier reply about the answer is not there any more"
        if any(len(items) > MOST_REPLIES for items in replies.values()):
            wrong = f"a helper replied more than {MOST_REPLIES} times about one answer"
        if sum(map(len, replies.values())) - sum(map(len, held.values())) > len(body.helper_calls):
            wrong = "a helper replied more often than it was called"
        again = body.outcome == "error" and body.cause in SCORED_AGAIN and body.private.answer is not None
        cell.answer = (body.attempt, body.private.answer) if again else None
        cell.replies = replies if again else {}
        cell.received = body.received > 0 or body.ended_by == "harness"
        cell.latency_ms = body.latency_ms
        cell.declared |= body.usage is not None and body.usage.declared
        if body.cost is None:
            cell.cost_unknown = True
            cell.unpriced |= body.outcome in DECIDED or cell.received
        else:
            cell.cost_nano += body.cost.nano
        if body.helper_cost is not None:
            cell.helper_nano += body.helper_cost.nano
        elif body.helper_calls:
            cell.helper_unknown = True
        if body.retry and body.outcome != "error":
            wrong = "a decided attempt says that it will be tried again"
        return wrong

    def _skip(self, body: TrialEnd) -> str | None:
        """Note a trial that was left out, by a budget or for good. It is no attempt: an error before it stays one."""
        cell = self.cells.get(body.trial) or Cell()
        if cell.running or cell.settled:
            return f"attempt {body.attempt} is skipped after one that is {'under way' if cell.running else 'decided'}"
        if body.attempt != cell.attempts + 1:
            return f"attempt {body.attempt} is skipped after attempt {cell.attempts}"
        if cell.attempts and body.cause == "incompatible":
            return "is said to be incompatible, and was asked before"
        self.cells[body.trial] = cell
        if not cell.attempts:
            cell.outcome, cell.cause = body.outcome, body.cause
        return None

    def of(self, matrix: Matrix, configuration: str) -> Iterator[tuple[str, list[Cell | None]]]:
        """Yield each planned case of a configuration with its repeats; None is a trial that never began."""
        row = matrix.counts[configuration]
        for case, repeats in zip(matrix.cases, row, strict=True):
            if repeats:
                yield case.id, [self.cells.get((configuration, case.id, r)) for r in range(1, repeats + 1)]

    def counts(self, matrix: Matrix) -> Counts:
        """Return the trials by outcome, over the whole matrix."""
        tally = dict.fromkeys(OUTCOMES, 0)
        replayed = reasked = 0
        for cell in self.cells.values():
            tally[cell.final] += 1
            replayed += cell.replayed
            reasked += cell.reasked
        return Counts(
            planned=matrix.size,
            absent=matrix.size - len(self.cells),
            attempts=self.attempts,
            replayed=replayed,
            reasked=reasked,
            **tally,
        )
