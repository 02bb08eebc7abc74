"""Mistakes of warp-specialized kernels from public records, each as a small program.

Every program is built twice: as its authors corrected it, which runs at every trip count without a
word, and with the mistake, which has to be named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from pydantic import ValidationError

import twill
from tests.support.programs import unsolved
from tests.support.small import edge, hand_made, op, small_loop, small_machine
from twill.artifacts.loop import Dependence, Operation
from twill.artifacts.program import Arrive, Await, Barrier, Fence, Instruction, Issue, Storage, Wait
from twill.artifacts.schedule import Schedule
from twill.problem.groups import WarpGroup
from twill.sim.checks import check
from twill.sim.engine.events import SimulationError

TRIP_COUNTS = (1, 2, 3, 7, 16)
BYTES = 1024
"""Of a tile in these programs: 256 numbers of four bytes."""


@dataclass(frozen=True)
class Bug:
    """A mistake in a program."""

    record: str  # where it is on public record: repository and thread
    program: Callable[[bool], Schedule]  # with the mistake or without
    named: str  # what the simulator has to say of it


def made(
    operations: list[Operation],
    edges: list[Dependence],
    programs: Mapping[str, Sequence[Instruction]],
    barriers: list[Barrier],
    slots: dict[str, int] | None = None,
) -> Schedule:
    """Return a schedule whose values have the slots that are given, else one."""
    loop = small_loop(operations, edges)
    units = {"TMA": 1, "TC": 1, "ALU": 4, "LSU": 1}
    machine = small_machine(units, groups=((4, 4),), smem=65536, proxies=("TMA", "TC"))
    schedule = unsolved(loop, machine, programs, tuple(barriers))
    storage: list[Storage] = []
    for operation in operations:
        if operation.result is None:
            continue
        memory, count = operation.result.memory, (slots or {}).get(operation.name, 1)
        first = BYTES * sum(s.slots for s in storage if s.memory == "smem")
        place: dict[str, object] = {}
        if memory == "registers":
            place = {"group": schedule.assignment[operation.name]}
        elif memory == "smem":
            place = {"addresses": tuple(range(first, first + count * BYTES, BYTES))}
        size = BYTES if memory == "smem" else 8
        storage.append(
            Storage.model_validate(
                {"value": operation.name, "memory": memory, "slots": count, "size": size, **place}
            )
        )
    return schedule.model_copy(update={"storage": tuple(storage)})


def load(name: str = "load") -> Operation:
    return op(name, "TMA", 20, latency=60, asynchronous=True, memory="smem", warps=1)


def product(name: str = "mma", memory: str | None = None) -> Operation:
    registers = 0 if memory else 8
    return op(
        name, "TC", 40, latency=50, asynchronous=True, issue=2, registers=registers, memory=memory
    )


def gemm(
    loader: list[Instruction],
    compute: list[Instruction],
    *,
    transactions: bool | None = None,
    slots: int = 2,
) -> Schedule:
    """Return a load into a ring, and a product and a sum that reads it on another group."""
    return made(
        [load(), product(), op("sum", "ALU", 4, registers=8)],
        [edge("load", "mma"), edge("mma", "sum"), edge("sum", "sum", 1)],
        {"loader": loader, "compute": compute},
        [
            Barrier(name="full", slots=2, transactions=transactions),
            Barrier(name="empty", slots=2),
        ],
        {"load": slots},
    )


LOADER: list[Instruction] = [
    Wait(barrier="empty", distance=2),
    Issue(operation="load", signals=("full",)),
]
COMPUTE: list[Instruction] = [
    Wait(barrier="full"),
    Issue(operation="mma"),
    Await(operation="mma"),
    Arrive(barrier="empty"),
    Issue(operation="sum"),
]


def without(body: list[Instruction], *left_out: Instruction) -> list[Instruction]:
    return [instruction for instruction in body if instruction not in left_out]


def bytes_without_an_arrival(mistaken: bool) -> Schedule:
    """A barrier is told how many bytes to expect, and nobody arrives at it."""
    announced = Arrive(barrier="full", expect=BYTES)
    loader = [LOADER[0], announced, LOADER[1]]
    return gemm(LOADER if mistaken else loader, COMPUTE, transactions=True)


def box_of_another_size(mistaken: bool) -> Schedule:
    """The barrier expects the bytes of eight rows, the box that is loaded has sixteen."""
    announced = Arrive(barrier="full", expect=BYTES // 2 if mistaken else BYTES)
    return gemm([LOADER[0], announced, LOADER[1]], COMPUTE, transactions=True)


def arrive_before_the_product_has_read(mistaken: bool) -> Schedule:
    """The slot is given back while the product still reads it."""
    early = [COMPUTE[0], COMPUTE[1], COMPUTE[3], COMPUTE[2], COMPUTE[4]]
    return gemm(LOADER, early if mistaken else COMPUTE)


def arrive_by_a_thread_that_never_comes_by(mistaken: bool) -> Schedule:
    """Only thread 0 gives slots back, and it belongs to the producer."""
    return gemm(LOADER, without(COMPUTE, Arrive(barrier="empty")) if mistaken else COMPUTE)


def prologue_into_one_slot(mistaken: bool) -> Schedule:
    """All copies of the prologue go where the first one went."""
    return gemm(LOADER, COMPUTE, slots=1 if mistaken else 2)


def no_barrier_on_the_back_edge(mistaken: bool) -> Schedule:
    """Two groups read a tile that one of them loads; it waits for its own product only."""
    first: list[Instruction] = [
        Wait(barrier="read", distance=1),
        Issue(operation="load", signals=("full",)),
        Wait(barrier="full"),
        Issue(operation="mma0"),
        Await(operation="mma0"),
    ]
    second: list[Instruction] = [
        Wait(barrier="full"),
        Issue(operation="mma1"),
        Await(operation="mma1"),
        Arrive(barrier="read"),
    ]
    return made(
        [load(), product("mma0"), product("mma1")],
        [edge("load", "mma0"), edge("load", "mma1")],
        {"wg0": first[1:] if mistaken else first, "wg1": second},
        [Barrier(name="full", slots=1), Barrier(name="read", slots=1)],
    )


def tile(epilogue: Sequence[Instruction], products: Sequence[Instruction]) -> Schedule:
    """Return a persistent kernel whose inner loop has one trip: a tile in every iteration."""
    return made(
        [product("acc", "tmem"), op("out", "ALU", 90, latency=100, registers=8)],
        [edge("acc", "out")],
        {"mma": products, "epilogue": epilogue},
        [Barrier(name="done", slots=1), Barrier(name="free", slots=1)],
    )


def race_between_tiles(mistaken: bool) -> Schedule:
    """The next tile's only product overwrites the accumulator that the epilogue still reads."""
    product: Instruction = Issue(operation="acc", signals=("done",))
    free: Instruction = Wait(barrier="free", distance=1)
    read: list[Instruction] = [Wait(barrier="done"), Issue(operation="out")]
    return tile([*read, Arrive(barrier="free")], [product] if mistaken else [free, product])


