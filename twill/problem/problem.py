"""Loop x Machine -> Problem: the integers that solvers and the verifier see.

The model, rule by rule, is in ``docs/model.md``. A problem is in units of one time scale: clock
cycles, or the normalized units of the paper's section 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from twill.artifacts.loop import HALVES, THREADS_PER_WARP, Dependence, Loop, Operation
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Rules, TimeScale
from twill.errors import InputError, short
from twill.problem.costs import Reservation, StaticCost, static_costs


@dataclass(frozen=True)
class ProblemOperation:
    """An operation as integers.

    Attributes
    ----------
    cycles : int
        Occupancy, the length of its reservation table.
    issue : int
        Time for which its group is busy issuing it.
    blocked_span : int
        Time from its start during which it keeps a blocking operation of its group from starting:
        `issue` under the ``issue`` rules, `cycles` under the paper's.
    registers : int
        Registers per thread of its result, 0 if it is not in registers.
    working_set : int
        Registers per thread needed while it runs, beside operands and result.
    memory, footprint : str or None, int
        ``smem`` or ``tmem`` and what its result takes there: bytes, or columns of 64 lanes.
    lanes : int
        Lanes of a TMEM column that its result takes, 64 or 128; 0 if it is not there.
    transfer : int
        Further time before a consumer on another group may issue.
    streaming : bool
        Variable latency, a result in addressed memory (a ring of slots) and nothing to wait for
        inside the loop.
    """

    name: str
    index: int
    warps: int
    reservations: tuple[Reservation, ...]
    cycles: int
    issue: int
    blocked_span: int
    latency: int
    registers: int
    working_set: int
    memory: str | None
    footprint: int
    lanes: int
    transfer: int
    transfer_bytes: int
    asynchronous: bool
    variable_latency: bool
    streaming: bool
    nominal_latency: int
    in_order_unit: str | None

    @property
    def received_ahead(self) -> int:
        """Time that a reader on another group takes to read the staging, ahead of its issue."""
        return self.transfer - self.transfer // 2


@dataclass(frozen=True)
class Edge:
    """A dependence as integers.

    Attributes
    ----------
    delay : int
        Least time from issue to issue on one group.
    cross_delay : int
        The same when the ends are on different groups: hop and transfer included.
    blocking : bool
        Whether the consumer waits even on the producer's own group.
    carries : bool
        Whether the consumer reads the producer's value, so that the value lives until then.
    hold : int
        Time after the consumer's issue for which the value still counts as live.
    reads : int
        Time after the consumer's issue until it has read the value; longer than `hold` where the
        consumer takes over the registers that it reads.
    copy_hold, copy_reads : int
        The same for the copy that a consumer on another group makes.
    transferable : bool
        Whether crossing groups moves a register value through SMEM.
    """

    producer: int
    consumer: int
    distance: int
    delay: int
    cross_delay: int
    blocking: bool
    carries: bool
    hold: int
    reads: int
    copy_hold: int
    copy_reads: int
    transferable: bool
    streaming: bool


@dataclass(frozen=True)
class RegisterFile:
    """Limits on registers per thread (see `twill.artifacts.machine.Registers`)."""

    file: int
    limit: int
    step: int
    least: int
    most: int
    warps: int
    reserve: int
    launch: int | None = None

    def pool(self, blocks: int) -> int:
        """Return the registers per thread that all blocks have together.

        Parameters
        ----------
        blocks : int
            Blocks of `warps` warps that a program is launched with.
        """
        whole = self.file // (THREADS_PER_WARP * self.warps)
        if self.launch is None or not blocks:
            return whole
        return blocks * min(self.most, whole // blocks // self.launch * self.launch)


@dataclass(frozen=True)
class PinnedRegisters:
    """Registers per thread that an invariant occupies on every group with one of its users."""

    name: str
    registers: int
    used_by: tuple[int, ...]


@dataclass(frozen=True)
class Wishes:
    """What a user has decided about a schedule beforehand.

    Attributes
    ----------
    limits : tuple of (str, int)
        Most ``registers`` per thread of a group, warp ``groups``, ``transfers`` and ``stages``.
    pins : tuple of (int, str)
        Operations with the names of their groups: one name is one group.
    orders : tuple of (int, int)
        Pairs of operations; the second issues no earlier in its iteration than the first.
    shape : tuple of (int, int, int)
        For each operation a group, a stage and a rank: nothing but the times is left to choose.
        Operations of one rank start together in their rows or in any order.
    """

    limits: tuple[tuple[str, int], ...] = ()
    pins: tuple[tuple[int, str], ...] = ()
    orders: tuple[tuple[int, int], ...] = ()
    shape: tuple[tuple[int, int, int], ...] = ()

    def limit(self, name: str) -> int | None:
        """Return a limit, None if there is none.

        Parameters
        ----------
        name : str
            ``registers``, ``groups``, ``transfers`` or ``stages``.
        """
        return dict(self.limits).get(name)


@dataclass(frozen=True)
class Problem:
    """Everything that makes a schedule of one loop on one machine valid or not.

    Attributes
    ----------
    memories, fixed : dict
        Capacity of each addressed memory, and what invariants take of it: bytes of SMEM, columns
        of 64 lanes of TMEM.
    """

    loop: Loop
    machine: Machine
    rules: Rules
    scale: TimeScale
    operations: tuple[ProblemOperation, ...]
    edges: tuple[Edge, ...]
    capacities: dict[str, int]
    memories: dict[str, int]
    fixed: dict[str, int]
    pinned: tuple[PinnedRegisters, ...]
    registers: RegisterFile | None
    hop: int
    wishes: Wishes = Wishes()

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each operation by name."""
        return {operation.name: operation.index for operation in self.operations}

    @cached_property
    def variable(self) -> tuple[bool, ...]:
        """Whether each operation is of variable latency."""
        return tuple(operation.variable_latency for operation in self.operations)

    @cached_property
    def consumers(self) -> tuple[tuple[Edge, ...], ...]:
        """For each operation, the edges that read its value."""
        return tuple(
            tuple(e for e in self.edges if e.carries and e.producer == v)
            for v in range(len(self.operations))
        )

    @cached_property
    def forced_cross(self) -> tuple[bool, ...]:
        """For each edge, whether its ends can never be on one group."""
        return tuple(self.variable[e.producer] != self.variable[e.consumer] for e in self.edges)

    def turn(self, u: int, v: int) -> int:
        """Return how long after u its successor v on another group can follow on their unit.

        0 if they do not share an in-order unit. Groups take turns on such a unit: v's group is
        told when u has been issued (docs/model.md, turns).

        Parameters
        ----------
        u, v : int
            Operations.
        """
        first, second = self.operations[u], self.operations[v]
        shared = first.in_order_unit is not None and first.in_order_unit == second.in_order_unit
        return first.issue + self.hop if shared and self.rules == "issue" else 0

    @property
    def in_turn(self) -> dict[int, str]:
        """Operations that are issued one after another, with the in-order unit they are issued to.

        They always wait for something. On one group nothing else is being issued then, and groups
        take turns on the unit: no two are being issued at the same time, modulo I.
        """
        if self.rules != "issue":
            return {}
        waiting = {edge.consumer for edge in self.edges if edge.blocking}
        units = {v: self.operations[v].in_order_unit for v in sorted(waiting)}
        return {v: unit for v, unit in units.items() if unit is not None}

    def separated(self, u: int, v: int) -> bool:
        """Return whether the capacity of their unit alone makes two operations take turns.

        Parameters
        ----------
        u, v : int
            Operations.
        """
        first, second = self.operations[u], self.operations[v]
        if self.turn(u, v) == self.turn(v, u) == 0:
            return True
        unit = first.in_order_unit or ""
        ours, theirs = (
            [(r.length, r.count) for r in o.reservations if r.unit == unit and r.start == 0]
            for o in (first, second)
        )
        return any(
            mine >= self.turn(u, v) and yours >= self.turn(v, u) and m + n > self.capacities[unit]
            for mine, m in ours
            for yours, n in theirs
        )

    def least_delay(self, position: int) -> int:
        """Return the delay of edge `position` that holds on whatever groups its ends are.

        Parameters
        ----------
        position : int
            Index into `edges`.
        """
        edge = self.edges[position]
        return edge.cross_delay if self.forced_cross[position] else edge.delay

    def amount(self, memory: str, taken: int) -> str:
        """Say an amount of memory in the unit of the machine file.

        Parameters
        ----------
        memory : str
            ``smem`` or ``tmem``.
        taken : int
            Bytes, or columns of 64 lanes.
        """
        return f"{taken / HALVES:g} columns" if memory == "tmem" else f"{taken} bytes"

    @property
    def starts_at_issue(self) -> bool:
        """Whether every reservation starts at its operation's issue."""
        return all(r.start == 0 for operation in self.operations for r in operation.reservations)


