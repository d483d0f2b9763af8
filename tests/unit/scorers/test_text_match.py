# SPDX-License-Identifier: Apache-2.0
"""exact, contains, regex."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.record.values import Case, PlanText, Scorer
from trialplate.scorers.base import Score, ScorerError
from trialplate.scorers.text_match import CHOICES, make_contains, make_exact, make_regex, normaliser
from trialplate.scorers.unicode_forms import composed_text

CASES = Path(__file__).parents[2] / "vectors" / "cases" / "scorers"
COMMITMENT = "A" * 43


def plan(kind: str, role: str | None = None, **settings: Any) -> Scorer:
    """Return a scorer of a plan."""
    texts = () if role is None else (PlanText(role=role, commitment=COMMITMENT),)  # type: ignore[arg-type]
    return Scorer(name="s", type=kind, metric="right", settings=settings, texts=texts)


def case(*references: Any) -> Case:
    """Return a case with these references."""
    return Case(id="q1", input="?", references=references)


async def exact(answer: str, *references: Any, **settings: Any) -> Score:
    """Score by `exact`."""
    return await make_exact(plan("exact", **settings), {}).score(case(*references), answer)


async def contains(answer: str, *references: Any, value: str | None = None, **settings: Any) -> Score:
    """Score by `contains`."""
    scorer = plan("contains", None if value is None else "value", **settings)
    return await make_contains(scorer, {("value", ""): value}).score(case(*references), answer)


async def search(answer: str, pattern: str, *flags: str) -> Score:
    """Score by `regex`."""
    scorer = make_regex(plan("regex", "pattern", flags=list(flags)), {("pattern", ""): pattern})
    return await scorer.score(case(), answer)


# ---------------------------------------------------------------------------------------------------------- exact


@pytest.mark.parametrize("pair", json.loads((CASES / "exact_pairs.json").read_text()))
async def test_exact_on_the_pairs_of_p12_and_p14(pair: dict[str, Any]) -> None:
    """Order and number of words count; outer white space does not; look-alikes are wrong, with a hint."""
    score = await exact(pair["output"], pair["reference"])
    assert score.verdict == ("passed" if pair["exact"] else "failed")
    assert score.metrics == {"right": float(pair["exact"])}
    assert ("equal after NFKC+quotes" in score.reason) == bool(pair.get("normalised"))
    if pair.get("normalised"):
        loose = await exact(pair["output"], pair["reference"], unicode="NFKC", punctuation="plain")
        assert loose.verdict == "passed"


@pytest.mark.parametrize(
    ("settings", "answer", "reference", "passed"),
    [
        ({}, "cafe\u0301", "caf\u00e9", True),
        ({"unicode": "keep"}, "cafe\u0301", "caf\u00e9", False),
        ({"case": "fold"}, "STRASSE", "stra\u00dfe", True),
        ({"case": "fold"}, "\u0130stanbul", "i\u0307stanbul", True),
        ({"trim": "none"}, " yes", "yes", False),
        ({"trim": "none"}, "yes", "yes", True),
        ({"trim": "lines"}, "a  \n  b\n", "a\nb", True),
        ({"trim": "outer"}, "a  \n  b\n", "a\nb", False),
        ({"whitespace": "collapse"}, "a \n\t b", "a b", True),
        ({"whitespace": "collapse"}, "ab", "a b", False),
        ({"whitespace": "remove"}, "a b\u00a0c", "abc", True),
        ({}, "20%", "20", False),
        ({}, "1.0", "1", False),
        ({}, "", "", True),
    ],
)
async def test_exact_normalises_as_its_settings_say(
    settings: dict[str, str], answer: str, reference: str, passed: bool
) -> None:
    """Both sides alike, and nothing that is not asked for; numbers and percent signs are text."""
    assert (await exact(answer, reference, **settings)).metrics["right"] == float(passed)


@pytest.mark.parametrize(
    ("reference", "text"),
    [(42, "42"), (1.0, "1"), (True, "true"), (None, "null"), ({"b": 1, "a": [2]}, '{"a":[2],"b":1}')],
)
async def test_exact_reference_that_is_no_text_is_its_canonical_json(reference: Any, text: str) -> None:
    """One spelling, whatever the test set's was."""
    assert (await exact(text, reference)).verdict == "passed"


async def test_exact_of_several_references_accepts_any() -> None:
    """And the reason names the one that was met, or how many were not."""
    assert "sixty" in (await exact("sixty", "60", "sixty")).reason
    assert (await exact("61", "60", "sixty", 6)).reason == 'expected "60" or one of 2 more, found "61"'


async def test_reason_quotes_no_more_than_the_beginning_of_an_answer() -> None:
    """200 characters, and how many there were."""
    reason = (await exact("x" * 5000, "y")).reason
    assert "x" * 200 in reason
    assert "x" * 201 not in reason
    assert "(5000 characters)" in reason


async def test_scorers_of_references_on_a_case_without_any_give_no_score() -> None:
    """Unknown, not 0 and not a pass."""
    for score in (exact("x"), contains("x")):
        with pytest.raises(ScorerError, match="q1"):
            await score


