# SPDX-License-Identifier: Apache-2.0
"""The source by its own rules: size, headers, names, words, the error tree, and nothing of this machine."""

from __future__ import annotations

import ast
import inspect
import re
import tokenize
from pathlib import Path

import pytest

import trialplate
from trialplate import errors

ROOT = Path(__file__).parents[2]
SOURCE = Path(trialplate.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
each_module = pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(SOURCE)))
AUDITED = ("record", "rules", "verify")
MOST_LINES = 8000
"""Lines of code, comments included, that an auditor reads; blank lines and docstrings are not counted."""


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _reading_lines(file: Path) -> tuple[int, int]:
    """Return all lines of a module, and those that are neither blank nor of a docstring."""
    text = _read(file)
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            told.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = text.splitlines()
    return len(lines), sum(1 for number, line in enumerate(lines, start=1) if line.strip() and number not in told)


def test_auditors_half_is_short_enough_to_be_read() -> None:
    """record, rules and verify together; the numbers are printed, so that their growth is seen."""
    total = 0
    for room in AUDITED:
        sizes = [_reading_lines(file) for file in sorted((SOURCE / room).glob("*.py"))]
        whole, code = sum(size for size, _ in sizes), sum(size for _, size in sizes)
        print(f"{room}: {code} lines of code and comments, {whole} with docstrings and blank lines")
        total += code
    print(f"together: {total} of at most {MOST_LINES}")
    assert total <= MOST_LINES


@each_module
def test_module_says_its_licence_and_what_it_is(file: Path) -> None:
    """The SPDX line first, then a docstring; a room's package file that holds nothing needs the line alone."""
    text = _read(file)
    assert text.startswith("# SPDX-License-Identifier: Apache-2.0\n")
    tree = ast.parse(text)
    if tree.body:
        assert ast.get_docstring(tree)


@each_module
def test_module_and_its_functions_are_small(file: Path) -> None:
    """A module does one thing: 400 lines need a reason in review, and a function past 60 hides something."""
    text = _read(file)
    if file.name not in ("values.py", "entries.py"):  # the one definition of all formats
        assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 66, f"{file.name}:{node.lineno} {node.name}"


def test_no_module_is_named_after_nothing() -> None:
    """No drawer for what has no place."""
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "tools", "lib", "core", "stuff"}
    assert [file for file in MODULES if file.stem in vague] == []


@each_module
def test_public_names_are_listed_and_there(file: Path) -> None:
    """Whatever `__all__` lists is defined, and has a docstring if it is a class or a function."""
    tree = ast.parse(_read(file))
    listed: list[str] = []
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__":
            listed += [str(item.value) for item in node.value.elts]  # type: ignore[union-attr]
    defined: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined[node.name] = node
            assert ast.get_docstring(node) or node.name.startswith("_"), f"{file.name}: {node.name}"
        elif isinstance(node, ast.Assign):
            defined.update({target.id: node for target in node.targets if isinstance(target, ast.Name)})
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            defined[node.target.id] = node
    assert len(listed) == len(set(listed))
    assert set(listed) <= set(defined)
    if listed and file.parent.name != "spec":  # the parts of an author's file are found through the whole
        public = {name for name, node in defined.items() if isinstance(node, ast.ClassDef) and name[0] != "_"}
        assert public <= set(listed), f"{file.name}: {public - set(listed)}"


# ------------------------------------------------------------------------------------------------------------ words

