"""Times of a candidate: at least, before it is solved, and as it is simulated."""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import Time, TunedRow, text_hash
from twill.base.errors import RefusedError, TwillError
from twill.bounds.programs import program_bounds
from twill.emit import emitted
from twill.emit.attributes import check as check_source
from twill.emit.source import Source
from twill.polish import polish, programs_of
from twill.search.cache import Cache
from twill.search.request import Request, answers, beginnings
from twill.search.scheduler import solve
from twill.sim.analysis.problems import Problem, attention, is_product, product
from twill.sim.analysis.whole_kernel import (
    DEFAULT_HEADS,
    DEFAULT_TOKENS,
    WholeKernel,
    least_microseconds,
)
from twill.sim.engine import Conditions
from twill.sim.execute import simulate
from twill.studies.sweep.points import ONE_AT_A_TIME
from twill.studies.tune.candidates import Candidate

SIMULATED = 200  # iterations of a run, as those over which promises are measured
DEFAULT_SEQUENCE = 8192
DEFAULT_SIZE = (8192, 8192, 8192)
# Residence in memory bounds the steady state only: what a short loop needs may all fit at once.
STEADY_ONLY = ("memory", "registers")


@dataclass(frozen=True)
class Question:
    """Settings that are the same for all candidates."""

    subject: str  # name of the loop or kernel
    machine: Machine  # for which SM
    sizes: tuple[tuple[int, ...], ...] = ()  # rows, columns and depth of each product
    # Sequence lengths of attention, with `tokens` and `heads`, `causal` and a `window`.
    sequences: tuple[int, ...] = ()
    tokens: int = DEFAULT_TOKENS
    heads: int = DEFAULT_HEADS
    causal: bool = False
    window: int | None = None
    persistent: bool = True  # whether blocks go on to their next tile
    # Clock in MHz, or ``capped``; that of the machine file without it.
    clock: float | str | None = None
    # How far faster programs are looked for: ``quick``, ``normal`` or ``thorough``.
    effort: str = "quick"
    # Candidates are solved whose bound is above the best time by at most this part.
    within: float = 0.01
    # Seconds to schedule a candidate; what is found by then depends on the host.
    timeout: float | None = None
    emits: bool = False  # whether candidates that cannot be a kernel are refused

    def problems(self, loop: Loop) -> tuple[Problem, ...]:
        """Return the problems in the tiles of a loop.

        Raises
        ------
        InputError
            If sizes are out of range, or not what the loop has.
        """
        if is_product(loop) and not self.sequences:
            return tuple(product(loop, *size) for size in self.sizes or (DEFAULT_SIZE,))
        if self.sizes:
            return tuple(product(loop, *size) for size in self.sizes)
        every = self.sequences or (DEFAULT_SEQUENCE,)
        return tuple(
            attention(*(loop, one, self.tokens, self.heads), causal=self.causal, window=self.window)
            for one in every
        )


@dataclass(frozen=True)
class Task:
    """A candidate, ready to be sent to another process, with what is known of it."""

    question: Question
    candidate: Candidate
    row: TunedRow


def bounded(question: Question, candidate: Candidate) -> TunedRow:
    """Return a candidate's row before anybody solves it, with its bound or why it has none."""
    row = TunedRow(
        point=candidate.point,
        values=candidate.values,
        tile=candidate.tile,
        status="refused",
        reason=candidate.refusal,
    )
    if candidate.loop is None:
        return row
    loop, machine = candidate.loop, question.machine
    try:
        if question.emits:
            check_source(Source(loop))
        arguments = program_bounds(loop, machine)
        bound = next(a.bound for a in arguments if a.reason not in STEADY_ONLY)
        least = [
            least_microseconds(
                *(loop, machine, problem, bound.cycles),
                clock=question.clock,
                persistent=question.persistent,
            )
            for problem in question.problems(loop)
        ]
    except TwillError as error:
        return row.model_copy(update={"reason": str(error)})
    update = {
        "status": "waiting",
        "bound_cycles": bound.cycles,
        "bound_reason": " ".join((bound.reason, *bound.of)),
        "bound_microseconds": sum(least),
    }
    return row.model_copy(update=update)


def evaluated(task: Task) -> tuple[TunedRow, str]:
    """Schedule and simulate a candidate.

    Returns: Its row, with the reason if it is refused, and its schedule as JSON text; empty without
    one.
    """
    try:
        with ONE_AT_A_TIME:
            schedule = _scheduled(task.question, task.candidate)
            if task.question.emits:
                emitted(schedule)
            update = _times(task.question, schedule)
    except TwillError as error:
        return task.row.model_copy(update={"status": "refused", "reason": str(error)}), ""
    except Exception as error:  # a defect with one candidate is a row, not the end of all others
        reason = f"unexpected {type(error).__name__}: {error}"
        return task.row.model_copy(update={"status": "refused", "reason": reason}), ""
    text = schedule.to_json()
    update |= {"status": "ran", "schedule_hash": text_hash(text)}
    return task.row.model_copy(update=update), text


def _scheduled(question: Question, candidate: Candidate) -> Schedule:
    """Return the fastest programs of a candidate; under limits the optimal static schedule."""
    assert candidate.loop is not None
    request = Request(candidate.loop, question.machine, limits=candidate.limits)
    if candidate.limits:
        return solve(request, timeout=question.timeout, cache=Cache()).schedule
    cache = Cache()
    solved = answers(
        beginnings(request), lambda one: solve(one, timeout=question.timeout, cache=cache).schedule
    )
    first, *others = solved
    simulations = programs_of(question.effort, candidate.loop)
    return polish(first, others=others, simulations=simulations).schedule


def _times(question: Question, schedule: Schedule) -> dict[str, object]:
    conditions = Conditions.of(iterations=SIMULATED, clock=question.clock)
    if schedule.promise is not None:
        interval: float | None = schedule.promise.interval_cycles
    else:
        interval = simulate(schedule, conditions).measured_interval_cycles
    if interval is None:
        raise RefusedError("its programs have no steady state")
    whole = WholeKernel(schedule, conditions, persistent=question.persistent, interval=interval)
    problems, kept = question.problems(schedule.loop), set(Time.model_fields)
    found = [whole.time(problem) for problem in problems]
    taken = sum(time.microseconds for time in found)
    return {
        "interval_cycles": interval,
        "microseconds": taken,
        "tflops": sum(problem.flop for problem in problems) / taken / 1e6,
        "times": tuple(Time(**time.model_dump(include=kept)) for time in found),
    }
