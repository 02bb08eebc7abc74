"""``python -m twill.sim``: execute schedules on the simulated SM."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from twill.console import command, progress, run_app, say, table
from twill.errors import RefusedError

app = typer.Typer(
    name="python -m twill.sim",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Execute warp-specialized schedules on a simulated SM.",
)

ScheduleFile = Annotated[
    str,
    typer.Argument(metavar="SCHEDULE", help="schedule.json or the name of a packaged schedule."),
]
Iterations = Annotated[int, typer.Option(help="Trip count of the loop.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the variable latencies.")]
Latency = Annotated[
    str | None, typer.Option(help="Cycles of every variable-latency load: fixed:N or uniform:A,B.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command("run")
@command
def run_command(
    schedule_file: ScheduleFile,
    iterations: Iterations = 64,
    seed: Seed = 0,
    latency: Latency = None,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Relative excess over the static interval that still counts as achieved."
        ),
    ] = 0.02,
    strict: Annotated[
        bool, typer.Option(help="Exit with status 1 if the static interval is not achieved.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a schedule and say whether it keeps its promise."""
    from twill.artifacts.schedule import Schedule
    from twill.sim.execute import run
    from twill.sim.report import print_run

    with progress(f"simulating {schedule_file}"):
        result = run(
            Schedule.named(schedule_file),
            iterations=iterations,
            seed=seed,
            latency=latency,
            tolerance=tolerance,
        )
    if as_json:
        say(json.dumps(result.model_dump(mode="json", by_alias=True), indent=1))
    else:
        print_run(result)
    if strict and result.achieved is None:
        reason = "no steady state" if result.measured_interval_cycles is None else "no interval"
        raise RefusedError(f"{result.schedule}: {reason} to compare with what was promised")
    if strict and not result.achieved:
        raise typer.Exit(1)


@app.command("compare")
@command
def compare_command(
    schedule_file: ScheduleFile,
    iterations: Iterations = 64,
    seed: Seed = 0,
    latency: Latency = None,
    as_json: Json = False,
) -> None:
    """Run a schedule against the naive loops."""
    from twill.artifacts.schedule import Schedule
    from twill.studies.compare import compare

    schedule = Schedule.named(schedule_file)
    with progress(f"comparing {schedule_file}") as report:
        variants = compare(
            schedule, iterations=iterations, seed=seed, latency=latency, report=report
        )
    if as_json:
        say(json.dumps([variant.to_dict() for variant in variants], indent=1))
        return
    rows = [
        [
            v.variant,
            _number(v.interval_cycles, ".6g"),
            _number(v.speedup_over_sequential, ".2f"),
            _number(v.tensor_core_utilization, ".1%"),
        ]
        for v in variants
    ]
    table(
        ["variant", "interval (cycles)", "speed-up", "tensor core"],
        rows,
        right={"interval (cycles)", "speed-up", "tensor core"},
    )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


if __name__ == "__main__":
    run_app(app)
