"""``python -m twill.sim run``: one schedule on the simulated SM."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from twill.cli.options import Json
from twill.console import command, progress, say
from twill.errors import RefusedError

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule
    from twill.sim.checks.every import Checks
    from twill.sim.engine.conditions import Conditions
    from twill.sim.engine.record import Recording
    from twill.sim.execute import Run

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
Bundle = Annotated[
    int,
    typer.Option(
        min=1, help="Instructions executed as one; above 1 the error against 1 is printed."
    ),
]
Waits = Annotated[
    str | None,
    typer.Option(
        help="Where an order's asynchronous results are awaited: late (before their first use) "
        "or hoisted (all where the first is); as the order says without it."
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MECHANISM",
        help="Switch a mechanism off: issue-slots, issue-cost, synchronisation, completion, "
        "shared-ports, queues. May be repeated.",
    ),
]
Interference = Annotated[
    bool, typer.Option("--interference", help="Let units slow each other down (machine file).")
]
Tolerance = Annotated[
    float,
    typer.Option(help="Relative excess over the static interval that still counts as achieved."),
]
Strict = Annotated[
    bool,
    typer.Option(
        help="Exit with status 1 if the static interval is not achieved, or if more registers "
        "or memory are occupied than there are."
    ),
]
Clock = Annotated[
    float | None,
    typer.Option(metavar="MHZ", help="Clock for TFLOP/s; the machine file's without it."),
]
TraceFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.json", help="Write a trace for Perfetto (- for stdout, and nothing else)."
    ),
]
Timeline = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Draw the steady state: a file that ends in .svg or .png."),
]
Advise = Annotated[
    bool, typer.Option("--advice", help="Try changes of the schedule and tell their gain.")
]
Sequence = Annotated[
    str | None,
    typer.Option(metavar="N,N,...", help="Estimate the whole kernel at these sequence lengths."),
]
Tokens = Annotated[int, typer.Option(min=1, help="Batch times length of the kernel.")]
Heads = Annotated[int, typer.Option(min=1, help="Heads of the kernel.")]
Persistent = Annotated[
    bool, typer.Option(help="Whether a block of the kernel goes on to its next tile.")
]
Check = Annotated[
    bool,
    typer.Option(
        help="Look for races, and measure occupancy, over the program's first iterations."
    ),
]
Compute = Annotated[
    bool,
    typer.Option("--values", help="Compute each operation on NumPy tiles and compare the results."),
]


@command
def run_command(
    schedule_file: ScheduleFile,
    iterations: Iterations = 64,
    seed: Seed = 0,
    latency: Latency = None,
    warp_scheduler: Scheduler = "round-robin",
    bundle: Bundle = 1,
    waits: Waits = None,
    without: Without = None,
    interference: Interference = False,
    tolerance: Tolerance = 0.02,
    strict: Strict = False,
    clock: Clock = None,
    trace: TraceFile = None,
    timeline: Timeline = None,
    advice: Advise = False,
    sequence: Sequence = None,
    tokens: Tokens = 16384,
    heads: Heads = 16,
    persistent: Persistent = True,
    checks: Check = True,
    values: Compute = False,
    as_json: Json = False,
) -> None:
    """Run a schedule and say whether it keeps its promise."""
    from twill.artifacts.order import ordered
    from twill.artifacts.schedule import Schedule
    from twill.files import STANDARD_OUTPUT, check_target
    from twill.sim.engine.conditions import Conditions
    from twill.sim.engine.record import TRACED_EVENTS, Recording
    from twill.sim.execute import simulate, with_advice, with_bundle_error
    from twill.sim.show.timeline import check_timeline

    schedule = Schedule.named(schedule_file) if waits is None else ordered(schedule_file, waits)
    conditions = Conditions.of(
        iterations=iterations, seed=seed, latency=latency, warp_scheduler=warp_scheduler,
        bundle=bundle, without=without or (), interference=interference, tolerance=tolerance,
        clock=clock,
    )  # fmt: skip
    recording = (
        Recording() if trace is None else Recording(TRACED_EVENTS, iterations=None, values=True)
    )
    check_target(trace)
    check_timeline(timeline)
    with progress(f"simulating {schedule_file}") as report:
        result = simulate(schedule, conditions, recording)
        result = with_bundle_error(schedule, result, conditions)
        if advice:
            report("trying changes")
            result = with_advice(schedule, result, conditions)
        if sequence is not None:
            from twill.sim.analysis.whole_kernel import kernel, parse_sequences

            report("estimating the kernel")
            estimates = kernel(
                schedule, parse_sequences(sequence), conditions,
                tokens=tokens, heads=heads, persistent=persistent,
            )  # fmt: skip
            result = result.model_copy(update={"kernel": estimates})
        report("checking")
        found = _checked(schedule, conditions, wanted=checks, values=values)
        result = result.model_copy(update={"checks": found})
    _write(schedule, recording, result, trace, timeline)
    if trace != STANDARD_OUTPUT:
        _print(result, as_json=as_json)
    _judge(result, strict=strict)


def _checked(
    schedule: Schedule, conditions: Conditions, *, wanted: bool, values: bool
) -> Checks | None:
    from twill.sim.checks.every import check
    from twill.verification.registers import registers_along_programs

    if not wanted and not values:
        return None
    # Where the paper's rules hold, programs keep to the schedule's clock.
    along = schedule.machine.registers is not None and schedule.rules != "paper"
    return check(
        schedule,
        seed=conditions.seed,
        latency=conditions.latency,
        values=values,
        live=registers_along_programs(schedule) if along else None,
    )


def _write(
    schedule: Schedule, recording: Recording, result: Run, trace: str | None, timeline: str | None
) -> None:
    from twill.files import write_whole
    from twill.sim.show.timeline import draw_timeline, window
    from twill.sim.show.trace import trace as trace_text

    if trace is not None:
        write_whole(trace, trace_text(schedule, recording))
    if timeline is not None:
        last = result.iterations - 1 if result.profile is None else result.profile.last
        within = window(recording, last, result.measured_interval_cycles)
        draw_timeline(schedule, recording, *within, timeline)


def _print(result: Run, *, as_json: bool) -> None:
    from twill.sim.show.report import print_run

    if as_json:
        say(json.dumps(result.model_dump(mode="json", by_alias=True), indent=1))
        return
    print_run(result)


def _judge(result: Run, *, strict: bool) -> None:
    """End with a status that says whether the promise is kept and the numbers are right."""
    found = result.checks
    exceeded = found is not None and bool(found.exceeded)
    if strict and not exceeded and result.achieved is None:
        reason = "no steady state" if result.measured_interval_cycles is None else "no interval"
        raise RefusedError(f"{result.schedule}: {reason} to compare with what was promised")
    wrong = found is not None and found.numbers is not None and not found.numbers.right
    if wrong or (strict and (exceeded or not result.achieved)):
        raise typer.Exit(1)
