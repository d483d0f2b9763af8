# SPDX-License-Identifier: Apache-2.0
"""Runs over cases with files: what is sent, what is kept, what goes on without the project's files, what is left out."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, completion
from forger import Forger, forge
from server_thread import ServerThread
from small_project import SmallProject

PICTURE = b"\x89PNG\r\n\x1a\n\0not much of a picture"
NAME = hashlib.sha256(PICTURE).hexdigest()
PLAN = """\
trialplate: 1
name: pictures
test_sets: [{{file: cases/q.yaml}}]
models:
  m: {{runner: openai-compatible, url: "{url}", model: m-small, pricing: {{input: "1", output: "2"}}, retry: {{max_retries: 0}}}}
repeats: 2
scorers:
  correct: {{type: exact}}
pass_mark:
  rules: [{{id: correct, at_least: {mark}, of: correct, basis: estimate{where}}}]
"""
WORDS = '  - {id: words, input: "Is it?", reference: "yes", tags: [text]}\n'
SEEN = '  - {id: seen, input: "Is it a cat?", reference: "yes", tags: [picture], files: [{name: cat, path: img/cat.png, image_detail: low}]}\n'
WHO = ("configuration", "m")
ODD = '  - {id: odd, input: "Is it a scan?", reference: "yes", tags: [scan], files: [{name: scan, path: img/scan.tiff}]}\n'


def project(root: Path, url: str, *cases: str, mark: str = "0.9", where: str = "") -> SmallProject:
    """Write the project."""
    made = SmallProject.write(root, PLAN.format(url=url, mark=mark, where=where))
    (made.root / "cases" / "q.csv").unlink()
    (made.root / "cases" / "q.yaml").write_text("cases:\n" + "".join(cases))
    (made.root / "cases" / "img").mkdir()
    (made.root / "cases" / "img" / "cat.png").write_bytes(PICTURE)
    (made.root / "cases" / "img" / "scan.tiff").write_bytes(b"II*\0")
    return made


def ends_of(made: SmallProject) -> list[dict[str, Any]]:
    """Return every trial.end of the newest run."""
    lines = (made.last / "record.jsonl").read_text().splitlines()
    return [entry["body"] for entry in map(json.loads, lines) if entry["type"] == "trial.end"]


def yes(body: Any) -> str:
    """Answer whatever is asked."""
    return "yes"


def test_bytes_of_a_picture_reach_the_model_and_stay_with_the_run(tmp_path: Path) -> None:
    """As a data URL before the question; in content/, private, under the name that sha256sum gives."""
    with ServerThread(ChatServer(answer=yes)) as server:
        made = project(tmp_path, server.url, WORDS, SEEN)
        made.run()
        bodies = [seen.body for seen in server.requests]
    asked = next(body for body in bodies if "Is it a cat?" in json.dumps(body))
    shown = json.dumps(asked["messages"])
    assert f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}" in shown
    assert shown.index("cat]") < shown.index("data:image/png") < shown.index("Is it a cat?")
    assert '"detail": "low"' in shown
    stored = made.last / "content" / NAME
    assert stored.read_bytes() == PICTURE
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert [path.name for path in stored.parent.iterdir()] == [NAME]
    assert made.codes() == set()
    assert made("gate", "latest", "--model", "m").code == 0


def test_run_without_files_has_no_folder_for_them(tmp_path: Path) -> None:
    """Nothing is made for nothing."""
    with ServerThread(ChatServer(answer=yes)) as server:
        made = project(tmp_path, server.url, WORDS)
        made.run()
    assert not (made.last / "content").exists()


def broken(root: Path, url: str) -> SmallProject:
    """Return a project whose run ended in outages."""
    made = project(root, url, SEEN)
    made.run(expect=4)
    assert [end["outcome"] for end in ends_of(made)] == ["error", "error"]
    return made


OUTAGE = [{"status": 500, "json": {"error": {"message": "no"}}}] * 2
BACK = {"json": completion("yes")}


def test_resume_sends_what_the_run_began_with(tmp_path: Path) -> None:
    """The project's picture is gone, or another one is in its place: the run does not look."""
    with ServerThread(ChatServer([*OUTAGE, BACK])) as server:
        made = broken(tmp_path, server.url)
        (made.root / "cases" / "img" / "cat.png").unlink()
        (made.root / "cases" / "q.yaml").write_text("cases: []\n")
        said = made("resume", "latest")
        assert said.code == 0, said.err
        shown = json.dumps(server.requests[-1].body)
    assert base64.b64encode(PICTURE).decode() in shown
    assert made.codes() == set()
    assert made("gate", "latest", "--model", "m").code == 0


