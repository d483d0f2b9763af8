# SPDX-License-Identifier: Apache-2.0
"""The runner `sentences`: a baseline without a model, the sentence of the documents that is most like the question.

What a language model adds is what it does better than this.
"""

from __future__ import annotations

import re
from typing import Any

from trialplate import RunOutput
from trialplate_sentences.words import words_of

__all__ = ["SentenceRunner"]


class SentenceRunner:
    """Answers with sentences of the documents in the model's settings.

    Args:
        sentences: how many to answer with, under `runners: {sentences: {sentences: 2}}`.
    """

    def __init__(self, sentences: int = 1) -> None:
        self.sentences = sentences

    def run(self, model: Any, case: Any) -> RunOutput:
        """Return the answer to one question; it costs nothing."""
        documents = model.settings.get("documents", {})
        if not documents:
            return RunOutput(failed=f"{model.name} has no documents to look into")
        asked = set(words_of(case.input))
        found = [part for text in documents.values() for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]
        found.sort(key=lambda part: len(asked.intersection(words_of(part))), reverse=True)
        return RunOutput(" ".join(found[: self.sentences]), cost_usd=0)
