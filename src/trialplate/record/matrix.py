# SPDX-License-Identifier: Apache-2.0
"""The planned matrix: which trials a plan asks for, in which order, and what makes two runs attempts at one thing.

The engine runs `trials`, the verifier counts them: neither has another list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trialplate.record import canonical, codec
from trialplate.record.entries import Narrowing, TrialKey
from trialplate.record.frozen import Json, Value
from trialplate.record.values import AnswerRule, Case, Configuration, PassMark, Plan, PlanCase, Scorer, Selector

__all__ = ["FULLY", "Matrix", "attempt_key", "configuration_digest", "judge_key", "mark_digest", "model_key", "narrow"]
__all__ += ["selects", "stop_order"]

FULLY = "fully_"
"""Before the name of a judge's first metric: 1 where that is 1, else 0. It is not asked for, but follows."""


def selects(selector: Selector, case: Case | PlanCase) -> bool:
    """Say whether a selector names this case: every field given must match, a list by any of its values."""
    return (
        (not selector.tag or any(tag in case.tags for tag in selector.tag))
        and (not selector.kind or case.kind in selector.kind)
        and (not selector.suite or case.suite in selector.suite)
        and (not selector.id or case.id in selector.id)
    )


def configuration_digest(configuration: Configuration) -> str:
    """Return the digest of a configuration as `run.start` names it."""
    return canonical.digest_value(codec.to_json(configuration))


def mark_digest(mark: PassMark) -> str:
    """Return the digest of a pass mark as `commit.passmark` names it."""
    return canonical.digest_value(codec.to_json(mark))


def model_key(configuration: Configuration) -> str:
    """Return the digest of what a model is under every profile: of the thing that is asked, less how it is asked.

    Without a provider's id nothing tells the one from the other, and it is the attempt key.
    """
    if configuration.model_id is None:
        return attempt_key(configuration)
    named = [configuration.runner, configuration.model_id, configuration.endpoint, configuration.subject]
    return canonical.digest_value({"trialplate": "model-key/1", "model": named})


def attempt_key(configuration: Configuration) -> str:
    """Return the digest of what reaches the model.

    Two full runs with one key and a case in common are attempts at the same thing. No label, price, limit, retry rule,
    seed or secret is in it, so that none of them resets the count; the author's `subject` is, since it says that the
    thing under test has changed.
    """
    json = codec.to_json(configuration.replace(name="k", model="k", profile="k"))
    kept: tuple[str, ...] = ("runner", "model_id", "endpoint", "interface", "settings", "texts", "files", "subject")
    kept += ("structured", "tools", "plugin")
    reaches: dict[str, Json] = {name: json[name] for name in kept if name in json}
    if "settings" in reaches:
        reaches["settings"] = {name: item for name, item in reaches["settings"].items() if name != "seed"}
    return canonical.digest_value({"trialplate": "attempt-key/1", **reaches})


def judge_key(plan: Plan, scorer: Scorer) -> str:
    """Return the digest of what a judge is: the model that is asked or may answer, and how it is asked and read.

    What people found of it holds for as long as this stays the same. No name, label, price or limit is in it, and no
    case: so two plans of one ledger that ask the same judge have it in common.
    """
    helper = next((item for item in plan.helpers if item.name == scorer.helper), None)
    asked = None if helper is None else attempt_key(helper)
    json = codec.to_json(scorer)
    kept: dict[str, Json] = {name: json[name] for name in ("type", "version", "settings", "plugin") if name in json}
    kept["texts"] = [
        [text.role, text.name if text.role == "document" else "", text.commitment] for text in scorer.texts
    ]
    kept["asked"] = [name for name in scorer.also if name != FULLY + scorer.metric]
    kept["files"] = [file.digest for file in scorer.files]
    if helper is not None and helper.served:  # the names of other models that may answer in its place
        kept["served"] = sorted(helper.served)
    if helper is not None and helper.answer != AnswerRule():  # what of a reply is read
        kept["answer"] = codec.to_json(helper.answer)
    return canonical.digest_value({"trialplate": "judge-key/1", "helper": asked, **kept})


def narrow(plan: Plan, narrowing: Narrowing | None) -> Matrix:
    """Return the matrix of a plan, or of the pilot that `narrowing` makes of it.

    `limit` takes the first cases in file order after `only`; `repeats` caps; `models` keeps configurations by name or
    by model.
    """
    cases = list(plan.test_set.cases)
    repeats: int | None = None
    models: Sequence[str] = ()
    if narrowing is not None:
        if narrowing.only:
            cases = [case for case in cases if case.id in narrowing.only]
        if narrowing.limit is not None:
            cases = cases[: narrowing.limit]
        repeats, models = narrowing.repeats, narrowing.models
    by_name = {item.name: item for item in plan.configurations}
    kept = [name for name, item in by_name.items() if not models or name in models or item.model in models]
    counts: dict[str, list[int]] = {}
    for name in kept:
        counts[name] = [0] * len(cases)
        for line in plan.matrix:
            if name in line.configurations:
                for index, case in enumerate(cases):
                    if selects(line.cases, case):
                        planned = line.repeats if repeats is None else min(line.repeats, repeats)
                        counts[name][index] = max(counts[name][index], planned)
    return Matrix(cases=tuple(cases), scorers=plan.scorers, counts=counts)


def stop_order(seed: str, cases: Iterable[PlanCase]) -> tuple[str, ...]:
    """Return the ids of the cases in the order in which a run that may stop early asks them.

    Sorted by SHA-256 of the seed's text and the id, in UTF-8 one behind the other. The seed has 71 characters always,
    so no two pairs are one text. It is fixed only once the mark is committed, so its author cannot put hard cases last.

    Args:
        seed: `run.open`'s: the digest of the run.start line, as text.
    """
    return tuple(sorted((case.id for case in cases), key=lambda name: hashlib.sha256((seed + name).encode()).digest()))


class Matrix(Value, kw_only=False):
    """Cases, and for each configuration how many repeats of each case (in the order of `cases`)."""

    cases: tuple[PlanCase, ...]
    scorers: tuple[Scorer, ...]
    counts: Mapping[str, Sequence[int]]

    @property
    def size(self) -> int:
        """Return the number of trials."""
        return sum(sum(row) for row in self.counts.values())

    def planned(self, configuration: str) -> int:
        """Return the number of trials of one configuration."""
        return sum(self.counts[configuration])

    def repeats(self, configuration: str) -> int:
        """Return the highest number of repeats of any case."""
        return max(self.counts[configuration], default=0)

    def trials(self) -> Iterator[TrialKey]:
        """Yield every trial: repeat outermost, then case, then configuration.

        So a crash leaves whole repeats, and a provider's drift meets all configurations alike.
        """
        deepest = max((max(row, default=0) for row in self.counts.values()), default=0)
        for repeat in range(1, deepest + 1):
            for index, case in enumerate(self.cases):
                for name, row in self.counts.items():
                    if repeat <= row[index]:
                        yield name, case.id, repeat

    def applicable(self, case: PlanCase) -> tuple[Scorer, ...]:
        """Return the scorers that apply to a case; applicability never depends on an answer."""
        return tuple(scorer for scorer in self.scorers if selects(scorer.cases, case))
