"""Cases that once went wrong: each is the smallest loop that shows it."""

from __future__ import annotations

import pytest

import twill
from tests.support.small import edge, hand_made, op, small_loop, small_machine
from tests.support.static import static_schedule
from twill.artifacts.loop import Cost, Invariant, Step, Tile
from twill.problem import build_problem
from twill.problem.groups import WarpGroup, available_groups, opened_before
from twill.search.request import EngineName
from twill.sim.execute import run

ENGINES: list[EngineName] = ["difference", "cpsat"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_may_outlive_many_intervals(engine: EngineName) -> None:
    loop = small_loop(
        [op("a", "ALU", registers=1), op("b", "TC", latency=30, asynchronous=True)],
        [edge("a", "b")],
    )
    schedule = static_schedule(loop, small_machine(registers=64), engine=engine)
    assert schedule.initiation_interval == 1
    assert twill.verify(schedule).valid


@pytest.mark.parametrize("engine", ENGINES)
def test_an_invariant_alone_can_be_too_much_for_a_group(engine: EngineName) -> None:
    pinned = Invariant(
        name="w", tile=Tile(shape=(128, 64), dtype="f32", memory="registers"), used_by=("a",)
    )
    loop = small_loop([op("a", "ALU")]).model_copy(update={"invariants": (pinned,)})
    with pytest.raises(twill.RefusedError):
        static_schedule(loop, small_machine(registers=32), engine=engine)
    assert static_schedule(loop, small_machine(registers=64), engine=engine).groups


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_take_turns_on_a_unit_that_holds_two(engine: EngineName) -> None:
    operations = [
        op(name, "TC", 1, asynchronous=True, issue=2, latency=4, registers=40, transfer=1)
        for name in ("a", "b")
    ]
    machine = small_machine({"TC": 2, "ALU": 1}, registers=64, hop=1)
    schedule = static_schedule(small_loop(operations), machine, engine=engine)
    assert twill.verify(schedule).violations == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_turn_is_kept_where_only_one_of_two_takes_time_to_issue(engine: EngineName) -> None:
    loop = small_loop(
        [
            op("o0", "TC", latency=2, asynchronous=True),
            op("o1", "TC", 2, asynchronous=True, latency=4, registers=4),
            op("o2", "TC", asynchronous=True, issue=2, latency=4, memory="smem"),
            op("o3", "ALU", count=3, latency=2, registers=16, transfer=2, elementwise=True),
        ],
        [
            edge("o2", "o1", 1),
            edge("o2", "o2", 1, in_place=True),
            edge("o3", "o2", 2),
            edge("o1", "o3"),
            edge("o2", "o3"),
        ],
    )
    machine = small_machine(
        {"TC": 1, "ALU": 3}, registers=64, groups=((1, 1), (4, 3), (8, 1)), least=8, most=64,
        smem=40960,
    )  # fmt: skip
    schedule = static_schedule(loop, machine, engine=engine)
    assert twill.verify(schedule).violations == ()
    assert schedule.initiation_interval == 4


def test_two_steps_of_one_operation_add_up_on_their_unit() -> None:
    steps = (Step(unit="ALU", cycles=2), Step(unit="ALU", cycles=3))
    twice = op("a", "ALU").model_copy(update={"cost": Cost(steps=steps, latency=5)})
    schedule = static_schedule(small_loop([twice]), small_machine())
    assert schedule.initiation_interval == 5
    assert twill.verify(schedule).valid


def test_normalized_time_lets_a_forced_transfer_span_intervals() -> None:
    load = op("load", "TC", registers=1, transfer=40, asynchronous=True, variable_latency=True)
    loop = small_loop([load, op("use", "ALU")], [edge("load", "use")])
    machine = small_machine(groups=((4, 3),))
    schedule = static_schedule(loop, machine, time="normalized", budget=300)
    assert schedule.initiation_interval == 1


def test_a_wider_group_stands_in_once_the_narrow_ones_are_used_up() -> None:
    loop = small_loop(
        [op("a", "TC", asynchronous=True, latency=2), op("b", "BUS"), op("c", "ALU", 3)],
        [edge("a", "b")],
    )
    units = {"TC": 1, "ALU": 1, "BUS": 2}
    mixed = static_schedule(loop, small_machine(units, groups=((4, 1), (8, 1))))
    assert mixed.initiation_interval == 3
    assert {group.warps for group in mixed.groups} == {4, 8}


def test_a_wider_group_is_not_opened_before_the_narrow_ones_are_used_up() -> None:
    machine = small_machine(groups=((4, 2), (8, 1)))
    problem = build_problem(small_loop([op(name, "ALU") for name in "abc"]), machine)
    groups = available_groups(problem)
    assert [group.warps for group in groups] == [4, 4, 8]
    assert opened_before(groups, problem) == [(0, 1), (1, 2)]


def test_no_group_is_offered_that_would_have_nothing_to_do() -> None:
    machine = small_machine(groups=((1, 4), (4, 2)))
    loop = small_loop([op("a", "ALU"), op("b", "ALU", warps=1)])
    groups = available_groups(build_problem(loop, machine))
    assert [group.warps for group in groups] == [1, 4]


def test_loads_that_wait_may_need_two_groups() -> None:
    loop = small_loop(
        [
            op("x", "ALU"),
            op("one", "TC", asynchronous=True, issue=1, variable_latency=True),
            op("two", "BUS", asynchronous=True, issue=3, variable_latency=True),
        ],
        [edge("x", "one"), edge("x", "two")],
    )
    units = {"TC": 1, "ALU": 1, "BUS": 2}
    assert static_schedule(loop, small_machine(units, groups=((4, 3),))).initiation_interval == 3


def test_a_far_hop_does_not_make_a_loop_infeasible() -> None:
    loop = small_loop(
        [
            op("a", "TC", asynchronous=True, issue=1),
            op("b", "TC", asynchronous=True, issue=1, variable_latency=True),
        ]
    )
    schedule = static_schedule(loop, small_machine(hop=100, groups=((4, 2),)))
    assert schedule.initiation_interval == 202


@pytest.mark.parametrize("transfer", [0, 2])
def test_a_load_into_registers_is_sent_when_it_is_there(transfer: int) -> None:
    load = op("load", "TC", registers=1, transfer=transfer, asynchronous=True, latency=20,
              variable_latency=True)  # fmt: skip
    loop = small_loop([load, op("use", "ALU")], [edge("load", "use")])
    schedule = static_schedule(loop, small_machine(groups=((4, 3),)))
    assert twill.verify(schedule).valid
    assert run(schedule, iterations=20).total_cycles > 20


def test_a_load_that_something_must_precede_is_not_streaming() -> None:
    load = op("load", "TC", memory="smem", asynchronous=True, latency=500, variable_latency=True)
    loop = small_loop(
        [load, op("use", "ALU")], [edge("load", "use"), edge("use", "load", 1, kind="order")]
    )
    schedule = static_schedule(loop, small_machine(groups=((4, 3),), smem=1 << 20))
    assert schedule.initiation_interval == 501
    assert run(schedule).achieved


def test_every_warp_of_a_store_to_shared_memory_ends_its_reads() -> None:
    loop = small_loop(
        [op("a", "ALU", 4, registers=4), op("store", "TC", 4, memory="smem"), op("b", "ALU")],
        [edge("a", "store"), edge("store", "b")],
    )
    result = run(static_schedule(loop, small_machine(registers=64, smem=1 << 20)))
    assert result.achieved


def test_an_accumulator_that_changes_groups_is_complete_before_it_is_moved() -> None:
    loop = small_loop(
        [
            op(name, "TC", 2, latency=20, asynchronous=True, registers=4, transfer=1)
            for name in ("a", "b")
        ],
        [edge("a", "b", in_place=True)],
    )
    groups = {"g0": WarpGroup(4, False, 64, 64), "g1": WarpGroup(4, False, 64, 64)}
    machine = small_machine(registers=64)
    place = {"a": "g0", "b": "g1"}
    early = hand_made(loop, machine, 23, {"a": 0, "b": 3}, place, groups)
    assert [v.rule for v in twill.verify(early).violations] == ["dependence"]
    late = hand_made(loop, machine, 23, {"a": 0, "b": 21}, place, groups)
    assert twill.verify(late).valid
    assert run(late).achieved


def test_all_units_of_an_asynchronous_operation_are_busy() -> None:
    def two_units(name: str, first: str) -> object:
        steps = (Step(unit=first, cycles=1), Step(unit="BUS", cycles=5))
        cost = Cost(steps=steps, asynchronous=True, latency=5)
        return op(name, first).model_copy(update={"cost": cost})

    loop = small_loop([two_units("a", "TC"), two_units("b", "ALU")])  # type: ignore[list-item]
    schedule = static_schedule(loop, small_machine({"TC": 1, "ALU": 1, "BUS": 1}))
    result = run(schedule, iterations=512)
    # Nothing ties the two together: one of them runs ahead, once.
    assert result.measured_interval_cycles == pytest.approx(10, abs=5 / 511)
    assert result.utilization["BUS"] == pytest.approx(1.0, rel=1e-3)


def test_a_deep_ring_is_not_taken_for_a_steady_state() -> None:
    load = op("load", "BUS", memory="smem", asynchronous=True, latency=40, variable_latency=True)
    loop = small_loop([load, op("use", "ALU")], [edge("load", "use")])
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 2}, groups=((4, 3),), smem=1 << 20)
    schedule = static_schedule(loop, machine)
    assert schedule.pipeline_depths["load"] > 40
    assert run(schedule, iterations=32, latency="fixed:200").achieved is None
    assert run(schedule, iterations=1024, latency="fixed:200").achieved is False


