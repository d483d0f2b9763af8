# SPDX-License-Identifier: Apache-2.0
"""The simulation of error rates: few draws of a fixed seed come to these counts, and its rules decide as rules do."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find the program as it finds its own modules when it is started."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.mark.parametrize(
    ("name", "draws", "hits"),
    [
        ("estimate-10x3-0.8", 40, [49]),
        ("estimate-10x3-0.95", 40, [22]),
        ("clt-0.9", 40, [70]),
        ("guarded-0.9", 160, [3]),
        ("twice-10x3", 200, [28, 102, 0]),
        ("tries-10x3", 200, [92, 120]),
    ],
)
def test_few_draws_of_a_seed_come_to_known_counts(name: str, draws: int, hits: list[int]) -> None:
    """So that a change of the model, of a rule or of the random stream is seen."""
    import error_rates

    figures = error_rates.simulate(name, draws, 1)
    assert [round(item.value * item.draws / 100) for item in figures] == hits


def test_every_simulation_fills_its_lines() -> None:
    """With two draws, all rows come out, as JSON, and under names of their own."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "error_rates.py"), "--draws", "2", "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    import error_rates

    rows = json.loads(done.stdout)["rows"]
    jobs = error_rates.all_jobs([])
    assert [row["what"] for row in rows] == [line.what for job in jobs for line in job.lines]
    assert len({row["what"] for row in rows}) == len(rows)
    assert len({job.name for job in jobs}) == len(jobs)


def test_passes_of_a_case_are_beta_binomial() -> None:
    """The chances of 0 to 3 passes have the model's mean and correlation, exactly."""
    from simulation import cases

    rate, icc, repeats = 0.85, 0.5, 3
    steps = cases._cumulative(*cases.shape(rate, icc), repeats)
    chances = [b - a for a, b in pairwise((0.0, *steps))]
    mean = sum(c * p for c, p in enumerate(chances))
    variance = sum(c * c * p for c, p in enumerate(chances)) - mean**2
    assert steps[-1] == pytest.approx(1)
    assert mean == pytest.approx(repeats * rate)
    assert variance == pytest.approx(repeats * rate * (1 - rate) * (1 + (repeats - 1) * icc))


def test_rates_of_a_copula_have_the_mean_and_the_correlation() -> None:
    """The quantiles that stand for a Beta distribution have its mean and variance."""
    from simulation import cases

    table = cases._quantiles(0.9, 0.6)
    mean = sum(table) / len(table)
    assert mean == pytest.approx(0.9, abs=1e-4)
    assert sum(x * x for x in table) / len(table) - mean**2 == pytest.approx(0.9 * 0.1 * 0.6, rel=2e-3)


def test_rules_on_counts_decide_as_the_product_does() -> None:
    """The order of cases, by which results are kept, changes nothing; nor do differences in place of two models."""
    from simulation import deciders

    from trialplate.rules import bounds

    one, other = [3, 3, 2, 0, 3, 1], [3, 2, 2, 1, 0, 1]
    assert deciders.guarded(one, 3) == pytest.approx(bounds.guarded([c / 3 for c in one], 0.05))
    assert deciders.guarded_diff(one, other, 3) == pytest.approx(
        bounds.guarded_diff([c / 3 for c in one], [c / 3 for c in other], 0.05)
    )


def test_naive_rules_are_what_they_say() -> None:
    """The exact bootstrap of one failure in ten reaches down to three; nothing that is alike has any width."""
    from simulation import deciders

    assert deciders.bootstrap_lower((1, 9, 0), 0.025) == -0.3
    assert deciders.bootstrap_lower((0, 10, 0), 0.025) == 0
    assert deciders.normal_bounds([1] * 10, 1) == (1.0, 1.0)
    assert deciders.student_bounds([1, 0], 1) == pytest.approx((0.5 - 6.313751515 / 2, 0.5 + 6.313751515 / 2))
    assert deciders.estimate_choice([[1, 0, 1], [1, 1, 1]], 1, 33) == 1
    assert deciders.estimate_choice([[1, 0, 1], [1, 1, 1]], 1, 34) == 0


def test_marks_say_how_far_a_figure_is_from_the_reference() -> None:
    """Three standard errors of one's own, then of both; a limit is missed on one side only."""
    from simulation.figures import about, at_least, at_most, mark, share

    figure = share(2000, 10000)
    assert [mark(figure, about(said)) for said in (20.5, 22.0, 30.0)] == ["", "~", "!"]
    assert (mark(figure, at_most(30)), mark(figure, at_least(10)), mark(figure, None)) == ("", "", "")
    assert (mark(figure, at_most(10)), mark(figure, at_least(30))) == ("!", "!")
