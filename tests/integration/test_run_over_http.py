# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the product against a server that misbehaves: what is tried again, what counts, and what is known."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "servers"), str(HERE.parent / "scenarios")]

from chat_server import ChatServer  # noqa: E402  tests/servers is no package
from server_thread import ServerThread  # noqa: E402
from small_project import SmallProject, plan_text  # noqa: E402

VECTORS = HERE.parent / "vectors" / "cases" / "http"
KEY = "planted-4f3a9c2e71d04b"


def serving(*arguments: Any, **options: Any) -> ServerThread:
    """Run the server in a thread of its own: the product needs the main thread for its signals."""
    return ServerThread(ChatServer(*arguments, **options))


def project(
    folder: Path, url: str, *, cases: int = 1, extra: str = "", model: str = "", evidence: str = ""
) -> SmallProject:
    """Write a project whose one model is behind the URL."""
    waits = "retry: {max_retries: 2, initial_delay_s: 0.001, max_delay_s: 0.002}"
    line = (
        f"  m: {{runner: openai-compatible, url: '{url}', model: m-small, secret: {{env: CHAT_KEY}}, {model or waits}}}"
    )
    made = SmallProject.write(folder, plan_text(line, repeats=1, mark="0.9", extra=extra, evidence=evidence))
    rows = "".join(f'q{n},"What is the capital of France, {n}?",Paris,geo\n' for n in range(cases))
    (made.root / "cases" / "q.csv").write_text("id,input,reference,tags\n" + rows, encoding="utf-8")
    return made


def ends(made: SmallProject) -> list[dict[str, Any]]:
    """Return the trial.end bodies of the last run, in order."""
    lines = (made.last / "record.jsonl").read_text(encoding="utf-8").splitlines()
    return [entry["body"] for entry in map(json.loads, lines) if entry["type"] == "trial.end"]


def steps_of(name: str) -> list[Mapping[str, Any]]:
    """Return the cases of a vector file."""
    value = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", ["http_retry_date", "http_200_error", "http_529", "http_html", "http_cut_body"])
def test_transient_failure_every_attempt_is_journaled_and_the_trial_passes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """429 with a date, an error inside a 200, 529, a reset, a gateway page, a cut body: tried again, then answered.

    Of a cut body an answer had begun to arrive: asked again, the cell is evidence only up to the mark's share.
    """
    monkeypatch.setenv("CHAT_KEY", KEY)
    case = steps_of(name)[0]
    with serving(case["steps"]) as server:
        made = project(tmp_path, server.url)
        assert made("run", "--yes").code == 0
        calls = len(server.requests)

    found = ends(made)
    assert len(found) == case["expect"]["attempts"] == calls
    assert [end["attempt"] for end in found] == list(range(1, calls + 1))
    assert all(end["outcome"] == "error" and end["retry"] for end in found[:-1])
    assert found[-1]["outcome"] == "passed"
    said = made("gate", "latest", "--model", "m")
    assert said.out.split()[0] == ("INCONCLUSIVE" if name == "http_cut_body" else "ACCEPTED")
    assert ("asked again" in said.out) == (name == "http_cut_body")
    assert made("verify", "latest").code == 0


