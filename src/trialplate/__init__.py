# SPDX-License-Identifier: Apache-2.0
"""An acceptance-testing ledger for language models and agents. From Python: see docs/reference/python.md."""

__version__ = "0.1.0"

_PLACES = {
    "Model": "api.models",
    "PassMark": "api.marks",
    "RunOutput": "run_output",
    "RunRecord": "api.run_record",
    "Score": "scorers.base",
    "TestSet": "api.test_sets",
    "load_test_set": "api.test_sets",
    "render": "api.run_record",
    "run_trial": "api.trial",
}
"""What `from trialplate import ...` offers, and where it is: loaded when it is asked for, and for nobody else."""


def __getattr__(name: str) -> object:
    """Return what programs import.

    Raises:
        AttributeError: there is no such name.
    """
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'trialplate' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"trialplate.{place}"), name)


def __dir__() -> list[str]:
    """Return what there is, asked for or not."""
    return sorted({*globals(), *_PLACES})
