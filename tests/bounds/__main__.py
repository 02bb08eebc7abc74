"""Hold programs of all packaged loops against their bounds: ``python -m tests.bounds 20000``."""

from __future__ import annotations

import argparse
import time

from tests.bounds.campaign import Campaign, shares
from twill.search.cache import Cache

PARTS = 10  # one after the other, so that a campaign that is ended early has programs of every loop


def main() -> None:
    """Print a line a loop, every program below its bound, and the sums, after each part."""
    parser = argparse.ArgumentParser(prog="python -m tests.bounds")
    parser.add_argument("count", type=int, help="programs of all loops together, about")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loop", help="of this one only")
    arguments = parser.parse_args()
    begin, cache = time.monotonic(), Cache()
    counts = {n: c for n, c in shares(arguments.count).items() if arguments.loop in (None, n)}
    campaigns = {name: Campaign(name, arguments.seed, cache) for name in counts}
    for part in range(1, PARTS + 1):
        for name, count in counts.items():
            found = campaigns[name].go_on(count * part // PARTS)
            nearest = ", ".join(f"{c}: {times:.3f}" for c, times in found.nearest.items())
            print(f"{name}: {found.programs} programs, {found.near} near; {nearest}", flush=True)
            for line in found.below:
                print(f"  BELOW {line}", flush=True)
        every = [campaign.found for campaign in campaigns.values()]
        programs, near = sum(f.programs for f in every), sum(f.near for f in every)
        below, seconds = sum(len(f.below) for f in every), time.monotonic() - begin
        print(f"{programs} programs, {near} within 5 % of their bound, {below} below", end=", ")
        print(f"{seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