def test_tampered_bytes_are_found_and_never_sent(tmp_path: Path) -> None:
    """Verify says so, and resume asks nobody; bytes that are withheld are no finding, but cannot be sent either."""
    with ServerThread(ChatServer([*OUTAGE, BACK])) as server:
        made = broken(tmp_path, server.url)
        stored = made.last / "content" / NAME
        stored.write_bytes(PICTURE + b"\n")
        assert made.codes() == {"CONTENT-MISMATCH"}
        said = made("resume", "latest")
        assert said.code == 3, said.err
        assert "not those of the case's file" in said.err
        stored.unlink()
        assert made.codes() == set()
        said = made("resume", "latest")
        assert said.code != 0
        assert "a file of a case is missing" in said.err
        assert len(server.requests) == 2


def test_file_that_changed_between_reading_and_storing_begins_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed is what is stored."""
    from trialplate.spec import case_files

    made = project(tmp_path, "http://127.0.0.1:9/v1", SEEN)
    read = case_files.read_inside

    def changing(*given: Any) -> bytes:
        data: bytes = read(*given)
        (made.root / "cases" / "img" / "cat.png").write_bytes(b"another")
        return data

    monkeypatch.setattr(case_files, "read_inside", changing)
    said = made("run", "--yes")
    assert said.code == 2
    assert "changed while it was read" in said.err
    assert "run.start" not in made.types()


# ------------------------------------------------------------------------------------------------- what is left out


def test_case_that_the_model_does_not_take_is_told_beforehand_and_not_asked(tmp_path: Path) -> None:
    """It costs nothing, leaves nothing to resume, and counts as 0: two of three are not nine tenths."""
    with ServerThread(ChatServer(answer=yes)) as server:
        made = project(tmp_path, server.url, WORDS, SEEN, ODD)
        estimate = made("run")
        assert "odd: incompatible with m: image/tiff" in estimate.out
        assert "m: 4 trials" in estimate.out
        made.run()
        assert len(server.requests) == 4
    skipped = [end for end in ends_of(made) if end["outcome"] == "skipped"]
    assert skipped == [
        {"trial": ["m", "odd", repeat], "attempt": 1, "outcome": "skipped", "cause": "incompatible"}
        for repeat in (1, 2)
    ]
    lines = [json.loads(line) for line in (made.last / "record.jsonl").read_text().splitlines()]
    assert [entry["type"] for entry in lines[1:3]] == ["trial.end", "trial.end"], "settled before anything is asked"
    assert (lines[-1]["body"]["complete"], lines[-1]["body"]["counts"]["skipped"]) == (True, 2)
    assert made.codes() == set()
    decided = made("gate", "latest", "--model", "m", "--json").json["decision"]
    assert (decided["decision"], decided["rules"][0]["low"]) == ("rejected", "2/3")
    assert decided["evidence"][2] == {"name": "complete", "met": True, "wanted": "at least 1", "found": "6 of 6 trials"}
    assert "0.6667" in made("report", "latest").out


def test_what_was_left_out_is_told_with_why_wherever_a_run_is_shown(tmp_path: Path) -> None:
    """A row of the report adds up to its trials, and nobody has to look for what the model does not take."""
    with ServerThread(ChatServer(answer=yes)) as server:
        made = project(tmp_path, server.url, WORDS, SEEN, ODD)
        made.run()
    report = made("report", "latest").out
    header, row = (next(line.split() for line in report.splitlines() if line.startswith(f"{word} ")) for word in WHO)
    told = dict(zip(header[-11:-5], row[-10:-4], strict=True))
    assert (told["passed"], told["skipped"], told["absent"]) == ("4", "2", "0")
    assert "m: 2 trials incompatible: not asked, and without credit" in report
    assert "skipped (incompatible): m odd repeat 1\n    why: not asked, and without credit: image/tiff" in report
    assert made("report", "latest", "--json").json["configurations"][0]["incompatible"] == 2
    assert "| skipped |" in made("report", "latest", "--format", "markdown").out
    shown = made("show", "latest", "odd").out
    assert "repeat 1: skipped (incompatible): not asked, and without credit: image/tiff" in shown
    assert (
        f"file cat: image/png, access native local, image_detail low, sha256:{NAME}"
        in made("show", "latest", "seen").out
    )
    trial = made("show", "latest", "odd", "--json").json["trials"][0]
    assert (trial["outcome"], trial["cause"], trial["attempts"]) == ("skipped", "incompatible", [])
    held = made("show", "latest", "seen", "--json").json
    assert held["case"]["files"][0]["digest"] == f"sha256:{NAME}"
    assert held["configurations"][0]["request"]["body"] is None, "without its picture it would be another request"
    (made.last / "content.jsonl").unlink()
    withheld = made("report", "latest").out
    assert "skipped (incompatible): m odd repeat 1\n    why: withheld" in withheld
    assert "what it does not take is withheld" in made("show", "latest", "odd").out


def test_where_of_a_rule_leaves_the_case_out(tmp_path: Path) -> None:
    """The author says it before the run."""
    with ServerThread(ChatServer(answer=yes)) as server:
        made = project(tmp_path, server.url, WORDS, SEEN, ODD, where=", where: {tag: [text, picture]}")
        made.run()
    assert made("gate", "latest", "--model", "m").code == 0


def test_hard_case_called_incompatible_afterwards_is_found(tmp_path: Path) -> None:
    """Whoever holds the key takes wrong answers for cases that were never asked: the content says what they were."""
    wrong = lambda body: "no" if "Is it?" in json.dumps(body) else "yes"  # noqa: E731
    with ServerThread(ChatServer(answer=wrong)) as server:
        made = project(tmp_path / "a", server.url, WORDS, SEEN, ODD, mark="0.5")
        made.run()

    def not_asked(forger: Forger) -> None:
        for repeat in (1, 2):
            forger.drop_trial("m", "words", repeat)
            end = {"trial": ["m", "words", repeat], "attempt": 1, "outcome": "skipped", "cause": "incompatible"}
            like = next(entry for entry in forger.record if entry["body"].get("cause") == "incompatible")
            forger.record.insert(1, {**like, "body": end})

    stranger = forge(made, tmp_path / "b", not_asked)
    assert "CELL-VALUE" in stranger.codes()
    (made.last / "content.jsonl").unlink()
    decided = stranger("gate", "latest", "--model", "m", "--no-append", "--json").json["decision"]
    assert decided["rules"][0]["low"] == "1/3", "without the content it is no better than the wrong answers were"


def test_case_that_the_plan_does_not_take_and_that_was_asked_is_found(tmp_path: Path) -> None:
    """What counts as the worst there is does not become a pass by an answer to something else."""
    with ServerThread(ChatServer(answer=yes)) as server:
        made = project(tmp_path, server.url, WORDS, SEEN)
        made.run()
    forger = Forger(made)
    forger.drop("decision")
    forger.plan["configurations"][0]["accepts"] = ["application/pdf"]
    forger.sign()
    assert made.as_stranger(tmp_path).codes() == {"CELL-VALUE"}


def test_bytes_beyond_any_files_size_are_found_and_not_read(tmp_path: Path) -> None:
    """A hole of a gigabyte in the place of a picture costs a reader nothing; a link is read as what it leads to."""
    with ServerThread(ChatServer(answer=yes)) as server:
        made = project(tmp_path, server.url, SEEN)
        made.run()
    stored = made.last / "content" / NAME
    with stored.open("r+b") as file:
        file.truncate(1 << 40)
    assert made.codes() == {"CONTENT-MISMATCH"}
    stored.unlink()
    stored.symlink_to(made.root / "cases" / "img" / "scan.tiff")
    assert made.codes() == {"CONTENT-MISMATCH"}
    stored.unlink()
    os.mkfifo(stored)
    assert made.codes() == {"FILE-MISSING"}
    stored.unlink()
    (stored.parent / ("f" * 64)).mkdir()
    assert made.codes() == {"FILE-MISSING"}


def test_resume_leaves_out_what_was_left_out(tmp_path: Path) -> None:
    """Nothing of it is asked, written or counted a second time."""
    with ServerThread(ChatServer([*OUTAGE, BACK])) as server:
        made = project(tmp_path, server.url, SEEN, ODD)
        made.run(expect=4)
        assert made("resume", "latest").code == 0
    assert sum(end["outcome"] == "skipped" for end in ends_of(made)) == 2
    assert made.codes() == set()


# ------------------------------------------------------------------------------------------------------ by address


def test_picture_at_an_address_is_fetched_once_for_all_commands(tmp_path: Path) -> None:
    """Estimate, run, resume and gate work from the copy, with the far end away; the bytes are those that it served."""
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "cat.png").write_bytes(PICTURE)

    class Files(SimpleHTTPRequestHandler):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given, directory=str(tmp_path / "served"))

        def log_message(self, *given: Any) -> None:
            """Stay silent."""

    with ServerThread(ChatServer(answer=yes)) as server:
        with ThreadingHTTPServer(("127.0.0.1", 0), Files) as far:
            Thread(target=far.serve_forever, args=(0.01,), daemon=True).start()
            address = f"http://127.0.0.1:{far.server_address[1]}/cat.png"
            made = project(tmp_path, server.url, SEEN.replace("path: img/cat.png", f'url: "{address}"'))
            assert made("run").code == 0
            far.shutdown()
        made.run()
        shown = json.dumps(server.requests[-1].body)
    assert base64.b64encode(PICTURE).decode() in shown
    assert (made.last / "content" / NAME).read_bytes() == PICTURE
    assert made.codes() == set()
    assert made("validate").code == 0
