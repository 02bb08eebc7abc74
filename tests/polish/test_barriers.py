"""Programs with fewer barriers: the changes, and checks that tell right ones from wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.static import static_schedule
from twill.artifacts.machine import Machine
from twill.artifacts.program import Arrive, Await, Instruction, Issue, Program
from twill.artifacts.schedule import Schedule
from twill.emit import emitted
from twill.frontends import load_loop
from twill.frontends.schedules import load_schedule
from twill.polish import Judge, fewer_barriers
from twill.polish.barriers import Awaits
from twill.sim.checks import check
from twill.sim.emulator import emulate
from twill.verification import verify

HOPPER = {
    "a0.empty": "",  # the group that reads a0 reads b later, and b is waited for first
    "a1.empty": "race",
    "b.empty": "race",
    "c0.issued c1.issued": "",
    "a0.empty a0.full a1.empty a1.full": "",
    "a0.empty a0.full b.empty b.full": "",
    "a1.empty a1.full b.empty b.full": "",
}
"""What each change to a product of two tiles takes away, and what is wrong then."""


def static(name: str, machine: str) -> Schedule:
    schedule = static_schedule(load_loop(name), Machine.named(machine))
    bare = [one.model_copy(update={"start": None}) for one in schedule.placements]
    none = dict.fromkeys(("initiation_interval", "length", "stages", "proof"))
    return schedule.model_copy(update={**none, "placements": tuple(bare)})


def names(schedule: Schedule) -> set[str]:
    return {barrier.name for barrier in schedule.barriers}


@pytest.fixture(scope="module")
def product() -> Schedule:
    return static("gemm_two_tiles_hopper", "hopper_h100")


def changed(schedule: Schedule) -> dict[str, Schedule]:
    """Return programs by the barriers that they lack."""
    return {" ".join(sorted(names(schedule) - names(one))): one for one in fewer_barriers(schedule)}


def test_a_needed_barrier_is_missed_and_others_are_not(product: Schedule) -> None:
    found = {what: Judge.objection(one) for what, one in changed(product).items()}
    assert {what: said.partition(":")[0] for what, said in found.items()} == HOPPER


@pytest.mark.parametrize(
    ("name", "machine"),
    [("gemm_two_tiles_hopper", "hopper_h100"), ("gemm_two_tiles_blackwell", "blackwell_b200")],
)
def test_programs_that_no_check_objects_to_are_valid_and_compute_the_same(
    name: str, machine: str
) -> None:
    schedule = static(name, machine)
    right = [one for one in fewer_barriers(schedule) if not Judge.objection(one)]
    assert len(right) >= 3
    for one in right:
        assert verify(one).valid
        assert check(one, values=True).right


def test_a_group_waits_at_the_first_place_and_arrives_at_the_last(product: Schedule) -> None:
    merged = changed(product)["a0.empty a0.full b.empty b.full"]
    loads, first, second = (
        [str(getattr(part, "barrier", getattr(part, "operation", ""))) for part in program.body]
        for program in merged.programs
    )
    assert loads.count("a0.b.empty") == 1
    assert loads.index("a0.b.empty") < min(loads.index("a0"), loads.index("b"))
    for group in (first, second):
        assert group.count("a0.b.full") == group.count("a0.b.empty") == 1
    (ring,) = (one for one in merged.barriers if one.name == "a0.b.full")
    assert (ring.arrivals, ring.slots) == (2, 2)
    wrong = tuple(
        one.model_copy(update={"arrivals": 1}) if one is ring else one for one in merged.barriers
    )
    assert Judge.objection(merged.model_copy(update={"barriers": wrong}))


@pytest.mark.parametrize("how", [{"kind": "named"}, {"transactions": True}])
def test_barriers_of_other_kinds_are_not_merged(product: Schedule, how: dict[str, Any]) -> None:
    other = tuple(
        one.model_copy(update=how if one.name == "b.full" else {}) for one in product.barriers
    )
    merged = changed(product.model_copy(update={"barriers": other}))
    assert "a0.empty a0.full a1.empty a1.full" in merged
    assert not any("b.full" in what for what in merged)


def test_awaits_that_only_an_arrival_needed_go_or_stay_for_another_reader() -> None:
    schedule = load_schedule("fa3_forward_128x128_no_overlap")
    without = [
        one for one in fewer_barriers(schedule) if names(schedule) - names(one) == {"K.empty"}
    ]
    counts = [
        sum(isinstance(one, Await) for program in each.programs for one in program.body)
        for each in (schedule, *without)
    ]
    assert [count - counts[0] for count in counts] == [0, -2, 0]


def test_an_await_of_what_the_next_iteration_reads_stands_before_a_later_one(
    product: Schedule,
) -> None:
    issues = [Issue(operation=name) for name in ("c0", "c1", "b")]
    waits = [Await(operation=name) for name in ("c0", "c1")]
    arrive = Arrive(barrier="a0.empty")
    body: tuple[Instruction, ...] = (*issues[:2], waits[0], arrive, issues[2], waits[1])
    awaits = Awaits(product, {"a0.empty"})
    found = awaits.without(Program(group="compute0", body=body))
    assert found.body == (*issues, *waits)
    same = Program(group="compute0", body=(issues[0], waits[0], arrive, issues[1]))
    assert awaits.without(same).body == (issues[0], waits[0], issues[1])  # nothing implies it


@pytest.mark.parametrize("what", ["a0.empty a0.full b.empty b.full", "c0.issued c1.issued"])
def test_their_kernels_compute_the_same(product: Schedule, what: str, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(emitted(changed(product)[what]))
    assert emulate(file, iterations=[3, 5], victims=False).passed
