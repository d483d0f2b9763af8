# SPDX-License-Identifier: Apache-2.0
"""The other formats of a report: nothing that a model or a file says breaks out of them, and all tell the same numbers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from run_project import Project, make_project

from trialplate import plugins
from trialplate.reports.csv_table import plain, safe
from trialplate.reports.markdown import code, fenced
from trialplate.reports.reported import Reported, gather

EVIL: list[dict[str, str]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "cases" / "report" / "evil_outputs.json").read_text(encoding="utf-8")
)
MARKUP = [
    "```\n# ACCEPTED",
    "`` ` ``` `````",
    "`",
    " `x` ",
    "   ",
    "a | b |\n|---|",
    "@everyone see #1 and https://127.0.0.1/x",
    "<!-- -->",
    "</details><h1>PASSED</h1>",
    "[x](javascript:alert(1)) ![i](//127.0.0.1/i.png)",
    "\n::error file=x::owned\n##[error]owned",
    "\\`x\\`|",
    "&lt;b&gt;",
    "- [x] done",
    "|",
    "\\|",
]
TEXTS = [*(item["output"] for item in EVIL), *MARKUP]


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run in which answers, ids, tags and error texts are as hostile as they may be."""
    ids = ["=1+1", "@SUM(1)", "+x", "-y", "<b>", "a|b`c", "\u202egnp", "::error"]
    rows = [
        {"id": name, "input": f"Question {number}?", "expected": "right", "tags": [text]}
        for number, (name, text) in enumerate(
            zip(ids, ["`|`", "=tag", "<i>", "x;y", "::error file=x::y", "b", "c", "@d"], strict=True)
        )
    ]
    script = {
        name: [TEXTS[n % len(TEXTS)], TEXTS[(n + 8) % len(TEXTS)], TEXTS[(n + 16) % len(TEXTS)], TEXTS[-n - 1]]
        for n, name in enumerate(ids)
    }
    plan = (
        "trialplate: 1\nname: evil\ntest_sets:\n  - file: cases/q.jsonl\nmodels:\n"
        f"  m: {{runner: stand-in, answers: {json.dumps(script)}}}\n"
        "repeats: 4\nscorers:\n  correct: {type: exact}\n"
        "pass_mark:\n  rules:\n    - {id: correct, at_least: 0.9, of: correct, basis: estimate}\n"
    )
    project = make_project(tmp_path_factory.mktemp("evil"), plan)
    (project.folder / "cases" / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    project.run()
    return project


def reported(project: Project, **fields: Any) -> Reported:
    """Return a report of the project's newest run."""
    gate = project.verify(project.runs[-1]).gate
    assert gate is not None
    return gather(gate, **{"by_tag": False, "shown": 100, **fields})


def shown(project: Project, name: str, **fields: Any) -> str:
    """Return a report in one format."""
    return "\n".join(plugins.load("reports", name)(reported(project, **fields))) + "\n"


def tokens(text: str) -> list[Token]:
    """Return what a Markdown reader with tables makes of a text, inline parts too."""
    found = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    return [token for block in found for token in (block, *(block.children or ()))]


# ---------------------------------------------------------------------------------------------------------- markdown


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_markdown_code_span_holds_any_text(text: str) -> None:
    """Case X01, X03: whatever the text, a reader sees one code span and nothing else, also in a table."""
    (inline,) = [t for t in MarkdownIt("commonmark").parse(f"before {code(text)} after") if t.type == "inline"]
    assert [child.type for child in inline.children or ()] == ["text", "code_inline", "text"]
    cells = [
        t for t in tokens(f"| a | b |\n| --- | --- |\n| {code(text, in_table=True)} | x |\n") if t.type == "td_open"
    ]
    assert len(cells) == 2
    assert "\n" not in code(text)


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_markdown_fence_holds_any_text(text: str) -> None:
    """A block ends where we end it."""
    found = MarkdownIt("commonmark").parse("\n".join(fenced(iter([text, "end"]))) + "\nafter\n")
    assert [token.type for token in found] == ["fence", "paragraph_open", "inline", "paragraph_close"]


def test_markdown_report_of_hostile_texts_has_no_element_of_theirs(evil: Project) -> None:
    """Case X01, X03, X06: no HTML, no link, no picture, no heading of a model's; every text stands in code."""
    text = shown(evil, "markdown", by_tag=True)
    found = tokens(text)
    assert {"html_inline", "html_block", "link_open", "image", "em_open"} & {token.type for token in found} == set()
    headings = [found[index + 1].content for index, token in enumerate(found) if token.type == "heading_open"]
    assert headings == ["REJECTED `m`", "What it shows", "By tag", "Why", "Failures"]
    for line in text.splitlines():
        assert not line.lstrip().startswith(("::", "##["))
    assert all(char.isprintable() or char == "\n" for char in text)
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len({line.count(" | ") for line in rows if "`m`" in line and line.startswith("| `m`")}) == 1
    outside = "".join(token.content for token in found if token.type == "text")
    assert "owned" not in outside
    assert "@everyone" not in outside


def test_markdown_report_says_decision_table_and_failures(made: Project) -> None:
    """The banner in words first, then the numbers, why, and what failed."""
    text = shown(made, "markdown")
    assert text.startswith("## ACCEPTED `good`, REJECTED `bad`\n")
    assert "| `good` | 1.0000 [1.0000..1.0000] |" in text
    assert "correct at least 0.85: 1.0000 over 6 cells of 3 cases; it holds" in text
    assert "- failed: `bad` `q1` repeat 1\n  - answer: `London`\n" in text
    assert (
        text.index("## ACCEPTED") < text.index("| configuration") < text.index("### Why") < text.index("### Failures")
    )


def test_withheld_report_holds_no_private_text(made: Project) -> None:
    """What goes where others read it can be told to leave every private text out."""
    for name in ("text", "markdown", "json", "csv"):
        text = shown(made, name, withhold=True)
        assert "London" not in text
        assert "failed" in text
    assert "answer: withheld" in shown(made, "markdown", withhold=True)


# --------------------------------------------------------------------------------------------------------------- csv


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(1)",
        "\tx",
        "\rx",
        "\nx",
        " \t+1",
        "\u200b@SUM(1)",
        "\ufeff=1",
        "\u00a0-1",
        "＝1",
        "'=1",
        "'x",
    ],
    ids=ascii,
)
def test_csv_cell_that_a_spreadsheet_would_run_is_neutralised(text: str) -> None:
    """Case X04: an apostrophe in front, also behind blanks and zero-width characters; the text can be had back."""
    assert safe(text) == "'" + text
    assert plain(safe(text)) == text


