"""Races: what is told of them, and where there are none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import twill
from tests.support.programs import unsolved
from tests.support.sampled import sampled
from tests.support.small import edge, hand_made, op, random_loop, small_loop, small_machine
from tests.support.static import static_schedule
from twill.artifacts.program import Arrive, Await, Barrier, Instruction, Issue, Storage, Wait
from twill.artifacts.schedule import Schedule
from twill.problem.groups import WarpGroup
from twill.sim.checks import check
from twill.sim.checks.dataflow import Dataflow
from twill.sim.checks.races import Races
from twill.sim.checks.values import Values
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import StreamingMultiprocessor

ITERATIONS = 6


def ring(loads: int = 2, waits: tuple[int, int] = (2, 0)) -> Schedule:
    """A load into a ring of slots in shared memory, a product and a sum in place of it."""
    operations = [
        op("load", "TMA", 7, latency=30, asynchronous=True, memory="smem", warps=1),
        op("mma", "TC", 8, latency=12, asynchronous=True, issue=2, registers=8),
        op("sum", "ALU", 4, registers=8),
    ]
    loop = small_loop(operations, [edge("load", "mma"), edge("mma", "sum"), edge("sum", "sum", 1)])
    machine = small_machine({"TMA": 1, "TC": 1, "ALU": 1}, groups=((4, 2), (1, 1)), smem=4096)
    programs: dict[str, list[Instruction]] = {
        "loader": [
            Wait(barrier="load.empty", distance=waits[0]),
            Issue(operation="load", signals=("load.full",)),
        ],
        "compute": [
            Wait(barrier="load.full", distance=waits[1]),
            Issue(operation="mma"),
            Await(operation="mma"),
            Arrive(barrier="load.empty"),
            Issue(operation="sum"),
        ],
    }
    made = unsolved(
        loop,
        machine,
        programs,
        (Barrier(name="load.full", slots=2), Barrier(name="load.empty", slots=2)),
    )
    registers = {"memory": "registers", "group": "compute", "slots": 1, "size": 8}
    storage = (
        Storage(value="load", memory="smem", slots=loads, size=64, addresses=(0, 64)[:loads]),
        Storage(value="mma", **registers),  # type: ignore[arg-type] # by name
        Storage(value="sum", **registers),  # type: ignore[arg-type] # by name
    )
    return made.model_copy(update={"storage": storage})


def races(schedule: Schedule, iterations: int = ITERATIONS) -> str | None:
    """Return the race that is reported in a run in which everything else is let pass."""
    try:
        StreamingMultiprocessor(
            schedule, Conditions(iterations=iterations), [Races(schedule)], checks=False
        ).run()
    except SimulationError as error:
        return error.message if error.kind == "race" else None
    return None


def test_a_ring_with_its_waits_has_no_race() -> None:
    assert races(ring()) is None


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        (
            ring(waits=(3, 0)),
            "load of iteration 2 writes load in smem slot 0, which load of iteration 0 writes",
        ),
        (
            ring(waits=(2, 1)),
            (
                "mma of iteration 0 reads load in smem slot 0, which load of iteration 0 writes; "
                "no chain of arrives and waits puts the two in order"
            ),
        ),
    ],
)
def test_a_race_names_both_parties(schedule: Schedule, said: str) -> None:
    found = races(schedule)
    assert found is not None
    assert found.startswith(said)


def test_a_race_is_found_even_where_it_is_lucky_in_time() -> None:
    # Without the wait the load would come too early on a slower tensor core; here it does not.
    body = [i for i in ring().program("loader").body if not isinstance(i, Wait)]
    programs = tuple(
        p if p.group != "loader" else p.model_copy(update={"body": tuple(body)})
        for p in ring().programs
    )
    slow = ring().model_copy(update={"programs": programs})
    assert races(slow) is not None


@pytest.mark.parametrize(
    ("name", "stored"),
    [("triton_attention_forward", "o.tmem_store2"), ("fa4_forward_rescaling", "X0")],
)
def test_who_tells_of_a_store_to_tensor_memory_has_waited_for_it(name: str, stored: str) -> None:
    """Products that are lucky in time read it after it is there (PTX: tcgen05.wait::st)."""
    schedule = twill.load_schedule(name)
    assert races(schedule) is None
    hasty = tuple(
        p.model_copy(
            update={"body": tuple(i for i in p.body if i != Await(operation=stored, stage=0))}
        )
        for p in schedule.programs
    )
    found = races(schedule.model_copy(update={"programs": hasty}))
    assert found is not None
    assert f"which {stored} of iteration" in found


TOLD = Arrive(barrier="told")
STORED, ADDED = Issue(operation="stored"), Issue(operation="added", signals=("added.full",))


def stored_and_added(first: Sequence[Instruction], read: str, told_by: str) -> Schedule:
    """Return a tile in tensor memory that warps store, and to which a product of theirs adds.

    Another group is told by a barrier, and reads one of the two. The product is in place of the
    tile if that reads the product.
    """
    operations = [
        op("stored", "ALU", 4, memory="tmem"),
        op("added", "TC", 8, latency=12, asynchronous=True, memory="tmem"),
        op("used", "ALU", registers=8),
    ]
    loop = small_loop(operations, [edge("stored", "added"), edge(read, "used")])
    waits = [Wait(barrier=told_by), *[Wait(barrier="added.full")] * (told_by != "added.full")]
    programs: dict[str, Sequence[Instruction]] = {
        "first": [Wait(barrier="free", distance=1), *first],
        "second": [waits[0], Issue(operation="used"), *waits[1:], Arrive(barrier="free")],
    }
    barriers = tuple(Barrier(name=name, slots=1) for name in ("free", "told", "added.full"))
    made = unsolved(loop, small_machine(), programs, barriers)
    place = {"memory": "tmem", "slots": 1, "size": 32}
    storage = (
        Storage(value="stored", addresses=(0,), **place),  # type: ignore[arg-type] # by name
        Storage(value="added", addresses=(32 * (read == "stored"),), **place),  # type: ignore[arg-type] # by name
    )
    return made.model_copy(update={"storage": storage})


@pytest.mark.parametrize(
    ("first", "read", "told_by"),
    [
        ((STORED, ADDED, TOLD), "added", "added.full"),
        ((STORED, Await(operation="stored"), TOLD, ADDED), "stored", "told"),
    ],
)
def test_a_product_of_the_group_has_waited_for_what_its_warps_stored(
    first: Sequence[Instruction], read: str, told_by: str
) -> None:
    """Warps that pass a tile to a unit wait for their stores first, with nothing in the program."""
    assert races(stored_and_added(first, read, told_by)) is None


def test_who_tells_of_a_store_ahead_of_the_product_has_not_waited_for_it() -> None:
    found = races(stored_and_added((STORED, TOLD, ADDED), "stored", "told"))
    assert found is not None
    assert found.startswith("used of iteration 0 reads stored in tmem slot 0, which stored of")


@pytest.mark.parametrize("behind", [False, True])
def test_a_completion_tells_nothing_of_what_its_group_did_behind_the_issue(behind: bool) -> None:
    operations = [
        op("product", "TC", 8, latency=12, asynchronous=True, memory="smem"),
        op("made", "ALU", 4, memory="smem"),
        op("used", "ALU", registers=8),
    ]
    loop = small_loop(operations, [edge("product", "used"), edge("made", "used")])
    issued: list[Instruction] = [Issue(operation="made")]
    issued.insert(not behind, Issue(operation="product", signals=("product.full",)))
    programs: dict[str, list[Instruction]] = {
        "first": [Wait(barrier="free", distance=1), *issued],
        "second": [Wait(barrier="product.full"), Issue(operation="used"), Arrive(barrier="free")],
    }
    barriers = tuple(Barrier(name=name, slots=1) for name in ("free", "product.full"))
    made = unsolved(loop, small_machine(), programs, barriers)
    place = {"memory": "smem", "slots": 1, "size": 1024}
    storage = tuple(
        Storage(value=name, addresses=(1024 * n,), **place)  # type: ignore[arg-type] # by name
        for n, name in enumerate(("product", "made"))
    )
    found = races(made.model_copy(update={"storage": storage}))
    assert (found or "").startswith("used of iteration 0 reads made in smem slot 0") == behind


@pytest.mark.parametrize(
    "seed", sampled([0, 4, 6, 8, 12, 14, 16, 18, 20, 22, 26, 27, 28, 30, 32], 3)
)
def test_solved_loops_have_no_races_and_the_right_numbers(seed: int) -> None:
    loop, machine = random_loop(seed)
    schedule = static_schedule(loop, machine)
    check(schedule)
    values = Values(schedule, ITERATIONS, dataflow=Dataflow.of(loop))
    watched = values.watch()
    StreamingMultiprocessor(schedule, Conditions(iterations=ITERATIONS), [watched]).run()
    assert values.differences(watched) == []


def test_an_update_that_nobody_waits_for_runs_ahead_on_its_unit() -> None:
    """Nobody reads the sum within the loop, so that its group issues faster than the unit adds."""
    loop = small_loop(
        [op("sum", "TC", 3, latency=6, asynchronous=True, issue=1, registers=4)],
        [edge("sum", "sum", 1, in_place=True)],
    )
    groups = {"all": WarpGroup(4, False, 0, 64)}
    schedule = hand_made(loop, small_machine(), 6, {"sum": 0}, {"sum": "all"}, groups)
    assert races(schedule, 24) is None


def test_warps_wait_for_each_other_where_one_writes_what_another_wrote() -> None:
    """The last two results have no reader that would keep the group's warps together."""
    operations = [
        op("made", "ALU", latency=3, memory="smem"),
        op("used", "TC", asynchronous=True),
    ]
    edges = [edge("made", "used", 2), edge("used", "made", 2, kind="order")]
    groups = {"all": WarpGroup(4, False, 0, 64)}
    loop, machine = small_loop(operations, edges), small_machine(smem=1024)
    start, place = {"made": 7, "used": 0}, dict.fromkeys(("made", "used"), "all")
    schedule = hand_made(loop, machine, 5, start, place, groups)
    assert races(schedule, 2) is None


def test_warps_wait_for_each_other_where_a_staging_takes_over_what_nobody_reads() -> None:
    operations = [
        op("kept", "ALU", latency=2, memory="smem", elements=1024),
        op("sent", "ALU", latency=4, registers=8),
        op("used", "ALU", registers=8),
    ]
    machine = small_machine({"ALU": 1}, smem=4096)
    groups = {name: WarpGroup(4, False, 0, 64) for name in ("first", "second")}
    place = {"kept": "first", "sent": "first", "used": "second"}
    start = {"kept": 0, "sent": 2, "used": 7}
    loop = small_loop(operations, [edge("sent", "used")])
    schedule = hand_made(loop, machine, 12, start, place, groups)
    taken = {(s.value, s.transfer): s.addresses for s in schedule.storage if s.addresses}
    assert taken["kept", False] == taken["sent", True]
    assert [races(schedule, n) for n in (1, 2, 13)] == [None] * 3
