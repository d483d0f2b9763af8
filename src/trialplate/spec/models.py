# SPDX-License-Identifier: Apache-2.0
"""trialplate.yaml as its author writes it, for everything that this version runs.

A key of the full language whose engine comes later is refused by `later` with its own sentence; every other unknown
key is an error here. Names are checked against each other by `project` and `freeze`, not by these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from trialplate.record.values import CacheMode
from trialplate.spec.case_files import Access, Detail
from trialplate.spec.case_forms import MOST_TURNS
from trialplate.spec.entries import HelperEntry, ModelEntry, Profile, ProviderEntry
from trialplate.spec.fields import (
    Author,
    AuthorSelector,
    FilePath,
    Many,
    Milliseconds,
    Money,
    Name,
    OneOrMany,
    Short,
    Text,
)
from trialplate.spec.marks import MarkEntry
from trialplate.spec.plugin_scorers import ScorerEntry
from trialplate.spec.pricing import PricingForm
from trialplate.spec.tool_entries import ToolEntry, ToolName

__all__ = ["AuthorPlan", "BudgetEntry", "MatrixEntry", "RunEntry", "TestSetEntry"]


class Defaults(Author):
    """What every case of a file gets: suite and context where it has none, tags and meta beside its own.

    Its files get `access` and `image_detail` where they do not say them.
    """

    suite: Text | None = None
    tags: Many[Text] = ()
    meta: dict[str, Any] = {}  # noqa: RUF012  the models are frozen and copy their defaults
    context: OneOrMany[str] = ()
    access: Annotated[Many[Access], Field(min_length=1)] = ("native", "local")
    image_detail: Detail | None = None
    answer_format: Text | None = None
    max_turns: Annotated[int, Field(ge=1, le=MOST_TURNS)] | None = None
    tools: Many[Any] = ()
    """As a case offers them."""


class TestSetEntry(Author):
    """One file of cases."""

    __test__ = False
    """It is no test, whatever a test runner makes of its name."""

    file: FilePath
    loader: Name | None = None
    """Who reads it, if not whoever its ending names."""
    defaults: Defaults = Defaults()
    name: Name | None = None
    version: Short | None = None
    visibility: Literal["private", "public"] = "private"


class MatrixEntry(Author):
    """One line of the matrix: models x profiles x its cases x repeats."""

    models: Annotated[Many[Name], Field(min_length=1)] | None = None
    profiles: Annotated[Many[Name], Field(min_length=1)] = ("default",)
    cases: AuthorSelector = AuthorSelector()
    repeats: Annotated[int, Field(ge=1, le=10_000)] | None = None


class ClassificationEntry(Author):
    """A short form of a scorer named `label`, of type label."""

    labels: Literal["reference"] = "reference"
    trim: bool = True
    cases: AuthorSelector = AuthorSelector()


class VerdictEntry(Author):
    """How scorers make a trial's verdict, and repeats a case's."""

    trial: Literal["all_scorers"] = "all_scorers"
    case: Literal["all", "majority", "any"] = "all"


class BudgetEntry(Author):
    """What a run may spend, and how long it may go on beginning attempts."""

    cost_usd: Money | None = None
    wall_time_s: Annotated[Milliseconds, Field(gt=0)] | None = None
    when: Literal["before_next_trial"] = "before_next_trial"


class RunEntry(Author):
    """How a run goes about it; nothing here changes what is asked."""

    concurrency: Annotated[int, Field(ge=1, le=1000)] = 4
    order: Literal["interleaved"] = "interleaved"
    cache: CacheMode = "off"
    budget: BudgetEntry | None = None


class AuthorPlan(Author):
    """The whole file."""

    trialplate: Literal[1]
    name: Name
    test_sets: Annotated[Many[TestSetEntry], Field(min_length=1)]
    profiles: dict[Name, Profile] = {}  # noqa: RUF012  the models are frozen and copy their defaults
    models: Annotated[dict[Name, ModelEntry], Field(min_length=1)]
    pricing: PricingForm | None = None
    """Of models that say nothing, and whose provider says nothing."""
    helpers: dict[Name, HelperEntry] = {}  # noqa: RUF012
    providers: dict[Short, ProviderEntry] = {}  # noqa: RUF012
    runners: dict[Name, dict[str, Any]] = {}  # noqa: RUF012
    """Options of the runners that packages add."""
    matrix: Annotated[Many[MatrixEntry], Field(min_length=1)] | None = None
    repeats: Annotated[int, Field(ge=1, le=10_000)]
    tools: dict[ToolName, ToolEntry] = {}  # noqa: RUF012
    scorers: Annotated[dict[Name, ScorerEntry], Field(min_length=1)]
    classification: ClassificationEntry | None = None
    verdict: VerdictEntry = VerdictEntry()
    pass_mark: MarkEntry
    run: RunEntry = RunEntry()
