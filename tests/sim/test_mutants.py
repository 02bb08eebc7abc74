"""Mistakes in programs: what numbers show to be wrong, the checks report."""

from __future__ import annotations

import json
import re

import pytest

from tests.sim.test_races import ring
from tests.support.mutants import mutants
from tests.support.mutate import main, program, study, summary
from tests.support.sampled import sampled
from twill.artifacts.program import Arrive, Await, Wait
from twill.artifacts.schedule import Schedule
from twill.frontends import packaged_loops
from twill.frontends.schedules import packaged_schedules
from twill.sim.checks.races import Races
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import StreamingMultiprocessor

LEAST_SHARE = 0.99


# -- mutants ----------------------------------------------------------------------------------


def test_every_wait_and_arrive_is_removed_once() -> None:
    schedule = ring()
    removed = [m for m in mutants(schedule) if m.kind.endswith("removed") and "slot" not in m.kind]
    bodies = [instruction for p in schedule.programs for instruction in p.body]
    waits = sum(isinstance(i, Wait | Await) for i in bodies)
    arrives = sum(isinstance(i, Arrive) for i in bodies)
    signals = sum(len(issue.signals) for p in schedule.programs for issue in p.issues)
    assert len(removed) == waits + arrives + signals == 5
    for mutant in removed:
        size = sum(len(p.body) for p in mutant.schedule.programs)
        assert size == len(bodies) - (0 if "load at load.full" in mutant.change else 1) or (
            "arrive of load" in mutant.change
        )


def test_mutants_are_all_different_and_none_is_the_program() -> None:
    schedule = ring()
    texts = [m.schedule.to_json() for m in mutants(schedule)]
    assert len({*texts, schedule.to_json()}) == len(texts) + 1
    kinds = {mutant.kind for mutant in mutants(schedule)}
    assert kinds == {
        "wait removed", "wait moved", "arrive removed", "arrive moved", "distance changed",
        "slot removed", "slot moved",
    }  # fmt: skip


# -- the checks against the numbers -----------------------------------------------------------


def judged(schedule: Schedule, runs: int, iterations: int, most: int | None = None) -> None:
    found = study(schedule, runs=runs, iterations=iterations, most=most)
    assert found.false_alarm is None
    assert len(found.harmful) >= 0.2 * len(found.verdicts)
    assert len(found.missed) <= (1 - LEAST_SHARE) * len(found.harmful), [
        verdict.change for verdict in found.missed
    ]


def test_checks_report_harmful_mistakes_in_a_ring() -> None:
    judged(ring(), runs=3, iterations=6)


def test_checks_report_harmful_mistakes_in_attention(attention_schedule: Schedule) -> None:
    judged(attention_schedule, runs=3, iterations=5, most=16)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", [*packaged_schedules(), "gemm_pointers_hopper", "fa_fwd_hopper"])
def test_checks_report_harmful_mistakes_in_packaged_programs(name: str) -> None:
    judged(program(name), runs=20, iterations=6)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["layer_norm_hopper", "online_softmax_hopper", "block_scaled_gemm_blackwell"]
)
def test_checks_report_harmful_mistakes_in_scheduled_loops(name: str) -> None:
    judged(program(name), runs=5, iterations=6, most=30)


@pytest.mark.parametrize(
    "name",
    sampled(
        [f"sequential:{n}" for n in packaged_loops() if "hopper" in n] + packaged_schedules()[::4],
        3,
    ),
)
def test_programs_without_a_mistake_raise_no_alarm(name: str) -> None:
    schedule = program(name)
    StreamingMultiprocessor(schedule, Conditions(iterations=4), [Races(schedule)]).run()


def test_a_deadlock_names_the_cycle_of_those_who_wait() -> None:
    schedule = ring()
    silent = [i for i in schedule.program("compute").body if not isinstance(i, Arrive)]
    programs = tuple(
        p.model_copy(update={"body": tuple(silent)}) if p.group == "compute" else p
        for p in schedule.programs
    )
    stuck = schedule.model_copy(update={"programs": programs})
    with pytest.raises(SimulationError) as raised:
        StreamingMultiprocessor(stuck, Conditions(iterations=6)).run()
    assert raised.value.kind == "deadlock"
    assert re.search(r"loader waits for load\.empty of iteration 0", raised.value.message)
    assert re.search(r"compute waits for load\.full of iteration 2", raised.value.message)


# -- what people see --------------------------------------------------------------------------


def test_the_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["paper_example_by_hand"], runs=1, iterations=4, most=None, seed=0, as_json=False)
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("mutants", "harmful", "reported", "100.0%"))
    main(["paper_example_by_hand"], runs=1, iterations=4, most=None, seed=0, as_json=True)
    (found,) = json.loads(capsys.readouterr().out)
    assert found["program"] == "paper_example_by_hand"
    assert found["false_alarm"] is None
    assert {"kind", "change", "harm", "reported", "message"} == set(found["verdicts"][0])


def test_a_row_counts_what_is_missed() -> None:
    found = study(ring(), runs=1, iterations=5, most=8)
    rows = summary([found, found])
    assert [row[0] for row in rows] == ["by hand", "by hand", "all"]
    assert (rows[0][1], rows[2][1]) == (8, 16)
    assert rows[2][2] == 2 * len(found.harmful)
