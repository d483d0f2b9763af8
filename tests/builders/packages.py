# SPDX-License-Identifier: Apache-2.0
"""Installed packages as Python finds them: metadata, entry points and one module, laid into a folder."""

from __future__ import annotations

from pathlib import Path


def install(folder: Path, package: str, entry_points: str, code: str = "", version: str = "1.2") -> None:
    """Lay an installed package into a folder: its metadata, and the module `<package>_code`."""
    info = folder / f"{package}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entry_points)
    (folder / f"{package}_code.py").write_text(code)
