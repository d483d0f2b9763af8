# SPDX-License-Identifier: Apache-2.0
"""`schema`: the JSON Schema of a format, from the one definition that reads and writes it."""

from __future__ import annotations

from trialplate.errors import EXIT_DONE, UsageError

__all__ = ["print_schema"]


def print_schema(name: str | None) -> int:
    """Print a schema, or the names of all."""
    from trialplate.spec.nearest import suggestion
    from trialplate.spec.schemas import documents

    found = {file.partition(".")[0]: data for file, data in documents().items()}
    if name is None:
        print("\n".join(found))
        return EXIT_DONE
    if name not in found:
        raise UsageError(f"there is no schema {name!r}", hint=suggestion(name, found))
    print(found[name].decode(), end="")
    return EXIT_DONE
