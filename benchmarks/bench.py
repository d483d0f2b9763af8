# SPDX-License-Identifier: Apache-2.0
"""The table of DESIGN section 9: whole processes, each row beside its goal and, where there is one, its reference.

Usage: bench.py [http] [stand-in] [memory] [start] [verify] [size]
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = [sys.executable, "-m", "trialplate"]

PLAN = """\
trialplate: 1
name: bench
test_sets: [{{file: cases/cases.jsonl}}]
models:
  m: {model}
repeats: {repeats}
scorers: {{correct: {{type: exact}}}}
pass_mark: {{rules: [{{id: correct, at_least: 0.9, of: correct, basis: estimate}}]}}
run: {{concurrency: {at_once}}}
"""


def main(rows: Sequence[str]) -> None:
    """Measure the rows named, or all."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: modules are compiled once, not at every start
    every = {"http": http, "stand-in": stand_in, "memory": memory, "start": start, "verify": verify, "size": size}
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}")
    for name in rows or every:
        every[name]()


def http() -> None:
    """2,000 HTTP trials, 100 in flight, 50 ms server."""
    with served() as url, project(2000, 1, f"{{runner: openai-compatible, url: '{url}/v1', model: m}}", 100) as folder:
        ours, bare = [], []
        for _ in range(3):
            bare.append(
                measure([sys.executable, str(HERE / "bare_aiohttp.py"), f"{url}/v1/chat/completions", "2000", "100"])[0]
            )
            ours.append(measure([*PROGRAM, "run", "--yes"], folder)[0])
    ratio = statistics.median(a / b for a, b in zip(ours, bare, strict=True))
    row(
        "2,000 HTTP trials, 100 in flight",
        f"{statistics.median(ours):.2f} s",
        f"<= 2 x bare aiohttp: {ratio:.2f} x",
        f"{statistics.median(bare):.2f} s",
    )


def stand_in() -> None:
    """10,000 trials of a stand-in model."""
    with project(1000, 10, STAND_IN, 4) as folder:
        seconds, peak = measure([*PROGRAM, "run", "--yes"], folder)
    row("10,000 trials of a stand-in model", f"{seconds:.2f} s, {peak:.0f} MB", "<= 4 s, <= 150 MB")


def memory() -> None:
    """100,000 trials: memory against 10,000."""
    with project(1000, 10, STAND_IN, 4) as folder:
        _, few = measure([*PROGRAM, "run", "--yes"], folder)
    with project(1000, 100, STAND_IN, 4) as folder:
        seconds, many = measure([*PROGRAM, "run", "--yes"], folder)
    row(
        "100,000 trials, memory against 10,000",
        f"{many:.0f} MB against {few:.0f} MB ({seconds:.0f} s)",
        f"within 20 %: {many / few - 1:+.0%}",
    )


def start() -> None:
    """Cold start of `--help`, `gate --no-append` and `verify` on 200 trials."""
    with project(100, 2, STAND_IN, 4) as folder:
        measure([*PROGRAM, "run", "--yes"], folder)
        bare = statistics.median(measure([sys.executable, "-c", "pass"], folder)[0] for _ in range(11))
        for words in (["--help"], ["gate", "latest", "--no-append"], ["verify", "latest"]):
            seconds = statistics.median(measure([*PROGRAM, *words], folder)[0] for _ in range(11))
            row(f"start: {' '.join(words)}", f"{seconds:.3f} s", "<= 0.1 s", f"bare interpreter {bare:.3f} s")


def verify() -> None:
    """Verify and re-derive 100,000 trials."""
    with project(1000, 100, STAND_IN, 4) as folder:
        measure([*PROGRAM, "run", "--yes"], folder)
        for note in ("with content", "record alone"):
            seconds, peak = measure([*PROGRAM, "verify", "latest"], folder)
            row(f"verify 100,000 trials, {note}", f"{seconds:.1f} s, {peak:.0f} MB", "<= 6 s")
            for path in folder.glob("runs/*/content.jsonl"):
                path.unlink()


def size() -> None:
    """Installed size of the core, without .pyc."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "venv", name], check=True)
        pip = [f"{name}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(HERE.parent)]
        subprocess.run(pip, check=True)
        site = next(Path(name).glob("lib/python*/site-packages"))
        ours = [
            p
            for p in site.rglob("*")
            if p.is_file() and p.suffix != ".pyc" and p.relative_to(site).parts[0] not in ("pip", "setuptools")
        ]
        row("installed size, core", f"{sum(p.stat().st_size for p in ours) / 1e6:.0f} MB", "<= 70 MB")


# ------------------------------------------------------------------------------------------------------- machinery

STAND_IN = '{runner: stand-in, answers: ["4"], pricing: free}'


def row(what: str, measured: str, goal: str, reference: str = "") -> None:
    """Print one row."""
    print(f"{what:<40} {measured:<34} goal {goal:<34} {reference}", flush=True)


@contextmanager
def project(cases: int, repeats: int, model: str, at_once: int) -> Iterator[Path]:
    """Make a project in a folder that goes away; its key too."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        (folder / "cases").mkdir(parents=True)
        os.environ["TRIALPLATE_HOME"] = f"{name}/home"
        lines = [
            json.dumps({"id": f"q{n}", "input": f"What is {n} and {n}?", "reference": str(2 * n)}) for n in range(cases)
        ]
        (folder / "cases" / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        plan = PLAN.format(model=model, repeats=repeats, at_once=at_once)
        (folder / "trialplate.yaml").write_text(plan, encoding="utf-8")
        yield folder


@contextmanager
def served() -> Iterator[str]:
    """Start the 50 ms server and return its URL."""
    server = subprocess.Popen([sys.executable, str(HERE / "chat_server.py")], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()


def measure(command: Sequence[str], folder: Path | None = None) -> tuple[float, float]:
    """Run a command and return its wall seconds and its peak memory in MB."""
    began = time.perf_counter()
    with open(os.devnull, "wb") as nothing:
        process = subprocess.Popen(command, cwd=folder, stdout=nothing, stderr=nothing)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if process.returncode not in (0, 1):  # 1 is a negative answer, measured all the same
        raise SystemExit(f"{shutil.which(command[0])} {' '.join(command[1:])} ended with {process.returncode}")
    return seconds, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1:])
