# SPDX-License-Identifier: Apache-2.0
"""The documents say what the program does: commands, options, codes, checks, types, fields, keys, variables, examples.

Fenced blocks say by their first line what they are, and are held to it:

    ```json ledger-entry | record-entry | plan | case | opening | exchange | pass-mark     decoded strictly
    ```yaml file=NAME, ```csv file=NAME     files of one example project (docs/formats)
    ```console current [example]            run by `sh`, line by line, in an empty folder or in that project's after a run

In a console block "$ " begins a command, "> " goes on with it, and what follows is its output; "..." in an output line
stands for anything, and alone on a line for any lines. Blocks of one document share one shell.

`python tests/architecture/test_docs_current.py --write` writes the table of findings anew.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.main import get_command

from trialplate.cli.app import app
from trialplate.record import canonical, codec, disclosure, entries, values
from trialplate.record.frozen import Value
from trialplate.record.frozen import fields as fields_of
from trialplate.record.note import parse_checkpoint, parse_key
from trialplate.spec.later import LATER
from trialplate.spec.models import AuthorPlan
from trialplate.transport.exchange import read_exchange
from trialplate.verify.cli import parser
from trialplate.verify.findings import CHECKS, CODES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOOLS = ("openssl", "jq", "base64", "sha256sum")
"""What documents use besides a POSIX shell; in CI they must be there."""
BEGIN = "<!-- findings: written by tests/architecture/test_docs_current.py --write -->\n"
END = "<!-- end of findings -->"
PAGES = sorted(
    [*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / n / "README.md" for n in ("keys", "schemas", "changelog.d"))]
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    info: str
    text: str


def read(name: str) -> str:
    """Return a page of docs/."""
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(kind: str) -> list[Block]:
    """Return every block whose first line begins with these words."""
    found = []
    for page in PAGES:
        for info, text in re.findall(r"^```([^\n`]+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
            if info == kind or info.startswith(kind + " "):
                found.append(Block(page, info, text))
    return found


def sections(text: str, level: str = "##") -> dict[str, str]:
    """Return the body of each heading of a level, by its text without backquotes."""
    parts = re.split(rf"^{level} (.+)$", text, flags=re.M)
    return {head.strip().strip("`"): body for head, body in zip(parts[1::2], parts[2::2], strict=True)}


def ids(items: list[Block]) -> list[str]:
    """Name blocks by their page."""
    return [f"{item.page.stem}-{number}" for number, item in enumerate(items)]


# ------------------------------------------------------------------------------------------------------ command line


def typer_commands() -> Iterator[tuple[str, set[str]]]:
    """Yield each Typer command with its options, those of the auditor's program excepted."""

    def walk(command: typing.Any, path: tuple[str, ...]) -> Iterator[tuple[str, set[str]]]:
        for name, child in getattr(command, "commands", {}).items():
            if hasattr(child, "commands"):
                yield from walk(child, (*path, name))
            elif (*path, name) not in (("verify",), ("gate",)):
                options = {option for item in child.params for option in item.opts if option.startswith("-")}
                yield " ".join((*path, name)), options - {"--help"}

    yield from walk(get_command(app), ())


def argparse_commands() -> Iterator[tuple[str, set[str]]]:
    """Yield `verify` and `gate` with their options."""
    (choices,) = (action.choices for action in parser()._actions if isinstance(action.choices, dict))
    for name, command in choices.items():
        yield name, {option for action in command._actions for option in action.option_strings} - {"-h", "--help"}


@pytest.mark.parametrize(("command", "options"), [*typer_commands(), *argparse_commands()], ids=lambda item: str(item))
def test_command_with_its_options_stands_in_the_reference(command: str, options: set[str]) -> None:
    """Each command has a section of its own, which names every option as code."""
    found = sections(read("reference/cli.md"))
    assert command in found
    named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(re.findall(r"`([^`\n]+)`", found[command]))))
    assert options <= named
    assert named - options <= {"-m"}, "python -m is no option; everything else that is named must exist"


def test_reference_has_no_command_that_does_not_exist() -> None:
    """A command that was removed leaves the reference."""
    known = {name for name, _ in (*typer_commands(), *argparse_commands())}
    assert set(sections(read("reference/cli.md"))) == known | {"Exit codes", "Environment"}


