"""Runs of an emitted kernel, on the GPU at hand or emulated, as text and as data."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from twill.base.console import say, warn
from twill.base.errors import InputError, MissingLibraryError, TwillError
from twill.base.files import read_bytes, write_whole
from twill.base.formats import plural
from twill.base.tables import Column, Table
from twill.compiled.clocks import CLOCKS, ROUNDS, Clocked, clocked
from twill.sim.emulator import LARGEST_ERROR, LARGEST_UNLIKE, Emulation, Run, failure, source_of

TRIPS = (2, 3, 8, 32, 64)
INSTEAD = "without a GPU: --emulate"
LAUNCHES = 5  # of a kernel that reads the clock, of which the median counts


@dataclass(frozen=True)
class Timed:
    """A trip count: the error, and milliseconds of a launch.

    `iterations`: of the loop; every program of the file's small grid has so many.
    `wrong`: the message of the comparison with the reference.
    `median`, `low`, `high`: milliseconds of a launch in a graph of many, without what it costs the
    host: of ten such graphs the median, and the fifths at the ends.
    """

    iterations: int
    wrong: str | None
    median: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Measured:
    """A kernel on a GPU, with what it ran on."""

    file: str
    device: str
    capability: str
    # Of the SMs: the cycles of an iteration by its time.
    clock_mhz: float | None
    torch: str
    triton: str
    trips: tuple[Timed, ...]
    # Time that each further iteration of the arguments adds, between the two largest trip counts:
    # loops around and after the scheduled one count, too.
    iteration_ns: float | None
    iteration_cycles: float | None  # the same of the last block, as it reads the SM's clock
    # Of an iteration of the scheduled loop on the simulated SM, as the file says.
    simulated_cycles: float | None

    @property
    def passed(self) -> bool:
        """Whether it computed what it should."""
        return all(trip.wrong is None for trip in self.trips)


def measured(
    path: Path,
    iterations: Sequence[int] | None = None,
    given: Mapping[str, Any] | None = None,
    arguments: Path | None = None,
) -> Measured:
    """Run an emitted kernel's own check and benchmark, with arguments of one's own if given.

    Raises
    ------
    MissingLibraryError
        If PyTorch or Triton is not installed.
    InputError
        If there is no GPU, or the file is no emitted kernel.
    """
    torch, triton = _libraries()
    try:
        module = _module(path, "CONFIG", "check", "bench")
        _give(module, path, given, arguments)
        least = int(module.CONFIG.least_iterations)
        counts = iterations or [n for n in TRIPS if n >= least]
        trips = tuple(_timed(module, count) for count in counts)
        cycles = _cycles(path, trips, given, arguments)
    except (TwillError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a kernel file may raise anything; to end is no success
        raise failure(error, path) from error
    major, minor = torch.cuda.get_device_capability()
    further = _further(trips)
    return Measured(
        file=str(path),
        device=str(torch.cuda.get_device_name()),
        capability=f"sm_{major}{minor}",
        clock_mhz=1e3 * cycles / further if cycles and further else None,
        torch=str(torch.__version__),
        triton=str(triton.__version__),
        trips=trips,
        iteration_ns=further,
        iteration_cycles=cycles,
        simulated_cycles=getattr(module.CONFIG, "simulated_cycles", None),
    )


def _give(
    module: ModuleType, path: Path, given: Mapping[str, Any] | None, arguments: Path | None
) -> None:
    """Let a kernel file make its arguments otherwise, where something is given."""
    if given or arguments is not None:
        make = _module(arguments or path, "make_arguments").make_arguments
        vars(module)["make_arguments"] = partial(make, **given or {})


def _largest_two(trips: Sequence[Timed]) -> list[tuple[int, float]]:
    """Return the two largest trip counts with milliseconds, if there are two."""
    known = sorted((t.iterations, t.median) for t in trips if t.median is not None)
    return known[-2:] if len(known) > 1 else []


def _further(trips: Sequence[Timed]) -> float | None:
    """Return nanoseconds of an iteration between the two largest trip counts."""
    if not (known := _largest_two(trips)):
        return None
    (fewer, less), (more, longer) = known
    return 1e6 * (longer - less) / (more - fewer)


def _cycles(
    path: Path,
    trips: Sequence[Timed],
    given: Mapping[str, Any] | None,
    arguments: Path | None,
) -> float | None:
    """Return cycles of an iteration between the two largest trip counts."""
    if not (known := _largest_two(trips)):
        return None
    (fewer, _), (more, _) = known
    try:
        made = clocked(read_bytes(path).decode(errors="replace"), rounds=False)
    except InputError as error:
        warn(f"{path}: cycles are not counted: {error}")
        return None
    few, many = (read_clocks(made, count, given, arguments)[1] for count in (fewer, more))
    return (_block_cycles(many) - _block_cycles(few)) / (more - fewer)


def _block_cycles(launches: Sequence[Sequence[int]]) -> float:
    """Return the cycles from the first start of a partition to the last end, the median."""
    read = [[cycle for cycle in clocks[::ROUNDS] if cycle] for clocks in launches]
    return statistics.median(max(cycles) - min(cycles) for cycles in read)


def read_clocks(
    made: Clocked,
    iterations: int,
    given: Mapping[str, Any] | None = None,
    arguments: Path | None = None,
) -> tuple[str, list[list[int]]]:
    """Execute a kernel that reads the clock on the GPU at hand; return its name and the clocks.

    The clocks are those of `LAUNCHES` launches, after one that compiles.

    Raises
    ------
    MissingLibraryError
        If PyTorch or Triton is not installed.
    InputError
        If there is no GPU, or the file is no emitted kernel.
    """
    torch, _ = _libraries()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel_with_clocks.py"
        write_whole(file, made.text)
        module = _module(file, "make_arguments", "launch")
        _give(module, file, given, arguments)
        values, grid = module.make_arguments(iterations)
        for _ in range(1 + LAUNCHES):
            values[CLOCKS] = torch.zeros(made.size, dtype=torch.int64, device="cuda")
            module.launch(values, grid)
            torch.cuda.synchronize()
            found.append(values[CLOCKS].tolist())
    return str(torch.cuda.get_device_name()), found[1:]


def _libraries() -> tuple[Any, Any]:
    """Return PyTorch and Triton, where there is a GPU."""
    torch, triton = _library("torch"), _library("triton")
    if not torch.cuda.is_available():
        raise InputError(f"PyTorch finds no GPU ({INSTEAD})")
    return torch, triton


def _library(name: str) -> Any:
    if importlib.util.find_spec(name) is None:
        raise MissingLibraryError(f"{name} is not installed; it runs kernels on a GPU ({INSTEAD})")
    return importlib.import_module(name)


def _module(path: Path, *names: str) -> ModuleType:
    source_of(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    missing = [name for name in names if not hasattr(module, name)]
    if missing:
        raise InputError(f"no emitted kernel: it has no {missing[0]}", file=str(path))
    return module


def _timed(module: ModuleType, iterations: int) -> Timed:
    try:
        module.check(iterations)
    except AssertionError as error:
        return Timed(iterations, str(error) or "an output is not what it should be")
    return Timed(iterations, None, *module.bench(iterations))


def print_measured(found: Measured) -> None:
    """Print times and what was wrong."""
    clock = f", SMs at {found.clock_mhz:.0f} MHz" if found.clock_mhz is not None else ""
    say(f"{found.device} ({found.capability}{clock}), torch {found.torch}, triton {found.triton}")
    columns = [
        Column("iterations", form=str),
        *(Column(name, "ms", "{:.4f}".format) for name in ("median", "fifth", "four fifths")),
        Column("wrong"),
    ]
    rows = [[t.iterations, t.median, t.low, t.high, t.wrong or ""] for t in found.trips]
    Table(columns, rows).print()
    if found.iteration_ns is not None:
        cycles = found.iteration_cycles
        told = "" if cycles is None else f", {cycles:.0f} cycles"
        simulated = found.simulated_cycles
        told += "" if simulated is None else f"; on the simulated SM the loop's takes {simulated:g}"
        say(f"each further iteration takes {found.iteration_ns:.0f} ns{told}")


def emulation_data(found: Emulation) -> dict[str, Any]:
    """Return an emulation as data."""
    return {
        "file": found.file,
        "host": found.host,
        "passed": found.passed,
        "limit": LARGEST_ERROR,
        "runs": [
            {
                "iterations": run.iterations,
                "victim": run.victim,
                "passed": run.passed,
                "fault": None if run.fault is None else str(run.fault),
                "outputs": [
                    {
                        "output": one.output,
                        "error": one.exact,
                        "error_alike": one.alike,
                        "limit_alike": one.limit_alike,
                    }
                    for one in run.differences
                ],
            }
            for run in found.runs
        ],
    }


def print_emulation(found: Emulation) -> None:
    """Print the largest error of each trip count, and what went wrong."""
    rows: list[list[object]] = []
    for count in dict.fromkeys(run.iterations for run in found.runs):
        runs = [run for run in found.runs if run.iterations == count]
        errors = _largest(runs) or {None: (None, None)}
        rows += [[count, len(runs), output, *numbers] for output, numbers in errors.items()]
    columns = [
        Column("iterations", form=str),
        Column("runs", form=str),
        Column("output"),
        Column("largest error", "of the exact", "{:.1e}".format),
        Column("error", "in its own types", "{:.1e}".format),
    ]
    Table(columns, rows).print()
    wrong = [run for run in found.runs if not run.passed]
    for run in wrong:
        late = f" with {run.victim} late" if run.victim is not None else ""
        why = str(run.fault) if run.fault is not None else "an output is not what it should be"
        say(f"{plural(run.iterations, 'iteration')}{late}: {why}")
    passed = len(found.runs) - len(wrong)
    of_outputs = [one.limit_alike for run in found.runs for one in run.differences]
    alike = max(of_outputs, default=LARGEST_UNLIKE)
    limits = f"errors up to {LARGEST_ERROR:.0e}, in its own types {alike:.0e}"
    say(f"{passed} of {plural(len(found.runs), 'run')} passed; {limits}")


def _largest(runs: list[Run]) -> dict[str | None, tuple[float | None, ...]]:
    """Return each output's largest errors: from the exact reference, and in its own types."""
    found: dict[str | None, tuple[float | None, ...]] = {}
    for run in runs:
        for one in run.differences:
            exact, alike = (n or 0.0 for n in found.get(one.output, (0.0, 0.0)))
            found[one.output] = max(exact, one.exact), max(alike, one.alike)
    return found
