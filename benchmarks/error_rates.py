# SPDX-License-Identifier: Apache-2.0
"""How often rules decide wrongly, by simulation: naive ones, and those of Trialplate by its own functions.

Each row stands beside what the project's reference found (docs/statistics.md), with this simulation's standard error.
Marks: `~` more than three standard errors apart, which the reference's own noise may explain; `!` further apart.

Usage: error_rates.py [--draws N] [--seed S] [--json] [NAME...]

The same draws and seed give the same figures on every machine, on however many cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from random import Random

from simulation import alone, coverage, several, steps
from simulation.figures import Figure, Job, mark

DRAWS, SEED = 2000, 1


def all_jobs(names: list[str]) -> list[Job]:
    """Return the simulations whose name begins with one of these, or all."""
    found = [*alone.jobs(), *several.jobs(), *coverage.jobs(), *steps.jobs()]
    return [job for job in found if not names or job.name.startswith(tuple(names))]


def simulate(name: str, draws: int, seed: int) -> list[Figure]:
    """Run one simulation; its random numbers depend on nothing but its name and the seed."""
    (job,) = (job for job in all_jobs([]) if job.name == name)
    return list(job.run(Random(f"{seed}/{name}"), max(2, round(draws * job.share))))


def rows(job: Job, figures: list[Figure]) -> list[dict[str, object]]:
    """Return the lines of one simulation as they are printed."""
    return [
        {
            "simulation": job.name,
            "what": line.what,
            "unit": line.unit,
            "here": round(figure.value, 3),
            "error": round(figure.error, 3),
            "draws": figure.draws,
            "reference": line.said.text if line.said else None,
            "mark": mark(figure, line.said),
            "note": figure.note,
        }
        for line, figure in zip(job.lines, figures, strict=True)
    ]


def line(row: dict[str, object]) -> str:
    """Return one line of the table."""
    said = row["reference"] or "-"
    text = f"{row['mark']:1} {row['what']:<90} {row['here']:>7.2f} +-{row['error']:<5.2f} {said:>9}  {row['note']}"
    return text.rstrip()


def main() -> None:
    """Run the simulations named, or all, and print them in order."""
    parser = argparse.ArgumentParser(description="How often rules decide wrongly, by simulation.")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"test sets a row, cheap rows more ({DRAWS})")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only simulations whose name begins so")
    asked = parser.parse_args()
    chosen = all_jobs(asked.names)
    if not chosen or asked.draws < 1:
        parser.error("there is no simulation of that name, or there are no draws")
    began, printed = time.monotonic(), []
    if not asked.json:
        print(f"draws {asked.draws}, seed {asked.seed}; percent, or points where it says so")
        print(f"  {'':<90} {'here':>7}         reference")
    with ProcessPoolExecutor(min(len(chosen), os.cpu_count() or 1)) as pool:
        futures = [pool.submit(simulate, job.name, asked.draws, asked.seed) for job in chosen]
        for job, future in zip(chosen, futures, strict=True):
            for row in rows(job, future.result()):
                printed.append(row)
                if not asked.json:
                    print(line(row))
    if asked.json:
        print(json.dumps({"draws": asked.draws, "seed": asked.seed, "rows": printed}, indent=1))
        return
    counts = [sum(row["mark"] == sign for row in printed) for sign in "~!"]
    print(f"{len(printed)} rows, {counts[0]} marked ~ and {counts[1]} marked !")
    print(f"in {time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
