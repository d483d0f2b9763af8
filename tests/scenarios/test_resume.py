# SPDX-License-Identifier: Apache-2.0
"""Resume: what is unknown is asked, what is decided is kept, and everything else is refused in a sentence."""

from __future__ import annotations

import json
import multiprocessing
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Step
from forger import Forger
from server_thread import ServerThread
from small_project import SmallProject, plan_text

from trialplate.ledger.record_writer import record_lock
from trialplate.scorers.base import ScorerError
from trialplate.scorers.text_match import ContainsScorer

DOWN: Step = {"status": 503, "json": {"error": {"message": "down"}}}
WRONG_KEY: Step = {"status": 401, "json": {"error": {"message": "who are you"}}}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A server that answers everything rightly unless it is given steps."""
    with ServerThread(ChatServer(answer=lambda body: "Paris, 4, blue, 8")) as made:
        yield made


@pytest.fixture
def project(server: ChatServer, tmp_path: Path) -> SmallProject:
    """Four cases once each, asked of the server without retries, one at a time."""
    return SmallProject.write(tmp_path, one_by_one(server, "pricing: free"))


def one_by_one(server: ChatServer, extra: str) -> str:
    """Return a plan that asks the server without retries, one question at a time."""
    fields = f'runner: openai-compatible, url: "{server.url}", model: m-small, retry: {{max_retries: 0}}, {extra}'
    return plan_text(f"  good: {{{fields}}}", repeats=1, extra="run: {concurrency: 1}\n")


def lines(project: SmallProject) -> list[dict[str, Any]]:
    """Return the entries of the newest record."""
    return [json.loads(line) for line in (project.last / "record.jsonl").read_bytes().splitlines()]


def ends(project: SmallProject) -> list[dict[str, Any]]:
    """Return the bodies of its trial.end lines."""
    return [line["body"] for line in lines(project) if line["type"] == "trial.end"]


def asked(server: ChatServer) -> Counter[str]:
    """Return how often each question reached the server."""
    return Counter(seen.body["messages"][-1]["content"][:9] for seen in server.requests)


def counts(project: SmallProject) -> dict[str, int]:
    """Return the counts of the record's last line, which must be run.close."""
    assert lines(project)[-1]["type"] == "run.close"
    found: dict[str, int] = lines(project)[-1]["body"]["counts"]
    return found


