# SPDX-License-Identifier: Apache-2.0
"""Everything a plan names, read once: the author's file, test sets, documents, answers, programs, cassettes.

The only code of this room that touches files. It reads regular files inside the project's folder and nothing else: a
path that leads out of it, also through a symbolic link, is refused. No environment variable is read, no program is
started, nothing is written, but by the `fetch` of a caller that may use the network. After this, `freeze` is
arithmetic.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.record.values import Case
from trialplate.spec import later, problems, test_sets, yaml_strict
from trialplate.spec.added import NOTHING, AddedGroup, AddedName, AddedNames
from trialplate.spec.added_entries import loader_of, named_in
from trialplate.spec.answer_schemas import check_schema
from trialplate.spec.case_files import ACCESS, CaseFiles, Fetch
from trialplate.spec.case_forms import case_tools
from trialplate.spec.commands import doubtful_words, files_of
from trialplate.spec.document import MAX_BYTES, Document, decode_utf8, plain
from trialplate.spec.document import Path as Place
from trialplate.spec.entries import Command, Function, Settings, StandInModel, TextModel
from trialplate.spec.functions import check_function
from trialplate.spec.helped_entries import JudgeScorer
from trialplate.spec.models import AuthorPlan, TestSetEntry
from trialplate.spec.pins import pin_digest
from trialplate.spec.reading import near_hint, read_inside
from trialplate.spec.scorer_entries import JsonSchemaScorer

__all__ = ["Project", "load_cases", "load_project"]

_FILE = "trialplate.yaml"
_MAX_TEXT = 16 * 1024 * 1024
_MAX_PINNED = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Project:
    """A project as read: nothing is resolved yet, nothing refers to the disk any more."""

    root: Path
    """The folder of the author's file."""
    document: Document
    author: AuthorPlan
    cases: tuple[Case, ...]
    """Merged, in file order."""
    places: Mapping[str, str]
    """Case id to "file:line"."""
    automatic: tuple[str, ...]
    """Ids that come from a case's place in its file."""
    labels: tuple[tuple[str, str | None], ...]
    """Name and version of each file of cases, in their order."""
    texts: Mapping[str, str]
    """Documents and scripted answers, by path, with LF line ends."""
    pinned: Mapping[str, str]
    """Digest of every project file that a command or a callable names, by path."""
    blobs: Mapping[str, str]
    """Where the bytes lie that cases name, in the project's folder, by their digest."""
    sizes: Mapping[str, int]
    """How many these are, by their digest."""
    schemas: Mapping[str, Json]
    """The schemas of scorers, by the scorer's name; those of a judge by its name, a space and their key."""
    cassettes: Mapping[str, str]
    """Digest of every cassette there is, by path."""
    warnings: tuple[str, ...] = ()
    added: Mapping[tuple[AddedGroup, str], AddedName] = field(default_factory=dict)
    """What the plan names and is no built-in, by group and name."""


def load_project(path: str | os.PathLike[str], fetch: Fetch | None = None, added: AddedNames = NOTHING) -> Project:
    """Read a project from its trialplate.yaml, or from the folder that holds it.

    Args:
        path: of either.
        fetch: brings what cases name by an address and was not fetched before; None: nothing is fetched.
        added: where names that are no built-ins are looked up.

    Raises:
        SpecError: with file, line and column, for whatever cannot be used; all problems of the author's file at once.
    """
    file = _author_file(Path(path))
    root = file.parent
    document = yaml_strict.load(read_inside(root, file.name, file.name, MAX_BYTES), file.name)
    found, remaining = later.refuse(document)
    author = problems.validated(AuthorPlan, document, remaining, found, added)
    problems.raise_problems(found)
    assert author is not None  # noqa: S101  no problem, so there is a model
    files = CaseFiles(root, fetch)
    named = dict(named_in(document, author, added))
    parts = [_part(document, author, index, files, named) for index in range(len(author.test_sets))]
    cases = test_sets.merge(parts, document.where(("test_sets",)))
    labels, contradictions = _labels(author.test_sets, parts)
    texts = {name: _text(root, name, where) for name, where in _text_files(document, author)}
    schemas = list(_schemas(root, document, author))
    return Project(
        root=root,
        document=document,
        author=author,
        cases=cases.cases,
        places=cases.places,
        automatic=cases.automatic,
        labels=labels,
        texts=texts,
        pinned=dict(_pinned(root, document, author)),
        blobs=files.blobs,
        sizes=files.sizes,
        schemas={name: schema for name, schema, _ in schemas},
        cassettes=dict(_cassettes(root)),
        warnings=(
            *contradictions,
            *cases.warnings,
            *test_sets.first_few(files.doubts, "files do not begin as files of their type do"),
            *_doubts(root, document, author),
            *(item for _, _, told in schemas for item in told),
        ),
        added=named,
    )


