"""The issue stage: which warp's instruction goes to its pipe, and when."""

from __future__ import annotations

import math
from dataclasses import dataclass

from twill.artifacts.loop import MOST_WARPS
from twill.sim.engine import WarpScheduler
from twill.sim.engine.events import Clock
from twill.sim.engine.hardware import Context, Unit
from twill.sim.engine.warps import Stretch, Warp

ALWAYS_OPEN = Unit("")


@dataclass(slots=True)
class Choice:
    """Which warp of a context goes on next."""

    warp: Warp | None = None
    cycle: float = math.inf
    second: float = math.inf  # cycle at which the next other one of the context could
    since: int = 0  # how many warps had begun to issue or to sleep when this one did
    # Cycle at which somebody outside the context could notice one of its warps, at the earliest;
    # None until it is asked for.
    noticed: float | None = math.inf
    holds: bool = False  # whether that is still so


NOBODY = Choice()  # the choice of a context in which no warp issues or sleeps


class IssueStage:
    """Issues the instructions of all warps, in the order of time.

    It runs ahead of the clock's events as far as none of them can intervene: instructions that
    nobody else can come between are issued at once.

    Attributes
    ----------
    events : int
        Instructions, or bundles of them, issued so far, and warps resumed after a delay.
    """

    def __init__(self, clock: Clock, scheduler: WarpScheduler) -> None:
        self._clock = clock
        self._contexts: list[Context] = []
        self._only_context: Context | None = None
        self._issuing: dict[Context, list[Warp]] = {}
        self._choices: dict[Context, Choice] = {}
        self._prefers = _round_robin if scheduler == "round-robin" else _oldest
        self.events = self._added = 0
        clock.after_event = self._advance

    def take(self, warp: Warp) -> None:
        """Issue a warp's stream, then resume the warp."""
        warp.next = max(warp.next, math.ceil(self._clock.now))
        self._prepare(warp)
        self._add(warp)

    def sleep(self, warp: Warp) -> bool:
        """Resume a warp when it can issue again, or let time pass if nobody acts till then."""
        self.events += 1
        if warp.next < self._clock.horizon() and warp.next < self._next()[0].cycle:
            self._clock.now = warp.next
            return False
        warp.wanted, warp.pipe, warp.queue, warp.left = warp.next, None, None, 0
        self._add(warp)
        return True

    def _add(self, warp: Warp) -> None:
        self._added += 1
        warp.since = self._added
        if warp.context not in self._issuing:
            self._issuing[warp.context] = []
            self._contexts.append(warp.context)
            self._only_context = warp.context if len(self._contexts) == 1 else None
            self._choices[warp.context] = Choice()
        self._issuing[warp.context].append(warp)
        self._choices[warp.context].holds = False

    def _prepare(self, warp: Warp) -> None:
        """Note from when on the next instruction of a warp can be issued, and what it needs."""
        stretch = warp.stretches[warp.position]
        ready = int(warp.paces[stretch.part].ready)
        warp.wanted = ready if ready > warp.next else warp.next
        warp.pipe, warp.queue = stretch.pipe, stretch.queue
        if stretch.pipe is not None and stretch.pipe.shared:
            warp.pipe = ALWAYS_OPEN

    def _advance(self) -> None:
        """Issue what can be issued before the next event."""
        horizon = self._clock.horizon()
        while True:
            choice, others = self._next()
            if choice.cycle >= horizon:
                return
            if self._issue(choice, others, horizon):
                horizon = self._clock.horizon()

    def _next(self) -> tuple[Choice, float]:
        """Return which warp goes on next, and when one of another context could."""
        if self._only_context is not None:
            choice = self._choices[self._only_context]
            if not choice.holds:
                self._choose(self._only_context, choice)
            return choice, math.inf
        best, cycle, others = NOBODY, math.inf, math.inf
        for context in self._contexts:
            choice = self._choices[context]
            if not choice.holds:
                self._choose(context, choice)
            if choice.cycle < cycle:
                best, cycle, others = choice, choice.cycle, cycle
            elif choice.cycle == cycle:
                others = cycle
                if choice.since < best.since:
                    best = choice
            elif choice.cycle < others:
                others = choice.cycle
        return best, others

    def _choose(self, context: Context, choice: Choice) -> None:
        """Note which warp of a context goes on next."""
        best, cycle, second, keep = None, math.inf, math.inf, True
        for warp in self._issuing[context]:
            earliest, pipe = warp.wanted, warp.pipe
            if pipe is not None:
                if pipe.opens > earliest:
                    earliest = pipe.opens
                if context.free > earliest:
                    earliest = context.free
            elif warp.queue is not None:
                earliest, keep = max(earliest, warp.queue.room), False
            if earliest < cycle:
                best, cycle, second = warp, earliest, cycle
            elif earliest == cycle:
                second = cycle
                best = warp if best is None or self._prefers(warp, best) else best
            elif earliest < second:
                second = earliest
        choice.warp, choice.cycle, choice.second, choice.holds = best, cycle, second, keep
        choice.since, choice.noticed = (0, math.inf) if best is None else (best.since, None)

    def _limit(self, choice: Choice, horizon: float) -> float:
        """Return until when nobody can come between the instructions of a warp.

        Others of its context can at once, those of other contexts when somebody notices them.
        """
        limit = choice.second if choice.second < horizon else horizon
        if self._only_context is not None:
            return limit
        for context in self._contexts:
            other = self._choices[context]
            if other is choice:
                continue
            if not other.holds:
                self._choose(context, other)
            if other.noticed is None:
                other.noticed = min(_noticed(w, other.cycle) for w in self._issuing[context])
            if other.noticed < limit:
                limit = other.noticed
        return limit

    def _issue(self, choice: Choice, others: float, horizon: float) -> bool:
        """Let a warp go on; return whether that may have caused events."""
        warp, cycle = choice.warp, choice.cycle
        assert warp is not None
        if warp.left == 0:
            return self._resume(warp, cycle)
        stretch = warp.stretches[warp.position]
        pipe = stretch.pipe
        if pipe is None:
            self._command(warp, stretch, cycle)
        elif pipe.shared:
            self._shared(warp, stretch, pipe, cycle)
        else:
            self._instructions(choice, warp, stretch, pipe, horizon)
        if warp.left == 0:
            if warp.next_stretch():
                self._prepare(warp)
            else:
                last = warp.paces[stretch.part].last
                if last <= cycle or (last < others and last < choice.second):
                    return self._resume(warp, last)
                warp.wanted, warp.pipe, warp.queue = last, None, None
        self._choices[warp.context].holds = False
        return pipe is None

    def _resume(self, warp: Warp, cycle: float) -> bool:
        """Resume a warp that has issued its stream, or slept until now."""
        if cycle > self._clock.now:
            self._clock.now = cycle
        self._issuing[warp.context].remove(warp)
        self._choices[warp.context].holds = False
        warp.resume()
        return True

    def _command(self, warp: Warp, stretch: Stretch, cycle: float) -> None:
        """Issue one command to an asynchronous unit."""
        pace = warp.paces[stretch.part]
        if cycle > warp.wanted:
            warp.lost("queue", stretch, warp.wanted, cycle)
        pace.last = cycle
        pace.ready = (pace.ready if pace.ready > cycle else cycle) + stretch.interval
        index = stretch.index + stretch.count - warp.left
        warp.left -= 1
        warp.next = cycle
        warp.wanted = max(int(pace.ready), cycle)
        self.events += 1
        if cycle > self._clock.now:
            self._clock.now = cycle
        if self._clock.tell is not None:
            warp.issued(stretch, cycle, pace.ready)
        warp.command(stretch.part, index)

    def _instructions(
        self, choice: Choice, warp: Warp, stretch: Stretch, pipe: Unit, horizon: float
    ) -> None:
        """Issue instructions to a pipe, as many as nobody can come between."""
        cycle = choice.cycle
        if cycle > warp.wanted:
            self._lost(warp, stretch, warp.wanted, min(cycle, max(warp.wanted, pipe.opens)), cycle)
        interval, share, left = stretch.interval, stretch.share, warp.left
        number, last = 1, cycle
        if left > 1 and stretch.whole and warp.paces[stretch.part].ready <= cycle:
            room = (self._limit(choice, horizon) - cycle) / interval
            if room > 1:
                number = left if left <= room else math.ceil(room)
                last = cycle + (number - 1) * interval
        busy = (pipe.free if pipe.free > cycle else cycle) + number * share
        # Not by `fill`: of all lines this is executed most often.
        pipe.free = busy if busy > last + share else last + share
        pipe.opens = int(pipe.free)
        self._issued(warp, stretch, cycle, last, number)

    def _shared(self, warp: Warp, stretch: Stretch, pipe: Unit, cycle: float) -> None:
        """Queue for a pipe that all contexts share, or issue to it when it is the warp's turn."""
        self._clock.now = max(self._clock.now, cycle)
        if warp.turn is None:
            warp.asked = cycle
            warp.turn = warp.wanted = max(cycle, pipe.opens)
            pipe.accept(warp.turn, 0.0, stretch.share * warp.stands_for)
            if warp.turn > cycle:
                return
        if cycle > warp.asked:
            self._lost(warp, stretch, warp.asked, warp.turn, cycle)
        warp.turn = None
        self._issued(warp, stretch, cycle, cycle, 1)

    def _issued(self, warp: Warp, stretch: Stretch, first: float, last: float, number: int) -> None:
        """Count instructions, the first and the last of which were issued at these cycles."""
        pace, context = warp.paces[stretch.part], warp.context
        pace.last = last
        begin = pace.ready if pace.ready > first else first
        pace.ready = begin + number * stretch.interval
        context.free = warp.next = last + context.slots * stretch.size
        context.issued += number * stretch.size
        context.last = warp.age
        self.events += number
        warp.left -= number
        ready = int(pace.ready)
        warp.wanted = ready if ready > warp.next else warp.next
        if first > self._clock.now:
            self._clock.now = first
        if self._clock.tell is not None:
            warp.issued(stretch, first, pace.ready)

    def _lost(self, warp: Warp, stretch: Stretch, wanted: float, free: float, cycle: float) -> None:
        """Count cycles until the pipe was free, then those until the issue slot was."""
        if free > wanted:
            warp.lost("pipe", stretch, wanted, free)
        if cycle > free:
            warp.lost("issue slot", stretch, free, cycle)


def _noticed(warp: Warp, cycle: float) -> float:
    """Return when others could notice a warp of a context that does nothing before `cycle`."""
    earliest = max(warp.wanted, cycle)
    if warp.pipe is None or warp.pipe is ALWAYS_OPEN:
        return earliest
    stretch = warp.stretches[warp.position]
    return earliest + (warp.left - 1) * stretch.interval + stretch.ahead


def _oldest(warp: Warp, best: Warp) -> bool:
    """Whether a context that takes the oldest warp, or the last one again, takes `warp`."""
    last = warp.context.last
    return best.age != last and (warp.age == last or warp.age < best.age)


def _round_robin(warp: Warp, best: Warp) -> bool:
    """Whether a context that takes warps in turn takes `warp`."""
    after = warp.context.last + 1
    return (warp.age - after) % MOST_WARPS < (best.age - after) % MOST_WARPS