def files(project: SmallProject) -> dict[str, bytes]:
    """Return every file of the project but locks, with its bytes."""
    there = (path for path in project.root.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    return {str(path.relative_to(project.root)): path.read_bytes() for path in there}


# ------------------------------------------------------------------------------------------------ what is asked again


def test_resume_asks_exactly_what_is_not_decided(project: SmallProject, server: ChatServer) -> None:
    """Errors and missing trials are asked, decided ones are not, each trial counts once, and it decides (case S04)."""
    server.steps = [WRONG_KEY]
    project.run(expect=4)
    assert counts(project)["error"] == 4
    server.steps, server.requests[:] = [], []
    said = project("resume", "latest")
    assert said.code == 0, said.err
    assert set(asked(server).values()) == {1}
    assert len(server.requests) == 4
    assert counts(project) == {
        "planned": 4,
        "passed": 4,
        "failed": 0,
        "limit": 0,
        "needs_input": 0,
        "error": 0,
        "skipped": 0,
        "absent": 0,
        "attempts": 8,
        "replayed": 0,
        "reasked": 0,
    }
    assert [(end["attempt"], end["outcome"]) for end in ends(project)] == [(1, "error")] * 4 + [(2, "passed")] * 4
    assert project.codes() == set()
    assert project.types()[-3:] == ["run.resume", "run.progress", "run.end"]
    assert project("gate", "latest").code == 0


def test_resume_keeps_a_wrong_answer(project: SmallProject, server: ChatServer) -> None:
    """A decided cell is kept whatever it says: only the unknown one is asked."""
    wrong = {"json": {"model": "m-small", "choices": [{"message": {"content": "no idea"}, "finish_reason": "stop"}]}}
    server.steps = [wrong, wrong, WRONG_KEY, wrong]
    project.run(expect=4)
    server.steps, server.requests[:] = [], []
    assert project("resume", "latest").code == 0
    assert list(asked(server)) == ["What colo"]
    told = counts(project)
    assert (told["passed"], told["failed"], told["error"]) == (1, 3, 0)
    assert project("gate", "latest").code == 1


def test_resume_of_a_finished_run_calls_nobody_and_changes_no_byte(project: SmallProject, server: ChatServer) -> None:
    """No call, exit 0, everything as it was (case S05)."""
    project.run()
    before, server.requests[:] = files(project), []
    said = project("resume", "latest")
    assert said.code == 0
    assert "nothing was asked" in said.err
    assert project("resume", "latest", "--json").json["reason"] == "nothing_to_do"
    assert server.requests == []
    assert files(project) == before


def test_run_that_stopped_over_an_outage_goes_on_when_it_is_over(server: ChatServer, tmp_path: Path) -> None:
    """Five errors in a row ended it; the resume has all its attempts anew, and its decision stands."""
    cases = "id,input,reference\n" + "".join(f"q{n},Question {n},8\n" for n in range(12))
    project = SmallProject.write(tmp_path, one_by_one(server, "pricing: free"), cases)
    server.steps = [DOWN]
    project.run(expect=4)
    assert (counts(project)["error"], counts(project)["absent"]) == (5, 7)
    assert project("gate", "latest", "--json").json["decision"]["decision"] == "inconclusive"
    server.steps = []
    assert project("resume", "latest").code == 0
    assert counts(project)["passed"] == 12
    assert project("gate", "latest").code == 0
    assert project.codes() == set()


def test_trials_that_used_up_their_attempts_stay_unknown_and_the_resume_says_so(
    project: SmallProject, server: ChatServer
) -> None:
    """Twenty attempts over all resumes and no more: asking for ever would be choosing."""
    server.steps = [DOWN]
    project.run(expect=4)
    for _ in range(19):
        assert project("resume", "latest").code == 4
    assert {end["attempt"] for end in ends(project)} == set(range(1, 21))
    before, server.requests[:] = files(project), []
    said = project("resume", "latest")
    assert said.code == 4
    assert "had all their attempts" in said.err
    assert "do: " in said.err
    assert server.requests == []
    assert files(project) == before
    assert project.codes() == set()


def test_pilot_is_resumed_as_the_pilot_it_is(project: SmallProject, server: ChatServer) -> None:
    """Only the trials of its narrowing are asked, and it still decides nothing."""
    server.steps = [WRONG_KEY]
    project.run("--limit", "2", expect=4)
    server.steps = []
    assert project("resume", "latest").code == 0
    assert counts(project)["planned"] == 2
    assert project("gate", "latest", "--json").json["decision"]["reasons"] == ["pilot"]


def test_cost_of_a_resumed_run_is_that_of_all_its_sessions(server: ChatServer, tmp_path: Path) -> None:
    """Money spent before the interrupt stays spent: old and new are one sum (case S04)."""
    project = SmallProject.write(tmp_path, one_by_one(server, 'pricing: {input: "1000", output: "1000"}'))
    used = {"prompt_tokens": 5, "completion_tokens": 5}
    cut = {"json": {"model": "m-other", "choices": [{"message": {"content": "8"}}], "usage": used}}
    server.steps = [cut]
    project.run(expect=4)
    server.steps = []
    assert project("resume", "latest").code == 0
    cost = sum(end["cost"]["nano"] for end in ends(project))
    assert cost > 4 * 10_000_000
    table = next(line for line in project("report").out.splitlines() if line.startswith("good "))
    assert f"{cost / 1e9:.6f} USD" in table


# ------------------------------------------------------------------------------------------------- scored once more


@pytest.fixture
def unscored(project: SmallProject, monkeypatch: pytest.MonkeyPatch) -> SmallProject:
    """A run whose every answer came, and whose scorer failed on each."""

    async def fail(self: object, *arguments: object) -> None:
        raise ScorerError("out of order")

    with monkeypatch.context() as patched:
        patched.setattr(ContainsScorer, "score", fail)
        project.run(expect=4)
    return project


def test_answer_that_could_not_be_scored_is_scored_again_without_a_call(
    unscored: SmallProject, server: ChatServer
) -> None:
    """The answer is there: nobody is asked for another, nothing is paid, and nothing counts as re-asked."""
    server.requests.clear()
    said = unscored("resume", "latest")
    assert said.code == 0, said.err
    assert "4 of them scored again without asking the model" in said.err
    assert server.requests == []
    first, again = ends(unscored)[0], ends(unscored)[4]
    assert again["answer_of"] == 1
    assert again["private"]["answer"] == first["private"]["answer"]
    assert "calls" not in again
    assert (again["usage"], again["cost"]["nano"]) == ({"input": 0, "output": 0}, 0)
    assert counts(unscored)["reasked"] == 0
    assert unscored.codes() == set()
    assert unscored("gate", "latest").code == 0
    shown = unscored("show", "latest", str(again["trial"][1]))
    assert "answer: that of attempt 1, scored again without asking the model" in shown.out
    assert "V21 PASS" in unscored("verify", "latest", "--rescore").out
    assert unscored("report", "--format", "csv").out.count("\n") == 1 + counts(unscored)["planned"]


def test_answer_is_scored_as_often_as_the_scorer_fails(
    unscored: SmallProject, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scorer that fails twice is tried a third time, on the same answer."""
    server.requests.clear()

    async def fail(self: object, *arguments: object) -> None:
        raise ScorerError("still out of order")

    with monkeypatch.context() as patched:
        patched.setattr(ContainsScorer, "score", fail)
        assert unscored("resume", "latest").code == 4
    assert unscored("resume", "latest").code == 0
    assert server.requests == []
    assert [end.get("answer_of") for end in ends(unscored)] == [None] * 4 + [1] * 4 + [2] * 4
    assert unscored.codes() == set()


def test_replayed_answer_stays_replayed_when_it_is_scored_again(
    server: ChatServer, project: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scoring again does not make live evidence of a recording."""
    project.run("--cache", "live")

    async def fail(self: object, *arguments: object) -> None:
        raise ScorerError("out of order")

    with monkeypatch.context() as patched:
        patched.setattr(ContainsScorer, "score", fail)
        project.run("--cache", "replay", expect=4)
    assert project("resume", "latest").code == 0
    assert counts(project)["replayed"] == 4
    assert project.codes() == set()
    assert project("gate", "latest", "--json").json["decision"]["reasons"] == ["calls"]


@pytest.mark.parametrize(
    "forge",
    [
        lambda end, first: end.update(answer_of=7),
        lambda end, first: end["private"].update(answer=first["private"]["error"]),
        lambda end, first: end.update(calls=first["calls"]),
    ],
    ids=["another attempt", "another answer", "with a call"],
)
def test_forged_second_scoring_is_found(unscored: SmallProject, forge: Callable[[Any, Any], object]) -> None:
    """answer_of names an attempt that left this very answer unscored, or the record does not hold."""
    unscored("resume", "latest")
    forger = Forger(unscored)
    bodies = [entry["body"] for entry in forger.record if entry["type"] == "trial.end"]
    forge(bodies[4], bodies[0])
    forger.sign(keep=["run.resume"])
    shutil.rmtree(unscored.home / "locks", ignore_errors=True)
    assert "ATTEMPT-ORDER" in unscored.as_stranger(unscored.root.parent).codes()


# --------------------------------------------------------------------------------------------- what the crash left


def cut_to(project: SmallProject, signed: int, whole: int, torn: bytes = b"") -> None:
    """Leave of the newest run what a crash leaves: so many signed lines, so many complete ones, and half a line."""
    forger = Forger(project)
    kept = (project.last / "record.jsonl").read_bytes().splitlines(keepends=True)
    forger.drop("run.end")
    for entry in forger.ledger:
        if entry["type"] == "run.progress":
            entry["body"]["size"] = min(entry["body"]["size"], signed)
    forger.record = forger.record[:signed]
    forger.sign(keep=())
    (project.last / "record.jsonl").write_bytes(b"".join(kept[:whole]) + torn)
    (project.home / "known.json").unlink()


@pytest.mark.parametrize("torn", [b"", b'{"body":{"att', b"\xff\x00"], ids=["whole", "half", "binary"])
def test_lines_beyond_the_checkpoint_are_taken_over_and_half_a_line_is_set_aside(
    project: SmallProject, server: ChatServer, torn: bytes
) -> None:
    """Paid answers are kept and counted in run.reopen; the fragment is kept apart and told (case S01)."""
    project.run()
    cut_to(project, signed=3, whole=7, torn=torn)
    server.requests.clear()
    said = project("resume", "latest")
    assert said.code == 0, said.err
    assert "4 unsigned lines taken over" in said.err
    assert ("set aside" in said.err) == bool(torn)
    assert len(server.requests) == 1
    reopened = next(line for line in lines(project) if line["type"] == "run.reopen")
    assert (reopened["seq"], reopened["body"]["adopted"], reopened["body"]["reason"]) == (7, 4, "killed")
    assert project.codes() == set()
    assert project("gate", "latest").code == 0
    assert [path.read_bytes() for path in project.last.glob("set-aside-*")] == ([torn] if torn else [])


def test_more_asked_again_than_the_mark_allows_is_told_at_the_end(project: SmallProject, server: ChatServer) -> None:
    """A run that died with an attempt under way: no gate will accept it, and nobody has to ask one to learn that."""
    project.run()
    cut_to(project, signed=3, whole=4)
    said = project("resume", "latest")
    assert said.code == 0, said.err
    assert re.search("^re-asked: 1 of [0-9]+ trials of [a-z]+: an attempt was lost or cut off$", said.err, re.MULTILINE)
    assert "the pass mark allows a share of 0.02: a gate on it is inconclusive at best; `trialplate waive" in said.err
    gate = project("gate", "latest", "--no-append")
    assert gate.code == 1
    assert "too many cells were asked again after an attempt was lost, cut off, or had begun to be answered" in gate.out


def test_line_beyond_the_checkpoint_whose_answer_was_lost_is_not_taken_over(
    project: SmallProject, server: ChatServer
) -> None:
    """After a power cut content may have lost more than the record: what opens nothing is set aside and asked again."""
    project.run()
    cut_to(project, signed=3, whole=7)
    content = (project.last / "content.jsonl").read_bytes().splitlines(keepends=True)
    (project.last / "content.jsonl").write_bytes(b"".join(content[:-4]))
    server.requests.clear()
    said = project("resume", "latest")
    assert said.code == 0, said.err
    assert len(server.requests) == 2
    assert counts(project)["reasked"] == 1
    assert project.codes() == set()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw.replace(b'"outcome":"passed"', b'"outcome":"failed"'),
        lambda raw: raw.replace(b'"seq":5', b'"seq":6'),
        lambda raw: raw[:-40] + b"\n",
        lambda raw: b"garbage\n" + raw,
        lambda raw: raw + b'{"body":{},"seq":7,"time":"2030-01-01T00:00:00.000Z","type":"x","v":1}\n',
    ],
    ids=["verdict", "number", "torn in the middle", "garbage", "type"],
)
def test_unsigned_line_that_is_no_trace_of_a_crash_is_refused_and_nothing_is_written(
    project: SmallProject, server: ChatServer, spoil: Callable[[bytes], bytes]
) -> None:
    """What breaks a rule is not signed: afterwards it could not be undone (case S01, a torn line in the middle)."""
    project.run()
    cut_to(project, signed=3, whole=7)
    path = project.last / "record.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:3]) + spoil(b"".join(whole[3:])))
    before, server.requests[:] = files(project), []
    said = project("resume", "latest")
    assert said.code == 3, said.err
    assert server.requests == []
    assert files(project) == before
    assert "do: " in said.err


