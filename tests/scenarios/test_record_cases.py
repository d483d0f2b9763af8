# SPDX-License-Identifier: Apache-2.0
"""Class RECORD of the real-world cases (tests/vectors/cases/record), through the product's own commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from chat_server import ChatServer
from forger import Forger, edited, raw_lines
from server_thread import ServerThread
from small_project import ANSWERS_GOOD, SmallProject, plan_text

from trialplate.ledger import clock
from trialplate.record import canonical

VECTORS = Path(__file__).parents[1] / "vectors" / "cases" / "record"


def vector(name: str) -> Any:
    """Return a case's input."""
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------------------------- Z01: the end cut off


@pytest.mark.parametrize("log", ["ledger", "record"])
@pytest.mark.parametrize("dropped", [1, 2, 3])
def test_log_without_its_last_entries_is_found(finished: SmallProject, log: str, dropped: int) -> None:
    """Z01: the last entries of a log cannot be removed: the checkpoint is signed over their number and root."""
    path = finished.ledger / "entries.jsonl" if log == "ledger" else finished.last / "record.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in raw_lines(path)[:-dropped]))
    assert f"{log.upper()}-TRUNCATED" in finished.codes()
    assert finished("gate", "latest", "--model", "good").code == 3


def test_record_cut_to_a_third_with_its_checkpoint_signed_again_is_incomplete(
    finished: SmallProject, tmp_path: Path
) -> None:
    """Z01: cut by the owner of the key, with run.end forged to agree, the planned trials are still missing."""
    planned, kept = vector("ledger_trunc.json")["planned"], len(vector("ledger_trunc.json")["entries"])
    assert kept < planned
    forger = Forger(finished)
    close = forger.record[-1]
    forger.record = [*forger.record[: 1 + 2 * kept], close]
    forger.drop("decision")
    forger.sign()
    assert "MATRIX-INCOMPLETE" in finished.as_stranger(tmp_path).codes()


# ------------------------------------------------------------------------------------------------- Z04: planted secrets


SECRET: str = vector("planted_secrets.json")["secret"]


def hits(project: SmallProject) -> list[str]:
    """Return the files of project and configuration folder that hold the secret, plain or in a common encoding."""
    forms = {SECRET, quote(SECRET, safe=""), SECRET[::-1], SECRET.encode().hex(), json.dumps(SECRET)[1:-1]}
    places = [path for folder in (project.root, project.home) for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in places for form in forms if form.encode() in path.read_bytes()]


def test_secret_that_a_command_prints_stands_in_no_file(tmp_path: Path) -> None:
    """Z04: a program that echoes its key on both outputs, and fails over it, leaks it into nothing that is written."""
    models = (
        '  echo: {runner: command, shell: "printf \'Paris 4 blue 8 %s\' \\"$PLANTED_KEY\\"", secret: {env: PLANTED_KEY}}\n'
        '  fail: {runner: command, shell: "echo key $PLANTED_KEY >&2; exit 1", secret: {env: PLANTED_KEY}}'
    )
    project = SmallProject.write(tmp_path, plan_text(models, repeats=1))
    run_id = project.run(PLANTED_KEY=SECRET)
    shown = [project("report", PLANTED_KEY=SECRET), project("verify"), project("gate", run_id, "--model", "echo")]
    assert hits(project) == []
    assert not any(SECRET in said.out + said.err for said in shown)
    assert b"PLANTED_KEY" in (project.last / "plan.json").read_bytes(), "the name is public, the value is not"


def test_secret_of_a_server_stands_in_no_file_and_no_cassette(tmp_path: Path) -> None:
    """Z04: a key that was sent, and that the server repeats in its answer, its errors and its ids, is nowhere."""
    steps = [
        {"status": 200, "json": _completion(f"Paris, and your key is {SECRET}"), "headers": {"x-request-id": SECRET}},
        {"status": 400, "json": {"error": {"message": f"bad key {SECRET}"}}},
        {"status": 401, "body": f"Bearer {SECRET}"},
        {"status": 200, "json": _completion("8")},
    ]
    with ServerThread(ChatServer(steps)) as server:
        models = (
            f'  m: {{runner: openai-compatible, url: "{server.url}", model: m-small, secret: {{env: PLANTED_KEY}}, '
            "retry: {max_retries: 0}}"
        )
        project = SmallProject.write(tmp_path, plan_text(models, repeats=1) + "run: {concurrency: 1}\n")
        said = project("run", "--yes", "--cache", "live", PLANTED_KEY=SECRET)
        assert any(SECRET in value for seen in server.requests for value in seen.headers.values()), "it was sent"
    assert said.code in (0, 4)
    assert list((project.root / "cassettes").glob("*.jsonl"))
    assert hits(project) == []
    assert SECRET not in said.out + said.err + project("report").out


