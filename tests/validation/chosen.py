"""Choices of the compiler: ``python -m tests.validation.chosen [LOOP ...] [--effort normal]``.

For each loop, the program that is fastest on the simulated SM, and the one that machine code
chooses. ``traces/results/chosen.csv`` gets the rows of the loops that were asked for.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.metadata import version
from typing import Any

from tests.support.commands import in_process
from tests.validation.tables import ROOT, read, record

GALLERY = "traces/gallery/{}.sm90.mlir"
LOOPS = {
    "rms_norm_gemm": GALLERY,
    "attention_grouped": GALLERY,
    "linear_attention_decayed": GALLERY,
    "attention_forward_diagonal_hopper": "{}",
    "attention_backward_two_tiles_d64_hopper": "{}",
    "attention_backward_d64_hopper": "{}",
    "fa_bwd_hopper": "{}",
    "attention_backward_halves_hopper": "{}",
    "fa_fwd_hopper": "{}",
    "attention_forward_blackwell": "{}",
    "fa_bwd_blackwell": "{}",
}
"""Loops in which the compiler has a say, and where they are."""


def choice(loop: str, effort: str) -> dict[str, Any]:
    """Schedule a loop; return its row."""
    machine = "blackwell_b200" if loop.endswith("blackwell") else "hopper_h100"
    where = LOOPS[loop].format(loop)
    words = ("-m", machine, "--effort", effort, "--judge", "compiled", "--jobs", "1", "--json")
    done = in_process("twill", "schedule", where, *words, folder=ROOT)
    assert done.returncode == 0, done.stderr
    trials = json.loads(done.stdout)["polished"]["trials"]
    chosen, fastest = trials[0], min(trials, key=lambda trial: trial["promised_cycles"])
    row: dict[str, Any] = {"loop": loop}
    for one, name, code, faults in (
        (fastest, "fastest simulated", "its machine code", "its faults"),
        (chosen, "chosen simulated", "chosen machine code", "chosen faults"),
    ):
        row |= {
            name: round(one["promised_cycles"], 1),
            code: one["cycles"] and round(one["cycles"], 1),
        }
        row[faults] = "; ".join(one["faults"])
    return {**row, "programs": len(trials)}


def main() -> None:
    """Print each row with the seconds that it took; write the data file."""
    parser = argparse.ArgumentParser(prog="python -m tests.validation.chosen")
    parser.add_argument("loops", nargs="*", default=[*LOOPS], metavar="LOOP")
    parser.add_argument("--effort", default="normal")
    arguments = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {row["loop"]: {**row} for row in read("chosen")}
    for loop in arguments.loops:
        begin = time.monotonic()
        try:
            rows[loop] = choice(loop, arguments.effort)
        except AssertionError as error:
            print(loop, error, file=sys.stderr, flush=True)
            continue
        print(rows[loop], f"{time.monotonic() - begin:.0f} s", flush=True)
        how = f"no GPU; Triton {version('triton')}, --effort {arguments.effort}"
        record("chosen", how, [*rows.values()])


if __name__ == "__main__":
    main()