@pytest.mark.parametrize("text", ["", "a", "1.5", "a=b", "x-1", "it's", "q 1"])
def test_csv_cell_that_is_harmless_is_left_alone(text: str) -> None:
    """Nothing else is touched."""
    assert safe(text) == text == plain(safe(text))


def rows_of(text: str) -> list[dict[str, str]]:
    """Read a table as RFC 4180 says."""
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_csv_report_has_a_row_for_each_trial(evil: Project) -> None:
    """Case X04: no cell and no header begins a formula, and every id can be read back."""
    text = shown(evil, "csv")
    assert "\r" not in text
    rows = rows_of(text)
    assert len(rows) == 32
    assert {plain(row["case"]) for row in rows} == {case.id for case in reported(evil).record.matrix.cases}
    for cells in csv.reader(io.StringIO(text, newline="")):
        assert not any(cell.lstrip("\u200b \t").startswith(("=", "+", "-", "@")) for cell in cells)
    assert {row["outcome"] for row in rows} == {"failed"}
    assert {row["correct"] for row in rows} == {"0"}
    assert {row["cost"] for row in rows} == {""}, "an unknown cost is empty, never 0"


def test_csv_report_has_rows_for_trials_without_an_end(made: Project) -> None:
    """What was lost or never began is a row as well: the table has as many rows as the matrix has trials."""
    held = reported(made)
    cells = held.record.board.cells
    cells[("bad", "q1", 1)].running = True
    del cells[("bad", "q2", 2)]
    rows = {
        (row["configuration"], row["case"], row["repeat"]): row
        for row in rows_of("\n".join(plugins.load("reports", "csv")(held)) + "\n")
    }
    assert len(rows) == 12
    lost, absent = rows["bad", "q1", "1"], rows["bad", "q2", "2"]
    assert (lost["outcome"], lost["cause"], lost["verdict"], lost["correct"]) == ("error", "lost", "", "")
    assert (absent["outcome"], absent["attempts"], absent["correct"], absent["cost"]) == ("absent", "0", "", "")
    good = rows["good", "q1", "1"]
    assert (good["outcome"], good["correct"], good["cost"], good["tags"]) == ("passed", "1", "0.000000000", "critical")


