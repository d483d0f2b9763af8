# SPDX-License-Identifier: Apache-2.0
"""The table of DESIGN section 9: whole processes, as a user starts them, each beside its goal and its reference.

Every figure is the median of several runs; a reference is measured in turns with what it is a reference of, so that
both meet the same machine. The table is printed as it will be pasted, row by row as rows are done.

Usage: bench.py [--quick] [--runs N] [http] [stand-in] [memory] [resume] [start] [verify] [decisions] [size]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = [sys.executable, "-m", "trialplate"]
RUN = [*PROGRAM, "run", "--yes"]
STAND_IN = '{runner: stand-in, answers: ["4"], pricing: free}'
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
READ = """
import hashlib, json, sys
for name in sys.argv[1:]:
    for line in open(name, "rb"):
        hashlib.sha256(line).digest(), json.loads(line)
"""
"""The least that any reader of these files does, with the standard library."""


def main() -> None:
    """Measure the rows named, or all."""
    rows = {
        "http": http,
        "stand-in": stand_in,
        "memory": memory,
        "resume": resume,
        "start": start,
        "verify": verify,
        "decisions": decisions,
        "size": size,
    }
    asked = argparse.ArgumentParser(description="The table of DESIGN section 9.")
    asked.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(rows)}; all if none is named")
    asked.add_argument("--runs", type=int, default=5, metavar="N", help="runs of which a figure is the median")
    asked.add_argument("--quick", action="store_true", help="one run each, and 10,000 trials in place of 100,000")
    given = asked.parse_args()
    if wrong := [name for name in given.rows if name not in rows]:
        asked.error(f"no row {', '.join(wrong)}; there are {', '.join(rows)}")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: modules are compiled once, not at every start
    how = Quick(given.quick, 1 if given.quick else max(1, given.runs))
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}, ", end="")
    print(f"median of {how.runs}{' (quick)' if how.quick else ''}")
    print(f"{speeds()}\n")
    print("| work | measured | reference | ratio | goal | |\n|---|---|---|---|---|---|")
    for name in given.rows or rows:
        rows[name](how)


DESIGN_JSON = 90.0
"""MB/s at which the machine parsed JSON on which DESIGN section 9 was measured; SHA-256 1.8 GB/s, rfc8785 23 MB/s."""
FLOOR_S = 2000 / 100 * 0.05
"""What 2,000 requests at 100 in flight wait for the 50 ms server on any machine."""


def speeds() -> str:
    """Return how fast this machine is at what DESIGN section 9 names beside its goal for verify."""
    import hashlib

    import rfc8785

    block, line = bytes(1 << 20), rfc8785.dumps(ENTRY)
    sha = rate(lambda: hashlib.sha256(block).digest(), len(block), 50) / 1000
    write = rate(lambda: rfc8785.dumps(ENTRY), len(line), 2_000)
    said = f"SHA-256 {sha:.1f} GB/s, JSON parse {DESIGN_JSON / pace():.0f} MB/s, rfc8785 {write:.0f} MB/s"
    return f"this machine: {said}; that of DESIGN section 9: 1.8 GB/s, {DESIGN_JSON:.0f} MB/s, 23 MB/s"


ENTRY = {
    "body": {"attempt": 1, "metrics": {"correct": 0.25}, "outcome": "failed", "private": {"answer": 43 * "a"}},
    "seq": 2,
    "time": "2026-11-30T09:00:00.000Z",
    "type": "trial.end",
    "v": 1,
}


def pace() -> float:
    """Return how many times as long this machine takes, just now, as the one of DESIGN section 9 for JSON."""
    line = json.dumps(ENTRY).encode()
    return DESIGN_JSON / rate(lambda: json.loads(line), len(line), 10_000)


def rate(work: Callable[[], object], size: int, times: int) -> float:
    """Return the best of five rates, in MB/s, of work on so many bytes."""
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times):
            work()
        taken.append(time.perf_counter() - began)
    return size * times / min(taken) / 1e6


def plainly(met: bool) -> str:
    """Say whether a goal is met that no pace has a part in."""
    return "met" if met else "NOT met"


def judged(measured: float, at_pace: float, goal: float, slower: float) -> str:
    """Say whether a goal is met: here, or at the pace of the machine on which it was set."""
    if measured <= goal:
        return plainly(True)
    return f"NOT met here; {plainly(at_pace <= goal)} at DESIGN's pace ({slower:.1f} x as fast): {at_pace:.2f}"


class Quick:
    """How much is measured."""

    def __init__(self, quick: bool, runs: int) -> None:
        self.quick, self.runs = quick, runs
        self.repeats = 10 if quick else 100
        """Of 1,000 cases, where a row asks for 100,000 trials."""


class Figure:
    """What one run of a process took."""

    def __init__(self, seconds: float, megabytes: float) -> None:
        self.seconds, self.megabytes = seconds, megabytes


# ------------------------------------------------------------------------------------------------------------- rows


def http(how: Quick) -> None:
    """2,000 HTTP trials, 100 in flight, 50 ms server."""
    with served() as url, project(2000, 1, f"{{runner: openai-compatible, url: '{url}/v1', model: m}}", 100) as folder:
        bare = [sys.executable, str(HERE / "bare_aiohttp.py"), f"{url}/v1/chat/completions", "2000", "100"]
        measure(RUN, folder)
        reference, ours = in_turns(how.runs, (bare, folder), (RUN, folder))
    ratio = statistics.median(a.seconds / b.seconds for a, b in zip(ours, reference, strict=True))
    slower = pace()
    scaled = [FLOOR_S + (seconds(figures) - FLOOR_S) / slower for figures in (ours, reference)]
    row(
        "2,000 HTTP trials, 100 in flight, 50 ms server",
        f"{seconds(ours):.2f} s",
        f"bare aiohttp {seconds(reference):.2f} s",
        ratio,
        "<= 2 x",
        judged(ratio, scaled[0] / scaled[1], 2, slower),
    )


def stand_in(how: Quick) -> None:
    """10,000 trials of a stand-in model."""
    with project(1000, 10, STAND_IN, 4) as folder:
        measure(RUN, folder)
        ours = in_turns(how.runs, (RUN, folder))[0]
    took, peak, slower = seconds(ours), megabytes(ours), pace()
    row(
        "10,000 trials of a stand-in model",
        f"{took:.2f} s, {peak:.0f} MB",
        "",
        None,
        "<= 4 s, <= 150 MB",
        judged(took, took / slower, 4, slower) if peak <= 150 else plainly(False),
    )


def memory(how: Quick) -> None:
    """100,000 trials: memory against a tenth of them."""
    tenth = how.repeats // 10
    with project(1000, tenth, STAND_IN, 4) as few_folder, project(1000, how.repeats, STAND_IN, 4) as many_folder:
        few, many = in_turns(min(how.runs, 3), (RUN, few_folder), (RUN, many_folder))
    ratio = megabytes(many) / megabytes(few)
    row(
        f"memory of {how.repeats},000 trials against {tenth},000",
        f"{megabytes(many):.0f} MB ({seconds(many):.0f} s)",
        f"{tenth},000: {megabytes(few):.0f} MB",
        ratio,
        "<= 1.2 x",
        "" if how.quick else plainly(ratio <= 1.2),
    )


def resume(how: Quick) -> None:
    """10,000 trials of a stand-in model, interrupted when half of them are done, then resumed."""
    ours: list[Figure] = []
    with project(1000, 10, STAND_IN, 4) as folder:
        whole = measure(RUN, folder)
        for _ in range(min(how.runs, 3)):
            interrupt_half_way(folder, lines=20_000)
            ours.append(measure([*PROGRAM, "resume", "latest"], folder))
    ratio = seconds(ours) / whole.seconds
    row(
        "resume of 10,000 trials, half of them done",
        f"{seconds(ours):.2f} s, {megabytes(ours):.0f} MB",
        f"the whole run {whole.seconds:.2f} s",
        ratio,
        "",
        "",
    )


def start(how: Quick) -> None:
    """Cold start of `--help`, `gate --no-append` and `verify` on 200 trials."""
    with project(100, 2, STAND_IN, 4) as folder:
        measure(RUN, folder)
        bare = ([sys.executable, "-c", "pass"], folder)
        runs = 3 if how.quick else 4 * how.runs + 1
        for words in (["--help"], ["gate", "latest", "--no-append"], ["verify", "latest"]):
            reference, ours = in_turns(runs, bare, ([*PROGRAM, *words], folder))
            took, ratio = seconds(ours), seconds(ours) / seconds(reference)
            row(
                f"cold start of `{' '.join(words)}`",
                f"{1000 * took:.0f} ms",
                f"bare interpreter {1000 * seconds(reference):.0f} ms",
                ratio,
                "<= 100 ms or 10 x",
                plainly(took <= 0.1 or ratio <= 10),
            )


def verify(how: Quick) -> None:
    """Verify and re-derive 100,000 trials, with their content and without."""
    with project(1000, how.repeats, STAND_IN, 4) as folder:
        measure(RUN, folder)
        for note in ("with content", "record alone"):
            files = sorted(map(str, [*folder.glob("runs/*/record.jsonl"), *folder.glob("runs/*/content.jsonl")]))
            least = [sys.executable, "-c", READ, *files]
            reference, ours = in_turns(how.runs, (least, folder), ([*PROGRAM, "verify", "latest"], folder))
            slower = pace()
            row(
                f"verify {how.repeats},000 trials, {note}",
                f"{seconds(ours):.1f} s, {megabytes(ours):.0f} MB",
                f"json.loads and SHA-256 {seconds(reference):.1f} s",
                seconds(ours) / seconds(reference),
                "<= 6 s",
                "" if how.quick else judged(seconds(ours), seconds(ours) / slower, 6, slower),
            )
            for path in folder.glob("runs/*/content.jsonl"):
                path.unlink()


def decisions(how: Quick) -> None:
    """The arithmetic of decisions, in one process: what is promised of bounds, decisions and plans."""
    done = subprocess.run([sys.executable, str(HERE / "decisions.py"), "--json"], check=True, capture_output=True)
    goals = (5, 1000, 3000)
    for (what, took), goal in zip(json.loads(done.stdout).items(), goals, strict=True):
        row(what, f"{took:.1f} ms", "", None, f"<= {goal} ms", plainly(took <= goal))


def size(how: Quick) -> None:
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
        total = sum(p.stat().st_size for p in ours) / 1e6
    row("installed size, core", f"{total:.0f} MB", "", None, "<= 70 MB", plainly(total <= 70))


# -------------------------------------------------------------------------------------------------------- machinery


def row(what: str, measured: str, reference: str, ratio: float | None, goal: str, said: str) -> None:
    """Print one row. Nothing is `said` where nothing was promised, or not of so few trials."""
    times = "" if ratio is None else f"{ratio:.2f} x"
    print(f"| {what} | {measured} | {reference} | {times} | {goal} | {said} |", flush=True)


def seconds(figures: Sequence[Figure]) -> float:
    """Return the median time."""
    return statistics.median(item.seconds for item in figures)


def megabytes(figures: Sequence[Figure]) -> float:
    """Return the median of the peak memory."""
    return statistics.median(item.megabytes for item in figures)


def in_turns(runs: int, *commands: tuple[Sequence[str], Path]) -> list[list[Figure]]:
    """Run each command so many times, one after the other, and return the figures of each."""
    turns = [[measure(*command) for command in commands] for _ in range(runs)]
    return [list(figures) for figures in zip(*turns, strict=True)]


def measure(command: Sequence[str], folder: Path) -> Figure:
    """Run a command and return its wall seconds and its peak memory in MB."""
    began = time.perf_counter()
    with open(os.devnull, "wb") as nothing:
        process = subprocess.Popen(command, cwd=folder, env=at_home(folder), stdout=nothing, stderr=nothing)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took = time.perf_counter() - began
    if process.returncode not in (0, 1):  # 1 is a negative answer, measured all the same
        raise SystemExit(f"{shutil.which(command[0])} {' '.join(command[1:])} ended with {process.returncode}")
    return Figure(took, usage.ru_maxrss / 1024)


def at_home(folder: Path) -> dict[str, str]:
    """Return the environment of a project's commands: its key lies beside it, and goes away with it."""
    return {**os.environ, "TRIALPLATE_HOME": str(folder.parent / "home")}


def interrupt_half_way(folder: Path, lines: int) -> None:
    """Start a run and interrupt it once its record has half of these lines."""
    before = set(folder.glob("runs/*"))
    with open(os.devnull, "wb") as nothing:
        process = subprocess.Popen(RUN, cwd=folder, env=at_home(folder), stdout=nothing, stderr=nothing)
    while process.poll() is None:
        new = [run / "record.jsonl" for run in folder.glob("runs/*") if run not in before]
        if new and new[0].exists() and new[0].read_bytes().count(b"\n") >= lines // 2:
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.02)
    if process.wait() != 130:
        raise SystemExit(f"the run that was to be interrupted ended with {process.returncode}")


@contextmanager
def project(cases: int, repeats: int, model: str, at_once: int) -> Iterator[Path]:
    """Make a project in a folder that goes away; its key too."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        (folder / "cases").mkdir(parents=True)
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


if __name__ == "__main__":
    main()
