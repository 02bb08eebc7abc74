"""Occupancy in cases that can be counted by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from typer.testing import CliRunner

from tests.sim.test_races import ring
from tests.support.programs import unsolved
from tests.support.small import edge, op, small_loop, small_machine
from tests.support.static import static_schedule
from twill.artifacts.hardware import Memories
from twill.artifacts.pieces import pieces
from twill.artifacts.program import Await, Instruction, Issue, Storage
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.cli.main import simulator as app
from twill.frontends.schedules import load_schedule
from twill.sim.checks import check, enough_iterations
from twill.sim.checks.occupancy import FILE, Occupancy
from twill.sim.checks.occupied import Occupied
from twill.sim.engine import Conditions
from twill.sim.engine.events import ReadEnds, WriteBegins, WriteEnds
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.verification.registers import registers_along_programs


def occupied(schedule: Schedule, iterations: int) -> tuple[Occupancy, dict[str, Occupied]]:
    watched = Occupancy(schedule)
    sm = StreamingMultiprocessor(schedule, Conditions(iterations=iterations), [watched])
    sm.run()
    return watched, watched.report(max(sm.finished_at))


def chain(*, elementwise: bool) -> Schedule:
    """Three operations, one after the other: 4, 8 and 8 registers per thread."""
    operations = [
        op("a", "ALU", 10, registers=4),
        op("b", "ALU", 10, registers=8),
        op("c", "ALU", 10, registers=8, elementwise=elementwise),
    ]
    loop = small_loop(operations, [edge("a", "b"), edge("b", "c")])
    machine = small_machine({"ALU": 1}, groups=((4, 1),))
    made = unsolved(loop, machine, {"all": [Issue(operation=name) for name in "abc"]})
    storage = tuple(
        Storage(value=o.name, memory="registers", group="all", slots=1, size=size)
        for o, size in zip(operations, (4, 8, 8), strict=True)
    )
    return made.model_copy(update={"storage": storage})


def test_registers_are_counted_from_the_first_write_to_the_last_read() -> None:
    # a from 0, b from 10, c from 20; a register is read until its reader has issued, which on a
    # pipe that is filled for all of 10 cycles is a cycle before it is done.
    watched, report = occupied(chain(elementwise=False), 1)
    assert watched.series()["registers of all"] == [
        (0, 4), (10, 12), (19, 8), (20, 16), (29, 8), (30, 0),
    ]  # fmt: skip
    entry = report["registers of all"]
    assert (entry.peak, entry.peak_cycle) == (16, 20)
    assert entry.mean == (10 * 4 + 9 * 12 + 8 + 9 * 16 + 8) / 30


def test_an_elementwise_result_takes_over_its_operand() -> None:
    watched, _ = occupied(chain(elementwise=True), 1)
    assert watched.series()["registers of all"] == [(0, 4), (10, 12), (19, 8), (30, 0)]


def live(
    watched: Occupancy,
    place: tuple[str, str, int, int],
    reader: tuple[str, int, str, int],
    begin: float,
    written: float,
    end: float,
) -> None:
    """Tell of the life of an instance: a write, and a read that begins when it is there."""
    writer = (place[0], place[3], *reader[2:])
    for event in (
        WriteBegins(*place, *writer, begin, begin),
        WriteEnds(*place, *writer, begin, written),
        ReadEnds(*place, *reader, written, end),
    ):
        watched.handlers[type(event)](event)


def test_warps_that_drift_apart_do_not_add_up() -> None:
    # Each warp has one instance at a time, the second warp ten cycles later.
    watched = Occupancy(chain(elementwise=False))
    for warp, late in ((0, 0.0), (1, 10.0)):
        for iteration in (0, 1):
            place, begin = ("a", "registers of all", 0, iteration), late + 8 * iteration
            live(watched, place, ("b", iteration, "all", warp), begin, begin + 2, begin + 7)
    assert watched.report(30)["registers of all"].peak == 4


def test_a_slot_that_is_written_while_it_is_read_is_occupied_once() -> None:
    # As an accumulator that its in-order unit still reads when it begins the next instance.
    watched = Occupancy(ring())
    for iteration in (0, 1):
        place, begin = ("load", "smem", 0, iteration), 10.0 * iteration
        live(watched, place, ("mma", iteration, "", 0), begin, begin + 5, begin + 15)
    assert watched.report(30)["smem"].peak == 64


def test_a_ring_is_full_while_its_slots_are_read() -> None:
    schedule = ring()
    watched, report = occupied(schedule, 8)
    smem = report["smem"]
    assert (smem.capacity, smem.allocated, smem.peak) == (4096, 128, 128)
    amounts = [amount for _, amount in watched.series()["smem"]]
    assert set(amounts) <= {0, 64, 128}
    assert amounts[-1] == 0
    assert 64 < smem.mean < 128


def test_the_register_file_is_the_sum_over_threads(attention_schedule: Schedule) -> None:
    _, report = occupied(attention_schedule, 6)
    groups = {f"registers of {g.name}": g for g in attention_schedule.groups}
    given = sum(g.warps * 32 * (g.registers or 0) for g in groups.values())
    assert report[FILE].allocated == given <= 65536
    for name, group in groups.items():
        assert report[name].peak <= (group.registers or 0)
    assert not any(entry.exceeded for entry in report.values())


def test_shared_memory_never_holds_more_than_its_rings_and_invariants(
    attention_schedule: Schedule,
) -> None:
    watched, report = occupied(attention_schedule, 6)
    invariants = sum(i.tile.bytes for i in attention_schedule.loop.invariants)
    rings = sum(s.slots * s.size for s in attention_schedule.storage if s.memory == "smem")
    assert report["smem"].allocated == invariants + rings
    assert report["smem"].peak == invariants + rings
    assert min(amount for _, amount in watched.series()["smem"]) >= invariants


def test_too_many_registers_are_told() -> None:
    group = chain(elementwise=False).groups[0].model_copy(update={"registers": 8})
    schedule = chain(elementwise=False).model_copy(update={"groups": (group,)})
    assert occupied(schedule, 1)[1]["registers of all"].exceeded


def test_checks_look_far_enough() -> None:
    # Two slots, no stage, distance two: twice that and some to spare.
    assert enough_iterations(ring()) == 2 * (2 + 0 + 2) + 4
    deep = tuple(s.model_copy(update={"slots": 60_000}) for s in ring().storage)
    with pytest.raises(InputError, match="takes 120008 iterations to check"):
        check(ring().model_copy(update={"storage": deep}))
    found = check(ring())
    assert found.iterations == 12
    assert found.numbers is None


@pytest.mark.parametrize("iterations", [1, 3])
def test_checks_take_a_number_of_iterations(iterations: int) -> None:
    body: list[Instruction] = [Issue(operation="mma"), Await(operation="mma")]
    operations = [op("mma", "TC", 4, asynchronous=True, registers=4)]
    machine = small_machine({"TC": 1}, groups=((4, 1),))
    schedule = unsolved(small_loop(operations), machine, {"all": body})
    assert check(schedule, iterations=iterations).iterations == iterations


def test_a_memory_that_the_machine_lacks_is_exceeded_from_its_first_byte() -> None:
    schedule = ring()
    machine = schedule.machine
    assert machine.memories.by_name.keys() == {"smem"}
    tmem = tuple(
        s.model_copy(update={"memory": "tmem"}) if s.memory == "smem" else s
        for s in schedule.storage
    )
    watched, report = occupied(schedule.model_copy(update={"storage": tmem}), 8)
    assert watched.series()["tmem"][0][0] == 0
    assert (report["tmem"].capacity, report["tmem"].peak) == (0, 128)
    assert report["tmem"].exceeded
    # An idealised machine has no limits.
    ideal = schedule.model_copy(
        update={"machine": machine.model_copy(update={"memories": Memories()})}
    )
    assert occupied(ideal, 8)[1]["smem"].capacity is None


def test_registers_are_kept_once_for_products_that_leave_results_there() -> None:
    operations = [
        op("a", "TC", 10, registers=4, asynchronous=True),
        op("b", "TC", 10, registers=8, asynchronous=True),
        op("c", "TC", 10, memory="smem", asynchronous=True),
    ]
    machine = small_machine({"TC": 1}, groups=((4, 1),), in_order=("TC",), registers=64, reserve=2)
    file = machine.registers
    assert file is not None
    kept = file.model_copy(update={"product": file.step.model_copy(update={"value": 5})})
    made = unsolved(small_loop(operations), machine, {"all": [Issue(operation=n) for n in "abc"]})
    for registers, always in ((file, 2), (kept, 2 + 5)):
        changed = machine.model_copy(update={"registers": registers})
        report = occupied(made.model_copy(update={"machine": changed}), 1)[1]
        assert report["registers of all"].always == always


@pytest.mark.parametrize(("half", "address", "columns"), [(0, 0, 32), (1, 0, 64), (1, 24, 64)])
def test_a_second_half_of_lanes_needs_columns_beside_those_of_a_tile_that_takes_all(
    half: int, address: int, columns: int
) -> None:
    schedule = chain(elementwise=False)
    places = [("a", 0, ()), ("b", address, (half,))]
    tiles = tuple(
        Storage(value=value, memory="tmem", slots=1, size=32, addresses=(begin,), halves=halves)
        for value, begin, halves in places
    )
    _, report = occupied(schedule.model_copy(update={"storage": (*tiles, schedule.storage[2])}), 1)
    assert report["tmem"].allocated == columns


# -- values that are read piece by piece ------------------------------------------------------


def in_pieces(sizes: tuple[int, ...], *, whole: bool = False, kind: str = "exp2") -> Schedule:
    """Return 8 registers of which operations of a kind make so many each, one after the other."""
    operations = [op("a", "ALU", 10, registers=8)]
    for number, size in enumerate(sizes):
        piece = op(f"p{number}", "ALU", 10, registers=size)
        operations.append(piece.model_copy(update={"kind": kind}))
    edges = [edge("a", o.name) for o in operations[1:]]
    if whole:
        operations.append(op("max", "ALU", 10, registers=1))
        edges.append(edge("a", "max"))
    operations.append(op("end", "ALU", 10))
    edges += [edge(o.name, "end") for o in operations[1:-1]]
    machine = small_machine({"ALU": 1}, groups=((4, 1),))
    body: list[Instruction] = [Issue(operation=o.name) for o in operations]
    made = unsolved(small_loop(operations, edges), machine, {"all": body})
    storage = tuple(
        Storage(value=o.name, memory="registers", group="all", slots=1, size=o.result.shape[1])
        for o in operations
        if o.result is not None
    )
    return made.model_copy(update={"storage": storage})


@pytest.mark.parametrize("sizes", [(4, 4), (2, 2, 4), (1, 7), (3, 3, 2)])
def test_pieces_take_the_room_of_what_they_read(sizes: tuple[int, ...]) -> None:
    schedule = in_pieces(sizes)
    assert pieces(schedule.loop) == {
        "a": {(f"p{k}", 0): Fraction(size, 8) for k, size in enumerate(sizes)}
    }
    watched, report = occupied(schedule, 1)
    assert report["registers of all"].peak == 8
    # Nothing is free before the last operation has read all of it.
    assert {amount for _, amount in watched.series()["registers of all"]} == {0, 8}
    assert registers_along_programs(schedule) == {"all": 8}


@pytest.mark.parametrize(
    ("sizes", "kind"), [((4, 4), "reduce"), ((4, 3), "exp2"), ((8, 8), "exp2"), ((5, 5), "exp2")]
)
def test_what_is_no_piece_takes_no_room(sizes: tuple[int, ...], kind: str) -> None:
    schedule = in_pieces(sizes, kind=kind)
    assert pieces(schedule.loop) == {}
    assert registers_along_programs(schedule) == {"all": 8 + sum(sizes)}
    assert occupied(schedule, 1)[1]["registers of all"].peak == 8 + sum(sizes)


def test_pieces_make_no_room_while_somebody_still_reads_the_whole() -> None:
    # The maximum comes last: until then the value and all that is made of it are there.
    schedule = in_pieces((4, 4), whole=True)
    assert registers_along_programs(schedule) == {"all": 8 + 4 + 4 + 1}
    assert occupied(schedule, 1)[1]["registers of all"].peak == 8 + 4 + 4 + 1


def test_the_registers_of_flash_attention_4_are_those_counted_by_hand() -> None:
    # Addresses; exponentials in place of scores; three of four parts converted; a, l and m.
    report = check(load_schedule("fa4_forward"), iterations=6)
    found = report.occupancy["registers of softmax0"]
    assert found.peak == 16 + 128 + 3 * 128 * 32 // 2 // 128 + 3 == 195
    assert report.exceeded == ["registers of softmax0", "registers of softmax1"]


def test_exceeding_what_there_is_fails_under_strict() -> None:
    command = ["run", "fa4_forward", "--iterations", "8"]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 0
    assert "EXCEEDED what there is: registers of softmax0" in told.stdout
    told = CliRunner().invoke(app, [*command, "--strict"])
    assert told.exit_code == 1
    assert "to compare" not in told.output  # an order promises no interval, which is another no


def test_bytes_of_one_address_are_taken_once() -> None:
    # `sum` is updated in its one slot by the in-order unit that has not yet done reading it.
    operations = [
        op("sum", "TC", 1, latency=2, asynchronous=True, memory="smem"),
        op("next", "TC", 3, latency=5, asynchronous=True, registers=1),
    ]
    edges = [edge("sum", "sum", 1, in_place=True), edge("sum", "next")]
    schedule = static_schedule(small_loop(operations, edges), small_machine(smem=1024))
    assert schedule.initiation_interval == 5
    smem = check(schedule, iterations=6).occupancy["smem"]
    assert (smem.peak, smem.exceeded) == (1024, False)
