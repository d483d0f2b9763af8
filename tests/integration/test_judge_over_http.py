# SPDX-License-Identifier: Apache-2.0
"""Whole runs with a judge and an embedder behind the candidate's own server: what is asked, kept, paid and resumed."""

from __future__ import annotations

import csv
import io
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "servers"), str(HERE.parent / "scenarios")]

from chat_server import ChatServer, completion  # noqa: E402  tests/servers is no package
from server_thread import ServerThread  # noqa: E402
from small_project import SmallProject  # noqa: E402
from test_run_over_http import KEY, ends, serving, steps_of  # noqa: E402

ONE_SLOT = json.loads((HERE.parent / "vectors/cases/scorers/nested_slots.json").read_text(encoding="utf-8"))
PLAN = """\
trialplate: 1
name: judged
test_sets: [{{file: cases/q.csv}}]
models:
  m: {{runner: openai-compatible, url: "{url}", model: m-small, secret: {{env: CHAT_KEY}}, pricing: {{input: "1", output: "1"}}{model}}}
helpers:
  grader: {{runner: openai-compatible, url: "{url}", model: j-large, secret: {{env: CHAT_KEY}}, retry: {{max_retries: 1, initial_delay_s: 0.001, max_delay_s: 0.002}}{helper}}}
{helpers}repeats: 1
scorers:
  judge: {{type: judge, model: grader, metrics: [correct, fully_correct, grounded]{judge}}}
{scorers}pass_mark:
  rules:
    - {{id: correct, at_least: 0.9, of: correct, basis: estimate}}
{extra}"""
PRICED = ', pricing: {input: "5", output: "25"}'
GOOD = json.dumps({"verdict": "correct", "grounded": True, "reason": "it says so"})
Says = Callable[[Any], str]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_KEY", KEY)


def project(folder: Path, url: str, *, cases: int = 4, **parts: str) -> SmallProject:
    """Write a project whose model and judge are behind one URL."""
    names = ("model", "helper", "helpers", "judge", "scorers", "extra")
    filled = dict.fromkeys(names, "") | {"helper": PRICED} | parts
    made = SmallProject.write(folder, PLAN.format(url=url, **filled))
    rows = "".join(f"q{n},What is the capital of country {n}?,Paris\n" for n in range(cases))
    (made.root / "cases" / "q.csv").write_text("id,input,reference\n" + rows, encoding="utf-8")
    return made


def judged(reply: str | Says) -> Says:
    """Answer Paris, and as the judge what the test says."""
    return lambda body: (reply if isinstance(reply, str) else reply(body)) if body["model"] == "j-large" else "Paris"


def asked(server: ChatServer, model: str = "j-large") -> list[Any]:
    """Return the bodies of what one model was asked."""
    return [seen.body for seen in server.requests if seen.body["model"] == model]


def down(steps: list[dict[str, Any]]) -> Callable[[Any], Any]:
    """Let the judge fail, and the candidate answer."""
    return lambda body: steps[0] if body["model"] == "j-large" else None


def opened(made: SmallProject) -> dict[str, Any]:
    """Return what content.jsonl opens, by commitment."""
    from trialplate.verify.content import openings

    return dict(openings(made.last, "runs/x"))


def test_judge_gives_three_metrics_and_its_money_is_told_apart(tmp_path: Path) -> None:
    """The candidate's cost is its own; the judge's is in record, summary and every report, and verifies."""
    with serving(answer=judged(GOOD)) as server:
        made = project(tmp_path, server.url)
        plan = made("run", "--json").json
        said = made("run", "--yes")
        assert said.code == 0
        assert len(server.requests) == 8

    (helper,) = plan["helpers"]
    assert (helper["helper"], helper["trials"]) == ("grader", 4)
    assert helper["output_tokens"] == 4 * 2 * 4096
    assert helper["input_tokens"] > 4 * 2 * 4096, "the longest answer of the candidate, read twice"
    found = ends(made)
    assert all(end["metrics"] == {"correct": 1, "fully_correct": 1, "grounded": 1} for end in found)
    spent = sum(end["helper_cost"]["nano"] for end in found)
    for end in found:
        usage = end["helper_usage"]
        assert end["helper_cost"]["nano"] == 5000 * usage["input"] + 25_000 * usage["output"]
        assert end["cost"]["nano"] == 1000 * (end["usage"]["input"] + end["usage"]["output"])
        assert len(end["helper_calls"]) == len(end["private"]["replies"]["judge"]) == 1
    assert f"helpers cost {spent / 1e9:.4f} USD in all" in said.err
    report = made("report", "latest", "--format", "json").json
    assert report["configurations"][0]["helper_cost"]["nano"] == spent
    assert report["configurations"][0]["cost"]["nano"] == sum(end["cost"]["nano"] for end in found)
    rows = list(csv.DictReader(io.StringIO(made("report", "latest", "--format", "csv").out)))
    assert [row["helper_cost"] for row in rows] == [f"{end['helper_cost']['nano'] / 1e9:.9f}" for end in found]
    assert "helpers cost" in made("report", "latest").out
    assert "| helpers |" in made("report", "latest", "--format", "markdown").out
    assert made("verify", "latest").code == 0
    shown = made("show", "latest", "q1").out
    assert "reply 1 to judge" in shown
    assert "helpers: 1 call" in shown


