"""Which chain of waits, issues and unit times sets the pace.

Everything in an execution begins when the last thing that it waits for is over. Going back from the
end of an iteration along these binding events gives one unbroken chain. In a steady state the chain
closes upon itself: some event was bound, several iterations before, by the same kind of event. The
chain's cycles divided by its iterations are the interval. No other cycle of recorded events has a
greater ratio: it is the critical cycle of a max-plus system (Baccelli, Cohen, Olsder and Quadrat,
Synchronization and Linearity, chapter 3).
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

from twill.sim.engine.record import Instance, Recording, Span, Use, Warp, in_time

ROUNDING = 1e-6
MOST_IDLE = 1000  # links without a cycle one after the other: more are a circle


@dataclass(frozen=True)
class Step:
    """A link of the chain: cycles that passed for a single reason."""

    # ``unit``: an asynchronous unit works. ``issue``: a warp issues. ``scoreboard``: a warp waits
    # for an operand in its registers. ``latency``: from the end of an operation's work until others
    # can read its result. ``signal``: from an arrive until a waiter goes on. ``synchronisation``: a
    # wait or an arrive itself. ``pipe`` and ``issue slot``: taken by another warp. ``queue``: a
    # unit's queue is full.
    kind: str
    place: str  # the group or the unit
    subject: str  # the operation, or the barrier
    iteration: int  # of the subject
    # Cycles.
    begin: float
    end: float

    @property
    def cycles(self) -> float:
        """Length."""
        return self.end - self.begin


@dataclass(frozen=True)
class Cycle:
    """The chain of binding events that sets the pace."""

    steps: tuple[Step, ...]  # in the order of time; each begins where the one before ended
    iterations: int  # by how many iterations it leads on
    # Whether it closes upon itself. Otherwise (random latencies) it is the whole chain of the
    # iterations that were measured.
    closed: bool

    @property
    def cycles(self) -> float:
        """Length of the chain."""
        return self.steps[-1].end - self.steps[0].begin

    @property
    def ratio(self) -> float:
        """Cycles of each iteration."""
        return self.cycles / self.iterations


_Before = Callable[[], "_Link"]
# A step, if it took time, and what says what came before it.
_Link = tuple[Step | None, _Before | None]


class BindingEvents:
    """The chain of binding events of a recorded execution, from its end to its begin.

    `variable`: operations whose latency counts from their start, since memory decides it.
    `contexts`: the issue context of every warp; all issue from one without it.
    """

    def __init__(
        self,
        recording: Recording,
        variable: Collection[str] = (),
        contexts: Mapping[Warp, int] | None = None,
        shared: Collection[str] = (),
    ) -> None:
        self.recording, self._variable = recording, variable
        self._spans = {warp: in_time(spans) for warp, spans in recording.spans.items()}
        self._uses = {unit: in_time(uses) for unit, uses in recording.uses.items()}
        self._issues: dict[Instance, list[tuple[Warp, Span]]] = defaultdict(list)
        for warp, spans in self._spans.items():
            for span in spans:
                if span.kind == "issue":
                    self._issues[span.subject, span.iteration].append((warp, span))
        self._used: dict[Instance, list[tuple[str, int]]] = defaultdict(list)
        for unit, uses in self._uses.items():
            for index, use in enumerate(uses):
                self._used[use.operation, use.iteration].append((unit, index))
        self._contexts, self._shared = contexts or {}, shared
        self._issuers: dict[tuple[str, int], list[tuple[float, Warp]]] = {}

    def _issued_to(self, pipe: str, context: int) -> list[tuple[float, Warp]]:
        """Return the issues to a pipe, or (without a name) all of a context: cycles and warps."""
        key = (pipe, context)
        if key not in self._issuers:
            self._issuers[key] = sorted(
                (span.begin, warp)
                for warp, spans in self._spans.items()
                if pipe in self._shared or self._contexts.get(warp, 0) == context
                for span in spans
                if span.kind == "issue" and (span.unit == pipe or not pipe)
            )
        return self._issuers[key]

    def back_from(self, iteration: int) -> Iterator[Step]:
        """Yield the chain that ends with an iteration's last completion, latest step first."""
        completions = self.recording.completions.items()
        ends = [(cycle, operation) for (operation, of), cycle in completions if of == iteration]
        if ends:
            cycle, operation = max(ends)
            yield from self._steps((operation, iteration), cycle)

    def _steps(self, instance: Instance, cycle: float) -> Iterator[Step]:
        before: _Before | None = partial(self._before_completion, *instance, cycle)
        idle, until = 0, cycle
        while before is not None and idle < MOST_IDLE:
            step, before = before()
            idle += 1
            if step is not None and step.end > until + ROUNDING:
                return
            if step is not None and step.end > step.begin:
                idle, until = 0, step.begin
                yield step

    def _before_completion(self, operation: str, iteration: int, cycle: float) -> _Link:
        instance = (operation, iteration)
        used = [(unit, self._uses[unit][index]) for unit, index in self._used[instance]]
        if used:
            unit, use = max(used, key=lambda entry: (entry[1].end, entry[0]))
            if operation in self._variable and use.end < cycle:
                unit, use = min(used, key=lambda entry: (entry[1].begin, entry[0]))
                return Step("latency", unit, *instance, use.begin, cycle), self._before_use(use)
            step = Step("latency", unit, *instance, use.end, cycle)
            return step, partial(self._before_work, unit, use.end)
        issued = self._issues[instance]
        if not issued:
            return None, None
        warp, span = max(issued, key=lambda entry: (entry[1].end, entry[0]))
        end = min(span.end, cycle)
        step = Step("latency", warp[0], *instance, end, cycle)
        return step, partial(self._before_end, warp, span, end)

    def _before_work(self, unit: str, cycle: float) -> _Link:
        index = _last_before(self._uses[unit], cycle)
        if index < 0:
            return None, None
        use = self._uses[unit][index]
        step = Step("unit", unit, use.operation, use.iteration, use.begin, cycle)
        return step, self._before_use(use)

    def _before_use(self, use: Use) -> _Before:
        """Return the cause of the work's start: a unit that was busy until then, or the command."""
        for unit, _ in self._used[use.operation, use.iteration]:
            index = _last_before(self._uses[unit], use.begin)
            if index >= 0 and self._uses[unit][index].end >= use.begin - ROUNDING:
                return partial(self._before_work, unit, use.begin)
        return partial(self._before_command, use)

    def _before_command(self, use: Use) -> _Link:
        """Return the issue of a command, or the instruction that kept its unit from starting."""
        issued = [
            (span.begin, warp, span)
            for warp, span in self._issues[use.operation, use.iteration]
            if span.begin <= use.begin + ROUNDING
        ]
        if not issued:
            return None, None
        begin, warp, span = max(issued)
        if use.begin <= span.end + ROUNDING:
            return None, partial(self._before_issue, warp, use.begin)
        for unit, _ in self._used[use.operation, use.iteration]:
            issuers = self._issued_to(unit, self._contexts.get(warp, 0))
            index = _last_before(issuers, use.begin)
            if index >= 0 and issuers[index][0] > begin:
                held, holder = issuers[index]
                step = Step("pipe", unit, holder[0], use.iteration, held, use.begin)
                return step, partial(self._before_issue, holder, held)
        step = Step("queue", warp[0], use.operation, use.iteration, span.end, use.begin)
        return step, partial(self._before_end, warp, span, span.end)

    def _before_end(self, warp: Warp, span: Span, end: float) -> _Link:
        """Return an operation's instructions; at their end the warp may have gone on to others."""
        step = Step("issue", warp[0], span.subject, span.iteration, span.begin, end)
        return step, partial(self._before_issue, warp, span.begin)

    def _before_issue(self, warp: Warp, cycle: float) -> _Link:
        index = _last_before(self._spans[warp], cycle)
        if index < 0:
            return None, None
        span = self._spans[warp][index]
        kind = "issue" if span.end < cycle - ROUNDING else span.kind
        cause = self._cause(warp, span, cycle) if kind == span.kind else None
        if cause is not None:
            return cause
        step = Step(kind, warp[0], span.subject, span.iteration, span.begin, cycle)
        return step, partial(self._before_issue, warp, span.begin)

    def _cause(self, warp: Warp, span: Span, end: float) -> _Link | None:
        """Return the event that ended a stall, None where the warp itself ended it."""
        match span.kind:
            case "barrier":
                return self._arrival(warp, span, end)
            case "completion":
                return None, partial(self._before_completion, span.subject, span.iteration, end)
            case "scoreboard":
                return self._own_result(warp, span, end)
            case "pipe" | "issue slot":
                return self._holder(warp, span, end)
            case "queue":
                return self._queue(span, end)
        return None

    def _arrival(self, warp: Warp, span: Span, end: float) -> _Link | None:
        every = self.recording.arrivals[span.subject, span.iteration]
        arrivals = [arrival for arrival in every if arrival.visible <= end + ROUNDING]
        if not arrivals:
            return None
        last = max(arrivals, key=lambda arrival: (arrival.visible, arrival.cycle))
        if not last.group:
            return None, partial(self._before_completion, last.operation, span.iteration, end)
        step = Step("signal", warp[0], span.subject, span.iteration, last.cycle, end)
        return step, partial(self._before_issue, (last.group, last.warp), last.cycle)

    def _own_result(self, warp: Warp, span: Span, end: float) -> _Link | None:
        """Return the end of the operation that made an operand in registers."""
        issues = self._issues[span.subject, span.iteration]
        before = [issue for by, issue in issues if by == warp and issue.end < end]
        if not before:
            return None
        made = max(before, key=lambda issue: issue.end)
        step = Step("scoreboard", warp[0], span.subject, span.iteration, made.end, end)
        return step, partial(self._before_end, warp, made, made.end)

    def _holder(self, warp: Warp, span: Span, end: float) -> _Link | None:
        """Return the warp that took the pipe, or the slot, before."""
        pipe = span.subject if span.kind == "pipe" else ""
        issuers = self._issued_to(pipe, self._contexts.get(warp, 0))
        index = _last_before(issuers, end)
        if index < 0:
            return None
        begin, holder = issuers[index]
        if holder == warp:
            # Its own instruction before, which fills the pipe for longer than a cycle.
            own = self._spans[warp][
                bisect.bisect(self._spans[warp], begin, key=lambda one: one.begin) - 1
            ]
            step = Step("issue", warp[0], own.subject, span.iteration, begin, end)
        else:
            step = Step(span.kind, span.subject, holder[0], span.iteration, begin, end)
        return step, partial(self._before_issue, holder, begin)

    def _queue(self, span: Span, end: float) -> _Link | None:
        """Return the work whose end made room in a unit's queue."""
        uses = self._uses.get(span.subject, [])
        index = bisect.bisect(uses, end + ROUNDING, key=lambda use: use.end) - 1
        if index < 0 or uses[index].end < end - ROUNDING:
            return None
        return None, partial(self._before_work, span.subject, end)