def parity_of_the_tile_before(mistaken: bool) -> Schedule:
    """The tail waits with the parity of the tile before; a fresh barrier lets that pass at once."""
    return _tail(1 if mistaken else 0)


def parity_of_the_tile_behind(mistaken: bool) -> Schedule:
    """The tail waits with the parity of the next tile, which comes only after it has gone on."""
    return _tail(-1 if mistaken else 0)


def _tail(distance: int) -> Schedule:
    epilogue: list[Instruction] = [
        Wait(barrier="done", distance=distance),
        Issue(operation="out"),
        Arrive(barrier="free"),
    ]
    products: list[Instruction] = [
        Wait(barrier="free", distance=1),
        Issue(operation="acc", signals=("done",)),
    ]
    return tile(epilogue, products)


def parity_of_a_ring_for_one_slot(mistaken: bool) -> Schedule:
    """A barrier of one slot is waited for as if it were one of a ring: the wait is for long ago."""
    loader: list[Instruction] = [
        Wait(barrier="read", distance=3 if mistaken else 2),
        Issue(operation="load", signals=("full",)),
    ]
    return made(
        [load(), product()],
        [edge("load", "mma")],
        {
            "loader": loader,
            "compute": [Wait(barrier="full"), Issue(operation="mma", signals=("read",))],
        },
        [Barrier(name="full", slots=2), Barrier(name="read", slots=1 if mistaken else 2)],
        {"load": 2},
    )