def _completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "c-1",
        "object": "chat.completion",
        "model": "m-small",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


def test_secret_changes_no_digest(tmp_path: Path) -> None:
    """Z04: another value of the same variable is the same plan: its digest is no oracle for guessing the key."""
    models = '  m: {runner: command, shell: "echo Paris 4 blue 8", secret: {env: PLANTED_KEY}}'
    project = SmallProject.write(tmp_path, plan_text(models, repeats=1))
    project.run(PLANTED_KEY=SECRET)
    project.run(PLANTED_KEY="another value entirely")
    first, second = (canonical.digest((run / "plan.json").read_bytes()) for run in project.runs)
    assert first == second


@pytest.mark.parametrize(
    "model",
    [
        f'{{runner: openai-compatible, url: "http://user:{SECRET}@127.0.0.1:9/v1", model: m}}',
        f'{{runner: openai-compatible, url: "http://127.0.0.1:9/v1?api_key={SECRET}", model: m}}',
        f'{{runner: openai-compatible, url: "http://127.0.0.1:9/v1", model: m, secret: {SECRET}}}',
        f'{{runner: openai-compatible, url: "http://127.0.0.1:9/v1", model: m, secret: {{env: "{SECRET}"}}}}',
        f'{{runner: openai-compatible, url: "http://127.0.0.1:9/v1", model: m, headers: {{Authorization: "{SECRET}"}}}}',
        f'{{runner: openai-compatible, url: "http://127.0.0.1:9/v1", model: m, api_key: {SECRET}}}',
    ],
    ids=["user and password", "key in the query", "secret as text", "no variable's name", "header", "api_key"],
)
def test_plan_that_spells_a_secret_out_is_refused_without_repeating_it(tmp_path: Path, model: str) -> None:
    """Z04: a key written into the plan is exit 2 before anything is written, and the error does not repeat it."""
    project = SmallProject.write(tmp_path, plan_text(f"  m: {model}", repeats=1))
    said = project("run", "--yes")
    assert said.code == 2
    assert SECRET not in said.out + said.err
    assert sorted(path.name for path in project.root.iterdir()) == ["cases", "trialplate.yaml"]


def test_signing_key_stands_in_no_file_of_the_project(finished: SmallProject) -> None:
    """The private half of the ledger's key, and the secret of its salts, are in the configuration folder alone."""
    key_file = next((finished.home / "keys").glob("*.key"))
    parts = [line.rpartition("+")[2] for line in key_file.read_text().splitlines()]
    files = [path for path in finished.root.rglob("*") if path.is_file()]
    assert len(parts) == 2
    assert [path for path in files for part in parts if part.encode() in path.read_bytes()] == []
    assert key_file.stat().st_mode & 0o077 == 0


# ---------------------------------------------------------------------------------------------------- Z06: bad Unicode


@pytest.fixture
def surrogate(tmp_path: Path) -> Iterator[SmallProject]:
    """A project whose model answers one question with half a surrogate pair, and the others well."""
    bad = vector("surrogate_answer.json")["content"]

    def answer(body: Any) -> str:
        return str(bad) if "France" in json.dumps(body) else "4, blue, 8"

    with ServerThread(ChatServer(answer=answer)) as server:
        models = f'  m: {{runner: openai-compatible, url: "{server.url}", model: m-small}}'
        project = SmallProject.write(tmp_path, plan_text(models, repeats=1))
        project.run("--cache", "live")
    yield project


def test_lone_surrogate_in_one_answer_loses_nothing(surrogate: SmallProject) -> None:
    """Z06: the trial is kept, the others are untouched, everything verifies."""
    assert surrogate.codes() == set()
    counts = Forger(surrogate).record[-1]["body"]["counts"]
    assert (counts["passed"], counts["failed"], counts["error"]) == (3, 1, 0)


