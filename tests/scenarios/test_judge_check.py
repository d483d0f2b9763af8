# SPDX-License-Identifier: Apache-2.0
"""`judge-check` on runs that a judge scored: which answers are drawn, what is written, read, logged, shown and found."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "servers"), str(HERE.parent / "integration")]

from forger import Forger  # noqa: E402  tests/scenarios is no package
from small_project import SmallProject  # noqa: E402
from test_judge_over_http import project as judged_project  # noqa: E402
from test_run_over_http import KEY, serving  # noqa: E402

Rows = list[dict[str, str]]
VERDICTS = ["correct", "correct", "partial", "incorrect"]


def says(body: Any) -> str:
    """Answer with the question's number, and as the judge by it: every fourth is wrong, every fourth partial."""
    prompt = body["messages"][-1]["content"]
    number = int("".join(filter(str.isdigit, prompt.partition("country ")[2][:4])))
    if not body["model"].startswith("j-"):
        return ["=1+1", "'Paris'", "Paris\r\nor \U0001f469\u200d\U0001f52c?", "0.50", "-", '\tParis; or "Rome"'][
            number % 6
        ]
    return json.dumps({"verdict": VERDICTS[number % 4], "grounded": True, "reason": f"reason {number}"})


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallProject]:
    """A run of 12 cases with its judge; not to be changed."""
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch, serving(answer=says) as server:
        patch.setenv("CHAT_KEY", KEY)
        made = judged_project(folder, server.url, cases=12)
        assert made("run", "--yes").code == 0
    yield made


@pytest.fixture
def made(ended: SmallProject, tmp_path: Path) -> SmallProject:
    """A copy of it."""
    return ended.copy_to(tmp_path)


def rows_of(made: SmallProject, name: str = "grades.csv") -> Rows:
    """Read a sheet as it was written."""
    return list(csv.DictReader(io.StringIO((made.root / name).read_text(encoding="utf-8"), newline="")))


def fill(
    made: SmallProject, verdict: Callable[[int, dict[str, str]], str], name: str = "grades.csv", **how: Any
) -> None:
    """Grade a sheet, and save it as a spreadsheet might."""
    rows = rows_of(made)
    for number, row in enumerate(rows):
        row["your_verdict"] = verdict(number, row)
    save(made, rows, name, **how)