def _last_before(events: Sequence[tuple[Any, ...]], cycle: float) -> int:
    """Return the place of the last event that begins before a cycle, -1 if none does."""
    return bisect.bisect_left(events, (cycle - ROUNDING,)) - 1


def critical_cycle(
    events: BindingEvents, last: int, first: int, interval: float | None
) -> Cycle | None:
    """Return the chain that sets the pace between two iterations of a recorded execution.

    `last`, `first`: iterations of the steady state to look at, going back from the last.
    `interval`: the measured interval, in cycles; without it, as where completions do not repeat,
    the chain is not closed.
    Returns: none if the recording does not reach back for an iteration.
    """
    steps: list[Step] = []
    seen: dict[tuple[str, str, str], dict[int, int]] = defaultdict(dict)
    completions = events.recording.completions.items()
    until = max((cycle for (_, of), cycle in completions if of == first), default=0.0)
    for step in events.back_from(last):
        if step.end <= until:
            break
        steps.append(step)
        if interval is None:
            continue
        before = seen[step.kind, step.place, step.subject]
        for iteration, index in before.items():
            ahead = iteration - step.iteration
            passed = steps[index].end - step.end
            if ahead > 0 and abs(passed - ahead * interval) <= ROUNDING * passed:
                return Cycle(tuple(reversed(steps[index : len(steps) - 1])), ahead, closed=True)
        before.setdefault(step.iteration, len(steps) - 1)
    return Cycle(tuple(reversed(steps)), last - first, closed=False) if steps else None


def together(steps: Sequence[Step]) -> list[Step]:
    """Join steps that follow each other and concern the same thing."""
    joined = []
    for _, found in groupby(steps, key=lambda s: (s.kind, s.place, s.subject, s.iteration)):
        same = list(found)
        joined.append(replace(same[0], end=same[-1].end))
    return joined
