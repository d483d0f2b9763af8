# SPDX-License-Identifier: Apache-2.0
"""What a rule came to, in words: what it asks, what was measured, what that shows, and what would turn it.

Numbers are shown with as many digits as it takes to tell them from what they are compared with.
"""

from __future__ import annotations

from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from trialplate.record.decisions import CopyResult, RuleResult
from trialplate.record.values import PassMark, Rule
from trialplate.rules.outlook import Outlook, Outlooks
from trialplate.rules.quantities import draws_of, fraction_text, is_pooled, kind_of
from trialplate.verify.findings import counted
from trialplate.verify.text import decimal_text, percent_text, selector_text, visible

__all__ = [
    "HOLDS",
    "Beside",
    "alternative_text",
    "compared_text",
    "copy_text",
    "difference_shown",
    "distance_text",
    "kind_text",
    "margin_text",
    "reason_text",
    "rule_text",
    "shows_text",
    "span_text",
]

HOLDS = {"pass": "holds", "fail": "does not hold", "inconclusive": "cannot be told"}

TURNS = {"pass": "pass it", "fail": "fail it", "inconclusive": "leave it open"}

WORDS = {
    "straddles": "the mark lies between the bounds",
    "within_rounding": "a bound is too near to the mark to say on which side of it it lies",
    "unreachable": "not even perfect results of so many cases could show it",
    "unknown_cost": "a cost is not known, which is not zero; give the model its pricing",
    "no_passes": "no trial passed, so there is nothing to divide by",
    "no_metric": "nothing was measured",
    "no_cases": "there is no case that it is about",
    "not_asked": "cases that it is about were not asked",
    "k_exceeds_repeats": "cases have fewer repeats than it draws",
    "judge_stale": "people graded no answer of this judge as it is now; `trialplate judge-check sample` draws some",
    "judge_open": "a sheet of its answers was drawn and never scored; `trialplate judge-check score` scores it",
    "judge_uninformative": "the judge tells passes and failures apart too poorly to be corrected for; it takes another",
    "baseline_missing": "the baseline's run is not here, or has no such configuration; bring its folder",
    "test_set_differs": "the baseline's run was of other cases; name one on these",
    "scorers_differ": "the baseline's answers were scored otherwise; name one that was scored as these are",
    "regressed": "cases are worse than in the baseline",
    "no_rival": "there is nothing to compare it with",
}
"""What a reason means, and what would help, where its name does not say it."""


class Beside(NamedTuple):
    """What is known beside a decision: the mark it is by, and the outlook of its rules."""

    mark: PassMark | None = None
    outlooks: Outlooks = MappingProxyType({})


ALONE = Beside()


# ---------------------------------------------------------------------------------------------------------- rules


def rule_text(rule: Rule, result: RuleResult, errors: str, beside: Beside = ALONE) -> str:
    """Return one rule's numbers in words; `errors` is the mark's policy on unknown cells."""
    word = HOLDS[result.result]
    if rule.must_pass is not None:
        named = f"; {', '.join(map(visible, result.failing))}" if result.failing else ""
        many = f"{counted(result.cases, 'case')}{selector_text(rule.must_pass)}"
        return f"{many} must pass; it {word} ({result.reason}{named})"
    if rule.no_regressions is not None:
        among = ", ".join(_among(item) for item in result.copies) or reason_text(rule, result)
        return f"no case{selector_text(rule.where)} worse than in the baseline: {among}; it {word} ({result.reason})"
    held = sum(copy.result == "pass" for copy in result.copies)
    many = f"{held} of {len(result.copies)} hold; " if result.copies else ""
    if rule.any_of:
        return f"one of {', '.join(rule.any_of)}: {many}it {word} ({reason_text(rule, result)})"
    text = _asked(rule, beside)
    if rule.each is not None:
        return f"{text} for each {rule.each}: {many}it {word} ({reason_text(rule, result)})"
    return f"{text}: {_measured(rule, result)}; it {word} ({_why(rule, result, errors, _outlook(beside, result))})"


def copy_text(rule: Rule, result: RuleResult, copy: CopyResult, errors: str, beside: Beside = ALONE) -> str:
    """Return what one copy of a rule came to, in words."""
    if rule.no_regressions is not None and rule.each is None:
        return _changed_text(copy)
    alone = _as_rule(result, copy)
    outlook = beside.outlooks.get((result.id, copy.value))
    return f"{_measured(rule, alone)}; it {HOLDS[copy.result]} ({_why(rule, alone, errors, outlook)})"


