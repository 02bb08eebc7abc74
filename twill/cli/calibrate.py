"""``twill calibrate``: a machine's rules beside what is compiled."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated

from typer import Option

from twill.base.errors import InputError
from twill.cli import Json, MachineName, command, tell


@command
def calibrate(
    machine: MachineName,
    from_cubin: Annotated[
        bool,
        Option("--from-cubin", help="Count the instructions that Triton compiles; needs no GPU."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare a machine's rules with what is compiled of single operations."""
    from twill.artifacts.machine import Machine
    from twill.base.console import progress
    from twill.compiled import operations
    from twill.compiled.show import print_calibration

    if not from_cubin:
        raise InputError("what is compared? (add --from-cubin)")
    with progress("compiling") as report:
        found = operations.calibrate(Machine.named(machine), report)
    tell("calibration", partial(asdict, found), partial(print_calibration, found), as_json=as_json)
