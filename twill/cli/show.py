"""``twill show``, ``annotate``, ``extract``, ``diff``: schedules that people read, and back."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from twill.base.console import WIDTH, progress, say, say_written
from twill.base.errors import InputError
from twill.base.files import read_bytes, write_whole
from twill.cli.command import Output, command, json_text, print_json, tell
from twill.cli.options import Json, ScheduleName

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule

Form = StrEnum("Form", ["table", "code", "json", "ir", "timeline", "roles", "why"])
TABLES = (Form.table, Form.roles, Form.why)
COUNTED = (Form.code, Form.json)


@command
def show(
    schedule_file: ScheduleName,
    form: Annotated[
        Form,
        Option(
            "--as",
            help="`table`: operations, and an interval as letters. `code`: pseudo-code of each "
            "group. `json`: the same as data. `ir`: MLIR that reads back. `timeline`: a picture of "
            "placed iterations. `roles`: work and signals of each group. `why`: constraints that "
            "hold each operation in its place.",
        ),
    ] = Form.table,
    output: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            help="File to write (.svg or .png for a timeline); - is stdout, where a timeline is "
            "SVG.",
        ),
    ] = None,
    iterations: Annotated[
        int | None, Option(min=1, help="Trip count of the code or its data; by default left open.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a schedule as a table, a program, IR or a picture."""
    from twill.frontends.schedules import load_schedule

    if iterations is not None and form not in COUNTED:
        raise InputError("only of use with --as code or --as json", path="--iterations")
    schedule = load_schedule(schedule_file)
    if form in TABLES:
        if output is not None:
            raise InputError("a table goes to the terminal; choose another --as", path="--output")
        _print(schedule, form, as_json)
    elif form is not Form.timeline:
        _write(_text(schedule, form, iterations), output)
    elif output is None:
        raise InputError("--as timeline makes a file; name it with -o", path="--output")
    else:
        from twill.show.gantt import draw_timeline

        draw_timeline(schedule, output)
        say_written(output)


def _text(schedule: Schedule, form: Form, iterations: int | None) -> str:
    if form is Form.ir:
        from twill.show.ir import ir

        return ir(schedule)
    if form is Form.code:
        from twill.show.code import code

        return code(schedule, iterations)
    from twill.show.code import program_data

    return json_text("program", program_data(schedule, iterations)) + "\n"


def _write(text: str, output: str | None) -> None:
    if output is None:
        say(text.removesuffix("\n"))
    else:
        write_whole(output, text)
        say_written(output)


def _print(schedule: Schedule, form: Form, as_json: bool) -> None:
    from twill.base import tables
    from twill.show import placed, roles
    from twill.show import schedule as views

    if form is Form.roles and as_json:
        print_json("schedule-roles", {"roles": roles.roles_data(schedule)})
    elif form is Form.roles:
        width = min(WIDTH, tables.output().width)
        say(roles.roles_text(schedule, width).removesuffix("\n"))
    elif form is Form.why and as_json:
        found = [asdict(position) for position in placed.positions(schedule)]
        print_json("schedule-positions", {"positions": found})
    elif form is Form.why:
        views.print_positions(schedule)
    elif as_json:
        print_json("schedule-table", views.interval_data(schedule))
    else:
        views.print_interval(schedule)


@command
def annotate(
    schedule_file: ScheduleName,
    source: Annotated[
        Path | None,
        Option(
            metavar="FILE|FOLDER",
            help="Source of the loop. By default the folder of the schedule and the packaged "
            "kernels are searched.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the source line by line: units, group, stage, cycles, and stalls of a simulated run.

    For example: twill annotate schedule.json --source my_kernel.py
    """
    from twill.frontends.schedules import load_schedule
    from twill.studies import annotated

    schedule = load_schedule(schedule_file)
    with progress(f"simulating {schedule_file}"):
        found = annotated.annotate(schedule, source)
    tell("annotation", found.model_dump, partial(annotated.print_annotated, found), as_json=as_json)


@command
def extract(
    file: Annotated[str, Argument(help="IR that `twill show --as ir` wrote (.mlir).")],
    output: Output,
) -> None:
    """Read a schedule back from its IR."""
    from twill.frontends.schedules import parse_schedule_ir
    from twill.show.schedule import print_schedule, schedule_data

    schedule = parse_schedule_ir(read_bytes(file), file=file)

    def show() -> None:
        if schedule.initiation_interval is None:
            groups, operations = len(schedule.groups), len(schedule.placements)
            say(f"{schedule.name}: {groups} groups, {operations} operations")
        else:
            print_schedule(schedule)

    output.keep(schedule, "schedule-summary", lambda: schedule_data(schedule), show)


@command
def diff(
    first: Annotated[
        str, Argument(help="schedule.json, IR (.mlir) or the name of a packaged schedule.")
    ],
    second: Annotated[str, Argument(help="Another schedule.")],
    as_json: Json = False,
) -> None:
    """List the differences between two schedules; exit status 1 if there are any."""
    from twill.frontends.schedules import load_schedule
    from twill.show.differences import Comparison, differences_data, print_differences

    found = Comparison(load_schedule(first), load_schedule(second))
    data, show = partial(differences_data, found), partial(print_differences, found)
    tell("schedule-differences", data, show, as_json=as_json)
    if not found.equal:
        raise typer.Exit(1)
