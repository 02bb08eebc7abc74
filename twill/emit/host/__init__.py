"""The host side of an emitted file: launch, arguments, reference, tests, benchmark."""

from __future__ import annotations

from twill.emit.host.file import Kernel, host_file, least_iterations, needed, section

__all__ = ["benchmark", "entry_point", "least_iterations", "reference", "tests"]


def entry_point(kernel: Kernel, warps: int) -> list[str]:
    """Return the constants that describe the kernel and the function that launches it.

    `warps`: of the default partition.
    """
    return section("entry_point", host_file(kernel), warps=warps)


def reference(kernel: Kernel, body: list[str]) -> list[str]:
    """Return the reference, and the arguments that tests use."""
    return section("reference", host_file(kernel), body=body, helpers=needed(body))


def tests(kernel: Kernel) -> list[str]:
    """Return the tests of an emitted file."""
    return section("tests", host_file(kernel))


def benchmark() -> list[str]:
    """Return the benchmark of an emitted file."""
    return section("benchmark")
