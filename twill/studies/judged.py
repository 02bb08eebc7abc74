"""Kernels judged by the compiler: what it makes of them, and the cycles of their machine code."""

from __future__ import annotations

import csv
import functools
import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from twill.artifacts.machine import Machine
from twill.base.console import Report, paragraph, say, silent, warn
from twill.base.errors import InputError, short
from twill.base.files import read_bytes
from twill.base.formats import cycles, plural
from twill.compiled import (
    Compiled,
    Limits,
    architecture_of,
    compile_file,
    judge,
    print_compiled,
)
from twill.compiled.cubin import Cubin
from twill.sim.engine.latency import parse_latency
from twill.sim.engine.work import Work
from twill.sim.machine_code import Costs, Kernel, Prediction, costs_of, predicted
from twill.sim.machine_code.show import print_prediction
from twill.sim.machine_code.transfers import Latency

SPILLED = "spills or serialized products"
PRODUCTS = "products alone"
MIXED = "products and arithmetic"
MACHINES = {90: "hopper_h100", 100: "blackwell_b200"}
MEASURED = "sm_90"  # the architecture whose predictions were compared with measured kernels
ARITHMETIC = "fma", "alu", "mufu", "shuffle"
LOAD = Work(
    name="load",
    asynchronous=True,
    variable_latency=True,
    warps=1,
    segments=(),
    demands=(),
    tail=0,
    latency=0,
    transfer=0,
    reads=(),
    bytes=0,
)
"""A bulk load of machine code; its bytes are those of a box."""


@dataclass(frozen=True)
class Evidence:
    """Errors of the predictions of measured kernels of one kind.

    `kind`: `SPILLED`, `PRODUCTS` or `MIXED`.
    `kernels`: measured kernels of this kind.
    `median`, `worst`: errors, as parts of the measured interval.
    `device`: the GPU on which they were measured.
    """

    kind: str
    kernels: int
    median: float
    worst: float
    device: str

    def __str__(self) -> str:
        return (
            f"predictions of this kind of kernel ({self.kind}) are off by {self.median:.0%} in the "
            f"median, {self.worst:.0%} at most: {plural(self.kernels, 'kernel')} on {self.device}"
        )


@dataclass(frozen=True)
class Judged:
    """A compiled kernel with the cycles of its machine code."""

    made: Compiled  # the compiled kernel, and what is to be mended of it
    # Cycles of an iteration of its machine code, if that was executed.
    prediction: Prediction | None
    unpredicted: str  # why it was not executed; empty if it was
    evidence: Evidence | None  # errors of such predictions; None where none was measured

    @property
    def as_written(self) -> bool:
        """Whether the compiler made of the kernel what its file says."""
        return not self.made.findings

    @property
    def cycles(self) -> float | None:
        """Cycles of an iteration, the most over the starting phases; None if unknown."""
        return None if self.prediction is None else self.prediction.highest_cycles

    def data(self, promised: float | None = None, bound: float | None = None) -> dict[str, Any]:
        """Return it as plain data, with the promise of its schedule and the bound of its loop."""
        more = {k: v for k, v in asdict(self).items() if k != "made"}
        return {**asdict(self.made), **more, "promised_cycles": promised, "bound_cycles": bound}


def kernel_of(code: Cubin, text: str) -> Kernel:
    """Return a compiled kernel file as the simulator of machine code takes it."""
    return Kernel(code.listing, code.targets, text, code.warps, code.shared, code.architecture)


def is_compared(machine: Machine) -> bool:
    """Return whether predictions for a machine's architecture were compared with measurements."""
    return machine.architecture == MEASURED


def instruction_costs(machine: Machine) -> Costs:
    """Return the costs of instructions that a machine file gives.

    Raises
    ------
    InputError
        If it has none, lacks one, or has one that there is not.
    """
    if machine.instructions is None:
        raise InputError(f"{machine.name} has no [[instructions]]")
    entries = [
        (one.pipe, one.opcodes, {name: cost.value for name, cost in one.costs.items()})
        for one in machine.instructions
    ]
    origin = f"costs of single instructions as {machine.name} has them; no kernel is fitted"
    if not is_compared(machine):
        origin += f"; no prediction for {machine.architecture}a was compared with a measurement"
    return costs_of(entries, origin)


