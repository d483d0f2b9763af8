# SPDX-License-Identifier: Apache-2.0
"""`run_trial`: the engine of `trialplate run --yes`, with a person's own runner and scorer objects.

A project is written, frozen, committed and run as any other; the record is signed by its ledger's key. Called where a
loop is running, as in a notebook, it works in a thread and waits for it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

from trialplate.api.marks import PassMark
from trialplate.api.models import Model
from trialplate.api.run_record import RunRecord
from trialplate.api.test_sets import TestSet
from trialplate.api.written import write_project
from trialplate.engine.begin import begin_project
from trialplate.engine.fetching import fetch
from trialplate.engine.making import Own
from trialplate.engine.prepare import Prepared, prepare
from trialplate.engine.project import open_ledger
from trialplate.engine.ready import check_ready
from trialplate.engine.run import run_prepared
from trialplate.engine.session import Finished
from trialplate.engine.watch import Watch
from trialplate.errors import SpecError, UsageError
from trialplate.spec.added import OBJECT
from trialplate.spec.limits import Ceiling
from trialplate.spec.project import load_project
from trialplate.spec.test_sets import label_from
from trialplate.verify.locate import ledger_above

__all__ = ["apart", "objects_of", "run_trial"]

T = TypeVar("T")
Scorers = Mapping[str, Any] | Sequence[Any]


def run_trial(
    test_set: TestSet,
    pass_mark: PassMark,
    models: Sequence[Model],
    *,
    scorers: Scorers,
    runners: Mapping[str, Any] | None = None,
    repeats: int = 3,
    concurrency: int = 4,
    folder: str | os.PathLike[str] | None = None,
    name: str | None = None,
    max_cost: int | float | str | Decimal | None = None,
) -> RunRecord:
    """Run every model on every case, and return the signed record. Money is spent without another question.

    Args:
        test_set: of `load_test_set`.
        pass_mark: committed to the ledger before the first call.
        models: each with a name of its own.
        scorers: by name, or a list: the name of a type ("exact"), an entry as in a plan (in a list with its `name`), or
            an object with `score(case, answer)` and `metrics` or `metric` (in a list also `name`), and perhaps
            `threshold` and `timeout_s`.
        runners: by the name that models give: an object with `run(model, case)` or `answer(request, tools)`; or a dict
            of options for a runner of an installed package.
        repeats: of each case with each model.
        concurrency: attempts under way at the same time.
        folder: the project's, new or of an earlier `run_trial`: attempts in one ledger are counted. None: a temporary
            one with a ledger of its own, gone with the record unless it is saved.
        name: the plan's; the ledger and a new key are called so. None: as the folder; "trial", if that is temporary.
        max_cost: no attempt starts that could go beyond it, in the currency of the prices.

    Returns:
        The record; of a run that was interrupted or left something out too: see `reason`.

    Raises:
        SpecError, UsageError: something cannot be used; nothing was asked.
        StorageError: it could not go on writing; what was signed is valid.
    """
    _check_kinds(test_set, pass_mark, models)
    own, options, named = objects_of(runners, scorers)
    own.names("runners")
    entries = {model.name: model.entry for model in models}
    if len(entries) < len(models) or not models:
        names = ", ".join(model.name for model in models) or "none"
        raise UsageError(f"models need different names, and there is {names}", hint="give each a name=")
    if pass_mark.needs_rivals and len(models) < 2:
        raise UsageError("this pass mark says nothing about a single model", hint="give floors={...}")
    temporary = folder is None
    place = Path(tempfile.mkdtemp(prefix="trialplate-") if folder is None else os.path.abspath(folder))
    plan: dict[str, Any] = {"name": name or ("trial" if temporary else label_from(place.name)[:64])}
    plan |= {"runners": options} if options else {}
    plan |= {"models": entries, "repeats": repeats, "scorers": named, "pass_mark": pass_mark.entry}
    plan |= {"run": {"concurrency": concurrency}}
    try:
        if not temporary and (above := ledger_above(place.parent)) is not None:
            hint = "name a folder outside of it: a trial is a project of its own"
            raise UsageError(f"this would be inside the project {above.parent}", where=str(place), hint=hint)
        write_project(place, test_set, plan)
        trial = _Trial(place, test_set, own, _ceiling(max_cost), temporary)
        finished, warnings = apart(trial.run)
        return RunRecord(finished.folder, reason=finished.reason, warnings=warnings, temporary=temporary)
    except BaseException:
        if temporary:
            shutil.rmtree(place, ignore_errors=True)
        raise


def _check_kinds(test_set: object, pass_mark: object, models: object) -> None:
    """Refuse what is of another kind than it is meant to be, as who calls has no type checker."""
    if not isinstance(test_set, TestSet):
        hint = "give load_test_set(path)"
        raise UsageError(f"the test set is a {type(test_set).__name__}, and no TestSet", hint=hint)
    if not isinstance(pass_mark, PassMark):
        hint = "give PassMark(...); PassMark.from_dict({...}) takes a dict"
        raise UsageError(f"the pass mark is a {type(pass_mark).__name__}, and no PassMark", hint=hint)
    example = 'give a list, such as [Model("gpt-5", "mine")]'
    if not isinstance(models, Sequence) or isinstance(models, str):
        raise UsageError(f"models is a {type(models).__name__}", hint=example)
    for item in models:
        if not isinstance(item, Model):
            raise UsageError(f"one of the models is a {type(item).__name__}", hint=example)


class _Trial:
    """A trial that is written down, and not run yet."""

    def __init__(self, folder: Path, test_set: TestSet, own: Own, ceiling: Ceiling, temporary: bool) -> None:
        self.folder, self.test_set, self.own, self.ceiling, self.temporary = folder, test_set, own, ceiling, temporary

    def run(self, watch: Watch) -> tuple[Finished, tuple[str, ...]]:
        """Run it; returns what it came to, and the plan's warnings."""
        ledger = self.folder / "ledger"
        project = load_project(self.folder, fetch, self.own)
        if project.cases != self.test_set.cases:
            where = str(self.test_set.path)
            raise SpecError("the test set is not as it was when it was loaded", where=where, hint="load it again")

        def ready(secret: bytes) -> Prepared:
            return prepare(project, secret, ceiling=self.ceiling, own=self.own)

        if not ledger.exists():
            begin_project(self.folder, project.author.name, os.environ, ready, temporary=self.temporary)
        view, writer, key = open_ledger(ledger)
        prepared = ready(key.secret)
        check_ready(prepared, os.environ)
        at_once = prepared.plan.concurrency
        finished = run_prepared(prepared, view, writer, key, os.environ, at_once=at_once, watch=watch)
        return finished, prepared.frozen.warnings


