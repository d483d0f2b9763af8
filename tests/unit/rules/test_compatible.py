# SPDX-License-Identifier: Apache-2.0
"""What a configuration does not take of a case, told from the plan and the case alone."""

from __future__ import annotations

from typing import Any

import pytest
from small_runs import DIGEST, asked, configuration

from trialplate.record.values import CaseFile, CaseTool, PlanTool
from trialplate.rules.compatible import incompatible

PNG, TIFF = (CaseFile(name=kind, type=f"image/{kind}", digest=DIGEST) for kind in ("png", "tiff"))
LOCAL = TIFF.replace(access=("local",))
READS, TOOL = CaseTool(name="reader"), PlanTool(name="reader")


@pytest.mark.parametrize(
    ("case", "model", "wanted"),
    [
        ({}, {"accepts": ()}, None),
        ({"files": (PNG,)}, {"accepts": ("image/png",)}, None),
        ({"files": (PNG, TIFF)}, {"accepts": ("image/png",)}, "image/tiff"),
        ({"files": (PNG,)}, {"accepts": ()}, "image/png"),
        ({"files": (TIFF,), "tools": (READS,)}, {"accepts": (), "tools": (TOOL,)}, "image/tiff"),
        ({"files": (LOCAL,)}, {"accepts": ("image/tiff",)}, "image/tiff for a tool, and none is offered"),
        ({"files": (LOCAL,), "tools": (READS,)}, {"accepts": ()}, "image/tiff for a tool, and none is offered"),
        ({"files": (LOCAL,), "tools": (READS,)}, {"accepts": (), "tools": (TOOL,)}, None),
        ({"answer_schema": {"type": "object"}}, {"structured": "none"}, "answer_schema, under structured: false"),
        ({"answer_schema": {"type": "object"}}, {"structured": "text"}, None),
        ({"answer_format": "a number"}, {"structured": "none"}, None),
    ],
)
def test_case_fits_or_the_first_thing_that_does_not_is_told(
    case: dict[str, Any], model: dict[str, Any], wanted: str | None
) -> None:
    """A file that may be sent and is not taken is never left to a tool instead."""
    assert incompatible(asked(**case), configuration(runner="openai", model_id="m", **model)) == wanted


@pytest.mark.parametrize("runner", ["command", "python", "stand-in", "http", "trace"])
def test_what_is_no_hosted_model_takes_whatever_it_gets(runner: str) -> None:
    """It opens files itself, or such a plan is refused."""
    assert incompatible(asked(files=(TIFF,)), configuration(runner=runner, accepts=())) is None
