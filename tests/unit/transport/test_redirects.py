# SPDX-License-Identifier: Apache-2.0
"""Where a redirect may lead."""

from __future__ import annotations

import pytest

from trialplate.errors import SpecError
from trialplate.transport.download import _next


@pytest.mark.parametrize(
    ("location", "wanted"),
    [
        ("/b.png", "https://a.example/b.png"),
        ("c.png#top", "https://a.example/x/c.png"),
        ("//b.example/d", "https://b.example/d"),
        ("https://b.example/e?k=1", "https://b.example/e?k=1"),
    ],
)
def test_redirect_is_taken_relative_to_where_it_stands(location: str, wanted: str) -> None:
    """As RFC 3986 5 resolves a reference."""
    assert _next("https://a.example/x/y", location) == wanted


@pytest.mark.parametrize("location", ["http://a.example/b", "file:///etc/hosts", "data:,x", "https://[::"])
def test_redirect_never_leads_away_from_the_encrypted_web(location: str) -> None:
    """From https only to https; and nowhere that is no address."""
    with pytest.raises(SpecError):
        _next("https://a.example/x", location)