WRONG_WORDS = {"target", "suite", "sample", "experiment", "dataset", "eval"}
"""Words that DESIGN 1 rules out for our ideas."""
ALLOWED = {
    "suite": "the field of a case that its author may group by",
    "find_spec": "the import system's own",
}
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _identifiers(file: Path) -> dict[str, int]:
    """Return every name that a module defines, with its line."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(_read(file))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.setdefault(node.name, node.lineno)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, node.lineno)
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, node.lineno)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.attr, node.lineno)
    return found


@each_module
def test_names_use_the_words_of_the_design(file: Path) -> None:
    """One word per idea: no target, task, suite, sample or experiment for a case, a test set, a model or a run."""
    for name, line in _identifiers(file).items():
        if name in ALLOWED:
            continue
        wrong = {part.lower() for part in _PARTS.findall(name)} & WRONG_WORDS
        assert not wrong, f"{file.name}:{line} {name}"
        if {part.lower() for part in _PARTS.findall(name)} & {"task", "tasks"}:
            assert file.parent.name in ("engine", "transport", "scorers"), f"{file.name}:{line}: a task is asyncio's"


REGISTRIES = re.compile(
    r"pypi\.|files\.pythonhosted|npmjs|docker\.io/|ghcr\.io|crates\.io|registry\.|artifactory|nexus", re.I
)
MACHINE = re.compile(r"/(home|Users|root|work|tmp|opt|mnt)/[\w.-]+")
SECRETS = re.compile(r"PRIVATE\+KEY\+[\w.-]+\+[0-9a-f]{8}\+|sk-[A-Za-z0-9]{20}|-----BEGIN [A-Z ]*PRIVATE")


def _shipped() -> list[Path]:
    """Return the text files of the source, its schemas and its starters."""
    found = [file for file in SOURCE.rglob("*") if file.suffix in {".py", ".md", ".csv", ".yaml", ".json", ".jsonl"}]
    return sorted(
        file for file in [*found, *(ROOT / "schemas").glob("*.json"), ROOT / "pyproject.toml"] if file.is_file()
    )


@pytest.mark.parametrize("file", _shipped(), ids=lambda file: str(file.relative_to(ROOT)))
def test_shipped_files_hold_nothing_of_this_machine(file: Path) -> None:
    """No absolute path, no registry's host, no private key."""
    text = _read(file)
    for pattern in (REGISTRIES, MACHINE, SECRETS):
        match = pattern.search(text)
        assert match is None, f"{file.name}: {match[0] if match else ''}"


@each_module
def test_no_unfinished_business(file: Path) -> None:
    """No reminder to finish something, and no commented-out code."""
    with file.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT:
                assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", token.string), f"{file.name}:{token.start[0]}"
                assert not re.match(r"#\s*(def|class|import|from|return|if|for)\s.*[:(]\s*$", token.string)


# ----------------------------------------------------------------------------------------------------------- errors


def test_error_tree_is_the_one_that_is_drawn() -> None:
    """The drawing in errors.py, its classes and their exit codes say the same."""
    drawn = dict(re.findall(r"^ {6}(\w+Error)\s+(\d)\s", errors.__doc__ or "", re.MULTILINE))
    classes = {
        name: item
        for name, item in vars(errors).items()
        if inspect.isclass(item) and issubclass(item, errors.TrialplateError) and item is not errors.TrialplateError
    }
    assert {name: str(item.exit_code) for name, item in classes.items()} == drawn
    assert set(classes) | {"TrialplateError"} <= set(errors.__all__)
    assert all(item.__mro__[1] is errors.TrialplateError for item in classes.values())
    assert all(item.__doc__ for item in classes.values())


def test_exit_codes_are_those_of_the_design() -> None:
    """0 done, 1 negative, 2 usage, 3 untrusted, 4 incomplete, 130 interrupted; an error is never 0 or 1."""
    codes = {name: value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert codes == {
        "EXIT_DONE": 0,
        "EXIT_NEGATIVE": 1,
        "EXIT_USAGE": 2,
        "EXIT_UNTRUSTED": 3,
        "EXIT_INCOMPLETE": 4,
        "EXIT_INTERRUPTED": 130,
    }
    assert not {item.exit_code for item in errors.TrialplateError.__subclasses__()} & {0, 1}


def test_errors_are_raised_with_something_to_do() -> None:
    """A usage error that says nothing to do leaves a person alone: every one carries a hint."""
    bare = []
    for file in (file for file in MODULES if file.parent.name != "runners"):  # there: a bug of ours, not a person's
        for node in ast.walk(ast.parse(_read(file))):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in ("UsageError", "SpecError") and isinstance(node, ast.Call):
                given = {item.arg for item in node.keywords}
                if "hint" not in given and None not in given:
                    bare.append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    assert bare == []


def test_public_names_of_the_package() -> None:
    """What `from trialplate import ...` offers, each when it is asked for. Adding a name is a decision."""
    names = ["Model", "PassMark", "RunOutput", "RunRecord", "Score", "TestSet", "load_test_set", "render", "run_trial"]
    stub = (SOURCE / "__init__.pyi").read_text(encoding="utf-8")
    assert sorted(re.findall(r" as (\w+)$", stub, re.MULTILINE)) == names
    assert trialplate.RunOutput.__module__ == "trialplate.run_output"
    assert [getattr(trialplate, name).__name__ for name in names] == names
    assert set(names) <= set(dir(trialplate))
    assert sorted(name for name in vars(trialplate) if not name.startswith("_")) in ([], sorted(sub_modules()))
    assert re.fullmatch(r"\d+\.\d+\.\d+", trialplate.__version__)


def sub_modules() -> list[str]:
    """Return the modules that other tests have imported: they are attributes of the package by then."""
    return [name for name, item in vars(trialplate).items() if inspect.ismodule(item)]
