# SPDX-License-Identifier: Apache-2.0
"""The front door: sends `verify` and `gate` to the auditor's program, everything else to the Typer application.

The auditor's program needs neither Typer nor pydantic, so it starts in a third of the time. After it, the front door
remembers what was verified, and appends the decision that `gate` derived, unless it is told not to. It prints the first
page of help itself.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence

from trialplate.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_USAGE, TrialplateError, UsageError
from trialplate.verify.output import flushed, no_output, ready, tell

__all__ = ["main", "run"]


def run() -> None:
    """Run the command line and exit: the console script."""
    ready()
    ended: list[int] = []
    if not atexit._ncallbacks():  # else it would be called before theirs, and be the last
        atexit.register(_leave, ended)
    if sys.argv[1:2] in (["verify"], ["gate"]):
        gc.disable()  # a check leaves no cycles behind; to look for them is a twentieth of its time
    ended.append(flushed(main(sys.argv[1:])))
    sys.exit(ended[0])


def _leave(ended: list[int]) -> None:
    """End the process with its code as the last thing: to take down the interpreter can take a fifth of a second."""
    if ended:
        os._exit(flushed(ended[0]))


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. The one handler of every deliberate error."""
    try:
        if "_TRIALPLATE_COMPLETE" in os.environ:  # a shell asks what could be typed: it is not typed yet
            from trialplate.cli.app import application

            return application([])
        if arguments and arguments[0] in ("verify", "gate"):
            from trialplate.cli.check import check

            return check(list(arguments))
        if list(arguments) in ([], ["--help"], ["-h"]):
            from trialplate.cli.front_page import PAGE

            if not arguments:
                tell(PAGE, end="")
                return EXIT_USAGE
            print(PAGE, end="")
            return EXIT_DONE
        try:
            from trialplate.cli.app import application
        except ModuleNotFoundError as error:
            hint = "install it whole: pip install trialplate; two packages are enough for verify and gate alone"
            raise UsageError(f"this command needs the package {error.name}", hint=hint) from None
        return application(list(arguments))
    except TrialplateError as error:
        from trialplate.verify.cli import print_error

        print_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        tell("interrupted")
        return EXIT_INTERRUPTED
    except OSError as error:
        return no_output(error)
