# SPDX-License-Identifier: Apache-2.0
"""Budgets and refusals against a real server on this machine, through the front door."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "servers"), str(HERE.parent / "scenarios")]

from chat_server import completion  # noqa: E402  tests/servers is no package
from test_run_over_http import KEY, ends, project, serving, steps_of  # noqa: E402

FORTY_CENTS = 'settings: {max_tokens: 1000}, pricing: {input: 0, output: "400"}, retry: {max_retries: 0}'


def answered(output: int | None) -> dict[str, Any]:
    """Return a reply that used so many output tokens, or does not say."""
    reply = completion("Paris")
    if output is None:
        del reply["usage"]
    else:
        reply["usage"]["completion_tokens"] = output
    return {"status": 200, "json": reply, "delay_ms": 20}


def table(made: Any) -> Counter[str]:
    """Return the outcomes of the CSV report, after looking that each trial has one row and its own cost."""
    rows = list(csv.DictReader(io.StringIO(made("report", "--format", "csv").out)))
    assert len({(row["configuration"], row["case"], row["repeat"]) for row in rows}) == len(rows) == 20
    assert all((row["cost"], row["correct"]) == ("0.300000000", "1") for row in rows if row["outcome"] == "passed")
    assert all((row["attempts"], row["correct"]) == ("0", "") for row in rows if row["outcome"] == "skipped")
    return Counter(row["outcome"] for row in rows)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_KEY", KEY)


def test_budget_holds_with_eight_at_once_and_resume_goes_on(tmp_path: Path) -> None:
    """K07: three calls of twenty; then the rest, once the whole run may cost more; the record verifies both times."""
    with serving([answered(750)]) as server:
        made = project(tmp_path, server.url, cases=20, model=FORTY_CENTS)
        said = made("run", "--yes", "--jobs", "8", "--max-cost", "1.00")
        assert said.code == 4
        assert len(server.requests) == 3
        assert "17 of m" in said.err
        assert "resume" in said.err
        assert "--max-cost" in said.err
        assert "budget: 0.900000 of 1.000000 count as spent\n" in said.err
        assert sum(end.get("cost", {}).get("nano", 0) for end in ends(made)) == 900_000_000
        assert [end["cause"] for end in ends(made) if end["outcome"] == "skipped"] == ["budget"] * 17
        assert made("verify", "latest").code == 0
        assert made("gate", "latest", "--model", "m").code == 1
        assert table(made) == {"passed": 3, "skipped": 17}

        again = made("resume", "latest", "--max-cost", "1.30")
        assert (again.code, len(server.requests)) == (4, 4)
        assert table(made) == {"passed": 4, "skipped": 16}
        assert made("resume", "latest", "--max-cost", "50").code == 0
        assert len(server.requests) == 20
        assert table(made) == {"passed": 20}
    assert made("verify", "latest").code == 0
    assert made("gate", "latest", "--model", "m").code == 0


def test_answer_without_usage_counts_with_the_most_that_it_could_cost(tmp_path: Path) -> None:
    """H11: the cost is unknown and not zero; of a budget of 1.00 two such answers leave nothing for a third."""
    with serving([answered(None)]) as server:
        made = project(tmp_path, server.url, cases=5, model=FORTY_CENTS)
        said = made("run", "--yes", "--max-cost", "1")
        assert (said.code, len(server.requests)) == (4, 2)
    assert "count as spent, 0.800000 of it the most that attempts of unknown cost could come to" in said.err
    assert all("cost" not in end for end in ends(made))


def test_budget_with_an_unpriced_model_is_refused_before_any_call(tmp_path: Path) -> None:
    """K05: exit 2, naming the model; without a budget it runs, and the cost is unknown."""
    with serving([answered(10)]) as server:
        made = project(tmp_path, server.url)
        said = made("run", "--yes", "--max-cost", "0.02")
        assert (said.code, len(server.requests)) == (2, 0)
        assert '"m"' in said.err
        assert "unknown" in said.err
        assert made("run", "--yes").code == 0
    assert "cost" not in ends(made)[0]


@pytest.mark.parametrize(
    "options",
    [("--max-cost", "much"), ("--max-cost", "-1"), ("--max-cost", "1,5"), ("--max-time", "soon"), ("--max-time", "0"),
     ("--max-cost", ""), ("--max-cost", "1e3"), ("--max-time", "5d"), ("--max-time", "99999999h")],
    ids="=".join,
)  # fmt: skip
def test_amount_or_time_that_is_none_is_a_usage_error(options: tuple[str, str], tmp_path: Path) -> None:
    """Nothing is guessed and nothing asked."""
    with serving([answered(10)]) as server:
        made = project(tmp_path, server.url, model=FORTY_CENTS)
        said = made("run", "--yes", *options)
    assert (said.code, len(server.requests)) == (2, 0)
    assert options[0] in said.err


def test_estimate_above_the_budget_says_how_many_fit(tmp_path: Path) -> None:
    """Before anything is spent it is said how many trials are sure to fit; so it is with --yes."""
    with serving([answered(750)]) as server:
        made = project(tmp_path, server.url, cases=5, model=FORTY_CENTS)
        said = made("run", "--max-cost", "1")
        assert said.code == 0
        assert "budget: 1.0000 USD" in said.out
        assert "2 of 5 trials are sure to fit" in said.out
        assert "2 of 5 trials are sure to fit" in made("run", "--yes", "--max-cost", "1").err


def test_request_larger_than_a_minutes_tokens_is_refused_with_the_numbers(tmp_path: Path) -> None:
    """R02: it would never be its turn; `validate` and `run` say so, and nobody waits."""
    limit = "limits: {tokens_per_minute: 100}, settings: {max_tokens: 400}"
    with serving([answered(10)]) as server:
        made = project(tmp_path, server.url, model=limit)
        for command in (("validate",), ("run", "--yes")):
            said = made(*command)
            assert said.code == 2
            assert "> 100" in said.err
            assert "trialplate.yaml:" in said.err
    assert not server.requests


def test_retry_after_as_a_date_is_waited_for_whatever_the_back_off_is(tmp_path: Path) -> None:
    """H01: the date is three seconds ahead; the plan's own longest wait of two milliseconds does not shorten that."""
    case = steps_of("http_retry_date")[0]
    with serving(case["steps"]) as server:
        made = project(tmp_path, server.url)
        assert made("run", "--yes").code == 0
        assert len(server.requests) == case["expect"]["attempts"]
    lines = [json.loads(line) for line in (made.last / "record.jsonl").read_text(encoding="utf-8").splitlines()]
    times = [line["time"][17:23] for line in lines if line["type"] in ("trial.start", "trial.end")]
    assert (float(times[2]) - float(times[1])) % 60 >= 2  # a date has no fractions of the second it was made in


