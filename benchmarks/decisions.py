# SPDX-License-Identifier: Apache-2.0
"""How long the arithmetic of decisions takes: one bound, a whole decision, what a plan shows. No process is started.

Usage: decisions.py [--json]; prints milliseconds, the median of several turns.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable

from trialplate.engine.foresight import foresee
from trialplate.engine.spread import ASSUMED, Spread
from trialplate.record.entries import Money, TrialEnd, TrialStart
from trialplate.record.matrix import narrow
from trialplate.record.values import (
    Choose,
    Configuration,
    Evidence,
    MatrixLine,
    PassMark,
    Plan,
    PlanCase,
    PlanTestSet,
    Pricing,
    Rule,
    Scorer,
    Selector,
)
from trialplate.rules.bounds import guarded
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import evaluate_all

TAGS = ("a", "b", "c")


def rules() -> tuple[Rule, ...]:
    """Return twelve rules of all kinds that read cells."""
    floors = [
        Rule(id=f"r{n}", basis="bound", at_least="0.8", of="correct", where=Selector(tag=(TAGS[n % 3],)))
        for n in range(7)
    ]
    return (
        *floors,
        Rule(id="trials", basis="bound", at_least="0.8", of="trial_pass_rate"),
        Rule(id="tags", basis="bound", at_least="0.7", of="correct", each="tag"),
        Rule(id="beside", basis="bound", not_worse_than="m0", by="0.05", of="correct"),
        Rule(id="must", must_pass=Selector(tag=("a",)), require="majority"),
        Rule(id="quick", basis="bound", at_least="0.9", of="share:wall_s:8"),
    )


def plan(cases: int, repeats: int, models: int, marks: tuple[Rule, ...], choose: Choose | None) -> Plan:
    """Return a plan of so many cases, repeats and candidates."""
    names = [f"m{n}" for n in range(models)]
    return Plan(
        name="decisions",
        test_set=PlanTestSet(
            name="set",
            root="sha256:" + "0" * 64,
            cases=tuple(PlanCase(id=f"q{n}", tags=(TAGS[n % 3],), commitment=f"{n:043}") for n in range(cases)),
        ),
        configurations=tuple(
            Configuration(name=n, model=n, profile="default", runner="stand-in", pricing=Pricing(input="1", output="1"))
            for n in names
        ),
        scorers=(Scorer(name="correct", type="exact", metric="correct"),),
        matrix=(MatrixLine(configurations=tuple(names), repeats=repeats),),
        pass_mark=PassMark(rules=marks, choose=choose, evidence=Evidence(complete="0")),
        software="trialplate bench",
    )


def board(made: Plan) -> Board:
    """Return answers of models that are right in about nine of ten trials."""
    drawn, found = random.Random(1), Board()
    for name, case, repeat in narrow(made, None).trials():
        found.start(TrialStart(trial=(name, case, repeat), attempt=1))
        word = "passed" if drawn.random() < 0.9 else "failed"
        value = 1.0 if word == "passed" else 0.0
        found.end(
            TrialEnd(
                trial=(name, case, repeat),
                attempt=1,
                outcome=word,
                verdict=word,
                metrics={"correct": value},
                cost=Money(nano=1000, currency="USD"),
                wall_ms=900,
            )
        )
    return found


def timed(work: Callable[[], object], turns: int) -> float:
    """Return the median of several turns in milliseconds of this process's own time."""
    took = []
    for _ in range(turns):
        began = time.process_time()
        work()
        took.append((time.process_time() - began) * 1000)
    return statistics.median(took)


def main() -> None:
    """Measure and print."""
    drawn = random.Random(2)
    means = [drawn.randint(0, 5) / 5 for _ in range(200)]
    large = plan(1000, 5, 10, rules(), Choose(by="best", of="correct", within="0.05", basis="bound"))
    cells, matrix = board(large), narrow(large, None)
    small = plan(200, 5, 1, rules()[:3], None)
    found = {
        "guarded bound, 200 cases": timed(lambda: guarded(means, 0.05), 51),
        "decision, 10 x 1,000 x 5, 12 rules": timed(lambda: evaluate_all(large, matrix, cells, Circumstances()), 5),
        "what a plan shows, 200 x 5, 3 rules": timed(
            lambda: foresee(small, narrow(small, None), Spread(ASSUMED), {}, ()), 3
        ),
    }
    if "--json" in sys.argv[1:]:
        print(json.dumps(found))
    else:
        for name, took in found.items():
            print(f"{name}: {took:.1f} ms")


if __name__ == "__main__":
    main()
