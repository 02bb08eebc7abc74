"""``twill show``, ``twill extract``: schedules that people read, and what they read back from."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from twill.cli.options import Json, print_json
from twill.console import command, say, say_written
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
        from twill.show.pictures.short import with_short_names

        _drawer(form)(with_short_names(schedule), output)
        say_written(output)


def _text(schedule: Schedule, form: Form, iterations: int | None) -> str:
    if form is Form.IR:
        from twill.show.programs.ir import ir

        return ir(schedule)
    if form is Form.CODE:
        from twill.show.programs.code import code

        return code(schedule, iterations)
    import json

    from twill.show.programs.data import program_data

    return json.dumps(program_data(schedule, iterations), indent=1, ensure_ascii=False) + "\n"


def _write(text: str, output: str | None) -> None:
    if output is None:
        say(text.removesuffix("\n"))
    else:
        write_whole(output, text)
        say_written(output)


def _print(schedule: Schedule, form: Form, output: str | None, as_json: bool) -> None:
    if output is not None:
        raise InputError("a table goes to the terminal; choose another --as", path="--output")
    if form is Form.ROLES:
        _print_roles(schedule, as_json)
        return
    if form is Form.WHY:
        _print_positions(schedule, as_json)
        return
    from twill.show.tables.show import show as show_table
    from twill.show.tables.show import show_data

    if as_json:
        print_json(show_data(schedule))
    else:
        show_table(schedule)


def _print_roles(schedule: Schedule, as_json: bool) -> None:
    from dataclasses import asdict

    from twill.show.pictures.roles import roles_text
    from twill.show.roles import roles

    if as_json:
        print_json(
            [{**asdict(r), "group": r.group.model_dump(mode="json")} for r in roles(schedule)]
        )
    else:
        from twill.show.tables.grid import output

        say(roles_text(schedule, min(80, output().width)).removesuffix("\n"))


def _print_positions(schedule: Schedule, as_json: bool) -> None:
    from dataclasses import asdict

    from twill.show.positions import positions
    from twill.show.tables.show import show_positions

    if as_json:
        print_json([asdict(position) for position in positions(schedule)])
    else:
        show_positions(schedule)


def _drawer(form: Form) -> Callable[[Schedule, str], None]:
    if form is Form.GRAPH:
        from twill.show.pictures.graph import draw_graph

        return draw_graph
    if form is Form.TIMELINE:
        from twill.show.pictures.timeline import draw_timeline

        return draw_timeline
    if form is Form.RRT:
        from twill.show.pictures.reservations import draw_reservations

        return draw_reservations
    from twill.show.pictures.roles import draw_roles

    return draw_roles


@command
def extract(
    file: Annotated[str, typer.Argument(help="IR that `twill show --as ir` wrote (.mlir).")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write schedule.json here (- for stdout).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Read a schedule back from its IR."""
    from twill.frontends.schedule_ir import load_schedule_ir
    from twill.show.text import print_schedule, summary

    schedule = load_schedule_ir(file)
    if output is not None:
        schedule.save(output)
    if output == STANDARD_OUTPUT:
        return
    if as_json:
        print_json(summary(schedule))
        return
    if schedule.initiation_interval is None:
        say(
            f"{schedule.name}: {len(schedule.groups)} groups, {len(schedule.placements)} operations"
        )
    else:
        print_schedule(schedule)
    say_written(output)