def save(made: SmallProject, rows: Rows, name: str = "grades.csv", *, encoding: str = "utf-8", **how: Any) -> None:
    """Write rows as CSV."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), **{"lineterminator": "\n", **how})
    writer.writeheader()
    writer.writerows(rows)
    (made.root / name).write_bytes(out.getvalue().encode(encoding))


def own_verdict(row: dict[str, str]) -> str:
    """Return what the judge said of a row."""
    number = int(row["question"].rpartition(" ")[2].rstrip("?"))
    return VERDICTS[number % 4]


def test_sheet_is_logged_blind_and_the_same_again(made: SmallProject) -> None:
    """The entry stands before the file; the same command gives the same sheet; a graded file is not overwritten."""
    said = made("judge-check", "sample", "latest", "--count", "8")
    assert (said.code, said.err) == (0, "")
    assert made.types()[-1] == "judge.sample"
    body = json.loads((made.ledger / "entries.jsonl").read_bytes().splitlines()[-1])["body"]
    assert (body["count"], body["population"], body["scorer"]) == (8, 12, "judge")
    raw = (made.root / "grades.csv").read_bytes()
    assert b"\r" not in raw
    assert not any(word in raw for word in (b"j-large", b"m-small", b"reason", b"partial", b"incorrect", b"default"))
    rows = rows_of(made)
    assert list(rows[0]) == ["row", "sample_id", "question", "references", "answer", "your_verdict", "note"]
    assert [row["row"] for row in rows] == [str(n) for n in range(1, 9)]
    assert len({row["sample_id"] for row in rows}) == 8
    assert not any(row[name].startswith(("=", "+", "-", "@", "\t")) for row in rows for name in row)
    assert (made.root / "grades.csv").stat().st_mode & 0o077 == 0

    (made.root / "grades.csv").unlink()
    assert made("judge-check", "sample", "latest", "--count", "8").code == 0
    assert (made.root / "grades.csv").read_bytes() == raw
    assert made.types().count("judge.sample") == 1
    assert made("judge-check", "sample", "latest", "--count", "8", "--json").json["new"] is False
    fill(made, lambda number, row: "correct")
    said = made("judge-check", "sample", "latest", "--count", "8")
    assert (said.code, "another file stands there" in said.err) == (2, True)
    assert made.types().count("judge.sample") == 1
    assert made("verify").code == 0


def test_numbers_of_a_graded_sheet(made: SmallProject) -> None:
    """Agreement, table, direction and every disagreement with the judge's reason; blanks are counted, not guessed."""
    made("judge-check", "sample", "latest", "--count", "12")

    def verdict(number: int, row: dict[str, str]) -> str:
        if number == 0:
            return "  "
        return " Correct " if own_verdict(row) == "partial" else own_verdict(row).upper()

    fill(made, verdict)
    first = rows_of(made)[0]
    said = made("judge-check", "score", "grades.csv", "--grader", "AB", "--json")
    assert said.code == 0, said.err
    (numbers,) = said.json["graders"]
    partial = sum(own_verdict(row) == "partial" for row in rows_of(made)[1:])
    assert (numbers["rows"], numbers["graded"], numbers["equal"]) == (12, 11, 11 - partial)
    assert (numbers["harsher"], numbers["kinder"]) == (partial, 0)
    assert len(numbers["disagreements"]) == partial
    assert {(item["person"], item["judge"]) for item in numbers["disagreements"]} == {("correct", "partial")}
    assert all("reason " in item["reason"] for item in numbers["disagreements"])
    assert numbers["by_configuration"] == {"m": [11 - partial, 11]}
    assert first["sample_id"] not in {item["sample_id"] for item in numbers["disagreements"]}
    assert said.json["all_checks"]["blank"] == 1
    assert made.types()[-2:] == ["judge.sample", "judge.check"]
    shown = made("judge-check", "score", "grades.csv", "--grader", "AB")
    assert made.types().count("judge.check") == 1, "the same grades are not logged twice"
    assert "graded 11 of 12, 1 left blank" in shown.out
    log = made("ledger", "log").out
    assert "12 answers of 12, judged by judge" in log
    assert "sheet 6, 11 of 12 answers graded by AB" in log
    assert f"the judge was kinder 0 times, harsher {partial} times" in shown.out
    assert made("verify").code == 0
    assert made.status("V22") == "PASS"


def test_perfect_agreement_on_one_verdict_has_no_kappa(made: SmallProject) -> None:
    """T49: undefined is said in words; --min asks for what is shown, and 20 of 20 would show 0.86."""
    made("judge-check", "sample", "latest", "--count", "12")
    fill(made, lambda number, row: "correct" if own_verdict(row) == "correct" else "")
    said = made("judge-check", "score", "grades.csv", "--min", "0.5")
    assert said.code == 0
    assert "Cohen's kappa undefined: no variation; linear-weighted undefined: no variation" in said.out
    assert "not below --min 0.5" in said.out
    low = made("judge-check", "score", "grades.csv", "--min", "0.9")
    assert low.code == 1
    assert ": below --min 0.9" in low.out


@pytest.mark.parametrize(
    "how",
    [
        {"lineterminator": "\r\n"},
        {"delimiter": ";", "lineterminator": "\r\n", "encoding": "utf-8-sig"},
        {"delimiter": "\t", "quoting": csv.QUOTE_ALL},
    ],
    ids=["crlf", "semicolons and a mark", "tabs and quotes"],
)
def test_sheet_is_read_as_a_spreadsheet_saves_it(made: SmallProject, how: dict[str, Any]) -> None:
    """Other line ends, quotes, delimiters, an order of the person's own, a blank row and a lost apostrophe."""
    made("judge-check", "sample", "latest", "--count", "12", "--bom")
    assert (made.root / "grades.csv").read_bytes().startswith(b"\xef\xbb\xbfrow,")
    text = (made.root / "grades.csv").read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows:
        row["your_verdict"] = own_verdict(row)
        row["answer"] = row["answer"].removeprefix("'")
    rows = [*reversed(rows), dict.fromkeys(rows[0], "")]
    save(made, rows, "mine.csv", **how)
    said = made("judge-check", "score", "mine.csv", "--json")
    assert said.code == 0, said.err
    assert said.json["graders"][0]["equal"] == 12


