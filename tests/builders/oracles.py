# SPDX-License-Identifier: Apache-2.0
"""Other people's statistics, to compare ours with: skipped where they are not installed, and a failure in CI."""

from __future__ import annotations

import importlib
import os
import warnings
from types import ModuleType

import pytest

__all__ = ["oracle"]


def oracle(name: str) -> ModuleType:
    """Return a module of scipy, statsmodels or scikit-learn; what it warns of while it loads is its own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError as error:
            if os.environ.get("CI"):
                pytest.fail(f"{name} is missing; CI must have it: {error}")
            pytest.skip(f"{name} is not installed")
