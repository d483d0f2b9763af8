# SPDX-License-Identifier: Apache-2.0
"""`keys new`: a signing key in the user's configuration folder; the public line for everybody else."""

from __future__ import annotations

import os

from trialplate.errors import EXIT_DONE
from trialplate.ledger.keys import new_key
from trialplate.verify.known import config_folder

__all__ = ["make_key"]


def make_key(name: str) -> int:
    """Make a key and print its public line."""
    folder = config_folder(os.environ)
    print(new_key(name, folder))
    print(f"the private half is in {folder / 'keys' / (name + '.key')}, for you alone: back it up, never commit it")
    return EXIT_DONE
