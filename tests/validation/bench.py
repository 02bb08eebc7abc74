"""How long solving takes and how much memory: ``python -m tests.validation.bench``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, TypeVar, get_args

import typer
from typer import Option

from tests.validation import AsJson, program, tell
from tests.validation.apart import Case, solve_apart
from twill.artifacts.schedule import Rules
from twill.base.console import Report, progress, run_app, say, silent
from twill.base.errors import InputError, short
from twill.base.formats import count, cycles, number, seconds
from twill.base.tables import Column, Table
from twill.frontends import packaged_loops
from twill.search.request import EngineName, TimeMode

ENGINES: tuple[EngineName, ...] = get_args(EngineName)
TIME_MODES: tuple[TimeMode, ...] = get_args(TimeMode)
DEFAULT_ENGINE: EngineName = "difference"
# Its variables are indexed by time: a clock cycle as the unit is out of its reach.
VERBATIM: EngineName = "verbatim"
ATTENTION = ("fa_fwd_hopper", "fa_fwd_blackwell", "fa_bwd_hopper", "fa_bwd_blackwell")
# Packaged loops by the name of the case, with limits: registers per thread.
CASES: dict[str, tuple[str, dict[str, int]]] = {
    **{name: (name, {}) for name in ("paper_example", *ATTENTION)},
    "fa_bwd_blackwell_168": ("fa_bwd_blackwell", {"registers": 168}),
}
TOTAL, PEAK = (
    Column("total", "s", seconds),
    Column("peak", "MiB", lambda value: count(value / 2**20)),
)
OUTCOMES = (
    *map(Column, ("case", "machine", "engine", "time", "rules")),
    Column("operations", form=count),
    Column("interval", form=count),
    Column("interval", "cycles", cycles),
    Column("to the interval", "s", seconds),
    Column("to all levels", "s", seconds),
    *(TOTAL, PEAK),
    Column("proved"),
)
SPEEDUPS = (
    Column("case"),
    Column("default", "s", seconds),
    Column("verbatim", "s", seconds),
    Column("speed-up", form=number),
)

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True)
class Outcome(Case):
    """What became of a case.

    Attributes
    ----------
    operations : int
        Of its loop.
    status : str
        ``found``, ``stopped`` (it took more than `timeout` seconds), ``refused`` (there is no
        schedule) or ``failed``.
    message : str
        Why there is none.
    seconds_to_interval, seconds_to_all_levels, seconds : float or None
        From the call until the least interval, the last level of the objective, and the schedule
        with its programs and storage were known.
    peak_bytes : int or None
        Most memory resident in the process, or in a solver that it started.
    interval_units : int or None
        Least initiation interval in units of the time mode; also of a stopped case, if known.
    interval_cycles : float or None
        The same in cycles.
    bound : str or None
        Why nothing smaller exists.
    levels, proved : dict
        The value of every level of the objective, and whether nothing better exists.
    valid : bool or None
        What the verifier says of the schedule.
    solver : dict
        Versions.
    """

    operations: int | None = None
    status: str = "failed"
    message: str = ""
    seconds_to_interval: float | None = None
    seconds_to_all_levels: float | None = None
    seconds: float | None = None
    peak_bytes: int | None = None
    interval_units: int | None = None
    interval_cycles: float | None = None
    bound: str | None = None
    levels: dict[str, int] = field(default_factory=dict)
    proved: dict[str, bool] = field(default_factory=dict)
    valid: bool | None = None
    solver: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SpeedUp:
    """The default engine against the paper's formulation as printed, on the same time grid.

    Attributes
    ----------
    name : str
        The case.
    seconds, verbatim_seconds : float
        Until the schedule was there; for a stopped verbatim run, when it was stopped.
    times : float
        Their ratio.
    at_least : bool
        Whether the verbatim run was stopped, so that the ratio is a bound below.
    """

    name: str
    seconds: float
    verbatim_seconds: float
    times: float
    at_least: bool


@dataclass(frozen=True)
class Bench:
    """All outcomes of one run of the bench."""

    outcomes: tuple[Outcome, ...]

    @property
    def speedups(self) -> list[SpeedUp]:
        """The default engine against ``verbatim``: normalized time, the paper's rules."""
        compared = [o for o in self.outcomes if (o.time, o.rules) == ("normalized", "paper")]
        found = {o.name: o for o in compared if o.engine == VERBATIM}
        ours = [o for o in compared if o.engine == DEFAULT_ENGINE and o.name in found]
        return [s for o in ours if (s := _speedup(o, found[o.name])) is not None]


