# SPDX-License-Identifier: Apache-2.0
"""The runner `trace`: reads an agent run that was recorded elsewhere from the file that its case names; asks nobody.

The answer is the run's final answer; without one, its steps as canonical JSON. The steps stand in the transcript.
Tokens and time are the file's own: the tokens are `declared`, and the cost is what they would cost at the plan's
prices. What a file means is said in `spec.traces`.
"""

from __future__ import annotations

from collections.abc import Sequence

from trialplate.errors import FormatError
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure, OfferedTool, Request, RunnerContext
from trialplate.spec.traces import read_trace
from trialplate.spec.trajectories import trajectory_json

__all__ = ["TraceRunner", "make"]


def make(configuration: Configuration, context: RunnerContext) -> TraceRunner:
    """Make the runner of one configuration."""
    return TraceRunner()


class TraceRunner:
    """Reads each case's recorded run."""

    async def answer(self, request: Request, tools: Sequence[OfferedTool] = ()) -> Answer:
        """Read the run.

        Raises:
            Failure: `not_started`: the case names no run, its bytes are not at hand, or they cannot be read.
        """
        digest = request.case.trace
        if digest is None or request.blob is None:
            raise Failure("not_started", f"case {request.case.id!r} names no trace that is at hand")
        data = request.blob(digest)
        try:
            trace = read_trace(data, f"the trace of case {request.case.id!r}")
        except FormatError as error:
            raise Failure("not_started", f"{error.where}: {error.message}") from None
        return Answer(
            text=trace.text,
            usage=trace.usage,
            latency_ms=trace.latency_ms or 0,
            received=len(data),
            transcript=trajectory_json(trace.steps),
        )

    async def close(self) -> None:
        """Nothing is held."""
