"""Operations and dependences as integers."""

from __future__ import annotations

from dataclasses import dataclass

from twill.problem.costs import Reservation


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
        ``smem`` or ``tmem`` and what its result takes there: bytes, or half columns.
    halved : bool
        Whether its result takes half of the lanes of its columns of TMEM.
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
    halved: bool
    transfer: int
    transfer_bytes: int
    asynchronous: bool
    variable_latency: bool
    streaming: bool
    nominal_latency: int
    in_order_unit: str | None


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
    """Limits on registers per thread (see `twill.artifacts.hardware.Registers`).

    `warps`, which have so many `threads`, share one allocation.
    """

    file: int
    limit: int
    step: int
    least: int
    most: int
    warps: int
    threads: int
    reserve: int
    launch: int | None = None


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
        """Return a limit, None if there is none."""
        return dict(self.limits).get(name)