def test_record_verifies_again_from_the_replies_and_a_changed_metric_is_found(tmp_path: Path) -> None:
    """V21 reads what the judge replied; nobody is asked, and the server is gone."""
    with serving(answer=judged(GOOD)) as server:
        made = project(tmp_path, server.url)
        assert made("run", "--yes").code == 0
    said = made("verify", "latest", "--rescore")
    assert (said.code, "V21 PASS" in said.out, "4 answers scored again, as recorded" in said.out) == (0, True, True)
    assert GOOD in opened(made).values()


@pytest.mark.parametrize("name", ["http_judge_404", "http_judge_down"])
def test_judge_that_is_down_leaves_cells_unknown_with_its_own_words(name: str, tmp_path: Path) -> None:
    """J14, J09: never a score; the answer stays, the message is kept, and the resumed run asks the judge alone."""
    (case,) = steps_of(name)
    words = case["steps"][0]["json"]["error"]["message"]
    with serving(answer=judged(GOOD), instead=down(case["steps"])) as server:
        made = project(tmp_path, server.url)
        said = made("run", "--yes")
        assert said.code == 4
        assert words in next(line for line in said.err.splitlines() if line.startswith("unknown: m: 4 scorer"))
        tries = 2 if name == "http_judge_down" else 1
        assert len(asked(server)) == 4 * tries
        port = server.port
    found = ends(made)
    assert {(end["outcome"], end["cause"]) for end in found} == {("error", "scorer")}
    assert all("metrics" not in end and set(end["unknown"].values()) == {"scorer"} for end in found)
    assert all(len(end["helper_calls"]) == tries for end in found)
    free = None if name == "http_judge_down" else {"currency": "USD", "nano": 0}  # refused as it stood, or who knows
    assert all(end.get("helper_cost") == free for end in found)
    assert any(words in str(value) and "grader" in str(value) for value in opened(made).values())
    gate = made("gate", "latest", "--model", "m")
    assert (gate.code, gate.out.split()[0]) == (1, "INCONCLUSIVE")
    assert made("verify", "latest").code == 0

    server = ChatServer(answer=judged(GOOD))
    with ServerThread(server, port):
        assert made("resume", "latest").code == 0
        assert (len(asked(server)), len(asked(server, "m-small"))) == (4, 0)
    assert made("gate", "latest", "--model", "m").out.startswith("ACCEPTED")
    assert made("verify", "latest", "--rescore").code == 0


def test_survivor_of_three_judges_does_not_decide_alone(tmp_path: Path) -> None:
    """J11: each judge gives a metric of its own; where two are down, the trial is unknown, whatever the third says."""
    with serving(
        answer=lambda body: GOOD if body["model"].startswith("j-") else "Paris",
        instead=lambda body: (
            {"status": 404, "json": {"error": {"message": "no"}}} if body["model"] in ("j-2", "j-3") else None
        ),
    ) as server:
        made = project(tmp_path, server.url)
        plan = yaml.safe_load((made.root / "trialplate.yaml").read_text())
        (grader,), (scorer,) = plan["helpers"].values(), plan["scorers"].values()
        plan["helpers"] = {f"g{n}": {**grader, "model": f"j-{n}"} for n in (1, 2, 3)}
        plain = {key: value for key, value in scorer.items() if key not in ("metric", "metrics", "pass_when")}
        plan["scorers"] = {f"judge{n}": {**plain, "model": f"g{n}"} for n in (1, 2, 3)}
        plan["pass_mark"] = {"rules": [{"id": "one", "at_least": 0.5, "of": "trial_pass_rate", "basis": "estimate"}]}
        made.set_plan(yaml.safe_dump(plan))
        assert made("run", "--yes").code == 4
    for end in ends(made):
        assert (end["outcome"], end["cause"], end["metrics"]) == ("error", "scorer", {"judge1": 1})
        assert set(end["unknown"]) == {"judge2", "judge3"}
    gate = made("gate", "latest", "--model", "m")
    assert (gate.code, gate.out.split()[0]) == (1, "INCONCLUSIVE")


