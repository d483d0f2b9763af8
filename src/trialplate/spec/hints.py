# SPDX-License-Identifier: Apache-2.0
"""What to do about a mistake in an author file, by its key and by its kind: the words of `problems`."""

from __future__ import annotations

from trialplate.record import values

__all__ = ["DO", "EVIDENCE_HINTS", "FORMS", "HINTS", "LITERALS", "MARK_HINTS", "MISSING", "SCORER_HINTS"]

MISSING = {
    "repeats": "add repeats: 3; trials = configurations x cases x repeats",
    "pass_mark": "add pass_mark: with at least one rule; it is committed before the first trial",
    "trialplate": "begin the file with trialplate: 1",
    "of": "add of: with a metric, trial_pass_rate, case_pass_rate or error_rate",
    "by": "add by: with how much less still holds, such as by: 0.03",
    "choose.by": "add by: cheapest, best or fastest",
    "choose.of": "add of: with a metric, trial_pass_rate or case_pass_rate",
    "rule": "add rule: with the id of the rule that the counts decide",
    "accept": "add accept: with a number of failures, or null, after each case",
    "reject": "add reject: with a number of failures, or null, after each case",
    "agreement": "add agreement: {at_least: 0.80}",
    "record": "add record: runs/RUN_ID",
    "runner": "add runner: anthropic, openai-compatible, http, command, python or stand-in",
    "request": 'add request: {url: ..., body: {question: "{{input}}"}}',
    "subject": "add subject: with your version or digest of the service; attempts are counted by it",
    "callable": "add callable: my_system.py:answer",
    "type": "add type: exact, contains, regex, numeric, choice, json-schema, json-subset, value, label, trajectory, "
    "command or python",
    "id": "give the rule an id; decisions name it",
}
FORMS = {
    values.Name.__metadata__[0].regex: (  # type: ignore[attr-defined]
        "expected a name: letters, digits and . _ : @ + -, at most 64, beginning with a letter or a digit",
        "rename it",
    ),
    values.Short.__metadata__[0].regex: (  # type: ignore[attr-defined]
        "expected 1 to 128 printable ASCII characters",
        "shorten it",
    ),
    "[A-Za-z_][A-Za-z0-9_]{0,127}": (
        "expected the name of an environment variable",
        "write its name, never the key itself",
    ),
    r"(/([^~]|~[01])*)?": ("expected a JSON Pointer, such as /answer or /choices/0/text", "begin it with a slash"),
    r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}": ("expected the name of a header", "write it as in x-tenant: acme"),
    r"([!-~]([ -~]{0,998}[!-~])?)?": (
        "expected printable ASCII without spaces around it",
        "correct the header's value",
    ),
    "[A-Z]{3}": ("expected a currency as three capital letters", "write USD, EUR, ..."),
}
DO = {
    "share": "write a share such as 0.90",
    "exact": "write a number such as 0.90",
    "seconds": "write seconds, such as 60 or 0.5",
    "money": "write an amount, such as 5 or 0.25",
    "day": "write year, month and day",
    "text": "write it, or take it out",
    "callable": "write callable: my_system.py:answer",
    "empty_selector": "write {tag: critical} or the like, or take it out",
    "quantity": "write one of {share: wall_s, at_most: 8}, {p95: wall_s}, {cost: per_trial}, {macro_f1: label}, "
    "{pass_hat: 3} and the like",
    "margin": "write a number such as 0.03",
    "confidence": "write a number such as 0.95",
    "one_or_many": "put it in quotes",
}
"""What to do about an error of a field, by its kind."""
LITERALS: dict[str | int, str] = {
    "trialplate": "this version reads 1",
    "must_pass": "expected a selector, or all",
    "no_regressions": "expected baseline",
}
_SELECTOR = "write a selector, such as {tag: critical} or {id: [q1, q2]}"
EVIDENCE_HINTS: dict[str | int, str] = {
    "at_least": "write a whole number, such as 20",
    "cases": "write cases: {at_least: 20}",
    "repeats": "write repeats: {at_least: 3}",
    "reasked": "write reasked: {at_most: 0.02}",
    "infrastructure_errors": "write infrastructure_errors: {at_most: 0.05}",
    "graded": "write graded: {at_least: 50}",
    "agreement": "write agreement: {at_least: 0.80}",
    "complete": "write a share by itself, such as complete: 0.95",
}
MARK_HINTS: dict[str | int, str] = {
    "attempts": "write attempts: {max: 2}",
    "evidence": "write evidence: {cases: {at_least: 20}}",
    "tie_break": "write a list, such as tie_break: [cost, latency, order]",
    "confidence": "write a number such as 0.95",
}
"""What is meant in a pass mark, where the same key stands elsewhere for something else."""
HINTS: dict[str | int, str] = {
    "trialplate": "write trialplate: 1; a later language needs a later version of this program",
    "test_sets": "write test_sets: [{file: cases/questions.csv}]",
    "test_sets[]": "write {file: cases/questions.csv}",
    "models": "write a name and what it is, such as models: {bot: {runner: command, argv: [python3, bot.py]}}",
    "scorers": "write a name and what it is, such as scorers: {correct: {type: contains}}",
    "pass_mark": "write pass_mark: {rules: [{id: correct, at_least: 0.90, of: correct}]}",
    "url": "write an address such as https://api.example.com/v1",
    "must_pass": f"{_SELECTOR}; must_pass: all names every case",
    "where": _SELECTOR,
    "cases": _SELECTOR,
    "secret": "write secret: {env: NAME_OF_THE_VARIABLE}, never the key itself",
    "argv": "write a list: argv: [python3, bot.py]",
    "callable": "write callable: my_system.py:answer",
    "request": 'write request: {url: https://api.example.com/chat, body: {question: "{{input}}"}}',
    "response": "write response: {pointer: /answer}",
    "body": 'write a mapping, such as body: {question: "{{input}}"}',
    "pricing": 'write pricing: {input: "0.10", output: "0.50"} per million tokens, or pricing: free',
    "at_least": "write a number such as 0.90, without a unit or a percent sign",
    "at_most": "write a number such as 0.05, without a unit or a percent sign",
    "of": "write a metric or a rate, or a mapping such as {pass_hat: 3}, {share: wall_s, at_most: 8} or {p95: wall_s}",
    "max": "write a whole number, such as 2",
    "within": "write a share such as 0.03 for 3 points",
    "choose": "write choose: {by: cheapest, of: correct, within: 0.03}",
    "rules": "write rules: [{id: correct, at_least: 0.90, of: correct}]",
    "rules[]": "write {id: correct, at_least: 0.90, of: correct}",
    "any_of": "write any_of: [{at_least: 0.90, of: correct}, {at_least: 0.95, of: {pass_at: 3}, basis: estimate}]",
    "any_of[]": "write a rule, such as {at_least: 0.90, of: correct}",
    "unit": "write unit: case, or unit: meta.KEY with a key that the cases have under meta",
    "stop": "write stop: {mode: sealed}, or {mode: counts, rule: correct, accept: [...], reject: [...]}",
    "accept": "write a list of numbers of failures, one for each case, such as [null, null, 0]",
    "reject": "write a list of numbers of failures, one for each case, such as [null, 2, 2]",
    "baseline": "write baseline: {record: runs/RUN_ID}",
    "judge": "write judge: {scorer: judge, graded: {at_least: 50}, agreement: {at_least: 0.80}}",
    "no_regressions": "write no_regressions: baseline",
    "allow": "write the ids of cases, such as allow: [q17]",
}
SCORER_HINTS: dict[str | int, str] = {
    "rules": "write rules: [{must_call: search}, {max_steps: 8}]; of a judge, the name of a file",
    "rules[]": "write one of {must_call: search}, {must_not_call: refund} and {max_steps: 8}",
}
"""What is meant under scorers, where the same key stands elsewhere for something else."""
