# SPDX-License-Identifier: Apache-2.0
"""Retry-After in both forms."""

from __future__ import annotations

import pytest

from trialplate.transport.http import LONGEST_WAIT_S, HttpRequest, retry_after_s

NOON = 1_767_268_800.0  # Thu, 01 Jan 2026 12:00:00 GMT


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("0", 0.0),
        ("3", 3.0),
        (" 120 ", 120.0),
        ("1.5", 1.5),
        ("9" * 400, float(LONGEST_WAIT_S)),
        ("Thu, 01 Jan 2026 12:00:03 GMT", 3.0),
        ("Thursday, 01-Jan-26 12:00:03 GMT", 3.0),
        ("Thu Jan  1 12:00:03 2026", 3.0),
        ("Thu, 01 Jan 2026 11:59:00 GMT", 0.0),
    ],
)
def test_retry_after_in_a_known_form_is_the_wait_in_seconds(value: str, wait: float) -> None:
    """Seconds, and the three forms of an HTTP-date; a date that has passed asks for no wait."""
    assert retry_after_s({"retry-after": value}, NOON) == wait


def test_retry_after_as_a_date_within_a_second_is_rounded_up() -> None:
    """Case H01: rounding down comes back early and is refused again."""
    assert retry_after_s({"retry-after": "Thu, 01 Jan 2026 12:00:03 GMT"}, NOON + 0.2) == 3.0


def test_retry_after_as_a_date_is_taken_to_the_servers_own_clock() -> None:
    """A clock that is an hour off here must not become an hour's wait (case R05)."""
    headers = {"retry-after": "Thu, 01 Jan 2026 12:00:03 GMT", "date": "Thu, 01 Jan 2026 12:00:01 GMT"}
    assert retry_after_s(headers, NOON - 3600) == 2.0


@pytest.mark.parametrize("value", [None, "", "soon", "-1", "1e3", "Infinity", "nan", "0x10", "\u0663", "Thu, 99 Foo"])
def test_retry_after_that_cannot_be_read_asks_for_nothing(value: str | None) -> None:
    """Nonsense is no wait of zero and no crash: the engine's own back-off applies."""
    assert retry_after_s({} if value is None else {"retry-after": value}, NOON) is None


def test_a_request_in_an_error_text_does_not_show_its_headers() -> None:
    """One of them is the key."""
    shown = repr(HttpRequest(url="http://h/", headers={"authorization": "Bearer sk-1"}, body={}))
    assert "sk-1" not in shown
