# SPDX-License-Identifier: Apache-2.0
"""Trials from Python: the same engine, the same record, with runner and scorer objects of a person's own."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from trialplate import Model, PassMark, RunOutput, RunRecord, Score, TestSet, load_test_set, render, run_trial
from trialplate.cli.main import main
from trialplate.errors import SpecError, UsageError
from trialplate.record import canonical, codec
from trialplate.record.entries import TrialEnd
from trialplate.record.note import open_note, parse_checkpoint
from trialplate.record.values import Plan

CASES = """\
id,input,reference,tags
q1,What is the capital of France?,Paris,factual
q2,How much is two and two?,4,arithmetic
"""
RIGHT = {"q1": "Paris", "q2": "4"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder of its own, and nobody's key."""
    for name in [name for name in os.environ if name.startswith("TRIALPLATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRIALPLATE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def cases(tmp_path: Path) -> TestSet:
    """Two questions."""
    (tmp_path / "questions.csv").write_text(CASES, encoding="utf-8")
    return load_test_set("questions.csv")


class Mine:
    """Answers by the model's id: `right`, `wrong`, or by what it is told to do."""

    def __init__(self, **acts: Any) -> None:
        self.acts, self.asked = acts, []

    def run(self, model: Any, case: Any) -> Any:
        """Answer."""
        self.asked.append((model.id, case.id))
        act = self.acts.get(model.id)
        if act is not None:
            return act(case)
        cost = 0.002 if model.id == "right" else 0.001
        return RunOutput(RIGHT[case.id] if model.id == "right" else "no idea", cost_usd=cost)


class Grounded:
    """A judge of one's own."""

    name = "judge"
    metrics = ("grounded", "short")

    async def score(self, case: Any, answer: str) -> Score:
        """Score."""
        await asyncio.sleep(0)
        return Score(metrics={"grounded": 1, "short": 0.5}, verdict="passed", reason=f"{case.id}: seen")


MARK = PassMark(metric="correct", tolerance_points=3, floors={"grounded": 0.95}, declared_usage="accept")


def ends(record: RunRecord) -> dict[str, TrialEnd]:
    """Return the last end of each trial, by "configuration case"."""
    found = {}
    for line in (record.folder / "record.jsonl").read_bytes().splitlines():
        entry = canonical.decode(line)
        if entry["type"] == "trial.end":
            end = codec.decode(TrialEnd, entry["body"])
            found[f"{end.trial[0]} {end.trial[1]}"] = end
    return found


def plan_of(record: RunRecord) -> Plan:
    """Return the frozen plan."""
    return codec.decode(Plan, canonical.decode((record.folder / "plan.json").read_bytes()))


def test_trial_of_the_page_is_a_signed_run(cases: TestSet, tmp_path: Path) -> None:
    """Two models of one's own runner, a built-in scorer and one's own: chosen, decided, verified, saved."""
    record = run_trial(
        cases,
        MARK,
        [Model(id="right", runner="mine"), Model(id="wrong", runner="mine")],
        runners={"mine": Mine()},
        scorers=[{"name": "correct", "type": "exact"}, Grounded()],
        repeats=3,
        concurrency=4,
    )
    assert record.reason == "complete"
    assert {item.configuration: item.decision for item in record.decisions} == {
        "right": "accepted",
        "wrong": "rejected",
    }
    assert record.chosen == "right"
    assert record.gate("right").decision == "accepted"
    text = render(record, "text", by_tag=True)
    assert "ACCEPTED right" in text
    assert "arithmetic" in text
    assert "0.012000 USD" in text, "six answers at 0.002, by the runner's own word"
    assert json.loads(render(record, "json"))["run_id"] == record.run_id

    temporary = record.project
    file = record.save("run-record.json")
    assert not temporary.exists()
    assert record.folder == tmp_path / "run-record" / "runs" / record.run_id
    saved = json.loads(file.read_text())
    assert saved.keys() == {"format", "run_id", "origin", "checkpoint", "ledger", "decisions", "report"}
    assert saved["origin"] == parse_checkpoint(open_note(saved["checkpoint"].encode(), ()).text).origin
    assert saved["ledger"]["checkpoint"] == (tmp_path / "run-record/ledger/checkpoint").read_text()
    assert [item["decision"] for item in saved["decisions"]] == ["accepted", "rejected"]
    assert saved["report"]["format"] == "trialplate-report/1"
    assert main(["verify", "run-record"]) == 0
    assert main(["gate", str(record.folder), "--model", "wrong"]) == 1


def test_own_objects_stand_in_the_plan_as_what_they_are(cases: TestSet) -> None:
    """Class, module, the digest of the source, and in words what no digest pins; no path of this machine."""
    record = run_trial(
        cases,
        MARK,
        [Model("right", "mine")],
        runners={"mine": Mine()},
        scorers={"correct": "exact", "judge": Grounded()},
    )
    plan = plan_of(record)
    (configuration,) = plan.configurations
    assert (configuration.runner, configuration.plugin) == ("mine", f"object {__name__}:Mine")
    source = configuration.settings["source"]
    assert source["file"] == Path(__file__).name
    assert source["digest"].startswith("sha256:")
    judge = plan.scorers[1]
    assert (judge.type, judge.plugin, judge.metrics) == ("object", f"object {__name__}:Grounded", ("grounded", "short"))
    assert f"right: what Mine of module {__name__} does, and what it holds and calls" in plan.unpinned
    assert str(Path(__file__).parent) not in (record.folder / "plan.json").read_text()


def kaput(case: Any) -> str:
    """Raise."""
    raise RuntimeError("kaput")


@pytest.mark.parametrize(
    ("act", "cause"),
    [
        (kaput, "exit_status"),
        (lambda case: RunOutput(failed="not today"), "exit_status"),
        (lambda case: 7, "bad_reply"),
        (lambda case: "", "empty"),
        (lambda case: threading.Event().wait(), "timeout"),
        (lambda case: asyncio.Event().wait(), "timeout"),
    ],
    ids=["raises", "fails", "nonsense", "nothing", "hangs", "hangs-coroutine"],
)
def test_runner_that_gives_no_answer_has_failed(cases: TestSet, act: Any, cause: str) -> None:
    """It is the thing under test: its failures are 0, are not tried again, and the record holds."""
    model = Model("odd", "mine", limits={"attempt_timeout_s": "0.05"})
    mine = Mine(odd=act)
    record = run_trial(
        cases,
        PassMark(floors={"correct": 0.5}, choose=None),
        [model],
        runners={"mine": mine},
        scorers={"correct": "exact"},
        repeats=1,
    )
    for end in ends(record).values():
        assert (end.outcome, end.cause, end.metrics) == ("failed", cause, {"correct": 0})
    assert len(mine.asked) == 2
    assert record.gate("odd").decision == "rejected"
    assert main(["verify", str(record.folder)]) == 0


class Scores:
    """Gives what it is told to."""

    metric = "good"

    def __init__(self, given: Any) -> None:
        self.given = given

    def score(self, case: Any, answer: str) -> Any:
        """Act, or give it."""
        return self.given() if callable(self.given) else self.given


@pytest.mark.parametrize(
    "given",
    [float("nan"), 1.5, "yes", None, {"god": 1}, Score(metrics={"good": 2.0}, verdict="passed"), lambda: 1 / 0],
    ids=["nan", "range", "word", "nothing", "names", "score", "raises"],
)
def test_scorer_that_gives_no_score_leaves_the_cell_unknown(cases: TestSet, given: Any) -> None:
    """Neither 0 nor a pass: the decision stays open, and a resume with a scorer that works scores without asking."""
    scorer, mine = Scores(given), Mine()
    mark = PassMark(floors={"good": 0.5}, choose=None)
    record = run_trial(
        cases, mark, [Model("right", "mine")], runners={"mine": mine}, scorers={"good": scorer}, repeats=1
    )
    for end in ends(record).values():
        assert (end.outcome, end.cause, dict(end.unknown)) == ("error", "scorer", {"good": "scorer"})
    assert record.gate("right").decision == "inconclusive"
    asked = len(mine.asked)
    scorer.given = 1.0
    record.resume(runners={"mine": mine}, scorers={"good": scorer})
    assert len(mine.asked) == asked, "the answers were there"
    assert record.gate("right").decision == "accepted"


def test_scorer_that_hangs_leaves_the_cell_unknown(cases: TestSet) -> None:
    """Bounded by its own time."""
    let_go = threading.Event()
    scorer = Scores(let_go.wait)
    scorer.timeout_s = "0.05"  # type: ignore[attr-defined]
    mark = PassMark(floors={"good": 0.5}, choose=None)
    record = run_trial(
        cases, mark, [Model("right", "mine")], runners={"mine": Mine()}, scorers={"good": scorer}, repeats=1
    )
    let_go.set()
    assert {end.cause for end in ends(record).values()} == {"scorer"}
    assert record.gate().decision == "inconclusive"


def test_two_scorers_with_one_metric_are_refused(cases: TestSet) -> None:
    """As in every plan: it would be unsaid whose the number is."""
    with pytest.raises(SpecError, match='both give "good"'):
        run_trial(
            cases,
            PassMark(floors={"good": 0.5}, choose=None),
            [Model("right", "mine")],
            runners={"mine": Mine()},
            scorers={"one": Scores(1), "two": Scores(1)},
        )


def test_names_that_are_not_there_are_told_with_the_nearest(cases: TestSet) -> None:
    """The objects' names among them; nothing is left behind."""
    with pytest.raises(SpecError, match=r'"runner": there is .*mine') as caught:
        run_trial(
            cases,
            MARK,
            [Model("a", "mien"), Model("b", "mine")],
            runners={"mine": Mine()},
            scorers={"correct": "exact"},
        )
    assert caught.value.hint == 'did you mean "mine"?'
    with pytest.raises(SpecError) as caught:
        run_trial(
            cases, MARK, [Model("a", "mine"), Model("b", "mine")], runners={"mine": Mine()}, scorers={"correct": "exat"}
        )
    assert caught.value.hint == 'did you mean "exact"?'
    with pytest.raises(SpecError, match="'http' is there already"):
        run_trial(
            cases,
            MARK,
            [Model("a", "http"), Model("b", "http")],
            runners={"http": Mine()},
            scorers={"correct": "exact"},
        )
    assert not list(Path().glob("run-record*"))


@pytest.mark.parametrize(
    ("models", "scorers", "words"),
    [
        ([], ["exact"], "models need different names"),
        ([Model("a", "mine"), Model("a", "mine")], ["exact"], "models need different names"),
        ([Model("a", "mine")], ["exact", "exact"], "two scorers are called 'exact'"),
        ([Model("a", "mine")], [Scores(1)], "a scorer of Scores has no name"),
        ([Model("a", "mine")], [{"name": "x", "type": "object"}], "has the type of objects, and is none"),
        ([Model("a", "mine", settings={"t": float("nan")})], ["exact"], "float has no place in a plan"),
        ([Model("a", "mine", settings={"t": {1, 2}})], ["exact"], "set has no place in a plan"),
    ],
)
def test_what_cannot_be_a_plan_is_refused(cases: TestSet, models: Any, scorers: Any, words: str) -> None:
    """In the words of Python, before anything is asked."""
    with pytest.raises(UsageError, match=words):
        run_trial(
            cases, PassMark(floors={"exact": 0.5}, choose=None), models, runners={"mine": Mine()}, scorers=scorers
        )


def test_mark_that_says_nothing_of_one_model_is_refused(cases: TestSet) -> None:
    """Without floors a single model would be accepted whatever it answers."""
    with pytest.raises(UsageError, match="says nothing about a single model"):
        run_trial(cases, PassMark(metric="exact"), [Model("a", "mine")], runners={"mine": Mine()}, scorers=["exact"])


def test_attempts_in_one_folder_are_counted(cases: TestSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second run in the folder is a second use of its test set, in one ledger; every command works on it."""
    for _ in range(2):
        record = run_trial(
            cases,
            PassMark(floors={"correct": 0.5}, choose=None),
            [Model("right", "mine")],
            runners={"mine": Mine()},
            scorers={"correct": "exact"},
            repeats=1,
            folder="trials",
        )
    assert "use 2 of 2" in render(record)
    assert len(list((tmp_path / "trials/runs").iterdir())) == 2
    capsys.readouterr()
    assert main(["report", str(record.folder), "--format", "markdown"]) == 0
    assert main(["verify", "trials"]) == 0
    assert main(["resume", str(record.folder)]) == 2
    told = capsys.readouterr().err
    assert f"the runner 'mine' was an object of a Python program ({__name__}:Mine)" in told
    assert "RunRecord.open" in told


def test_plan_of_somebodys_own_is_never_replaced(cases: TestSet, tmp_path: Path) -> None:
    """The folder of a project that was written by hand is no place for a trial from Python."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/trialplate.yaml").write_text("trialplate: 1\n")
    with pytest.raises(UsageError, match="somebody's own stands here"):
        run_trial(
            cases,
            PassMark(floors={"exact": 1}, choose=None),
            [Model("a", "mine")],
            runners={"mine": Mine()},
            scorers=["exact"],
            folder="theirs",
        )
    assert (tmp_path / "theirs/trialplate.yaml").read_text() == "trialplate: 1\n"
    assert not (tmp_path / "theirs/ledger").exists()


def test_trial_runs_where_a_loop_is_running(cases: TestSet) -> None:
    """As in a notebook: in a thread, with the objects called apart from both loops."""

    async def cell() -> RunRecord:
        return run_trial(
            cases,
            PassMark(floors={"grounded": 0.5}, choose=None),
            [Model("right", "mine")],
            runners={"mine": Mine()},
            scorers=[Grounded()],
            repeats=1,
        )

    record = asyncio.run(cell())
    assert record.reason == "complete"
    assert record.gate().decision == "accepted"


@pytest.mark.parametrize("notebook", [False, True])
def test_interrupt_ends_the_run_in_order_and_it_is_resumed(cases: TestSet, notebook: bool) -> None:
    """What is under way is waited for; the signal's handler is the program's own again."""
    asked = threading.Event()

    def interrupts(case: Any) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        asked.set()
        return RIGHT[case.id]

    mine = Mine(right=interrupts)

    def trial() -> RunRecord:
        return run_trial(
            cases,
            PassMark(floors={"correct": 0.5}, choose=None),
            [Model("right", "mine")],
            runners={"mine": mine},
            scorers={"correct": "exact"},
            repeats=20,
            concurrency=1,
            folder="trials",
        )

    async def cell() -> RunRecord:
        return trial()

    def handler(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        record = asyncio.run(cell()) if notebook else trial()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert asked.is_set()
    assert record.reason == "interrupted"
    assert len(mine.asked) < 40
    assert record.gate(append=False).decision == "inconclusive"
    mine.acts.clear()
    again = RunRecord.open(record.folder)
    assert again.reason == "interrupted"
    again.resume(runners={"mine": mine}, scorers=["exact"])
    assert again.reason == "complete"
    assert again.gate().decision == "accepted"
    assert len(mine.asked) == 40


class Other(Mine):
    """Another class than the run began with."""


def test_resume_takes_no_other_object(cases: TestSet) -> None:
    """Later answers would be another thing's."""
    record = run_trial(
        cases,
        PassMark(floors={"good": 1}, choose=None),
        [Model("right", "mine")],
        runners={"mine": Mine()},
        scorers={"good": Scores(None)},
    )
    with pytest.raises(SpecError, match="is test_from_python:Other now") as caught:
        record.resume(runners={"mine": Other()}, scorers={"good": Scores(1)})
    assert caught.value.code == "PLUGIN-CHANGED"
    with pytest.raises(SpecError, match="was an object of a Python program"):
        record.resume()


def test_test_set_that_changed_since_it_was_loaded_is_refused(cases: TestSet, tmp_path: Path) -> None:
    """The cases that were looked at are the cases that are asked."""
    (tmp_path / "questions.csv").write_text(CASES.replace("Paris", "Lyon"), encoding="utf-8")
    with pytest.raises(SpecError, match="not as it was when it was loaded"):
        run_trial(
            cases,
            PassMark(floors={"exact": 1}, choose=None),
            [Model("a", "mine")],
            runners={"mine": Mine()},
            scorers=["exact"],
        )


def test_test_set_is_read_as_a_plan_reads_it(tmp_path: Path) -> None:
    """The same loader, the same errors, the files of its cases."""
    (tmp_path / "sets/pictures").mkdir(parents=True)
    (tmp_path / "sets/pictures/a.png").write_bytes(b"\x89PNG")
    file = {"name": "a", "path": "pictures/a.png", "type": "image/png"}
    (tmp_path / "sets/q.json").write_text(
        json.dumps({"name": "pictures", "version": "7", "cases": [{"id": "q1", "input": "What?", "files": [file]}]})
    )
    loaded = load_test_set(tmp_path / "sets/q.json")
    assert (loaded.name, loaded.version, len(loaded), loaded.files) == ("pictures", "7", 1, ("pictures/a.png",))
    (tmp_path / "bad.csv").write_text("id,inptu\nq1,x\n")
    with pytest.raises(SpecError, match=r"bad\.csv:1.*"):
        load_test_set(tmp_path / "bad.csv")
    with pytest.raises(SpecError, match=r"missing\.csv"):
        load_test_set(tmp_path / "missing.csv")


def test_built_in_runner_and_files_of_the_plan_come_along(tmp_path: Path, cases: TestSet) -> None:
    """A function of a file is run as in every plan: from a copy of it, pinned, in a program of its own."""
    (tmp_path / "mine.py").write_text(
        "def answer(model, question, settings):\n    return settings['documents']['doc.md']\n"
    )
    (tmp_path / "doc.md").write_text("Paris")
    record = run_trial(
        cases,
        PassMark.rules(
            {"id": "half", "at_least": Decimal("0.5"), "of": "correct", "basis": "estimate"},
            evidence={"cases": {"at_least": 2}},
        ),
        [Model("doc", "python", callable="mine.py:answer", settings={"documents": ["doc.md"]}, pricing="free")],
        scorers={"correct": "exact"},
        repeats=1,
        max_cost="0.5",
    )
    assert record.gate().decision == "accepted"
    assert (record.project / "mine.py").read_bytes() == (tmp_path / "mine.py").read_bytes()


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"test_set": "questions.csv"}, "the test set is a str", "load_test_set"),
        ({"pass_mark": {"metric": "correct"}}, "the pass mark is a dict", "PassMark.from_dict"),
        ({"models": {"a": "mine"}}, "models is a dict", "Model("),
        ({"models": Model("a", "mine")}, "models is a Model", "give a list"),
        ({"models": ["a"]}, "one of the models is a str", "Model("),
        ({"runners": {"mine": Mine}}, "the class Mine, and no object", "Mine(...)"),
        ({"runners": {"mine": print}}, "has no run and no answer", "run(model, case)"),
        ({"scorers": {"correct": "exact", "judge": Grounded}}, "the class Grounded", "Grounded(...)"),
        ({"scorers": {"correct": "exact", "judge": Mine()}}, "has no score", "score(case, answer)"),
    ],
)
def test_argument_of_another_kind_is_refused_before_anything_is_made(
    cases: TestSet, tmp_path: Path, given: dict[str, Any], message: str, hint: str
) -> None:
    """A class in the place of its object would fail every trial, and look like a model that does."""
    arguments = {"runners": {"mine": Mine()}, "scorers": {"correct": "exact", "judge": Grounded()}}
    fixed = {"test_set": cases, "pass_mark": MARK, "models": [Model("right", "mine"), Model("wrong", "mine")]}
    with pytest.raises(UsageError) as caught:
        run_trial(folder=tmp_path / "project", **{**fixed, **arguments, **given})
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert not (tmp_path / "project").exists()


