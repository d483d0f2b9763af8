# SPDX-License-Identifier: Apache-2.0
"""The portable digest: what another tool computes from the same file, and when there is none."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from author_files import PLAN

from trialplate.spec.freeze import freeze, portable_digest
from trialplate.spec.project import load_project
from trialplate.spec.test_sets import Source, load

DOCUMENTED = "sha256:aed151166a8ba8d0f5fbcd912a6de77394c0da4ee2b9071dfc1bd1a75c96a1fa"
FILE: dict[str, Any] = {
    "name": "contract-questions",
    "cases": [
        {
            "id": "q1",
            "input": "What is the notice period?",
            "reference": "Sixty days' written notice.",
            "tags": ["factual"],
        },
        {"id": "q2", "input": "Is it signed?"},
    ],
}
STRANGE: dict[str, Any] = {
    "cases": [
        {
            "id": "\U00010000",
            "input": '\u2028 "\\ \x1f\u007f\u20ac\ufb01',
            "reference": "\r\n",
            "tags": ["\uff21", "\U00010000", "a"],
        },
        {"id": "a", "input": " <script>&\u00e9e\u0301 ", "reference": "4.10"},
    ]
}
NODE = """
const jcs = v => Array.isArray(v) ? "[" + v.map(jcs).join(",") + "]" : v && typeof v === "object"
  ? "{" + Object.keys(v).sort().map(k => JSON.stringify(k) + ":" + jcs(v[k])).join(",") + "}" : JSON.stringify(v);
const file = JSON.parse(require("fs").readFileSync(0, "utf8"));
const cases = file.cases.map(c => ({id: c.id, input: c.input, reference: c.reference ?? "", tags: [...new Set(c.tags ?? [])].sort()}));
console.log("sha256:" + require("crypto").createHash("sha256").update(jcs(cases)).digest("hex"));
"""


def of(cases: object, file: str = "t.json") -> str | None:
    """Return the portable digest of a file."""
    data = cases if isinstance(cases, str) else json.dumps(cases)
    return portable_digest(load(Source(file, data.encode())).cases)


def independently(file: dict[str, Any]) -> str:
    """Return the digest as another tool computes it: by JavaScript where it is there, else by other people's RFC 8785."""
    node = shutil.which("node")
    if node is not None:
        done = subprocess.run([node, "-e", NODE], input=json.dumps(file).encode(), capture_output=True, check=True)
        return done.stdout.decode().strip()
    cases = [
        {
            "id": case["id"],
            "input": case["input"],
            "reference": case.get("reference", ""),
            "tags": sorted(set(case.get("tags", [])), key=lambda tag: tag.encode("utf-16-be")),
        }
        for case in file["cases"]
    ]
    return "sha256:" + hashlib.sha256(rfc8785.dumps(cases)).hexdigest()


def test_digest_of_the_documented_set_is_the_documented_one() -> None:
    """Made by a few lines of the standard library, as another tool would; the document shows the same."""
    known = [{"tags": [], "reference": "", **case} for case in FILE["cases"]]
    text = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert of(FILE) == "sha256:" + hashlib.sha256(text.encode()).hexdigest() == DOCUMENTED
    page = (Path(__file__).parents[3] / "docs" / "formats" / "test-set.md").read_text(encoding="utf-8")
    assert DOCUMENTED in page


@pytest.mark.parametrize("file", [FILE, STRANGE], ids=["documented", "strange"])
def test_digest_is_the_same_in_another_language(file: dict[str, Any]) -> None:
    """Case C09: key order, escapes and the order of tags as another implementation has them."""
    assert of(file) == independently(file)


def test_digest_follows_the_order_of_the_file() -> None:
    """File order, unlike the root; line ends and white space of the file are no part of it."""
    turned = {"cases": FILE["cases"][::-1]}
    assert of(turned) == independently(turned) != of(FILE)
    assert of(json.dumps(FILE, indent=3).replace("\n", "\r\n")) == of(FILE)


@pytest.mark.parametrize(
    "more",
    [
        {"suite": "s"},
        {"meta": {"source": "x"}},
        {"context": "passage"},
        {"references": ["a", "b"]},
        {"expected": 4},
        {"expected": None, "references": [["a"]]},
    ],
)
def test_case_with_more_than_the_four_fields_has_none(more: dict[str, Any]) -> None:
    """Another tool would not know it, and two different sets would have one digest."""
    case = {key: value for key, value in {"id": "a", "input": "q", **more}.items() if value is not None}
    assert of([case]) is None
    assert of([{"id": "a", "input": "q", "references": ["one"]}]) is not None


@pytest.mark.parametrize(("visibility", "shown"), [("private", False), ("public", True)])
def test_plan_shows_it_for_a_public_set_only(project_at: Callable[..., Path], visibility: str, shown: bool) -> None:
    """A private set could be guessed from it."""
    project = load_project(project_at(PLAN.replace("a.csv}", f"a.csv, visibility: {visibility}}}")))
    expected = portable_digest(project.cases)
    assert expected is not None
    frozen = freeze(project, bytes(32))
    assert frozen.plan.test_set.portable == (expected if shown else None)
    assert (expected.encode() in frozen.raw) == shown