@example("e \u0301", {"unicode": "NFC", "whitespace": "remove"})
@given(st.text(), st.fixed_dictionaries({name: st.sampled_from(choices) for name, choices in CHOICES.items()}))
def test_normalising_twice_changes_nothing_more(text: str, settings: dict[str, str]) -> None:
    """Else whether two texts are equal would depend on which of them had been seen before."""
    normalise = normaliser(settings)
    once = normalise(text)
    assert normalise(once) == once


@pytest.mark.parametrize("settings", [{"trim": "both"}, {"strip": True}, {"case": True}, {"normalize": {}}])
def test_exact_with_a_setting_that_it_has_not_is_refused(settings: dict[str, Any]) -> None:
    """A typing error must not leave the default in force."""
    with pytest.raises(SpecError, match="s"):
        make_exact(plan("exact", **settings), {})


# ------------------------------------------------------------------------------------------------------- contains


@pytest.mark.parametrize(
    ("answer", "passed"), [("A refund is due.", True), ("REFUND", False), ("re fund", False), ("", False)]
)
async def test_contains_of_a_value_looks_for_it_as_it_is(answer: str, passed: bool) -> None:
    """The plan's value, not the references."""
    assert (await contains(answer, "nothing of this", value="refund")).metrics["right"] == float(passed)


async def test_contains_without_case_folds_both_sides() -> None:
    """`case_sensitive: false`."""
    assert (await contains("DIE STRASSE", value="Stra\u00dfe", case_sensitive=False)).verdict == "passed"


async def test_contains_without_a_value_accepts_any_reference() -> None:
    """In either composition of its characters."""
    assert (await contains("un cafe\u0301, please", "tea", "caf\u00e9")).verdict == "passed"
    assert (await contains("water", "tea", "caf\u00e9")).verdict == "failed"


async def test_contains_of_an_empty_text_is_no_score() -> None:
    """It would be in every answer."""
    with pytest.raises(ScorerError):
        await contains("anything", "")
    with pytest.raises(SpecError):
        await contains("anything", value="")


# ---------------------------------------------------------------------------------------------------------- regex


@pytest.mark.parametrize(
    ("pattern", "flags", "answer", "passed"),
    [
        (r"\b[0-9]+ days\b", (), "within 60 days.", True),
        (r"^Paris$", (), "It is\nParis\n", False),
        (r"^Paris$", ("multiline",), "It is\nParis\n", True),
        (r"paris", (), "Paris", False),
        (r"paris", ("ignorecase",), "Paris", True),
        (r"a.b", (), "a\nb", False),
        (r"a.b", ("dotall",), "a\nb", True),
        (r"^\w$", ("ascii",), "\u00e9", False),
        (r"a  b # blanks", ("verbose",), "ab", True),
        (r"half", (), "half \ud835", True),
    ],
)
async def test_regex_is_searched_with_its_flags(
    pattern: str, flags: tuple[str, ...], answer: str, passed: bool
) -> None:
    """Anywhere in the answer, unless it is anchored."""
    assert (await search(answer, pattern, *flags)).verdict == ("passed" if passed else "failed")


async def test_regex_that_never_ends_is_no_score_and_others_go_on() -> None:
    """Case P15: that trial alone has a scorer error within its limit, and the loop runs meanwhile."""
    vector = json.loads((CASES / "redos.json").read_text())
    stuck = asyncio.create_task(search(vector["output"], vector["pattern"]))
    others = 0
    while not stuck.done():
        assert (await search("Paris", "Paris")).verdict == "passed"
        await asyncio.sleep(0)
        others += 1
    with pytest.raises(ScorerError, match="regex time limit"):
        await stuck
    assert others > 20


@pytest.mark.parametrize(
    ("pattern", "flags"), [("(", ()), ("a{2,1}", ()), ("", ()), ("a", ("global",)), ("a", ("I",)), (None, ())]
)
def test_regex_that_cannot_be_one_is_refused(pattern: str | None, flags: tuple[str, ...]) -> None:
    """When the plan is made, not in the middle of a run."""
    with pytest.raises(SpecError):
        make_regex(
            plan("regex", "pattern" if pattern is not None else None, flags=list(flags)), {("pattern", ""): pattern}
        )


# ---------------------------------------------------------------------------------------------------- long answers

MARKS = "\u0301\u0316\u0345\u0340\u0344\u0f73\u0f75\u0f81\u0f71\uff9e\uff9f\u3099\u0334"


@given(
    st.lists(st.sampled_from([*MARKS, *MARKS, "a", "\xe9", "\uac00", "\ud800"]), min_size=100, max_size=400),
    st.sampled_from(["NFC", "NFKC"]),
)
def test_long_text_is_normalised_as_python_does(characters: list[str], form: Any) -> None:
    """Sorting long runs of marks beforehand changes nothing of the result."""
    text = "a" * 1000 + "".join(characters)
    assert composed_text(text, form) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("settings", [{}, {"unicode": "NFKC"}, {"case": "fold"}])
async def test_megabyte_of_marks_in_the_wrong_order_takes_no_time(settings: dict[str, str]) -> None:
    """`unicodedata` alone needs the square of their number: an answer could stop a run for hours."""
    marks = "a" + "\u0301\u0316" * 120_000
    assert (await exact(marks, "b", **settings)).verdict == "failed"
    assert (await contains(marks, "b")).verdict == "failed"
    assert (await exact("a" + "\u0316" * 120_000 + "\u0301" * 120_000, marks, **settings)).verdict == "passed"