def test_two_scorers_that_ask_the_same_have_a_recording_each(tmp_path: Path) -> None:
    """And two models that answer the same: what a live run scored, its replay scores."""
    said = itertools.cycle(["correct", "incorrect", "partial"])

    def verdict(body: Any) -> str:
        return json.dumps({"verdict": next(said), "grounded": True})

    with serving(answer=judged(verdict)) as server:
        made = project(tmp_path, server.url, cases=3)
        plan = yaml.safe_load((made.root / "trialplate.yaml").read_text())
        plan["models"]["n"] = plan["models"]["m"]
        plan["scorers"]["twin"] = {"type": "judge", "model": "grader"}
        plan["pass_mark"]["evidence"] = {"calls": "any"}
        made.set_plan(yaml.safe_dump(plan))
        made("run", "--yes", "--cache", "live")
        live = {tuple(end["trial"]): end["metrics"] for end in ends(made)}
    made("run", "--yes", "--cache", "replay")
    assert {tuple(end["trial"]): end["metrics"] for end in ends(made)} == live
    assert len({json.dumps(item) for item in live.values()}) > 1


def test_judge_has_two_replies_for_ever(tmp_path: Path) -> None:
    """Both are kept and named; a resumed run reads them again, and asks no third time whatever the judge would say."""
    with serving(answer=judged("NO")) as server:
        made = project(tmp_path, server.url, cases=2)
        said = made("run", "--yes")
        assert said.code == 4
        assert "trialplate resume" not in said.err, "nobody would be asked"
        assert "--reason TEXT   # its judge has no further reply to any" in said.err
        assert len(asked(server)) == 4
        prompts = [body["messages"][-1]["content"] for body in asked(server)]
        again = [prompt for prompt in prompts if "could not be read" in prompt]
        assert len(again) == 2
        assert all(any(prompt.startswith(first) for first in prompts if first not in again) for prompt in again)
        port = server.port
    first = [end["private"]["replies"]["judge"] for end in ends(made)]
    assert [len(replies) for replies in first] == [2, 2]
    assert any("judge's two replies to this answer" in str(value) for value in opened(made).values())

    server = ChatServer(answer=judged(GOOD))
    with ServerThread(server, port):
        said = made("resume", "latest")
        assert said.code == 4
        assert "trialplate resume" not in said.err
        assert server.requests == []
    later = ends(made)[2:]
    assert [end["private"]["replies"]["judge"] for end in later] == first
    assert all("helper_calls" not in end and end["answer_of"] == 1 for end in later)
    report = made("report", "latest").out
    assert "complete: 2 trials in 4 attempts, 2 of them unknown" in report
    assert report.count("judge's two replies") == 2, "once for each trial, with what the scorer said and no other"
    assert made("verify", "latest").code == 0


def test_first_reply_that_can_be_read_is_the_verdict_after_a_resume_too(tmp_path: Path) -> None:
    """One unreadable reply and then an outage: the resumed run asks once more, with what was wrong."""
    said: dict[str, Any] = {"count": 0}

    def instead(body: Any) -> Any:
        if body["model"] != "j-large":
            return None
        said["count"] += 1
        return {"status": 200, "json": completion("NO", model="j-large")} if said["count"] == 1 else {"status": 500}

    with serving(answer=judged(GOOD), instead=instead) as server:
        made = project(tmp_path, server.url, cases=1)
        assert made("run", "--yes").code == 4
        port = server.port
    assert len(ends(made)[0]["private"]["replies"]["judge"]) == 1
    server = ChatServer(answer=judged(json.dumps({"verdict": "partial", "grounded": True})))
    with ServerThread(server, port):
        assert made("resume", "latest").code == 0
        (body,) = asked(server)
        assert "could not be read" in body["messages"][-1]["content"]
    last = ends(made)[-1]
    assert last["metrics"] == {"correct": 0.5, "fully_correct": 0, "grounded": 1}
    assert (last["outcome"], len(last["private"]["replies"]["judge"]), len(last["helper_calls"])) == ("failed", 2, 1)
    assert made("verify", "latest", "--rescore").code == 0


