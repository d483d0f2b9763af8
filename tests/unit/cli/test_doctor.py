# SPDX-License-Identifier: Apache-2.0
"""`doctor`, `plugins` and the objects of `--json`: what stands in the way is named with one thing to do, and no secret."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_project import PLAN, Project, make_project

from trialplate import plugins
from trialplate.cli import doctor

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run."""
    made = make_project(tmp_path_factory.mktemp("doctor"))
    made.run()
    return made


@pytest.fixture
def project(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The copy, with a key of its own user; there is no Docker to be found."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    for name in ("TRIALPLATE_KEY", "TRIALPLATE_KEY_FILE", "TRIALPLATE_TRUST"):
        monkeypatch.delenv(name, raising=False)
    return project


def lines(say: Say, *arguments: str) -> tuple[int, dict[str, list[Any]]]:
    """Return the exit code and, by what they are about, the lines of `doctor --json`."""
    code, out, _ = say("doctor", "--json", *arguments)
    value = json.loads(out)
    assert value["ok"] is (code == 0)
    found: dict[str, list[Any]] = {}
    for item in value["lines"]:
        assert (item["word"] == "OK") == (item["do"] == ""), item
        found.setdefault(item["about"], []).append(SimpleNamespace(**item))
    return code, found


def test_doctor_of_a_healthy_project_finds_nothing_in_the_way(project: Project, say: Say) -> None:
    """Everything is looked at; only Docker, which nobody needs here, is a warning."""
    code, found = lines(say)
    assert code == 0
    assert {about for about, items in found.items() for item in items if item.word != "OK"} == {"docker"}
    assert {"versions", "packages", "configuration", "key tester", "ledger", "ledger's key", "clock"} <= found.keys()
    assert {"runs", "index", "plan", "folders", "disk"} <= found.keys()
    out = say("doctor")[1]
    assert out.endswith("nothing stands in the way\n")
    assert all(line.split()[0] in ("OK", "WARN", "FAIL", "do:", "nothing") for line in out.splitlines())


def test_doctor_changes_nothing(project: Project, say: Say) -> None:
    """No file is made or touched, not even the index."""
    before = {path: path.stat().st_mtime_ns for path in project.folder.parent.rglob("*")}
    say("doctor")
    assert {path: path.stat().st_mtime_ns for path in project.folder.parent.rglob("*")} == before


def test_doctor_in_an_empty_folder_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say, project: Project
) -> None:
    """Nothing is wrong with a folder that is no project: exit 0, with what to do next."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    monkeypatch.setenv("TRIALPLATE_HOME", str(empty / "home"))
    code, found = lines(say)
    assert code == 0
    assert (found["ledger"][0].word, found["plan"][0].word, found["keys"][0].word) == ("WARN", "WARN", "WARN")
    assert list(empty.iterdir()) == []


def test_doctor_finds_a_private_key_that_others_may_read(project: Project, say: Say) -> None:
    """A key that others could have copied signs nothing that can be trusted."""
    (project.home / "keys" / "tester.key").chmod(0o644)
    code, found = lines(say)
    assert (code, found["key tester"][0].word) == (2, "FAIL")
    assert found["key tester"][0].do.startswith("chmod 600")


def test_doctor_finds_a_clock_that_is_behind_the_ledger(
    project: Project, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case Z09: what would be signed now would carry a wrong time."""
    monkeypatch.setattr(doctor, "utc_now", lambda: "2001-01-01T00:00:00.000Z")
    code, found = lines(say)
    assert (code, found["clock"][0].word) == (2, "FAIL")
    assert "2001-01-01" in found["clock"][0].found


def test_doctor_finds_a_ledger_that_does_not_hold(project: Project, say: Say) -> None:
    """With the code of the finding, and its one thing to do."""
    entries = project.ledger / "entries.jsonl"
    entries.write_bytes(entries.read_bytes().replace(b'"selection":"full"', b'"selection":"fulL"'))
    code, found = lines(say)
    assert (code, found["ledger"][0].word) == (2, "FAIL")
    assert found["ledger"][0].found.startswith("LEDGER-ROOT")


def test_doctor_finds_what_this_user_knows_damaged(project: Project, say: Say) -> None:
    """A file of known checkpoints that cannot be read is a line, not the end of the examination."""
    (project.home / "known.json").write_text("{")
    code, found = lines(say)
    assert (code, found["ledger"][0].word) == (2, "FAIL")
    assert "disk" in found