def test_lone_surrogate_is_stored_reversibly_and_shown_as_an_escape(surrogate: SmallProject) -> None:
    """Z06: the answer can be had back exactly, and a terminal is shown an escape."""
    bad = vector("surrogate_answer.json")["content"]
    values = [canonical.decode(line)[1] for line in raw_lines(surrogate.last / "content.jsonl")]
    assert bad in [canonical.text_in(v) for v in values if isinstance(v, dict) and list(v) == ["ascii_json"]]
    assert "half \\ud835 pair" in surrogate("report").out


def test_lone_surrogate_is_replayed_as_it_was(surrogate: SmallProject) -> None:
    """Z06: the cassette gives the same answer again."""
    surrogate.run("--cache", "replay")
    assert surrogate.codes() == set()
    counts = Forger(surrogate).record[-1]["body"]["counts"]
    assert (counts["passed"], counts["failed"], counts["replayed"]) == (3, 1, 4)


def test_bytes_that_are_no_text_are_kept(tmp_path: Path) -> None:
    """Z06: a program that prints bytes which are not UTF-8 gives an answer like any other."""
    models = "  m: {runner: command, shell: \"printf 'Paris 4 blue 8 \\\\355\\\\240\\\\265 \\\\377 \\\\000'\"}"
    project = SmallProject.write(tmp_path, plan_text(models, repeats=1))
    project.run()
    assert project.codes() == set()
    assert project("gate", "latest").code == 0


# ---------------------------------------------------------------------------------------------------------- Z09: clocks


class Clock(datetime):
    """A wall clock that a test turns."""

    readings: Iterator[datetime]

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        """Return the next reading."""
        return next(cls.readings).astimezone(tz)


STAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z")


def times_of(project: SmallProject) -> list[list[str]]:
    """Return the times of the ledger's and the record's entries."""
    return [[e["time"] for e in entries] for entries in (Forger(project).ledger, Forger(project).record)]


@pytest.mark.parametrize("back", [timedelta(hours=1), timedelta(days=400)])
def test_clock_that_goes_back_in_mid_run_gives_an_order_that_holds(
    fresh: SmallProject, monkeypatch: pytest.MonkeyPatch, back: timedelta
) -> None:
    """Z09: times never go back within a log, durations are not negative, and everything verifies."""

    def readings() -> Iterator[datetime]:
        now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        for number in range(100_000):
            yield now + timedelta(milliseconds=number) - (back if number > 12 else timedelta())

    Clock.readings = readings()
    monkeypatch.setattr(clock, "datetime", Clock)
    fresh.run()
    assert fresh.codes() == set()
    for times in times_of(fresh):
        assert times == sorted(times)
    ends = [e["body"] for e in Forger(fresh).record if e["type"] == "trial.end"]
    assert all(body.get("wall_ms", 0) >= 0 and body.get("latency_ms", 0) >= 0 for body in ends)