@pytest.mark.parametrize(
    ("damage", "words", "line"),
    [
        (lambda rows: rows[2].update(your_verdict="maybe"), "'maybe' is no verdict", True),
        (lambda rows: rows[2].update(answer=rows[2]["answer"] + "!"), "the answer is not the one that was drawn", True),
        (lambda rows: rows[2].update(question="What?"), "the question is not the one that was drawn", True),
        (lambda rows: rows[2].update(references="Rome"), "the references is not the one that was drawn", True),
        (lambda rows: rows[2].update(sample_id=rows[1]["sample_id"]), "stands on line", True),
        (lambda rows: rows[2].update(sample_id=rows[2]["sample_id"][:-4] + "0000"), "is no row of this sheet", True),
        (lambda rows: rows[2].update(sample_id="q1"), "'q1' is no sample_id", True),
        (lambda rows: rows.pop(2), "1 row is missing", False),
        (lambda rows: [row.update(your_verdict="") for row in rows], "nothing is graded", False),
        (lambda rows: [row.pop("note") for row in rows], "the header has no column note", False),
    ],
)
def test_sheet_that_was_changed_is_refused_with_its_line(
    made: SmallProject, damage: Callable[[Rows], Any], words: str, line: bool
) -> None:
    """Exit 2, the line named, nothing appended."""
    made("judge-check", "sample", "latest", "--count", "5")
    rows = rows_of(made)
    for row in rows:
        row["your_verdict"] = "correct"
    damage(rows)
    save(made, rows)
    before = made.types()
    said = made("judge-check", "score", "grades.csv")
    assert (said.code, words in said.err) == (2, True), said.err
    if line:
        text = (made.root / "grades.csv").read_text(encoding="utf-8")
        start = 1 + text[: text.index("\n3,")].count("\n") + 1
        assert f"grades.csv:{start}: " in said.err
    assert made.types() == before


def test_file_that_is_no_sheet_is_told(made: SmallProject) -> None:
    """Another encoding, a workbook, an empty file, no file."""
    made("judge-check", "sample", "latest", "--count", "5")
    text = (made.root / "grades.csv").read_text(encoding="utf-8")
    (made.root / "utf16.csv").write_bytes(text.encode("utf-16"))
    (made.root / "empty.csv").write_bytes(b"")
    for name, words in (
        ("utf16.csv", "this is not UTF-8"),
        ("empty.csv", "no column row"),
        ("none.csv", "cannot be read"),
    ):
        said = made("judge-check", "score", name)
        assert (said.code, words in said.err) == (2, True), said.err


def test_two_people_and_a_second_try_count_as_the_lower(made: SmallProject) -> None:
    """T52: first how far the people agree; then the lower one, whoever grades once more."""
    made("judge-check", "sample", "latest", "--count", "12")
    fill(made, lambda number, row: "incorrect" if number < 3 else own_verdict(row), "a.csv")
    fill(made, lambda number, row: "incorrect" if number < 1 else own_verdict(row), "b.csv")
    said = made("judge-check", "score", "a.csv", "b.csv", "--grader", "A", "--grader", "B")
    assert said.code == 0, said.err
    assert said.out.splitlines()[1].startswith("people: A and B agree on ")
    found = made("judge-check", "score", "a.csv", "b.csv", "--grader", "A", "--grader", "B", "--json").json
    lower = min(item["equal"] for item in found["graders"])
    assert (found["all_checks"]["equal"], found["all_checks"]["graded"]) == (lower, 12)
    fill(made, lambda number, row: own_verdict(row), "c.csv")
    again = made("judge-check", "score", "c.csv", "--grader", "A", "--json")
    assert "this sheet was graded before, by A, B; the lower agreement counts" in again.err
    assert again.json["all_checks"]["equal"] == lower
    assert made("judge-check", "score", "a.csv", "b.csv", "--grader", "A").code == 2
    assert made("verify").code == 0


