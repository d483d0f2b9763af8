# SPDX-License-Identifier: Apache-2.0
"""Signed marks that no author file could make: each is refused as no mark, and nothing is decided, or breaks, by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from forger import Forger
from small_project import SmallProject

from trialplate.record import canonical
from trialplate.verify import record_view

FLOOR = {"id": "r", "at_least": "0.5", "of": "correct"}
RATE = {"id": "r", "at_least": "0.5", "of": "case_pass_rate", "basis": "bound"}


def nested(depth: int) -> dict[str, Any]:
    """Return a mark of alternatives within alternatives."""
    floors = [{**FLOOR, "id": f"f{level}"} for level in range(depth)]
    deeper = [{"id": f"a{level}", "any_of": [f"a{level + 1}", f"f{level}"]} for level in range(1, depth)]
    last = {**FLOOR, "id": f"a{depth}"}
    return {"rules": [{"id": "a0", "any_of": ["a1", "f0"]}], "alternatives": [*floors, *deeper, last]}


def counts(**rule: Any) -> dict[str, Any]:
    """Return a mark with counts that accept nobody, or as the rule says otherwise."""
    stop = {"mode": "counts", "rule": "r", "accept": [-1] * 4, "reject": [1] * 4}
    return {"rules": [{**RATE, **rule}], "attempts": {"max": 1}, "stop": stop}


SENSELESS: dict[str, dict[str, Any]] = {
    "a circle": {
        "rules": [{"id": "r", "any_of": ["a", "b"]}],
        "alternatives": [{"id": "a", "any_of": ["b", "c"]}, {"id": "b", "any_of": ["a", "c"]}, {**FLOOR, "id": "c"}],
    },
    "a circle that nothing leads to": {
        "rules": [FLOOR],
        "alternatives": [{"id": "a", "any_of": ["b", "b"]}, {"id": "b", "any_of": ["a", "a"]}],
    },
    "of itself": {"rules": [{"id": "r", "any_of": ["r", "r"]}]},
    "of nobody": {"rules": [{"id": "r", "any_of": ["x", "y"]}]},
    "of one": {"rules": [{"id": "r", "any_of": ["a"]}], "alternatives": [{**FLOOR, "id": "a"}]},
    "twice": {"rules": [{"id": "r", "any_of": ["a", "a"]}], "alternatives": [{**FLOOR, "id": "a"}]},
    "the id of a rule": {"rules": [{"id": "r", "any_of": ["r", "r"]}], "alternatives": [FLOOR]},
    "left over": {"rules": [FLOOR], "alternatives": [{**FLOOR, "id": "a"}]},
    "nested a hundred times": nested(100),
    "confidence 0": {"confidence": "0", "rules": [{**FLOOR, "basis": "bound"}]},
    "confidence 0.5": {"confidence": "0.5", "rules": [{**FLOOR, "basis": "bound"}]},
    "confidence 1": {"confidence": "1", "rules": [{**FLOOR, "basis": "bound"}]},
    "confidence 99": {"confidence": "99", "rules": [{**FLOOR, "basis": "bound"}]},
    "a share above 1": {"rules": [{**FLOOR, "at_least": "999999999999"}]},
    "a ceiling above 1": {"rules": [{"id": "r", "at_most": "1.5", "of": "error_rate"}]},
    "counts at a share above 1": counts(at_least="999999999999"),
    "counts at estimates": counts(basis="estimate"),
    "counts of nothing": {**counts(), "stop": {"mode": "counts", "rule": "x", "accept": [-1], "reject": [1]}},
    "counts of no rule": {**counts(), "stop": {"mode": "counts"}},
    "counts that accept anybody": {**counts(), "stop": {"mode": "counts", "rule": "r", "accept": [0], "reject": [1]}},
    "counts of more cases than there are": {
        **counts(),
        "stop": {"mode": "counts", "rule": "r", "accept": [-1] * 5, "reject": [1] * 5},
    },
    "counts too many to work out": {
        **counts(),
        "stop": {"mode": "counts", "rule": "r", "accept": [-1] * 3000, "reject": [1] * 3000},
    },
    "sealed with counts": {"rules": [FLOOR], "stop": {"mode": "sealed", "accept": [3], "reject": [9]}},
    "by missing": {"rules": [{"id": "r", "not_worse_than": "bad", "of": "correct"}]},
    "by 2": {"rules": [{"id": "r", "not_worse_than": "bad", "of": "correct", "by": "2"}]},
    "within 2": {"rules": [FLOOR], "choose": {"by": "best", "of": "correct", "within": "2"}},
    "keep of nothing": {"rules": [FLOOR], "choose": {"by": "best", "of": "correct", "keep": "nobody"}},
    "choose of half a share": {"rules": [FLOOR], "choose": {"by": "best", "of": "share:wall_s:", "within": "0.1"}},
    "half a share": {"rules": [{**FLOOR, "of": "share:wall_s:"}]},
    "a share of a share": {"rules": [{**FLOOR, "of": "share:x"}]},
    "a percentile of nothing": {"rules": [{**FLOOR, "of": "p95:nothing"}]},
    "macro-F1 of no label": {"rules": [{**FLOOR, "of": "macro_f1:correct"}]},
    "a bound of a percentile": {"rules": [{"id": "r", "at_most": "9", "of": "p95:wall_s", "basis": "bound"}]},
    "a bound of a cost": {"rules": [{"id": "r", "at_most": "9", "of": "cost:total", "basis": "bound"}]},
    "a bound of pass_hat of fewer": {"rules": [{**FLOOR, "of": "pass_hat:1", "basis": "bound"}]},
    "a judge that is none": {
        "rules": [{**FLOOR, "basis": "bound", "correct_for_judge": "correct"}],
    },
    "evidence of no judge": {"rules": [FLOOR], "evidence": {"judge": {"scorer": "x", "agreement": "0.5"}}},
    "a unit that no case has": {"unit": "meta.x", "rules": [FLOOR]},
    "no rules": {"rules": []},
    "two kinds": {"rules": [{**FLOOR, "at_most": "0.9"}]},
    "a baseline without a rule": {
        "rules": [FLOOR],
        "baseline": {
            "run_id": "20260101T000000000Z-00000000",
            "size": 1,
            "root": "sha256:" + "0" * 64,
            "test_set": "sha256:" + "0" * 64,
        },
    },
}


def with_mark(project: SmallProject, mark: dict[str, Any], folder: Path) -> SmallProject:
    """Let the key's owner commit this very mark, and run by it."""
    forger = Forger(project)
    forger.plan["pass_mark"] = mark
    forger.of("commit.passmark")["body"].update(mark=mark, digest=canonical.digest_value(mark))
    forger.sign()
    return project.as_stranger(folder)