def test_refusal_and_a_call_of_a_tool_are_replies_that_hold_no_verdict(tmp_path: Path) -> None:
    """J02: content null with a refusal, and with a call of a tool that nobody offered; never the text None."""
    call = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    refused, calling = completion("", model="j-large"), completion("", model="j-large")
    refused["choices"][0]["message"] |= {"content": None, "refusal": "I cannot help with that."}
    calling["choices"][0] |= {"finish_reason": "tool_calls"}
    calling["choices"][0]["message"] |= {"content": None, "tool_calls": call}
    turns = iter([refused, calling])
    with serving(
        answer=judged(GOOD), instead=lambda b: None if b["model"] == "m-small" else {"json": next(turns)}
    ) as server:
        made = project(tmp_path, server.url, cases=1)
        assert made("run", "--yes").code == 4
        assert len(asked(server)) == 2
    (end,) = ends(made)
    held = opened(made)
    kept = [held[item] for item in end["private"]["replies"]["judge"]]
    assert kept == [
        {"text": "I cannot help with that.", "unfit": "it is a refusal"},
        {"text": "", "unfit": "it calls a tool"},
    ]
    assert "None" not in str(held[end["private"]["reason"]])


def test_judge_is_not_asked_about_an_empty_answer(tmp_path: Path) -> None:
    """J16: nothing was answered, so the candidate has failed, and the judge costs nothing."""
    with serving(answer=lambda body: GOOD if body["model"] == "j-large" else "  ") as server:
        made = project(tmp_path, server.url, cases=2)
        assert made("run", "--yes").code == 0
        assert asked(server) == []
    assert {(end["outcome"], end["cause"]) for end in ends(made)} == {("failed", "empty")}
    assert all(end["metrics"]["correct"] == 0 and "helper_calls" not in end for end in ends(made))


def test_another_model_than_the_judge_that_was_asked_gives_no_score(tmp_path: Path) -> None:
    """A router that swaps the judge changes the measure."""
    other = {"json": completion(GOOD, model="j-tiny")}
    with serving(answer=judged(GOOD), instead=lambda body: other if body["model"] == "j-large" else None) as server:
        made = project(tmp_path, server.url, cases=1)
        assert made("run", "--yes").code == 4
    assert ends(made)[0]["cause"] == "scorer"
    assert any("asked j-large, answered by j-tiny" in str(value) for value in opened(made).values())


def test_candidate_and_judge_share_a_provider_that_takes_one_request_at_a_time(tmp_path: Path) -> None:
    """R06: nobody waits for a place that itself holds, whether trials are run one by one or all at once."""
    for jobs in (1, 3):
        with serving(answer=judged(GOOD)) as server:
            host = server.url.split("/")[2]
            extra = f'providers: {{"{host}": {{concurrency: {ONE_SLOT["provider_limit"]}}}}}\n'
            made = project(tmp_path / str(jobs), server.url, cases=ONE_SLOT["trials"], extra=extra)
            assert made("run", "--yes", "--jobs", str(jobs)).code == 0
            assert (len(server.requests), server.most_open) == (2 * ONE_SLOT["trials"], 1)


def test_budget_counts_what_the_judge_takes(tmp_path: Path) -> None:
    """The judge's bound is reserved with the candidate's; without its price there is nothing to reserve."""
    limits = ", settings: {max_tokens: 10}"
    with serving(answer=judged(GOOD)) as server:
        made = project(tmp_path / "a", server.url, model=limits, helper=f"{PRICED}{limits}")
        plan = made("run", "--json").json
        bound = sum(item["cost"]["nano"] for item in (*plan["estimate"], *plan["helpers"])) // 4
        assert made("run", "--yes", "--jobs", "4", "--max-cost", f"{(bound + 1000) / 1e9:.9f}").code == 4
        first, *others = ends(made)
        assert first["cost"]["nano"] + first["helper_cost"]["nano"] <= bound
        assert [end["outcome"] for end in others] == ["skipped"] * 3
        assert len(asked(server)) == 1
        assert made("resume", "latest", "--max-cost", "1").code == 0
        assert len(asked(server)) == 4
        unpriced = project(tmp_path / "b", server.url, helper="")
        said = unpriced("run", "--yes", "--max-cost", "1")
    assert (said.code, 'the price of "grader" is unknown' in said.err) == (2, True)