def halves(
    first: list[Instruction], second: list[Instruction], barriers: list[Barrier]
) -> Schedule:
    """Return two groups that make a half of a tile each, which one product reads."""
    return made(
        [
            op("low", "ALU", 10, memory="smem"),
            op("high", "ALU", 40, memory="smem"),
            product(),
        ],
        [edge("low", "mma"), edge("high", "mma")],
        {
            "low": [Wait(barrier="read", distance=1), Issue(operation="low"), Fence(), *first],
            "high": [Wait(barrier="read", distance=1), Issue(operation="high"), Fence(), *second],
            "mma": [
                Wait(barrier="written"),
                Issue(operation="mma", signals=("read",)),
            ],
        },
        [Barrier(name="read", slots=1), *barriers],
    )


def one_arrival_where_two_arrive(mistaken: bool) -> Schedule:
    """The barrier of a hand-off is initialised for fewer arrivals than come."""
    arrive: list[Instruction] = [Arrive(barrier="written")]
    barrier = Barrier(name="written", slots=1, arrivals=1 if mistaken else 2)
    return halves([Await(operation="low"), *arrive], [Await(operation="high"), *arrive], [barrier])


def own_warps_where_all_are_needed(mistaken: bool) -> Schedule:
    """One half's warps wait for each other, not for those of the other half, and go on."""
    meet: list[Instruction] = [Wait(barrier="met")]
    barriers = [
        Barrier(name="met", slots=1, arrivals=1 if mistaken else 2, kind="named"),
        Barrier(name="written", slots=1),
    ]
    return halves(
        [Await(operation="low"), *meet, Arrive(barrier="written")],
        [Await(operation="high"), *([] if mistaken else meet)],
        barriers,
    )


def arrive_where_a_wait_is_needed(mistaken: bool) -> Schedule:
    """A group without work arrives at a named barrier, comes round and arrives again."""
    at = Arrive if mistaken else Wait
    return made(
        [op("idle", "ALU", 4), load()],
        [],
        {
            "compute": [Issue(operation="idle"), at(barrier="epilogue")],
            "load": [Issue(operation="load"), Await(operation="load"), Wait(barrier="epilogue")],
        },
        [Barrier(name="epilogue", slots=1, arrivals=2, kind="named")],
    )


def staged_store(mistaken: bool) -> Schedule:
    """A tile is written to shared memory by warps and stored from there by TMA."""
    written: list[Instruction] = [Issue(operation="tile"), Await(operation="tile"), Fence()]
    return made(
        [
            op("tile", "ALU", 10, memory="smem"),
            op("store", "TMA", 20, latency=60, asynchronous=True, warps=1),
        ],
        [edge("tile", "store")],
        {
            "epilogue": [
                Wait(barrier="stored", distance=1),
                *(without(written, Fence()) if mistaken else written),
                Arrive(barrier="written"),
            ],
            "store": [Wait(barrier="written"), Issue(operation="store", signals=("stored",))],
        },
        [Barrier(name="written", slots=1), Barrier(name="stored", slots=1)],
    )


