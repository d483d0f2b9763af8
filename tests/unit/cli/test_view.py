# SPDX-License-Identifier: Apache-2.0
"""How far a run has come, in words: only what is known, and no wider than the terminal."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import pytest

from trialplate.cli.view import Speed, View, block, clipped, duration, line
from trialplate.engine.tally import Tally
from trialplate.record.entries import Money, TrialEnd


@dataclass(frozen=True)
class Wait:
    """Something that is waited for."""

    who: str
    reason: str
    trials: int
    until: float | None


def view_of(done: dict[str, int], planned: int = 10, *, at_once: int = 2, nano: int | None = 1_000_000) -> View:
    """Return a view of configurations of which so many trials have passed, each for so much."""
    tally = Tally(planned * len(done))
    view = View(dict.fromkeys(done, planned), dict.fromkeys(done, "USD"), {"USD": 40_000_000}, at_once, tally=tally)
    for name, number in done.items():
        for repeat in range(number):
            tally.began()
            cost = None if nano is None else Money(nano=nano, currency="USD")
            end = TrialEnd(trial=(name, "q", repeat + 1), attempt=1, outcome="passed", cost=cost, verdict="passed")
            tally.spent(end)
            tally.trial_done(end, attempts=1, reasked=False)
    return view


def test_time_left_is_worked_out_from_what_ended_and_is_unknown_before() -> None:
    """As many trials as run at once must have ended, and at least three."""
    speed = Speed()
    speed.saw(100.0, 0)
    assert speed.left_s(100.0, 0, 100, 1) is None
    speed.saw(102.0, 2)
    assert speed.rate(102.0, 2) == 1.0
    assert speed.left_s(102.0, 2, 100, 1) is None
    speed.saw(104.0, 4)
    assert speed.left_s(104.0, 4, 100, 8) is None
    assert speed.left_s(104.0, 4, 100, 4) == 96.0


def test_time_left_is_unknown_while_nothing_ends() -> None:
    """A minute without an answer says that nobody knows, not that it goes on as before."""
    speed = Speed()
    for second in range(10):
        speed.saw(float(second), second)
    for second in range(10, 80):
        speed.saw(float(second), 9)
    assert speed.rate(80.0, 9) is None
    assert speed.left_s(80.0, 9, 100, 1) is None


def test_time_left_of_a_resumed_run_counts_what_ended_since() -> None:
    """Trials of earlier sessions took no time of this one."""
    speed = Speed()
    speed.saw(0.0, 500)
    assert speed.left_s(10.0, 502, 1000, 1) is None
    speed.saw(10.0, 510)
    assert speed.left_s(10.0, 510, 1000, 1) == 490.0


def test_line_tells_counts_rate_time_left_and_spend() -> None:
    """In this order, and what is being waited for at the end."""
    view = view_of({"a": 4, "b": 2})
    view.speed.saw(0.0, 0)
    view.waiting = (Wait("openai", "429, Retry-After", 3, 18.0), Wait("b", "30 requests a minute", 1, None))
    assert line(view, 6.0) == (
        "6/20; 6 passed, 0 failed; 1.0/s; about 14 s left; 0.0060 USD of at most 0.0400 USD; "
        "waiting: openai for 12 s (429, Retry-After), 3 trials; waiting: b (30 requests a minute), 1 trial"
    )


def test_line_before_anything_ended_promises_nothing() -> None:
    """No rate, no time, nothing paid yet of what it could come to."""
    view = view_of({"a": 0})
    assert line(view, 5.0) == "0/10; 0 passed, 0 failed; 0.0000 USD of at most 0.0400 USD"


def test_unknown_costs_are_told_and_replays_cost_nothing() -> None:
    """Unknown is not zero; recorded is not paid."""
    assert "0.0000 USD of at most 0.0400 USD + 2 costs unknown" in line(view_of({"a": 2}, nano=None), 0.0)
    view = view_of({"a": 2, "b": 1}, nano=None)
    view.currencies = {"a": "USD"}
    assert "0.0400 USD + 2 costs unknown + 1 configuration without a price" in line(view, 0.0)
    view = view_of({"a": 2})
    view.replay = True
    assert line(view, 0.0).endswith("; replayed, nothing is paid")


def test_block_has_a_line_for_each_configuration() -> None:
    """Aligned, with the outcomes that there are."""
    view = view_of({"short": 4, "a-longer-name": 10})
    view.speed.saw(0.0, 0)
    assert view.tally is not None
    view.tally.began()
    assert block(view, 7.0, 120, 24) == [
        "14/20 trials  70 %  2.0/s  about 3 s left  0.0140 USD of at most 0.0400 USD  1 under way",
        "  short           4/10  4 passed  0 failed",
        "  a-longer-name  10/10  10 passed  0 failed",
    ]


def test_block_says_that_it_is_stopping_and_how_to_stop_at_once() -> None:
    """Whoever pressed ctrl-C is answered."""
    view = view_of({"a": 1})
    view.stopping = 3
    assert view.tally is not None
    view.tally.began()
    assert block(view, 0.0, 120, 24)[-1] == "stopping: 1 answer under way to wait for; ctrl-C again to cut them short"
    view.tally.under_way, view.cut = 0, True
    assert block(view, 0.0, 120, 24)[-1] == (
        "stopping: 3 answers under way cut short, 0 left; ctrl-C again to stop at once"
    )


@pytest.mark.parametrize("width", [1, 2, 10, 40, 80])
@pytest.mark.parametrize("height", [1, 2, 3, 5, 24])
def test_block_is_never_wider_or_higher_than_the_terminal(width: int, height: int) -> None:
    """Else drawing over it would leave lines behind; also with many configurations and wide letters."""
    view = view_of({f"\u6a21\u578b-{number}": 3 for number in range(30)})
    view.waiting = (Wait("x" * 100, "y" * 100, 1, None),)
    lines = block(view, 0.0, width, height)
    assert 1 <= len(lines) <= max(1, height - 1)
    for text in lines:
        columns = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
        assert columns <= width - 1


def test_block_of_many_configurations_says_how_many_are_not_shown() -> None:
    """None is left out without a word."""
    lines = block(view_of({f"m{number}": 0 for number in range(30)}), 0.0, 100, 10)
    assert lines[-1] == "  ... and 23 more configurations"
    assert len(lines) == 9


def test_names_cannot_move_the_cursor() -> None:
    """Control characters are shown, never sent."""
    view = view_of({"a": 0})
    view.waiting = (Wait("\x1b[2K", "\r\n", 1, None),)
    assert "\x1b" not in "".join(block(view, 0.0, 100, 24))
    assert "\n" not in line(view, 0.0)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (99.4, "99 s"), (100, "2 min"), (3600, "60 min"), (7500, "2 h 5 min")]
)
def test_duration_is_told_as_a_person_would(seconds: float, words: str) -> None:
    """Never more exact than it is."""
    assert duration(seconds) == words


def test_clipped_counts_columns() -> None:
    """Wide characters take two, combining ones none."""
    assert clipped("\u6a21\u578b", 3) == "\u6a21"
    assert clipped("e\u0301e\u0301", 2) == "e\u0301e\u0301"
