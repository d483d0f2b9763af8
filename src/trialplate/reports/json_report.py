# SPDX-License-Identifier: Apache-2.0
"""The report as one JSON object of the format `trialplate-report/1`, described in docs/formats/report.md.

Every number says over how many cells it was taken. null is unknown, never zero and never NaN. The text is ASCII, so
that no terminal control goes out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

from trialplate.record import codec
from trialplate.record.frozen import Json
from trialplate.reports.comparing import Standings
from trialplate.reports.hidden import Hidden
from trialplate.reports.labels import LabelTable
from trialplate.reports.reported import FailedTrial, Reported
from trialplate.reports.summary import ConfigurationSummary, MetricSummary
from trialplate.reports.words import decision_words
from trialplate.verify.text import report_json

__all__ = ["report_object", "render"]


def render(reported: Reported) -> Iterator[str]:
    """Yield the object's lines."""
    text = json.dumps(report_object(reported), indent=2, sort_keys=True, allow_nan=False)
    yield from text.split("\n")


def report_object(reported: Reported) -> Json:
    """Return the stable object."""
    record, start, report = reported.record, reported.record.start, reported.gate.report
    made: dict[str, Json] = {
        "format": "trialplate-report/1",
        "run_id": record.run_id,
        "plan": {"name": record.plan.name, "digest": start.plan},
        "test_set": {
            "name": record.plan.test_set.name,
            "version": record.plan.test_set.version,
            "cases": len(record.matrix.cases),
        },
        "selection": start.selection,
        "narrowing": codec.to_json(start.narrowing) if start.narrowing is not None else None,
        "state": {
            "word": reported.state.word,
            "reason": reported.state.reason,
            "sentence": reported.state.sentence,
            "counts": codec.to_json(reported.state.counts),
            "adopted": reported.state.adopted,
        },
        "uses": reported.uses,
        "pilots": list(reported.pilots),
        "verdict": {"trial": record.plan.verdict.trial, "case": record.plan.verdict.case},
        "decisions": [
            {
                "decision": codec.to_json(item),
                "words": list(decision_words(reported, item)),
            }
            for item in reported.decisions
        ],
        "configurations": [_configuration(item) for item in reported.configurations],
        "shown": {
            "confidence": record.plan.pass_mark.confidence,
            "over": record.plan.pass_mark.over,
            "unit": record.plan.pass_mark.unit,
            "errors": record.plan.pass_mark.errors,
        },
        "comparisons": _standings(reported.standings),
        "hidden": [_hidden(item) for item in reported.hidden],
        "failures": [_failure(item) for item in reported.failed],
        "failures_not_shown": reported.unshown,
        "level": {"word": report.level, "sentence": report.said.get("V20", "")},
        "verification": report_json(report),
    }
    if reported.labels != ():
        made["labels"] = None if reported.labels is None else [_labels(table) for table in reported.labels]
    if reported.by_tag:
        made["tags"] = [
            {
                "tag": found.tag,
                "cases": found.cases,
                "configurations": [_configuration(i) for i in found.configurations],
            }
            for found in reported.tags
        ]
    return made


def _configuration(item: ConfigurationSummary) -> Json:
    latency = item.latency_ms
    return {
        "name": item.name,
        "role": item.role,
        "outcomes": dict(item.outcomes),
        "trials": sum(item.outcomes.values()),
        "attempts": item.attempts,
        "replayed": item.replayed,
        "reasked": item.reasked,
        "lost": item.lost,
        "timeouts": item.timeouts,
        "incompatible": item.incompatible,
        "metrics": [_metric(metric) for metric in item.metrics],
        "rates": [_metric(metric) for metric in item.rates],
        "cost": {
            "nano": item.cost_nano,
            "currency": item.currency or None,
            "known_nano": item.cost_known_nano,
            "unknown": item.cost_unknown,
        },
        "helper_cost": {
            "nano": item.helper_nano,
            "currency": item.helper_currency or None,
            "known_nano": item.helper_known_nano,
            "unknown": item.helper_unknown,
        },
        "latency": {
            "median_ms": None if latency is None else latency[0],
            "p95_ms": None if latency is None else latency[1],
            "n": item.answered,
        },
    }