@pytest.mark.parametrize("left", [b"", b'{"body":{"environ'], ids=["nothing", "half a line"])
def test_run_that_died_before_its_record_was_signed_is_begun_anew_in_its_folder(
    project: SmallProject, server: ChatServer, left: bytes
) -> None:
    """No call was made before: what is there is set aside and never appended to (case S07)."""
    project.run()
    forger = Forger(project)
    forger.drop("run.end")
    forger.drop("run.progress")
    forger.sign()
    (project.home / "known.json").unlink()
    (project.last / "checkpoint").unlink()
    (project.last / "record.jsonl").write_bytes(left)
    assert "RUN-UNFINISHED" in project.notes()
    said = project("resume", "latest")
    assert said.code == 0, said.err
    assert lines(project)[0]["type"] == "run.open"
    assert counts(project)["passed"] == 4
    assert project.codes() == set()
    assert project("gate", "latest").code == 0


# --------------------------------------------------------------------------------------------------- refused in words


@pytest.fixture
def half(project: SmallProject, server: ChatServer) -> SmallProject:
    """A run with two decided trials and two unknown ones; the server is well again."""
    server.steps = [{"delay_ms": 0, "json": _reply("Paris")}, {"json": _reply("4")}, WRONG_KEY, WRONG_KEY]
    project.run(expect=4)
    server.steps = []
    server.requests.clear()
    return project


