# SPDX-License-Identifier: Apache-2.0
"""The formats of a report by name, those of installed packages too: what these raise is told as theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trialplate import plugins
from trialplate.errors import SpecError, TrialplateError
from trialplate.reports.reported import Reported

__all__ = ["report_format"]


def report_format(name: str) -> Callable[[Reported], Iterator[str]]:
    """Return what yields the lines of a report.

    Raises:
        SpecError: there is no such format; or, once it is asked for lines, a package's code failed.
    """
    found = plugins.find("reports", name)
    render: Callable[[Reported], Iterator[str]] = found.load()
    if found.distribution is None:
        return render

    def guarded(reported: Reported) -> Iterator[str]:
        try:
            for line in render(reported):
                if not isinstance(line, str):
                    raise TypeError(f"a line is {type(line).__name__}, not a text")
                yield line
        except TrialplateError:
            raise
        except Exception as error:
            message = f"the report {name!r} of {found.package} failed: {type(error).__name__}: {str(error)[:200]}"
            raise SpecError(message, hint="take another --format, or ask its authors", code="PLUGIN") from error

    return guarded
