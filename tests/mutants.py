"""Draw a seeded sample of the mutants of verifier, bounds and proofs, and test them with mutmut.

``python -m tests.mutants COUNT SEED`` with mutmut installed (the extra ``mutation``); it prints the
counts, and the name of each mutant that no test found.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

OUTCOMES = {0: "survived", 1: "killed", 3: "killed", 33: "no test", None: "not run"}


def outcomes() -> dict[str, int | None]:
    """Return mutmut's exit status of every mutant, None where it was not tested."""
    found: dict[str, int | None] = {}
    for path in sorted(Path("mutants").rglob("*.meta")):
        found.update(json.loads(path.read_text())["exit_code_by_key"])
    return found


def main(count: int, seed: int) -> None:
    """Test so many mutants, drawn with that seed."""
    mutmut = [sys.executable, "-m", "mutmut", "run", "--max-children", "2"]
    # A name that no mutant has: mutants are written and tests are timed, and nothing is tested.
    subprocess.run([*mutmut, "none"], check=False, stderr=subprocess.DEVNULL)
    names = sorted(outcomes())
    if not names:
        sys.exit("mutmut wrote no mutants")
    sample = random.Random(seed).sample(names, count)
    subprocess.run([*mutmut, *sample], check=True)
    ended = outcomes()
    told = {name: OUTCOMES.get(ended[name], "timeout or crash") for name in sample}
    print(*(f"{n} {outcome}" for outcome, n in Counter(told.values()).items()), sep=", ")
    print(*(f"{o}: {n}" for n, o in told.items() if o != "killed"), sep="\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