def alternative_text(rule: Rule, result: RuleResult, copy: CopyResult, errors: str, beside: Beside = ALONE) -> str:
    """Return what one alternative of a rule came to, in words.

    Args:
        rule: the alternative; `result` is that of the rule that names it.
    """
    threshold = fraction_text(-Fraction(rule.by or "0")) if rule.not_worse_than is not None else None
    if rule.at_least is not None or rule.at_most is not None:
        threshold = fraction_text(Fraction(rule.at_least or rule.at_most or "0"))
    alone = _as_rule(result, copy).replace(threshold=threshold)
    outlook = beside.outlooks.get((result.id, copy.value))
    own: Outlooks = {} if outlook is None else {(result.id, None): outlook}
    return rule_text(rule, alone, errors, beside._replace(outlooks=own))


def _as_rule(result: RuleResult, copy: CopyResult) -> RuleResult:
    fields = {name: value for name, value in copy.__dict__.items() if name != "value"}
    return result.replace(copies=(), **fields)


def _outlook(beside: Beside, result: RuleResult) -> Outlook | None:
    return beside.outlooks.get((result.id, None))


def _asked(rule: Rule, beside: Beside) -> str:
    """Return what a threshold asks for, and with which confidence."""
    sure = ""
    if rule.basis == "bound" and beside.mark is not None:
        sure = f" with {percent_text(beside.mark.confidence)} confidence"
    if rule.not_worse_than is not None:
        return f"{compared_text(rule)}{sure}"
    sign = "at least" if rule.at_least is not None else "at most"
    corrected = f" corrected for {rule.correct_for_judge}" if rule.correct_for_judge is not None else ""
    return f"{rule.of}{corrected}{selector_text(rule.where)} {sign} {rule.at_least or rule.at_most}{sure}"


def _measured(rule: Rule, result: RuleResult) -> str:
    if rule.not_worse_than is not None:
        return _difference_text(result)
    return span_text(result, "answer" if kind_of(rule.of) == "agreement" else "cell")


def span_text(result: RuleResult, unit: str = "cell") -> str:
    """Return what was measured, with the unknown cells at both extremes, and what that shows."""
    if result.low is None or result.high is None or result.threshold is None:
        return f"nothing measured in {counted(result.cells, unit)}"
    low, high, beside = Fraction(result.low), Fraction(result.high), Fraction(result.threshold)
    shown = decimal_text(low, beside)
    if high != low:
        shown = f"between {shown} and {decimal_text(high, beside)}"
    unknown = f", {result.unknown} unknown" if result.unknown else ""
    over = f"over {counted(result.cells, unit)}"
    if unit == "cell":
        over += f" of {counted(result.cases, 'case')}{_units_text(result)}"
    return f"{shown} {over}{unknown}{_shown_text(result, beside)}"


def _units_text(result: RuleResult) -> str:
    """Return in how many clusters the cases lie, where they do."""
    return f" in {counted(result.units, 'cluster')}" if 0 < result.units < result.cases else ""


def _shown_text(result: RuleResult, bar: Fraction) -> str:
    if result.lower is None or result.upper is None:
        return ""
    lower, upper = (decimal_text(Fraction(end), bar) for end in (result.lower, result.upper))
    return f", which shows between {lower} and {upper}{_alpha_text(result)}"


def _alpha_text(result: RuleResult) -> str:
    return f" (alpha {result.alpha})" if result.alpha is not None else ""


def shows_text(rule: Rule, result: RuleResult, beside: Beside) -> str | None:
    """Return what the cases of an estimate show, which the estimate does not say; None of any other rule."""
    outlook = _outlook(beside, result)
    if outlook is None or outlook.shows is None or beside.mark is None:
        return None
    lower, upper = outlook.shows
    bar = Fraction(rule.at_least or rule.at_most or "0")
    least = (rule.at_most is None) == (result.result != "fail")
    end = f"at least {_end(lower, bar)}" if least else f"at most {_end(upper, bar)}"
    many = counted(result.cases, "graded answer" if outlook.of == "answer" else "case")
    again = " asked again" if beside.mark.over == "this_set" and outlook.of == "case" else ""
    verb = "shows" if result.cases == 1 else "show"
    which = "this" if result.cases == 1 else "these"
    return f"{which} {many}{again} {verb} {end} with {percent_text(beside.mark.confidence)} confidence"


