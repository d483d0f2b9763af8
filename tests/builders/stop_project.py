# SPDX-License-Identifier: Apache-2.0
"""Projects whose mark has a stop rule: so many cases, and stand-ins that answer some of them wrongly."""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["SEALED", "cases_text", "plan_with"]

SEALED = "  stop: {mode: sealed}\n"


def cases_text(cases: int) -> str:
    """Return a test set of so many questions, q1, q2, ..., each answered by yes."""
    return "id,input,reference,tags\n" + "".join(f"q{n},question {n},yes,\n" for n in range(1, cases + 1))


def plan_with(
    wrong: Mapping[str, Collection[int]],
    *,
    floor: str = "0.80",
    of: str = "correct, basis: estimate",
    repeats: int = 1,
    concurrency: int = 1,
    rules: str = "",
    stop: str = SEALED,
) -> str:
    """Return a plan of stand-ins, each of which answers some cases wrongly, by number.

    Args:
        floor: what the first rule asks for, `of` what.
        rules: further lines of rules.
        stop: the line of the stop rule.
    """
    models = ""
    for name, numbers in wrong.items():
        answers = ", ".join([f"q{n}: 'no'" for n in sorted(numbers)] + ["'*': 'yes'"])
        models += f"  {name}: {{runner: stand-in, answers: {{{answers}}}, pricing: free}}\n"
    return (
        f"trialplate: 1\nname: stopped\ntest_sets:\n  - file: cases/q.csv\nmodels:\n{models}repeats: {repeats}\n"
        f"run: {{concurrency: {concurrency}}}\nscorers:\n  correct: {{type: contains}}\npass_mark:\n  rules:\n"
        f"    - {{id: correct, at_least: {floor}, of: {of}}}\n{rules}{stop}"
    )