def test_csv_report_by_tag_is_the_table_by_tag(evil: Project) -> None:
    """A row for each tag, configuration and metric, its number with what it rests on."""
    rows = rows_of(shown(evil, "csv", by_tag=True))
    assert {plain(row["tag"]) for row in rows} == {"`|`", "=tag", "<i>", "x;y", "::error file=x::y", "b", "c", "@d"}
    assert all((row["mean"], row["n"], row["cells"], row["unknown"]) == ("0.000000", "4", "4", "0") for row in rows)


# -------------------------------------------------------------------------------------------------------------- json


def numbers_without_company(value: Any, path: str = "") -> list[str]:
    """Return where a mean stands without its n, cells, unknown, cases and repeats."""
    if isinstance(value, dict):
        wanted = {"n", "cells", "unknown", "cases", "repeats", "low", "high", "exact"}
        own = [path] if "mean" in value and not wanted <= value.keys() else []
        return own + [bad for key, item in value.items() for bad in numbers_without_company(item, f"{path}/{key}")]
    if isinstance(value, list):
        return [bad for n, item in enumerate(value) for bad in numbers_without_company(item, f"{path}/{n}")]
    return []


def test_json_report_is_strict_and_ascii(evil: Project) -> None:
    """Case X08: no NaN, no Infinity, nothing that a terminal obeys; every mean comes with what it rests on."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    text = shown(evil, "json", by_tag=True)
    assert text.isascii()
    value = json.loads(text, parse_constant=refuse)
    assert numbers_without_company(value) == []
    assert value["format"] == "trialplate-report/1"
    assert [item["decision"]["decision"] for item in value["decisions"]] == ["rejected"]
    assert len(value["tags"]) == 8


def test_json_report_tells_unknown_as_null(made: Project) -> None:
    """A cost that nobody knows is null, a mean over nothing is null; neither is 0."""
    held = reported(made)
    for key in list(held.record.board.cells):
        if key[0] == "bad":
            del held.record.board.cells[key]
    value = json.loads("\n".join(plugins.load("reports", "json")(held)))
    good, bad = value["configurations"]
    assert (good["cost"]["nano"], bad["cost"]["nano"]) == (0, None)
    assert [metric["mean"] for metric in bad["metrics"]] == [None, None]
    assert (bad["latency"]["median_ms"], bad["latency"]["n"]) == (None, 0)
    assert [metric["exact"] for metric in good["metrics"]] == ["1/1", "1/1"]


def test_formats_tell_the_same_numbers(made: Project) -> None:
    """Case T01: the outcomes of the table, of the object and of the rows are the same, errors included."""
    value = json.loads(shown(made, "json"))
    rows = rows_of(shown(made, "csv"))
    for item in value["configurations"]:
        own = [row["outcome"] for row in rows if row["configuration"] == item["name"]]
        assert {word: own.count(word) for word in item["outcomes"]} == item["outcomes"]
        line = next(line for line in shown(made, "markdown").splitlines() if line.startswith(f"| `{item['name']}`"))
        assert f"| {item['outcomes']['passed']} | {item['outcomes']['failed']} |" in line


@pytest.mark.parametrize("by_tag", [True, False])
@pytest.mark.parametrize("name", ["text", "markdown", "json", "csv"])
def test_no_line_is_a_command_to_a_ci_log(evil: Project, name: str, by_tag: bool) -> None:
    """A tag, an id or an answer called `::error` begins no line, blanks before it or not: a runner would obey it."""
    lines = shown(evil, name, by_tag=by_tag).splitlines()
    assert [line for line in lines if line.lstrip().startswith("::")] == []
