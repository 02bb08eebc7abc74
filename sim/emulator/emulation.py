"""Runs of a kernel file with each victim in turn, compared with the file's own reference."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from twill.base.errors import InputError, TwillError
from twill.sim.emulator import pytorch
from twill.sim.emulator.faults import FaultError
from twill.sim.emulator.hosts import load, stand_ins
from twill.sim.emulator.machine import Session, running

MANY = 8  # iterations of a longer run
CONTRACT = ("make_arguments", "launch", "reference", "OUTPUTS")
"""Names that a kernel file has to define."""
LARGEST_ERROR = 1e-2
"""The largest error of an output that passes: products have factors of 16 bits."""
LARGEST_UNLIKE = 2e-3
"""The same from the reference in the kernel's own types, which sums may be off by their order."""
UNITS = {"bfloat16": 2.0**-7}
"""The unit in the last place of types in which one is more; then it may be off by one."""


@dataclass(frozen=True)
class Difference:
    """How far an output is from its reference, relative to the reference's largest magnitude.

    Attributes
    ----------
    output : str
        The argument.
    exact : float
        From the reference in float64; NaN where the output has NaN and the reference has not.
    alike : float
        From the reference in the kernel's own precision.
    limit_alike : float
        The largest that passes: `LARGEST_UNLIKE`, or a unit in the last place of the output's type.
    """

    output: str
    exact: float
    alike: float
    limit_alike: float = LARGEST_UNLIKE

    @property
    def passed(self) -> bool:
        """Whether the errors are at most `LARGEST_ERROR` and `limit_alike`."""
        return self.exact <= LARGEST_ERROR and self.alike <= self.limit_alike


@dataclass(frozen=True)
class Run:
    """An execution: the trip count, the victim if there was one, and the result."""

    iterations: int
    victim: str | None
    differences: tuple[Difference, ...] = ()
    fault: FaultError | None = None

    @property
    def passed(self) -> bool:
        """Whether it broke no rule and computed what it should."""
        return self.fault is None and all(one.passed for one in self.differences)


@dataclass(frozen=True)
class Emulation:
    """The results of `emulate`.

    Attributes
    ----------
    file : str
        The kernel file.
    runs : tuple of Run
        For every trip count the run without a victim, then a run for each victim.
    host : str
        Library of the tensors of arguments and references: ``PyTorch`` or its ``stand-in``.
    """

    file: str
    runs: tuple[Run, ...]
    host: str = "stand-in"

    @property
    def passed(self) -> bool:
        """Whether every run passed."""
        return all(run.passed for run in self.runs)