def kernel_cases(
    names: Iterable[str] | None = None,
    engines: Iterable[str] | None = None,
    modes: Iterable[str] | None = None,
    *,
    timeout: float = 120.0,
    stop: float = 30.0,
) -> list[Case]:
    """Return the cases of packaged loops; without a choice all.

    Where ``verbatim`` is chosen, which knows the paper's rules only, the default engine solves the
    same under these rules as well, if it is chosen too.

    `timeout`: seconds after which a case is stopped.

    Raises
    ------
    InputError
        If there is no such case, engine or time mode.
    """
    chosen = _chosen("engine", engines, ENGINES)
    return [
        Case(
            name=name,
            machine=packaged_loops()[CASES[name][0]].machine,
            engine=engine,
            time=mode,
            loop=CASES[name][0],
            limits=CASES[name][1],
            timeout=stop if engine == VERBATIM else timeout,
            rules=rules,
        )
        for name in _chosen("case", names, CASES)
        for mode in _chosen("time", modes, TIME_MODES)
        for engine, rules in _with_rules(chosen, mode)
    ]


def _with_rules(
    engines: Sequence[EngineName], mode: TimeMode
) -> Iterator[tuple[EngineName, Rules]]:
    """Yield engines with the rules that they solve one kernel under in a time mode."""
    yield from ((engine, "issue") for engine in engines if engine != VERBATIM)
    if mode == "normalized" and VERBATIM in engines:
        yield from ((e, "paper") for e in engines if e in (DEFAULT_ENGINE, VERBATIM))


def _chosen(what: str, names: Iterable[str] | None, known: Iterable[Name]) -> list[Name]:
    """Return what was chosen, in the order of `known`; all without a choice."""
    known = list(known)
    chosen: list[str] = list(names or known)
    for name in chosen:
        if name not in known:
            raise InputError(f"one of {', '.join(known)} (got {short(name)})", path=what)
    return [name for name in known if name in chosen]


def bench(cases: Sequence[Case], report: Report = silent) -> Bench:
    """Solve each case in a process of its own, one after the other."""
    outcomes = []
    for position, case in enumerate(cases, 1):
        report(f"{position} of {len(cases)}: {case.name}, {case.engine}, {case.time} time")
        outcomes.append(Outcome(**{**asdict(case), **solve_apart(case)}))
    return Bench(tuple(outcomes))


def _speedup(ours: Outcome, verbatim: Outcome) -> SpeedUp | None:
    stopped = verbatim.status == "stopped"
    theirs = verbatim.timeout if stopped else verbatim.seconds
    if not ours.seconds or not theirs:
        return None
    return SpeedUp(
        name=ours.name,
        seconds=ours.seconds,
        verbatim_seconds=theirs,
        times=theirs / ours.seconds,
        at_least=stopped,
    )


def print_bench(measured: Bench) -> None:
    """Print the cases and the speed-ups."""
    if measured.outcomes:
        Table(OUTCOMES, [_outcome_row(outcome) for outcome in measured.outcomes]).print()
    if measured.speedups:
        say("the default engine against the paper's formulation, in normalized time, paper rules")
        rows = [
            [s.name, s.seconds, f"{bound}{seconds(s.verbatim_seconds)}", f"{bound}{s.times:.3g}"]
            for s in measured.speedups
            for bound in ("> " if s.at_least else "",)
        ]
        Table(SPEEDUPS, rows).print()
    for outcome in measured.outcomes:
        if outcome.message:
            say(
                f"{outcome.name}, {outcome.engine}, {outcome.time} time, {outcome.rules} rules: "
                f"{outcome.message}"
            )


def _outcome_row(o: Outcome) -> list[object]:
    return [
        *(o.name, o.machine, o.engine, o.time, o.rules),
        *(o.operations, o.interval_units, o.interval_cycles),
        *(o.seconds_to_interval, o.seconds_to_all_levels),
        f"> {o.timeout:g}" if o.status == "stopped" else o.seconds,
        *(o.peak_bytes, _proved(o)),
    ]


def _proved(o: Outcome) -> str:
    """Say which levels were proved, and what went wrong."""
    if o.status != "found":
        return o.status
    missing = [level for level, proved in o.proved.items() if not proved]
    levels = f"all but {', '.join(missing)}" if missing else "all levels"
    return levels if o.valid else f"{levels}; NOT VALID"


def main(
    case: Annotated[
        list[str] | None, Option("--case", help="Only this kernel; may be repeated.")
    ] = None,
    engine: Annotated[
        list[str] | None, Option("--engine", help="Only this engine; may be repeated.")
    ] = None,
    time: Annotated[
        list[str] | None,
        Option("--time", help="Only this time mode of the kernels; may be repeated."),
    ] = None,
    timeout: Annotated[
        float, Option(min=0.1, help="Seconds after which a case is stopped.")
    ] = 120.0,
    stop: Annotated[float, Option(min=0.1, help="The same for the engine `verbatim`.")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Time kernels, each in a process of its own.

    The exit status is 1 if a case has no schedule or fails; one that is stopped for time is a
    result like any other.
    """
    cases = kernel_cases(case, engine, time, timeout=timeout, stop=stop)
    with progress("bench") as report:
        measured = bench(cases, report)
    tell(measured.outcomes, lambda: print_bench(measured), as_json=as_json)
    if any(outcome.status in ("failed", "refused") for outcome in measured.outcomes):
        raise typer.Exit(1)


app = program(main)
if __name__ == "__main__":
    run_app(app)