def test_exit_codes_stand_in_the_reference() -> None:
    """The table of exit codes has those of errors.py and no other."""
    from trialplate import errors

    wanted = {str(value) for name, value in vars(errors).items() if name.startswith("EXIT_")}
    table = sections(read("reference/cli.md"))["Exit codes"]
    assert set(re.findall(r"^\| (\d+) \|", table, re.M)) == wanted


def test_environment_variables_stand_in_the_reference() -> None:
    """Every variable that the source reads by name, and every one that the reference names, is in the other."""
    read_names = {"NO_COLOR", "CLICOLOR_FORCE", "TERM", "SHELL"}
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                read_names.update(re.findall(r"\b(?:TRIALPLATE_[A-Z][A-Z_]*|XDG_[A-Z_]+)\b", node.value))
    table = sections(read("reference/cli.md"))["Environment"]
    assert set(re.findall(r"^\| ([A-Z_]+) \|", table, re.M)) == read_names


# ---------------------------------------------------------------------------------------------------- checks, findings


def findings_table() -> str:
    """Return the table of finding codes as it stands in docs/verification.md."""
    rows = [f"| {code} | {check} | {hint.replace('|', chr(92) + '|')} |" for code, (check, hint) in CODES.items()]
    return "\n".join(["", "| code | check | do |", "|---|---|---|", *rows, "", ""])


def test_findings_table_is_current() -> None:
    """Every finding code stands in docs/verification.md with its check and its one thing to do."""
    text = read("verification.md")
    written = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    assert written == findings_table(), "run: python tests/architecture/test_docs_current.py --write"


def test_checks_have_the_numbers_and_titles_of_the_code() -> None:
    """docs/verification.md describes V01 to V20, in order and under the titles that verify prints."""
    heads = [head for head in sections(read("verification.md"), "###") if head.startswith("V")]
    assert heads == [f"{number} {title}" for number, title in CHECKS.items()]


def test_codes_named_in_the_threat_model_exist() -> None:
    """A cheat is said to be found only as something that verify knows."""
    table = sections(read("threat-model.md"))["2 Cheats"]
    named = set(re.findall(r"\b[A-Z]{2,}(?:-[A-Z]+)+\b|\b(?:COUNTS|COST|DECISION|SCHEMA)\b", table))
    assert named
    assert named <= set(CODES)


# --------------------------------------------------------------------------------------------------------- formats


def classes_of(kind: typing.Any, seen: set[type] | None = None) -> set[type]:
    """Return every value class that a class is made of."""
    seen = set() if seen is None else seen
    if isinstance(kind, type) and issubclass(kind, Value):
        if kind not in seen:
            seen.add(kind)
            for hint in typing.get_type_hints(kind).values():
                classes_of(hint, seen)
    else:
        for inner in typing.get_args(kind):
            classes_of(inner, seen)
    return seen


def test_entry_types_have_their_sections() -> None:
    """Every entry type has its heading in its document, in the order of the definition."""
    for page, types in (("ledger", entries.LEDGER_TYPES), ("record", entries.RECORD_TYPES)):
        assert list(sections(read(f"formats/{page}.md"), "###")) == list(types)


@pytest.mark.parametrize(
    ("pages", "roots"),
    [
        (["ledger", "pass-mark", "plan", "record"], list(entries.LEDGER_TYPES.values())),
        (["record"], list(entries.RECORD_TYPES.values())),
        (["plan", "pass-mark", "test-set"], [values.Plan, values.Case]),
        (["log"], [entries.Entry]),
        (["content"], [values.Opening]),
    ],
    ids=lambda item: "+".join(item) if isinstance(item[0], str) else "",
)
def test_fields_of_a_format_stand_in_its_document(pages: list[str], roots: list[type]) -> None:
    """Every field of every value of a format is named as code in its document."""
    text = " ".join(read(f"formats/{page}.md") for page in pages)
    named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    fields = {item.name for root in roots for cls in classes_of(root) for item in fields_of(cls)}
    assert fields - named == set()


def test_enumerations_of_the_record_stand_in_its_document() -> None:
    """Every outcome and every cause is explained."""
    text = read("formats/record.md")
    for choices in (entries.Outcome, entries.Cause):
        assert [word for word in typing.get_args(choices) if f"`{word}`" not in text] == []