def _metric(metric: MetricSummary) -> Json:
    return {
        "name": metric.name,
        "mean": _number(metric.mean),
        "exact": None if metric.mean is None else f"{metric.mean.numerator}/{metric.mean.denominator}",
        "n": metric.known,
        "cells": metric.cells,
        "unknown": metric.cells - metric.known,
        "cases": metric.cases,
        "repeats": metric.repeats,
        "low": _number(metric.low),
        "high": _number(metric.high),
        "lower": None if metric.lower is None else floor(metric.lower * 10**6) / 10**6,
        "upper": None if metric.upper is None else ceil(metric.upper * 10**6) / 10**6,
        "units": metric.units,
        "se": _float(metric.se),
        "between": _float(None if metric.noise is None else metric.noise.between),
        "within": _float(None if metric.noise is None else metric.noise.within),
        "icc": _float(None if metric.noise is None else metric.noise.icc),
    }


def _float(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


def _standings(standings: Standings) -> Json:
    """Return the ranks and the pairs."""
    alpha = standings.alpha
    return {
        "alpha": None if alpha is None else f"{alpha.numerator}/{alpha.denominator}",
        "ranks": [
            {
                "metric": item.metric,
                "configuration": item.configuration,
                "by_cases": None if item.by_cases is None else list(item.by_cases),
                "by_repeats": None if item.by_repeats is None else list(item.by_repeats),
            }
            for item in standings.ranked
        ],
        "pairs": [
            {
                "metric": pair.metric,
                "first": pair.first,
                "second": pair.second,
                "cases": pair.cases,
                "difference_low": _number(pair.low),
                "difference_high": _number(pair.high),
                "lower": floor(pair.lower * 10**6) / 10**6,
                "upper": ceil(pair.upper * 10**6) / 10**6,
                "by_cases": pair.by_cases.replace(" ", "_"),
                "by_repeats": pair.by_repeats.replace(" ", "_"),
                "only_first": pair.only_first,
                "only_second": pair.only_second,
                "mcnemar_p": _float(pair.mcnemar),
                "mcnemar_mid_p": _float(pair.mcnemar_mid),
                "sign_flip_p": _float(pair.sign_flip),
            }
            for pair in standings.pairs
        ],
    }


def _hidden(item: Hidden) -> Json:
    return {
        "rule": item.rule,
        "truth": _number(item.truth),
        "passes": _float(item.passes),
        "cases": item.cases,
        "repeats": item.repeats,
        "icc": item.icc,
        "sentence": item.sentence,
    }


def _labels(table: LabelTable) -> Json:
    numbers = table.numbers
    return {
        "configuration": table.configuration,
        "scorer": table.scorer,
        "n": numbers.pairs,
        "unanswered": numbers.unanswered,
        "accuracy": _number(numbers.accuracy),
        "macro_f1": _number(numbers.macro_f1),
        "labels": [
            {
                "label": item.label,
                "precision": _number(item.precision),
                "recall": _number(item.recall),
                "f1": _number(item.f1),
                "support": item.support,
            }
            for item in numbers.labels
        ],
    }


def _number(value: Fraction | None) -> float | None:
    """Return a decimal of six places for the eye; what is compared is the exact fraction."""
    return None if value is None else float(round(value, 6))


def _failure(failed: FailedTrial) -> Json:
    item = failed.trial
    return {
        "configuration": item.configuration,
        "case": item.case,
        "repeat": item.repeat,
        "outcome": item.outcome,
        "cause": item.cause,
        "parts": [{"label": label, "withheld": text is None, "text": text} for label, text in failed.parts],
    }