def test_runner_of_ones_own_is_handed_the_form_and_the_files_of_a_case(tmp_path: Path) -> None:
    """As the page says; else it would be asked another question than the case has."""
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    listed = [
        {
            "id": "q1",
            "input": "?",
            "reference": "4",
            "answer_format": "a number",
            "files": [{"name": "p", "path": "a.png"}],
        },
        {"id": "q2", "input": "?", "reference": {"n": 4}, "answer_schema": schema},
    ]
    (tmp_path / "q.json").write_text(json.dumps(listed))
    seen = {}

    class Seeing:
        def run(self, model: Any, case: Any) -> str:
            seen[case.id] = case
            return "4" if case.id == "q1" else '{"n": 4}'

    record = run_trial(
        load_test_set("q.json"),
        PassMark(floors={"same": 1}, choose=None),
        [Model("a", "mine")],
        runners={"mine": Seeing()},
        scorers={"same": "value"},
        repeats=1,
    )
    assert record.gate().decision == "accepted"
    assert seen["q1"].instructions == ("Give the final answer in this format: a number",)
    (file,) = seen["q1"].files
    assert (file.name, file.type, file.data) == ("p", "image/png", b"\x89PNG\r\n\x1a\n")
    assert "meets this JSON Schema" in seen["q2"].instructions[0]
    assert '"number"' in seen["q2"].instructions[0]


def test_unknown_cost_is_refused_under_max_cost(cases: TestSet) -> None:
    """As --max-cost: what nobody knows cannot be kept within it."""
    with pytest.raises(SpecError, match="price"):
        run_trial(
            cases,
            MARK,
            [Model("a", "mine"), Model("b", "mine")],
            runners={"mine": Mine()},
            scorers={"correct": "exact", "judge": Grounded()},
            max_cost=1,
        )
    with pytest.raises(UsageError, match="max_cost cannot be 'much'"):
        run_trial(
            cases,
            MARK,
            [Model("a", "mine"), Model("b", "mine")],
            runners={"mine": Mine()},
            scorers={"correct": "exact"},
            max_cost="much",
        )


def test_temporary_project_goes_with_its_record(cases: TestSet) -> None:
    """Unless it is saved; a second save only writes the file anew."""
    record = run_trial(
        cases,
        PassMark(floors={"exact": 1}, choose=None),
        [Model("right", "mine")],
        runners={"mine": Mine()},
        scorers=["exact"],
        repeats=1,
    )
    project = record.project
    assert project.exists()
    del record
    gc.collect()
    assert not project.exists()
