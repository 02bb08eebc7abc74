"""``twill calibrate``: a machine's rules beside what is compiled, and what was measured."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Option

from twill.base.errors import InputError
from twill.cli import Json, MachineName, command, tell

if TYPE_CHECKING:
    from twill.artifacts.machine import Machine


@command
def calibrate(
    machine: MachineName,
    from_cubin: Annotated[
        bool,
        Option("--from-cubin", help="Count the instructions that Triton compiles; needs no GPU."),
    ] = False,
    from_measurements: Annotated[
        bool,
        Option(
            "--from-measurements",
            help="Fit the constants of TMA loads to a published benchmark of a B200, and compare "
            "all its configurations with the simulated SM.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare a machine's rules with what is compiled of single operations, or was measured."""
    from twill.artifacts.machine import Machine

    if from_cubin == from_measurements:
        raise InputError("what is compared? (either --from-cubin or --from-measurements)")
    if from_cubin:
        _compiled(Machine.named(machine), as_json=as_json)
    else:
        _measured(Machine.named(machine), as_json=as_json)


def _compiled(machine: Machine, *, as_json: bool) -> None:
    from twill.base.console import progress
    from twill.compiled import operations
    from twill.compiled.show import print_calibration

    with progress("compiling") as report:
        found = operations.calibrate(machine, report)
    tell("calibration", partial(asdict, found), partial(print_calibration, found), as_json=as_json)


def _measured(machine: Machine, *, as_json: bool) -> None:
    from twill.base.console import progress
    from twill.studies.load_fit import load_fit, print_load_fit

    with progress("simulating") as report:
        found = load_fit(machine, report)
    tell("load-fit", found.model_dump, partial(print_load_fit, found), as_json=as_json)
