# SPDX-License-Identifier: Apache-2.0
"""The front door: sends `verify` and `gate` to the auditor's program, everything else to the Typer application.

The auditor's program needs neither Typer nor pydantic, so it starts in a third of the time. After it, the front door
remembers what was verified, and appends the decision that `gate` derived, unless it is told not to. It prints the first
page of help itself.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from trialplate.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_USAGE, TrialplateError

__all__ = ["main", "run"]


def run() -> None:
    """Run the command line and exit: the console script."""
    from trialplate.verify.output import flushed

    if sys.argv[1:2] not in (["verify"], ["gate"]):
        sys.exit(flushed(main(sys.argv[1:])))
    gc.disable()  # a check leaves no cycles behind; to look for them is a twentieth of its time
    os._exit(flushed(main(sys.argv[1:])))  # nothing is left to do; to take down the interpreter is another tenth


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. The one handler of every deliberate error."""
    try:
        if arguments and arguments[0] in ("verify", "gate"):
            from trialplate.cli.check import check

            return check(list(arguments))
        if list(arguments) in ([], ["--help"]):
            from trialplate.cli.front_page import PAGE

            print(PAGE, end="", file=sys.stdout if arguments else sys.stderr)
            return EXIT_DONE if arguments else EXIT_USAGE
        from trialplate.cli.app import application

        return application(list(arguments))
    except TrialplateError as error:
        from trialplate.verify.cli import print_error

        print_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except OSError as error:
        from trialplate.verify.output import no_output

        return no_output(error)
