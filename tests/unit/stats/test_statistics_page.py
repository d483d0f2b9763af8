# SPDX-License-Identifier: Apache-2.0
"""docs/statistics.md and docs/error-rates.md say what the code says.

The Python blocks of the first are run; its tables of simulated errors repeat the output that the second shows; and that
has every row of the program, of which some are drawn anew.

`python tests/unit/stats/test_statistics_page.py --write [OUTPUT]` writes the tables anew from the output on the second
page, and first that from a file with the output of benchmarks/error_rates.py.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAGE, OUTPUT = ROOT / "docs" / "statistics.md", ROOT / "docs" / "error-rates.md"
BLOCK = re.compile(r"^```text error-rates\n(.*?)^```$", re.M | re.S)
HEAD = "| simulated | here | reference |\n|---|---|---|\n"
TABLE = re.compile(re.escape(HEAD) + r"((?:\| .* \|\n)+)")
CHEAP = ("estimate-10x1-0.8", "estimate-10x3-0.95", "clt-0.9", "tries-10x3", "ties")


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find the program as it finds its own modules when it is started."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def output() -> list[str]:
    """Return the lines of the program that docs/error-rates.md shows."""
    (block,) = BLOCK.findall(OUTPUT.read_text(encoding="utf-8"))
    return block.splitlines()


def shown(line: str) -> tuple[str, str, str]:
    """Return what a line of output is about, its figure with one decimal, and the reference's."""
    return line[2:92].rstrip(), f"{float(line[93:100]):.1f}", line[109:118].strip()


def table_rows(lines: list[str]) -> dict[str, str]:
    """Return each row as a table of docs/statistics.md has it."""
    return {what: f"| {what} | {here} | {said} |\n" for what, here, said in map(shown, lines[2:-1])}


def test_python_examples_come_to_what_they_show() -> None:
    """The blocks are one session, from the top of the page to its end."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    runner = doctest.DocTestRunner(verbose=False)
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number + 1}", str(PAGE), 0)
        runner.run(test, clear_globs=False)
        names = test.globs
    assert len(blocks) > 15
    assert runner.summarize(verbose=False).failed == 0


def test_tables_repeat_the_output_of_the_program() -> None:
    """Each row of a table of simulated errors is a row of docs/error-rates.md, with its figures."""
    rows = table_rows(output())
    written = [row for table in TABLE.findall(PAGE.read_text(encoding="utf-8")) for row in table.splitlines(True)]
    assert len(written) > 40
    assert [row for row in written if rows.get(row.split(" | ")[0].removeprefix("| ")) != row] == []


def test_output_has_every_row_of_the_program() -> None:
    """In its order, with what the reference says of it."""
    import error_rates

    jobs = error_rates.all_jobs([])
    wanted = [(line.what, line.said.text if line.said else "-") for job in jobs for line in job.lines]
    assert [(what, said) for what, _, said in map(shown, output()[2:-1])] == wanted


@pytest.mark.parametrize("name", CHEAP)
def test_cheap_rows_are_drawn_anew_and_are_the_same(name: str) -> None:
    """The page's draws and seed give the page's figures."""
    import error_rates

    lines = output()
    draws, seed = map(int, re.findall(r"\d+", lines[0])[:2])
    (job,) = (job for job in error_rates.all_jobs([]) if job.name == name)
    for row in error_rates.rows(job, error_rates.simulate(name, draws, seed)):
        assert error_rates.line(row) in lines


def write(source: str | None) -> None:
    """Write the tables anew, and the output before them if it is given."""
    if source:
        text = f"```text error-rates\n{Path(source).read_text(encoding='utf-8')}```"
        page = BLOCK.sub(lambda _: text, OUTPUT.read_text(encoding="utf-8"))
        OUTPUT.write_text(page, encoding="utf-8")
    rows = table_rows(output())

    def table(match: re.Match[str]) -> str:
        names = [row.split(" | ")[0].removeprefix("| ") for row in match.group(1).splitlines()]
        return HEAD + "".join(rows[name] for name in names)

    PAGE.write_text(TABLE.sub(table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    write(sys.argv[2] if len(sys.argv) > 2 else None)
