"""A scheduler of an SM executes a kernel: the issuing warp of each cycle, and all stalls."""

from __future__ import annotations

import math
from dataclasses import dataclass

from twill.base.errors import InputError
from twill.sim.machine_code.barriers import MBarriers, NamedBarriers
from twill.sim.machine_code.clock import Clock
from twill.sim.machine_code.costs import Costs
from twill.sim.machine_code.execution import Execution
from twill.sim.machine_code.groups import (
    COPIES,
    CORE,
    MEETING,
    OTHER,
    PIPE,
    PRODUCTS,
    QUEUE,
    SLOT,
    STALL,
    Group,
    Waits,
)
from twill.sim.machine_code.launch import Launch
from twill.sim.machine_code.port import Port
from twill.sim.machine_code.steps import Step
from twill.sim.machine_code.tensor_core import TensorCore
from twill.sim.machine_code.transfers import Transfers

MOST_CYCLES = 2_000_000
_NEVER = math.inf
_MEMORY = ("shared_load", "shared_store", "shuffle", "mbarrier", "global", "local")


@dataclass(frozen=True)
class Executed:
    """An execution of a kernel by one block.

    Attributes
    ----------
    cycles : float
        From the start of the block to its end.
    instructions : int
        Instructions that the simulated scheduler issued.
    products, delayed : float
        Cycles of products of the tensor core, and those that warps added to them.
    waits : dict
        Cycles that groups waited, by what for.
    groups : tuple of (int, int)
        First warp and threads of each group.
    """

    cycles: float
    instructions: int
    products: float
    delayed: float
    waits: Waits
    groups: tuple[tuple[int, int], ...]


class Scheduler:
    """A scheduler, of four that do the same, with the parts of the SM that all four share."""

    def __init__(self, steps: tuple[Step, ...], launch: Launch, costs: Costs) -> None:
        self.steps, self.costs = steps, costs
        self.clock = Clock()
        self.core = TensorCore(self.clock, costs)
        self.port = Port(self.clock, costs, self.core)
        self.transfers = Transfers(self.clock, costs, launch.latency)
        self.mbarriers = MBarriers(self.clock, costs.mbarrier_wake)
        self.named = NamedBarriers(self.clock, launch.threads)
        self.groups = launch.groups()
        self.free: dict[str, float] = {}
        self.memory_queue: list[float] = []
        self.waits: Waits = {}
        self.instructions = 0
        # Filled where a recording is wanted: see `twill.sim.machine_code.trace.Recording`.
        self.issued: list[tuple[int, int, float, float]] | None = None
        self.waited: list[tuple[int, int, str, int, float, float]] | None = None
        self._last: Group | None = None
        self.execution = Execution(self, launch)

    def run(self) -> Executed:
        """Execute until the first group has ended.

        Raises
        ------
        InputError
            If no group can ever go on, or the execution does not end.
        """
        main = self.groups[0]
        clock = self.clock
        while not main.gone:
            clock.run()
            group, following = self._chosen()
            if group is not None:
                self._issue(group)
                clock.now += 1
                if clock.now > MOST_CYCLES:
                    raise InputError(f"no end within {MOST_CYCLES} cycles: {self._stuck()}")
                continue
            following = min(following, clock.next)
            if following == _NEVER:
                raise InputError(f"the kernel does not end: {self._stuck()}")
            clock.now = max(clock.now + 1, math.ceil(following - 1e-9))
        return Executed(
            cycles=clock.now,
            instructions=self.instructions,
            products=self.core.busy,
            delayed=self.core.delayed,
            waits=self.waits,
            groups=tuple((group.first, group.threads) for group in self.groups),
        )

    def _stuck(self) -> str:
        return "; ".join(
            f"warp {group.first} waits for {group.reason} at"
            f" {self.steps[group.position].address:#x} {self.steps[group.position].operation}"
            for group in self.groups
            if not group.gone
        )

    def _chosen(self) -> tuple[Group | None, float]:
        """Return the group that issues now, or when one can.

        A group goes on as long as it issues every cycle; then the one whose turn is longest ago.
        """
        now, soonest, last = self.clock.now, _NEVER, self._last
        if last is not None and not last.gone:
            soonest = self._ready(last)
            if soonest <= now <= last.issued + 1:
                return last, now
        chosen: Group | None = None
        for group in self.groups:
            if group.gone or (chosen is not None and chosen.issued <= group.issued):
                continue
            ready = self._ready(group)
            if ready <= now:
                chosen = group
            soonest = min(soonest, ready)
        return chosen, soonest

    def _ready(self, group: Group) -> float:
        """Return when a group can issue, as far as that is known, and note what it waits for."""
        now = self.clock.now
        if group.blocked:
            return _NEVER
        if group.ready > now:
            return group.ready
        step = self.steps[group.position]
        if group.meets and not step.goes_on:
            group.reason, group.cause = MEETING, group.position
            return _NEVER
        for board in step.waits:
            if group.pending[board]:
                group.reason, group.cause = "", group.setter[board]
                return _NEVER
        free, reason = self._free(group, step)
        now = self.clock.now
        if free > now:
            group.reason, group.cause = reason, -1
        return max(free, now)

    def _free(self, group: Group, step: Step) -> tuple[float, str]:
        """Return when what executes an instruction is free, and its name."""
        now, pipe = self.clock.now, step.pipe
        free = self.free.get(pipe, 0.0)
        if free > now or pipe == "uniform":
            return free, PIPE
        if pipe in ("alu", "mufu") and step.slots:
            return self.core.slots.free_at(), SLOT
        if pipe in _MEMORY:
            self.memory_queue = [begin for begin in self.memory_queue if begin > now]
            full = len(self.memory_queue) >= self.costs.all_queue
            return (min(self.memory_queue), QUEUE) if full else (now, QUEUE)
        if pipe == "product":
            return self.core.room_at(), CORE
        if pipe == "bulk_wait":
            return self._copies_read(group, step.left), COPIES
        return self.transfers.issue_at if pipe == "bulk" else free, PIPE

    def _copies_read(self, group: Group, left: int) -> float:
        ends = sorted(group.bulk)
        return ends[-1 - left] if len(ends) > left else 0.0

    def _wait(self, group: Group, reason: str, cause: int, cycles: float) -> None:
        key = group.first, group.position, reason, cause
        self.waits[key] = self.waits.get(key, 0.0) + cycles
        if self.waited is not None and reason != STALL:
            self.waited.append((*key, self.clock.now, cycles))

    def _issue(self, group: Group) -> None:
        now = self.clock.now
        step = self.steps[group.position]
        if now > group.ready:
            self._wait(group, group.reason, group.cause, now - group.ready)
        group.reason, group.cause = OTHER, -1
        self.instructions += 1
        if self.issued is not None:
            self.issued.append((group.first, group.position, now, float(max(1, step.stall))))
        self._last = group
        group.issued = now
        group.ready = now + step.stall
        if step.stall > 1:
            self._wait(group, STALL, -1, step.stall - 1)
        if group.position == group.meeting or step.operation == "BSYNC":
            group.meeting = -1
            group.lanes = 32
        self.execution.execute(group, step)
        group.position += 1
        if group.blocked:
            group.reason, group.cause = PRODUCTS, group.position - 1