def test_cassette_replays_model_and_judge_and_says_so(tmp_path: Path) -> None:
    """Each has its own file; a replayed judge is no live evidence, and nobody is called."""
    with serving(answer=judged(GOOD)) as server:
        made = project(tmp_path, server.url)
        assert made("run", "--yes", "--cache", "live").code == 0
        assert made("gate", "latest", "--model", "m").out.startswith("ACCEPTED")
    assert sorted(file.name for file in (made.root / "cassettes").iterdir() if file.suffix == ".jsonl") == [
        "grader.jsonl",
        "m.jsonl",
    ]
    assert made("run", "--yes", "--cache", "replay", CHAT_KEY="").code == 0
    assert all(call["replayed"] for end in ends(made) for call in (*end["calls"], *end["helper_calls"]))
    assert made("verify", "latest").code == 0
    (made.root / "cassettes" / "grader.jsonl").write_bytes(b"")
    assert made("run", "--yes", "--cache", "replay", CHAT_KEY="").code == 4
    assert {end["cause"] for end in ends(made)} == {"scorer"}
    assert any("grader.jsonl holds no answer" in str(value) for value in opened(made).values())


def test_replayed_judge_beside_a_live_answer_is_no_live_evidence(tmp_path: Path) -> None:
    """`auto` with the judge's cassette alone: every cell counts as replayed."""
    with serving(answer=judged(GOOD)) as server:
        made = project(tmp_path, server.url)
        assert made("run", "--yes", "--cache", "live").code == 0
        (made.root / "cassettes" / "m.jsonl").unlink()
        before = len(asked(server))
        assert made("run", "--yes", "--cache", "auto").code == 0
        assert len(asked(server)) == before
    assert [end["calls"][0].get("replayed", False) for end in ends(made)] == [False] * 4
    closed = json.loads((made.last / "record.jsonl").read_text(encoding="utf-8").splitlines()[-1])["body"]
    assert closed["counts"]["replayed"] == 4
    assert made("verify", "latest").code == 0


def test_embedder_measures_how_near_an_answer_is(tmp_path: Path) -> None:
    """One call for all references and the answer, priced by its input alone; re-scored it is not, and that is said."""
    near = {"Paris": (0.6, 0.8)}
    helpers = (
        '  emb: {{runner: openai-compatible, endpoint: embeddings, url: "{url}", model: e-small, secret: {{env: CHAT_KEY}}, '
        'pricing: {{input: "1000", output: "0"}}, settings: {{dimensions: 2}}}}\n'
    )
    scorers = "  near: {type: similarity, model: emb, threshold: 0.9}\n"
    with serving(answer=judged(GOOD), embed=lambda text: near.get(text, (1.0, 0.0))) as server:
        made = project(tmp_path, server.url, cases=1, helpers=helpers.format(url=server.url), scorers=scorers)
        assert made("run", "--yes").code == 0
        (body,) = asked(server, "e-small")
        assert body == {"model": "e-small", "input": ["Paris", "Paris"], "dimensions": 2}
    (end,) = ends(made)
    assert end["metrics"]["near"] == 1
    assert len(end["helper_calls"]) == 2
    assert made("verify", "latest").code == 0
    said = made("verify", "latest", "--rescore", "--run-code")
    assert "near (similarity) was not run: it would ask its helper" in said.out


