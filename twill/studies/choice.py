"""Choice among programs of a loop by the machine code of their kernels."""

from __future__ import annotations

import importlib.util
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine, packaged_machines
from twill.artifacts.proof import MachineCode
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, paragraph, silent
from twill.base.deadline import Deadline
from twill.base.errors import InputError, MissingLibraryError, RefusedError, TwillError, short
from twill.base.executors import local
from twill.base.files import write_whole
from twill.base.formats import cycles, plural
from twill.base.names import MOST_LABEL, elided
from twill.base.tables import Column, Table
from twill.compiled import Limits, kept
from twill.compiled.cubin import Cubin
from twill.emit import emitted
from twill.polish import Interrupted, Polished, polish, promised
from twill.sim.engine import UNMODELLED, Conditions
from twill.studies.depths import deepened
from twill.studies.judged import Judged, judged_file

SIMULATED, COMPILED = "simulated", "compiled"
JUDGE_VARIABLE = "TWILL_JUDGE"
STRICT = "_ptxas"  # behind the name of a machine whose groups keep registers for the compiler
DIFFERENT = {"quick": 3, "normal": 11, "thorough": 23}
"""Programs besides the best one that are compiled, by effort."""


def judge_of(loop: Loop, asked: str | None = None) -> str:
    """Return who chooses among programs of a loop: the simulated SM, or the compiler.

    Parameters
    ----------
    loop : Loop
        The loop, perhaps with the kernel that it was read from.
    asked : str, optional
        ``simulated`` or ``compiled``. Without it what ``TWILL_JUDGE`` names, or else ``compiled``
        where Triton is installed and the loop has a kernel.

    Raises
    ------
    InputError
        If there is no such judge, or the loop has no kernel to compile.
    MissingLibraryError
        If the compiler is asked for and Triton is not installed.
    """
    named = asked or os.environ.get(JUDGE_VARIABLE)
    installed = importlib.util.find_spec("triton") is not None
    if named is None:
        return COMPILED if installed and loop.source is not None else SIMULATED
    if named not in (SIMULATED, COMPILED):
        raise InputError(f"{SIMULATED} or {COMPILED} (got {short(named)})", path="judge")
    if asked == COMPILED and loop.source is None:
        raise InputError(f"{loop.name} has no kernel to compile; dump one", path="judge")
    if named == COMPILED and not installed:
        raise MissingLibraryError.of_extra("Triton", "triton")
    return named if loop.source is not None else SIMULATED


@dataclass(frozen=True)
class Trial:
    """A program with what the compiler makes of it.

    Attributes
    ----------
    schedule : Schedule
        The program, with its promise on the simulated SM.
    judged : Judged or None
        Its kernel; None if there is none.
    refused : str
        Why there is none; empty if there is one.
    """

    schedule: Schedule
    judged: Judged | None
    refused: str = ""

    @property
    def promised(self) -> float:
        """Cycles of an iteration on the simulated SM."""
        promise = self.schedule.promise
        return math.inf if promise is None else promise.interval_cycles

    @property
    def worth(self) -> tuple[bool, float, float]:
        """The key of programs in the order in which they are preferred."""
        code = None if self.judged is None else self.judged.cycles
        as_written = self.judged is not None and self.judged.as_written
        return not as_written, math.inf if code is None else code, self.promised

    @property
    def faults(self) -> tuple[str, ...]:
        """Names of what the compiler did not make as written, or why there is no kernel."""
        if self.judged is None:
            return (self.refused,)
        return tuple(dict.fromkeys(finding.check for finding in self.judged.made.findings))

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        code = None if self.judged is None else self.judged.cycles
        return {"promised_cycles": self.promised, "cycles": code, "faults": list(self.faults)}


def different_of(loop: Loop, asked: str | None, effort: str) -> int:
    """Return how many programs besides the best one are compiled; see `judge_of`."""
    return DIFFERENT[effort] if judge_of(loop, asked) == COMPILED else 0


