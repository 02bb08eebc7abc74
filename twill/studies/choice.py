"""Choice among programs of a loop by the machine code of their kernels, or by their time."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine, packaged_machines
from twill.artifacts.proof import OnGpu
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent, warn
from twill.base.deadline import Deadline
from twill.base.errors import InputError, MissingLibraryError, RefusedError, TwillError, short
from twill.base.executors import local
from twill.base.files import write_whole
from twill.base.formats import plural
from twill.compiled import kept
from twill.compiled.cubin import Cubin
from twill.emit import emitted
from twill.polish import Interrupted, Polished, polish, programs_of, promised
from twill.sim.engine import UNMODELLED, Conditions
from twill.studies.barriers import with_fewer_barriers
from twill.studies.depths import deepened
from twill.studies.judged import Judged, judged_file
from twill.studies.on_gpu import check_gpu, measured_in_rounds
from twill.studies.trials import Trial

SIMULATED, COMPILED, GPU = "simulated", "compiled", "gpu"
JUDGE_VARIABLE = "TWILL_JUDGE"
STRICT = "_ptxas"  # behind the name of a machine whose groups keep registers for the compiler
DIFFERENT = {"quick": 3, "normal": 11, "thorough": 23}
"""Programs besides the best one that are compiled, by effort."""
CHANGES = {"quick": 8, "normal": 24, "thorough": 48}
"""Programs with fewer barriers that are compiled, at most, by effort."""


def judge_of(loop: Loop, asked: str | None = None) -> str:
    """Return who chooses among programs of a loop: the simulated SM, the compiler, or the GPU.

    Parameters
    ----------
    loop : Loop
        The loop, perhaps with the kernel that it was read from.
    asked : str, optional
        ``simulated``, ``compiled`` or ``gpu``. Without it what ``TWILL_JUDGE`` names, or else
        ``compiled`` where Triton is installed and the loop has a kernel.

    Raises
    ------
    InputError
        If there is no such judge, the loop has no kernel to compile, or no GPU is at hand.
    MissingLibraryError
        If Triton, or PyTorch for the GPU, is needed and not installed.
    """
    named = asked or os.environ.get(JUDGE_VARIABLE)
    installed = importlib.util.find_spec("triton") is not None
    if named is None:
        return COMPILED if installed and loop.source is not None else SIMULATED
    if named not in (SIMULATED, COMPILED, GPU):
        raise InputError(f"{SIMULATED}, {COMPILED} or {GPU} (got {short(named)})", path="judge")
    if asked in (COMPILED, GPU) and loop.source is None:
        raise InputError(f"{loop.name} has no kernel to compile; dump one", path="judge")
    if named != SIMULATED and not installed:
        raise MissingLibraryError.of_extra("Triton", "triton")
    if loop.source is None:
        return SIMULATED
    if named == GPU:
        check_gpu()
    return named


@dataclass(frozen=True)
class Polishing:
    """How far a better program is looked for, as `twill.polish.polish` has it."""

    simulations: int
    seed: int
    conditions: Sequence[Conditions]
    jobs: int
    timeout: float | None = None
    # Programs besides the best one that are compiled; 0 where the simulated SM judges.
    different: int = 0
    # Programs with fewer barriers than the chosen one that are compiled.
    changes: int = 0
    # Whether those that are compiled as written are measured on the GPU at hand.
    measures: bool = False
    # Returns where a search for another machine begins; the given schedules without it.
    restart: Callable[[Machine], Sequence[Schedule]] | None = None

    def judged_by(self, asked: str | None, loop: Loop, effort: str) -> Polishing:
        """Return the same with what the judge of a loop needs; see `judge_of`."""
        judge = judge_of(loop, asked)
        if judge == SIMULATED:
            return replace(self, different=0, changes=0)
        different, changes = DIFFERENT[effort], CHANGES[effort]
        return replace(self, different=different, changes=changes, measures=judge == GPU)


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

    def compiled(schedules: Sequence[Schedule]) -> list[Trial]:
        return compiled_best(schedules, how.jobs)[1]

    found, trials = chosen(both, given, how.jobs, report, restart=how.restart)
    try:
        fewer = partial(with_fewer_barriers, jobs=how.jobs, report=report)
        changed = fewer(trials, how.changes, compiled, how.conditions, clock) if trials else ()
        for trials in changed:
            found = replace(found, schedule=trials[0].promising)
        if not how.measures:
            return found, trials
        return fastest_on_gpu(found, trials[: 1 + how.different], how.seed, report)
    except KeyboardInterrupt:
        raise Interrupted(found) from None


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

    Each has half of the programs, at least those of quick effort. A search finds programs for which
    its judge is too optimistic, and the two are so for different ones; machine code chooses.
    """
    if begin[0].machine.mechanisms is None:
        return search(begin, how)
    least = min(how.simulations, programs_of("quick", begin[0].loop))
    simulations = max(how.simulations // 2, least)
    half = replace(how, simulations=simulations, different=how.different // 2)
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

    If most are not compiled as written, a second search keeps the registers that the compiler
    takes. Its machine is the packaged one of the same name with ``_ptxas`` behind, if there is one.

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
        written = sum(not trial.faults for trial in trials)
        if 2 * written >= len(trials) or strict not in packaged_machines():
            return found, trials
        if best.machine != Machine.named(best.machine.name):  # the user's own, of the same name
            return found, trials
        tried = plural(len(trials), "program")
        report(f"{written} of {tried} compiled as written; trying {strict}")
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


def fastest_on_gpu(
    found: Polished, trials: Sequence[Trial], seed: int = 0, report: Report = silent
) -> tuple[Polished, list[Trial]]:
    """Measure the programs that are compiled as written, or only spill; choose the fastest.

    Machine code chooses where none can be measured.
    """
    able = [trial for trial in trials if trial.only_spills or not trial.faults]
    answers = measured_in_rounds([emitted(trial.schedule) for trial in able], seed, report)
    ranked = [trial for trial in trials if trial not in able]
    for trial, answer in zip(able, answers, strict=True):
        if isinstance(answer, OnGpu):
            ranked.append(replace(trial, on_gpu=answer))
        else:
            ranked.append(replace(trial, refused=str(answer)))
    ranked.sort(key=lambda trial: trial.worth)
    if ranked[0].on_gpu is None:
        why = "; ".join(dict.fromkeys(map(str, answers))) or "no program is compiled as written"
        warn(f"nothing was measured on the GPU: {why}")
        return found, list(trials)
    return replace(found, schedule=ranked[0].promising), ranked


def compiled_best(
    schedules: Sequence[Schedule], jobs: int = 1, report: Report = silent
) -> tuple[Schedule, list[Trial]]:
    """Emit and compile programs, and choose the one whose machine code takes the fewest cycles.

    Programs that are compiled as written come first, with those that only spill. Kernels compiled
    before are not compiled again.

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
    return trials[0].promising, trials


def _tried(schedule: Schedule, kernel: str) -> Trial:
    try:
        return Trial(schedule, judged_text(kernel, schedule.machine))
    except TwillError as error:
        return Trial(schedule, None, str(error))


def judged_text(
    kernel: str, machine: Machine, compiler: Callable[[Path, int], Cubin] = kept.compiled
) -> Judged:
    """Judge the text of an emitted kernel; a kernel that was compiled before is read from disk."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.py"
        write_whole(file, kernel)
        return judged_file(file, machine, compiler=compiler)
