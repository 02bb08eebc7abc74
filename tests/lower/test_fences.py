"""Proxy fences: programs have those that they need, and both judges miss each that is left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import twill
from tests.support.programs import unsolved
from tests.support.pseudocode import Interpreter
from tests.support.small import edge, hand_made, op, small_loop, small_machine
from tests.support.static import static_schedule
from twill.artifacts.machine import Machine
from twill.artifacts.program import Arrive, Await, Barrier, Fence, Instruction, Issue, Storage, Wait
from twill.artifacts.schedule import Schedule
from twill.frontends import load_loop, packaged_loops
from twill.frontends.schedules import parse_schedule_ir
from twill.lower.baselines import multi_warp, sequential
from twill.lower.fences import with_fences
from twill.problem.groups import WarpGroup
from twill.show.code import code
from twill.show.ir import ir
from twill.sim.checks import check
from twill.sim.engine.events import SimulationError
from twill.verification.programs import _Fences, _meet, check_fences


def subject(name: str) -> tuple[twill.Loop, Machine]:
    return load_loop(name), Machine.named(packaged_loops()[name].machine)


def with_body(schedule: Schedule, number: int, body: tuple[Instruction, ...]) -> Schedule:
    """Return a schedule with another body for one of its programs."""
    programs = list(schedule.programs)
    programs[number] = programs[number].model_copy(update={"body": body})
    return schedule.model_copy(update={"programs": tuple(programs)})


def fences(schedule: Schedule) -> Iterator[tuple[int, int]]:
    """Yield the program and the position of every fence."""
    for number, program in enumerate(schedule.programs):
        for position, instruction in enumerate(program.body):
            if isinstance(instruction, Fence):
                yield number, position


def one_less(schedule: Schedule) -> Iterator[Schedule]:
    """Yield a schedule without each of its fences."""
    for number, position in fences(schedule):
        body = schedule.programs[number].body
        yield with_body(schedule, number, body[:position] + body[position + 1 :])


def bare(schedule: Schedule) -> Schedule:
    """Return a schedule without any fence."""
    for number, program in enumerate(schedule.programs):
        body = tuple(i for i in program.body if not isinstance(i, Fence))
        schedule = with_body(schedule, number, body)
    return schedule


def said_of_fences(schedule: Schedule) -> list[str]:
    return [v.message for v in twill.verify(schedule).violations if v.rule == "fences"]


def misses_a_fence(schedule: Schedule, iterations: int | None = None) -> bool:
    try:
        check(schedule, iterations=iterations)
    except SimulationError as error:
        if error.kind != "fence":
            raise
        return True
    return False


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("gemm_pointers_hopper", 1),
        ("linear_attention_blackwell", 2),
        *(
            pytest.param(name, count, marks=pytest.mark.slow)
            for name, count in (
                ("online_softmax_blackwell", 1),
                ("linear_attention_hopper", 2),
                ("attention_backward_d64_hopper", 2),
                ("fa_bwd_hopper", 3),
            )
        ),
    ],
)
def test_both_judges_miss_each_fence_of_a_solved_schedule(name: str, count: int) -> None:
    schedule = static_schedule(*subject(name))
    assert len(list(fences(schedule))) == count
    assert twill.verify(schedule).valid
    assert not misses_a_fence(schedule)
    for lacking in one_less(schedule):
        assert said_of_fences(lacking)
        assert misses_a_fence(lacking)


@pytest.mark.parametrize(
    ("make", "name", "count"),
    [
        (sequential, "fa_bwd_hopper", 2),
        (sequential, "gemm_pointers_blackwell", 1),
        (multi_warp, "online_softmax_hopper", 1),
    ],
)
def test_each_fence_of_a_naive_loop_is_missed(make: object, name: str, count: int) -> None:
    assert callable(make)
    schedule: Schedule = make(*subject(name))
    assert len(list(fences(schedule))) == count
    assert not misses_a_fence(schedule, 5)
    assert all(misses_a_fence(lacking, 5) for lacking in one_less(schedule))


def test_no_fence_stands_where_none_is_needed(paper_schedule: Schedule) -> None:
    assert not list(fences(paper_schedule))  # its machine says nothing of proxies
    # Products read what TMA wrote, which is behind the same proxy.
    assert not list(fences(multi_warp(*subject("fa_fwd_hopper"))))


def test_a_fence_takes_no_time_and_is_not_added_twice() -> None:
    schedule = staged()
    assert with_fences(schedule) == schedule
    assert with_fences(bare(schedule)) == schedule
    intervals = {twill.sim.run(s, iterations=16).total_cycles for s in (schedule, bare(schedule))}
    assert len(intervals) == 1


def staged() -> Schedule:
    """Return two tiles that one group writes, a product of another reads, and TMA stores."""
    loop = small_loop(
        [
            op("p", "ALU", 4, memory="smem"),
            op("q", "ALU", 4, memory="smem"),
            op("mma", "TC", 4, latency=6, asynchronous=True, issue=1, registers=8),
            op("store", "TMA", 4, asynchronous=True, issue=1),
        ],
        [edge("p", "mma"), edge("q", "store")],
    )
    machine = small_machine(
        {"ALU": 1, "TC": 1, "TMA": 1},
        groups=((4, 3),),
        hop=1,
        smem=65536,
        proxies=("TC", "TMA"),
    )
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    home = {"p": "left", "q": "left", "mma": "right", "store": "left"}
    return hand_made(loop, machine, 20, {"p": 0, "q": 4, "mma": 12, "store": 10}, home, groups)


def test_fences_are_written_down_and_read_back() -> None:
    schedule = multi_warp(*subject("online_softmax_hopper"))
    assert list(fences(schedule))
    assert parse_schedule_ir(ir(schedule)) == schedule
    text = code(schedule)
    assert "    fence()\n    arrive(x.load.empty" in text
    for iterations in (1, 2, 5):
        Interpreter(code(schedule, iterations), schedule, iterations, seed=0).run()


@pytest.mark.parametrize("stage", [0, 1])
def test_both_judges_agree_wherever_two_fences_stand(stage: int) -> None:
    schedule, fence = bare(staged()), Fence(stage=stage)
    places = [
        (number, position)
        for number, program in enumerate(schedule.programs)
        for position in range(len(program.body) + 1)
    ]
    valid = 0
    for (number, position), (other, place) in itertools.combinations(places, 2):
        body = schedule.programs[number].body
        one = with_body(schedule, number, (*body[:position], fence, *body[position:]))
        body = one.programs[other].body
        both = with_body(one, other, (*body[:place], fence, *body[place:]))
        assert bool(said_of_fences(both)) == misses_a_fence(both, 5), both.programs
        valid += not said_of_fences(both)
    assert (valid > 0) == (stage == 0)


def test_a_fence_of_the_reader_behind_its_wait_will_do() -> None:
    schedule = staged()
    writer, reader = (program.body for program in schedule.programs)
    first = next(n for n, i in enumerate(writer) if isinstance(i, Fence))
    lacking = with_body(schedule, 0, writer[:first] + writer[first + 1 :])
    assert said_of_fences(lacking) == [
        "p writes p in shared memory, mma reads p there by a proxy, and no fence between"
    ]
    behind = with_body(lacking, 1, (reader[0], Fence(), *reader[1:]))
    assert not said_of_fences(behind)
    assert not misses_a_fence(behind)
    ahead = with_body(lacking, 1, (Fence(), *reader))
    assert said_of_fences(ahead)
    assert misses_a_fence(ahead)


def test_a_load_over_a_staging_needs_a_fence_behind_put_and_get() -> None:
    loop = small_loop(
        [
            op("a", "ALU", 4, registers=2, transfer=4),
            op("b", "ALU", 4),
            op("load", "TMA", 4, asynchronous=True, memory="smem", issue=1),
        ],
        [edge("a", "b"), edge("b", "load", kind="order")],
    )
    machine = small_machine(
        {"ALU": 1, "TMA": 1}, groups=((4, 3),), hop=1, smem=65536, proxies=("TMA",)
    )
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    home = {"a": "left", "b": "right", "load": "right"}
    schedule = hand_made(loop, machine, 30, {"a": 0, "b": 12, "load": 18}, home, groups)
    assert not list(fences(schedule))
    over = [
        s.model_copy(update={"addresses": (0,)} if s.addresses else {}) for s in schedule.storage
    ]
    shared = with_fences(schedule.model_copy(update={"storage": tuple(over)}))
    assert [shared.programs[n].group for n, _ in fences(shared)] == ["left", "right"]
    assert not said_of_fences(shared)
    for lacking, who in zip(one_less(shared), ("put of a writes", "get of a reads"), strict=True):
        assert said_of_fences(lacking) == [
            f"{who} a in shared memory, load writes load there by a proxy, and no fence between"
        ]


def by_hand(
    programs: dict[str, list[Instruction]], barriers: tuple[Barrier, ...] = ()
) -> list[str]:
    """Return what is said of programs in which a product reads what a copy of warps brings."""
    loop = small_loop(
        [
            op("copy", "ALU", asynchronous=True, memory="smem"),
            op("mma", "TC", asynchronous=True),
        ],
        [edge("copy", "mma")],
    )
    machine = small_machine({"ALU": 1, "TC": 1}, groups=((4, 2),), proxies=("TC",))
    schedule = unsolved(loop, machine, programs, barriers)
    shared = Storage(value="copy", memory="smem", slots=1, size=1024)
    return list(check_fences(schedule.model_copy(update={"storage": (shared,)})))


@pytest.mark.parametrize(("address", "meet"), [
    (0, False), (1, True), (1024, True), (2047, True), (2048, False),
])  # fmt: skip
def test_places_side_by_side_do_not_meet(address: int, meet: bool) -> None:
    mine, other = (
        Storage(value=name, memory="smem", slots=1, size=1024, addresses=(at,))
        for name, at in (("a", 1024), ("b", address))
    )
    assert _meet(mine, other) is _meet(other, mine) is meet


COPY, MMA, DONE = Issue(operation="copy"), Issue(operation="mma"), Await(operation="copy")
UNFENCED = (
    "copy writes copy in shared memory, mma reads copy there by a proxy, and no fence between"
)


@pytest.mark.parametrize(("body", "said"), [
    ([COPY, DONE, Fence(), MMA], []), ([COPY, Fence(), DONE, MMA], [UNFENCED]),
])  # fmt: skip
def test_a_fence_follows_the_end_of_a_copy_and_not_its_issue(
    body: list[Instruction], said: list[str]
) -> None:
    assert by_hand({"all": body}) == said


def test_between_a_fence_and_what_it_is_for_others_may_stand() -> None:
    full = Barrier(name="full", slots=1)
    left: list[Instruction] = [COPY, DONE, Arrive(barrier="full")]
    for between, said in (([Fence(stage=1)], []), ([Wait(barrier="full")], [UNFENCED])):
        right = [Wait(barrier="full"), Fence(), *between, MMA]
        assert by_hand({"left": left, "right": right}, (full,)) == said


@pytest.mark.parametrize(("kind", "said"), [(None, []), ("named", [UNFENCED])])
def test_who_waits_at_a_named_barrier_tells_the_others_and_at_an_mbarrier_does_not(
    kind: Any, said: list[str]
) -> None:
    meet, full = Wait(barrier="meet"), Wait(barrier="full")
    barriers = (Barrier(name="meet", slots=1, kind=kind), Barrier(name="full", slots=1))
    left: list[Instruction] = [COPY, DONE, meet, Fence(), Arrive(barrier="full")]
    assert by_hand({"left": left, "right": [meet, full, MMA]}, barriers) == said


@pytest.mark.parametrize("told", [False, True])
def test_bytes_that_arrive_make_nothing_else_visible(told: bool) -> None:
    """A group writes a tile, then loads another; who waits for the load alone may not see the tile.

    Triton's ConSan calls it precise write tracking: a load's barrier carries what the load wrote.
    """
    loop = small_loop(
        [
            op("tile", "ALU", 4, memory="smem"),
            op("load", "TMA", 4, latency=40, asynchronous=True, memory="smem"),
            op("use", "ALU", 4, registers=8),
        ],
        [edge("tile", "use"), edge("load", "use")],
    )
    machine = small_machine({"ALU": 1, "TMA": 1}, groups=((4, 2),), proxies=("TMA",))
    schedule = unsolved(
        loop,
        machine,
        {
            "left": [
                Wait(barrier="read", distance=1),
                Issue(operation="tile"),
                Await(operation="tile"),
                *([Arrive(barrier="written")] if told else []),
                Issue(operation="load", signals=("full",)),
            ],
            "right": [
                *([Wait(barrier="written")] if told else []),
                Wait(barrier="full"),
                Issue(operation="use"),
                Fence(),
                Arrive(barrier="read"),
            ],
        },
        (*(Barrier(name=name, slots=1) for name in ("written", "full", "read")),),
    )
    shared = [Storage(value=name, memory="smem", slots=1, size=1024) for name in ("tile", "load")]
    registers = Storage(value="use", memory="registers", group="right", slots=1, size=8)
    schedule = schedule.model_copy(update={"storage": (*shared, registers)})
    if told:
        check(schedule)
    else:
        with pytest.raises(SimulationError) as caught:
            check(schedule)
        assert str(caught.value) == (
            "visibility: use of iteration 0 reads tile in smem slot 0, which tile of iteration 0 "
            "writes; the two are in order only by bytes that TMA delivered, which make nothing "
            "else visible"
        )


@pytest.mark.parametrize("before", [0, 1, 2])
def test_who_tells_first_in_the_next_round_has_not_fenced(before: int) -> None:
    """The access is followed by nothing that tells until the same place comes again."""
    schedule = staged()
    fences = _Fences(schedule)
    others: list[Instruction] = [Issue(operation=name, stage=0) for name in ("x", "y", "z")]
    tells = Arrive(barrier=schedule.barriers[0].name, stage=1)
    body: list[Instruction] = [*others[:before], tells, *others[before:]]
    for position in range(len(body)):
        assert not fences._fences_next(body, position, 0, "nobody")
    fenced: list[Instruction] = [*others[:before], Fence(stage=1), tells, *others[before:]]
    for position in range(before + 2, len(fenced)):
        assert fences._fences_next(fenced, position, 0, "nobody")
