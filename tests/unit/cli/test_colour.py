# SPDX-License-Identifier: Apache-2.0
"""When there is colour, and when lines are drawn over."""

from __future__ import annotations

import io

import pytest

from trialplate.cli.colour import colour_mode, coloured, painted, redraws
from trialplate.errors import UsageError


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.mark.parametrize(
    ("mode", "terminal", "environ", "wanted"),
    [
        ("auto", True, {"TERM": "xterm"}, True),
        ("auto", False, {"TERM": "xterm"}, False),
        ("auto", True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ("auto", True, {"TERM": "xterm", "NO_COLOR": ""}, True),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", False, {"CLICOLOR_FORCE": "1"}, True),
        ("auto", False, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
        ("auto", False, {"CLICOLOR_FORCE": "1", "TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1", "TERM": "dumb"}, True),
        ("never", True, {"CLICOLOR_FORCE": "1"}, False),
    ],
)
def test_colour_follows_the_option_then_the_environment_then_the_stream(
    mode: str, terminal: bool, environ: dict[str, str], wanted: bool
) -> None:
    """NO_COLOR counts if it is not empty; the option is stronger than everything."""
    assert coloured(colour_mode(mode), Terminal() if terminal else io.StringIO(), environ) is wanted


@pytest.mark.parametrize(
    ("stream", "environ", "wanted"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {}, False),
        (io.StringIO(), {"TERM": "xterm", "CLICOLOR_FORCE": "1"}, False),
        (None, {"TERM": "xterm"}, False),
    ],
)
def test_lines_are_drawn_over_on_a_terminal_that_can_and_nowhere_else(
    stream: io.StringIO | None, environ: dict[str, str], wanted: bool
) -> None:
    """Colour forced upon a file does not make it a terminal."""
    assert redraws(stream, environ) is wanted


def test_unknown_mode_is_told_the_nearest() -> None:
    """Like every other value."""
    with pytest.raises(UsageError) as caught:
        colour_mode("alwys")
    assert caught.value.hint == "did you mean always?"


def test_counts_of_outcomes_are_painted_and_nothing_else() -> None:
    """Not a zero, not a name, and the text stays the same."""
    text = "a-3-passed  3/9  3 passed  0 failed  2 error\nunknown: a: 2 timeout"
    shown = painted(text, True)
    assert shown == (
        "a-3-passed  3/9  \x1b[32m3 passed\x1b[0m  0 failed  \x1b[35m2 error\x1b[0m\n\x1b[35munknown\x1b[0m: a: 2 timeout"
    )
    assert painted(text, False) == text
