"""Kernels measured on the GPU at hand, in rounds, each run in a process of its own."""

from __future__ import annotations

import importlib.util
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from twill.artifacts.proof import OnGpu
from twill.base.console import Report, silent, warn
from twill.base.errors import InputError, MissingLibraryError, RefusedError
from twill.base.files import write_whole
from twill.base.formats import plural
from twill.base.names import elided, one_line
from twill.studies.driver import name_by_driver
from twill.studies.kernels import Measured

LEAST_ROUNDS, MOST_ROUNDS = 3, 6
RUN_SECONDS = 180.0  # of one run: PyTorch's start, compilation, the check and the launches
TRIPS = "32,64"  # as the measured kernels of traces/measured
MOST_SAID = 200  # characters of what a failed run says
UNSTEADY = 1.03  # ratio of the highest and the lowest clock from which on it is told
TOLERANCE = 0.05  # part by which the median of later rounds may be above that of a promise
Command = Callable[[Path], Sequence[str]]
_MEASURED = TypeAdapter(Measured)


def check_gpu() -> None:
    """Refuse to measure where PyTorch or a GPU is missing.

    Raises
    ------
    MissingLibraryError
        If PyTorch is not installed.
    InputError
        If NVIDIA's driver finds no GPU.
    """
    if importlib.util.find_spec("torch") is None:
        raise MissingLibraryError("torch is not installed; it runs kernels on a GPU")
    try:
        name = name_by_driver()
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"no GPU is at hand: {error}") from None
    if name is None:
        raise InputError("no GPU is at hand: there is no nvidia-smi")


def run_kernel(file: Path) -> list[str]:
    """Return the command that checks and times a kernel file and prints JSON."""
    return [
        *(sys.executable, "-m", "twill", "run-kernel", str(file)),
        *("--iterations", TRIPS, "--json"),
    ]


def measured_in_rounds(
    kernels: Sequence[str],
    seed: int = 0,
    report: Report = silent,
    *,
    command: Command = run_kernel,
    seconds: float = RUN_SECONDS,
) -> list[OnGpu | RefusedError]:
    """Measure kernels until one is the fastest: its slowest run is faster than all of the others.

    A round runs each kernel once, in shuffled order. After `LEAST_ROUNDS` a kernel whose fastest
    run is slower than the slowest run of the best one, by the median, leaves. There are at most
    `MOST_ROUNDS`. A run that fails costs its kernel only.

    `kernels`: texts of emitted kernels.
    `seed`: seed of the order.
    `report`: receives a message for each run.
    `command`: returns the command that measures a file and prints a `Measured` as JSON.
    `seconds`: the most that a run may take.

    Returns: for each kernel its cycles, or why there are none.
    """
    order, runs = random.Random(seed), dict[int, list[Measured]]()  # noqa: S311 - no secret
    refused: dict[int, RefusedError] = {}
    racing = list(range(len(kernels)))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"kernel_{number}.py" for number in racing]
        for file, text in zip(files, kernels, strict=True):
            write_whole(file, text)
        for done in range(1, MOST_ROUNDS + 1):
            order.shuffle(racing)
            for number in racing:
                report(f"round {done} on the GPU, {plural(len(racing), 'kernel')}")
                try:
                    runs.setdefault(number, []).append(_run(command(files[number]), seconds))
                except RefusedError as error:
                    refused[number] = error
            racing = [number for number in racing if number not in refused]
            if done >= LEAST_ROUNDS:
                racing = _contenders({number: _cycles(runs[number]) for number in racing})
                if len(racing) <= 1:
                    break
    _tell_clocks([run for some in runs.values() for run in some])
    return [refused.get(number) or _summary(runs[number]) for number in range(len(kernels))]


def _contenders(cycles: dict[int, list[float]]) -> list[int]:
    """Return those that may still be the fastest."""
    if not cycles:
        return []
    slowest = max(min(cycles.values(), key=statistics.median))
    return [number for number, taken in cycles.items() if min(taken) <= slowest]


def _run(command: Sequence[str], seconds: float) -> Measured:
    """Measure a kernel in a process of its own."""
    try:
        ended = subprocess.run(  # noqa: S603 - this Python, with a kernel that was emitted here
            command, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise RefusedError(f"not measured within {seconds:g} s") from None
    try:
        found = _MEASURED.validate_json(ended.stdout)
    except ValidationError:
        *_, last = ["", *ended.stderr.splitlines()]
        why = f": {elided(one_line(last), MOST_SAID)}" if last else ""
        raise RefusedError(f"the run ended with status {ended.returncode}{why}") from None
    wrong = next((trip.wrong for trip in found.trips if trip.wrong is not None), None)
    if wrong is not None:
        raise RefusedError(f"wrong on the GPU: {wrong}")
    if found.iteration_cycles is None or found.iteration_cycles <= 0 or found.clock_mhz is None:
        raise RefusedError("the cycles of an iteration are not known")
    return found


def _cycles(runs: Sequence[Measured]) -> list[float]:
    return [run.iteration_cycles for run in runs if run.iteration_cycles is not None]


def _clocks(runs: Sequence[Measured]) -> list[float]:
    return [run.clock_mhz for run in runs if run.clock_mhz is not None]


def _summary(runs: Sequence[Measured]) -> OnGpu:
    taken = _cycles(runs)
    return OnGpu(
        device=runs[0].device,
        interval_cycles=round(statistics.median(taken), 1),
        lowest_cycles=round(min(taken), 1),
        highest_cycles=round(max(taken), 1),
        clock_mhz=statistics.median(_clocks(runs)),
        rounds=len(runs),
        compiler=f"triton {runs[0].triton}",
    )


def _tell_clocks(runs: Sequence[Measured]) -> None:
    clocks = _clocks(runs) or [1.0]
    if max(clocks) > UNSTEADY * min(clocks):
        between = f"from {min(clocks):.0f} to {max(clocks):.0f} MHz"
        warn(f"the SM clock varied {between} between runs; cycles are compared, not times")