def test_embedder_whose_vectors_cannot_be_compared_leaves_the_cell_unknown(tmp_path: Path) -> None:
    """Vectors of different length are no measurement."""
    helpers = '  emb: {{runner: openai-compatible, endpoint: embeddings, url: "{url}", model: e-small}}\n'
    scorers = "  near: {type: similarity, model: emb, threshold: 0.9}\n"
    with serving(answer=judged(GOOD), embed=lambda text: [1.0] * len(text)) as server:
        made = project(tmp_path, server.url, cases=1, helpers=helpers.format(url=server.url), scorers=scorers)
        (made.root / "cases" / "q.csv").write_text("id,input,reference\nq,?,Lyon\n", encoding="utf-8")
        assert made("run", "--yes").code == 4
    (end,) = ends(made)
    assert end["unknown"] == {"near": "scorer"}
    assert end["metrics"]["correct"] == 1
    assert "helper_cost" not in end, "the embedder has no price, so the sum is unknown"


def test_trials_whose_judge_has_said_its_last_word_do_not_end_a_resumed_run(tmp_path: Path) -> None:
    """Six answers stay without a verdict for good; a resumed run gets beyond them to those that nobody asked yet."""
    with serving(answer=judged("NO")) as server:
        made = project(tmp_path, server.url, cases=8)
        assert made("run", "--yes", "--jobs", "1").code == 4
        begun, port = len(ends(made)), server.port
    assert begun == 5, "it stops where one answer after the other cannot be measured"

    server = ChatServer(answer=judged(GOOD))
    with ServerThread(server, port):
        assert made("resume", "latest", "--jobs", "1").code == 4
        assert (len(asked(server)), len(asked(server, "m-small"))) == (3, 3)
    closed = json.loads((made.last / "record.jsonl").read_text(encoding="utf-8").splitlines()[-1])["body"]
    assert (closed["reason"], closed["counts"]["passed"], closed["counts"]["error"]) == ("complete", 3, 5)
    assert made("verify", "latest", "--rescore").code == 0


@pytest.mark.parametrize("stated", [True, False], ids=["stated", "longer than guessed"])
def test_no_call_of_a_judge_begins_that_could_go_beyond_the_budget(tmp_path: Path, stated: bool) -> None:
    """Calls that were reset, and are billed all the same, and answers longer than any bound: the books stay within it."""
    limits = ", settings: {max_tokens: 20}"
    prices = {"m-small": (1000, 1000), "j-large": (5000, 25_000)}
    billed = {"nano": 0, "judge": 0}

    def instead(body: Any) -> Any:
        model = body["model"]
        judge = model == "j-large"
        said, out = (GOOD, 20) if judge else ("Paris " * (15 if stated else 5000), 20 if stated else 4096)
        sent = len(json.dumps(body["messages"], ensure_ascii=False).encode()) // 4
        billed["nano"] += sent * prices[model][0] + out * prices[model][1]
        billed["judge"] += judge
        if judge and billed["judge"] % 7:
            return {"close": "rst"}
        reply = completion(said, model=model)
        return {
            "json": {**reply, "usage": {"prompt_tokens": sent, "completion_tokens": out, "total_tokens": sent + out}}
        }

    with serving(instead=instead) as server:
        made = project(tmp_path, server.url, model=limits if stated else "", helper=f"{PRICED}{limits}")
        made.set_plan(made.root.joinpath("trialplate.yaml").read_text(encoding="utf-8").replace("ies: 1", "ies: 12"))
        plan = made("run", "--json").json
        limit = sum(item["cost"]["nano"] for item in (*plan["estimate"], *plan["helpers"])) // 3
        for command in (["run", "--yes"], ["resume", "latest"], ["resume", "latest"]):
            assert made(*command, "--jobs", "2", "--max-cost", f"{limit / 1e9:.9f}").code == 4
    assert billed["judge"]
    assert billed["nano"] <= limit
    assert any("the budget has no room for the call" in str(value) for value in opened(made).values())
    assert made("verify", "latest").code == 0


def test_judge_without_its_key_leaves_neither_key_nor_ledger(tmp_path: Path) -> None:
    """What the first verdict would need is looked at before anything is made, and named with its place."""
    made = project(tmp_path, "http://127.0.0.1:9/v1")
    path = made.root / "trialplate.yaml"
    text = path.read_text(encoding="utf-8").split("helpers:")
    made.set_plan(text[0] + "helpers:" + text[1].replace("CHAT_KEY", "JUDGE_KEY"))
    said = made("run", "--yes")
    assert (said.code, "JUDGE_KEY" in said.err, "trialplate.yaml:7" in said.err) == (2, True, True)
    assert not (made.ledger.exists() or (made.home / "keys").exists())
