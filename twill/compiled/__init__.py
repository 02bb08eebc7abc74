"""Checks of a kernel file against the compiler: what Triton makes of it for a GPU, without one."""

from __future__ import annotations

from twill.compiled.cubin import compile_file
from twill.compiled.findings import (
    CHECKS,
    Compiled,
    Finding,
    Limits,
    architecture_of,
    check,
    judge,
)
from twill.compiled.loops import CompiledLoop
from twill.compiled.show import print_compiled

__all__ = [
    "CHECKS",
    "Compiled",
    "CompiledLoop",
    "Finding",
    "Limits",
    "architecture_of",
    "check",
    "compile_file",
    "judge",
    "print_compiled",
]