def _author_file(path: Path) -> Path:
    """Return the author's file that a path names: itself, or what stands in the folder.

    Raises:
        SpecError: there is no such file or folder, or the folder holds no plan.
    """
    hint = f"give a project's folder or its {_FILE}"
    if os.path.isdir(path):  # unlike Path.is_dir, it has an answer also where nothing may be looked at
        if not os.path.lexists(path / _FILE):
            above = next((item for item in path.absolute().parents if os.path.lexists(item / _FILE)), None)
            if above is not None:
                hint = f"this is inside the project {above}: go there, or name it"
            else:
                hint += "; `trialplate init` begins a new project"
            raise SpecError(f"there is no {_FILE} in {_folder(path)}", hint=near_hint(path / _FILE) or hint)
        return path / _FILE
    if not os.path.lexists(path):
        if path.name == _FILE and os.path.isdir(path.parent):
            return _author_file(path.parent)
        raise SpecError(f"{path} does not exist", hint=near_hint(path, folders=True) or hint)
    return path


def _folder(path: Path) -> str:
    return "this folder" if path == Path() else str(path)


def load_cases(
    path: str | os.PathLike[str], fetch: Fetch | None = None, added: AddedNames = NOTHING, loader: str | None = None
) -> tuple[test_sets.LoadedCases, tuple[str, ...]]:
    """Read a file of cases by itself, as a plan beside it would.

    Args:
        path: to the file; files that its cases name are in its folder or below it.
        fetch: as `load_project` takes it.
        added: where loaders that are no built-ins are looked up.
        loader: who reads it, if not whoever its ending names.

    Returns:
        The cases, and the paths of the files that they name, relative to the folder.

    Raises:
        SpecError: it cannot be used.
    """
    file = Path(path)
    reader = loader_of(file.name, loader, added, file.name)
    data = read_inside(file.parent, file.name, str(path), test_sets.MAX_FILE_BYTES)
    files = CaseFiles(file.parent, fetch)
    part = test_sets.load(test_sets.Source(file.name, data, files=files), None if reader is None else reader.load())
    whole = test_sets.merge([part], file.name)
    return replace(whole, warnings=(*part.warnings, *whole.warnings), labels=part.labels), files.paths


def _part(
    document: Document,
    author: AuthorPlan,
    index: int,
    files: CaseFiles,
    named: Mapping[tuple[AddedGroup, str], AddedName],
) -> test_sets.LoadedCases:
    """Read one file of cases."""
    entry = author.test_sets[index]
    where = document.where(("test_sets", index, "file"))
    if any(entry.file == other.file for other in author.test_sets[:index]):
        raise SpecError(f"{entry.file} is named twice", where=where, hint="name each file once")
    given = entry.defaults
    data = read_inside(files.root, entry.file, where, test_sets.MAX_FILE_BYTES)
    tools = case_tools(document, ("test_sets", index, "defaults", "tools")) if given.tools else ()
    loader = named.get(("loaders", entry.file))
    return test_sets.load(
        test_sets.Source(
            file=entry.file,
            data=data,
            suite=given.suite,
            tags=given.tags,
            meta=plain(given.meta),
            context=given.context,
            answer_format=given.answer_format,
            max_turns=given.max_turns,
            tools=tools,
            files=files,
            access=tuple(word for word in ACCESS if word in given.access),
            image_detail=given.image_detail,
        ),
        None if loader is None else loader.load(),
    )


def _labels(
    entries: Sequence[TestSetEntry], parts: Sequence[test_sets.LoadedCases]
) -> tuple[tuple[tuple[str, str | None], ...], list[str]]:
    """Return name and version of each file, the plan's word before the file's own, and where the two differ."""
    labels, told = [], []
    for entry, part in zip(entries, parts, strict=True):
        own = part.labels
        for key, place, of_plan, of_file in (
            ("name", own.name_at, entry.name, own.name),
            ("version", own.version_at, entry.version, own.version),
        ):
            if of_plan and of_file and of_plan != of_file:
                told.append(f'{place}: the {key} here is "{of_file}" and "{of_plan}" in the plan, which is used')
        stem = posixpath.splitext(posixpath.basename(entry.file))[0]
        label = entry.name or (test_sets.label_from(own.name)[:64] if own.name else test_sets.label_from(stem))
        if own.name and not entry.name and label != own.name:
            told.append(f'{own.name_at}: a plan writes the name "{label}", since it takes no other characters')
        labels.append((label, entry.version or own.version))
    return tuple(labels), told


