# SPDX-License-Identifier: Apache-2.0
"""Whether a private text stands in what is public: found wherever it stands, and quickly where nothing does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trialplate.verify.content import SHORTEST_LEAK, leak_in

_TEXT = st.text("ab\u00e9\n", max_size=60)


@given(_TEXT, st.lists(_TEXT, max_size=4))
def test_text_is_found_exactly_where_it_stands(public: str, private: list[str]) -> None:
    """The first of the texts that is long enough and stands in the public one, as a plain search finds it."""
    expected = next((item for item in private if len(item) >= SHORTEST_LEAK and item in public), None)
    assert leak_in(public)(private) == expected


@given(_TEXT, _TEXT, st.text("abc", min_size=SHORTEST_LEAK, max_size=40))
def test_text_between_others_is_found(before: str, after: str, private: str) -> None:
    """At the beginning, in the middle and at the end, also as a key."""
    assert leak_in(before + private + after)({"n": [{private: 1}]}) == private


def test_texts_that_stand_nowhere_are_told_without_searching_for_each() -> None:
    """100,000 private texts beside as many public ids: each search would read all of the ids."""
    searched = 0

    class Public(str):
        __slots__ = ()

        def __contains__(self, item: object) -> bool:
            nonlocal searched
            searched += 1
            return str.__contains__(self, str(item))

    ids = Public("\n".join(f"contract-question-{number:05}" for number in range(2_000)))
    leak = leak_in(ids)
    assert leak([f"What is the notice period of contract {number}?" for number in range(2_000)]) is None
    assert searched < 200
    assert leak(["x" * 20, "contract-question-01234"]) == "contract-question-01234"
