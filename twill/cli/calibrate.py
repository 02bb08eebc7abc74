"""``twill calibrate``: a machine's rules for single operations against what a compiler makes."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from typer import Option

from twill.cli import Json, MachineName, command, tell
from twill.errors import InputError


@command
def calibrate(
    machine: MachineName,
    from_cubin: Annotated[
        bool,
        Option("--from-cubin", help="Count the instructions that Triton compiles; needs no GPU."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare what rules book for single operations with what is compiled of them."""
    from dataclasses import asdict

    from twill.artifacts.machine import Machine
    from twill.compiled import operations
    from twill.compiled.show import print_calibration
    from twill.console import progress

    if not from_cubin:
        raise InputError("what is compared with the rules? (--from-cubin)")
    with progress("compiling") as report:
        found = operations.calibrate(Machine.named(machine), report)
    show = partial(print_calibration, found)
    tell("calibration", partial(asdict, found), show, as_json=as_json)
