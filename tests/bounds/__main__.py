"""Hold programs of all packaged loops against their bounds: ``python -m tests.bounds 20000``."""

from __future__ import annotations

import argparse
import time

from tests.bounds.campaign import campaign, shares
from twill.search.cache import Cache


def main() -> None:
    """Print a line a loop, every program below its bound, and the sums."""
    parser = argparse.ArgumentParser(prog="python -m tests.bounds")
    parser.add_argument("count", type=int, help="programs of all loops together, about")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loop", help="of this one only")
    arguments = parser.parse_args()
    begin, programs, near, below = time.monotonic(), 0, 0, 0
    for name, count in shares(arguments.count).items():
        if arguments.loop in (None, name):
            found = campaign(name, count, arguments.seed, Cache())
            nearest = ", ".join(f"{c}: {times:.3f}" for c, times in found.nearest.items())
            print(f"{name}: {found.programs} programs, {found.near} near; {nearest}", flush=True)
            for line in found.below:
                print(f"  BELOW {line}", flush=True)
            programs, near = programs + found.programs, near + found.near
            below += len(found.below)
    seconds = time.monotonic() - begin
    print(f"{programs} programs, {near} within 5 % of their bound, {below} below, {seconds:.0f} s")


if __name__ == "__main__":
    main()
