"""The answer to a request: found, with registers enough for its programs, and verified.

The search counts registers by the clock of the static schedule, a compiler along the program. Where
the two differ in spite of waits, the question is asked again with some registers of every group to
spare. The second answer claims only what the first search has proved.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from twill.artifacts.schedule import Schedule, TimeScale
from twill.base.deadline import Deadline
from twill.base.errors import DefectError, Refusal, RefusedError, TwillError
from twill.bounds import every_bound
from twill.engines.tuning import TUNING
from twill.lower import realize
from twill.problem import Problem
from twill.search.known import not_proved
from twill.search.paper_search import paper_search
from twill.search.request import MOST_SEED, Options, Request, engine_factory, range_prover, versions
from twill.search.search import Found, Stopped, search
from twill.verification import Violation, verify
from twill.verification.registers import registers_along_programs

REALIZING = "programs and storage"  # what is reported once the search is over
DEFECT = {
    "schema": "twill.defect",
    "schema_version": 1,
    "how_to_reproduce": "Save loop and machine of the question as files, and give the rest of it "
    "to twill.schedule: the answer is the schedule below, which twill.verify refuses.",
}


class Answering:
    """Finds the answer to a request, a schedule of its `problem`."""

    def __init__(
        self, request: Request, options: Options, keep: Callable[[Schedule], None] | None = None
    ) -> None:
        self._request, self._timeout, self._keep = request, options.timeout, keep
        # Other searches for this answer are about other problems, or with other seeds.
        self._known, options = options.known, replace(options, known=None)
        engine = request.engine
        self._finder = engine_factory("difference" if engine == "both" else engine)
        self._prover = range_prover() if engine == "both" else None
        scale, self._options = _normalized(request, options)
        self.problem = request.problem(scale)

    def found(self) -> tuple[Found, Schedule]:
        """Return the result, and its schedule, whose programs have enough registers.

        Raises
        ------
        RefusedError
            If there is none, or none with enough registers was found.
        Stopped
            A KeyboardInterrupt with the best result until then.
        """
        better = None if self._keep is None else self._better
        first = replace(self._options, known=self._known, better=better)
        return self._with_registers(self._search(self.problem, first))

    def _search(self, problem: Problem, options: Options) -> Found:
        if self._request.search == "paper":
            by_figures = self._request.engine == "verbatim"
            modulo = engine_factory("difference") if by_figures else self._finder
            return paper_search(problem, self._finder, options, modulo=modulo)
        written = self._request.search == "written"
        return search(problem, self._finder, options, self._prover, written=written)

    def realized(self, found: Found) -> Schedule:
        """Return the artifact."""
        self._options.report(REALIZING)
        return self._realized(found)

    def _better(self, found: Found) -> None:
        """Keep the best schedule so far, if its programs have enough registers and it is valid."""
        assert self._keep is not None
        with contextlib.suppress(TwillError):
            artifact = self._realized(found)
            if lacking(self.problem, artifact) <= 0 and not verify(artifact).violations:
                self._keep(artifact)

    def _realized(self, found: Found) -> Schedule:
        made = partial(realize, self.problem, found.interval, found.assignment, found.proof)
        solver = versions(self._request.engine, self.problem.scale)
        update = {"solver": solver, "seed": self._options.seed}
        return within_registers(self.problem, made).model_copy(update=update)

    def _with_registers(self, first: Found) -> tuple[Found, Schedule]:
        """Return an answer whose programs have enough registers: the first, or one asked for."""
        problem, spare, found, artifact = self.problem, 0, first, self.realized(first)
        while (more := lacking(problem, artifact)) > 0:
            spare += more
            last = found
            spared, options = with_spare(problem, spare), later(self._options, last)
            try:
                found = _after(last, _shown(problem, first, self._search(spared, options), spare))
            except Stopped as stopped:
                shown = _shown(problem, first, stopped.found, spare)
                raise Stopped(_after(last, shown)) from None
            except RefusedError:
                return self._another(last)
            if found.interval > last.interval:
                with contextlib.suppress(RefusedError):
                    return self._another(last)
            artifact = self.realized(found)
        return found, artifact

    def _another(self, last: Found) -> tuple[Found, Schedule]:
        """Return another schedule of the same levels, as other seeds find them."""
        found = last
        for seeds in range(1, TUNING.levels.seeds + 1):
            options = later(self._options, found, seeds)
            found = _after(found, self._search(self.problem, options))
            artifact = self.realized(found)
            if lacking(self.problem, artifact) <= 0:
                return found, artifact
        raise RefusedError(
            f"{self.problem.loop.name}: no schedule was found whose programs have enough "
            "registers, which does not mean that there is none",
            Refusal(families=("registers",), least_interval=last.proof.bound.value),
        )

    def verified(self, schedule: Schedule) -> Schedule:
        """Return a schedule that the verifier accepts.

        Raises
        ------
        RefusedError
            If a rule of the model is broken that the paper's printed system forgets.
        DefectError
            If a rule is broken otherwise; it names the report.
        """
        violations = verify(schedule).violations
        if not violations:
            return schedule
        if self._request.engine == "verbatim":
            raise RefusedError(
                f"{schedule.name}: the printed system has a schedule of interval "
                f"{schedule.initiation_interval}, which is not valid in the model; {violations[0]}"
            )
        run = {"timeout": self._timeout, "versions": versions()}
        raise DefectError(
            f"{schedule.name}: the solver's own answer breaks a rule, which is a defect of twill; "
            f"{violations[0]}",
            report=write_report(schedule, {**self._request.words, **run}, violations),
        )


def _normalized(request: Request, options: Options) -> tuple[TimeScale, Options]:
    """Normalize costs, and leave the rest of the time to the search."""
    deadline, timeout = Deadline(options.timeout), options.timeout
    with deadline:
        scale = request.scale()
        if timeout is not None and request.time != "exact":
            options = replace(options, timeout=max(TUNING.budget.least, timeout - deadline.spent))
        return scale, options
    raise RefusedError(f"{request.loop.name}: costs were not normalized within {timeout:g} s")


def _after(first: Found, second: Found) -> Found:
    """Return the result of the second search, with the seconds of both."""
    seconds = {key: first.seconds.get(key, 0.0) + value for key, value in second.seconds.items()}
    return replace(second, seconds=seconds, work=first.work + second.work)


def later(options: Options, found: Found, seeds: int = 0) -> Options:
    """Return the options of a search after another one: the remaining budget, another seed."""
    left, spent = options.timeout, found.seconds.get("total", 0.0)
    if left is not None and spent:
        left = max(TUNING.budget.least, left - spent)
    work = None if options.work is None else max(0.0, options.work - found.work)
    seed = (options.seed + seeds) % (MOST_SEED + 1)
    return replace(options, timeout=left, work=work, seed=seed)


def within_registers(problem: Problem, made: Callable[..., Schedule]) -> Schedule:
    """Return a schedule whose groups, if short of registers, wait for operations that free some.

    The static schedule counts registers as free when their asynchronous reader is to end; along a
    program they are free when it is known to have ended.
    """
    artifact = made()
    tight = [name for name, more in _lacking(problem, artifact).items() if more > 0]
    return made(tight=tight) if tight else artifact


def lacking(problem: Problem, artifact: Schedule) -> int:
    """Return how many registers per thread a group needs along its program beyond what it has."""
    return max(_lacking(problem, artifact).values(), default=0)


def _lacking(problem: Problem, artifact: Schedule) -> dict[str, int]:
    file = problem.registers
    if file is None or problem.rules == "paper":
        return {}
    live = registers_along_programs(artifact)
    room = {g.name: min(g.registers or 0, file.limit) - file.reserve for g in artifact.groups}
    return {name: needed - room[name] for name, needed in live.items()}


def with_spare(problem: Problem, spare: int) -> Problem:
    """Return a problem whose groups keep `spare` more registers per thread free."""
    file = problem.registers
    assert file is not None
    return replace(problem, registers=replace(file, reserve=file.reserve + spare))


def _shown(problem: Problem, first: Found, again: Found, spare: int) -> Found:
    """Return a result with registers to spare, with the proofs that hold for the whole problem."""
    bound = first.proof.bound
    if again.interval > first.interval or bound.reason == "not proved":
        lower, most = every_bound(problem), bound.most_stages or 0
        bound = not_proved(lower, bound.value, bound.solver or "", most)
    known = {level.level: level for level in first.proof.levels}
    levels, still = [], True
    for level in again.proof.levels:
        best = known.get(level.level)
        still = still and best is not None and best.proved and best.value == level.value
        solver = best.solver if still and best is not None else None
        levels.append(level.model_copy(update={"proved": still, "solver": solver}))
    groups = tuple(replace(g, live_limit=g.live_limit + spare) for g in again.assignment.groups)
    proof = again.proof.model_copy(update={"bound": bound, "levels": tuple(levels)})
    assignment = replace(again.assignment, groups=groups)
    return replace(again, assignment=assignment, proof=proof)


def write_report(
    schedule: Schedule, question: Mapping[str, Any], violations: tuple[Violation, ...]
) -> str:
    """Write what reproduces a defect to a new file among the system's temporary ones.

    `question`: the arguments that it answers, other than loop and machine, as plain data.
    """
    answer = json.loads(schedule.to_json())
    report = {
        **DEFECT,
        "refused": [{"rule": v.rule, "message": v.message} for v in violations],
        "question": {**question, "loop": answer["loop"], "machine": answer["machine"]},
        "schedule": answer,
    }
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="twill-defect-", suffix=".json", delete=False
        ) as stream:
            json.dump(report, stream, indent=1)
    except OSError:
        return ""
    return stream.name