@pytest.mark.parametrize("name", SENSELESS)
def test_mark_that_no_author_could_write_is_no_mark(gated: SmallProject, tmp_path: Path, name: str) -> None:
    """Readers say so, also where decisions are stated under it; a gate decides nothing."""
    stranger = with_mark(gated.copy_to(tmp_path), SENSELESS[name], tmp_path / "stranger")
    assert "SCHEMA" in stranger.codes()
    assert stranger("gate", "latest", "--model", "good", "--no-append").code == 3
    assert stranger("report").code in (0, 3)


def test_mark_of_more_copies_than_anybody_works_out_is_no_mark(gated: SmallProject, tmp_path: Path) -> None:
    """Hundreds of rules for each of thousands of tags would keep a reader for days."""
    project = gated.copy_to(tmp_path)
    forger = Forger(project)
    forger.plan["test_set"]["cases"][0]["tags"] = [f"t{number:05d}" for number in range(5000)]
    forger.plan["pass_mark"] = {"rules": [{**FLOOR, "id": f"r{number}", "each": "tag"} for number in range(500)]}
    mark = forger.plan["pass_mark"]
    forger.of("commit.passmark")["body"].update(mark=mark, digest=canonical.digest_value(mark))
    forger.sign()
    assert project.as_stranger(tmp_path / "stranger").codes() == {"SCHEMA"}


def test_matrix_too_large_to_lay_out_is_refused(
    gated: SmallProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of lines that all name thousands of configurations are not gone through for each case."""
    project = gated.copy_to(tmp_path)
    monkeypatch.setattr(record_view, "MOST_MATRIX", 11)  # four cases, and a line of two configurations, are 12
    assert project.codes() == {"STRICT-LIMIT"}


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A run with a decision on it."""
    made = SmallProject.write(tmp_path_factory.mktemp("language"))
    made.run()
    assert made("gate", "latest", "--model", "good").code == 0
    return made


@pytest.mark.parametrize("key", ["lower", "upper"])
def test_bound_of_thousands_of_digits_is_none(gated: SmallProject, tmp_path: Path, key: str) -> None:
    """A number that takes too long to read is refused by its form."""
    project = gated.copy_to(tmp_path)
    forger = Forger(project)
    forger.of("decision")["body"]["rules"][0][key] = "9" * 5000 + ".000000000"
    forger.sign_ledger()
    assert project.as_stranger(tmp_path / "stranger").codes() == {"SCHEMA"}