def objects_of(runners: Mapping[str, Any] | None, scorers: Scorers) -> tuple[Own, dict[str, Any], dict[str, Any]]:
    """Return the objects that were given, the options of packages' runners, and the scorers as a plan has them.

    Raises:
        UsageError: a scorer has no name, or two have one; an object has not the form of a runner or of a scorer.
    """
    options = {name: dict(item) for name, item in (runners or {}).items() if isinstance(item, Mapping)}
    given = {name: item for name, item in (runners or {}).items() if name not in options}
    for name, item in given.items():
        _check_object(f"runners[{name!r}]", item, "run", "answer", form="run(model, case)")
    objects: dict[str, Any] = {}
    entries: dict[str, Any] = {}
    for name, item in scorers.items() if isinstance(scorers, Mapping) else map(_with_name, scorers):
        if name in entries:
            raise UsageError(f"two scorers are called {name!r}", where="scorers", hint="give each a name of its own")
        if isinstance(item, str | Mapping):
            entries[name] = {"type": item} if isinstance(item, str) else dict(item)
            if entries[name].get("type") == OBJECT:
                message = f"the scorer {name!r} has the type of objects, and is none"
                raise UsageError(message, where="scorers", hint="give the object itself")
        else:
            _check_object(f"scorers[{name!r}]", item, "score", form="score(case, answer)")
            objects[name] = item
            own = {key: getattr(item, key) for key in ("threshold", "timeout_s") if hasattr(item, key)}
            entries[name] = {"type": OBJECT, **own}
    return Own(runners=given, scorers=objects), options, entries


def _check_object(where: str, item: Any, *methods: str, form: str) -> None:
    """Refuse an object that could not be called, before anything is made: it would fail every trial.

    Raises:
        UsageError: it is a class, or has none of these methods.
    """
    if isinstance(item, type):
        message = f"this is the class {item.__name__}, and no object of it"
        raise UsageError(message, where=where, hint=f"give {item.__name__}(...)")
    if not any(callable(getattr(item, name, None)) for name in methods):
        message = f"this {type(item).__name__} has no {' and no '.join(methods)}"
        raise UsageError(message, where=where, hint=f"give an object with {form}")


def _with_name(item: Any) -> tuple[str, Any]:
    """Return a scorer of a list with its name."""
    if isinstance(item, str):
        return item, item
    name = item.get("name") if isinstance(item, Mapping) else getattr(item, "name", None)
    if not isinstance(name, str):
        hint = 'give it a name, or scorers={"correct": ...}'
        raise UsageError(f"a scorer of {type(item).__name__} has no name", where="scorers", hint=hint)
    return name, {key: value for key, value in item.items() if key != "name"} if isinstance(item, Mapping) else item


def _ceiling(max_cost: int | float | str | Decimal | None) -> Ceiling:
    if max_cost is None:
        return Ceiling()
    try:
        amount = Decimal(str(max_cost))
    except InvalidOperation:
        amount = Decimal(-1)
    if isinstance(max_cost, bool) or not 0 <= amount < 10_000_000:
        raise UsageError(f"max_cost cannot be {max_cost!r}", hint="give an amount in the currency of your prices")
    return Ceiling(cost_nano=int(amount * 10**9))


def apart(work: Callable[[Watch], T]) -> T:
    """Return what some work comes to: in a thread, where this one has a loop that is running.

    There an interrupt asks the run to end in order, as ctrl-C does elsewhere.
    """
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work(Watch())
    watch = _Interruptible()
    came: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            came.append(work(watch))
        except BaseException as error:
            raised.append(error)
        finally:
            ended.set()

    ended = threading.Event()
    thread = threading.Thread(target=run, name="trialplate run")
    thread.start()
    while not ended.is_set():
        try:
            ended.wait()  # a join that is interrupted takes the thread for ended
        except KeyboardInterrupt:
            watch.ask()
    thread.join()
    if raised:
        raise raised[0]
    return came[0]


class _Interruptible(Watch):
    """Takes over what asks a run in another thread for its end."""

    def __init__(self) -> None:
        self.ask: Callable[[], object] = lambda: None

    def interruptible(self, interrupt: Callable[[], object]) -> None:
        """Keep it for when somebody asks."""
        self.ask = interrupt