def build_problem(
    loop: Loop, machine: Machine, *, rules: Rules = "issue", scale: TimeScale | None = None
) -> Problem:
    """Turn a loop and a machine into integers.

    Parameters
    ----------
    loop : Loop
        What to schedule.
    machine : Machine
        Where.
    rules : str
        Reading of the concurrency and release rules, ``issue`` or ``paper``.
    scale : TimeScale, optional
        Normalized costs; exact cycles without it.

    Raises
    ------
    InputError
        If an operation cannot be costed, or is wider than any warp group of the machine.
    """
    scale = scale or TimeScale()
    costs = static_costs(loop, machine)
    convert = _Converter(scale)
    operations = tuple(
        _operation(index, operation, costs[operation.name], loop, rules, convert)
        for index, operation in enumerate(loop.operations)
    )
    operations = _with_takeovers(loop, operations)
    sync = machine.synchronisation
    problem = Problem(
        loop=loop,
        machine=machine,
        rules=rules,
        scale=scale,
        operations=operations,
        edges=tuple(_edges(loop, operations, rules, convert, convert(sync.hop.value))),
        capacities={name: unit.capacity for name, unit in machine.units.items()},
        memories={
            name: memory.capacity * (HALVES if name == "tmem" else 1)
            for name, memory in machine.memories.items()
        },
        fixed=_fixed(loop),
        pinned=_pinned(loop),
        registers=_register_file(machine),
        hop=convert(sync.hop.value),
    )
    check(problem)
    return problem