@dataclass(frozen=True)
class Polishing:
    """How far a better program is looked for, as `twill.polish.polish` has it.

    Attributes
    ----------
    different : int
        Programs besides the best one that are compiled; 0 where the simulated SM judges.
    restart : callable, optional
        Returns where a search for another machine begins; the given schedules without it.
    """

    simulations: int
    seed: int
    conditions: Sequence[Conditions]
    jobs: int
    timeout: float | None = None
    different: int = 0
    restart: Callable[[Machine], Sequence[Schedule]] | None = None


def polished(
    given: Sequence[Schedule],
    how: Polishing,
    report: Report = silent,
    keep: Callable[[Schedule], None] | None = None,
) -> tuple[Polished, list[Trial]]:
    """Return the best program, and those it was chosen among if the compiler judges.

    Raises
    ------
    Interrupted
        On Ctrl-C, with the best program until then.
    RefusedError, WorkerError
        As `twill.polish.polish` raises them.
    """
    clock = Deadline(how.timeout)

    def search(begin: Sequence[Schedule], by: Polishing = how) -> Polished:
        return polish(
            begin[0],
            others=begin[1:],
            simulations=by.simulations,
            seed=by.seed,
            conditions=by.conditions,
            jobs=by.jobs,
            timeout=clock.left,
            report=report,
            keep=keep if by.conditions == how.conditions else None,
            different=by.different,
        )

    def both(begin: Sequence[Schedule]) -> Polished:
        return _deepened(with_modelled(search, begin, how, clock), how)

    if not how.different:
        return _deepened(search(given), how), []
    return chosen(both, given, how.jobs, report, restart=how.restart)


def _deepened(found: Polished, how: Polishing) -> Polished:
    """Let rings take the shared memory that is left."""
    different = tuple(deepened(program, how.conditions) for program in found.different)
    return replace(found, schedule=deepened(found.schedule, how.conditions), different=different)