def _text_files(document: Document, author: AuthorPlan) -> Iterator[tuple[str, str]]:
    """Yield every file whose text reaches a model or a runner, with the place that names it."""
    settings: list[tuple[tuple[str, ...], Settings | None]] = [
        (("profiles", name, "settings"), profile.settings) for name, profile in author.profiles.items()
    ]
    for name, model in author.models.items():
        if isinstance(model, TextModel):
            settings.append((("models", name, "settings"), model.settings))
        if isinstance(model, StandInModel) and isinstance(model.answers, str):
            yield model.answers, document.where(("models", name, "answers"))
    for name, entry in author.scorers.items():
        if isinstance(entry, JudgeScorer):
            place = ("scorers", name)
            yield from ((file, document.where((*place, key))) for key, file in entry.texts())
            yield from ((item, document.where((*place, "documents", i))) for i, item in enumerate(entry.documents))
    for path, given in settings:
        for index, item in enumerate(given.documents if given else ()):
            yield item, document.where((*path, "documents", index))


def _text(root: Path, name: str, where: str) -> str:
    """Return a text file with LF line ends and without a byte-order mark."""
    text = decode_utf8(read_inside(root, name, where, _MAX_TEXT), name, limit=_MAX_TEXT)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _pinned(root: Path, document: Document, author: AuthorPlan) -> Iterator[tuple[str, str]]:
    """Yield every file of the project that a command or a callable names, with its digest."""
    for place, code in _code(author):
        if isinstance(code, Command):
            where = document.where((*place, "argv" if code.argv is not None else "shell"))
            for path in files_of(root, code):
                yield path, pin_digest(read_inside(root, path, where, _MAX_PINNED))
        else:
            where = document.where((*place, "callable"))
            data = read_inside(root, code.file, where, _MAX_TEXT)
            check_function(data, code.file, code.function, where)
            yield code.file, pin_digest(data)


def _code(author: AuthorPlan) -> Iterator[tuple[Place, Command | Function]]:
    """Yield the models, scorers and tools that are programs or functions of the project, each with its place."""
    for key, entries in (("models", author.models), ("scorers", author.scorers), ("tools", author.tools)):
        for name, entry in entries.items():
            if isinstance(entry, Command | Function):
                yield (key, name), entry


def _schemas(root: Path, document: Document, author: AuthorPlan) -> Iterator[tuple[str, Json, list[str]]]:
    """Yield the schema of every scorer that has one, by its name, with warnings."""
    for name, entry in author.scorers.items():
        held: list[tuple[str, str, str | dict[str, Any]]] = []
        if isinstance(entry, JsonSchemaScorer):
            held.append((name, "schema", entry.schema_))
        elif isinstance(entry, JudgeScorer):
            held += [(f"{name} {key}", key, schema) for key, schema in entry.schemas()]
        for key, label, schema in held:
            place: Place = ("scorers", name, label)
            if isinstance(schema, str):
                data = read_inside(root, schema, document.where(place), MAX_BYTES)
                yield key, *check_schema(yaml_strict.load(data, schema), ())
            else:
                yield key, *check_schema(document, place)
    for tool in author.tools:
        yield f"tools.{tool}", *check_schema(document, ("tools", tool, "parameters"))


def _doubts(root: Path, document: Document, author: AuthorPlan) -> Iterator[str]:
    """Yield warnings about words of commands that look like files and are not pinned."""
    for place, code in _code(author):
        if isinstance(code, Command):
            yield from doubtful_words(root, document, place, code)


def _cassettes(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the cassettes of the project in order of name."""
    folder = root / "cassettes"
    if folder.is_dir():
        for file in sorted(folder.iterdir(), key=lambda item: item.name):
            if file.name.endswith(".jsonl"):
                name = f"cassettes/{file.name}"
                yield name, pin_digest(read_inside(root, name, name, _MAX_PINNED))