def test_doctor_names_secrets_and_never_tells_them(project: Project, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the variable, and whether it is set."""
    plan = PLAN.replace(
        "  bad:",
        "  far: {runner: openai-compatible, url: 'https://127.0.0.1/v1', model: m, secret: {env: FAR_KEY}}\n  bad:",
    )
    (project.folder / "trialplate.yaml").write_text(plan)
    assert lines(say)[1]["secret"][0].word == "WARN"
    monkeypatch.setenv("FAR_KEY", "sk-very-secret-value")
    code, out, err = say("doctor")
    assert (code, "FAR_KEY is set" in out) == (0, True)
    assert "very-secret" not in out + err


def test_doctor_of_a_plan_that_cannot_be_used_warns(project: Project, say: Say) -> None:
    """Records can be read and verified all the same."""
    (project.folder / "trialplate.yaml").write_text("trialplate: 1\nmodles: {}\n")
    code, found = lines(say)
    assert (code, found["plan"][0].word) == (0, "WARN")


def test_doctor_without_the_ledgers_key_warns(project: Project, say: Say) -> None:
    """Who has no key can verify, and gate without appending."""
    (project.home / "keys" / "tester.key").unlink()
    code, found = lines(say)
    assert (code, found["ledger's key"][0].word) == (0, "WARN")
    assert "--no-append" in found["ledger's key"][0].found


def test_doctor_finds_folders_that_cannot_be_written(
    project: Project, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told before a run has cost anything; the superuser may write anywhere, so the system's answer is given."""
    real = os.access

    def closed(path: Any, mode: int) -> bool:
        return Path(path).name != "runs" and real(path, mode)

    monkeypatch.setattr(os, "access", closed)
    code, found = lines(say)
    assert (code, found["folders"][0].word) == (2, "FAIL")
    assert "runs" in found["folders"][0].found


@pytest.mark.parametrize(("free", "word", "code"), [(10**6, "FAIL", 2), (5 * 10**8, "WARN", 0), (10**11, "OK", 0)])
def test_doctor_looks_at_the_room_on_the_disk(
    project: Project, say: Say, monkeypatch: pytest.MonkeyPatch, free: int, word: str, code: int
) -> None:
    """A disk that is full soon, and one that is full now."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    found = lines(say)
    assert (found[0], found[1]["disk"][0].word) == (code, word)


def test_doctor_tells_the_state_of_the_index(project: Project, say: Say) -> None:
    """Absent, current, damaged: none of them stands in the way."""
    assert lines(say)[1]["index"][0].found == "absent"
    say("ls")
    assert lines(say)[1]["index"][0].found == "current"
    (project.folder / ".trialplate" / "index.db").write_bytes(b"nonsense" * 1000)
    code, found = lines(say)
    assert (code, found["index"][0].word) == (0, "WARN")


class Engine(BaseHTTPRequestHandler):
    """Answers as a Docker engine does when it is asked for its version."""

    api = "1.41"

    def do_GET(self) -> None:
        """Answer /version."""
        body = json.dumps({"Version": "20.10.24", "ApiVersion": self.api, "MinAPIVersion": "1.12"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize(("api", "word"), [("1.41", "OK"), ("1.40", "WARN"), ("1.5", "WARN")])
def test_doctor_asks_the_docker_engine_for_its_version(
    project: Project, say: Say, monkeypatch: pytest.MonkeyPatch, api: str, word: str
) -> None:
    """An engine that is too old is named; numbers are compared as numbers."""
    server = HTTPServer(("127.0.0.1", 0), type("Old", (Engine,), {"api": api}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
        assert lines(say)[1]["docker"][0].word == word
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_doctor_does_not_stop_at_a_docker_host_that_is_none(
    project: Project, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stands in DOCKER_HOST."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    for host in ("nonsense", f"tcp://127.0.0.1:{port}", "tcp://", "ssh://nobody@127.0.0.1"):
        monkeypatch.setenv("DOCKER_HOST", host)
        assert lines(say)[1]["docker"][0].word == "WARN", host


# ---------------------------------------------------------------------------------------------------------- plugins


def test_plugins_lists_everything_that_is_built_in(say: Say) -> None:
    """Each with its group, package, version and source; as a table and as one object."""
    value = json.loads(say("plugins", "--json")[1])
    assert value["format"] == "trialplate-plugins/1"
    found = {(item["group"], item["name"]): item for item in value["plugins"]}
    assert {(group, name) for group, names in plugins.BUILT_IN.items() for name in names} <= found.keys()
    assert found["reports", "markdown"]["package"] == "trialplate"
    out = say("plugins")[1]
    assert out.splitlines()[0].split() == ["group", "name", "package", "version", "source"]
    assert len(out.splitlines()) == len(value["plugins"]) + 1


# ------------------------------------------------------------------------------------------------------- one object


def test_validate_json_is_one_object(project: Project, say: Say) -> None:
    """Digests, counts and warnings as fields."""
    value = json.loads(say("validate", "--json")[1])
    assert (value["format"], value["name"], value["trials"]) == ("trialplate-validation/1", "small", 12)
    assert value["tags"] == {"(untagged)": 1, "arithmetic": 1, "critical": 1}


def test_ledger_log_json_is_one_object(project: Project, say: Say) -> None:
    """Every entry as it is signed, with its digest."""
    value = json.loads(say("ledger", "log", "--json")[1])
    assert value["format"] == "trialplate-ledger-log/1"
    assert [item["entry"]["type"] for item in value["entries"]] == [entry.type for entry in project.view().entries]
    assert value["checkpoint"] == str(project.view().signed)