def _end(value: float, bar: Fraction) -> str:
    return decimal_text(Fraction(f"{value:.9f}"), bar)


# ------------------------------------------------------------------------------------------------------ comparisons


def compared_text(rule: Rule) -> str:
    """Return what a comparison asks for: how far from its reference a quantity may be, or must be above it."""
    by, of = Fraction(rule.by or "0"), f"{rule.of}{selector_text(rule.where)}"
    beside = "the baseline" if rule.not_worse_than == "baseline" else rule.not_worse_than
    if by < 0:
        return f"{of} at least {str(rule.by).removeprefix('-')} above {beside}"
    return f"{of} not more than {rule.by} below {beside}" if by else f"{of} not below {beside}"


def _difference_text(result: RuleResult) -> str:
    """Return how far a quantity is from its reference, with the unknown cells of both at their extremes."""
    if result.low is None or result.high is None or result.threshold is None:
        return f"nothing compared in {counted(result.cells, 'cell')}"
    bar = Fraction(result.threshold)
    ends = list(dict.fromkeys(distance_text(Fraction(end), bar) for end in (result.low, result.high)))
    unknown = f", {result.unknown} unknown" if result.unknown else ""
    told = ends[0] if len(ends) == 1 else f"between {' and '.join(ends)}"
    over = f"over {counted(result.cells, 'cell')} of {counted(result.cases, 'case')}{_units_text(result)}"
    return f"{told} {over}{unknown}{difference_shown(result, bar)}"


def distance_text(difference: Fraction, bar: Fraction) -> str:
    """Return how far above or below something is."""
    text = decimal_text(abs(difference), abs(bar))
    return f"{text} {'below' if difference < 0 else 'above'}" if difference else "level with it"


def difference_shown(result: RuleResult, bar: Fraction) -> str:
    """Return what a difference shows by its bounds: the one that holds it, or both."""
    if result.lower is None or result.upper is None:
        return ""
    lower, upper = Fraction(result.lower), Fraction(result.upper)
    if result.result == "pass":
        text = decimal_text(abs(lower), abs(bar))
        shown = f"no more than {text} below" if lower < 0 else f"at least {text} above"
    elif result.result == "fail":
        text = decimal_text(abs(upper), abs(bar))
        shown = f"at least {text} below" if upper < 0 else f"no more than {text} above"
    else:
        shown = f"between {distance_text(lower, bar)} and {distance_text(upper, bar)}"
    return f", which shows {shown}{_alpha_text(result)}"


def _among(copy: CopyResult) -> str:
    return f"{copy.cases} {kind_text(copy)}"


def kind_text(copy: CopyResult) -> str:
    """Return how the cases of a copy stand to the baseline, in words."""
    words = {"allowed": "worse, as allowed", "unchanged": "asked alike in both"}
    return words.get(copy.value) or visible(copy.value)


def _changed_text(copy: CopyResult) -> str:
    """Return which cases of a kind regressed, or may have, or are allowed to."""
    named = ", ".join(map(visible, copy.failing)) + (" are the first" if len(copy.failing) == 10 else "")
    if copy.value in ("removed", "allowed"):
        return named
    if copy.result == "pass":
        return "none regressed" if copy.value == "unchanged" else "none fails"
    verb = "regressed" if copy.value == "unchanged" else "fails"
    return f"{verb}: {named}" if copy.result == "fail" else f"unknown whether it {verb}: {named}"


# ------------------------------------------------------------------------------------------------------------- why


def reason_text(rule: Rule, result: RuleResult | CopyResult) -> str:
    """Return a reason, with what it means and what it is about."""
    if result.reason == "too_few_cases":
        return f"{result.reason}: fewer than {rule.cases}"
    words = WORDS.get(result.reason)
    named = f": {', '.join(map(visible, result.failing))}" if result.failing else ""
    return f"{result.reason}: {words}{named}" if words else f"{result.reason}{named}"