def copies_of_warps(mistaken: bool) -> Schedule:
    """A product reads what cp.async copied; the wait for the copies is no fence."""
    fence: list[Instruction] = [] if mistaken else [Fence()]
    return made(
        [
            op("copy", "LSU", 20, latency=60, asynchronous=True, memory="smem"),
            product(),
        ],
        [edge("copy", "mma")],
        {
            "all": [
                Issue(operation="copy"),
                Await(operation="copy"),
                *fence,
                Issue(operation="mma"),
                Await(operation="mma"),
            ]
        },
        [],
    )


def read_before_the_next_load(mistaken: bool) -> Schedule:
    """A load by TMA overwrites what warps have read; that they arrived does not order the two."""
    body: list[Instruction] = [
        Wait(barrier="full"),
        Issue(operation="use"),
        Await(operation="use"),
        Fence(),
        Arrive(barrier="empty"),
    ]
    return made(
        [load(), op("use", "ALU", 4, registers=8)],
        [edge("load", "use")],
        {"loader": LOADER, "compute": without(body, Fence()) if mistaken else body},
        [Barrier(name="full", slots=2), Barrier(name="empty", slots=2)],
        {"load": 2},
    )


RACE = "; no chain of arrives and waits puts the two in order"
UNFENCED = "; no proxy fence stands between the warps' access and the unit's"
BUGS = [
    Bug(
        "tile-ai/tilelang#2566",
        bytes_without_an_arrival,
        "compute waits for full of iteration 0 (from nobody: 0 of 1 arrivals came; "
        "1024 bytes came that no arrive announced)",
    ),
    Bug(
        "mirage-project/mirage#705",
        box_of_another_size,
        "compute waits for full of iteration 0 (from nobody: 1 of 1 arrivals came, from loader; "
        "512 bytes came that no arrive announced)",
    ),
    Bug(
        "facebookexperimental/triton#1278",
        arrive_before_the_product_has_read,
        "race: load of iteration 2 writes load in smem slot 0, which mma of iteration 0 reads"
        f"{RACE}",
    ),
    Bug(
        "NVIDIA/cutlass#2418",
        arrive_by_a_thread_that_never_comes_by,
        "loader waits for empty of iteration 0 (from nobody)",
    ),
    Bug(
        "tile-ai/tilelang#2443",
        prologue_into_one_slot,
        "race: load of iteration 1 writes load in smem slot 0, which load of iteration 0 writes"
        f"{RACE}",
    ),
    Bug(
        "tile-ai/tilelang#2613",
        no_barrier_on_the_back_edge,
        "race: load of iteration 1 writes load in smem slot 0, which mma1 of iteration 0 reads"
        f"{RACE}",
    ),
    Bug(
        "facebookexperimental/triton#2004",
        race_between_tiles,
        f"race: out of iteration 0 reads acc in tmem slot 0, which acc of iteration 1 writes{RACE}",
    ),
    Bug(
        "pytorch/helion#3621, data",
        parity_of_the_tile_before,
        "value: out of iteration 0 reads acc of iteration 0 at cycle 0; tmem slot 0 holds nothing",
    ),
    Bug(
        "pytorch/helion#3621, hang",
        parity_of_the_tile_behind,
        "epilogue waits for done of iteration 1 (from mma)",
    ),
    Bug(
        "tile-ai/tilelang#3087",
        parity_of_a_ring_for_one_slot,
        f"race: load of iteration 2 writes load in smem slot 0, which load of iteration 0 writes"
        f"{RACE}",
    ),
    Bug(
        "NVIDIA/cudnn-frontend#426",
        one_arrival_where_two_arrive,
        f"race: mma of iteration 0 reads high in smem slot 0, which high of iteration 0 writes"
        f"{RACE}",
    ),
    Bug(
        "facebookexperimental/triton#1133",
        own_warps_where_all_are_needed,
        f"race: mma of iteration 0 reads high in smem slot 0, which high of iteration 0 writes"
        f"{RACE}",
    ),
    Bug(
        "vllm-project/vllm#26026",
        arrive_where_a_wait_is_needed,
        "barrier: compute arrives at epilogue slot 0 for iteration 1 (phase 1), which is in phase "
        "0",
    ),
    Bug(
        "triton-lang/triton#9871",
        staged_store,
        f"fence: store of iteration 0 reads tile in smem slot 0, which tile of iteration 0 writes"
        f"{UNFENCED}",
    ),
    Bug(
        "tile-ai/tilelang#1850",
        copies_of_warps,
        f"fence: mma of iteration 0 reads copy in smem slot 0, which copy of iteration 0 writes"
        f"{UNFENCED}",
    ),
    Bug(
        "pytorch/pytorch#181248",
        read_before_the_next_load,
        f"fence: load of iteration 2 writes load in smem slot 0, which use of iteration 0 reads"
        f"{UNFENCED}",
    ),
]