def test_keys_of_the_author_language_stand_in_its_document() -> None:
    """Every key that a plan may have, and every key that is refused for now, is named as code."""

    def keys(schema: typing.Any) -> Iterator[str]:
        if isinstance(schema, dict):
            yield from schema.get("properties", {}) if isinstance(schema.get("properties"), dict) else ()
            for item in schema.values():
                yield from keys(item)
        elif isinstance(schema, list):
            for item in schema:
                yield from keys(item)

    text = " ".join(re.findall(r"`([^`\n]+)`", read("formats/author-plan.md")))
    named = set(re.findall(r"[a-z_][a-z_0-9]*", text))
    assert set(keys(AuthorPlan.model_json_schema())) - named == set()
    assert {str(refusal.path[-1]) for refusal in LATER} - named == set()


@pytest.mark.parametrize("page", sorted((DOCS / "formats").glob("*.md")), ids=lambda page: page.name)
def test_clause_has_a_number_of_its_own(page: Path) -> None:
    """Other documents, the code and the changelog refer to clauses by number; within a section they count up."""
    found = [(int(a), int(b)) for a, b in re.findall(r"^(\d+)\.(\d+)(?: |$)", page.read_text("utf-8"), re.MULTILINE)]
    assert found == sorted(set(found))


@pytest.mark.parametrize("room", ["spec", "engine"])
def test_larger_room_has_each_of_its_files_on_the_map(room: str) -> None:
    """Whoever looks for a thing in a room of many files finds its file by its task."""
    section = read("architecture.md").partition("## Where things stand")[2].partition("\n## ")[0]
    rows = "".join(line for line in section.splitlines(keepends=True) if line.startswith(f"| `{room}`"))
    files = {file.stem for file in (ROOT / "src" / "trialplate" / room).glob("*.py")} - {"__init__"}
    assert files - set(re.findall(r"`([a-z_]+)`", rows)) == set()


def test_every_decision_is_listed_once_and_in_order() -> None:
    """By its number, from 1 on without a gap, and under the beginning of its title."""
    listed = re.findall(r"^\| \[(\d+)\]\(([^)]+)\) \| ([^(|]+?) (?:\(.*\) )?\|$", read("adr/README.md"), re.MULTILINE)
    assert [file for _, file, _ in listed] == sorted(item.name for item in (DOCS / "adr").glob("0*.md"))
    for number, (written, file, title) in enumerate(listed, start=1):
        assert (int(written), int(file[:4])) == (number, number)
        assert read(f"adr/{file}").startswith(f"# ADR {number}: {title}")


def test_what_the_plan_is_said_not_to_have_is_refused() -> None:
    """The table "Not in this version" names nothing that this version takes."""
    table = (
        read("formats/author-plan.md").partition("## 9 Not in this version")[2].partition("| models and profiles |")[0]
    )
    refused = {str(part) for refusal in LATER for part in (*refusal.path, *refusal.values)}
    assert set(re.findall(r"`([a-z_]+)", table)) - refused == set()


@pytest.mark.parametrize("block", blocks("json"), ids=ids(blocks("json")))
def test_json_example_is_of_its_format(block: Block) -> None:
    """Each JSON example is what the document says it is, read by the strict decoder."""
    kind = block.info.partition(" ")[2]
    types = {"ledger-entry": entries.LEDGER_TYPES, "record-entry": entries.RECORD_TYPES}
    single = {"case": values.Case, "pass-mark": values.PassMark}
    for line in [block.text] if kind == "plan" else block.text.splitlines():
        raw = line.encode()
        if kind in types:
            entry = codec.decode(entries.Entry, canonical.decode(raw))
            codec.decode(types[kind][entry.type], entry.body)
        elif kind == "plan":
            plan = codec.decode(values.Plan, canonical.parse(raw))
            for case in plan.test_set.cases:
                assert (
                    case.opening is None or disclosure.commit(case.opening.salt, case.opening.value) == case.commitment
                )
        elif kind == "exchange":
            read_exchange(raw, "docs")
        elif kind == "opening":
            disclosure.value_of(canonical.decode(raw), "docs")
            assert disclosure.commitment_of(raw) in block.page.read_text(encoding="utf-8")
        else:
            codec.decode(single[kind], canonical.decode(raw))
            if kind == "case" and block.page.stem == "canonical":
                assert canonical.digest(raw) in read("formats/canonical.md")


def test_note_and_key_examples_are_what_they_say() -> None:
    """The checkpoint and the key line in the documents are a checkpoint and a key, signed by it."""
    from trialplate.record.note import open_note

    (key,) = (parse_key(block.text.strip()) for block in blocks("key"))
    (note,) = blocks("note")
    opened = open_note(note.text.encode(), [key])
    assert opened.verified == (key,)
    assert parse_checkpoint(opened.text).size == 8


