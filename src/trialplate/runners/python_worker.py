# SPDX-License-Identifier: Apache-2.0
"""The program in which a function under test is called, once: `python -P python_worker.py ROOT FILE FUNCTION SOURCE`.

It reads `{"model", "question", "settings"}` from standard input and writes one JSON object: `output` (with `cost_usd`,
`tokens`), `failed`, `raised` (the function raised), `unusable` (it returned something else) or `missing` (the file
could not be imported, so nothing was asked). What the function prints goes to the error output. It ends as soon as the
function has returned, whatever threads are left, and a fork of it says nothing. Standard library only, besides
`RunOutput`.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Call the function and tell what came of it; ends the process."""
    sys.path.append(sys.argv[-1])  # SOURCE
    from trialplate.run_output import told
    from trialplate.transport.function_child import serve

    serve(lambda function, asked: function(asked["model"], asked["question"], asked["settings"]), told)


if __name__ == "__main__":
    main()
