# SPDX-License-Identifier: Apache-2.0
"""V11, V12, V13 and V17: what each trial line may say, given the plan and the lines before it."""

from __future__ import annotations

from trialplate.record.entries import DECIDED, RunClose, TrialEnd, TrialStart
from trialplate.record.matrix import Matrix
from trialplate.record.values import Configuration, Plan, Pricing
from trialplate.rules.cells import (
    AFTER_DECIDED,
    CALLING_RUNNERS,
    MICRO,
    OWN_CAUSES,
    Board,
    micro,
    most_attempts,
    serves,
    under_test,
)
from trialplate.rules.compatible import may_be_incompatible
from trialplate.rules.cost import cost_of
from trialplate.verify.findings import Report, counted

__all__ = ["CellChecks"]

PASS_FAIL_TYPES = frozenset({"exact", "contains", "regex", "json-schema", "json-subset", "numeric", "choice"})
PASS_FAIL_TYPES |= {"value", "label", "trajectory"}
"""Scorers whose metric is 1 for a pass and 0 for a failure, so that the verdict follows from the metrics."""
NOT_SERVED = frozenset(
    {"rejected_request", "http_status", "exit_status", "closed_connection", "timeout", "bad_reply", "too_long"}
)
"""Causes without an answer, hence without a model's name."""
AT_A_LIMIT = frozenset({"truncated", "max_turns"})
"""What the outcome `limit` is for, and `failed` is not."""
NEVER_ERROR = frozenset({"empty", "refusal", "truncated", "rejected_request", "too_long", "bad_format", "max_turns"})
"""What only a model can do: calling it an error would take its failures out of the count."""