def test_server_of_five_a_second_answers_twenty_at_once(tmp_path: Path) -> None:
    """R01: all finish; no instant has more than the limit and a small burst; fewer than three calls a trial."""
    case = json.loads((HERE.parent / "vectors" / "cases" / "http" / "http_limit_5rps.json").read_text(encoding="utf-8"))
    with serving(requests_per_second=case["server"]["requests_per_second"]) as server:
        made = project(tmp_path, server.url, cases=case["load"]["trials"], model="retry: {max_retries: 4}")
        said = made("run", "--yes", "--jobs", str(case["load"]["concurrency"]))
        assert said.code == 0, said.err
        assert len(server.requests) < case["expect"]["max_calls"]
    found = ends(made)
    assert sum(end["outcome"] == "passed" for end in found) == case["expect"]["succeeded"]
    assert len(found) == len(server.requests)


def test_provider_and_run_with_one_place_each_finish(tmp_path: Path) -> None:
    """R06: one at once for the run, one for the provider: the trials finish one after the other."""
    extra = "providers: {PLACE: {concurrency: 1}}\nrun: {concurrency: 1}"
    with serving([answered(10)]) as server:
        place = server.url.split("/")[2]
        made = project(tmp_path, server.url, cases=3, extra=extra.replace("PLACE", f"'{place}'"))
        said = made("run", "--yes")
        assert said.code == 0, said.err
        assert (len(server.requests), server.most_open) == (3, 1)


def test_provider_that_no_model_is_behind_is_refused_with_the_nearest(tmp_path: Path) -> None:
    """A limit that would not be applied must not look like one."""
    made = project(tmp_path, "http://127.0.0.1:9/v1", extra="providers: {'127.0.0.1:8': {concurrency: 1}}")
    said = made("validate")
    assert said.code == 2
    assert "127.0.0.1:9" in said.err


def test_recorded_answers_cost_nothing_of_a_budget_and_wait_for_no_limit(tmp_path: Path) -> None:
    """Under `auto` a replay is free, whatever is left: only what has to be asked finds no money."""
    with serving([answered(750)]) as server:
        limits = FORTY_CENTS + ", limits: {requests_per_minute: 60000}"
        made = project(tmp_path, server.url, cases=5, model=limits)
        assert made("run", "--yes", "--cache", "auto").code == 0
        plan = made.root / "trialplate.yaml"
        slow = plan.read_text().replace("requests_per_minute: 60000", "requests_per_minute: 1")
        plan.write_text(slow.replace("repeats: 1", "repeats: 2"))
        said = made("run", "--yes", "--cache", "auto", "--max-cost", "0.10", "--max-time", "60")
        assert len(server.requests) == 5
    assert said.code == 4
    assert [end["cause"] for end in ends(made) if end["outcome"] == "skipped"] == ["budget"] * 5
    assert sum(end["calls"][0].get("replayed", False) for end in ends(made) if end["outcome"] == "passed") == 5
    assert made("verify", "latest").code == 0


def test_run_that_its_time_ended_says_that_a_resume_has_as_much_again(tmp_path: Path) -> None:
    """A time too short for more than a reply stands in the plan: a plain resume would get no further than the run."""
    with serving([answered(750)]) as server:
        made = project(tmp_path, server.url, cases=20, model=FORTY_CENTS)
        said = made("run", "--yes", "--jobs", "1", "--max-time", "0.001")
        assert said.code == 4
        assert "within as much time again; --max-time gives another" in said.err
        assert made("resume", "latest", "--jobs", "1").code == 4
        assert len(server.requests) <= 2
        assert made("resume", "latest", "--max-time", "600").code == 0
    assert made("verify", "latest").code == 0
