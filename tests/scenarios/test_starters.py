# SPDX-License-Identifier: Apache-2.0
"""The starters as a person begins with them: made, checked, estimated for nothing, run against a server, decided."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from provider_server import AnsweringServer
from server_thread import ServerThread
from small_project import Said, SmallProject

import trialplate
from trialplate.cli.init import KEYS, STARTERS
from trialplate.spec import yaml_strict
from trialplate.spec.document import plain
from trialplate.spec.test_sets import Source, load

SOURCE = Path(trialplate.__file__).parent / "starters"
SERVED = ("openai-compatible", "openai", "anthropic")
"""Starters that ask a server."""


def begin(starter: str, folder: Path) -> SmallProject:
    """Unpack a starter, and return it with its user's configuration folder."""
    outside = SmallProject(folder, folder / "home")
    said = outside("init", starter, "made")
    assert said.code == 0, said.err
    return SmallProject(folder / "made", folder / "home")


def answering(project: SmallProject) -> dict[str, str]:
    """Return a right answer to each question of the project."""
    raw = (project.root / "cases" / "contract.csv").read_bytes()
    cases = load(Source("cases/contract.csv", raw)).cases
    return {str(case.input): f"It is {case.references[0]}." for case in cases}


def point_at(project: SmallProject, url: str) -> None:
    """Edit the one line of the plan that says where the model is."""
    file = project.root / "trialplate.yaml"
    text, edited = re.subn(r"https?://\S+", url, file.read_text(encoding="utf-8"), count=1)
    assert edited == 1
    file.write_text(text, encoding="utf-8")


def test_every_starter_is_listed_and_there() -> None:
    """The list is the folders that hold a plan."""
    assert set(STARTERS) == {file.parent.name for file in SOURCE.glob("*/trialplate.yaml")}


def test_list_shows_every_starter_and_makes_nothing(tmp_path: Path) -> None:
    """A line each."""
    said = SmallProject(tmp_path, tmp_path / "home")("init", "--list")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()] == list(STARTERS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("typed", "meant"), [("openia", "openai"), ("antropic", "anthropic"), ("Demo", "demo")])
def test_mistyped_starter_is_told_the_nearest_and_all(tmp_path: Path, typed: str, meant: str) -> None:
    """And nothing is made."""
    said = SmallProject(tmp_path, tmp_path / "home")("init", typed)
    assert said.code == 2
    assert f'did you mean "{meant}"?' in said.err
    assert all(name in said.err for name in STARTERS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("starter", STARTERS)
def test_starter_names_a_schema_that_is_there_and_takes_its_plan(starter: str, tmp_path: Path) -> None:
    """The first line leads an editor to the schema, which knows every key of the plan, and refuses a wrong one."""
    project = begin(starter, tmp_path)
    text = (project.root / "trialplate.yaml").read_text(encoding="utf-8")
    named = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", text.splitlines()[0])
    assert named
    schema = json.loads((project.root / named[1]).read_bytes())
    plan = plain(yaml_strict.load(text.encode(), "trialplate.yaml").value)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(plan, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**plan, "repeat": 3}, schema)


@pytest.mark.parametrize("starter", STARTERS)
def test_starter_validates_estimates_and_says_what_comes_next(starter: str, tmp_path: Path) -> None:
    """Without a key and without a server; nothing is written by either, and no README names a missing file."""
    outside = SmallProject(tmp_path, tmp_path / "home")
    said = outside("init", starter, "made")
    assert "next:\n  cd made\n" in said.out
    assert "  trialplate run            # the estimate; nothing is spent\n  trialplate run --yes\n" in said.out
    assert ("export " in said.out) == (starter in KEYS)
    project = SmallProject(tmp_path / "made", tmp_path / "home")
    before = sorted(project.root.rglob("*"))
    assert project("validate").code == 0
    estimated = project("run")
    assert estimated.code == 0
    assert "upper estimate: " in estimated.out
    assert "nothing was written or spent" in estimated.out
    assert sorted(project.root.rglob("*")) == before
    readme = (project.root / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"^\| `([^`]+)` \|", readme, re.MULTILINE):
        assert (project.root / name).exists(), name


@pytest.mark.parametrize("starter", SERVED)
def test_starter_runs_against_a_server_by_one_edited_line_and_is_decided(starter: str, tmp_path: Path) -> None:
    """Every question of every model reaches the server with the contract; right answers are accepted."""
    project = begin(starter, tmp_path)
    right = answering(project)
    judged = starter != "openai-compatible"

    def says(text: str) -> str:
        if "verdict" in text:
            return json.dumps({"verdict": "correct", "grounded": True, "reason": "as the contract says"})
        return right[text.rpartition("\n")[2]]

    with ServerThread(AnsweringServer(says)) as server:
        point_at(project, server.url.removesuffix("/v1") if starter == "anthropic" else server.url)
        key = "k-0123456789abcdef"
        environ = {KEYS[starter]: key} if starter in KEYS else {}
        said: Said = project("run", "--yes", **environ)
        assert said.code == 0, said.err
        assert len(server.requests) == 10 * 3 * (4 if judged else 1), "two models, and a judge for each answer"
        assert all("LM-2208" in request.raw.decode() for request in server.requests)
        sent = {"openai-compatible": (None, None), "openai": ("Bearer " + key, None), "anthropic": (None, key)}
        names = ("authorization", "x-api-key")
        assert {tuple(map(request.headers.get, names)) for request in server.requests} == {sent[starter]}
    name = "local" if starter == "openai-compatible" else "small"
    assert project("gate", "latest", "--model", name).code == 0
    assert project.codes() == set()
    assert project("verify", "latest", "--rescore").code == 0
    assert ("helpers cost" in project("report").out) == judged
    written = b"".join(file.read_bytes() for file in project.root.rglob("*") if file.is_file())
    assert b"k-0123456789abcdef" not in written


@pytest.mark.parametrize("starter", sorted(KEYS))
def test_starter_without_its_key_is_refused_before_anything_is_asked(starter: str, tmp_path: Path) -> None:
    """The variable is named, and nothing is in the ledger that was not there."""
    project = begin(starter, tmp_path)
    before = (project.ledger / "entries.jsonl").read_bytes()
    said = project("run", "--yes", **{KEYS[starter]: ""})
    assert said.code == 2
    assert KEYS[starter] in said.err
    assert "error: trialplate.yaml:11:" in said.err
    assert (project.ledger / "entries.jsonl").read_bytes() == before
