"""How long solving takes and how much memory: kernels, engines, growth with the loop."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar, get_args

from twill.artifacts.proof import Level
from twill.artifacts.schedule import Rules
from twill.base.console import Report, silent
from twill.base.errors import InputError, short
from twill.frontends import packaged_loops
from twill.search.request import EngineName, TimeMode
from twill.studies.bench.process import solve_apart
from twill.studies.bench.synthetic import LEAST_OPERATIONS, MACHINES, MOST_OPERATIONS

ENGINES: tuple[EngineName, ...] = get_args(EngineName)
TIME_MODES: tuple[TimeMode, ...] = get_args(TimeMode)
DEFAULT_ENGINE: EngineName = "difference"
# Its variables are indexed by time: a clock cycle as the unit is out of its reach.
VERBATIM: EngineName = "verbatim"
GROWTH = (10, 20, 50, 100, 200)
ATTENTION = ("fa_fwd_hopper", "fa_fwd_blackwell", "fa_bwd_hopper", "fa_bwd_blackwell")
# Packaged loops by the name of the case, with limits: registers per thread.
CASES: dict[str, tuple[str, dict[str, int]]] = {
    **{name: (name, {}) for name in ("paper_example", *ATTENTION)},
    "fa_bwd_blackwell_168": ("fa_bwd_blackwell", {"registers": 168}),
}


Name = TypeVar("Name", bound=str)


@dataclass(frozen=True)
class Case:
    """What one process solves; rules, time and the like are as in `twill.schedule`."""

    # For people.
    name: str
    machine: str
    engine: EngineName
    time: TimeMode
    # A packaged loop; a synthetic one of so many operations, with a seed, without it.
    loop: str | None = None
    operations: int | None = None
    seed: int | None = None
    limits: dict[str, int] = field(default_factory=dict)
    # Seconds after which it is stopped.
    timeout: float = 120.0
    rules: Rules = "issue"
    until: Level = "slack"


@dataclass(frozen=True)
class Outcome(Case):
    """What became of a case; `operations` are counted for packaged loops too.

    Attributes
    ----------
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
class Growth:
    """Synthetic loops of one size, machine and engine; medians over the seeds.

    Attributes
    ----------
    machine, engine : str
        As in `Case`.
    operations, loops : int
        Size, and how many loops of it there were.
    stopped, others : int
        Loops that took more than the time allowed, and those without a schedule.
    seconds : float or None
        Median; None if half of the loops or more were not solved.
    peak_bytes : float or None
        Median over all loops, stopped ones as far as they came.
    """

    machine: str
    engine: str
    operations: int
    loops: int
    stopped: int
    others: int
    seconds: float | None
    peak_bytes: float | None


@dataclass(frozen=True)
class Bench:
    """All outcomes of one run of the bench."""

    outcomes: tuple[Outcome, ...]

    @property
    def kernels(self) -> tuple[Outcome, ...]:
        """Outcomes of packaged loops."""
        return tuple(o for o in self.outcomes if o.seed is None)

    @property
    def synthetic(self) -> tuple[Outcome, ...]:
        """Outcomes of synthetic loops."""
        return tuple(o for o in self.outcomes if o.seed is not None)

    @property
    def speedups(self) -> list[SpeedUp]:
        """The default engine against ``verbatim``: normalized time, the paper's rules."""
        compared = [o for o in self.kernels if (o.time, o.rules) == ("normalized", "paper")]
        found = {o.name: o for o in compared if o.engine == VERBATIM}
        ours = [o for o in compared if o.engine == DEFAULT_ENGINE and o.name in found]
        return [s for o in ours if (s := _speedup(o, found[o.name])) is not None]

    @property
    def growth(self) -> list[Growth]:
        """Synthetic loops by machine, engine and size."""
        together: dict[tuple[str, str, int | None], list[Outcome]] = {}
        for o in self.synthetic:
            together.setdefault((o.machine, o.engine, o.operations), []).append(o)
        return [*map(_growth, together.values())]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "outcomes": [asdict(outcome) for outcome in self.outcomes],
            "speedups": [asdict(speedup) for speedup in self.speedups],
            "growth": [asdict(growth) for growth in self.growth],
        }


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


def growth_cases(
    sizes: Iterable[int] = GROWTH,
    seeds: Iterable[int] = (0, 1, 2),
    engines: Iterable[str] | None = None,
    machines: Iterable[str] | None = None,
    *,
    timeout: float = 120.0,
) -> list[Case]:
    """Return the cases of synthetic loops, in exact time.

    `timeout`: seconds after which a case is stopped.

    Raises
    ------
    InputError
        If there is no such size, engine or machine.
    """
    sizes, seeds = list(sizes), list(seeds)
    for size in sizes:
        if not LEAST_OPERATIONS <= size <= MOST_OPERATIONS:
            raise InputError(
                f"sizes are {LEAST_OPERATIONS} to {MOST_OPERATIONS} (got {size})", path="growth"
            )
    return [
        Case(
            name=f"synthetic_{size}_{seed}",
            machine=machine,
            engine=engine,
            time="exact",
            operations=size,
            seed=seed,
            timeout=timeout,
        )
        for machine in _chosen("machine", machines, MACHINES)
        for engine in _chosen("engine", engines or (DEFAULT_ENGINE,), ENGINES)
        if engine != VERBATIM
        for size in sizes
        for seed in seeds
    ]


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
    for number, case in enumerate(cases, 1):
        report(f"{number} of {len(cases)}: {case.name}, {case.engine}, {case.time} time")
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


def _growth(outcomes: Sequence[Outcome]) -> Growth:
    solved = sorted(o.seconds for o in outcomes if o.seconds is not None)
    stopped = sum(o.status == "stopped" for o in outcomes)
    peaks = [o.peak_bytes for o in outcomes if o.peak_bytes is not None]
    return Growth(
        machine=outcomes[0].machine,
        engine=outcomes[0].engine,
        operations=outcomes[0].operations or 0,
        loops=len(outcomes),
        stopped=stopped,
        others=len(outcomes) - stopped - len(solved),
        seconds=_median(solved, len(outcomes)),
        peak_bytes=statistics.median(peaks) if peaks else None,
    )


def _median(solved: Sequence[float], count: int) -> float | None:
    """Return the median of `count` times of which those not in `solved` are longer."""
    middle = {(count - 1) // 2, count // 2}
    if max(middle) >= len(solved):
        return None
    return statistics.mean(solved[i] for i in middle)