@pytest.mark.parametrize("case", steps_of("http_400_forever"), ids=lambda case: str(case["steps"][0]["status"]))
def test_permanent_status_is_not_tried_again_and_a_5xx_not_for_ever(
    case: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rejected request is the model's own failure, a refused key or an outage leaves the cell unknown."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    status = case["steps"][0]["status"]
    with serving(case["steps"]) as server:
        made = project(tmp_path, server.url)
        code = made("run", "--yes").code
        calls = len(server.requests)

    own = status in (400, 413, 422)
    assert calls == (3 if status >= 500 else 1)
    assert code == (0 if own else 4)
    assert ends(made)[-1]["outcome"] == ("failed" if own else "error")
    assert ends(made)[-1].get("metrics", {}) == ({"correct": 0} if own else {})
    said = made("gate", "latest", "--model", "m")
    assert (said.code, said.out.split()[0]) == (1, "REJECTED" if own else "INCONCLUSIVE")


def test_answer_of_another_model_is_unknown_unless_the_plan_lists_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same reply decides nothing by itself, and everything once its author says that it is the same model."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    (case,) = steps_of("http_other_model")
    with serving(case["steps"]) as server:
        made = project(tmp_path / "a", server.url)
        assert made("run", "--yes").code == 4
        listed = project(tmp_path / "b", server.url, model="served: [m-large]")
        assert listed("run", "--yes").code == 0

    assert ends(made)[0]["cause"] == "wrong_model"
    assert made("gate", "latest", "--model", "m").out.startswith("INCONCLUSIVE")
    assert listed("gate", "latest", "--model", "m").out.startswith("ACCEPTED")


def test_truncated_answer_is_a_limit_and_missing_usage_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off at its own token limit: not passed, in the denominator, and paid for; no usage: no cost, never zero."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    priced = "pricing: {input: '1', output: '2'}"
    with serving(steps_of("http_length_empty")[0]["steps"]) as server:
        cut = project(tmp_path / "a", server.url, model=priced)
        assert cut("run", "--yes").code == 0
    with serving(steps_of("http_no_usage")[0]["steps"]) as server:
        unknown = project(tmp_path / "b", server.url, model=priced)
        assert unknown("run", "--yes").code == 0

    assert (ends(cut)[0]["outcome"], ends(cut)[0]["cause"]) == ("limit", "truncated")
    assert ends(cut)[0]["cost"]["nano"] > 0
    assert "usage" not in ends(unknown)[0]
    assert "cost" not in ends(unknown)[0]
    assert "unknown" in unknown("report", "latest").out


def test_twenty_trials_against_five_a_second_all_finish_within_three_calls_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R01: waits that grow and differ, and a Retry-After that is a floor, spread what a limit refuses."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    waits = "retry: {max_retries: 12, initial_delay_s: 0.5, max_delay_s: 8}"
    with serving(requests_per_second=5) as server:
        made = project(tmp_path, server.url, cases=20, model=waits, extra="run: {concurrency: 20}\n")
        assert made("run", "--yes").code == 0
        calls = len(server.requests)

    assert sum(end["outcome"] == "passed" for end in ends(made)) == 20
    assert calls < 60


def test_requests_at_once_never_exceed_the_plans_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server holds replies back until three are open, and never sees a fourth."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    with serving(gather=3) as server:
        made = project(tmp_path, server.url, cases=12, extra="run: {concurrency: 3}\n")
        assert made("run", "--yes").code == 0
        assert server.most_open == 3


def test_five_failures_in_a_row_stop_the_run_with_a_valid_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused key is not tried on every case: exit 4, the rest never asked, the record signed and open."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    with serving([{"status": 401, "json": {"error": {"message": "bad key"}}}]) as server:
        made = project(tmp_path, server.url, cases=40, extra="run: {concurrency: 1}\n")
        said = made("run", "--yes")
        calls = len(server.requests)

    assert (said.code, calls) == (4, 5)
    assert "stopped, since one trial after the other could not be measured" in said.err
    assert made("verify", "latest").code == 0
    assert made("gate", "latest", "--model", "m").out.startswith("INCONCLUSIVE")


def test_recorded_answers_replay_without_a_call_and_are_no_live_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live once, then with the server gone: the same outcomes, marked; inconclusive unless the mark takes any calls."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    with serving() as server:
        made = project(tmp_path, server.url, cases=3)
        assert made("run", "--yes", "--cache", "live").code == 0
        first = ends(made)
    monkeypatch.delenv("CHAT_KEY")

    assert made("run", "--yes", "--cache", "replay").code == 0

    again = ends(made)
    assert [end["outcome"] for end in first] == [end["outcome"] for end in again] == ["passed"] * 3
    assert all(call["replayed"] for end in again for call in end["calls"])
    said = made("gate", "latest", "--model", "m")
    assert (said.code, said.out.split()[0]) == (1, "INCONCLUSIVE")
    assert "replayed" in said.out
    assert made("verify", "latest").code == 0


def test_replay_of_what_was_not_recorded_is_an_unknown_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new question has no recorded answer: its cell is unknown, and nothing is called."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    with serving() as server:
        made = project(tmp_path, server.url, cases=2, evidence="{calls: any}")
        assert made("run", "--yes", "--cache", "live").code == 0
        calls = len(server.requests)
        with (made.root / "cases" / "q.csv").open("a", encoding="utf-8") as file:
            file.write("new,What is new?,Paris,geo\n")
        assert made("run", "--yes", "--cache", "replay").code == 4
        assert len(server.requests) == calls

    assert [end["cause"] for end in ends(made) if end["outcome"] == "error"] == ["replay_miss"]
    assert made("gate", "latest", "--model", "m").out.startswith("INCONCLUSIVE")


def test_planted_key_is_in_no_file_that_a_run_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key travels in a header, comes back in an answer and in an error text, and stands in no file."""
    monkeypatch.setenv("CHAT_KEY", KEY)
    steps: Sequence[Mapping[str, Any]] = [{"status": 500, "json": {"error": {"message": f"bad key {KEY}"}}}]
    with serving(answer=lambda body: f"Paris, and your key is {KEY}") as server:
        made = project(tmp_path / "a", server.url)
        assert made("run", "--yes", "--cache", "live").code == 0
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    with serving(steps) as server:
        failing = project(tmp_path / "b", server.url)
        assert failing("run", "--yes").code == 4
    made("report", "latest")

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
