# SPDX-License-Identifier: Apache-2.0
"""Our statistics against scipy, statsmodels and scikit-learn, over seeded draws far beyond what decisions need."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from random import Random

import pytest
from oracles import oracle

from trialplate.rules import bounds, sequential, special
from trialplate.rules.classification import classify
from trialplate.stats import agreement, components, design, intervals, paired, ranges

ALPHAS = (0.1, 0.05, 0.025, 0.01, 0.05 / 7)


def between(rng: Random, low: float, high: float) -> float:
    """Return a number of any size from low to high, small ones as often as large ones."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def shapes(seed: int, low: float, high: float, number: int) -> Iterator[tuple[Random, float, float]]:
    """Yield parameters of beta distributions, with the source of chance to draw more from."""
    rng = Random(seed)
    for _ in range(number):
        yield rng, between(rng, low, high), between(rng, low, high)


# ---------------------------------------------------------------------------------------------------------- functions


@pytest.mark.parametrize(("low", "high", "number"), [(0.1, 3000, 4000), (0.001, 1e5, 1500), (1200, 1e7, 400)])
def test_incomplete_beta_is_scipys(low: float, high: float, number: int) -> None:
    """Anywhere in [0, 1], and most often near the mean, where the function moves."""
    theirs = oracle("scipy.special")
    for rng, a, b in shapes(1, low, high, number):
        mean, deviation = a / (a + b), math.sqrt(a * b / (a + b) ** 2 / (a + b + 1))
        x = rng.random() if rng.random() < 0.3 else min(max(rng.gauss(mean, 3 * deviation), 0.0), 1.0)
        assert special.betainc(a, b, x) == pytest.approx(theirs.betainc(a, b, x), abs=1e-12), (a, b, x)
        edge = (a + 1) / (a + b + 2)  # where one fraction gives over to the other, and digits could cancel out
        assert special.betainc(a, b, edge) == pytest.approx(theirs.betainc(a, b, edge), abs=1e-12), (a, b, edge)


@pytest.mark.parametrize(("low", "high", "number"), [(0.1, 3000, 3000), (0.001, 1e5, 1000), (1200, 1e7, 200)])
def test_inverse_of_the_incomplete_beta_is_scipys(low: float, high: float, number: int) -> None:
    """At the errors of decisions, and at any other."""
    theirs = oracle("scipy.special")
    for rng, a, b in shapes(2, low, high, number):
        p = rng.choice([0.05, 0.025, 0.95, rng.random(), between(rng, 1e-8, 0.5)])
        assert special.betaincinv(a, b, p) == pytest.approx(theirs.betaincinv(a, b, p), abs=1e-12), (a, b, p)


def test_inverse_and_function_cancel_out() -> None:
    """Without anybody else: I_x(a, b) of the quantile at p is p, where the density is finite."""
    for rng, a, b in shapes(3, 1, 3000, 1500):
        p = rng.random()
        assert special.betainc(a, b, special.betaincinv(a, b, p)) == pytest.approx(p, abs=1e-12), (a, b, p)


def test_normal_quantile_is_scipys() -> None:
    """From the smallest probability that a double holds."""
    theirs = oracle("scipy.special")
    rng = Random(4)
    for p in [rng.random() for _ in range(2000)] + [between(rng, 1e-300, 0.5) for _ in range(2000)]:
        assert special.normal_quantile(p) == pytest.approx(theirs.ndtri(p), rel=1e-14, abs=1e-15), p


def test_students_t_is_scipys() -> None:
    """Distribution and quantiles, from one degree of freedom to many."""
    theirs = oracle("scipy.stats").t
    rng = Random(5)
    for _ in range(600):
        df, t, p = between(rng, 1, 1e4), rng.gauss(0, 3), rng.random()
        assert paired.t_cdf(t, df) == pytest.approx(theirs.cdf(t, df), abs=1e-12), (t, df)
        assert paired.t_quantile(p, df) == pytest.approx(theirs.ppf(p, df), rel=1e-10, abs=1e-12), (p, df)


# ----------------------------------------------------------------------------------------------------------- intervals