def check(problem: Problem) -> None:
    """Refuse a problem that no machine could be meant for.

    Parameters
    ----------
    problem : Problem
        The problem.

    Raises
    ------
    InputError
        Names the operation, what it needs and what there is.
    """
    widest = max(pool.warps for pool in problem.machine.groups)
    for position, operation in enumerate(problem.operations):
        if operation.warps > widest:
            raise InputError(
                f"operation {short(operation.name)} needs {operation.warps} warps, the widest warp "
                f"group of {problem.machine.name} has {widest}",
                path=f"operations[{position}].warps",
                file=problem.loop.file or problem.loop.name,
            )
        if operation.memory is not None and operation.memory not in problem.memories:
            raise InputError(
                f"{problem.machine.name} has no {operation.memory} for the result of "
                f"{short(operation.name)}",
                path=f"operations[{position}].result.memory",
                file=problem.loop.file or problem.loop.name,
            )


class _Converter:
    """Cycles to the problem's time units."""

    def __init__(self, scale: TimeScale) -> None:
        self._exact = scale.mode != "normalized"
        self._table: Mapping[int, int] = dict(scale.costs)

    def __call__(self, cycles: int) -> int:
        if self._exact or cycles == 0:
            return cycles
        if cycles not in self._table:
            raise InputError(f"no normalized cost for {cycles} cycles", path="time.costs")
        return self._table[cycles]


def _operation(
    index: int,
    operation: Operation,
    cost: StaticCost,
    loop: Loop,
    rules: Rules,
    convert: _Converter,
) -> ProblemOperation:
    result = operation.result
    memory = result.memory if result and result.memory in ("smem", "tmem") else None
    waits = any(d.consumer == operation.name for d in loop.dependences)
    streaming = cost.variable_latency and memory is not None and not waits
    reservations = tuple(
        Reservation(r.unit, convert(r.start), convert(r.length), r.count) for r in cost.reservations
    )
    cycles = max(convert(cost.occupancy), *(r.start + r.length for r in reservations))
    issue = convert(cost.issue)
    latency = convert(cost.latency)
    if cost.latency >= cost.occupancy:
        latency = max(latency, cycles)
    in_registers = result is not None and result.memory == "registers"
    return ProblemOperation(
        name=operation.name,
        index=index,
        warps=operation.warps,
        reservations=reservations,
        cycles=cycles,
        issue=issue,
        blocked_span=issue if rules == "issue" else cycles,
        latency=0 if streaming else latency,
        registers=result.registers(operation.warps) if result and in_registers else 0,
        working_set=cost.working_set,
        memory=memory,
        footprint=result.footprint if result else 0,
        lanes=result.lanes if result and memory == "tmem" else 0,
        transfer=convert(cost.transfer),
        transfer_bytes=result.bytes if result else 0,
        asynchronous=cost.asynchronous,
        variable_latency=cost.variable_latency,
        streaming=streaming,
        nominal_latency=latency,
        in_order_unit=cost.in_order_unit,
    )


def _with_takeovers(
    loop: Loop, operations: tuple[ProblemOperation, ...]
) -> tuple[ProblemOperation, ...]:
    """Charge an operation that takes over a wider operand's registers for the difference."""
    by_name = {operation.name: operation for operation in operations}
    widened = []
    for operation in operations:
        taken = taken_over(loop, by_name, operation.name)
        extra = by_name[taken.producer].registers - operation.registers if taken else 0
        widened.append(
            operation
            if extra <= 0
            else replace(operation, working_set=operation.working_set + extra)
        )
    return tuple(widened)


