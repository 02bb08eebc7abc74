"""``python -m twill.sim``: execute schedules on the simulated SM."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from twill.cli.simulation import add_commands
from twill.console import command, progress, run_app, say
from twill.errors import RefusedError

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule
    from twill.sim.checks.every import Checks
    from twill.sim.execute import Run

app = typer.Typer(
    name="python -m twill.sim",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Execute warp-specialized schedules on a simulated SM.",
)
add_commands(app)

ScheduleFile = Annotated[
    str,
    typer.Argument(metavar="SCHEDULE", help="schedule.json or the name of a packaged schedule."),
]
Iterations = Annotated[int, typer.Option(help="Trip count of the loop.")]
Seed = Annotated[
    int, typer.Option(min=0, help="Seed of the variable latencies and of the warps' ages.")
]
Latency = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[LOAD=]SOURCE",
        help="Cycles of every variable-latency load, or of one: fixed:N, uniform:A,B, "
        "lognormal:M,SIGMA (M: median), mixture[:RATES], trace:FILE. May be repeated.",
    ),
]
Scheduler = Annotated[
    str,
    typer.Option(
        help="Which of several ready warps an issue context takes: round-robin, or oldest (the "
        "last one again while it is ready, otherwise the oldest)."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command("run")
@command
def run_command(
    schedule_file: ScheduleFile,
    iterations: Iterations = 64,
    seed: Seed = 0,
    latency: Latency = None,
    warp_scheduler: Scheduler = "round-robin",
    bundle: Annotated[
        int,
        typer.Option(
            min=1, help="Instructions executed as one; above 1 the error against 1 is printed."
        ),
    ] = 1,
    waits: Annotated[
        str | None,
        typer.Option(
            help="Where an order's asynchronous results are awaited: late (before their first use) "
            "or hoisted (all where the first is); as the order says without it."
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MECHANISM",
            help="Switch a mechanism off: issue-slots, issue-cost, synchronisation, completion, "
            "shared-ports, queues. May be repeated.",
        ),
    ] = None,
    interference: Annotated[
        bool,
        typer.Option("--interference", help="Let units slow each other down (machine file)."),
    ] = False,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Relative excess over the static interval that still counts as achieved."
        ),
    ] = 0.02,
    strict: Annotated[
        bool,
        typer.Option(
            help="Exit with status 1 if the static interval is not achieved, or if more registers "
            "or memory are occupied than there are."
        ),
    ] = False,
    clock: Annotated[
        float | None,
        typer.Option(metavar="MHZ", help="Clock for TFLOP/s; the machine file's without it."),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.json", help="Write a trace for Perfetto (- for stdout, and nothing else)."
        ),
    ] = None,
    timeline: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Draw the steady state: a file that ends in .svg or .png."
        ),
    ] = None,
    advice: Annotated[
        bool, typer.Option("--advice", help="Try changes of the schedule and tell their gain.")
    ] = False,
    sequence: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...", help="Estimate the whole kernel at these sequence lengths."
        ),
    ] = None,
    tokens: Annotated[int, typer.Option(min=1, help="Batch times length of the kernel.")] = 16384,
    heads: Annotated[int, typer.Option(min=1, help="Heads of the kernel.")] = 16,
    persistent: Annotated[
        bool, typer.Option(help="Whether a block of the kernel goes on to its next tile.")
    ] = True,
    checks: Annotated[
        bool,
        typer.Option(
            help="Look for races, and measure occupancy, over the program's first iterations."
        ),
    ] = True,
    values: Annotated[
        bool,
        typer.Option(
            "--values", help="Compute each operation on NumPy tiles and compare the results."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a schedule and say whether it keeps its promise."""
    from twill.artifacts.order import ordered
    from twill.artifacts.schedule import Schedule
    from twill.files import STANDARD_OUTPUT, check_target, write_whole
    from twill.sim.engine.issue import as_warp_scheduler
    from twill.sim.engine.record import TRACED_EVENTS, Recording
    from twill.sim.execute import run, with_bundle_error
    from twill.sim.show.timeline import check_timeline, draw_timeline, window
    from twill.sim.show.trace import trace as trace_text

    schedule = Schedule.named(schedule_file) if waits is None else ordered(schedule_file, waits)
    recording = (
        Recording() if trace is None else Recording(TRACED_EVENTS, iterations=None, values=True)
    )
    check_target(trace)
    check_timeline(timeline)
    with progress(f"simulating {schedule_file}") as report:
        result = run(
            schedule,
            iterations=iterations,
            seed=seed,
            latency=latency,
            warp_scheduler=as_warp_scheduler(warp_scheduler),
            bundle=bundle,
            without=without or (),
            interference=interference,
            tolerance=tolerance,
            clock=clock,
            recording=recording,
        )
        result = with_bundle_error(schedule, result)
        if advice:
            from twill.sim.trials import with_advice

            report("trying changes")
            result = with_advice(schedule, result)
        if sequence is not None:
            from twill.sim.analysis.whole_kernel import kernel, parse_sequences

            report("estimating the kernel")
            estimates = kernel(
                schedule,
                parse_sequences(sequence),
                tokens=tokens,
                heads=heads,
                persistent=persistent,
                clock=clock,
                seed=seed,
                latency=latency,
                warp_scheduler=as_warp_scheduler(warp_scheduler),
                bundle=bundle,
                without=without or (),
                interference=interference,
            )
            result = result.model_copy(update={"kernel": estimates})
        report("checking")
        found = _checked(schedule, seed, latency, wanted=checks, values=values)
        result = result.model_copy(update={"checks": found})
    if trace is not None:
        write_whole(trace, trace_text(schedule, recording))
    if timeline is not None:
        last = iterations - 1 if result.profile is None else result.profile.last
        within = window(recording, last, result.measured_interval_cycles)
        draw_timeline(schedule, recording, *within, timeline)
    if trace != STANDARD_OUTPUT:
        _print(result, as_json=as_json)
    exceeded = found is not None and bool(found.exceeded)
    if strict and not exceeded and result.achieved is None:
        reason = "no steady state" if result.measured_interval_cycles is None else "no interval"
        raise RefusedError(f"{result.schedule}: {reason} to compare with what was promised")
    wrong = found is not None and found.numbers is not None and not found.numbers.right
    if wrong or (strict and (exceeded or not result.achieved)):
        raise typer.Exit(1)


def _print(result: Run, *, as_json: bool) -> None:
    from twill.sim.analysis.whole_kernel import print_kernel
    from twill.sim.show.report import print_run

    if as_json:
        say(json.dumps(result.model_dump(mode="json", by_alias=True), indent=1))
        return
    print_run(result)
    if result.kernel is not None:
        print_kernel(result.kernel)


def _checked(
    schedule: Schedule, seed: int, latency: list[str] | None, *, wanted: bool, values: bool
) -> Checks | None:
    from twill.sim.checks.every import check

    if not wanted and not values:
        return None
    return check(schedule, seed=seed, latency=latency, values=values)


@app.command("published")
@command
def published_command(
    switches: Annotated[
        bool, typer.Option("--switches", help="Switch one mechanism at a time instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare hand-written schedules of published kernels with what was measured."""
    from twill.studies.published import (
        comparisons,
        experiments,
        print_comparisons,
        print_experiments,
    )

    with progress("published figures") as report:
        tried = experiments(report) if switches else []
        found = [] if switches else comparisons(report)
    if as_json:
        data = [one.to_dict() for one in tried] + [one.to_dict() for one in found]
        say(json.dumps(data, indent=1))
    elif switches:
        print_experiments(tried)
    else:
        print_comparisons(found)


if __name__ == "__main__":
    run_app(app)
