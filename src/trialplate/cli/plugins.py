# SPDX-License-Identifier: Apache-2.0
"""`plugins`: every runner, scorer, loader and report that a plan or a command may name, and where it comes from."""

from __future__ import annotations

from trialplate import __version__, plugins
from trialplate.errors import EXIT_DONE
from trialplate.reports.terminal import aligned
from trialplate.verify.cli import print_json

__all__ = ["show_plugins"]


def show_plugins(as_json: bool) -> int:
    """List what is there, by group and name; none of it is loaded."""
    found = [
        {
            "group": item.group,
            "name": item.name,
            "package": item.distribution or "trialplate",
            "version": item.version or (__version__ if item.distribution is None else None),
            "source": item.place,
        }
        for item in plugins.list_plugins()
    ]
    if as_json:
        print_json({"format": "trialplate-plugins/1", "plugins": found})
        return EXIT_DONE
    head = ["group", "name", "package", "version", "source"]
    for line in aligned([head, *([item[name] or "-" for name in head] for item in found)], left=range(len(head))):
        print(line)
    return EXIT_DONE