def test_intervals_of_a_share_are_those_of_statsmodels() -> None:
    """Wilson, Clopper-Pearson and Jeffreys, at every count of a few sizes."""
    theirs = oracle("statsmodels.stats.proportion").proportion_confint
    for trials in (1, 7, 50, 311):
        for passes in range(0, trials + 1, 1 + trials // 20):
            for alpha in ALPHAS:
                conf = 1 - 2 * alpha
                close = lambda value: pytest.approx(value, abs=1e-10)  # noqa: E731
                wilson = theirs(passes, trials, 2 * alpha, "wilson")
                exact = theirs(passes, trials, 2 * alpha, "beta")
                jeffreys = theirs(passes, trials, 2 * alpha, "jeffreys")
                assert intervals.wilson(passes, trials, conf) == close(wilson)
                assert bounds.wilson(passes / trials, trials, alpha) == close(wilson)
                assert intervals.clopper_pearson(passes, trials, conf) == close(exact)
                assert bounds.clopper_pearson(passes, trials, alpha) == close(exact)
                assert intervals.jeffreys(passes, trials, conf) == close(jeffreys)


def test_newcombes_interval_is_that_of_statsmodels() -> None:
    """Shares of two separate groups."""
    theirs = oracle("statsmodels.stats.proportion").confint_proportions_2indep
    rng = Random(6)
    for _ in range(200):
        n1, n2 = rng.randint(1, 90), rng.randint(1, 90)
        x1, x2, alpha = rng.randint(0, n1), rng.randint(0, n2), rng.choice(ALPHAS)
        expected = theirs(x1, n1, x2, n2, method="newcomb", compare="diff", alpha=2 * alpha)
        assert bounds.newcombe(x1 / n1, n1, x2 / n2, n2, alpha) == pytest.approx(expected, abs=1e-10)
        assert intervals.newcombe(x1, n1, x2, n2, 1 - 2 * alpha) == pytest.approx(expected, abs=1e-10)


def test_tangos_interval_holds_what_its_score_test_does_not_reject() -> None:
    """Tango's score at each end is z, with the other parameter where the likelihood is highest, searched for."""
    minimise = oracle("scipy.optimize").minimize_scalar
    rng = Random(7)
    for _ in range(60):
        n = rng.randint(5, 60)
        b = rng.randint(1, n // 2)
        c = rng.randint(1, n - b - 1)
        for end, sign in zip(intervals.tango(b, c, n, 0.95), (1, -1), strict=True):

            def loss(only_second: float, b: int = b, c: int = c, n: int = n, end: float = end) -> float:
                parts = (b, only_second + end), (c, only_second), (n - b - c, 1 - 2 * only_second - end)
                return -sum(k * math.log(max(p, 1e-300)) for k, p in parts)

            low, high = max(0.0, -end), (1 - end) / 2
            only_second = minimise(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
            deviation = math.sqrt(n * (2 * only_second + end - end**2))
            assert (b - c - n * end) / deviation == pytest.approx(sign * 1.959963984540054, abs=1e-4)


# --------------------------------------------------------------------------------------------------------------- tests


def test_mcnemars_test_is_that_of_statsmodels_and_of_scipys_binomial() -> None:
    """Exact, both sides and one."""
    theirs = oracle("statsmodels.stats.contingency_tables").mcnemar
    binomial = oracle("scipy.stats").binom
    for b in range(12):
        for c in range(12):
            expected = theirs([[5, b], [c, 5]], exact=True).pvalue if b + c else 1.0
            assert float(paired.mcnemar_exact(b, c)) == pytest.approx(expected, abs=1e-12)
            assert float(paired.mcnemar_one_sided(b, c, "c>b")) == pytest.approx(
                binomial.cdf(b, b + c, 0.5) if b + c else 1.0, abs=1e-12
            )


def test_sign_flips_are_scipys_permutations() -> None:
    """Every pattern of signs, counted by scipy one by one."""
    scipy_stats, numpy = oracle("scipy.stats"), oracle("numpy")
    rng = Random(8)
    for _ in range(25):
        off = [rng.choice([-1, -0.5, 0, 0.25, 0.5, 1]) for _ in range(rng.randint(2, 9))]
        flips = scipy_stats.permutation_test(
            (numpy.array(off),), numpy.sum, permutation_type="samples", alternative="greater", n_resamples=10**6
        )
        assert float(paired.sign_flip_p(off) or 0) == pytest.approx(flips.pvalue, abs=1e-12), off


def test_holms_adjustment_is_that_of_statsmodels() -> None:
    """In the order in which they were given."""
    theirs = oracle("statsmodels.stats.multitest").multipletests
    rng = Random(9)
    for _ in range(60):
        p = [round(rng.random() ** 2, 3) for _ in range(rng.randint(1, 12))]
        assert paired.holm(p) == pytest.approx(list(theirs(p, method="holm")[1]), abs=1e-12)


def test_paired_tests_of_means_are_those_of_scipy_and_statsmodels() -> None:
    """Non-inferiority and equivalence on Student's t."""
    one_sample = oracle("scipy.stats").ttest_1samp
    equivalence = oracle("statsmodels.stats.weightstats").ttost_paired
    numpy = oracle("numpy")
    rng = Random(10)
    for _ in range(60):
        a = [rng.random() for _ in range(rng.randint(3, 30))]
        b = [min(1.0, max(0.0, x + rng.gauss(0, 0.1))) for x in a]
        off = [x - y for x, y in zip(a, b, strict=True)]
        expected = one_sample(off, -0.05, alternative="greater").pvalue
        assert paired.noninferiority_p(a, b, 0.05) == pytest.approx(expected, abs=1e-10)
        both = equivalence(numpy.array(a), numpy.array(b), -0.05, 0.07)[0]
        assert paired.tost_p(a, b, -0.05, 0.07) == pytest.approx(float(both), abs=1e-10)


# ----------------------------------------------------------------------------------------------------------- agreement


def verdicts(rng: Random, kinds: int) -> tuple[list[int], list[int], list[list[int]]]:
    """Return verdicts of two raters who often agree, and their table."""
    people = [rng.randrange(kinds) for _ in range(rng.randint(4, 60))]
    judge = [v if rng.random() < 0.7 else rng.randrange(kinds) for v in people]
    pairs = list(zip(people, judge, strict=True))
    return people, judge, [[pairs.count((i, j)) for j in range(kinds)] for i in range(kinds)]


def test_kappa_is_that_of_scikit_learn_and_of_statsmodels() -> None:
    """Plain and with linear weights."""
    sklearn, statsmodels = oracle("sklearn.metrics"), oracle("statsmodels.stats.inter_rater")
    rng = Random(11)
    for _ in range(60):
        kinds = rng.randint(2, 5)
        people, judge, table = verdicts(rng, kinds)
        plain = sklearn.cohen_kappa_score(people, judge, labels=range(kinds))
        assert agreement.cohens_kappa(table) == pytest.approx(plain, abs=1e-12)
        assert agreement.cohens_kappa(table) == pytest.approx(
            statsmodels.cohens_kappa(table, return_results=False), abs=1e-12
        )
        linear = sklearn.cohen_kappa_score(people, judge, labels=range(kinds), weights="linear")
        assert agreement.cohens_kappa(table, linear=True) == pytest.approx(linear, abs=1e-12)
        same = sklearn.accuracy_score(people, judge)
        assert agreement.agreement(table) == pytest.approx(same, abs=1e-12)
        if kinds == 2:
            found = agreement.detection(table)
            recall = sklearn.recall_score(people, judge, labels=[0, 1], average=None, zero_division=math.nan)
            for mine, other in zip(found, recall, strict=True):
                assert mine is None if math.isnan(other) else mine == pytest.approx(other, abs=1e-12)


def test_fleiss_kappa_is_that_of_statsmodels() -> None:
    """Several raters and verdicts."""
    theirs, numpy = oracle("statsmodels.stats.inter_rater").fleiss_kappa, oracle("numpy")
    rng = Random(12)
    for _ in range(40):
        kinds, raters = rng.randint(2, 5), rng.randint(2, 8)
        rows = [[rng.randrange(kinds) for _ in range(raters)] for _ in range(rng.randint(3, 20))]
        counts = [[row.count(kind) for kind in range(kinds)] for row in rows]
        assert agreement.fleiss_kappa(counts) == pytest.approx(float(theirs(numpy.array(counts))), abs=1e-12)


def test_alpha_of_a_table_is_alpha_of_its_ratings() -> None:
    """Two ways of ours to the same number."""
    rng = Random(13)
    for _ in range(30):
        people, judge, table = verdicts(rng, 3)
        assert agreement.krippendorff_alpha([people, judge]) == agreement.krippendorff_alpha_of_table(table)


def test_classification_is_that_of_scikit_learn() -> None:
    """Accuracy, and F1 over the classes that are right somewhere."""
    theirs = oracle("sklearn.metrics")
    rng = Random(14)
    for _ in range(80):
        right = [rng.choice("abc") for _ in range(rng.randint(1, 40))]
        said = [label if rng.random() < 0.6 else rng.choice("abcd") for label in right]
        found = classify(zip(right, said, strict=True))
        classes = sorted(set(right))
        macro = theirs.f1_score(right, said, labels=classes, average="macro", zero_division=0)
        assert float(found.macro_f1) == pytest.approx(macro, abs=1e-12)
        assert float(found.accuracy) == pytest.approx(theirs.accuracy_score(right, said), abs=1e-12)


# ---------------------------------------------------------------------------------------------- components and designs


def test_components_are_those_of_an_analysis_of_variance() -> None:
    """The ratio of mean squares is scipy's F; the error of equal repeats is that of the case means."""
    theirs = oracle("scipy.stats").f_oneway
    rng = Random(15)
    for _ in range(40):
        cases, repeats = rng.randint(2, 20), rng.randint(2, 6)
        rows = [[rng.gauss(case / 10, 0.3) for _ in range(repeats)] for case in range(cases)]
        found = components.anova_components(rows)
        assert found.msb and found.msw and found.se
        assert found.msb / found.msw == pytest.approx(float(theirs(*rows).statistic), rel=1e-9)
        if found.between:
            assert found.se == pytest.approx(components.se_mean([sum(row) / repeats for row in rows]), rel=1e-9)


def test_error_over_clusters_is_that_of_a_regression() -> None:
    """The clustered covariance of statsmodels for a constant, without its own correction."""
    models, numpy = oracle("statsmodels.api"), oracle("numpy")
    rng = Random(16)
    for _ in range(15):
        groups = [rng.randrange(6) for _ in range(40)]
        values = [rng.random() + group / 9 for group in groups]
        fit = models.OLS(numpy.array(values), numpy.ones(40)).fit(
            cov_type="cluster", cov_kwds={"groups": numpy.array(groups), "use_correction": False}
        )
        found = components.clustered_se(values, groups, correction=False)
        assert found == pytest.approx(float(fit.bse[0]), rel=1e-9)


def test_count_plans_are_scipys_binomial() -> None:
    """A fixed plan, and the same curtailed: the chance to accept does not change, and dynamic programming finds it."""
    theirs = oracle("scipy.stats").binom
    rng = Random(17)
    for _ in range(60):
        n = rng.randint(1, 120)
        c, defect = rng.randrange(n), rng.random()
        expected = float(theirs.cdf(c, n, defect))
        assert design.oc_binomial(n, c, defect) == pytest.approx(expected, abs=1e-12)
        assert sequential.dp_plan(design.curtailed_plan(n, c), defect).accept == pytest.approx(expected, abs=1e-11)
        chance = rng.uniform(0.01, 0.99)
        assert float(theirs.cdf(c, n, design.oc_quality_at(n, c, chance))) == pytest.approx(chance, abs=1e-10)


def test_percentiles_are_numpys() -> None:
    """Linear for display, and by nearest rank for decisions, which numpy calls the inverted distribution."""
    numpy = oracle("numpy")
    rng = Random(18)
    for _ in range(80):
        values = [rng.randrange(1000) for _ in range(rng.randint(1, 40))]
        for percent in (1, 25, 50, 90, 95, 99, 100):
            linear = ranges.linear_percentile(values, percent / 100)
            assert linear == pytest.approx(float(numpy.percentile(values, percent)), abs=1e-9)
            ranked = bounds.nearest_rank(values, Fraction(percent, 100))
            assert ranked == sorted(values)[-(-percent * len(values) // 100) - 1]
