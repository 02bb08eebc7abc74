"""What is said of programs: their pace, bounds, and what would make them faster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import twill
from tests.support.commands import in_process
from tests.support.static import static_schedule
from twill.bounds.programs import program_bounds
from twill.explain.programs import (
    ProgramExplanation,
    ProgramLever,
    _changes,
    explain_program,
    program_levers,
)
from twill.frontends.schedules import load_schedule
from twill.search.request import Options
from twill.sim.engine import Conditions
from twill.sim.engine.record import Recording
from twill.sim.execute import simulate

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule


@pytest.fixture(scope="module")
def norm() -> Schedule:
    """Return the static schedule of a loop that registers and issue slots limit."""
    loop = twill.load_loop("layer_norm_hopper")
    machine = twill.Machine.named("hopper_h100")
    return static_schedule(loop, machine, options=Options(until="stages"))


@pytest.fixture(scope="module")
def explained(norm: Schedule) -> ProgramExplanation:
    """Return what is said of it."""
    return explain_program(norm)


def changed(schedule: Schedule, found: ProgramExplanation, name: str) -> Schedule:
    """Return the schedule with a change."""
    return dict(_changes(found.arguments))[name](schedule)


def test_the_interval_is_that_of_a_run(norm: Schedule, explained: ProgramExplanation) -> None:
    run = simulate(norm, Conditions(), Recording())
    assert explained.interval_cycles == run.measured_interval_cycles
    assert run.profile is not None
    assert explained.critical == run.profile.critical


def test_bounds_are_told_from_the_largest_down(
    norm: Schedule, explained: ProgramExplanation
) -> None:
    everything = program_bounds(norm.loop, norm.machine)
    assert explained.arguments == everything[:4]
    assert (explained.arguments[0].reason, explained.arguments[0].of) == ("issue slots", ("issue",))


@pytest.mark.parametrize(("unit", "figure"), [("issue", "issue slots"), ("shuffle", "work")])
def test_a_unit_is_twice_as_fast(
    norm: Schedule, explained: ProgramExplanation, unit: str, figure: str
) -> None:
    def cycles(schedule: Schedule) -> float:
        found = program_bounds(schedule.loop, schedule.machine)
        return next(float(a.cycles) for a in found if (a.reason, a.of) == (figure, (unit,)))

    faster = cycles(changed(norm, explained, f"{unit} twice as fast"))
    assert cycles(norm) / 2 <= faster <= cycles(norm) / 2 * 1.05  # steps are rounded up


def test_there_is_more_of_what_a_lever_names(norm: Schedule, explained: ProgramExplanation) -> None:
    machine = norm.machine
    assert changed(norm, explained, "no limit of registers").machine.registers is None
    smem, larger = machine.memories.smem, changed(norm, explained, "4 times the memory")
    assert smem is not None
    assert larger.machine.memories.smem == smem.model_copy(update={"capacity": 4 * smem.capacity})
    groups = changed(norm, explained, "one more warp group").machine
    assert sum(g.count for g in groups.groups) == sum(g.count for g in machine.groups) + 1
    assert groups.warps.value == machine.warps.value + 4
    signals = changed(norm, explained, "signals that take no time").machine.synchronisation
    assert signals.wait.value == signals.arrive.value == signals.hop.value == 0
    assert signals.named is None or signals.named.hop.value == 0


@pytest.mark.slow
@pytest.mark.sample
def test_levers_are_found_by_search(norm: Schedule, explained: ProgramExplanation) -> None:
    found = {lever.name: lever for lever in program_levers(norm, explained, simulations=1)}
    same = found["nothing changed, searched further"]
    assert same.interval_cycles == explained.interval_cycles
    assert same.gain == 0.0
    faster = found["shuffle twice as fast"]
    assert faster.interval_cycles is not None
    assert faster.gain is not None
    assert faster.bound_cycles <= faster.interval_cycles < explained.interval_cycles
    assert faster.gain == explained.interval_cycles / faster.interval_cycles - 1


def test_nothing_is_looked_for_where_the_bound_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twill.explain.programs.polish", None)
    hand = load_schedule("paper_example_by_hand")
    found = explain_program(hand)
    levers = list(program_levers(hand, found, simulations=9))
    assert {(lever.interval_cycles, lever.gain) for lever in levers[:5]} == {(2.0, 0.0)}


def test_an_interruption_tells_the_levers_until_then(
    norm: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def some(*_: object, **__: object) -> Iterator[ProgramLever]:
        yield ProgramLever("no limit of registers", 500.0, 446.0, 0.25)
        raise KeyboardInterrupt

    monkeypatch.setattr("twill.explain.programs.program_levers", some)
    file = tmp_path / "norm.json"
    norm.model_copy(update={"proof": None}).save(file)
    done = in_process("twill", "explain", str(file))
    assert "no limit of registers" in done.stdout
    assert done.stderr == "twill: interrupted; other changes were not looked at\n"
    assert done.returncode == 130