def machine_of(architecture: int) -> Machine:
    """Return the machine of a kernel file that names none."""
    return Machine.named(MACHINES[architecture])


def judged_file(
    path: str | os.PathLike[str],
    machine: Machine | None = None,
    *,
    compiler: Callable[[Path, int], Cubin] = compile_file,
    mechanisms: bool = False,
    latency: Latency | None = None,
    report: Report = silent,
) -> Judged:
    """Compile a kernel file, check what comes out, and execute its machine code.

    `path`: a kernel file, as `twill.compiled.compile_file` takes it; it is imported.
    `machine`: the SM; that of an H100 or a B200 without it.
    `compiler`: compiles a file for an architecture.
    `mechanisms`: whether to execute it also with each mechanism of the SM switched off.
    `latency`: latency of bulk loads, as `latency_of` returns it.
    `report`: receives a message for each step.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If there is no such file, it does not compile, or its partitions cannot be read.
    """
    text = read_bytes(path).decode(errors="replace")
    code = compiler(Path(path), architecture_of(text))
    if machine is None:
        machine = machine_of(code.architecture)
    made = judge(code, text, str(path), Limits.of(machine))
    report("executing the machine code")
    kernel = kernel_of(code, text)
    prediction, unpredicted = None, ""
    try:
        costs = instruction_costs(machine)
        prediction = predicted(kernel, costs, mechanisms=mechanisms, latency=latency)
    except InputError as error:
        unpredicted = str(error)
    except Exception as error:  # the program and its compiled kernel stay good answers
        unpredicted = f"a defect of this simulator: {type(error).__name__}: {error}"
        warn(f"{path}: {unpredicted}")
    compared = prediction is not None and is_compared(machine)
    found = evidence().get(kind_of(made)) if compared else None
    return Judged(made, prediction, unpredicted, found)


def latency_of(text: str) -> Latency:
    """Return the latency of bulk loads of machine code from a text, as a run takes it.

    Raises
    ------
    InputError
        If the text has another form, or is a mixture or of one load only.
    """
    if "=" in text or text.startswith("mixture"):
        wrong = f"loads of machine code have neither names nor levels (got {short(text)})"
        raise InputError(wrong, path="latency")
    source = parse_latency(text)
    return lambda generator, size, start: source(generator, replace(LOAD, bytes=size), start)


def kind_of(made: Compiled) -> str:
    """Return the kind of a compiled kernel, by which the table of errors is grouped."""
    if {"spills", "serialized"} & {finding.check for finding in made.findings}:
        return SPILLED
    used = [loop.instructions.get(pipe, 0) for loop in made.loops for pipe in ARITHMETIC]
    return MIXED if any(used) else PRODUCTS


@functools.cache
def evidence() -> Mapping[str, Evidence]:
    """Return the errors of predictions by kind, from ``traces/results/predictions.csv``."""
    data = files("twill.traces") / "results" / "predictions.csv"
    rows = list(csv.DictReader(data.read_text().splitlines())) if data.is_file() else []
    found: dict[str, Evidence] = {}
    for kind in dict.fromkeys(row["kind"] for row in rows):
        those = [row for row in rows if row["kind"] == kind]
        errors = [abs(float(row["predicted"]) / float(row["measured"]) - 1) for row in those]
        median, worst = statistics.median(errors), max(errors)
        found[kind] = Evidence(kind, len(those), median, worst, those[0]["machine"])
    return found


def print_judged(found: Judged, promised: float | None = None, bound: float | None = None) -> None:
    """Print a judged kernel, with the promise of its schedule and the bound of its loop."""
    print_compiled(found.made)
    if found.prediction is None:
        say(f"its machine code was not executed: {found.unpredicted}")
        return
    print_prediction(found.prediction)
    if found.evidence is not None:
        paragraph(str(found.evidence))
    if promised is not None:
        least = "" if bound is None else f", and no program takes less than {cycles(bound)}"
        say(f"the schedule promises {cycles(promised)} cycles{least}")
