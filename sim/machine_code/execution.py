"""Execution of an instruction: its effect on registers, and the parts of the SM in use."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from twill.sim.machine_code.barriers import MBarriers, NamedBarriers
from twill.sim.machine_code.clock import Clock
from twill.sim.machine_code.costs import Costs
from twill.sim.machine_code.groups import BEGINS, BLOCK, Group
from twill.sim.machine_code.launch import Launch
from twill.sim.machine_code.listing import BYTES
from twill.sim.machine_code.memory import Wavefronts
from twill.sim.machine_code.port import Port
from twill.sim.machine_code.registers import (
    LANES,
    first,
    lane,
    predicate_writer,
    reader,
    spread,
)
from twill.sim.machine_code.steps import Step
from twill.sim.machine_code.tensor_core import TensorCore
from twill.sim.machine_code.tensor_memory import TensorMemory
from twill.sim.machine_code.transfers import Transfers

_UNIFORM = re.compile(r"\[UR(\d+)")
_BRX = re.compile(r"(U?R\d+)\s*(-?0x[0-9a-f]+)")
_WORDS = 4  # bytes
_FOUR = 4  # warps, one on each scheduler


class Sm(Protocol):
    """The parts of an SM that instructions occupy."""

    steps: tuple[Step, ...]
    costs: Costs
    clock: Clock
    core: TensorCore
    port: Port
    transfers: Transfers
    mbarriers: MBarriers
    named: NamedBarriers
    groups: list[Group]
    free: dict[str, float]
    memory_queue: list[float]


class Execution:
    """Handlers of instructions, by the pipe that executes them."""

    def __init__(self, sm: Sm, launch: Launch) -> None:
        self.sm, self.launch = sm, launch
        self._wavefronts = Wavefronts()
        self._spilled: dict[tuple[int, str], int] = {}  # bytes, by group and address
        self._tensor = TensorMemory(sm.clock, sm.costs, sm.mbarriers, self._answer)
        self._by_pipe: dict[str, Callable[[Group, Step, int], None]] = {
            "fma": self._fma,
            "alu": self._alu,
            "mufu": self._mufu,
            "shuffle": self._shuffle,
            "shared_load": self._shared_load,
            "shared_store": self._shared_store,
            "mbarrier": self._mbarrier,
            "barrier": self._barrier,
            "product": self._product,
            "product_wait": self._product_wait,
            "bulk": self._bulk,
            "global": self._global,
            "local": self._local,
            "fence": self._fence,
            "commit": self._tensor.commit,
            "tensor_load": self._tensor.move,
            "tensor_store": self._tensor.move,
            "stop": _stop,
            "registers": _registers,
            "branch": lambda group, step, _: _branch(sm, group, step),
        }

    def execute(self, group: Group, step: Step) -> None:
        """Let a group execute an instruction in the lanes that its guard allows."""
        lanes = group.guard(step)
        if lanes == ():
            return
        count = group.lanes if lanes is None else sum(lanes)
        warp = group.warp
        warp.special["CLOCK"] = int(self.sm.clock.now)
        if step.effect is not None:
            warp.lanes = lanes
            step.effect(warp)
            warp.lanes = None
        handler = self._by_pipe.get(step.pipe)
        if handler is not None:
            handler(group, step, count)
        else:
            self._answer(group, step, self.sm.costs.all_answer)

    def _answer(self, group: Group, step: Step, written: float, read: float | None = None) -> None:
        """Release the scoreboards of an instruction some cycles from now."""
        clock = self.sm.clock
        if release := group.hold(step.written):
            clock.at(clock.now + written, release)
        if release := group.hold(step.read):
            later = self.sm.costs.all_read if read is None else read
            clock.at(clock.now + later, release)

    # Arithmetic.

    def _fma(self, group: Group, step: Step, _count: int) -> None:
        sm = self.sm
        _occupy(sm, "fma", max(step.apart, sm.core.slots.take_first(step.slots)))
        self._answer(group, step, sm.costs.all_answer)

    def _alu(self, group: Group, step: Step, _count: int) -> None:
        sm = self.sm
        sm.free["alu"] = sm.clock.now + sm.costs.alu_interval
        sm.core.slots.take(step.slots)
        self._answer(group, step, sm.costs.all_answer)

    def _mufu(self, group: Group, step: Step, _count: int) -> None:
        sm, costs = self.sm, self.sm.costs
        beside = sm.core.running is not None
        _occupy(sm, "mufu", costs.mufu_beside if beside else costs.mufu_interval)
        sm.core.slots.take(step.slots)
        self._answer(group, step, costs.mufu_latency, costs.mufu_read)

    # Shared memory.

    def _access(self, group: Group, each: int, *, stores: bool = True) -> tuple[float, float]:
        begin, lasts = self.sm.port.access(each * min(_FOUR, group.warps), stores=stores)
        self.sm.memory_queue.append(begin)
        return begin - self.sm.clock.now, lasts

    def _shuffle(self, group: Group, step: Step, _count: int) -> None:
        costs = self.sm.costs
        begin, lasts = self._access(group, 1)
        later = costs.shuffle_latency + max(0.0, lasts - _FOUR) / 2 - costs.all_port
        self._answer(group, step, begin + later, begin + costs.shuffle_read)

    def _shared_load(self, group: Group, step: Step, _count: int) -> None:
        costs = self.sm.costs
        each = _wavefronts(self._wavefronts, group, step)
        begin, _ = self._access(group, each, stores=False)
        later = costs.shared_load_latency + each + self.sm.port.more_latency() - costs.all_port
        self._answer(group, step, begin + later, begin + costs.shared_load_read)

    def _shared_store(self, group: Group, step: Step, _count: int) -> None:
        costs = self.sm.costs
        each = _wavefronts(self._wavefronts, group, step)
        begin, lasts = self._access(group, each, stores=not step.operation.startswith("STSM"))
        group.stored = self.sm.clock.now + begin + lasts
        written, read = costs.shared_store_written, costs.shared_store_read
        self._answer(group, step, begin + lasts + written, begin + lasts / 2 + read)

    def _fence(self, group: Group, step: Step, _count: int) -> None:
        sm = self.sm
        proxy = step.operation.startswith("FENCE")
        stored = group.tensor_stored if step.operation.endswith(".T") else group.stored
        begin = max(sm.clock.now, stored, sm.free.get("fences", 0.0))
        end = begin + (sm.costs.fence_proxy if proxy else sm.costs.fence_memory)
        sm.free["fences"] = end
        self._answer(group, step, end - sm.clock.now, end - sm.clock.now)
        if step.written == step.read:  # neither is set
            group.ready = max(group.ready, end)

    # Barriers.

    def _barrier(self, group: Group, step: Step, _count: int) -> None:
        sm, parts = self.sm, step.instruction.operands
        needed = int(parts[1], 0) if len(parts) > 1 else None
        costs = sm.costs
        until = sm.clock.now + costs.barrier_latency + min(step.stall, costs.barrier_stall)
        go: Callable[[], None] | None = None
        if ".ARV" not in step.operation:
            group.meets = True

            def leave() -> None:
                group.meets = False

            go = leave
        sm.named.arrive(parts[0], group.threads, needed, until, go)
        if needed is None and parts[0] == BLOCK:
            _joined(sm, self.launch, group)
        self._answer(group, step, costs.barrier_latency, costs.barrier_latency)

    def _mbarrier(self, group: Group, step: Step, count: int) -> None:
        sm, parts = self.sm, step.instruction.operands
        if step.place is None:
            raise step.unknown
        address = first(step.place(group.warp))
        if "EXCH" in step.operation:
            sm.mbarriers.initialize(address, first(reader(parts[2])(group.warp)))
            self._answer(group, step, sm.costs.mbarrier_answer, sm.costs.mbarrier_read)
        elif "PHASECHK" in step.operation:
            self._attempt(group, step, address)
        else:
            self._arrive(group, step, address, group.threads_of(count))

    def _attempt(self, group: Group, step: Step, address: int) -> None:
        """Ask for a phase; the answer comes when it is complete, and is yes."""
        sm, parts = self.sm, step.instruction.operands
        parity = first(reader(parts[2])(group.warp)) >> 31 & 1
        number = int(parts[0][1:])
        release = group.hold(step.written)
        costs = sm.costs
        later = costs.mbarrier_attempt - costs.mbarrier_asked

        def answer() -> None:
            group.warp.predicates[number] = 1
            if release is not None:
                release()

        sm.clock.at(
            sm.clock.now + costs.mbarrier_asked,
            lambda: sm.mbarriers.wait(address, parity, answer, later),
        )
        if board := group.hold(step.read):
            sm.clock.at(sm.clock.now + costs.mbarrier_read, board)

    def _arrive(self, group: Group, step: Step, address: int, threads: int) -> None:
        sm, parts = self.sm, step.instruction.operands
        begin = max(sm.clock.now, sm.free.get("arrivals", 0.0))
        sm.free["arrivals"] = begin + sm.costs.mbarrier_arrive
        effect, arriving, expected = begin + sm.costs.mbarrier_effect, threads, 0
        if step.operation.startswith("ARRIVES"):  # when the asynchronous copies are done
            effect, arriving, expected = max(effect, group.copied), 0, -threads
        elif "A0T1" in step.operation:  # expect one for each thread
            arriving, expected = 0, threads
        elif "A1T0" not in step.operation:
            told = first(reader(parts[-1])(group.warp))
            expected = told if told < 1 << 31 else 0
        sm.clock.at(effect, lambda: sm.mbarriers.arrive(address, arriving, expected))
        later = begin - sm.clock.now
        answered, read = later + sm.costs.mbarrier_answer, later + sm.costs.mbarrier_read
        self._answer(group, step, answered, read)

    # Products.

    def _product(self, group: Group, step: Step, _count: int) -> None:
        sm, product = self.sm, step.product or self._tensor.product(group, step)
        now = sm.clock.now
        sm.free["product"] = now + product.issue
        if product.commits:
            group.committed += 1
        done = group.finish_products if product.commits else None
        sm.core.issue(product, now + sm.costs.product_start, done)
        answer = sm.costs.product_answer
        self._answer(group, step, answer, answer)

    def _product_wait(self, group: Group, step: Step, _count: int) -> None:
        if "ARRIVE" in step.operation:
            group.ready = self.sm.clock.now + max(step.stall, self.sm.costs.product_fence)
        elif group.committed - group.complete > step.left:
            group.blocked, group.left = True, step.left

    # Memory beyond the SM.

    def _bulk(self, group: Group, step: Step, _count: int) -> None:
        sm, warp = self.sm, group.warp
        if "CMDFLUSH" in step.operation:
            group.bulk = [end for end in group.bulk if end > sm.clock.now] + [group.bulk_end]
            self._answer(group, step, sm.costs.bulk_flush)
            return
        places = [int(number) for number in _UNIFORM.findall(str(step.instruction))]
        descriptor = warp.uniform[places[1]] | warp.uniform[places[1] + 1] << 32
        boxes = self.launch.boxes(descriptor)
        # The warps of a group issue one box each.
        issued = min(group.warps, boxes.number)
        size, rows = boxes.bytes * issued, boxes.rows * issued
        if "LDG" in step.operation:
            barrier = warp.uniform[places[0] + 1]
            sm.clock.at(
                sm.transfers.load(size, rows), lambda: sm.mbarriers.arrive(barrier, 0, -size)
            )
        else:
            group.bulk_end = sm.transfers.store(size, rows)
            sm.port.occupy(size / 128)
        self._answer(group, step, sm.costs.bulk_answer, sm.costs.bulk_answer)

    def _global(self, group: Group, step: Step, count: int) -> None:
        sm = self.sm
        size = _WORDS * step.width * (group.threads_of(count))
        begin, done = sm.transfers.access(size)
        sm.memory_queue.append(begin)
        if step.operation.startswith("LDGSTS"):
            group.copied = max(group.copied, done)
        self._answer(group, step, done - sm.clock.now, begin - sm.clock.now + sm.costs.all_read)

    def _local(self, group: Group, step: Step, _count: int) -> None:
        sm, size = self.sm, _WORDS * step.width * group.threads
        place = step.instruction.operands[0 if step.operation.startswith("STL") else -1]
        self._spilled[group.first, place] = size
        if sm.transfers.spills_leave_cache(sum(self._spilled.values()), self.launch.shared):
            begin, done = sm.transfers.access(size)
            sm.memory_queue.append(begin)
            self._answer(group, step, done - sm.clock.now, begin - sm.clock.now + sm.costs.all_read)
            return
        later, _ = self._access(group, step.width)
        answer, read = later + sm.costs.local_latency, later + sm.costs.local_read
        self._answer(group, step, answer, read)


def _stop(_group: Group, step: Step, _count: int) -> None:
    raise step.unknown


def _occupy(sm: Sm, pipe: str, cycles: float) -> None:
    """Let a pipe be busy; parts of cycles add up while its instructions follow one another."""
    now, free = sm.clock.now, sm.free.get(pipe, 0.0)
    sm.free[pipe] = (free if now - free < 1 else now) + cycles


def _wavefronts(known: Wavefronts, group: Group, step: Step) -> int:
    if step.place is None:
        return 1
    matrix = step.operation.startswith(("STSM", "LDSM"))
    return known.of(step.place(group.warp), step.width, matrix=matrix)


def _joined(sm: Sm, launch: Launch, group: Group) -> None:
    """Let warps that begin a partition together, four from a multiple of four, become a group.

    Warps meet at a barrier of the whole block before they look for their partition, and at
    another one where it begins.
    """
    group.met += 1
    if group.met != BEGINS or group.first < launch.default_warps:
        return
    group.begun = group.position
    group.ready += launch.shift * (group.first // _FOUR)
    for other in sm.groups:
        if other.begun == group.begun and other is not group and not other.gone:
            old, new = sorted((group, other), key=lambda one: -one.first)
            if old.first // _FOUR == new.first // _FOUR:
                new.threads, old.threads, old.gone = new.threads + old.threads, 0, True


def _branch(sm: Sm, group: Group, step: Step) -> None:
    if step.operation.startswith("EXIT"):
        group.gone = True
        sm.named.leave(group.threads)
    elif step.operation.startswith("BRX"):
        _dispatch(sm, group, step)
    elif step.operation.startswith("BRA") and step.target >= 0:
        _jump(sm, group, step)


def _jump(sm: Sm, group: Group, step: Step) -> None:
    """Go the way of the first lane; the others are met where both ways join."""
    sides = spread(step.guard(group.warp)) if step.guard else (1,) * LANES
    taken = bool(lane(sides, 0))
    if any(bool(side) != taken for side in sides):
        group.lanes = sum(bool(side) == taken for side in sides)
        group.meeting = -1 if taken else step.target // BYTES
    if not taken:
        return
    if step.target == step.address:  # the end of the code
        group.gone = True
        sm.named.leave(group.threads)
    _go(sm, group, step.target)


def _go(sm: Sm, group: Group, target: int) -> None:
    group.position = target // BYTES - 1
    group.ready = max(group.ready, sm.clock.now + sm.costs.branch_taken)


def _dispatch(sm: Sm, group: Group, step: Step) -> None:
    """Branch to a partition by a table."""
    named = _BRX.match(step.instruction.operands[0])
    if named is None:
        raise step.unknown
    offset = int(named[2], 0)
    target = first(reader(named[1])(group.warp)) + step.address + BYTES + offset & 0xFFFFFFFF
    _go(sm, group, target)


def _registers(group: Group, step: Step, _count: int) -> None:
    """Give the registers that a partition asks for, at once."""
    if "TRY_ALLOC" in step.operation:
        predicate_writer(step.instruction.operands[0])(group.warp, 1)
