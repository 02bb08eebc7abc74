"""Programs of every kernel, emitted and compiled: ``python -m tests.emit.campaign COUNT [SEED]``.

Programs are the static schedule, naive loops, and those that random moves of polishing reach and
that both judges take.
What is emitted has to compile, to have room on its GPU and to compute what its loop does in the
emulator; what is refused names why.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path
from random import Random

import twill
from tests.support.pages import ROOT
from tests.support.static import static_schedule
from twill.artifacts.schedule import Schedule
from twill.base.errors import TwillError
from twill.compiled.compiler import compiled_kernel, imported
from twill.emit import emitted
from twill.engines.tuning import TUNING
from twill.frontends import load_loop, packaged_loops
from twill.lower import baselines
from twill.lower.prepare import prepared
from twill.polish.candidates import Programs
from twill.polish.moves import Moves
from twill.search.request import Options
from twill.sim.emulator import emulate

FOLDERS = tuple(ROOT / f for f in ("traces/gallery", "tests/data/kernels", "tests/data/arguments"))
MACHINES = {"sm90": "hopper_h100", "sm100": "blackwell_b200"}
ARCHITECTURES = {"hopper_h100": 90, "blackwell_b200": 100}
MEMORY, COLUMNS = 232448, 512
"""Bytes of shared memory of a block and columns of tensor memory (CUDA C++ Programming Guide,
table of technical specifications by compute capability; PTX ISA, 9.7.16.1)."""
APART = 25  # random moves between one program and the next
ITERATIONS = 12  # of the run on the simulated SM that a program of a walk has to pass
EMULATED = 4  # iterations in the emulator, or the least of the loop
LEAST = re.compile(r"^    least_iterations: .*= (\d+)", re.MULTILINE)
WORK = TUNING.polishing.quick  # of the static search: programs are to differ, not to be the best
TRIED = 40  # programs of a walk that are looked at before it is given up
REFUSED, FAILED, COMPILED = "refused", "failed", "compiled"


@dataclass(frozen=True)
class Outcome:
    """What became of a program: `why` it was refused or failed."""

    kernel: str
    program: str
    outcome: str
    why: str = ""


def kernels() -> dict[str, str]:
    """Return the loops that know their kernel, by name, and the machine of each."""
    found = {
        name: packaged.machine
        for name, packaged in packaged_loops().items()
        if load_loop(name).source is not None
    }
    for file in sorted(f for folder in FOLDERS for f in folder.glob("*.mlir")):
        found[str(file)] = MACHINES[file.suffixes[-2].removeprefix(".")]
    return found


def programs(loop: twill.Loop, machine: twill.Machine, seed: int) -> Iterator[tuple[str, Schedule]]:
    """Yield valid programs of a loop without end, unless a walk finds no further ones."""
    given = static_schedule(loop, machine, options=Options(work=WORK))
    yield "static", given
    for naive in (baselines.sequential, baselines.multi_warp):
        with suppress(TwillError):
            yield naive.__name__, naive(loop, machine)
    assert given.initiation_interval is not None
    walked, random = Programs(given), Random(seed)
    moves = Moves(walked, random)
    here = walked.candidate(given.initiation_interval, given.start)
    for number in count():
        schedule = None
        for _ in range(TRIED):  # each time from the last program that both judges took
            candidate = here
            for _ in range(random.randint(1, APART)):
                candidate = moves.propose(candidate) or candidate
            with suppress(TwillError):
                found = prepared(walked.schedule(candidate))
                if twill.verify(found).valid:
                    twill.sim.run(found, iterations=ITERATIONS)
                    schedule, here = found, candidate
                    break
        if schedule is None:
            return
        yield f"walk {seed}.{number}", schedule


def outcome(name: str, program: str, schedule: Schedule) -> Outcome:
    """Emit and compile a program."""
    kernel = Path(name).name.removesuffix(".mlir")
    try:
        text = emitted(schedule)
    except TwillError as error:
        return Outcome(kernel, program, REFUSED, str(error))
    machine = schedule.machine.name
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.py"
        file.write_text(text)
        try:
            found = compiled_kernel(imported(str(file)), ARCHITECTURES[machine])
        except Exception as error:  # of whatever kind Triton or ptxas raise: it did not compile
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            return Outcome(kernel, program, FAILED, " ".join(str(cause).split())[-300:])
        capability = (ARCHITECTURES[machine] // 10, 0)
        least = LEAST.search(text)
        trips = max(EMULATED, int(least[1]) if least else 1)
        run = emulate(file, iterations=(trips,), victims=False, capability=capability)
    if found.metadata.shared > MEMORY:
        return Outcome(kernel, program, FAILED, f"{found.metadata.shared} bytes of shared memory")
    if (found.metadata.tmem_size or 0) > COLUMNS:
        return Outcome(kernel, program, FAILED, f"{found.metadata.tmem_size} columns")
    if not run.passed:
        return Outcome(kernel, program, FAILED, f"emulated: {run.runs[0].fault or run.runs[0]}")
    return Outcome(kernel, program, COMPILED)


def of_one(name: str, machine: str, most: int, seed: int) -> list[Outcome]:
    """Return what becomes of programs of one kernel."""
    try:
        loop = load_loop(name)
        found = islice(programs(loop, twill.Machine.named(machine), seed), most)
        return [outcome(name, program, schedule) for program, schedule in found]
    except TwillError as error:
        return [Outcome(Path(name).name, "none", REFUSED, str(error))]
    except Exception:
        return [Outcome(Path(name).name, "none", FAILED, traceback.format_exc()[-500:])]


def main(count: int, seed: int, wanted: str = "") -> int:
    """Print a line for each program; return 1 if one that was emitted fails."""
    names = {n: m for n, m in kernels().items() if re.search(wanted, n)}
    each = -(-count // len(names))
    outcomes: list[Outcome] = []
    with ProcessPoolExecutor(2) as pool:
        tasks = [pool.submit(of_one, n, m, each, seed) for n, m in names.items()]
        for task in as_completed(tasks):
            for found in task.result():
                outcomes.append(found)
                print(json.dumps(asdict(found)), flush=True)
    print(dict(Counter(found.outcome for found in outcomes)))
    return int(any(found.outcome == FAILED for found in outcomes))


if __name__ == "__main__":
    importlib.import_module("triton")  # without it nothing can be compiled
    sys.exit(main(int(sys.argv[1]), int((sys.argv[2:] or ["0"])[0]), *sys.argv[3:]))
