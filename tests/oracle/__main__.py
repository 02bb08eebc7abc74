"""Compare the solver with the oracle on many loops: ``python -m tests.oracle FIRST LAST``."""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.oracle.compare import compare
from tests.oracle.loops import features, random_loop


def main(first: int, last: int) -> None:
    """Print what every loop with an objection is about, and figures of all."""
    had: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    refused = disagreed = 0
    begin = time.monotonic()
    for seed in range(first, last):
        loop, machine = random_loop(seed)
        had.update(features(loop, machine))
        at = time.monotonic()
        result = compare(seed, loop, machine)
        undecided.update(result.undecided)
        refused += result.schedule is None
        disagreed += bool(result.objections)
        for objection in result.objections:
            print(f"{seed}: {objection}", flush=True)
        if time.monotonic() - at > 5:
            print(f"{seed}: {time.monotonic() - at:.1f} s", flush=True)
    print(f"{last - first} loops, {refused} refused, {disagreed} with objections")
    print("undecided:", dict(undecided))
    print("features:", dict(had))
    print(f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
