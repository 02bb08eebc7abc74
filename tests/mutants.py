"""Draw a seeded sample of the mutants of the judges or the search, and test them with mutmut.

``python -m tests.mutants COUNT SEED judges`` with mutmut installed (the extra ``mutation``), or
``search``; it prints the counts, and the name of each mutant that no test found.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

OF = {
    "judges": ("verification.", "bounds."),
    "search": (
        *(f"search.{m}." for m in ("search", "strategies", "questions", "known", "cache")),
        "studies.sweep.journal.",
    ),
}
"""Modules, by how their names begin."""
OUTCOMES = {0: "survived", 1: "killed", 3: "killed", 33: "no test", None: "not run"}


def outcomes() -> dict[str, int | None]:
    """Return mutmut's exit status of every mutant, None where it was not tested."""
    found: dict[str, int | None] = {}
    for path in sorted(Path("mutants").rglob("*.meta")):
        found.update(json.loads(path.read_text())["exit_code_by_key"])
    return found


def main(count: int, seed: int, of: str) -> None:
    """Test so many mutants of these modules, drawn with that seed."""
    mutmut = [sys.executable, "-m", "mutmut", "run", "--max-children", "2"]
    # A name that no mutant has: mutants are written and tests are timed, and nothing is tested.
    subprocess.run([*mutmut, "none"], check=False, stderr=subprocess.DEVNULL)
    modules = tuple(f"twill.{begin}" for begin in OF[of])
    names = sorted(name for name in outcomes() if name.startswith(modules))
    if not names:
        sys.exit("mutmut wrote no mutants")
    sample = random.Random(seed).sample(names, count)
    subprocess.run([*mutmut, *sample], check=True)
    ended = outcomes()
    told = {name: OUTCOMES.get(ended[name], "timeout or crash") for name in sample}
    print(*(f"{n} {outcome}" for outcome, n in Counter(told.values()).items()), sep=", ")
    print(*(f"{o}: {n}" for n, o in told.items() if o != "killed"), sep="\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
