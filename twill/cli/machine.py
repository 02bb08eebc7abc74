"""``twill machine``: list, show and check machines; ``twill calibrate``."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from twill.base.console import progress, say
from twill.base.errors import InputError
from twill.base.formats import plural
from twill.base.tables import Column, Table
from twill.cli.command import command, print_json, tell
from twill.cli.options import Json, MachineName

if TYPE_CHECKING:
    from twill.studies.audit import Finding, Subject

app = typer.Typer(no_args_is_help=True, help="Machines to schedule for.")


@app.command("list")
@command
def list_(as_json: Json = False) -> None:
    """List the packaged machines."""
    from twill.artifacts.machine import Machine, packaged_machines

    machines = [Machine.named(name) for name in packaged_machines()]
    if as_json:
        keys = ("name", "architecture", "description")
        told = [{**{key: getattr(m, key) for key in keys}, "hash": m.digest} for m in machines]
        print_json("machine-list", {"machines": told})
    else:
        columns = [Column("machine"), Column("architecture"), Column("description")]
        Table(columns, [[m.name, m.architecture, m.description] for m in machines]).print()


@app.command()
@command
def show(machine: MachineName, as_json: Json = False) -> None:
    """List the units, memories, warps and signal costs of a machine's SM."""
    from twill.artifacts.machine import Machine
    from twill.show.inputs import machine_data, print_machine

    found = Machine.named(machine)
    data, show = partial(machine_data, found), partial(print_machine, found)
    tell("machine-facts", data, show, as_json=as_json)


@app.command()
@command
def check(machine: MachineName, as_json: Json = False) -> None:
    """Audit a machine file; exit status 1 if there is something to mend."""
    from twill.studies.audit import audit, read_subject

    subject = read_subject(machine)
    findings = audit(subject)
    if as_json:
        print_json("machine-audit", _audit_data(subject, findings))
    else:
        _print_audit(subject, findings)
    if findings:
        raise typer.Exit(1)


def _audit_data(subject: Subject, findings: list[tuple[str, Finding]]) -> dict[str, object]:
    return {
        "machine": subject.machine.name,
        "file": subject.machine.file,
        "hash": subject.machine.digest,
        "loops": [loop.name for loop in subject.loops],
        "clean": not findings,
        "findings": [{"check": name, **asdict(found)} for name, found in findings],
    }


def _print_audit(subject: Subject, findings: list[tuple[str, Finding]]) -> None:
    from twill.studies.audit import CHECKS

    for _, finding in findings:
        say(f"{finding.where}: {finding.what}")
        say(f"    {finding.mend}")
    verdict = plural(len(findings), "finding") if findings else "clean"
    loops = ", ".join(loop.name for loop in subject.loops) or "no packaged loop"
    say(f"{subject.machine.file}: {verdict} ({len(CHECKS)} checks; rules tried on {loops})")


@command
def calibrate(
    machine: MachineName,
    from_cubin: Annotated[
        bool,
        Option("--from-cubin", help="Count the instructions that Triton compiles; needs no GPU."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare a machine's rules with the instructions compiled for single operations."""
    from twill.artifacts.machine import Machine
    from twill.compiled import operations
    from twill.compiled.show import print_calibration

    if not from_cubin:
        raise InputError("what is compared? (add --from-cubin)")
    with progress("compiling") as report:
        found = operations.calibrate(Machine.named(machine), report)
    tell("calibration", partial(asdict, found), partial(print_calibration, found), as_json=as_json)