def with_modelled(
    search: Callable[[Sequence[Schedule], Polishing], Polished],
    begin: Sequence[Schedule],
    how: Polishing,
    clock: Deadline,
) -> Polished:
    """Search on the simulated SM, and on that of the static model; return what both found.

    Each has half of the programs. A search finds programs for which its judge is too optimistic,
    and the two are so for different ones; machine code chooses.
    """
    if begin[0].machine.mechanisms is None:
        return search(begin, how)
    half = replace(how, simulations=how.simulations // 2, different=how.different // 2)
    found = search(begin, half)
    left = [one.without | frozenset(UNMODELLED) for one in how.conditions]
    modelled = [replace(c, without=w) for c, w in zip(how.conditions, left, strict=True)]
    if clock.late:
        return found
    try:
        further = search(begin, replace(half, conditions=modelled))
        programs = [promised(p, how.conditions) for p in (further.schedule, *further.different)]
    except RefusedError:
        return found
    except KeyboardInterrupt:
        raise Interrupted(found) from None
    others = [program for program in programs if program is not None]
    return replace(found, different=(*found.different, *others))


def chosen(
    search: Callable[[Sequence[Schedule]], Polished],
    given: Sequence[Schedule],
    jobs: int = 1,
    report: Report = silent,
    *,
    restart: Callable[[Machine], Sequence[Schedule]] | None = None,
) -> tuple[Polished, list[Trial]]:
    """Search for programs, and choose among the best by machine code.

    If none is compiled as written, a second search keeps the registers that the compiler takes.
    Its machine is the packaged one of the same name with ``_ptxas`` behind, if there is one.

    Parameters
    ----------
    search : callable
        Returns the best program, and different ones, from the schedules where it begins.
    given : sequence of Schedule
        Where the search begins.
    jobs, report
        As `compiled_best` has them.
    restart : callable, optional
        Returns where a search for another machine begins; the given schedules without it.

    Returns
    -------
    polished : Polished
        The chosen program as the answer of its search.
    trials : list of Trial
        All programs that were compiled, the chosen one first.

    Raises
    ------
    Interrupted
        On Ctrl-C after the first search, with its best program.
    """
    found = search(given)
    trials: list[Trial] = []
    try:
        best, trials = compiled_best((found.schedule, *found.different), jobs, report)
        found = replace(found, schedule=best)
        strict = f"{best.machine.name}{STRICT}"
        if not trials[0].faults or strict not in packaged_machines():
            return found, trials
        if best.machine != Machine.named(best.machine.name):  # the user's own, of the same name
            return found, trials
        report(f"none of {plural(len(trials), 'program')} is compiled as written; trying {strict}")
        machine = Machine.named(strict)
        same = [one.model_copy(update={"machine": machine}) for one in given]
        again = search(same if restart is None else restart(machine))
        best, further = compiled_best((again.schedule, *again.different), jobs, report)
    except RefusedError:
        return found, trials
    except KeyboardInterrupt:
        raise Interrupted(found) from None
    if further[0].worth < trials[0].worth:
        found = replace(again, schedule=best)
    return found, sorted([*trials, *further], key=lambda trial: trial.worth)


def compiled_best(
    schedules: Sequence[Schedule], jobs: int = 1, report: Report = silent
) -> tuple[Schedule, list[Trial]]:
    """Emit and compile programs, and choose the one whose machine code takes the fewest cycles.

    Programs that are compiled as written come first. Kernels compiled before are not compiled
    again.

    Parameters
    ----------
    schedules : sequence of Schedule
        Programs of a loop with their promises; of those with one kernel the first counts.
    jobs : int
        Processes that compile at a time.
    report : callable, optional
        Receives a message for each program.

    Returns
    -------
    schedule : Schedule
        The chosen program; its promise has the cycles of its machine code, if known.
    trials : list of Trial
        All programs, the chosen one first.
    """
    trials, kernels = list[Trial](), dict[str, Schedule]()
    for schedule in schedules:
        try:
            kernels.setdefault(emitted(schedule), schedule)
        except TwillError as error:
            trials.append(Trial(schedule, None, str(error)))
    with local(jobs) as pool:
        called = map if pool is None else pool.map
        for count, trial in enumerate(called(_tried, kernels.values(), kernels), 1):
            trials.append(trial)
            report(f"compiled {count} of {plural(len(kernels), 'kernel')}")
    trials.sort(key=lambda trial: trial.worth)
    best, judged = trials[0].schedule, trials[0].judged
    if judged is None or judged.prediction is None or best.promise is None:
        return best, trials
    code = MachineCode(
        interval_cycles=judged.prediction.highest_cycles,
        lowest_cycles=judged.prediction.lowest_cycles,
        compiler=f"triton {version('triton')}",
    )
    promise = best.promise.model_copy(update={"machine_code": code})
    return best.model_copy(update={"promise": promise}), trials


def _tried(schedule: Schedule, kernel: str) -> Trial:
    try:
        return Trial(schedule, judged_text(kernel, Limits.of(schedule.machine)))
    except TwillError as error:
        return Trial(schedule, None, str(error))


def judged_text(
    kernel: str, limits: Limits, compiler: Callable[[Path, int], Cubin] = kept.compiled
) -> Judged:
    """Judge the text of an emitted kernel; a kernel that was compiled before is read from disk."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.py"
        write_whole(file, kernel)
        return judged_file(file, limits, compiler=compiler)


def print_trials(trials: Sequence[Trial]) -> None:
    """Print the programs that were compiled, the chosen one first; nothing if none were."""
    if not trials:
        return
    rows = [
        [
            trial.promised,
            None if trial.judged is None or trial.judged.cycles is None else trial.judged.cycles,
            "; ".join(elided(fault, MOST_LABEL) for fault in trial.faults) or "as written",
        ]
        for trial in trials
    ]
    columns = [
        Column("simulated", form=cycles),
        Column("machine code", form="{:,.0f}".format),
        Column("compiled"),
    ]
    known = any(trial.judged is not None and trial.judged.cycles is not None for trial in trials)
    how = "machine code" if known else "the simulated SM, as no machine code was executed"
    paragraph(f"chosen among {plural(len(trials), 'program')} by {how}, the first:")
    Table(columns, rows).print()
