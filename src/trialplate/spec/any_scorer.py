# SPDX-License-Identifier: Apache-2.0
"""What all scorers have in common, as their author writes it."""

from __future__ import annotations

from trialplate.spec.fields import Author, AuthorSelector, Name

__all__ = ["AnyScorer"]


class AnyScorer(Author):
    """What every scorer may say."""

    metric: Name | None = None
    cases: AuthorSelector = AuthorSelector()
