# SPDX-License-Identifier: Apache-2.0
"""Values that are worked out when they are asked for: of hundreds of copies of a rule, a report shows a few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

__all__ = ["OnDemand"]

K = TypeVar("K")
V = TypeVar("V")


class OnDemand(Mapping[K, V]):
    """A mapping from functions: each is called once at most, and what comes to None is not there."""

    def __init__(self, makers: Mapping[K, Callable[[], V | None]]) -> None:
        self._makers = makers
        self._made: dict[K, V | None] = {}

    def _find(self, key: K) -> V | None:
        if key not in self._made:
            self._made[key] = self._makers[key]()
        return self._made[key]

    def __getitem__(self, key: K) -> V:
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[K]:
        return (key for key in self._makers if self._find(key) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Say whether there is anything to ask for; to find out what comes to something would be to ask for all."""
        return bool(self._makers)
