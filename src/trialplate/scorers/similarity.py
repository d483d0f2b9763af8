# SPDX-License-Identifier: Apache-2.0
"""The scorer `similarity`, version 1: how near the answer is to a reference, by the cosine of their embeddings.

One call embeds all references and the answer. The metric is the highest cosine over the references, 0 where it is
negative (DESIGN's metrics lie in [0,1]), to 6 decimals, half to even; the trial passes if that number is at least
`threshold`. A reference that is no text is its JSON. Vectors of different length, without length, or fewer or more than
texts leave the cell unknown: nothing follows from them.

What a vector is is the embedder's own word; it is not kept, and a re-score does not work it out again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal

from trialplate.record import canonical, values
from trialplate.record.frozen import Json
from trialplate.record.values import Case
from trialplate.scorers.base import (
    NO_CONTEXT,
    Question,
    Score,
    ScorerContext,
    ScorerError,
    Texts,
    expected,
    require_settings,
)

__all__ = ["SimilarityScorer", "cosine", "make_similarity"]

_PLACES = Decimal("0.000001")


def make_similarity(scorer: values.Scorer, texts: Texts) -> SimilarityScorer:
    """Make a `similarity` scorer.

    Raises:
        SpecError: SCORER: a setting that it does not have.
    """
    require_settings(scorer, {"threshold"})
    return SimilarityScorer(scorer)


class SimilarityScorer:
    """Whether the answer means about the same as a reference."""

    def __init__(self, scorer: values.Scorer) -> None:
        self._metric = scorer.metric
        self._threshold = Decimal(str(scorer.settings["threshold"]))

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: no vectors came, or none that can be compared.
        """
        references = [_text(item) for item in case.references]
        if not references:
            raise ScorerError("the case has no reference to compare with")
        plain = answer.encode("utf-8", "replace").decode()  # a request cannot carry half of a surrogate pair
        reply = await context.ask(Question(texts=(*references, plain)))
        *known, found = _checked(reply.vectors, len(references) + 1)
        nearest = max(cosine(item, found) for item in known)
        value = Decimal(repr(min(1.0, max(0.0, nearest)))).quantize(_PLACES, ROUND_HALF_EVEN)
        verdict: Literal["passed", "failed"] = "passed" if value >= self._threshold else "failed"
        reason = f"cosine {nearest:.6f} with {expected(references)}; at least {self._threshold} passes"
        return Score(metrics={self._metric: float(value)}, verdict=verdict, reason=reason)


def _text(reference: Json) -> str:
    return reference if isinstance(reference, str) else canonical.encode(reference).decode()


def _checked(vectors: Sequence[tuple[float, ...]], number: int) -> Sequence[tuple[float, ...]]:
    """Return vectors that can be compared.

    Raises:
        ScorerError: they cannot.
    """
    if len(vectors) != number:
        raise ScorerError(f"{len(vectors)} embeddings came for {number} texts")
    sizes = {len(item) for item in vectors}
    if len(sizes) != 1 or not all(sizes):
        raise ScorerError(f"embeddings of different dimensions: {', '.join(map(str, sorted(sizes)))}")
    if not all(any(item) for item in vectors):
        raise ScorerError("an embedding is all zeros, and has no direction")
    return vectors


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors of one length, none of them zero, in 64-bit floats.

    Each is scaled by its largest part first, so that neither a square nor a product leaves the range of a float.
    """
    most, largest = max(map(abs, one)), max(map(abs, other))
    first, second = [x / most for x in one], [y / largest for y in other]
    dot = math.fsum(x * y for x, y in zip(first, second, strict=True))
    return dot / math.sqrt(math.fsum(x * x for x in first) * math.fsum(y * y for y in second))
