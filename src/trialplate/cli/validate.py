# SPDX-License-Identifier: Apache-2.0
"""`validate`: everything about a plan that can be checked without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from trialplate.errors import EXIT_DONE
from trialplate.plugins import PACKAGES
from trialplate.spec.validate import validate
from trialplate.verify.cli import print_json
from trialplate.verify.findings import counted
from trialplate.verify.text import visible

__all__ = ["validate_plan"]


def validate_plan(plan: Path, *, as_json: bool = False) -> int:
    """Check a plan and print what it comes to."""
    from trialplate.engine.baselines import named_baseline
    from trialplate.engine.fetching import fetch

    found = validate(plan, fetch, PACKAGES, named_baseline)
    if as_json:
        print_json({"format": "trialplate-validation/1", **asdict(found)})
        return EXIT_DONE
    tags = ", ".join(f"{tag} {number}" for tag, number in found.tags.items())
    print(f"OK: {visible(found.name)}, {counted(found.trials, 'trial')}")
    print(f"  test set {visible(found.test_set)} ({found.visibility}): {counted(found.cases, 'case')}; {visible(tags)}")
    secret = " (keep it to yourself)" if found.visibility == "private" else ""
    print(f"  digest of the cases: {found.digest}{secret}")
    if found.portable is not None:
        print(f"  portable: {found.portable}{secret}")
    for noun, ids in (
        ("without a reference", found.without_reference),
        ("with an id from the place in the file", found.automatic),
        ("with files", tuple(found.with_files)),
    ):
        if ids:
            print(f"  {noun}: {visible(_some(ids))}")
    print(f"  pass mark {found.pass_mark}: {', '.join(found.rules)}")
    print(f"  configurations: {', '.join(found.configurations)}")
    print("  scorers: " + ", ".join(f"{name} on {counted(number, 'case')}" for name, number in found.scorers.items()))
    if found.secrets:
        print(f"  a live run needs these environment variables: {', '.join(found.secrets)}")
    for path, digest in found.pinned.items():
        print(f"  pinned: {visible(path)} {digest}")
    for note in found.unpinned:
        print(f"  not pinned: {visible(note)}")
    for warning in found.warnings:
        print(f"warning: {visible(warning)}")
    return EXIT_DONE


def _some(ids: Sequence[str]) -> str:
    """Return how many cases these are, and the first few."""
    shown = ", ".join(ids[:5])
    return f"{counted(len(ids), 'case')}: {shown}{', ...' if len(ids) > 5 else ''}"