def test_a_wait_may_look_back_further_than_a_ring() -> None:
    loop = small_loop(
        [op("a", "TC", asynchronous=True, latency=2), op("b", "ALU")],
        [edge("a", "b", 70), edge("a", "a", 1)],
    )
    schedule = static_schedule(loop, small_machine())
    assert run(schedule, iterations=200).achieved


def test_invariants_have_places_of_their_own() -> None:
    tile = Tile(shape=(64,), dtype="f32", memory="smem")
    names = ("v", "w")
    loop = small_loop([op("a", "ALU")]).model_copy(
        update={"invariants": tuple(Invariant(name=n, tile=tile, used_by=("a",)) for n in names)}
    )
    schedule = static_schedule(loop, small_machine(smem=4096))
    assert twill.verify(schedule).valid


def test_a_group_spends_no_more_time_than_there_is(attention_schedule: twill.Schedule) -> None:
    result = run(attention_schedule)
    assert len(result.groups) == 3
    for spent in result.groups.values():
        assert sum(spent.values()) <= 1.001 * result.total_cycles


def test_transfers_are_fewest_over_all_sets_of_as_few_groups() -> None:
    # `long` is always being issued, so that `wide`, which waits, needs another group. A group of
    # one warp for `long` is tried first; beside one of four warps `use` needs no transfer.
    loop = small_loop(
        [
            op("made", "TC", asynchronous=True, warps=1),
            op("wide", "BUS", warps=4),
            op("long", "ALU", 4, registers=1, transfer=1, warps=1),
            op("use", "BUS", warps=4),
        ],
        [edge("made", "wide"), edge("long", "use")],
    )
    machine = small_machine({"ALU": 1, "BUS": 2, "TC": 1}, groups=((1, 2), (4, 2)))
    schedule = static_schedule(loop, machine)
    assert twill.verify(schedule).valid
    assert schedule.proof is not None
    levels = {level.level: level.value for level in schedule.proof.levels}
    assert (schedule.initiation_interval, levels["groups"], levels["transfers"]) == (4, 2, 0)


