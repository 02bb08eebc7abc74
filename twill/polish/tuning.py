"""Constants of the search for programs, each with what was measured for it."""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.loop import Loop


@dataclass(frozen=True)
class Effort:
    """How many programs are simulated, and of a loop of how many operations at most."""

    programs: int
    operations: float


@dataclass(frozen=True)
class Efforts:
    """How much is searched, and how a search is divided."""

    # A minute or two for an explanation with all its levers (docs/polish.md).
    quick: Effort = Effort(64, 20.0)
    # 28 to 59 seconds for packaged loops of at most 20 operations, two jobs on two cores.
    normal: Effort = Effort(2000, 28.8)
    # attention_forward_diagonal_blackwell: 1680 cycles, with 2,000 programs 1748.
    thorough: Effort = Effort(8000, 28.8)
    # The power of how many times as large a loop is, by which it gets fewer programs:
    # fa_bwd_blackwell, of 40 operations, takes 135 to 157 seconds.
    fewer: float = 0.5
    # A loop of more than `usual` operations is searched twice, first with fewer programs by the
    # power of `first`: fa_fwd_blackwell 2099 cycles instead of 2168, fa_bwd_blackwell 4840 instead
    # of 5000.
    usual: int = 20
    first: float = 0.75
    anew: int = 4  # programs that the second search begins from; not measured apart


@dataclass(frozen=True)
class Beginnings:
    """Programs that are looked at before chains begin."""

    most: int = 200  # at most, and a quarter of all; not measured
    # And at least, or half of all: with 10, attention_backward_halves_hopper takes 8111 cycles
    # instead of 3430.
    least: int = 24
    # Programs that are estimated before it is seen whether one is at the bound: a fifth less time
    # for large loops.
    at_a_time: int = 16
    # Programs that a worker estimates, and how many times `at_a_time` is under way: two workers
    # take half of the time of one for those of fa_bwd_blackwell.
    together: int = 8
    ahead: int = 4
    # Times as many as chains that all contexts execute: estimates are a few per cent off where
    # contexts are not in step. The factor is not measured.
    exactly: int = 2
    chains: int = 12  # programs that a search goes on from at first, 8 before; not measured
    # Parts of the way from the given interval down to the bound, of which rounds are tried, and
    # parts of a round by which groups are further apart; not measured.
    shorter: tuple[float, ...] = (0.0, 0.5, 0.9)
    apart: tuple[float, ...] = (0.0, 0.5)
    # Ways to share groups that are tried before other times: attention at head dimension 64 takes
    # 2089 cycles with quick effort instead of 4001.
    groups: int = 3


@dataclass(frozen=True)
class Roles:
    """Which operations stay together when groups are shared; none is measured."""

    large: int = 16  # registers per thread of a value from which on a role keeps its readers
    much: int = 32  # an operation that issues that part of all instructions can be a role
    ways: int = 24  # to share groups among roles, at most


@dataclass(frozen=True)
class Chains:
    """How chains of changes go on, and which programs they confirm."""

    # Iterations over which a new best is confirmed, and the one that is returned: intervals over
    # 64 and over 1,000 are those over 200 within half a per cent.
    confirming: int = 64
    last: int = 200
    # Part by which the interval may differ over more iterations: a program of
    # online_softmax_hopper takes 825 cycles in the first 64 and 792 afterwards.
    drift: float = 0.0025
    near: float = 1.25  # times the best interval up to which programs are compiled; not measured
    better: float = 0.9995  # part of the best below which a program is better; not measured
    # Temperature at the beginning and at the end, as parts of the interval; not measured.
    hot: float = 0.012
    cold: float = 0.001
    # After each chains are compared: with six programs of some loops are faster, of as many slower.
    rounds: int = 4
    patience: int = 100  # simulations without a new lowest energy, then back to it; not measured
    recorded: int = 20  # accepted changes between two looks at the critical chain; not measured
    # Times that the part of the register file which a program lacks counts, a number a round: a
    # chain may pass through it, and does not end there. Not measured.
    lacks: tuple[float, ...] = (2.0, 4.0, 8.0, 16.0)
    # Times the lowest energy, from which on other numbers of groups are no reason to begin with a
    # program; not measured.
    far: float = 1.1
    # Simulations after which another worker may go on with a chain: workers are busy for nine
    # tenths of the time.
    part: int = 20
    confirmed: int = 4  # programs of lowest energy of a walk that are confirmed; not measured
    proposals: int = 50  # changes for each simulation of a walk, at most; not measured


@dataclass(frozen=True)
class Judging:
    """For how long programs run."""

    first: int = 16  # iterations in which is seen when and why operations are issued; not measured
    # A program is executed until two spans of so many iterations take the same, up to a part, or
    # until that iteration. Runs of 16 iterations with their end, which drains, flattered programs.
    span: int = 4
    alike: float = 0.001
    settled_by: int = 40
    longest: int = 64  # iterations; not measured
    hopeless: float = 1.1  # times the interval to beat, at which a run is given up; not measured
    # Times a limit up to which an estimate may be too high: estimates by one context take a
    # quarter of the time, and are a few per cent off.
    near: float = 1.05
    others: float = 0.1  # part of what other conditions take longer that counts; not measured
    # Part by which programs may be slower under others at no cost: under the other scheduler most
    # packaged loops are within 3 %.
    tolerance: float = 0.03


@dataclass(frozen=True)
class Changes:
    """How often which change is tried, and how far it goes; none is measured."""

    pushes: int = 400  # operations that a change may push away before it is given up
    # How often each kind of change is tried, relative to each other.
    shift: float = 3
    insert: float = 3
    exchange: float = 3
    align: float = 3
    shorten: float = 2
    regroup: float = 2
    phase: float = 1
    stage: float = 1
    turn: float = 1.5
    ring: float = 0.6
    stretch: float = 0.5
    wrap: float = 0.5
    several: tuple[int, ...] = (1, 1, 1, 2)  # changes at once, one of these
    critical: float = 0.5  # probability that a change begins on the critical chain
    whole: float = 0.5  # that operations are pushed by the whole delay
    both_ways: float = 0.2  # that all turns are taken or none, instead of one pair
    near: tuple[int, int] = (16, 64)  # cycles of a shift, or the parts of the interval
    parts: tuple[int, int] = (8, 3)
    new_groups: int = 2  # groups not in use that an operation may move to
    used_groups: int = 3  # times that a group in use is as likely as one of those
    stretches: tuple[float, ...] = (0.8, 0.9, 0.95, 0.98, 1.02, 1.05)
    wraps: tuple[float, ...] = (0.9, 0.95, 0.98, 0.99, 1.01, 1.03)


@dataclass(frozen=True)
class Tuning:
    """Every constant of the search."""

    efforts: Efforts = Efforts()
    beginnings: Beginnings = Beginnings()
    roles: Roles = Roles()
    chains: Chains = Chains()
    judging: Judging = Judging()
    changes: Changes = Changes()


TUNING = Tuning()
EFFORTS: dict[str, Effort] = {
    "quick": TUNING.efforts.quick,
    "normal": TUNING.efforts.normal,
    "thorough": TUNING.efforts.thorough,
}


def programs_of(effort: str, loop: Loop) -> int:
    """Return how many programs of a loop are simulated: fewer of many operations."""
    asked = EFFORTS[effort]
    larger = max(1.0, len(loop.operations) / asked.operations)
    return int(asked.programs / larger**TUNING.efforts.fewer)