def test_further_sheet_is_of_other_answers_and_an_open_one_is_told(made: SmallProject) -> None:
    """Sheets of one run are one drawing without replacement, so that no answer counts twice."""
    made("judge-check", "sample", "latest", "--count", "5")
    fill(made, lambda number, row: own_verdict(row), "first.csv")
    first = {row["question"] for row in rows_of(made)}
    said = made("judge-check", "sample", "latest", "--count", "9", "-o", "second.csv")
    assert "only 7 answers of 9 that were asked for" in said.err
    second = {row["question"] for row in rows_of(made, "second.csv")}
    assert not first & second
    assert made("judge-check", "sample", "latest", "--count", "2", "-o", "third.csv").code == 2
    told = made("judge-check", "score", "first.csv", "--json").json["all_checks"]
    assert (told["equal"], told["graded"], told["open"]) == (5, 5, 1)
    save(made, [{**row, "your_verdict": own_verdict(row)} for row in rows_of(made, "second.csv")], "second.csv")
    told = made("judge-check", "score", "second.csv", "--json").json["all_checks"]
    assert (told["equal"], told["graded"], told["open"]) == (12, 12, 0)
    assert made("verify").code == 0


def test_stratified_sheet_reports_only_its_weighted_agreement(made: SmallProject) -> None:
    """Three of each verdict; it is never evidence, and takes no answer away from a sheet that is."""
    said = made("judge-check", "sample", "latest", "--count", "9", "--stratify", "verdict")
    assert "never counts as evidence" in said.err
    assert sorted(own_verdict(row) for row in rows_of(made)) == ["correct"] * 3 + ["incorrect"] * 3 + ["partial"] * 3
    fill(made, lambda number, row: "correct")
    told = made("judge-check", "score", "grades.csv", "--json").json
    (numbers,) = told["graders"]
    assert numbers["agreement"] == pytest.approx(0.5), "6 of 12 answers are correct for the judge"
    assert (numbers["kappa"], numbers["interval"], numbers["by_configuration"]) == (None, None, {})
    assert told["all_checks"]["graded"] == 0
    made("judge-check", "sample", "latest", "--count", "12", "-o", "all.csv")
    assert len(rows_of(made, "all.csv")) == 12
    assert made("verify").code == 0
    assert made("judge-check", "sample", "latest", "--stratify", "tag").code == 2


@pytest.mark.parametrize(
    ("kind", "changed", "code"),
    [
        ("judge.check", {"grades": ["correct"] * 3}, "JUDGE-CHECK"),
        ("judge.check", {"grades": ["right"] * 12}, "JUDGE-CHECK"),
        ("judge.check", {"grades": [""] * 12}, "JUDGE-CHECK"),
        ("judge.check", {"judge": "sha256:" + "0" * 64}, "JUDGE-CHECK"),
        ("judge.check", {"sheet": {"seq": 1, "digest": "sha256:" + "0" * 64}}, "JUDGE-CHECK"),
        ("judge.sample", {"population": 11}, "JUDGE-SHEET"),
        ("judge.sample", {"scorer": "other"}, "JUDGE-SHEET"),
        ("judge.sample", {"judge": "sha256:" + "0" * 64}, "JUDGE-SHEET"),
    ],
)
def test_entry_that_was_forged_is_found(made: SmallProject, kind: str, changed: dict[str, Any], code: str) -> None:
    """By whoever holds the key, and signs it all again."""
    made("judge-check", "sample", "latest", "--count", "12")
    fill(made, lambda number, row: own_verdict(row))
    made("judge-check", "score", "grades.csv")
    forger = Forger(made)
    forger.of(kind)["body"].update(changed)
    if kind == "judge.sample":
        forger.of("judge.check")["body"].update({"judge": changed["judge"]} if "judge" in changed else {})
    forger.sign(keep=("judge.sample",))
    stranger = made.as_stranger(made.root.parent)
    assert code in stranger.codes()


def test_grade_that_was_changed_breaks_the_signature(made: SmallProject) -> None:
    """By whoever does not hold the key."""
    made("judge-check", "sample", "latest", "--count", "12")
    fill(made, lambda number, row: "incorrect")
    made("judge-check", "score", "grades.csv")
    path = made.ledger / "entries.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"incorrect","incorrect"', b'"correct","incorrect"', 1))
    assert "LEDGER-ROOT" in made.codes()
    assert made("judge-check", "score", "grades.csv").code == 3


def test_withheld_content_and_an_unfinished_run_are_told(made: SmallProject) -> None:
    """Exit 2 and one thing to do; nothing is logged."""
    content = made.last / "content.jsonl"
    raw = content.read_bytes()
    content.unlink()
    said = made("judge-check", "sample", "latest")
    assert (said.code, "content" in said.err, "judge.sample" in made.types()) == (2, True, False)
    content.write_bytes(raw)
    assert made("judge-check", "sample", "latest", "-o", "ledger/grades.csv").code == 2
    assert made("judge-check", "sample", "latest", "--scorer", "judje").code == 2
    assert "judge.sample" not in made.types()


