"""Compare the solver with the oracle on many loops: ``python -m tests.oracle --help``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tests.oracle.campaign import Figures
from tests.oracle.compare import Comparison
from tests.oracle.loops import random_loop

PROGRESS = 100
"""Loops between two lines that say how far it is."""


def main() -> None:
    """Print every objection of oracle, verifier and simulator, and figures of all loops."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle")
    parser.add_argument("first", type=int, help="the first seed")
    parser.add_argument("end", type=int, help="the seed after the last one")
    parser.add_argument("--keep", type=Path, help="folder for loops with objections")
    parser.add_argument("--no-run", action="store_true", help="leave out the simulator")
    arguments = parser.parse_args()
    figures, objected = Figures(), 0
    begin = time.monotonic()
    for seed in range(arguments.first, arguments.end):
        result = figures.look_at(seed, run=not arguments.no_run)
        for objection in result.objections:
            print(f"{seed}: {objection}", flush=True)
        objected += bool(result.objections)
        if figures.loops % PROGRESS == 0:
            print(f"until {seed}: {figures.loops} loops, {objected} with objections", flush=True)
        if result.objections and arguments.keep is not None:
            keep(arguments.keep, seed, result)
    print(f"{figures}\n{objected} with objections, {time.monotonic() - begin:.0f} s")


def keep(folder: Path, seed: int, result: Comparison) -> None:
    """Write a loop with its machine and schedules."""
    folder.mkdir(parents=True, exist_ok=True)
    loop, machine = random_loop(seed)
    (folder / f"{seed}.loop.json").write_text(loop.to_json())
    (folder / f"{seed}.machine.json").write_text(machine.to_json())
    for whose, schedule in result.schedules.items():
        (folder / f"{seed}.{whose}.json").write_text(schedule.to_json())


if __name__ == "__main__":
    main()
