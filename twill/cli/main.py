"""The command ``twill``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from twill.cli import bench as bench_commands
from twill.cli import diff as diff_command
from twill.cli import explain as explain_command
from twill.cli import loop as loop_commands
from twill.cli import machine as machine_commands
from twill.cli import reproduce as reproduce_command
from twill.cli import show as show_commands
from twill.cli.options import Json, number, pairs, print_json, refusals
from twill.cli.simulation import app as simulator
from twill.console import Report, command, progress, run_app, say, say_written
from twill.files import STANDARD_OUTPUT, check_target

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule
    from twill.search.request import EngineName as Engine
    from twill.search.request import Request
    from twill.search.scheduler import Solved
    from twill.studies.robust import Choice

WIDTH = 80

app = typer.Typer(
    name="twill",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Provably optimal software pipelines and warp specializations for tensor core GPUs.",
)
app.add_typer(machine_commands.app, name="machine")
app.add_typer(loop_commands.app, name="loop")
app.add_typer(bench_commands.app, name="bench")
app.add_typer(simulator, name="sim")
app.command()(explain_command.explain)
app.command()(show_commands.show)
app.command()(show_commands.extract)
app.command()(diff_command.diff)
app.command()(reproduce_command.reproduce)


class TimeMode(StrEnum):
    """Unit of time of a schedule."""

    EXACT = "exact"
    NORMALIZED = "normalized"
    REFINED = "refined"


class RulesName(StrEnum):
    """Reading of the concurrency and release rules."""

    ISSUE = "issue"
    PAPER = "paper"


class EngineName(StrEnum):
    """Who solves the joint system."""

    BOTH = "both"
    DIFFERENCE = "difference"
    CPSAT = "cpsat"
    VERBATIM = "verbatim"


class SearchName(StrEnum):
    """How the interval is searched for."""

    COMPLETE = "complete"
    PAPER = "paper"


def _version(show: bool) -> None:
    if show:
        import twill

        say(f"twill {twill.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    _version_shown: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
@command
def schedule(
    loop: Annotated[
        str,
        typer.Argument(
            help="A packaged name, loop.json, a ddg-0.1 graph (.json) or a TTGIR dump (.mlir)."
        ),
    ],
    machine: Annotated[str, typer.Option("--machine", "-m", help="A packaged name or a file.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write schedule.json here (- for stdout).")
    ] = None,
    time: Annotated[
        TimeMode, typer.Option(help="Unit of time: clock cycles, or the paper's normalized costs.")
    ] = TimeMode.EXACT,
    rules: Annotated[RulesName, typer.Option(help="Reading of the constraints.")] = RulesName.ISSUE,
    engine: Annotated[
        EngineName,
        typer.Option(
            help="Yices finds and CP-SAT refutes; one of them; or the paper's figures as printed."
        ),
    ] = EngineName.BOTH,
    search: Annotated[
        SearchName,
        typer.Option(help="Every interval and number of stages, or the paper's Algorithm 1."),
    ] = SearchName.COMPLETE,
    budget: Annotated[
        int, typer.Option(min=1, help="Normalized time: bound on the sum of costs.")
    ] = 300,
    most_stages: Annotated[
        int | None, typer.Option(min=1, help="Bound on the number of stages.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=N", help="At most N: registers, groups, transfers or stages. Repeatable."
        ),
    ] = None,
    pin: Annotated[
        list[str] | None,
        typer.Option(metavar="OP=GROUP", help="Put an operation on a named group. Repeatable."),
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="B issues no earlier than A. Repeatable."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds; the best schedule by then, with honest bounds."),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(min=1, metavar="MB", help="Most memory of the solving process (10^6 bytes)."),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Solve it even if the answer is known.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the solver.")] = 0,
    robust: Annotated[
        str | None,
        typer.Option(
            metavar="LATENCY",
            help="Among optimal schedules (other seeds, engines, ring depths that fit) take the "
            "one that is fastest in simulation, for example under uniform:400,4000.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find an optimal schedule and prove it."""
    from twill.artifacts.machine import Machine
    from twill.frontends.loops import load_loop
    from twill.search.cache import Cache
    from twill.search.request import Request
    from twill.search.scheduler import Interrupted, solve
    from twill.search.worker import solve_within

    within = solve if memory is None else partial(solve_within, memory)
    with refusals(as_json=as_json), progress(f"scheduling {loop}") as report:
        loaded, sm = load_loop(loop), Machine.named(machine)
        check_target(output)
        request = Request(
            loaded,
            sm,
            rules=rules.value,
            time=time.value,
            engine=engine.value,
            search=search.value,
            budget=budget,
            limits={name: number(value, "limit") for name, value in pairs(limit, "=", "limit")},
            pins=dict(pairs(pin, "=", "pin")),
            orders=pairs(order, ",", "order"),
            most_stages=most_stages,
            seed=seed,
        )
        cache = None if no_cache else Cache()
        ask = partial(within, timeout=timeout, report=report, cache=cache)
        choice, stopped = None, None
        try:
            solved = ask(request)
        except Interrupted as interrupted:
            solved, stopped = interrupted.solved, interrupted
        if robust is not None and stopped is None:
            choice = _chosen(solved.schedule, robust, ask, request, report)
    found = solved.schedule if choice is None else choice.schedule
    if output is not None:
        found.save(output)
    if output != STANDARD_OUTPUT:
        _print_solved(solved, choice, output, as_json=as_json)
    if stopped is not None:
        raise stopped


