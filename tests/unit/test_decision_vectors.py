# SPDX-License-Identifier: Apache-2.0
"""Every shared vector of a decision's statistics, through the function that it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isclose
from pathlib import Path
from typing import Any

import pytest

from trialplate.rules import bounds, shares
from trialplate.rules.classification import classify
from trialplate.rules.quantities import within_draws
from trialplate.rules.sequential import CountPlan, dp_plan
from trialplate.stats import agreement, components, design, intervals, paired, ranges, rates

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors" / "decisions" / "decision_vectors.json").read_text(encoding="utf-8")
)["vectors"]
Inputs = Mapping[str, Any]

ELSEWHERE = {
    "select_point": "needs a run: tests/unit/rules/test_choose.py goes through the group",
    "require": "needs a run: tests/unit/rules/test_passmark.py goes through the group fold",
    "meets_floor": "needs a run: tests/unit/rules/test_passmark.py goes through the group floor",
}
"""Functions that are no function here, and where their vectors are held to."""


def alpha(given: Inputs) -> float:
    """Return the one-sided error of a vector's confidence."""
    return (1 - given["conf"]) / given.get("sided", 1)


def as_bound(bound: bounds.Bound, mean: str) -> dict[str, float]:
    """Return a bound with its mean under the vector's name."""
    return {mean: bound.mean, "n_eff": bound.n_eff, "lower": bound.lower, "upper": bound.upper}


def ppi(given: Inputs) -> dict[str, float]:
    """Return what a judge shows, and what it shows once put right."""
    judged = given["judge_case_means"]
    found = bounds.guarded_ppi(judged, given["rectifiers"], alpha(given))
    return {
        "raw": sum(judged) / len(judged),
        "corrected": found.mean,
        "lower": found.lower,
        "upper": found.upper,
    }


def at_least(means: list[float], given: Inputs) -> str:
    """Return what a floor on a bound comes to."""
    found = bounds.guarded(means, alpha(given))
    if found.lower - given["floor"] > bounds.ROUNDING:
        return "pass"
    return "fail" if given["floor"] - found.upper > bounds.ROUNDING else "inconclusive"


def at_least_unknown(given: Inputs) -> str:
    """Return what a floor comes to with unknown cases failed, and with them passed, if that is the same."""
    passed, failed, unknown = given["passed"], given["failed"], given["unknown"]
    worst = at_least([1.0] * passed + [0.0] * (failed + unknown), given)
    best = at_least([1.0] * (passed + unknown) + [0.0] * failed, given)
    return worst if worst == best else "inconclusive"


def classification(given: Inputs) -> dict[str, Any]:
    """Return accuracy and macro-F1, which speak of nothing without a labelled case."""
    found = classify(zip(given["expected"], given["predicted"], strict=True))
    numbers = {"accuracy": found.accuracy, "macro_f1": found.macro_f1}
    return numbers if found.pairs else {**numbers, "reason": "no labeled cases"}


def draws(kind: str, given: Inputs) -> Fraction | None:
    """Return the mean over tasks of a chance over k draws."""
    tasks = given.get("tasks") or [[given["n"], given["c"]]]
    found = [within_draws(f"{kind}:{given['k']}", passed, passed, total)[0] for total, passed in tasks]
    known = [item for item in found if item is not None]
    return sum(known, Fraction(0)) / len(found) if len(known) == len(found) else None


def share_shown(given: Inputs) -> bool:
    """Return whether so many within the limit show that the percentile is."""
    shown = bounds.clopper_pearson(given["n"] - given["over_limit"], given["n"], alpha(given))[0]
    return shown - given["limit_share"] > bounds.ROUNDING


def oc(plan: CountPlan, defect: float) -> dict[str, float]:
    """Return what a count plan that always decides comes to."""
    found = dp_plan(plan, defect)
    assert found.undecided == 0
    assert found.accept + found.reject == pytest.approx(1, abs=1e-12)
    return {"accept": found.accept, "expected_trials": found.expected}


def truncated(given: Inputs) -> dict[str, float]:
    """Return what Wald's lines come to when they are cut."""
    lines = design.sprt_lines(given["p1"], given["p2"], given["alpha"], given["beta"])
    return oc(design.sprt_plan(lines, given["max_trials"]), given["defect"])