# ------------------------------------------------------------------------------------------------------------- links


def anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings make."""
    heads = re.findall(r"^#{1,6} (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    """Every link to a file or a heading of this repository leads somewhere."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_every_page_is_reachable_from_the_index() -> None:
    """No document is written and then lost."""
    seen, open_pages = set(), [DOCS / "index.md"]
    while open_pages:
        page = open_pages.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        links = re.findall(r"\]\(([^)\s#:]+\.md)", page.read_text(encoding="utf-8"))
        open_pages += [(page.parent / link).resolve() for link in links]
    assert set(DOCS.rglob("*.md")) - seen == set()


# ----------------------------------------------------------------------------------------------------------- console


@dataclass(frozen=True)
class Step:
    """A command and the output that the document shows."""

    command: str
    output: list[str]


def steps(text: str) -> list[Step]:
    """Return the commands of a console block."""
    found: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], []))
        elif line.startswith("> ") and not found[-1].output:
            found[-1] = Step(f"{found[-1].command}\n{line[2:]}", [])
        else:
            found[-1].output.append(line)
    return found


def agrees(shown: list[str], real: list[str]) -> bool:
    """Say whether real output is what is shown, "..." standing for anything."""
    if not shown:
        return not real
    if shown[0] == "...":
        return any(agrees(shown[1:], real[count:]) for count in range(len(real) + 1))
    pattern = re.escape(shown[0]).replace(re.escape("..."), ".*")
    return bool(real) and re.fullmatch(pattern, real[0]) is not None and agrees(shown[1:], real[1:])


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which `trialplate` is this one, with a configuration folder of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIALPLATE_")}
    return {**kept, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TRIALPLATE_HOME": str(home)}


def run_page(text: list[Step], folder: Path, home: Path) -> list[list[str]]:
    """Run commands in one shell and return the lines that each printed, on either stream."""
    mark = "--- end of step"
    script = "".join(f"{step.command}\necho '{mark}'\n" for step in text)
    done = subprocess.run(
        ["sh", "-s"],
        input=script,
        cwd=folder,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return [part.strip("\n").splitlines() for part in done.stdout.split(f"{mark}\n")[:-1]]


def console_pages() -> list[tuple[Path, str]]:
    """Return each page that has blocks to run, with the kind of folder they run in."""
    return sorted(
        {(block.page, block.info.removeprefix("console current").strip()) for block in blocks("console current")}
    )


@pytest.mark.parametrize(("page", "where"), console_pages(), ids=lambda item: getattr(item, "stem", item) or "empty")
def test_console_examples_are_current(page: Path, where: str, tmp_path: Path) -> None:
    """Every command that a document calls current does what stands beneath it."""
    info = f"console current {where}".strip()
    wanted = [
        step
        for block in blocks("console current")
        if (block.page, block.info) == (page, info)
        for step in steps(block.text)
    ]
    absent = [tool for tool in TOOLS if shutil.which(tool) is None and any(tool in step.command for step in wanted)]
    if absent and not os.environ.get("CI"):
        pytest.skip(f"not on this machine: {', '.join(absent)}")
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    if where == "example":
        for block in (*blocks("yaml"), *blocks("csv")):
            if "file=" not in block.info:
                continue
            name = folder / block.info.partition("file=")[2]
            name.parent.mkdir(exist_ok=True)
            name.write_text(block.text, encoding="utf-8")
        made = run_page([Step("trialplate run --yes >/dev/null 2>&1 && echo made", [])], folder, home)
        assert made == [["made"]]
    real = run_page(wanted, folder, home)
    assert len(real) == len(wanted), f"{page.name}: the shell ended at: {wanted[len(real)].command}"
    for step, lines in zip(wanted, real, strict=True):
        assert agrees(step.output, lines), f"{page.name}: {step.command}\nshown: {step.output}\nreal: {lines}"


def test_console_reader_refuses_another_output() -> None:
    """The comparison can fail: another word, a missing line and a line too many are no agreement."""
    assert agrees(["a ...", "...", "z"], ["a b", "c", "d", "z"])
    assert not agrees(["same"], ["other"])
    assert not agrees(["same"], [])
    assert not agrees([], ["same"])


def main() -> None:
    """Write the table of findings into docs/verification.md."""
    file = DOCS / "verification.md"
    text = file.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    file.write_text(f"{head}{BEGIN}{findings_table()}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: test_docs_current.py --write")
    main()