def _why(rule: Rule, result: RuleResult, errors: str, outlook: Outlook | None) -> str:
    """Return why a rule came to what it did, and what would turn it."""
    if rule.basis == "estimate":
        return reason_text(rule, result) if rule.not_worse_than is not None else margin_text(rule, result, errors)
    if result.reason == "unknown_cells":
        return f"{counted(result.unknown, 'unknown cell')} could turn it"
    if outlook is None:
        return reason_text(rule, result)
    if result.result != "inconclusive":
        number = outlook.to_fail if result.result == "pass" else outlook.to_pass
        if number is None:
            return "nothing could turn it"
        verb = TURNS.get(outlook.then or "", "turn it")
        return f"{_number_of(rule, outlook, number, worse=result.result == 'pass')} would {verb}"
    parts = [reason_text(rule, result)]
    if outlook.needed is not None:
        what = "trial" if _over_trials(result) else "case"
        parts.append(f"it takes {counted(outlook.needed, what)} for that" if outlook.needed else "no number of them")
    if outlook.to_pass is not None:
        parts.append(f"{_number_of(rule, outlook, outlook.to_pass, worse=False)} would pass it")
    if outlook.to_fail is not None:
        parts.append(f"{_number_of(rule, outlook, outlook.to_fail, worse=True)} would fail it")
    return "; ".join([*parts, *_more_text(outlook)])


def _over_trials(result: RuleResult) -> bool:
    return result.units == result.cells != result.cases


def _more_text(outlook: Outlook) -> list[str]:
    if outlook.on_mark:
        return ["no number of cases with the same results would show it: what was measured is no better than the mark"]
    if outlook.more is None:
        return []
    what = "case" if outlook.more_of == "case" else "trial"
    return [f"about {counted(outlook.more, f'more {what}')} with the same results would show it"]


def _number_of(rule: Rule, outlook: Outlook, number: int, *, worse: bool) -> str:
    """Return so many cases that would be better, or worse, in the words of what is measured."""
    most = "" if outlook.exact else "at most "
    up = worse == (rule.at_most is not None)
    if outlook.of == "answer":
        tail = "on which it agrees" if up else "on which it disagrees"
        return f"{most}{counted(number, 'more answer')} {tail}"
    if rule.of == "error_rate":
        return f"{most}{counted(number, 'more case')} {'of errors alone' if up else 'without an error'}"
    if (rule.of or "").startswith("share:"):
        return f"{most}{counted(number, 'more case')} {'within' if up else 'beyond'} the limit"
    return f"{most}{counted(number, 'more passing case' if up else 'more failing case')}"


def margin_text(rule: Rule, result: RuleResult, errors: str) -> str:
    """Return how far an estimate is from turning: the fewest cases, or trials for a rate of trials, that it would take.

    A case weighs the same whatever its repeats, so a mean is told in whole cases that score 0 instead of 1, or 1
    instead of 0.
    """
    if result.low is None or result.high is None or result.threshold is None or not result.cells:
        return reason_text(rule, result)
    if result.reason == "too_few_cases" or draws_of(rule.of) or kind_of(rule.of) not in ("mean", "agreement"):
        return reason_text(rule, result)
    low, high, threshold = Fraction(result.low), Fraction(result.high), Fraction(result.threshold)
    if result.result == "inconclusive":
        return f"{counted(result.unknown, 'unknown cell')} could turn it"
    passes, floor = result.result == "pass", rule.at_least is not None
    of = rule.of or ""
    unit, weighed = ("trial", result.cells) if is_pooled(of) else ("case", result.cases)
    if is_pooled(of) and of != "error_rate" and errors == "exclude":
        weighed -= result.unknown
    down = floor == passes
    if (passes and threshold == (0 if floor else 1)) or (not passes and floor and threshold > 1):
        return "nothing could turn it"
    gap = abs((low if down else high) - threshold) * weighed
    number = int(gap) + 1 if passes else -int(-gap // 1)
    return f"{_estimate_unit(of, number, unit, down=down)} would turn it"


def _estimate_unit(of: str, number: int, unit: str, *, down: bool) -> str:
    if of == "error_rate":
        return counted(number, "fewer error" if down else "more error")
    if of.startswith("share:"):
        return f"{counted(number, 'more trial')} {'beyond' if down else 'within'} the limit"
    if of.startswith("agreement:"):
        return f"{counted(number, 'more answer')} on which it {'disagrees' if down else 'agrees'}"
    return counted(number, f"more failing {unit}" if down else f"more passing {unit}")
