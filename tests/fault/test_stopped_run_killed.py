# SPDX-License-Identifier: Apache-2.0
"""kill -9 in a run that may stop early: it goes on in the same order, and ends where it would have ended."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from processes import MODEL, Stopped
from small_project import SmallProject, plan_text

from trialplate.record import canonical, codec
from trialplate.record.matrix import stop_order
from trialplate.record.values import Plan

CASES = "id,input,reference,tags\n" + "".join(f"q{n},question {n},Paris,\n" for n in range(1, 21))
STOP = "  stop: {mode: sealed}\n"


@pytest.mark.parametrize("jobs", [1, 8])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_run_that_may_stop_goes_on_in_its_order_after_it_was_ended(tmp_path: Path, jobs: int, number: int) -> None:
    """What was asked is kept, nothing is asked twice but what was lost, and the rest of the order is not needed."""
    project = SmallProject.write(tmp_path, plan_text(MODEL, repeats=1, mark="0.5", extra=STOP), CASES)
    assert project("keys", "new", "small").code == 0
    assert project("ledger", "init", "small").code == 0
    stopped = Stopped(project, 5, jobs=jobs)
    status, _ = stopped.signal(number)
    assert status == (-9 if number == signal.SIGKILL else 130)
    environ = {"CALLS": str(stopped.calls), "BLOCK_AT": "1000"}
    said = project("resume", "latest", "--jobs", str(jobs), **environ)
    assert said.code == 0, said.err
    entries = [canonical.decode(line) for line in (project.last / "record.jsonl").read_bytes().splitlines()]
    plan = codec.decode(Plan, canonical.decode((project.last / "plan.json").read_bytes()))
    order = stop_order(entries[0]["body"]["seed"], plan.test_set.cases)
    close = entries[-1]["body"]
    (told,) = close["not_needed"]
    assert (close["complete"], close["reason"]) == (True, "sealed")
    assert told["cases"] + told["trials"] == 20
    assert 10 <= told["cases"] <= 10 + jobs
    first = [e["body"]["trial"][1] for e in entries if e["type"] == "trial.start" and e["body"]["attempt"] == 1]
    assert first == list(order[: told["cases"]])
    assert project.codes() == set()
    again = project("resume", "latest", **environ)
    assert (again.code, "are not needed, and nothing was asked" in again.err) == (0, True)
    evidence = json.loads(project("gate", "latest", "--json", "--no-append").out)
    assert "accepted" in json.dumps(evidence) or "reasked" in json.dumps(evidence)
