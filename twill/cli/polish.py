"""``twill polish``: finding faster programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from twill.base.console import Report, progress
from twill.base.files import check_target
from twill.cli.command import command
from twill.cli.kept import Kept
from twill.cli.options import PROGRAMS, ConditionTexts, EffortName, ScheduleName, Workers, processes
from twill.cli.output import Output, refusals
from twill.cli.values import conditions_of

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule
    from twill.polish import Polished
    from twill.sim.engine import Conditions


@command
def polish(
    schedule: ScheduleName,
    output: Output,
    effort: Annotated[
        EffortName, Option(help=f"Programs that are simulated: {PROGRAMS}.")
    ] = EffortName.normal,
    simulations: Annotated[
        int | None, Option(min=1, help="Programs that are simulated, instead of an effort.")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the search.")] = 0,
    conditions: ConditionTexts = None,
    jobs: Workers = None,
) -> None:
    """Look for programs that the simulated SM executes faster, from a schedule or an order."""
    from twill.frontends.schedules import load_schedule
    from twill.polish import programs_of
    from twill.show.polished import polished_data, print_polished

    with Kept() as kept:
        with refusals(as_json=output.as_json), progress(f"polishing {schedule}") as report:
            given = load_schedule(schedule)
            check_target(output.output)
            kept.beside(output.output)
            how = Polishing(
                simulations or programs_of(effort.value, given.loop),
                seed,
                conditions_of(conditions),
                processes(jobs),
            )
            found, stopped = polished((given,), how, report, kept)
        output.keep(
            found.schedule, "polished", lambda: polished_data(found), lambda: print_polished(found)
        )
        kept.answered()
    if stopped is not None:
        raise stopped


@dataclass(frozen=True)
class Polishing:
    """How far a better program is looked for, as `twill.polish.polish` has it."""

    simulations: int
    seed: int
    conditions: Sequence[Conditions]
    jobs: int
    timeout: float | None = None


def polished(
    given: Sequence[Schedule], how: Polishing, report: Report, kept: Kept
) -> tuple[Polished, KeyboardInterrupt | None]:
    """Return the best program, and the interruption if there was one."""
    from twill.polish import Interrupted
    from twill.polish import polish as search

    try:
        found = search(
            given[0],
            others=given[1:],
            simulations=how.simulations,
            seed=how.seed,
            conditions=how.conditions,
            jobs=how.jobs,
            timeout=how.timeout,
            report=report,
            keep=kept if kept.file is not None else None,
        )
    except Interrupted as interrupted:
        return interrupted.polished, interrupted
    return found, None