def _print_solved(
    solved: Solved, choice: Choice | None, output: str | None, *, as_json: bool
) -> None:
    """Print a schedule, or the one that was chosen among several."""
    from twill.show.schedule import print_schedule, schedule_data

    found = solved.schedule if choice is None else choice.schedule
    if as_json:
        chosen = {} if choice is None else {"robust": choice.to_dict()}
        print_json(
            {**schedule_data(found), "cached": solved.cached, "seconds": solved.seconds, **chosen}
        )
        return
    print_schedule(found)
    if choice is not None:
        say(fill(choice.words, WIDTH))
    say_written(output)


def _chosen(
    first: Schedule, latency: str, ask: Callable[..., Solved], request: Request, report: Report
) -> Choice:
    """Choose among what other seeds and engines find."""
    from twill.studies.robust import robust as choose

    def again(seed: int, engine: Engine) -> Schedule:
        return ask(replace(request, engine=engine, seed=seed)).schedule

    others: list[tuple[int, Engine]] = [(request.seed + more, "both") for more in (1, 2)]
    others += [(request.seed, "difference"), (request.seed, "cpsat")]
    return choose(first, latency, again, others=others, report=report)


@app.command()
@command
def verify(
    schedule_file: Annotated[
        str, typer.Argument(metavar="SCHEDULE", help="schedule.json or IR (.mlir).")
    ],
    reprove: Annotated[
        bool,
        typer.Option("--reprove", help="Refute again, by the other engine, what one has refuted."),
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds for each refutation."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a schedule against every rule of the model; exit status 1 if one is broken.

    With --reprove also if a refutation turns out to be false, or is not made again in time.
    """
    from twill.explain.reprove import reprove as again
    from twill.frontends.schedules import load_schedule
    from twill.show.proof import print_reproof, print_verdict
    from twill.verification.verifier import verify as check

    schedule = load_schedule(schedule_file)
    verdict = check(schedule)
    reproofs = []
    if not as_json:
        print_verdict(verdict)
    if reprove and verdict.valid:
        with progress(f"reproving {schedule.name}") as report:
            for reproof in again(schedule, timeout, report):
                reproofs.append(reproof)
                if not as_json:
                    print_reproof(reproof)
    if as_json:
        print_json(
            {
                "valid": verdict.valid,
                "rules": list(verdict.rules),
                "violations": [{"rule": v.rule, "message": v.message} for v in verdict.violations],
                "trusted": [asdict(claim) for claim in verdict.trusted],
                "within": list(verdict.within),
                "reproved": [asdict(reproof) for reproof in reproofs] if reprove else None,
            }
        )
    if not verdict.valid or any(reproof.outcome != "refuted" for reproof in reproofs):
        raise typer.Exit(1)


def main() -> None:
    """Entry point of the console script."""
    run_app(app)


if __name__ == "__main__":
    main()