def miller(function: Callable[..., float], given: Inputs) -> float:
    """Return a size by Miller's formula."""
    return function(**given)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "wilson": lambda g: shares.wilson(g["x"] / g["n"], g["n"], alpha(g)),
    "clopper_pearson": lambda g: bounds.clopper_pearson(g["x"], g["n"], alpha(g)),
    "jeffreys": lambda g: intervals.jeffreys(g["x"], g["n"], g["conf"]),
    "newcombe_diff": lambda g: intervals.newcombe(g["x1"], g["n1"], g["x2"], g["n2"], g["conf"]),
    "min_cases_zero_failures": lambda g: bounds.fewest_cases(g["floor"], alpha(g)),
    "max_failures": lambda g: bounds.max_failures(g["n"], g["floor"], alpha(g)),
    "t_ppf": lambda g: paired.t_quantile(g["p"], g["df"]),
    "guarded_bound": lambda g: as_bound(bounds.guarded(g["case_means"], alpha(g)), "mean"),
    "guarded_bound_weighted": lambda g: as_bound(bounds.guarded(g["cluster_means"], alpha(g), g["weights"]), "mean"),
    "guarded_diff": lambda g: as_bound(bounds.guarded_diff(g["candidate"], g["baseline"], alpha(g)), "diff"),
    "guarded_ppi": ppi,
    "agreement_lower": lambda g: bounds.agreement_lower(g["agree"], g["n"], alpha(g)),
    "at_least_bound": lambda g: at_least(g["case_means"], g),
    "at_least_bound_unknown": at_least_unknown,
    "p95_within_limit": share_shown,
    "nearest_rank": lambda g: bounds.nearest_rank(g["values"], Fraction(str(g["q"]))),
    "linear": lambda g: ranges.linear_percentile(g["values"], g["q"]),
    "mcnemar_exact_two_sided": lambda g: paired.mcnemar_exact(g["b"], g["c"]),
    "mcnemar_midp": lambda g: paired.mcnemar_midp(g["b"], g["c"]),
    "mcnemar_one_sided": lambda g: paired.mcnemar_one_sided(g["b"], g["c"], g["alternative"]),
    "sign_flip_p_greater": lambda g: paired.sign_flip_p(g["diffs"]),
    "holm": lambda g: paired.holm(g["p"]),
    "paired_t_noninferiority_p": lambda g: paired.noninferiority_p(g["candidate"], g["baseline"], g["margin"]),
    "tost_paired_p": lambda g: paired.tost_p(g["candidate"], g["baseline"], g["low"], g["upp"]),
    "pass_at_k": lambda g: draws("pass_at", g),
    "pass_hat_k": lambda g: draws("pass_hat", g),
    "mean_pass_hat_k": lambda g: draws("pass_hat", g),
    "se_mean": lambda g: components.se_mean(g["values"]),
    "clustered_se": lambda g: components.clustered_se(g["values"], g["clusters"], correction=g["correction"]),
    "anova_components": lambda g: components.anova_components(g["rows"])._asdict(),
    "cohens_kappa": lambda g: agreement.cohens_kappa(g["table"]),
    "gwet_ac1": lambda g: agreement.gwet_ac1(g["table"]),
    "krippendorff_alpha_2rater": lambda g: agreement.krippendorff_alpha_of_table(g["table"]),
    "krippendorff_alpha": lambda g: agreement.krippendorff_alpha(g["ratings"], g["level"]),
    "fleiss_kappa": lambda g: agreement.fleiss_kappa(g["counts"]),
    "rogan_gladen": lambda g: agreement.rogan_gladen(g["p"], g["sens"], g["spec"]),
    "lang_reiczigel": lambda g: agreement.lang_reiczigel(
        (g["x"], g["n"]), (g["sens_x"], g["sens_n"]), (g["spec_x"], g["spec_n"]), g["conf"]
    ),
    "oc_binomial": lambda g: design.oc_binomial(g["n"], g["c"], g["defect"]),
    "oc_quality_at": lambda g: design.oc_quality_at(g["n"], g["c"], g["accept_prob"]),
    "sprt_lines": lambda g: design.sprt_lines(g["p1"], g["p2"], g["alpha"], g["beta"])._asdict(),
    "wald_thresholds": lambda g: dict(
        zip(("accept_log", "reject_log"), design.wald_thresholds(g["alpha"], g["beta"]), strict=True)
    ),
    "sprt_truncated_oc": truncated,
    "curtailed_plan": lambda g: oc(design.curtailed_plan(g["n"], g["c"]), 1 - g["pass_rate"]),
    "sealed": lambda g: design.sealed(g["n"], g["c"], g["passes"], g["failures"]),
    "miller_n": lambda g: miller(design.miller_n, g),
    "miller_mde": lambda g: miller(design.miller_mde, g),
    "classification": classification,
    "rates": lambda g: rates.rates(g["passed"], g["failed"], g["error"])._asdict(),
    "separated": lambda g: ranges.separated(g["a"], g["b"]),
}


def agrees(found: Any, expected: Any, tolerance: float) -> bool:
    """Return whether a value is what a vector says, number by number."""
    if isinstance(expected, dict):
        return all(agrees(found[key], value, tolerance) for key, value in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(
            agrees(one, other, tolerance) for one, other in zip(found, expected, strict=True)
        )
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return found is not None and isclose(found, expected, rel_tol=0, abs_tol=tolerance)
    return bool(found == expected)


@pytest.mark.parametrize(
    "vector", [pytest.param(item, id=item["id"]) for item in VECTORS if item["fn"] not in ELSEWHERE]
)
def test_function_gives_what_the_vector_says(vector: dict[str, Any]) -> None:
    """To the vector's own tolerance; null is undefined."""
    found = FUNCTIONS[vector["fn"]](vector["inputs"])
    assert agrees(found, vector["expected"], vector["tolerance"]), f"{found} is not {vector['expected']}"


def test_every_vector_has_a_function_or_its_place() -> None:
    """Nothing is left out unsaid, and no function stands here without a vector."""
    named = {item["fn"] for item in VECTORS}
    assert named == FUNCTIONS.keys() | ELSEWHERE.keys()
    assert not FUNCTIONS.keys() & ELSEWHERE.keys()
    assert len(VECTORS) == 136
