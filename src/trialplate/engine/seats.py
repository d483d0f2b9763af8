# SPDX-License-Identifier: Apache-2.0
"""Making what a plan names: a runner for each configuration, the scorers of each case, cassettes, secrets.

Everything that can fail before money is spent fails here: an unknown plugin, a missing key, a damaged cassette.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from trialplate.engine.consultation import Helper, Helpers, make_helper
from trialplate.engine.making import make_runner, make_scorer
from trialplate.engine.prepare import Prepared
from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Configuration, PlanText, Scorer
from trialplate.runners.base import OfferedTool, Runner, RunnerContext
from trialplate.scorers.base import Scorer as ScorerObject
from trialplate.scorers.base import ScorerContext, ScorerInContext
from trialplate.spec.entries import RECORDED_RUNNERS
from trialplate.spec.labels import LabelNumbers, numbered
from trialplate.transport.cassette import Cassette, cassette_path
from trialplate.transport.http import HttpClient
from trialplate.transport.secrets import Secrets

__all__ = ["Seat", "Seats", "open_seats"]


@dataclass(frozen=True)
class Seat:
    """What the trials of one configuration share."""

    configuration: Configuration
    runner: Runner
    texts: Mapping[tuple[str, str], Json]
    tools: Mapping[str, OfferedTool]
    """What its cases may offer, by name."""

    def offered(self, case: Case) -> list[OfferedTool]:
        """Return what a case offers."""
        return [self.tools[item.name] for item in case.tools if item.name in self.tools]


@dataclass(frozen=True)
class Seats:
    """What the trials of a run share."""

    by_name: Mapping[str, Seat]
    scorers: Mapping[str, Sequence[tuple[Scorer, ScorerObject]]]
    """By case id."""
    helpers: Helpers
    """Those that scorers of this run ask."""
    secrets: Secrets
    clients: list[HttpClient]
    numbers: Mapping[str, LabelNumbers] = field(default_factory=dict)
    """The classes of each metric whose macro-F1 a rule is about."""

    async def close(self) -> None:
        """Close runners, helpers and connections."""
        await asyncio.gather(*(seat.runner.close() for seat in self.by_name.values()))
        await asyncio.gather(*(helper.close() for helper in self.helpers.by_name.values()))
        for client in self.clients:
            await client.close()


@contextmanager
def open_seats(prepared: Prepared, environ: Mapping[str, str]) -> Iterator[Seats]:
    """Make runners and scorers; on leaving, put recorded cassettes in place."""
    secrets = Secrets()
    clients: list[HttpClient] = []

    def client() -> HttpClient:
        if not clients:
            clients.append(HttpClient())
        return clients[0]

    with ExitStack() as closing:
        cassettes: dict[str, Cassette] = {}

        def context(item: Configuration, texts: Mapping[tuple[str, str], Json], place: str) -> RunnerContext:
            return RunnerContext(
                project=prepared.project,
                environ=environ,
                texts=texts,
                cassette=_cassette(item, prepared, cassettes, closing),
                http=client,
                secrets=secrets,
                place=place,
            )

        seats: dict[str, Seat] = {}
        for item in prepared.plan.configurations:
            if item.name in prepared.matrix.counts:
                texts = _texts(item.texts, prepared.opened)
                made = context(item, texts, "models")
                runner = make_runner(item, made, prepared.own)
                seats[item.name] = Seat(item, runner, texts, _tools(item, prepared.opened, made))
        asked = {scorer.helper for case in prepared.matrix.cases for scorer in prepared.matrix.applicable(case)}
        helpers: dict[str, Helper] = {}
        for item in prepared.plan.helpers:
            if item.name in asked:
                texts = _texts(item.texts, prepared.opened)
                helpers[item.name] = make_helper(item, context(item, texts, "helpers"))
        scoring = ScorerContext(
            project=prepared.project, environ=environ, remember=secrets.remember, scrub=secrets.scrub
        )
        told = {item.name: _texts(item.texts, prepared.opened) for item in prepared.plan.scorers}
        numbers = numbered(prepared.plan.scorers, prepared.plan.pass_mark, list(prepared.cases.values()))
        helping = Helpers(helpers, told, secrets.scrub)
        yield Seats(seats, _scorers(prepared, scoring), helping, secrets, clients, numbers)


def _cassette(
    item: Configuration, prepared: Prepared, cassettes: dict[str, Cassette], closing: ExitStack
) -> Cassette | None:
    """Return the cassette of a configuration's model, opened once; None where nothing is recorded or replayed."""
    mode = prepared.plan.cache
    if mode == "off" or item.runner not in RECORDED_RUNNERS:
        return None
    if item.model not in cassettes:
        path = cassette_path(prepared.project, item.model)
        if mode == "live":
            made = Cassette.live(path)
        elif mode == "auto":  # its own run may have made it grow since the plan pinned it
            made = Cassette.auto(path)
        else:
            pins = {file.path: file.digest for file in prepared.plan.cassettes}
            pinned = pins.get(f"cassettes/{path.name}")
            if pinned is None:
                hint = "record it with --cache live, or run with --cache off"
                raise SpecError("there is no such cassette", where=f"cassettes/{path.name}", hint=hint)
            made = Cassette.replay(path, pinned=pinned)
        closing.callback(made.close)
        cassettes[item.model] = made
    return cassettes[item.model]


def _tools(item: Configuration, opened: Mapping[str, Json], context: RunnerContext) -> dict[str, OfferedTool]:
    """Return what a configuration is offered in some of its cases."""
    if not item.tools:
        return {}
    from trialplate.runners.python_tool import PythonTool

    return {tool.name: PythonTool(tool, opened[tool.texts[0].commitment], item, context) for tool in item.tools}


def _scorers(prepared: Prepared, context: ScorerContext) -> dict[str, Sequence[tuple[Scorer, ScorerObject]]]:
    """Return the scorers of each case; each scorer is made once."""
    made: dict[str, ScorerObject] = {}
    for scorer in prepared.plan.scorers:
        bare = make_scorer(scorer, _texts(scorer.texts, prepared.opened), prepared.own)
        made[scorer.name] = ScorerInContext(bare, context)
    return {
        case.id: [(scorer, made[scorer.name]) for scorer in prepared.matrix.applicable(case)]
        for case in prepared.matrix.cases
    }


def _texts(texts: Sequence[PlanText], opened: Mapping[str, Json]) -> dict[tuple[str, str], Json]:
    return {(text.role, text.name): opened[text.commitment] for text in texts}
