# SPDX-License-Identifier: Apache-2.0
"""The README's blocks as things to do: `file NAME` blocks are written, `console` blocks are run line by line.

A file of a folder, `file FOLDER/NAME`, makes that folder, and what follows is run there.

`python tests/e2e/readme_blocks.py --write` runs them and writes what they print into the README.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"^```(console|file [^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHANGING = (
    (re.compile(r"\d{8}T\d{9}Z-[0-9a-f]{8}"), "RUN"),
    (re.compile(r"\d{4}-\d{2}-\d{2}T[\d:.]+Z"), "TIME"),
    (re.compile(r"\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}"), "+KEY"),
    (re.compile(r"\+[0-9a-f]{8}"), "+ID"),
    (re.compile(r"[0-9a-f]{64}"), "DIGEST"),
    (re.compile(r"-[0-9a-f]{8}\b"), "-ORIGIN"),
)


def same(text: str) -> str:
    """Return the text without what differs from run to run: ids, keys, digests, times, and a program's speed."""
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    return re.sub(r"^(bot .*?)\s+\d+\s+\d+$", r"\1 MS MS", text, flags=re.MULTILINE)


def play(readme: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Do what the blocks say, in order; yield each console block as written and as it came out."""
    here = folder
    environ = {**os.environ, "TRIALPLATE_HOME": str(folder / "home"), "NO_COLOR": "1"}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    for kind, body in BLOCK.findall(readme):
        if kind != "console":
            name = kind.removeprefix("file ")
            file = folder / (name if "/" in name else f"own/{name}")
            here = file.parent
            here.mkdir(exist_ok=True)
            file.write_text(body, encoding="utf-8")
            continue
        out = []
        for line in body.splitlines():
            if not line.startswith("$ "):
                continue
            out.append(line)
            if line.startswith("$ cd "):
                here = here / line.removeprefix("$ cd ")
                continue
            done = subprocess.run(
                ["sh", "-c", line.removeprefix("$ ")],
                cwd=here,
                env=environ,
                text=True,
                stdout=-1,
                stderr=-2,
                timeout=120,
            )
            out += done.stdout.splitlines()
            if done.returncode:
                out.append(f"(exit {done.returncode})")
        yield body, "\n".join(out) + "\n"


def main() -> None:
    """Write what the commands print into the README."""
    text = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        for written, came in play(text, Path(name)):
            text = text.replace(f"```console\n{written}```", f"```console\n{came}```")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
