# SPDX-License-Identifier: Apache-2.0
"""Arguments and options, with their help and with what completes them, for the signatures in `app`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trialplate.cli import complete

__all__ = [
    "AgainstOption",
    "CacheOption",
    "CaseArgument",
    "CaseOption",
    "ColorOption",
    "ConfigurationOption",
    "EventsOption",
    "ExitInconclusiveOption",
    "FailuresOption",
    "FormatOption",
    "HELP",
    "JobsOption",
    "JsonOption",
    "LedgerOption",
    "MaxCostOption",
    "MaxTimeOption",
    "ModelsOption",
    "NoAppendOption",
    "OutputOption",
    "PilotOption",
    "PlanArgument",
    "QuietOption",
    "RanOption",
    "RhoOption",
    "RunArgument",
    "SchemaArgument",
    "TrueOption",
    "TrustOption",
    "WithholdOption",
    "group",
]

HELP = {"help_option_names": ["--help", "-h"]}
"""Of every command and group of commands: how its help is asked for."""


def group(told: str) -> typer.Typer:
    """Return a group of commands that tells its help where none of them is named."""
    return typer.Typer(help=told, no_args_is_help=True, context_settings=HELP)


PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", readable=False, help="trialplate.yaml, or its folder.")]
RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", autocompletion=complete.runs, help="A path, a run id, its beginning, or latest."),
]
LedgerOption = Annotated[Path | None, typer.Option("--ledger", metavar="DIR", help="The ledger, if it is not above.")]
EventsOption = Annotated[bool, typer.Option("--json", help="Print one JSON object; on stderr, events as it goes.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result and what is wrong, nothing else.")]
ColorOption = Annotated[
    str | None,
    typer.Option("--color", metavar="auto|always|never", autocompletion=complete.colours, help="Colour on stderr."),
]
ExitInconclusiveOption = Annotated[
    int, typer.Option("--exit-inconclusive", min=1, max=125, metavar="N", help="Exit with N where it is inconclusive.")
]
NoAppendOption = Annotated[
    bool, typer.Option("--no-append", help="Decide without appending the decision to the ledger.")
]
AgainstOption = Annotated[
    list[str] | None, typer.Option("--against", metavar="NOTE", help="A checkpoint the ledger must extend.")
]
TrustOption = Annotated[
    list[str] | None, typer.Option("--trust", metavar="FILE|LINE", help="A public key line, or a file of them.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
JobsOption = Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", min=1, help="Requests at once.")]
CaseOption = Annotated[
    str | None, typer.Option(metavar="ID,ID", autocompletion=complete.cases, help="A pilot: only these cases.")
]
ModelsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,NAME", autocompletion=complete.models, help="A pilot: only these models or configurations."
    ),
]
CacheOption = Annotated[
    str | None,
    typer.Option(
        metavar="off|auto|live|replay",
        autocompletion=complete.cache_modes,
        help="live records exchanges, replay never calls, auto does what is needed.",
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="text|markdown|json|csv",
        autocompletion=complete.formats,
        help="How to show it; text by default.",
    ),
]
CaseArgument = Annotated[
    str | None,
    typer.Argument(metavar="CASE", autocompletion=complete.cases_of_run, help="A case's id, or its beginning."),
]
RanOption = Annotated[
    str | None,
    typer.Option(metavar="NAME[/PROFILE]", autocompletion=complete.ran, help="Only this model or configuration."),
]
ConfigurationOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[/PROFILE]", autocompletion=complete.configurations, help="The configuration to decide on."
    ),
]
SchemaArgument = Annotated[
    str | None,
    typer.Argument(metavar="NAME", autocompletion=complete.schemas, help="Which format; without it, they are listed."),
]
MaxCostOption = Annotated[
    str | None, typer.Option(metavar="AMOUNT", help="Begin no attempt by which the run could cost more than this.")
]
MaxTimeOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Begin no attempt after this time: 90, 90s, 30m, 2h.")
]
PilotOption = Annotated[
    str | None,
    typer.Option(
        metavar="RUN", autocompletion=complete.runs, help="Take from this run how much repeats resemble each other."
    ),
]
RhoOption = Annotated[
    str | None,
    typer.Option(metavar="SHARE", help="How much repeats of a case resemble each other; 0.5 where it is not told."),
]
TrueOption = Annotated[
    str | None, typer.Option(metavar="RATE,RATE", help="True values to tell of, instead of some near each threshold.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there; its ending tells the format.")
]
FailuresOption = Annotated[
    int, typer.Option(metavar="N", min=0, help="How many failures of each configuration to show.")
]
WithholdOption = Annotated[bool, typer.Option("--withhold", help="Leave out answers and every other private text.")]
