# SPDX-License-Identifier: Apache-2.0
"""What all scorers have in common, as their author writes it."""

from __future__ import annotations

from typing import Literal

from trialplate.spec.fields import Author, AuthorSelector, Name

__all__ = ["AnyScorer", "Parse"]

Parse = Literal["strict", "fenced", "embedded"]
"""How JSON is found in a text; see `transport.json_answers`."""


class AnyScorer(Author):
    """What every scorer may say."""

    metric: Name | None = None
    cases: AuthorSelector = AuthorSelector()
