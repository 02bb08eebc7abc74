"""Options that several commands have, and what their texts are read as."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from twill.base.errors import InputError, short

if TYPE_CHECKING:
    from twill.sim.engine import Conditions

MOST_JOBS = 256
USUAL_JOBS = 4  # that simulate, at most: of the chains of a search two are left in the end
Jobs = Annotated[
    int, Option("--jobs", "-j", min=1, max=MOST_JOBS, help="Processes that run at a time.")
]
JudgeName = StrEnum("JudgeName", ["simulated", "compiled", "gpu"])
Judge = Annotated[
    JudgeName | None,
    Option(
        help="simulated: the fastest program on the simulated SM; compiled: of the fastest ones, "
        "that with the fewest cycles of machine code; gpu: that which the GPU runs fastest.",
        show_default="compiled where Triton is installed and the loop has a kernel",
    ),
]
Workers = Annotated[
    int | None,
    Option(
        "--jobs",
        "-j",
        min=1,
        max=MOST_JOBS,
        envvar="TWILL_JOBS",
        help="Processes that simulate at a time; they do not change the answer.",
        show_default=f"as many as there are cores, {USUAL_JOBS} at most",
    ),
]
EffortName = StrEnum("EffortName", ["quick", "normal", "thorough"])
PROGRAMS = "64, 2,000 or 8,000, fewer for large loops"  # that are simulated, by effort
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
        help="Keep data, tables, plots and schedules here; a sweep resumes from them.",
    ),
]
MachineName = Annotated[str, Argument(help="A packaged name or a file (.toml, .json).")]
Machines = Annotated[
    list[str] | None,
    Option(
        "--machine",
        "-m",
        help="Machine that loops run on; may be repeated. By default the one that a packaged loop "
        "is meant for.",
    ),
]
Clock = Annotated[
    float | None, Option(metavar="MHZ", help="Clock for TFLOP/s; by default the machine file's.")
]
LoadedClock = Annotated[
    str | None,
    Option(
        metavar="MHZ|capped",
        help="Clock for TFLOP/s; capped: the one that a power limit leaves by the machine file. "
        "By default its data sheet's.",
    ),
]
SolverSeconds = Annotated[float | None, Option(min=0.001, help="Seconds to schedule each loop.")]


@dataclass(frozen=True)
class RunOptions:
    """Conditions of runs."""

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

    def conditions(self, **more: Any) -> Conditions:
        """Return them, and those of the SM, as the simulator takes them."""
        from twill.sim.engine import Conditions

        given = {**asdict(self), **more, "clock": loaded_clock(self.clock)}
        return Conditions.of(**{name: v for name, v in given.items() if v is not None})


def processes(jobs: int | None) -> int:
    """Return how many processes simulate: as many as asked for, or the cores, at most four."""
    from twill.base.executors import cores

    return jobs or min(USUAL_JOBS, cores())


MOST_DIGITS = 18  # of whole numbers; Python refuses to read those of thousands


def pairs(texts: Iterable[str] | None, between: str, option: str) -> list[tuple[str, str]]:
    """Split the values of a repeatable option in two."""
    found = []
    for text in texts or ():
        first, _, second = text.partition(between)
        if not first.strip() or not second.strip():
            raise InputError(f"two parts with {between!r} between (got {short(text)})", path=option)
        found.append((first.strip(), second.strip()))
    return found


def number(text: str, option: str, *, least: int = 0) -> int:
    """Return a whole number that was given as text."""
    if not (text.isascii() and text.isdecimal()) or len(text) > MOST_DIGITS:
        raise InputError(f"a whole number (got {short(text)})", path=option)
    if int(text) < least:
        raise InputError(f"at least {least} (got {short(text)})", path=option)
    return int(text)


def loaded_clock(text: str | None) -> float | str | None:
    """Return a clock in MHz, or that it is the capped one."""
    if text is None or text == "capped":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"MHz, or capped (got {short(text)})", path="--clock") from None


def sizes(texts: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    """Return rows, columns and depth of matrix products."""
    from twill.studies.tune.candidates import parse_tile

    found = tuple(parse_tile(text, "--size") for text in texts)
    if any(len(size) != 3 for size in found):
        raise InputError("rows, columns and depth, as 8192x8192x8192", path="--size")
    return found


def numbers(text: str, option: str, *, least: int = 0) -> list[int]:
    """Split ``10,20,50``."""
    return [number(part.strip(), option, least=least) for part in text.split(",")]


def conditions_of(texts: Sequence[str] | None) -> tuple[Conditions, ...]:
    """Return the conditions under which programs are simulated."""
    from twill.polish import DEFAULT_CONDITIONS
    from twill.sim.engine import Conditions

    parts = [text.partition(":") for text in texts or ()]
    given = [
        Conditions.of(warp_scheduler=warps, latency=latency or None) for warps, _, latency in parts
    ]
    return tuple(dict.fromkeys(given)) or DEFAULT_CONDITIONS


def parse_settings(settings: list[str]) -> dict[str, str]:
    """Split ``NAME=VALUE`` texts."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise InputError(f"must be NAME=VALUE (got {short(setting)})", path="--set")
        if name in found:
            raise InputError(f"{name} is given twice", path="--set")
        found[name] = value
    return found
