"""Operations and dependences as integers."""

from __future__ import annotations

from dataclasses import dataclass

from twill.problem.costs import Reservation


@dataclass(frozen=True)
class ProblemOperation:
    """An operation as integers."""

    name: str
    index: int
    warps: int
    reservations: tuple[Reservation, ...]
    # Occupancy, the length of its reservation table.
    cycles: int
    # Time for which its group is busy issuing it.
    issue: int
    # Time from its start during which it keeps a blocking operation of its group from starting.
    blocked_span: int
    latency: int
    # Per thread, of its result; 0 if it is not in registers.
    registers: int
    # Registers per thread needed while it runs, beside operands and result.
    working_set: int
    # ``smem`` or ``tmem``, and what its result takes there: bytes, or half columns.
    memory: str | None
    footprint: int
    # Whether its result takes half of the lanes of its columns of TMEM.
    halved: bool
    # Further time before a consumer on another group may issue.
    transfer: int
    transfer_bytes: int
    asynchronous: bool
    variable_latency: bool
    # Of variable latency, with a result in addressed memory (a ring of slots) and nothing to wait
    # for inside the loop.
    streaming: bool
    nominal_latency: int
    in_order_unit: str | None


@dataclass(frozen=True)
class Edge:
    """A dependence as integers."""

    producer: int
    consumer: int
    distance: int
    # Least time from issue to issue on one group.
    delay: int
    # The same when the ends are on different groups: hop and transfer included.
    cross_delay: int
    # Whether the consumer waits even on the producer's own group.
    blocking: bool
    # Whether the consumer reads the producer's value, so that the value lives until then.
    carries: bool
    # Time after the consumer's issue for which the value still counts as live.
    hold: int
    # And until it has read it: longer where the consumer takes over the registers that it reads.
    reads: int
    # The same for the copy that a consumer on another group makes.
    copy_hold: int
    copy_reads: int
    # Whether crossing groups moves a register value through SMEM.
    transferable: bool
    streaming: bool


@dataclass(frozen=True)
class RegisterFile:
    """Limits on registers per thread (see `twill.artifacts.hardware.Registers`)."""

    file: int
    limit: int
    step: int
    least: int
    most: int
    # Those that share one allocation, and their threads.
    warps: int
    threads: int
    reserve: int
    product: int | None = None
    launch: int | None = None


@dataclass(frozen=True)
class PinnedRegisters:
    """Registers per thread that an invariant occupies on every group with one of its users."""

    registers: int
    used_by: tuple[int, ...]


@dataclass(frozen=True)
class Wishes:
    """Decisions of a user about a schedule, made beforehand."""

    # Most ``registers`` per thread of a group, warp ``groups``, ``transfers`` and ``stages``.
    limits: tuple[tuple[str, int], ...] = ()
    # Operations with the names of their groups: one name is one group.
    pins: tuple[tuple[int, str], ...] = ()
    # Pairs of operations; the second issues no earlier in its iteration than the first.
    orders: tuple[tuple[int, int], ...] = ()

    def limit(self, name: str) -> int | None:
        """Return a limit, None if there is none."""
        return dict(self.limits).get(name)
