# SPDX-License-Identifier: Apache-2.0
"""Signatures and help of every command; each body stands in its own module and is imported when it is called.

`verify` and `gate` are never run here (see `main`): they stand here with their options so that `--help` lists them and
a shell completes them. A test holds these options against those of the auditor's program.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.main import get_command

from trialplate import __version__
from trialplate.cli import complete, parameters
from trialplate.cli.baseline_app import baseline_app
from trialplate.cli.judge_app import judge_app
from trialplate.cli.ledger_app import ledger_app
from trialplate.errors import EXIT_USAGE

__all__ = ["app", "application"]

app = typer.Typer(
    name="trialplate",
    help="Acceptance testing for language models and agents: commit a pass mark, run, gate, verify.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings=parameters.HELP,
)
keys_app = typer.Typer(
    help="Signing keys: made here, kept outside of every project.",
    no_args_is_help=True,
    context_settings=parameters.HELP,
)
app.add_typer(judge_app, name="judge-check")
app.add_typer(keys_app, name="keys")
app.add_typer(ledger_app, name="ledger")
app.add_typer(baseline_app, name="baseline")

HERE = Path("trialplate.yaml")


def application(arguments: Sequence[str]) -> int:
    """Run the application and return the exit code.

    Raises:
        UsageError: the arguments are wrong; nothing was spent.
    """
    given = list(arguments)
    complete.ready()
    if given in (["--install-completion"], ["--show-completion"]):
        given.append(complete.shell_of(None))
    try:
        code = get_command(app).main(
            given, prog_name="trialplate", complete_var=complete.VARIABLE, standalone_mode=False
        )
    except SystemExit as done:
        if isinstance(done.__context__, OSError):
            raise done.__context__ from None  # the parser takes a closed output for a negative answer
        raise
    except Exception as error:
        if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
            raise
        from trialplate.cli.usage import usage_error

        told = usage_error(error)
        if told is None:
            return EXIT_USAGE
        raise told from None
    return code if isinstance(code, int) else 0


def _version(value: bool) -> None:
    if value:
        typer.echo(f"trialplate {__version__}")
        raise typer.Exit


def _show(shell: str | None) -> None:
    if shell is not None:
        complete.show(shell)
        raise typer.Exit


def _install(shell: str | None) -> None:
    if shell is not None:
        complete.install(shell)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    install: Annotated[
        str | None,
        typer.Option(
            "--install-completion", metavar="[SHELL]", callback=_install, help="Complete with TAB from now on."
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            "--show-completion", metavar="[SHELL]", callback=_show, help="Print what TAB needs, to install it."
        ),
    ] = None,
) -> None:
    """Acceptance testing for language models and agents: commit a pass mark, run, gate, verify."""


@app.command()
def init(
    starter: Annotated[
        str,
        typer.Argument(metavar="STARTER", autocompletion=complete.starters, help="Which starter; --list shows them."),
    ] = "demo",
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A new or empty folder; trialplate-STARTER by default.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the starters, and make nothing.")] = False,
) -> int:
    """Make a working project: a plan, cases, a key and a ledger."""
    from trialplate.cli.init import init_project, list_starters

    if listed:
        return list_starters()
    return init_project(starter, folder or Path(f"trialplate-{starter}"))


@app.command()
def validate(plan: parameters.PlanArgument = HERE, json: parameters.JsonOption = False) -> int:
    """Check every file, name, reference and pattern of a plan; nothing is run."""
    from trialplate.cli.validate import validate_plan

    return validate_plan(plan, as_json=json)


@app.command()
def plan(
    plan: parameters.PlanArgument = HERE,
    pilot: parameters.PilotOption = None,
    rho: parameters.RhoOption = None,
    true: parameters.TrueOption = None,
    json: parameters.JsonOption = False,
) -> int:
    """Tell what a run would cost and what its test set and mark can show; nothing is run."""
    from trialplate.cli.plan import PlanOptions, show_plan

    return show_plan(plan, PlanOptions(pilot=pilot, rho=rho, true=true, json=json))


@app.command()
def commit(
    plan: parameters.PlanArgument = HERE,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why this mark supersedes another: public, and for ever.")
    ] = None,
) -> int:
    """Commit the test set and the pass mark to the ledger, ahead of a run."""
    from trialplate.cli.commit import commit_plan

    return commit_plan(plan, reason)


@app.command()
def run(
    plan: parameters.PlanArgument = HERE,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Run it. Without this, the estimate is printed and nothing is spent.")
    ] = False,
    only: parameters.CaseOption = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="A pilot: only the first N cases.")] = None,
    models: parameters.ModelsOption = None,
    repeats: Annotated[int | None, typer.Option(metavar="N", min=1, help="A pilot: at most N repeats.")] = None,
    cache: parameters.CacheOption = None,
    max_cost: parameters.MaxCostOption = None,
    max_time: parameters.MaxTimeOption = None,
    jobs: parameters.JobsOption = None,
    json: parameters.EventsOption = False,
    quiet: parameters.QuietOption = False,
    color: parameters.ColorOption = None,
) -> int:
    """Estimate a plan, or run it with --yes."""
    from trialplate.cli.run import RunOptions, run_plan

    options = RunOptions(
        yes=yes,
        only=only,
        limit=limit,
        models=models,
        repeats=repeats,
        cache=cache,
        max_cost=max_cost,
        max_time=max_time,
        jobs=jobs,
        json=json,
        quiet=quiet,
        color=color,
    )
    return run_plan(plan, options)


@app.command()
def resume(
    run: parameters.RunArgument,
    max_cost: parameters.MaxCostOption = None,
    max_time: parameters.MaxTimeOption = None,
    jobs: parameters.JobsOption = None,
    json: parameters.EventsOption = False,
    quiet: parameters.QuietOption = False,
    color: parameters.ColorOption = None,
    ledger: parameters.LedgerOption = None,
) -> int:
    """Finish a run: ask only what is unknown, keep what is decided."""
    from trialplate.cli.colour import colour_mode
    from trialplate.cli.progress import Manner
    from trialplate.cli.resume import resume as resume_run

    manner = Manner(json=json, quiet=quiet, colour=colour_mode(color))
    return resume_run(run, manner, max_cost=max_cost, max_time=max_time, jobs=jobs, ledger=ledger)


@app.command()
def report(
    run: parameters.RunArgument = "latest",
    format: parameters.FormatOption = None,  # noqa: A002  the option's own name
    output: parameters.OutputOption = None,
    by_tag: Annotated[bool, typer.Option("--by-tag", help="Add the table by tag.")] = False,
    failures: parameters.FailuresOption = 5,
    withhold: parameters.WithholdOption = False,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    ledger: parameters.LedgerOption = None,
) -> int:
    """Show a run: the decision in words, the table, the failures."""
    from trialplate.cli.report import ReportOptions, show_report

    chosen = "json" if json and format is None else format
    options = ReportOptions(format=chosen, output=output, by_tag=by_tag, failures=failures, withhold=withhold)
    return show_report(run, options, ledger)


@app.command()
def ls(json: parameters.JsonOption = False, ledger: parameters.LedgerOption = None) -> int:
    """List the runs of the ledger, the newest first."""
    from trialplate.cli.ls import list_runs

    return list_runs(ledger, json)


@app.command()
def show(
    run: parameters.RunArgument = "latest",
    case: parameters.CaseArgument = None,
    model: parameters.RanOption = None,
    repeat: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only this repeat.")] = None,
    json: parameters.JsonOption = False,
    ledger: parameters.LedgerOption = None,
) -> int:
    """Show the trials of a run, or of one case with prompt, answers and reasons."""
    from trialplate.cli.show import show_trials

    return show_trials(run, case, model=model, repeat=repeat, as_json=json, ledger=ledger)


@app.command()
def gate(
    run: parameters.RunArgument,
    model: parameters.ConfigurationOption = None,
    chosen: Annotated[bool, typer.Option("--chosen", help="Accept only the one that the mark chooses.")] = False,
    exit_inconclusive: parameters.ExitInconclusiveOption = 1,
    no_append: parameters.NoAppendOption = False,
    against: parameters.AgainstOption = None,
    trust: parameters.TrustOption = None,
    ledger: parameters.LedgerOption = None,
    json: parameters.JsonOption = False,
) -> int:
    """Verify a run and decide on one configuration: exit 0 only if it is accepted."""
    raise RuntimeError("the front door answers this command")


@app.command()
def verify(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH", autocompletion=complete.runs, help="Project, ledger, run folder, run id or latest."
        ),
    ] = None,
    rescore: Annotated[bool, typer.Option("--rescore", help="Score the recorded answers again, and compare.")] = False,
    run_code: Annotated[
        bool, typer.Option("--run-code", help="With --rescore: run scorers that are programs as well.")
    ] = False,
    against: parameters.AgainstOption = None,
    trust: parameters.TrustOption = None,
    ledger: parameters.LedgerOption = None,
    json: parameters.JsonOption = False,
) -> int:
    """Verify a project, a ledger or a run, offline."""
    raise RuntimeError("the front door answers this command")


@app.command()
def waive(
    run: parameters.RunArgument,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why the run does not count. Signed, public and for ever.")
    ],
    ledger: parameters.LedgerOption = None,
) -> int:
    """Sign that one run does not count as an attempt."""
    from trialplate.cli.waive import waive_run

    return waive_run(run, reason, ledger)


@app.command()
def schema(
    name: parameters.SchemaArgument = None,
) -> int:
    """Print the JSON Schema of a format."""
    from trialplate.cli.schema import print_schema

    return print_schema(name)


@app.command()
def plugins(json: parameters.JsonOption = False) -> int:
    """List runners, scorers, loaders and reports, and the packages they come from."""
    from trialplate.cli.plugins import show_plugins

    return show_plugins(json)


@app.command()
def doctor(json: parameters.JsonOption = False, ledger: parameters.LedgerOption = None) -> int:
    """Look at versions, keys, clock, disk, ledger, folders and Docker; nothing is changed."""
    from trialplate.cli.doctor import examine

    return examine(ledger, json)


@keys_app.command("new")
def keys_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the key, such as your team's.")],
) -> int:
    """Make a signing key, and print its public line."""
    from trialplate.cli.keys import make_key

    return make_key(name)
