# SPDX-License-Identifier: Apache-2.0
"""The environment of a run, by an allow-list: versions, platform, the project's commit. No host, user or path."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from trialplate import __version__
from trialplate.record.entries import Environment

__all__ = ["environment_of"]

PACKAGES = ("aiohttp", "cryptography", "httpx", "httpx-aiohttp", "regex", "rfc8785")
"""What the run's result could depend on."""


def environment_of(project: Path) -> Environment:
    """Return what is recorded about where a run takes place."""
    commit, dirty = _git(project)
    return Environment(
        trialplate=__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=f"{platform.system()} {platform.machine()}",
        commit=commit,
        dirty=dirty,
        packages={name: found for name in PACKAGES if (found := _version(name)) is not None},
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git(project: Path) -> tuple[str | None, bool | None]:
    """Return the commit and whether the tree differs from it; nothing outside a repository or without git."""
    try:
        commit = _say(project, "rev-parse", "--verify", "HEAD^{commit}")
        return commit, bool(_say(project, "status", "--porcelain", "--untracked-files=no", "--", "."))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _say(project: Path, *arguments: str) -> str:
    command = ["git", "-c", "core.fsmonitor=false", *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.strip()