def test_judge_with_other_rules_is_another_judge(made: SmallProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its old grades are stale, and an old sheet is scored as what it is; a renamed helper is the same judge."""
    from trialplate.verify.findings import Report
    from trialplate.verify.judges import JudgeChecks
    from trialplate.verify.known import read_known
    from trialplate.verify.ledger_view import Reader, read_ledger
    from trialplate.verify.record_view import read_record

    monkeypatch.setenv("CHAT_KEY", KEY)
    made("judge-check", "sample", "latest", "--count", "12")
    fill(made, lambda number, row: own_verdict(row))
    made("judge-check", "score", "grades.csv")
    first = made.last

    def grades(run: Path, without: Path | None = None) -> tuple[Any, JudgeChecks]:
        view = read_ledger(made.ledger, Reader(known=read_known(made.home)), Report("ledger"))
        assert view is not None

        def other(run_id: str) -> Any:
            there = made.root / "runs" / run_id
            return None if there == without else read_record(there, view, Report(run_id))

        record = read_record(run, view, Report("run"))
        assert record is not None
        checks = JudgeChecks(view, record, other, Report("judges"))
        return checks.grades().get("judge"), checks

    with serving(answer=says) as server:
        plan = yaml.safe_load((made.root / "trialplate.yaml").read_text())
        for part in ("models", "helpers"):
            for item in plan[part].values():
                item["url"] = server.url
        made.set_plan(yaml.safe_dump(plan))
        assert made("run", "--yes").code == 0
        elsewhere, _ = grades(made.last)
        assert (elsewhere.graded, elsewhere.stale) == (0, 12), "another endpoint is another judge"
        made("judge-check", "sample", "latest", "--count", "4", "-o", "new.csv")
        assert grades(made.last)[0].open == 1
        save(made, [{**row, "your_verdict": own_verdict(row)} for row in rows_of(made, "new.csv")], "new.csv")
        assert made("judge-check", "score", "new.csv").code == 0
        second = made.last

        plan["helpers"] = {"again": plan["helpers"]["grader"]}
        plan["scorers"]["judge"]["model"] = "again"
        made.set_plan(yaml.safe_dump(plan))
        assert made("run", "--yes").code == 0
        pooled, _ = grades(made.last)
        assert (pooled.equal, pooled.graded, pooled.open, pooled.stale) == (4, 4, 0, 12)
        missing, checks = grades(made.last, without=second)
        assert (missing.graded, missing.open, checks.missing) == (0, 1, {second.name})
    assert made("judge-check", "score", "grades.csv", "--json").json["run_id"] == first.name
    assert made("verify").code == 0


def test_gate_counts_the_grades_as_they_were_when_it_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never checked, open, then shown: each decision is derived again from the entries before it."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    with serving(answer=says) as server:
        made = judged_project(tmp_path, server.url, cases=12)
        plan = yaml.safe_load((made.root / "trialplate.yaml").read_text())
        evidence = {"judge": {"scorer": "judge", "graded": {"at_least": 10}, "agreement": {"at_least": 0.7}}}
        rule = {"id": "correct", "at_least": 0.1, "of": "correct", "basis": "estimate"}
        plan["pass_mark"] = {"evidence": evidence, "rules": [rule]}
        made.set_plan(yaml.safe_dump(plan))
        assert made("run", "--yes").code == 0

    def decided() -> str:
        return str(made("gate", "latest", "--model", "m").out.split()[0])

    assert decided() == "INCONCLUSIVE"
    made("judge-check", "sample", "latest", "--count", "12")
    assert decided() == "INCONCLUSIVE"
    fill(made, lambda number, row: own_verdict(row))
    assert made("judge-check", "score", "grades.csv", "--min", "0.7").code == 0
    assert decided() == "ACCEPTED"
    fill(made, lambda number, row: "incorrect", "unkind.csv")
    made("judge-check", "score", "unkind.csv", "--grader", "XY")
    assert decided() == "INCONCLUSIVE"
    assert made("verify").code == 0
    assert made.status("V19") == "PASS"
    assert made.types().count("decision") == 4


def test_decision_that_rests_on_grades_of_a_run_that_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stated one is a note, and held to all else; a new one is inconclusive and not stated."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    with serving(answer=says) as server:
        made = judged_project(tmp_path, server.url, cases=12)
        plan = yaml.safe_load((made.root / "trialplate.yaml").read_text())
        evidence = {"judge": {"scorer": "judge", "graded": {"at_least": 10}, "agreement": {"at_least": 0.7}}}
        rule = {"id": "correct", "at_least": 0.1, "of": "correct", "basis": "estimate"}
        plan["pass_mark"] = {"evidence": evidence, "rules": [rule]}
        made.set_plan(yaml.safe_dump(plan))
        assert made("run", "--yes", "--limit", "11").code == 0
        made("judge-check", "sample", "latest")
        fill(made, lambda number, row: own_verdict(row))
        assert made("judge-check", "score", "grades.csv").code == 0
        graded = made.last
        assert made("run", "--yes").code == 0
    second = made.last.name
    assert made("gate", second, "--model", "m").out.startswith("ACCEPTED")
    graded.rename(tmp_path / "elsewhere")
    said = made("verify", second)
    assert said.code == 0, said.out
    assert "RUN-MISSING" in said.out
    assert "derived again, as far as the runs are here: 1" in said.out
    gate = made("gate", second, "--model", "m")
    assert (gate.code, gate.out.split()[0], "not appended" in gate.err) == (1, "INCONCLUSIVE", True)
    assert made.types().count("decision") == 1
    forger = Forger(made)
    forger.of("decision")["body"]["rules"][0].update(low="1", high="1")
    forger.sign(keep=("judge.sample", "judge.check"))
    assert "DECISION" in made.as_stranger(tmp_path / "s").codes(second)


def test_judge_that_changes_its_mind_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """J17: correct, incorrect, correct of one answer: 2 of 3; the verdict of each trial stays its first."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    given = iter(["correct", "incorrect", "correct"])

    def verdict(body: Any) -> str:
        return (
            json.dumps({"verdict": next(given), "grounded": True, "reason": "so"})
            if body["model"] == "j-large"
            else "Paris"
        )

    with serving(answer=verdict) as server:
        made = judged_project(tmp_path, server.url, cases=1)
        plan = (made.root / "trialplate.yaml").read_text()
        made.set_plan(plan.replace("repeats: 1", "repeats: 3") + "run: {concurrency: 1}\n")
        assert made("run", "--yes").code == 0
    said = made("judge-check", "sample", "latest", "--count", "3")
    assert "only 1 answer of 3" in said.err, "a case counts once, whatever its repeats"
    fill(made, lambda number, row: "correct")
    told = made("judge-check", "score", "grades.csv", "--json").json
    assert told["self_agreement"] == {"answers": 1, "judged": 3, "same": 2}
    assert "self-agreement: 2 of 3 (0.6667) verdicts on 1 answer" in made("judge-check", "score", "grades.csv").out


def test_run_without_a_judge_has_nothing_to_check(tmp_path: Path) -> None:
    """Exit 2 with one thing to do; so has a plan of two judges until one is named, and a score without a ledger."""
    made = SmallProject.write(tmp_path)
    assert made("keys", "new", "me").code == 0
    made.run()
    said = made("judge-check", "sample", "latest")
    assert (said.code, "this run has no judge" in said.err) == (2, True)
    said = made("judge-check", "score", "none.csv")
    assert (said.code, "none.csv" in said.err) == (2, True)


def test_sheet_of_a_macintosh_and_one_file_for_two_people(made: SmallProject) -> None:
    """Lines that end in CR alone are lines; the same file twice is one person's grades; a sheet is not printed."""
    assert made("judge-check", "sample", "latest", "--count", "8", "-o", "-").code == 2
    assert made("judge-check", "sample", "latest", "--count", "8").code == 0
    fill(made, lambda number, row: own_verdict(row))
    sheet = made.root / "grades.csv"
    sheet.write_bytes(sheet.read_bytes().replace(b"\n", b"\r"))
    before = made.types()
    said = made("judge-check", "score", "grades.csv", "./grades.csv")
    assert (said.code, "the same file twice" in said.err, made.types()) == (2, True, before)
    assert made("judge-check", "score", "grades.csv").code == 0
