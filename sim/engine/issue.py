"""The issue stage: which warp's instruction goes to its pipe, and when."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from twill.artifacts.loop import MOST_WARPS
from twill.sim.engine.clock import Clock
from twill.sim.engine.conditions import WarpScheduler
from twill.sim.engine.hardware import Context
from twill.sim.engine.units import Unit
from twill.sim.engine.warps import Stretch, Warp

ALWAYS_OPEN = Unit("")


@dataclass(slots=True, eq=False)
class Queue:
    """The warps of a context that issue or sleep, and which of them goes on next."""

    context: Context
    warps: list[Warp] = field(default_factory=list)
    holds: bool = False  # whether what follows is still so
    warp: Warp | None = None  # the one that goes on next
    cycle: float = math.inf
    since: int = 0  # how many warps had begun to issue or to sleep when it did
    second: float = math.inf  # cycle at which the next other one could
    # Cycle before which nobody outside the context notices any of them; None until it is asked for.
    noticed: float | None = math.inf


NOBODY = Queue(Context({}, limited=False))


class IssueStage:
    """Issues the instructions of all warps.

    Contexts are simulated independently up to the next event that another context can observe. Such
    events are commands, instructions on a shared pipe, and warps that go on with their programs;
    they happen in the order of time. All other instructions are issued context by context: a
    context runs ahead of the last observable event, or stays behind until its own next one.

    Cycles are rounded down by `math.floor`: `// 1.0` divides, which compiled takes several times as
    long.

    `in_order`: whether everything happens in the order of time.

    Attributes
    ----------
    events : int
        Instructions issued so far, and warps resumed after a delay.
    """

    def __init__(self, clock: Clock, scheduler: WarpScheduler, *, in_order: bool) -> None:
        self._clock, self._in_order = clock, in_order
        self._queues: dict[Context, Queue] = {}
        self._prefers = _round_robin if scheduler == "round-robin" else _oldest
        self.events = self._added = 0
        clock.after_event = self._advance

    def take(self, warp: Warp) -> None:
        """Issue a warp's stream, then resume the warp."""
        warp.next = max(warp.next, float(math.ceil(self._clock.now)))
        self._prepare(warp)
        self._add(warp)

    def sleep(self, warp: Warp) -> bool:
        """Let a warp sleep until it can issue; return whether it must yield to earlier events."""
        self.events += 1
        if warp.next < self._clock.horizon and warp.next < self._first()[1]:
            self._clock.now = warp.next
            return False
        warp.wanted, warp.pipe, warp.queue, warp.left = warp.next, None, None, 0
        self._add(warp)
        return True

    def catch_up(self) -> None:
        """Issue in all contexts what comes before the current cycle."""
        for queue in self._queues.values():
            self._run(queue, self._clock.now)

    def _add(self, warp: Warp) -> None:
        self._added += 1
        warp.since = self._added
        queue = self._queues.get(warp.context)
        if queue is None:
            queue = self._queues[warp.context] = Queue(warp.context)
        queue.warps.append(warp)
        queue.holds = False

    def _prepare(self, warp: Warp) -> None:
        """Set when the next instruction of a warp can be issued, and the pipe that it needs."""
        stretch = warp.stretches[warp.position]
        ready = float(math.floor(warp.paces[stretch.part].ready))
        warp.wanted = ready if ready > warp.next else warp.next
        warp.pipe, warp.queue = stretch.pipe, stretch.queue
        warp.unnoticed = (warp.left - 1) * stretch.interval + stretch.ahead
        if stretch.pipe is not None and stretch.pipe.shared:
            warp.pipe = ALWAYS_OPEN
            warp.unnoticed = 0.0

    def _advance(self) -> None:
        """Let everything happen that comes before the next event."""
        while True:
            horizon = self._clock.horizon
            first, noticed, limit = self._first()
            if noticed >= horizon:
                return
            in_turn = first.cycle >= noticed
            self._run(first, limit if limit < horizon else horizon, in_turn=in_turn)

    def _first(self) -> tuple[Queue, float, float]:
        """Return in which context others can notice something first, when, and when in another one.

        Of several in one cycle it is the one in which something else comes before, otherwise the
        one whose next warp began first to issue or to sleep.
        """
        first, since, noticed, limit = NOBODY, 0, math.inf, math.inf
        for queue in self._queues.values():
            if not queue.holds:
                self._look(queue)
            if (seen := queue.noticed) is None:
                seen = queue.noticed = self._noticed(queue)
            if seen > noticed:
                limit = seen if seen < limit else limit
                continue
            began = queue.since if queue.cycle >= seen else -1
            limit = noticed
            if seen < noticed or began < since:
                first, since, noticed = queue, began, seen
        return first, noticed, limit

    def _noticed(self, queue: Queue) -> float:
        """Return when others could notice a warp of a context, at the earliest."""
        noticed, cycle = math.inf, queue.cycle
        if self._in_order:
            return cycle
        for warp in queue.warps:
            earliest = warp.wanted if warp.wanted > cycle else cycle
            seen = earliest if warp.pipe is None else float(math.floor(earliest + warp.unnoticed))
            if seen < noticed:
                noticed = seen
        return noticed

    def _look(self, queue: Queue) -> None:
        """Note which warp of a context goes on next."""
        best, cycle, second, keep = None, math.inf, math.inf, True
        free = queue.context.free
        for warp in queue.warps:
            earliest, pipe = warp.wanted, warp.pipe
            if pipe is not None:
                if pipe.opens > earliest:
                    earliest = pipe.opens
                if free > earliest:
                    earliest = free
            elif warp.queue is not None:
                earliest, keep = max(earliest, warp.queue.room), False
            if earliest < cycle:
                best, cycle, second = warp, earliest, cycle
            elif earliest == cycle:
                second = cycle
                best = warp if best is None or self._prefers(warp, best) else best
            elif earliest < second:
                second = earliest
        queue.warp, queue.cycle, queue.second, queue.holds = best, cycle, second, keep
        queue.noticed, queue.since = (math.inf, 0) if best is None else (None, best.since)

    def _run(self, queue: Queue, limit: float, *, in_turn: bool = False) -> None:
        """Let the warps of a context go on before a cycle, until others notice something.

        `in_turn`: whether it is the turn of the next one even in that cycle.
        """
        while True:
            if not queue.holds:
                self._look(queue)
            warp, cycle = queue.warp, queue.cycle
            if warp is None or (cycle >= limit and not in_turn):
                return
            in_turn = False
            if warp.left == 0:
                self._resume(queue, warp, cycle)
                return
            queue.holds = False
            stretch = warp.stretches[warp.position]
            pipe = stretch.pipe
            if pipe is None:
                self._command(warp, stretch, cycle)
            elif pipe.shared:
                self._shared(warp, stretch, pipe, cycle)
            else:
                self._instructions(queue, warp, stretch, pipe, limit)
            if warp.left == 0:
                if not warp.next_stretch():
                    self._resume(queue, warp, warp.paces[stretch.part].last)
                    return
                self._prepare(warp)
            if pipe is None or pipe.shared:
                return

    def _resume(self, queue: Queue, warp: Warp, cycle: float) -> None:
        """Resume a warp that has issued its stream, or slept until now."""
        if cycle > self._clock.now:
            self._clock.now = cycle
        queue.warps.remove(warp)
        queue.holds = False
        warp.resume()

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
        warp.wanted = max(float(math.floor(pace.ready)), cycle)
        self.events += 1
        if cycle > self._clock.now:
            self._clock.now = cycle
        if self._clock.tell is not None:
            warp.issued(stretch, cycle, pace.ready)
        warp.command(stretch.part, index)

    def _instructions(
        self, queue: Queue, warp: Warp, stretch: Stretch, pipe: Unit, limit: float
    ) -> None:
        """Issue instructions to a pipe, up to the next warp's turn and before a cycle."""
        cycle, second = queue.cycle, queue.second
        if cycle > warp.wanted:
            self._lost(warp, stretch, warp.wanted, min(cycle, max(warp.wanted, pipe.opens)), cycle)
        interval, share, left = stretch.interval, stretch.share, warp.left
        number, last = 1, cycle
        context = warp.context
        if context.shared:
            lasts = context.interval(cycle, pipe.name, warp.stands_for, interval)
            interval, share = lasts, share * lasts / interval
        elif left > 1 and stretch.whole and warp.paces[stretch.part].ready <= cycle:
            room = ((second if second < limit else limit) - cycle) / interval
            if room > 1:
                number = left if left <= room else math.ceil(room)
                last = cycle + (number - 1) * interval
        busy = (pipe.free if pipe.free > cycle else cycle) + number * share
        warp.unnoticed -= number * interval
        # Not by `fill`: of all lines this is executed most often.
        pipe.free = busy if busy > last + share else last + share
        pipe.opens = float(math.floor(pipe.free))
        self._issued(warp, stretch, cycle, last, number, interval)

    def _shared(self, warp: Warp, stretch: Stretch, pipe: Unit, cycle: float) -> None:
        """Queue for a pipe that all contexts share, or issue to it when it is the warp's turn."""
        self._clock.now = max(self._clock.now, cycle)
        if warp.turn is None:
            warp.asked = cycle
            warp.turn = warp.wanted = max(cycle, pipe.opens)
            warp.lasts = self._takes(warp, stretch, pipe)
            if warp.turn > cycle:
                return
        if cycle > warp.asked:
            self._lost(warp, stretch, warp.asked, warp.turn, cycle)
        warp.turn = None
        self._issued(warp, stretch, cycle, cycle, 1, warp.lasts)

    def _takes(self, warp: Warp, stretch: Stretch, pipe: Unit) -> float:
        """Let an instruction take its part of a pipe; return the cycles until the next one."""
        begin, port = warp.turn, warp.context.port
        assert begin is not None
        share = stretch.share * warp.stands_for
        if port is None or pipe.name != port.name or port.left(begin) == 1.0:
            pipe.accept(begin, 0.0, share)
            return stretch.interval
        end = port.move(begin, stretch.interval, share / stretch.interval)
        return max(stretch.interval, end - begin)

    def _issued(
        self,
        warp: Warp,
        stretch: Stretch,
        first: float,
        last: float,
        number: int,
        interval: float,
    ) -> None:
        """Count instructions, the first and the last of which were issued at these cycles.

        `interval`: cycles that each of them takes of the pipe, as far as that decides.
        """
        pace, context = warp.paces[stretch.part], warp.context
        pace.last = last
        begin = pace.ready if pace.ready > first else first
        pace.ready = begin + number * interval
        context.free = warp.next = last + context.slots
        context.issued += number
        context.last = warp.age
        self.events += number
        warp.left -= number
        ready = float(math.floor(pace.ready))
        warp.wanted = ready if ready > warp.next else warp.next
        if self._clock.tell is not None:
            warp.issued(stretch, first, pace.ready)

    def _lost(self, warp: Warp, stretch: Stretch, wanted: float, free: float, cycle: float) -> None:
        """Count cycles until the pipe was free, then those until the issue slot was."""
        if free > wanted:
            warp.lost("pipe", stretch, wanted, free)
        if cycle > free:
            warp.lost("issue slot", stretch, free, cycle)


def _oldest(warp: Warp, best: Warp) -> bool:
    """Whether a context that takes the oldest warp, or the last one again, takes `warp`."""
    last = warp.context.last
    return best.age != last and (warp.age == last or warp.age < best.age)


def _round_robin(warp: Warp, best: Warp) -> bool:
    """Whether a context that takes warps in turn takes `warp`."""
    after = warp.context.last + 1
    return (warp.age - after) % MOST_WARPS < (best.age - after) % MOST_WARPS
