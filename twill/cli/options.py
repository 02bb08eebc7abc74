"""Options that several commands have."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from twill.cli.values import loaded_clock

if TYPE_CHECKING:
    from twill.sim.engine import Conditions

MOST_JOBS = 256
USUAL_JOBS = 4  # that simulate, at most: of the chains of a search two are left in the end
Jobs = Annotated[
    int, Option("--jobs", "-j", min=1, max=MOST_JOBS, help="Processes that run at a time.")
]
Workers = Annotated[
    int | None,
    Option(
        "--jobs",
        "-j",
        min=1,
        max=MOST_JOBS,
        envvar="TWILL_JOBS",
        help="Processes that simulate at a time; the answer is the same.",
        show_default=f"as many as there are cores, {USUAL_JOBS} at most",
    ),
]
EffortName = StrEnum("EffortName", {"quick": "quick", "normal": "normal", "thorough": "thorough"})
PROGRAMS = "64, 2,000 or 8,000, fewer of many operations"  # that are simulated, by effort
Json = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]
ConditionTexts = Annotated[
    list[str] | None,
    Option(
        "--conditions",
        metavar="WARPS[:LATENCY]",
        help="How programs are simulated: warps round-robin or oldest, and loads of that latency "
        "(fixed:N, uniform:A,B, ...) instead of the nominal one. Repeatable: the first counts "
        "most.",
        show_default="round-robin and oldest",
    ),
]
LoopName = Annotated[
    str,
    Argument(help="A packaged name, loop.json, a ddg-0.1 graph (.json) or a TTGIR dump (.mlir)."),
]
ScheduleName = Annotated[
    str,
    Argument(
        metavar="SCHEDULE", help="schedule.json, IR (.mlir) or the name of a packaged schedule."
    ),
]
ResultsFolder = Annotated[
    str | None,
    Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Keep data, tables, plots and schedules here; a sweep goes on where it was.",
    ),
]
MachineName = Annotated[str, Argument(help="A packaged name or a file (.toml, .json).")]
Machines = Annotated[
    list[str] | None,
    Option(
        "--machine",
        "-m",
        help="Where loops run; may be repeated. The one that a packaged loop is meant for without "
        "it.",
    ),
]
Clock = Annotated[
    float | None, Option(metavar="MHZ", help="Clock for TFLOP/s; the machine file's without it.")
]
LoadedClock = Annotated[
    str | None,
    Option(
        metavar="MHZ|capped",
        help="Clock for TFLOP/s, or the one that a power limit leaves by the machine file; its "
        "data sheet's without it.",
    ),
]
SolverSeconds = Annotated[float | None, Option(min=0.001, help="Seconds to schedule each loop.")]


@dataclass(frozen=True)
class RunOptions:
    """Under which conditions schedules run."""

    iterations: Annotated[int, Option(help="Trip count of the loop.")] = 64
    seed: Annotated[
        int, Option(min=0, help="Seed of the variable latencies and of the warps' ages.")
    ] = 0
    latency: Annotated[
        list[str] | None,
        Option(
            metavar="[LOAD=]SOURCE",
            help="Cycles of every variable-latency load, or of one: fixed:N, uniform:A,B, "
            "lognormal:M,SIGMA (M: median), mixture[:RATES], trace:FILE. May be repeated.",
        ),
    ] = None
    clock: LoadedClock = None

    def conditions(self) -> Conditions:
        """Return them as the simulator takes them."""
        from twill.sim.engine import Conditions

        given = {field.name: getattr(self, field.name) for field in fields(self)}
        given["clock"] = loaded_clock(self.clock)
        return Conditions.of(**{name: v for name, v in given.items() if v is not None})


def processes(jobs: int | None) -> int:
    """Return how many simulate: as many as asked for, or as there are cores, few at most."""
    from twill.base.executors import cores

    return jobs or min(USUAL_JOBS, cores())
