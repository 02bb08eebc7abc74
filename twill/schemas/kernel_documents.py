"""What commands about kernels print with ``--json``, as models."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from twill.artifacts.base import Part
from twill.compiled.findings import Finding as CompiledFinding
from twill.compiled.loops import CompiledLoop
from twill.compiled.operations import Calibrated
from twill.schemas.documents import Document, Strings
from twill.studies.kernels import Timed


class Calibration(Document):
    """``twill calibrate --json``; see `twill.compiled.operations.Calibration`."""

    schema_name: Literal["twill.calibration"] = Field(alias="schema")
    machine: str
    architecture: str
    shape: tuple[int, int]
    rows: tuple[Calibrated, ...]


class CompiledKernel(Document):
    """``twill emit --check --json``; see `twill.compiled.findings.Compiled`."""

    schema_name: Literal["twill.compiled"] = Field(alias="schema")
    kernel: str
    architecture: int
    warps: int
    shared: int
    tensor_columns: int
    spills: int
    warnings: Strings
    loops: tuple[CompiledLoop, ...]
    findings: tuple[CompiledFinding, ...]


class EmulatedOutput(Part):
    """An output's largest error, from the reference in float64 and from that in its own types."""

    output: str
    error: float
    error_alike: float


class EmulatedRun(Part):
    """A run of a kernel on the emulator, perhaps with something delayed."""

    iterations: int
    victim: str | None
    passed: bool
    fault: str | None
    outputs: tuple[EmulatedOutput, ...]


class Emulated(Document):
    """``twill run-kernel --emulate --json``."""

    schema_name: Literal["twill.emulation"] = Field(alias="schema")
    file: str
    host: str
    passed: bool
    limit: float
    limit_alike: float
    runs: tuple[EmulatedRun, ...]


class MeasuredKernel(Document):
    """``twill run-kernel --json``; see `twill.studies.kernels.Measured`."""

    schema_name: Literal["twill.measured-kernel"] = Field(alias="schema")
    file: str
    device: str
    capability: str
    clock_mhz: float | None
    torch: str
    triton: str
    trips: tuple[Timed, ...]
    iteration_ns: float | None
    iteration_cycles: float | None
    simulated_cycles: float | None
