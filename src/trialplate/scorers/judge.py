# SPDX-License-Identifier: Apache-2.0
"""The scorer `judge`, version 1: a helper model reads the answer and gives a verdict.

It is asked once. If its reply cannot be read, is a refusal or holds nothing, it is asked the same question once more,
with one sentence about what was wrong. Then the cell is unknown: an answer gets at most two replies, over all attempts
and sessions, and what was replied before is read again and never asked again. A reply that can be read settles it: the
first one, never the better one. A failed call is no reply; what went wrong is told, and nothing is made of it.
"""

from __future__ import annotations

from typing import Any

from trialplate.record import values
from trialplate.record.values import Case
from trialplate.scorers.base import (
    NO_CONTEXT,
    Question,
    Reply,
    Score,
    ScorerContext,
    ScorerError,
    Texts,
    quoted,
    refusal,
    require_settings,
    text_of,
)
from trialplate.scorers.judge_prompt import PROMPT, again, data_of, filled, speaks_to_its_judge
from trialplate.scorers.judge_replies import Reader, Reading, Unreadable, reader_of
from trialplate.spec.judge_words import ASKS, RULES, SCHEMA_RULES, SCORE_RULES

__all__ = ["VERSION", "JudgeScorer", "make_judge"]

VERSION = 1
_SETTINGS = {"mode", "parse", "verdicts", "pass_when", "scale", "threshold", "forms"}
_RULES = {"verdicts": RULES, "score": SCORE_RULES, "schema": SCHEMA_RULES}


def make_judge(scorer: values.Scorer, texts: Texts) -> JudgeScorer:
    """Make a `judge` scorer.

    Raises:
        SpecError: SCORER: its settings are none of a judge, or it was made for another version of the prompts.
    """
    require_settings(scorer, _SETTINGS)
    if scorer.version != VERSION:
        hint = "use the version of Trialplate that the plan names under software"
        raise refusal(scorer, f"this program has version {VERSION} of the judge's prompts", hint)
    reader = reader_of(scorer, texts)
    return JudgeScorer(scorer, texts, reader)


class JudgeScorer:
    """Asks a judge, and reads what it says."""

    def __init__(self, scorer: values.Scorer, texts: Texts, reader: Reader) -> None:
        rules: Any = text_of(scorer, texts, "rules")
        template: Any = text_of(scorer, texts, "template")
        self._reader, self._template = reader, template or PROMPT
        self._rules = (rules or _RULES[str(scorer.settings["mode"])]).strip()
        self._documents = tuple(text for text in scorer.texts if text.role == "document")

    def prompt(self, case: Case, answer: str) -> str:
        """Return what the judge is asked about an answer, without the documents."""
        return filled(self._template, data_of(case, answer), self._rules, self._reader.asked)

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer by what the judge says of it, or has said before.

        Raises:
            ScorerError: no reply came, or none of the two that an answer gets can be read.
        """
        why: list[str] = []
        last = ""
        prompt = self.prompt(case, answer)
        for number in range(ASKS):
            if number < len(context.replies):
                reply = context.replies[number]
            else:
                text = again(prompt, why[-1]) if why else prompt
                reply = await context.ask(Question(text=text, documents=self._documents))
            last = reply.text
            try:
                reading = await self._read(case, reply)
            except Unreadable as problem:
                why.append(str(problem))
                continue
            return self._score(reading, answer)
        suspicion = speaks_to_its_judge(answer)
        told = f"; the answer speaks to its judge: {suspicion}" if suspicion else ""
        message = (
            f"no verdict can be read in either of the judge's two replies to this answer: {why[0]}; then {why[-1]}"
        )
        raise ScorerError(f"{message}; the last one: {quoted(last)}; it is not asked again{told}")

    async def _read(self, case: Case, reply: Reply) -> Reading:
        if reply.unfit is not None:
            raise Unreadable(reply.unfit)
        if not reply.text.strip():
            raise Unreadable("it is empty")
        return await self._reader.read(case, reply.text)

    def _score(self, reading: Reading, answer: str) -> Score:
        suspicion = speaks_to_its_judge(answer)
        told = f"{reading.told} (the answer speaks to its judge: {suspicion})" if suspicion else reading.told
        return Score(metrics=reading.metrics, unknown=reading.unknown, verdict=reading.verdict, reason=told)
