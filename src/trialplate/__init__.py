# SPDX-License-Identifier: Apache-2.0
"""An acceptance-testing ledger for language models and agents."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trialplate.run_output import RunOutput as RunOutput
del TYPE_CHECKING

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Return what functions under test import, without loading it for anybody else.

    Raises:
        AttributeError: there is no such name.
    """
    if name == "RunOutput":
        from trialplate.run_output import RunOutput

        return RunOutput
    raise AttributeError(f"module 'trialplate' has no attribute {name!r}")