def emulate(
    path: str | Path,
    *,
    iterations: Sequence[int] | None = None,
    victims: bool = True,
    seed: int = 0,
    capability: tuple[int, int] = (9, 0),
    given: Mapping[str, Any] | None = None,
    arguments: str | Path | None = None,
    real: bool | None = None,
) -> Emulation:
    """Execute the kernel of a file and compare what it writes with the file's reference.

    The file is a program: all of its code is executed, with the rights of the caller.

    Parameters
    ----------
    path : str or Path
        A module that defines ``make_arguments(iterations, seed, device)``, ``launch(arguments,
        grid)``, ``reference(arguments, grid, exact)`` and ``OUTPUTS``.
    iterations : sequence of int, optional
        Trip counts; without them the least of the file's ``CONFIG.least_iterations`` (1 without
        that), the next two, and 8.
    victims : bool, optional
        Whether to repeat every run with each victim in turn, unless the run without one has failed.
    seed : int, optional
        Seed of the arguments, and of the order of execution.
    capability : tuple of int, optional
        The compute capability that the file finds.
    given : mapping, optional
        Arguments of ``make_arguments`` that replace its defaults, by name.
    arguments : str or Path, optional
        Another file, whose ``make_arguments`` is used.
    real : bool, optional
        Whether arguments and references are tensors of PyTorch itself, or of its stand-in; without
        it of PyTorch where that is installed.

    Raises
    ------
    InputError
        If the file is not such a module or uses features that are not emulated. If arguments prove
        nothing, since the reference is not finite or the loop runs in no program.
    """
    runs: list[Run] = []
    loaded = partial(_prepared, path, given or {}, arguments)
    real = pytorch.installed() if real is None else real
    options: dict[str, Any] = {"seed": seed, "capability": capability, "real": real}
    try:
        with np.errstate(all="ignore"):  # as on the device, what is too large is infinite
            for count in iterations or trip_counts(path, options):
                first, session, expected = _first(loaded, count, options)
                runs.append(first)
                for victim in session.candidates if victims and first.passed else ():
                    with stand_ins(victim=victim, **options):
                        runs.append(executed(loaded(), Run(count, victim), seed, expected))
    except (TwillError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a kernel file may raise anything; to end is no success
        raise failure(error, path) from error
    return Emulation(str(path), tuple(runs), "PyTorch" if real else "stand-in")


def failure(error: BaseException, path: str | Path) -> InputError:
    """Return what a kernel file raised as an error of that file, with the line."""
    where = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    line = f"line {where[-1].lineno}" if where else ""
    try:
        text = f": {error}" if str(error) else ""
    except BaseException:  # an error of the file's own may raise another
        text = ", which cannot be written"
    return InputError(f"{type(error).__name__}{text}", path=line, file=str(path))


def trip_counts(path: str | Path, options: dict[str, Any]) -> list[int]:
    """Return the least trip count of a kernel file, the next two, and a longer one."""
    with stand_ins(**options):
        config = getattr(kernel_file(path), "CONFIG", None)
    least = int(getattr(config, "least_iterations", 1))
    return sorted({least, least + 1, least + 2, max(MANY, least)})


References = dict[str, tuple[Any, Any]]


def _first(
    loaded: Callable[[], ModuleType], iterations: int, options: dict[str, Any]
) -> tuple[Run, Session, References]:
    """Return the run without a victim, the session with possible victims, and the references."""
    seed = options["seed"]
    with stand_ins(**options) as session:
        module = loaded()
        arguments, grid = module.make_arguments(iterations, seed)
        exact, alike = (module.reference(arguments, grid, exact) for exact in (True, False))
        expected = {name: (exact[name], alike[name]) for name in module.OUTPUTS}
        for name, (wanted, _) in expected.items():
            if np.isnan(pytorch.numbers_of(wanted)).any():
                text = f"the reference of {name} has NaN: these arguments prove nothing"
                raise InputError(text, path=f"{iterations} iterations")
        return executed(module, Run(iterations, None), seed, expected), session, expected


def kernel_file(path: str | Path) -> ModuleType:
    """Return a kernel file as a module.

    Raises
    ------
    InputError
        If it lacks one of `CONTRACT`, or names no output.
    """
    module = load(path)
    for name in CONTRACT:
        if not hasattr(module, name):
            raise InputError(f"defines no {name}", file=str(path))
    if not module.OUTPUTS:
        wrong = "names no output, so that nothing is compared"
        raise InputError(wrong, path="OUTPUTS", file=str(path))
    return module


def _prepared(
    path: str | Path, given: Mapping[str, Any], arguments: str | Path | None
) -> ModuleType:
    """Return a kernel file whose arguments are made otherwise, where something is given."""
    module = kernel_file(path)
    if arguments is not None:
        other = load(arguments)
        if not hasattr(other, "make_arguments"):
            raise InputError("defines no make_arguments", file=str(arguments))
        vars(module)["make_arguments"] = other.make_arguments
    if given:
        vars(module)["make_arguments"] = partial(module.make_arguments, **given)
    return module


def executed(module: ModuleType, run: Run, seed: int, expected: References) -> Run:
    """Return a run of a kernel file with its fault, or with its differences from references."""
    arguments, grid = module.make_arguments(run.iterations, seed)
    session = running.session
    assert session is not None
    try:
        module.launch(arguments, grid)
    except FaultError as fault:
        return Run(run.iterations, run.victim, fault=fault)
    for name in module.OUTPUTS:
        if not session.has_written(pytorch.array_of(arguments[name]).data):
            unwritten = FaultError("unwritten", f"no kernel writes the output {name}")
            return Run(run.iterations, run.victim, fault=unwritten)
    found = tuple(_difference(name, arguments[name], *expected[name]) for name in module.OUTPUTS)
    return Run(run.iterations, run.victim, found)


def _difference(name: str, output: Any, exact: Any, alike: Any) -> Difference:
    numbers = pytorch.numbers_of(output)
    errors = []
    for reference in (exact, alike):
        wanted = pytorch.numbers_of(reference)
        if wanted.shape != numbers.shape:
            shapes = f"{list(numbers.shape)}, and its reference {list(wanted.shape)}"
            raise InputError(f"the output {name} is of shape {shapes}")
        scale = float(np.max(np.abs(wanted), initial=0.0)) or 1.0
        apart = np.where(numbers == wanted, 0.0, np.abs(numbers - wanted))
        errors.append(float(np.max(apart, initial=0.0)) / scale)
    kind = getattr(output.dtype, "name", str(output.dtype)).removeprefix("torch.")
    exact_error, alike_error = errors
    limit = max(LARGEST_UNLIKE, UNITS.get(kind, 0.0))
    return Difference(name, exact_error, alike_error, limit)
