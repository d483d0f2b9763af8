# SPDX-License-Identifier: Apache-2.0
"""`from trialplate import RunOutput`: there when it is asked for, and light."""

from __future__ import annotations

import subprocess
import sys

import pytest

import trialplate
from trialplate.run_output import RunOutput


def test_run_output_is_the_packages_and_loads_nothing_heavy() -> None:
    """A function under test imports it in every attempt."""
    script = "import sys; from trialplate import RunOutput; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.partition(".")[0] == "trialplate"} == {
        "trialplate",
        "trialplate.run_output",
    }
    assert loaded & {"pydantic", "asyncio", "dataclasses", "httpx", "json", "inspect"} == set()


def test_run_output_has_the_fields_of_an_answer() -> None:
    """By name or in order; everything but the text is unknown until it is said."""
    assert trialplate.RunOutput is RunOutput
    assert RunOutput("x") == ("x", None, None, None)
    assert RunOutput(failed="no index").output == ""


def test_other_names_are_not_there() -> None:
    """With the ordinary error."""
    with pytest.raises(AttributeError, match="RunInput"):
        trialplate.RunInput  # noqa: B018