def taken_over(
    loop: Loop, operations: Mapping[str, ProblemOperation], name: str
) -> Dependence | None:
    """Return the dependence whose registers the element-wise operation `name` takes over.

    It is the widest operand in registers that is at least as wide as the result; the first such.

    Parameters
    ----------
    loop : Loop
        The loop.
    operations : mapping
        Its operations as integers, by name.
    name : str
        The consumer.
    """
    consumer = operations[name]
    if not loop.operation(name).elementwise or consumer.registers == 0:
        return None
    candidates = [
        d
        for d in loop.dependences
        if d.consumer == name
        and d.kind == "data"
        and not d.in_place
        and operations[d.producer].registers >= consumer.registers
    ]
    return max(candidates, key=lambda d: operations[d.producer].registers, default=None)


def _edges(
    loop: Loop,
    operations: tuple[ProblemOperation, ...],
    rules: Rules,
    convert: _Converter,
    hop: int,
) -> list[Edge]:
    by_name = {operation.name: operation for operation in operations}
    edges = []
    for dependence in loop.dependences:
        u, v = by_name[dependence.producer], by_name[dependence.consumer]
        chained = (
            dependence.in_place
            and u.in_order_unit is not None
            and u.in_order_unit == v.in_order_unit
        )
        delay = (
            convert(dependence.delay)
            if dependence.delay is not None
            else _delay(dependence, u, v, chained=chained)
        )
        blocking = u.asynchronous and not chained
        if dependence.kind == "anti" and u.in_order_unit == v.in_order_unit is not None:
            blocking = False
        if dependence.blocking is not None:
            blocking = dependence.blocking
        carries = dependence.kind == "data"
        transferable = carries and u.registers > 0
        signals_itself = u.asynchronous and u.memory is not None
        if chained and transferable and dependence.delay is None:
            cross = u.latency + hop
        else:
            cross = delay + (0 if signals_itself and not chained else hop)
        freed = rules == "paper" or taken_over(loop, by_name, v.name) == dependence
        reads = _reads(dependence, u, v)
        copy_reads = v.latency if v.asynchronous else v.cycles
        edges.append(
            Edge(
                producer=u.index,
                consumer=v.index,
                distance=dependence.distance,
                delay=delay,
                cross_delay=cross + (u.transfer if transferable else 0),
                blocking=blocking,
                carries=carries,
                hold=0 if freed or dependence.in_place else reads,
                reads=reads,
                copy_hold=0 if freed or dependence.in_place else copy_reads,
                copy_reads=copy_reads,
                transferable=transferable,
                streaming=u.streaming,
            )
        )
    return edges


def _delay(
    dependence: Dependence, u: ProblemOperation, v: ProblemOperation, *, chained: bool
) -> int:
    if chained:
        return u.cycles
    if dependence.kind == "anti":
        same_unit = u.in_order_unit is not None and u.in_order_unit == v.in_order_unit
        return u.latency if u.asynchronous and not same_unit else u.cycles
    return u.latency


def _reads(dependence: Dependence, u: ProblemOperation, v: ProblemOperation) -> int:
    """Time after v's issue for which it still reads u's value (docs/model.md, release).

    A result in registers has slots of its own also where it takes over those of an operand.
    """
    if dependence.in_place and (u is v or not u.registers):
        return 0
    if not v.asynchronous:
        return v.cycles
    same_unit = u.in_order_unit is not None and u.in_order_unit == v.in_order_unit
    return v.cycles if same_unit and not u.registers else v.latency


def _fixed(loop: Loop) -> dict[str, int]:
    totals = {"smem": 0, "tmem": 0}
    for invariant in loop.invariants:
        if invariant.tile.memory in totals:
            totals[invariant.tile.memory] += invariant.tile.footprint
    return totals


def _pinned(loop: Loop) -> tuple[PinnedRegisters, ...]:
    position = {operation.name: index for index, operation in enumerate(loop.operations)}
    return tuple(
        PinnedRegisters(
            name=invariant.name,
            registers=invariant.tile.registers(
                max((loop.operation(name).warps for name in invariant.used_by), default=4)
            ),
            used_by=tuple(position[name] for name in invariant.used_by),
        )
        for invariant in loop.invariants
        if invariant.tile.memory == "registers"
    )


def _register_file(machine: Machine) -> RegisterFile | None:
    r = machine.registers
    if r is None:
        return None
    return RegisterFile(
        file=r.file.value,
        limit=r.limit.value,
        step=r.step.value,
        least=r.least.value,
        most=r.most.value,
        warps=r.warps.value,
        reserve=int(r.reserve.value),
        launch=r.launch.value if r.launch else None,
    )
