# SPDX-License-Identifier: Apache-2.0
"""Scorers that run code of the project: `command` (a program) and `python` (a function of a file).

command   speaks EvalCore's subprocess protocol, version 0. It reads one JSON object, keys sorted, from its standard
          input: `context` (only if the case has some), `expected` (the first reference, or null), `input`, `output`
          (the answer); `references` besides, where there are several. It writes one JSON object to its standard output:
          `score` in [0,1], and perhaps `passed` and `reason`; other keys are ignored
python    `callable: file.py:function`, called as function(case, answer), or awaited. `case` is a dict of what the case
          file says. It returns a number, true or false, or a dict with `score` (or the metric's name), and perhaps
          `passed` and `reason`

Without `passed` the trial passes if the score is at least `threshold` (0.5). Everything else leaves the cell unknown,
and is never a score: a program that cannot be started, hangs (`timeout_ms`), ends with a status other than 0, says too
much, or says anything that is not the above; a function that raises, or returns nothing.

Both run in the project's folder, each time anew (see `transport.process`), and see of the environment what every
program needs and the variables named in `env`. The value of a variable whose name says that it is secret is replaced
in whatever is kept.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

from trialplate.errors import FormatError
from trialplate.record import canonical, codec, values
from trialplate.record.frozen import Json
from trialplate.record.values import Case
from trialplate.scorers.base import (
    NO_CONTEXT,
    Score,
    ScorerContext,
    ScorerError,
    Texts,
    quoted,
    refusal,
    require_settings,
)
from trialplate.scorers.returned import score_of
from trialplate.spec.pins import is_pinned
from trialplate.transport.command_line import command_argv
from trialplate.transport.function_child import TOLD, function_argv
from trialplate.transport.process import NotStarted, child_environment, run_child
from trialplate.transport.secrets import named_as_secret

__all__ = ["CommandScorer", "PythonScorer", "make_command", "make_python"]

OUTPUT_BYTES = 1024 * 1024
"""A score and a sentence: whatever says more is not speaking of them."""
TIMEOUT_MS = 60_000
THRESHOLD = "0.5"
_WORKER = str(Path(__file__).with_name("function_worker.py"))


def make_command(scorer: values.Scorer, texts: Texts) -> CommandScorer:
    """Make a `command` scorer.

    Raises:
        SpecError: a setting that it does not have, or no program.
    """
    require_settings(scorer, {"argv", "shell", "env", "timeout_ms", "threshold"})
    command_argv(scorer.settings, f"scorers.{scorer.name}")
    return CommandScorer(scorer)


def make_python(scorer: values.Scorer, texts: Texts) -> PythonScorer:
    """Make a `python` scorer.

    Raises:
        SpecError: a setting that it does not have, or no function.
    """
    require_settings(scorer, {"callable", "env", "timeout_ms", "threshold"})
    place = scorer.settings.get("callable")
    if not isinstance(place, str) or not re.fullmatch(r"[^:]+\.py:\w+", place):
        raise refusal(scorer, "callable names no file and function", "write callable: scorers/own.py:score")
    return PythonScorer(scorer)


class _Program:
    """What both have in common: a child that reads JSON and tells JSON."""

    def __init__(self, scorer: values.Scorer) -> None:
        self._scorer = scorer
        threshold, timeout_ms = (
            scorer.settings.get("threshold", THRESHOLD),
            scorer.settings.get("timeout_ms", TIMEOUT_MS),
        )
        names = scorer.settings.get("env", [])
        if not isinstance(threshold, str) or not re.fullmatch(r"[01](\.[0-9]{1,12})?", threshold):
            raise refusal(scorer, f"threshold cannot be {threshold!r}", "write a number from 0 to 1")
        if type(timeout_ms) is not int or timeout_ms < 1:
            raise refusal(scorer, f"timeout_ms cannot be {timeout_ms!r}", "write a number of milliseconds")
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise refusal(scorer, f"env cannot be {names!r}", "write a list of names")
        self._threshold, self._timeout_s = Decimal(threshold), timeout_ms / 1000
        self._remembered = False
        self._as_pinned: dict[str, tuple[int, ...]] = {}
        """What the file system said of a file when it was found to be the one that the plan pins."""

    def _check_files(self, project: Path) -> None:
        """Refuse to score by other files than those that the plan pins: what is judged could have rewritten them.

        Raises:
            ScorerError: one is not as it was.
        """
        for file in self._scorer.files:
            try:
                there = (project / file.path).stat()
                seen = (there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns)
            except OSError:
                seen = None
            if seen is not None and self._as_pinned.get(file.path) == seen:
                continue
            if seen is None or not is_pinned(project, file):
                raise ScorerError(f"{file.path} is not the file that the plan pins: it changed since the run began")
            self._as_pinned[file.path] = seen

    async def _run(self, argv: list[str], said: Json, context: ScorerContext) -> Json:
        """Run the program and return what it told.

        Raises:
            ScorerError: it told nothing that can be read.
        """
        if context.project is None:
            raise ScorerError("a program scores only where the project's folder is at hand")
        self._check_files(context.project)
        names = list(self._scorer.settings.get("env", []))
        if not self._remembered:
            context.remember(named_as_secret(names, context.environ))
            self._remembered = True
        try:
            result = await run_child(
                argv,
                cwd=context.project,
                env=child_environment(context.environ, names),
                stdin=json.dumps(said, sort_keys=True).encode() + b"\n",
                timeout_s=self._timeout_s,
                limit=OUTPUT_BYTES,
            )
        except NotStarted as error:
            raise ScorerError(str(error)) from None
        tail = result.last_words(context.scrub)
        if result.ended == "timeout":
            raise ScorerError(f"no score within {self._timeout_s:g} s{tail}")
        if result.ended == "too_long":
            raise ScorerError(f"it wrote more than {OUTPUT_BYTES} bytes{tail}")
        if result.status != 0:
            raise ScorerError(f"the program {result.how}{tail}")
        try:
            return canonical.parse(result.stdout.strip())
        except FormatError as error:
            shown = quoted(context.scrub(result.stdout.decode(errors="replace")))
            message = error.message.removeprefix("not JSON: ")
            raise ScorerError(f"its output is not one JSON value ({message}), but {shown}{tail}") from None

    def _scored(self, returned: Json, context: ScorerContext) -> Score:
        """Return the score that was told.

        Raises:
            ScorerError: it is none.
        """
        return score_of(returned, self._scorer.metrics, self._threshold, context.scrub)


class CommandScorer(_Program):
    """Asks a program."""

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: the program gave no score.
        """
        said: dict[str, Json] = {"input": case.input, "output": answer, "expected": None}
        if case.references:
            said["expected"] = case.references[0]
        if len(case.references) > 1:
            said["references"] = list(case.references)
        if passages := codec.to_json(case).get("context"):
            said["context"] = passages
        told = await self._run(command_argv(self._scorer.settings, ""), said, context)
        if not isinstance(told, dict) or "score" not in told:
            raise ScorerError(f'its output has no "score": {quoted(context.scrub(json.dumps(told)))}')
        return self._scored({name: told[name] for name in ("score", "passed", "reason") if name in told}, context)


class PythonScorer(_Program):
    """Asks a function."""

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: the function gave no score.
        """
        root = context.project or Path()
        argv = function_argv(_WORKER, root, self._scorer.settings["callable"])
        told = await self._run(argv, {"case": codec.to_json(case), "answer": answer}, context)
        for key, words in _NO_SCORE:
            if isinstance(told, dict) and key in told:
                raise ScorerError(f"{words} {context.scrub(str(told[key]))}"[:TOLD])
        if not isinstance(told, dict) or "returned" not in told:
            raise ScorerError("the function's program told no score")
        return self._scored(told["returned"], context)


_NO_SCORE = (
    ("missing", "the function cannot be imported:"),
    ("raised", "the function raised"),
    ("unusable", "the function returned"),
)