def test_an_accumulator_from_another_group_becomes_the_result() -> None:
    # A copy of `start` beside `sum` would take 80 of 64 registers.
    start = op("start", "ALU", registers=40, latency=5, asynchronous=True, variable_latency=True)
    total = op("sum", "TC", latency=30, asynchronous=True, registers=40)
    loop = small_loop([start, total], [edge("start", "sum", in_place=True)])
    schedule = static_schedule(loop, small_machine(registers=64, groups=((4, 3),)))
    assert twill.verify(schedule).valid
    assert run(schedule).total_cycles > 0


def test_a_refusal_for_registers_names_the_widest_values() -> None:
    loop = small_loop(
        [op("a", "ALU", registers=40), op("b", "ALU", registers=40), op("c", "TC", registers=1)],
        [edge("a", "c"), edge("b", "c")],
    )
    machine = small_machine(registers=64, groups=((4, 1),))
    with pytest.raises(twill.RefusedError) as caught:
        static_schedule(loop, machine)
    told = "the widest values are a (40) and b (40) registers per thread, a group has at most 64 "
    assert told in str(caught.value)


def test_a_refusal_for_memory_names_the_largest_values() -> None:
    """Both are read together; what is updated in place counts once."""
    loop = small_loop(
        [op("a", "TC", memory="smem", elements=150), op("b", "TC", memory="smem", elements=125),
         op("c", "TC", memory="smem", elements=125), op("d", "ALU")],
        [edge("b", "c", in_place=True), edge("a", "d"), edge("c", "d")],
    )  # fmt: skip
    with pytest.raises(twill.RefusedError) as caught:
        static_schedule(loop, small_machine(smem=1000))
    told = "the largest values are a (600) and c (500) bytes of smem, of 1000 there"
    assert told in str(caught.value)


def test_a_loop_for_another_architecture_is_said_to_be_one(hopper: twill.Machine) -> None:
    with pytest.raises(twill.InputError, match=r"the loop is for sm_100, not sm_90\)$"):
        static_schedule(twill.load_loop("fa_fwd_blackwell"), hopper)