def _reply(text: str) -> dict[str, Any]:
    return {"model": "m-small", "choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {}}


def refused(project: SmallProject, server: ChatServer, code: int, words: str, name: str = "latest") -> None:
    """Require an exit code, a sentence, one thing to do, and that nothing was written or asked."""
    before = files(project)
    said = project("resume", name)
    assert said.code == code, said.err
    assert words in said.err
    assert "do: " in said.err
    assert "Traceback" not in said.err
    assert files(project) == before
    assert server.requests == []


def test_author_files_that_changed_meanwhile_change_nothing(half: SmallProject, server: ChatServer) -> None:
    """The plan is plan.json: neither another prompt, mark and model, nor their absence, reaches a resumed run."""
    (half.root / "trialplate.yaml").write_text("trialplate: 1\nname: other\n", encoding="utf-8")
    shutil.rmtree(half.root / "cases")
    assert half("resume", "latest").code == 0
    assert sorted(asked(server)) == ["How many ", "What colo"]
    assert counts(half)["passed"] == 4
    assert half.codes() == set()


def test_program_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    """The rest of the answers would be another program's."""
    models = "  bot: {runner: command, argv: [sh, bot.sh]}"
    project = SmallProject.write(tmp_path, plan_text(models, repeats=1))
    (project.root / "bot.sh").write_text("printf 'Paris 4 blue 8'\n", encoding="utf-8")
    project.run()
    forger = Forger(project)
    forger.drop("run.end")
    forger.sign()
    (project.home / "known.json").unlink()
    (project.root / "bot.sh").write_text("printf 'I have learnt the answers'\n", encoding="utf-8")
    before = files(project)
    said = project("resume", "latest")
    assert said.code == 2
    assert "bot.sh" in said.err
    assert "is not as it was when the run began" in said.err
    assert files(project) == before
    (project.root / "bot.sh").write_bytes(b"printf 'Paris 4 blue 8'\r\n")  # only its line ends differ
    assert project("resume", "latest").code == 0


def test_waived_run_is_not_resumed(half: SmallProject, server: ChatServer) -> None:
    """Its attempt does not count any more, so nothing is spent on it."""
    assert half("waive", "latest", "--reason", "the key was wrong").code == 0
    refused(half, server, 2, "was waived")


def test_run_whose_prompts_are_not_here_is_not_resumed(half: SmallProject, server: ChatServer) -> None:
    """A copy without content.jsonl can be verified, and not asked again."""
    (half.last / "content.jsonl").unlink()
    refused(half, server, 2, "the prompts of this run are not here")


def test_content_that_lost_a_prompt_is_refused(half: SmallProject, server: ChatServer) -> None:
    """A prompt that nothing opens cannot be asked."""
    path = half.last / "content.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    refused(half, server, 3, "nothing opens 1 text of the plan")


@pytest.mark.parametrize("file", ["record.jsonl", "plan.json", "checkpoint"])
def test_damaged_run_is_refused_before_anything_is_asked(half: SmallProject, server: ChatServer, file: str) -> None:
    """Evidence that does not hold is not added to."""
    raw = bytearray((half.last / file).read_bytes())
    raw[len(raw) // 2] ^= 1
    (half.last / file).write_bytes(bytes(raw))
    refused(half, server, 3, "")


def test_unknown_run_is_wrong_usage(half: SmallProject, server: ChatServer) -> None:
    """A mistyped name asks nobody."""
    refused(half, server, 2, "no run", "20990101")


def test_run_that_died_before_it_was_in_the_ledger_is_told_to_begin_anew(
    half: SmallProject, server: ChatServer
) -> None:
    """Its folder is there, nothing was asked, and no ledger elsewhere could know it."""
    begun = half.last
    folder = begun.with_name("20991130T175714960Z-5fa1dd65")
    folder.mkdir()
    for file in ("plan.json", "content.jsonl"):
        shutil.copy(begun / file, folder)
    refused(half, server, 2, "nothing was asked: run the plan again", folder.name)


def test_run_of_another_ledger_is_refused(half: SmallProject, server: ChatServer) -> None:
    """A folder that this ledger never started is not gone on with."""
    shutil.copytree(half.last, half.root / "runs" / "20260101T000000000Z-00000000")
    refused(half, server, 2, "has no run.start", "20260101T000000000Z-00000000")


def test_two_resumes_at_once_are_one(half: SmallProject, server: ChatServer) -> None:
    """While another process holds the record, a second resume says so and does nothing."""
    with record_lock(half.last):
        process = multiprocessing.get_context("fork").Process(
            target=refused, args=(half, server, 4, "another run or resume is writing this record")
        )
        process.start()
        process.join(60)
    assert process.exitcode == 0
    assert half("resume", "latest").code == 0
    assert half.codes() == set()
    assert counts(half)["absent"] == 0


def test_clock_that_was_set_back_is_no_matter(half: SmallProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are never earlier than the one before; a resume an hour before its run still verifies (case R05)."""

    class Earlier(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(UTC) - timedelta(hours=1)

    monkeypatch.setattr("trialplate.ledger.clock.datetime", Earlier)
    assert half("resume", "latest").code == 0
    times = [line["time"] for line in lines(half)]
    assert times == sorted(times)
    assert half.codes() == set()


def test_decision_before_the_resume_is_still_derived_as_it_was(half: SmallProject) -> None:
    """An inconclusive gate on half a run stays true of the record as it then stood."""
    assert half("gate", "latest").code == 1
    assert half("resume", "latest").code == 0
    assert half("gate", "latest").code == 0
    assert half.codes() == set()
    assert half.types().count("decision") == 2


# ----------------------------------------------------------------------------------------------------------- forged


def test_record_reopened_without_the_ledgers_word_is_found(half: SmallProject, tmp_path: Path) -> None:
    """A run that goes on says so in the ledger first."""
    half("resume", "latest")
    forger = Forger(half)
    forger.drop("run.resume")
    forger.sign()
    assert "ENTRY-ORDER" in half.as_stranger(tmp_path).codes()


@pytest.mark.parametrize("adopted", [1, 2, 50])
def test_lines_said_to_be_taken_over_that_were_signed_are_found(
    half: SmallProject, tmp_path: Path, adopted: int
) -> None:
    """The number in run.reopen is that of the lines between the ledger's size and itself."""
    half("resume", "latest")
    forger = Forger(half)
    for entry in forger.record:
        if entry["type"] == "run.reopen":
            entry["body"]["adopted"] = adopted
    forger.sign(keep=["run.resume", "run.progress"])
    found = half.as_stranger(tmp_path).codes()
    assert "ENTRY-ORDER" in found
