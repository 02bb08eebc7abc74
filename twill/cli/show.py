"""``twill show``, ``twill extract``: schedules that people read, and what they read back from."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from twill.cli.options import Json, print_json
from twill.console import WIDTH, command, say, say_written
from twill.errors import InputError
from twill.files import STANDARD_OUTPUT, write_whole

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule

ScheduleFile = Annotated[
    str,
    typer.Argument(
        metavar="SCHEDULE", help="schedule.json, IR (.mlir) or the name of a packaged schedule."
    ),
]


class Form(StrEnum):
    """What a schedule is shown as."""

    TABLE = "table"
    CODE = "code"
    JSON = "json"
    IR = "ir"
    GRAPH = "graph"
    TIMELINE = "timeline"
    RRT = "rrt"
    ROLES = "roles"
    WHY = "why"


TEXTS = (Form.CODE, Form.JSON, Form.IR)
TABLES = (Form.TABLE, Form.WHY)
COUNTED = (Form.CODE, Form.JSON)


@command
def show(
    schedule_file: ScheduleFile,
    form: Annotated[
        Form,
        typer.Option(
            "--as",
            help="table: operations, and an interval as letters. code: pseudo-code of each group. "
            "json: the same as data. ir: MLIR that reads back. graph: dependences. timeline: "
            "placed iterations. rrt: modular reservation table. roles: who does what. why: what "
            "holds each operation where it is.",
        ),
    ] = Form.TABLE,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write it here. Pictures end in .svg, .png or .html; a graph in .dot too, roles "
            "in .txt too; - is stdout, where pictures are SVG.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(min=1, help="Trip count of the code or its data; left open without it."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a schedule as a table, a program, IR or a picture."""
    from twill.frontends.schedules import load_schedule

    if iterations is not None and form not in COUNTED:
        raise InputError("only of use with --as code or --as json", path="--iterations")
    schedule = load_schedule(schedule_file)
    if form in TEXTS:
        _write(_text(schedule, form, iterations), output)
    elif form in TABLES or (form is Form.ROLES and output is None):
        _print(schedule, form, output, as_json)
    elif output is None:
        raise InputError(f"--as {form.value} makes a file; name it with -o", path="--output")
    else:
        from twill.show.looks import with_short_names

        _drawer(form)(with_short_names(schedule), output)
        say_written(output)


def _text(schedule: Schedule, form: Form, iterations: int | None) -> str:
    if form is Form.IR:
        from twill.show.ir import ir

        return ir(schedule)
    if form is Form.CODE:
        from twill.show.code import code

        return code(schedule, iterations)
    import json

    from twill.show.code import program_data

    return json.dumps(program_data(schedule, iterations), indent=1, ensure_ascii=False) + "\n"


def _write(text: str, output: str | None) -> None:
    if output is None:
        say(text.removesuffix("\n"))
    else:
        write_whole(output, text)
        say_written(output)


def _print(schedule: Schedule, form: Form, output: str | None, as_json: bool) -> None:
    from dataclasses import asdict

    from twill import tables
    from twill.show import placed, roles
    from twill.show import schedule as views

    if output is not None:
        raise InputError("a table goes to the terminal; choose another --as", path="--output")
    if form is Form.ROLES and as_json:
        print_json(roles.roles_data(schedule))
    elif form is Form.ROLES:
        width = min(WIDTH, tables.output().width)
        say(roles.roles_text(schedule, width).removesuffix("\n"))
    elif form is Form.WHY and as_json:
        print_json([asdict(position) for position in placed.positions(schedule)])
    elif form is Form.WHY:
        views.print_positions(schedule)
    elif as_json:
        print_json(views.interval_data(schedule))
    else:
        views.print_interval(schedule)


def _drawer(form: Form) -> Callable[[Schedule, str], None]:
    from twill.show import gantt, graph, roles

    return {
        Form.GRAPH: graph.draw_graph,
        Form.TIMELINE: gantt.draw_timeline,
        Form.RRT: gantt.draw_reservations,
        Form.ROLES: roles.draw_roles,
    }[form]


@command
def extract(
    file: Annotated[str, typer.Argument(help="IR that `twill show --as ir` wrote (.mlir).")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write schedule.json here (- for stdout).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Read a schedule back from its IR."""
    from twill.frontends.schedules import load_schedule_ir
    from twill.show.schedule import print_schedule, schedule_data

    schedule = load_schedule_ir(file)
    if output is not None:
        schedule.save(output)
    if output == STANDARD_OUTPUT:
        return
    if as_json:
        print_json(schedule_data(schedule))
        return
    if schedule.initiation_interval is None:
        say(
            f"{schedule.name}: {len(schedule.groups)} groups, {len(schedule.placements)} operations"
        )
    else:
        print_schedule(schedule)
    say_written(output)
