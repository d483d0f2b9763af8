# SPDX-License-Identifier: Apache-2.0
"""Signatures and help of `judge-check`, as `app` has those of every other command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trialplate.cli import complete, parameters

__all__ = ["judge_app"]

judge_app = parameters.group("A judge against a person's grades.")


@judge_app.command("sample")
def draw(
    run: parameters.RunArgument,
    scorer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", autocompletion=complete.judges, help="Which judge; needed if the run has several."
        ),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="How many answers.")] = 20,
    stratify: Annotated[
        str | None, typer.Option(metavar="verdict", help="As many of each of the judge's verdicts; no evidence.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there; grades.csv by default.")
    ] = None,
    bom: Annotated[bool, typer.Option("--bom", help="Begin with a byte-order mark, for Excel.")] = False,
    json: parameters.JsonOption = False,
    ledger: parameters.LedgerOption = None,
) -> int:
    """Log which answers are to be graded, and write them to a sheet."""
    from trialplate.cli.judge_draw import DrawOptions, draw_answers

    options = DrawOptions(scorer=scorer, count=count, stratify=stratify, output=output, bom=bom, json=json)
    return draw_answers(run, options, ledger)


@judge_app.command("score")
def score(
    sheets: Annotated[
        list[Path], typer.Argument(metavar="SHEET", help="The graded sheet; several, if several people graded it.")
    ],
    grader: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who graded it, once for each file; public, and for ever.")
    ] = None,
    minimum: Annotated[
        float | None,
        typer.Option("--min", metavar="SHARE", min=0, max=1, help="Exit 1 unless the agreement is shown to be this."),
    ] = None,
    json: parameters.JsonOption = False,
    ledger: parameters.LedgerOption = None,
) -> int:
    """Log the grades, and say how far people and judge agree."""
    from trialplate.cli.judge_score import ScoreOptions, score_sheets

    return score_sheets(sheets, ScoreOptions(graders=grader or (), minimum=minimum, json=json), ledger)