def test_a_barrier_that_may_be_two_phases_ahead_of_a_wait_is_a_race() -> None:
    """It has one slot, and two products may be complete before the loader waits for the first."""
    schedule = parity_of_a_ring_for_one_slot(mistaken=False)
    barriers = tuple(barrier.model_copy(update={"slots": 1}) for barrier in schedule.barriers[1:])
    late = schedule.model_copy(update={"barriers": (schedule.barriers[0], *barriers)})
    with pytest.raises(SimulationError, match=r"read is complete for iteration 1, .* wrong phase"):
        check(late)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.record)
def test_a_known_mistake_is_named(bug: Bug) -> None:
    with pytest.raises(SimulationError, match=re.escape(bug.named)):
        check(bug.program(True))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.record)
def test_nothing_is_said_of_the_corrected_program(bug: Bug) -> None:
    for iterations in TRIP_COUNTS:
        check(bug.program(False), iterations=iterations)


def test_a_barrier_counts_no_more_bytes_than_an_mbarrier_can() -> None:
    """Triton's ConSan: the range of the transaction count; it has 20 bits and a sign."""
    with pytest.raises(ValidationError, match=r"at most 1048575 bytes \(got 1048576\)"):
        gemm(twice(1 << 20), COMPUTE, transactions=True)
    schedule = gemm(twice(600_000), COMPUTE, transactions=True)
    full, empty = schedule.barriers
    two = full.model_copy(update={"arrivals": 2})
    with pytest.raises(SimulationError, match="full slot 0 counts 1200000 bytes in phase 0"):
        check(schedule.model_copy(update={"barriers": (two, empty)}))


def test_an_arrival_more_than_a_phase_takes_is_named_while_bytes_are_missing() -> None:
    """Triton's ConSan: underflow of the arrival count."""
    said = "(phase 0), which has its 1 arrivals and waits for 512 bytes"
    with pytest.raises(SimulationError, match=re.escape(said)):
        check(gemm(twice(BYTES // 2), COMPUTE, transactions=True))


def twice(expect: int) -> list[Instruction]:
    """Return a loader that arrives with so many bytes two times."""
    return [LOADER[0], *[Arrive(barrier="full", expect=expect)] * 2, LOADER[1]]


def test_registers_that_are_never_allocated_are_missed() -> None:
    """NVIDIA/cutlass#3308: setmaxnreg is dropped, and 529 MB are spilled without a word."""
    operations = [op("a", "TC", 4, registers=180), op("b", "ALU", 4, registers=20)]
    loop = small_loop(operations, [edge("a", "b")])
    machine = small_machine(registers=255)
    place = {"a": "all", "b": "all"}
    missed = [
        f"registers: group all {where}: 200 registers per thread live, 168 of 168 allocated are "
        "for values"
        for where in ("in slot 4", "along its program")
    ]
    for registers, said in ((240, []), (168, missed)):
        groups = {"all": WarpGroup(4, False, registers, 200)}
        schedule = hand_made(loop, machine, 8, {"a": 0, "b": 4}, place, groups)
        assert [str(violation) for violation in twill.verify(schedule).violations] == said
