"""Runs of an emitted kernel, on the GPU at hand or emulated, as text and as data."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from twill.base.console import say
from twill.base.errors import InputError, MissingLibraryError, TwillError
from twill.base.formats import plural
from twill.base.tables import Column, Table
from twill.sim.emulator import LARGEST_ERROR, LARGEST_UNLIKE, Emulation, Run, failure, source_of
from twill.studies.driver import said_by_driver

TRIPS = (2, 3, 8, 32, 64)
INSTEAD = "without a GPU: --emulate"
READING_SECONDS = 0.01  # between two readings of the clock


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
    # Of the SMs while launches were timed, the median, where the driver reports it.
    clock_mhz: float | None
    torch: str
    triton: str
    trips: tuple[Timed, ...]
    # Time that each further iteration of the arguments adds, between the two largest trip counts:
    # loops around and after the scheduled one count, too.
    iteration_ns: float | None
    iteration_cycles: float | None  # the same in cycles of that clock
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
    torch, triton = _library("torch"), _library("triton")
    if not torch.cuda.is_available():
        raise InputError(f"PyTorch finds no GPU ({INSTEAD})")
    try:
        module = _module(path, "CONFIG", "check", "bench")
        if given or arguments is not None:
            make = _module(arguments or path, "make_arguments").make_arguments
            vars(module)["make_arguments"] = partial(make, **given or {})
        least = int(module.CONFIG.least_iterations)
        counts = iterations or [n for n in TRIPS if n >= least]
        clocks = _Clocks(partial(_clock, torch))
        trips = tuple(_timed(module, count, clocks) for count in counts)
    except (TwillError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a kernel file may raise anything; to end is no success
        raise failure(error, path) from error
    major, minor = torch.cuda.get_device_capability()
    clock, further = clocks.median, _further(trips)
    return Measured(
        file=str(path),
        device=str(torch.cuda.get_device_name()),
        capability=f"sm_{major}{minor}",
        clock_mhz=clock,
        torch=str(torch.__version__),
        triton=str(triton.__version__),
        trips=trips,
        iteration_ns=further,
        iteration_cycles=None if clock is None or further is None else 1e-3 * clock * further,
        simulated_cycles=getattr(module.CONFIG, "simulated_cycles", None),
    )


def _further(trips: Sequence[Timed]) -> float | None:
    """Return nanoseconds of an iteration between the two largest trip counts."""
    known = {t.iterations: t.median for t in trips if t.median is not None}
    if len(known) <= 1:
        return None
    (fewer, less), (more, longer) = sorted(known.items())[-2:]
    return 1e6 * (longer - less) / (more - fewer)


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


def _timed(module: ModuleType, iterations: int, clocks: _Clocks) -> Timed:
    try:
        module.check(iterations)
    except AssertionError as error:
        return Timed(iterations, str(error) or "an output is not what it should be")
    with clocks.reading():
        median, low, high = module.bench(iterations)
    return Timed(iterations, None, median, low, high)


class _Clocks:
    """Readings of the SM clock, which falls while products run and rises after them."""

    def __init__(self, read: Callable[[], float | None]) -> None:
        self._read, self._readings = read, list[float]()

    @property
    def median(self) -> float | None:
        """The median of all readings; None if there is none."""
        return statistics.median(self._readings) if self._readings else None

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read it again and again meanwhile."""
        ended = threading.Event()
        thread = threading.Thread(target=self._read_until, args=(ended,))
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _read_until(self, ended: threading.Event) -> None:
        while (clock := self._read()) is not None:
            self._readings.append(clock)
            if ended.wait(READING_SECONDS):
                return


def _clock(torch: Any) -> float | None:
    """Return the clock of the SMs in MHz, from the driver's library or else its program."""
    with contextlib.suppress(Exception):  # the library has errors of its own
        return float(torch.cuda.clock_rate())
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError, AttributeError):
        gpu = f"GPU-{torch.cuda.get_device_properties().uuid}"
        return float(said_by_driver("clocks.sm", gpu) or "")
    return None


def print_measured(found: Measured) -> None:
    """Print times and what was wrong."""
    clock = f", SMs at {found.clock_mhz:.0f} MHz" if found.clock_mhz is not None else ""
    say(f"{found.device} ({found.capability}{clock}), torch {found.torch}, triton {found.triton}")
    columns = [
        Column("iterations", form=str),
        Column("median", "ms", _milliseconds),
        Column("fifth", "ms", _milliseconds),
        Column("four fifths", "ms", _milliseconds),
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


def _milliseconds(number: float) -> str:
    return f"{number:.4f}"


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
        Column("largest error", "of the exact", _scientific),
        Column("error", "in its own types", _scientific),
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


def _scientific(number: float) -> str:
    return f"{number:.1e}"


def _largest(runs: list[Run]) -> dict[str | None, tuple[float | None, ...]]:
    """Return each output's largest errors: from the exact reference, and in its own types."""
    found: dict[str | None, tuple[float | None, ...]] = {}
    for run in runs:
        for one in run.differences:
            exact, alike = (n or 0.0 for n in found.get(one.output, (0.0, 0.0)))
            found[one.output] = max(exact, one.exact), max(alike, one.alike)
    return found
