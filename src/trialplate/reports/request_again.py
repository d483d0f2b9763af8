# SPDX-License-Identifier: Apache-2.0
"""The request that a hosted model was sent, built again from the plan and the opened texts.

Its digest tells whether it is the one that the record's call names: then what is shown is what was sent, to the byte.
It is another where a later version of this program would send other bytes; then nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Mapping

from trialplate.errors import SpecError, TrialplateError
from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Configuration
from trialplate.reports.trials import answer_text
from trialplate.rules.cells import HOSTED_RUNNERS
from trialplate.runners.base import Failure, Request
from trialplate.runners.hosted import provider_module

__all__ = ["body_digest", "request_body"]


def request_body(item: Configuration, case: Case | None, opened: Mapping[str, Json]) -> Json | None:
    """Return the body of the request for a case; None if it cannot be told.

    So it is where a text of it is withheld, where the runner sends no such body, and where files, tools or a form of
    the answer go with the question: without these it would be another request.
    """
    held = {(text.role, text.name): opened.get(text.commitment) for text in item.texts}
    if case is None or item.runner not in HOSTED_RUNNERS or None in held.values():
        return None
    if case.files or case.tools or case.answer_format is not None or case.answer_schema is not None:
        return None
    request = Request(
        configuration=item,
        case=case,
        texts={name: answer_text(value) for name, value in held.items()},
        repeat=1,
        attempt=1,
        timeout_s=1,
        request_id="none",
    )
    try:
        return provider_module(item.runner).build_request(request).body
    except (Failure, SpecError):
        return None


def body_digest(body: Json | None) -> str | None:
    """Return what a call names its request by."""
    try:
        return None if body is None else canonical.digest_value(body)
    except TrialplateError:
        return None