class CellChecks:
    """Checks trial lines one after the other and folds them into the board."""

    def __init__(self, plan: Plan, matrix: Matrix, board: Board, report: Report) -> None:
        self.matrix, self.board, self.report = matrix, board, report
        self.replayed = {"replay": {True}, "auto": {True, False}}.get(plan.cache, {False})
        self.configurations = {item.name: item for item in plan.configurations if item.name in matrix.counts}
        self.index = {case.id: number for number, case in enumerate(matrix.cases)}
        applicable = {case.id: matrix.applicable(case) for case in matrix.cases}
        self.metrics = {case: frozenset(m for s in scorers for m in s.metrics) for case, scorers in applicable.items()}
        self.further = {case: frozenset(m for s in scorers for m in s.also) for case, scorers in applicable.items()}
        self.prices: dict[str | None, Pricing | None] = {item.name: item.pricing for item in plan.helpers}
        self.helped = {case: [s for s in scorers if s.helper] for case, scorers in applicable.items()}
        self.derivable = {case: all(s.type in PASS_FAIL_TYPES for s in scorers) for case, scorers in applicable.items()}
        self.classes = {case.id: case.classes for case in plan.test_set.cases if case.classes}
        self.numbers = {(name, number) for classes in self.classes.values() for name, number in classes.items()}
        """Every class of every metric: of an answer that is none of them nothing is said."""
        self.sessions = 1
        """Times the run was opened."""
        self.request_ids: set[int] = set()
        self.reused = 0

    def start(self, body: TrialStart, where: str) -> None:
        """Check a trial.start and fold it."""
        if not self._planned(body, where):
            return
        wrong = self.board.start(body)
        if wrong is not None:
            code = "ATTEMPT-AFTER-DECIDED" if wrong is AFTER_DECIDED else "ATTEMPT-ORDER"
            self.report.found(code, f"{_name(body)}: {wrong}", where)
        if body.attempt > 1 and body.attempt > most_attempts(self.configurations[body.trial[0]].retry, self.sessions):
            self.report.found(
                "ATTEMPT-TOO-MANY", f"{_name(body)}: attempt {body.attempt} exceeds the plan's retries", where
            )

    def _planned(self, body: TrialStart | TrialEnd, where: str) -> bool:
        """Say whether a trial is in the matrix; one that is not is a finding."""
        name, case, repeat = body.trial
        row, number = self.matrix.counts.get(name), self.index.get(case)
        planned = row is not None and number is not None and repeat <= row[number]
        if not planned:
            self.report.found("MATRIX-UNPLANNED", f"{_name(body)} is not in the planned matrix", where)
        return planned

    def end(self, body: TrialEnd, where: str) -> None:
        """Check a trial.end and fold it; that of a skipped trial has no start, and says nothing but its cause."""
        skipped = body.outcome == "skipped"
        if skipped and not self._planned(body, where):
            return
        if skipped and not self._may_be_skipped(body):
            self.report.found("CELL-VALUE", f"{_name(body)}: a skipped trial says more than why it may be", where)
        wrong = self.board.end(body)
        if wrong is not None:
            self.report.found("ATTEMPT-ORDER", f"{_name(body)}: {wrong}", where)
        if skipped or wrong is not None:
            return
        configuration = self.configurations[body.trial[0]]
        self._far_end(body, configuration, where)
        self._values(body, where)
        if body.cost != cost_of(configuration.pricing, body.usage):
            self.report.found("COST", f"{_name(body)}: the cost is not the plan's prices times the tokens", where)
        own_word = under_test(configuration) or configuration.runner == "trace"
        told = body.usage is not None and (own_word or body.usage.cost_nano is not None) and not body.usage.declared
        if told and body.answer_of is None:
            self.report.found("COST", f"{_name(body)}: the far end's own count is not said to be one", where)
        self._helped(body, where)

    def _helped(self, body: TrialEnd, where: str) -> None:
        """V17: what helpers cost follows from their price, where one price is in play; who measured had a helper."""
        scorers, replies = self.helped[body.trial[1]], body.private.replies
        unheard = body.cause in (None, "scorer") and any(
            s.metric in body.metrics and not (replies.get(s.name) if s.type == "judge" else body.helper_calls)
            for s in scorers
        )
        if unheard or replies.keys() - {s.name for s in scorers}:
            self.report.found("CELL-VALUE", f"{_name(body)}: what its judges replied is not what they measured", where)
        asked = {s.helper for s in scorers}
        one, called = len(asked) == 1, bool(body.helper_calls)
        wanted = cost_of(self.prices.get(next(iter(asked))), body.helper_usage) if one and called else None
        told = (body.helper_usage, body.helper_cost) != (None, None) and not called
        if told or (called and not asked) or (one and body.helper_cost != wanted):
            self.report.found("COST", f"{_name(body)}: the helper's cost is not its price times its tokens", where)

    def _may_be_skipped(self, body: TrialEnd) -> bool:
        """Say whether a skipped trial says its cause alone: a budget, or what its plan says that its model takes."""
        bare = TrialEnd(trial=body.trial, attempt=body.attempt, outcome="skipped", cause=body.cause)
        allowed = may_be_incompatible(self.configurations[body.trial[0]])
        return body == bare and (body.cause == "budget" or (body.cause == "incompatible" and allowed))

    def finish(self, closed: RunClose | None, selection: str, not_needed: int = 0) -> None:
        """Say what was checked, once the last line is read.

        Args:
            not_needed: absent trials that a stop rule accounts for.
        """
        absent = self.matrix.size - len(self.board.cells) - not_needed
        cells = self.board.cells.values()
        undecided = sum(1 for cell in cells if cell.running or (cell.outcome == "skipped" and not cell.settled))
        if closed is not None and closed.complete and (absent > 0 or undecided):
            self.report.found("MATRIX-INCOMPLETE", f"says it is complete; {absent + undecided} trials have no outcome")
        planned = f"{self.matrix.size} planned trials" + (" of a pilot" if selection == "pilot" else "")
        dangling = sum(1 for cell in cells if cell.retrying and not cell.running)
        if closed is not None and closed.complete and dangling:
            message = f"says it is complete; {dangling} trials ended in an attempt that was to be tried again"
            self.report.found("ATTEMPT-ORDER", message)
        stopped = f"; {not_needed} were not needed" if not_needed else ""
        self.report.passed("V11", f"{len(self.board.cells)} of {planned} began, none other did{stopped}")
        self.report.passed(
            "V12", f"{counted(self.board.attempts, 'attempt')}, numbered in order; none follows a decided one"
        )
        self.report.passed("V13", "every answer says whether it was replayed and who served it")
        self.report.passed("V17", "every metric, verdict, outcome and cost follows from its line and the plan")
        if self.reused:
            message = f"{self.reused} live calls carry the request id of another"
            self.report.found("REQUEST-ID-REUSED", message, note=True)

    def _far_end(self, body: TrialEnd, configuration: Configuration, where: str) -> None:
        """V13: replayed only in a replay, live only in a live run, `auto` either; who answered is who was asked."""
        for call in (*body.calls, *body.helper_calls):
            if call.replayed not in self.replayed:
                word = "replayed call in a live run" if call.replayed else "live call in a replay"
                self.report.found("REPLAY-FLAG", f"{_name(body)}: a {word}", where)
        if body.requests and self.replayed != {True} and not any(call.replayed for call in body.calls):
            for item in body.requests:
                seen = hash(item)
                self.reused += seen in self.request_ids
                self.request_ids.add(seen)
        right = serves(configuration, body.served)
        answered = body.outcome in DECIDED and body.cause not in NOT_SERVED
        if answered and configuration.runner in CALLING_RUNNERS and not body.calls and body.answer_of is None:
            self.report.found("REPLAY-FLAG", f"{_name(body)}: an answer without the call that it came by", where)
        if answered and not right:
            self.report.found(
                "SERVED-FLAG", f"{_name(body)}: decided on an answer of {body.served or 'no named model'}", where
            )

    def _values(self, body: TrialEnd, where: str) -> None:
        """V17: metrics, verdict and outcome say the same."""
        wanted = self.metrics[body.trial[1]]
        values = {name: micro(value) for name, value in body.metrics.items()}
        if None in values.values():
            self.report.found("CELL-VALUE", f"{_name(body)}: a metric is outside [0,1] or finer than 6 decimals", where)
        given = values.keys() | body.unknown.keys()
        scored = body.outcome in DECIDED or body.cause == "scorer"
        answered = body.private.answer is not None or body.finish is not None
        if body.outcome == "error" and answered and not body.received and body.cause != "interrupted":
            self.report.found("CELL-VALUE", f"{_name(body)}: an answer of which nothing had arrived", where)
        if body.cause == "scorer" and not body.unknown:
            self.report.found("CELL-VALUE", f"{_name(body)}: a scorer failed, and every metric is known", where)
        doubled = len(given) < len(values) + len(body.unknown)
        if doubled or (given != wanted and (scored or not given <= wanted)) or (values and not scored):
            self.report.found("CELL-VALUE", f"{_name(body)}: its metrics are not those of its scorers", where)
        if body.said or body.trial[1] in self.classes:
            self._classes(body, values, where)
        problem = self._verdict_problem(body, values)
        if problem:
            self.report.found("CELL-VERDICT", f"{_name(body)}: {problem}", where)

    def _classes(self, body: TrialEnd, values: dict[str, int | None], where: str) -> None:
        """V17: of an answer that was scored it says which class it named, and that is right or wrong as the metric."""
        classes = self.classes.get(body.trial[1], {})
        scored = {name for name in classes if name in values and body.cause in (None, "scorer")}
        right = {name for name in scored if values[name] == MICRO}
        named = {name for name in scored if body.said.get(name) == classes[name]}
        if body.said.keys() - scored or right != named or set(body.said.items()) - self.numbers:
            message = f"{_name(body)}: the classes that it is said to have named are not what its metrics say"
            self.report.found("CELL-VALUE", message, where)

    def _verdict_problem(self, body: TrialEnd, values: dict[str, int | None]) -> str | None:
        """Return what the outcome contradicts, if anything."""
        own, configuration = body.cause in OWN_CAUSES, self.configurations[body.trial[0]]
        if body.outcome == "error":
            if body.verdict or body.cause is None:
                return "an error has a verdict, or no cause"
            if body.cause in NEVER_ERROR or (own and under_test(configuration) and not body.retry):
                return "an error for what the model, or the thing under test, did itself"
            return None
        if body.finish == "length" and body.outcome != "limit":
            return "cut off at its token limit, and yet not a limit"
        if own and (body.cause in AT_A_LIMIT) != (body.outcome == "limit"):
            return f"{body.outcome} for {body.cause}"
        if body.cause == "bad_format" and configuration.structured in (None, "none"):
            return "not in its form, and it was asked for none"
        if body.cause is not None and not own:
            return f"{body.outcome} for a cause that is the infrastructure's"
        if body.outcome == "needs_input" or (body.outcome != "passed" and own):
            zero = not any(values.values()) and not body.unknown and body.verdict != "passed"
            return None if zero else "a failure of the model's own has a metric above 0"
        if (
            body.verdict != body.outcome
            or own
            or (body.outcome == "passed" and body.unknown.keys() - self.further[body.trial[1]])
        ):
            return "outcome and verdict differ"
        if self.derivable[body.trial[1]]:
            seen = set(values.values())
            all_pass, some_fail = seen <= {MICRO} and not body.unknown, 0 in seen
            if all_pass != (body.outcome == "passed") or some_fail != (body.outcome == "failed"):
                return "the verdict does not follow from the metrics"
        return None


def _name(body: TrialStart | TrialEnd) -> str:
    name, case, repeat = body.trial
    return f"{name} {case} repeat {repeat}"