def test_run_after_the_clock_went_back_still_appends_and_verifies(
    finished: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z09: a later run whose clock is behind is later in the ledger all the same: order comes from numbers."""
    start = datetime(2001, 1, 1, tzinfo=UTC)
    Clock.readings = (start + timedelta(milliseconds=n) for n in range(100_000))
    monkeypatch.setattr(clock, "datetime", Clock)
    run_id = finished.run()
    assert run_id.startswith("2001")
    assert finished.codes() == set()
    said = finished("gate", "latest", "--model", "bad", "--json")
    assert said.json["decision"]["run_id"] == run_id, "latest is the ledger's last, not the highest time"
    times = times_of(finished)[0]
    assert times == sorted(times)


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati"])
def test_times_are_utc_whatever_the_zone(fresh: SmallProject, zone: str) -> None:
    """Z09: stamps are RFC 3339 in UTC with Z, wherever the machine stands."""
    before = datetime.now(UTC) - timedelta(seconds=1)
    fresh.run(TZ=zone)
    after = datetime.now(timezone.utc) + timedelta(seconds=1)  # noqa: UP017  the other spelling of the same zone
    for times in times_of(fresh):
        assert all(STAMP.fullmatch(time) for time in times)
        assert all(before <= datetime.fromisoformat(time) <= after for time in times)
    assert STAMP.search(fresh("ledger", "log", TZ=zone).out)


# ------------------------------------------------------------------------------------------------- Z11: saved otherwise


def crlf(path: Path) -> None:
    """Save a file as a checkout with other line ends would."""
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def indented(path: Path) -> None:
    """Save a file as an editor that formats JSON would."""
    lines = [json.dumps(json.loads(line), indent=2, ensure_ascii=False) for line in path.read_bytes().splitlines()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("how", "file"),
    [
        *((crlf, name) for name in ("record.jsonl", "content.jsonl", "entries.jsonl")),  # plan.json has no line end
        *((indented, name) for name in ("plan.json", "record.jsonl", "content.jsonl", "entries.jsonl")),
    ],
)
def test_file_saved_by_another_tool_is_named_and_not_called_forged(
    finished: SmallProject, how: Callable[[Path], None], file: str
) -> None:
    """Z11, decided the strict way: stored bytes are what is signed, and another byte form is a finding that names it.

    The case wants such files to verify. DESIGN section 4 hashes and signs the stored bytes, so that nothing depends on
    how a reader canonicalises; `.gitattributes` keeps git from changing them. The finding must say what happened.
    """
    path = finished.ledger / file if file == "entries.jsonl" else finished.last / file
    how(path)
    codes = finished.codes()
    assert codes & {"STRICT-NONCANONICAL", "STRICT-SYNTAX"}
    said = finished("verify", finished.last.name)
    assert said.code == 3
    assert path.name in said.out
    assert finished("gate", "latest", "--model", "good").code in (2, 3)


def test_digit_changed_in_a_record_names_the_file(finished: SmallProject) -> None:
    """Z11: one changed digit is found, and the record it stands in is named."""
    record = finished.last / "record.jsonl"
    lines = raw_lines(record)
    index = next(n for n, line in enumerate(lines) if b'"correct":0' in line)
    changed = edited(lines, index, lambda line: line.replace(b'"correct":0', b'"correct":1'))
    record.write_bytes(b"".join(line + b"\n" for line in changed))
    said = finished("verify", finished.last.name)
    assert said.code == 3
    assert "RECORD-ROOT" in said.out
    assert f"runs/{finished.last.name}/record.jsonl" in said.out


def test_digit_changed_so_that_a_line_contradicts_itself_names_the_trial(finished: SmallProject) -> None:
    """Z11: a metric that no longer fits its verdict is named with configuration, case and repeat."""
    record = finished.last / "record.jsonl"
    lines = raw_lines(record)
    index = next(n for n, line in enumerate(lines) if b'"correct":0' in line and b'"good","q2",1' in line)
    changed = edited(lines, index, lambda line: line.replace(b'"correct":0', b'"correct":1'))
    record.write_bytes(b"".join(line + b"\n" for line in changed))
    report = finished("verify", "--json", finished.last.name).json[0]
    told = " ".join(f"{item['where']} {item['message']}" for item in report["findings"])
    assert f"record.jsonl:{index + 1}" in told
    assert "good q2 repeat 1" in told


# ----------------------------------------------------------------------------------------- Z12: numbers and their source


def test_numbers_of_the_report_follow_from_the_record(finished: SmallProject) -> None:
    """Z12: means and counts in the report are those that anybody counts from the lines of the record."""
    ends = [e["body"] for e in Forger(finished).record if e["type"] == "trial.end"]
    table = finished("report").out.partition("\nconfiguration ")[2].partition("\n\n")[0]
    rows = {row.split()[0]: row for row in table.splitlines() if row.startswith(("good ", "bad "))}
    for name in ("good", "bad"):
        mine = [body for body in ends if body["trial"][0] == name]
        mean = sum(body["metrics"]["correct"] for body in mine) / len(mine)
        assert f"{mean:.4f}" in rows[name]
        passed = sum(body["outcome"] == "passed" for body in mine)
        assert f" {passed} " in rows[name]


def test_order_of_trials_is_that_of_the_plan_whatever_ends_first(tmp_path: Path) -> None:
    """Z12: a label is never read off a position: each line names its configuration, case and repeat itself."""
    project = SmallProject.write(
        tmp_path,
        plan_text(
            f"  z: {{runner: stand-in, answers: {ANSWERS_GOOD}}}\n  a: {{runner: stand-in, answers: {ANSWERS_GOOD}}}"
        ),
    )
    project.run("--jobs", "8")
    trials = [tuple(e["body"]["trial"]) for e in Forger(project).record if e["type"] == "trial.end"]
    assert len(set(trials)) == len(trials) == 16
    assert project.codes() == set()
