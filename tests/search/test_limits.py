"""Questions that are cut short, and requests that cannot be met: honest bounds, and data."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.search.test_clock import ticking
from tests.support.commands import in_process
from tests.support.small import edge, op, small_loop, small_machine, tmem_of
from tests.support.static import static_schedule
from twill.artifacts.loop import Invariant, Tile
from twill.artifacts.proof import LowerBound
from twill.base.errors import Refusal
from twill.engines import NO_LIMITS, Answer, Engine, Limits, Question
from twill.engines.tuning import TUNING
from twill.engines.yices import DifferenceEngine
from twill.problem import Problem, build_problem
from twill.problem.costs import Reservation
from twill.search.request import Options
from twill.search.search import Found, least_interval, search

Knows = Callable[[int, int, Limits, bool], bool]


class Forgetful:
    """An engine that does not know some answers, as if its time had been over."""

    def __init__(self, engine: Engine, known: Callable[[Limits], bool]) -> None:
        self._engine, self._known = engine, known
        self.name = engine.name

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        return self._engine.solve(limits) if self._known(limits) else Answer("unknown")

    def dispose(self) -> None:
        self._engine.dispose()


def knowing(knows: Knows) -> Any:
    """Return a factory; `knows` sees interval, length, limits and whether a proof is asked for."""

    def factory(asked: Question) -> Forgetful:
        interval, length, explain = asked.interval, asked.length, asked.explain
        engine = DifferenceEngine(asked)
        return Forgetful(engine, lambda limits: knows(interval, length, limits, explain))

    return factory


@pytest.fixture
def tight() -> Problem:
    """On its only group the least interval is 4, one above the bounds."""
    operations = [op("a", "TC", asynchronous=True), op("b", "BUS"), op("c", "ALU", 3)]
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 1}, groups=((4, 1),))
    return build_problem(small_loop(operations, [edge("a", "b")]), machine)


def proved(found: Found) -> dict[str, bool]:
    return {level.level: level.proved for level in found.proof.levels}


def test_what_the_tight_loop_takes(tight: Problem) -> None:
    found = search(tight, DifferenceEngine)
    assert (found.interval, found.proof.bound.value) == (4, 4)
    assert all(proved(found).values())
    assert least_interval(tight, DifferenceEngine) == (4, True)


def test_an_unknown_refutation_leaves_the_bounds_open(tight: Problem) -> None:
    engine = knowing(lambda interval, _l, _n, explain: not (explain and interval == 3))
    found = search(tight, engine)
    bound = found.proof.bound
    assert (bound.value, found.interval, bound.reason) == (3, 4, "not proved")
    assert not any(proved(found).values())
    assert least_interval(tight, engine) == (4, False)


def test_unknown_answers_below_leave_a_schedule_above(tight: Problem) -> None:
    engine = knowing(lambda interval, _l, _n, _e: interval >= 6)
    found = search(tight, engine)
    assert (found.proof.bound.value, found.interval) == (3, 6)
    assert found.proof.bound.reason == "not proved"
    assert not proved(found)["interval"]


def test_unknown_lengths_are_not_said_to_be_proved(tight: Problem) -> None:
    engine = knowing(lambda _i, _l, limits, _e: limits.length is None)
    found = search(tight, engine)
    claims = proved(found)
    assert (claims["interval"], claims["stages"], claims["transfers"]) == (True, True, True)
    assert (claims["length"], claims["slack"]) == (False, False)


def test_a_level_below_one_that_is_open_is_open_too(tight: Problem) -> None:
    engine = knowing(lambda interval, length, _n, _e: interval < 4 or length > interval)
    claims = proved(search(tight, engine))
    assert claims.pop("interval")
    assert not any(claims.values())


def test_nothing_found_is_no_proof_that_there_is_nothing(tight: Problem) -> None:
    with pytest.raises(twill.RefusedError, match="does not mean that there is none") as caught:
        search(tight, knowing(lambda *_: False))
    assert caught.value.about == Refusal(least_interval=3)


def test_when_the_time_is_over_the_loop_as_it_is_written_is_left(tight: Problem) -> None:
    found = search(tight, DifferenceEngine, Options(timeout=1e-9))
    bound = found.proof.bound
    assert (bound.value, bound.reason, found.interval) == (3, "not proved", 5)
    assert not any(proved(found).values())
    start = found.assignment.start
    assert start[0] < start[1] < start[2]
    with pytest.raises(twill.RefusedError, match="does not mean that there is none"):
        least_interval(tight, DifferenceEngine, Options(timeout=1e-9))


def test_time_that_is_over_is_no_proof_either(tight: Problem) -> None:
    with pytest.raises(twill.RefusedError, match=r"no schedule was found within 1e-09 s") as caught:
        search(tight, knowing(lambda *_: False), Options(timeout=1e-9))
    assert caught.value.about == Refusal(least_interval=3, seconds=1e-9)


def test_a_schedule_that_only_the_prover_finds_counts(tight: Problem) -> None:
    found = search(tight, knowing(lambda _i, _l, _n, explain: explain))
    assert found.interval >= 4
    assert len(found.assignment.start) == 3


def test_with_delayed_reservations_every_interval_below_is_refuted() -> None:
    # u takes the unit at 0 and 2: in four slots it leaves v no two in a row, in five it does.
    loop = small_loop([op("u", "TC", 3), op("v", "TC", 2)])
    problem = build_problem(loop, small_machine())
    u, v = problem.operations
    twice = tuple(Reservation("TC", start, 1, 1) for start in (0, 2))
    problem = replace(problem, operations=(replace(u, reservations=twice), v))
    assert not problem.starts_at_issue
    found = search(problem, DifferenceEngine)
    bound = found.proof.bound
    assert (bound.value, found.interval, bound.reason) == (5, 5, "no joint schedule")
    assert proved(found)["interval"]
    found = search(problem, knowing(lambda interval, *_: interval != 4))
    assert (found.proof.bound.value, found.interval) == (4, 5)
    assert not proved(found)["interval"]
    # Who refuted 4 is named where 5 was left open.
    bound = search(problem, knowing(lambda interval, *_: interval != 5)).proof.bound
    assert (bound.value, bound.reason) == (5, "not proved")
    assert (bound.solver or "").startswith("Yices")
    assert bound.most_stages == 6


def test_registers_that_always_live_refute_an_interval_without_an_engine() -> None:
    loop = small_loop([op("a", "ALU", latency=20, registers=8)])
    machine = small_machine(registers=8, file=1024, least=8, groups=((4, 1),))
    bound = search(build_problem(loop, machine), DifferenceEngine).proof.bound
    assert bound == LowerBound(
        value=20,
        reason="no joint schedule",
        solver="relaxation",
        families=("dependence", "registers"),
        most_stages=6,
    )


def test_a_least_interval_is_not_proved_where_the_time_was_over(
    tight: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ticks, found in ((2, (4, False)), (3, (4, True))):
        ticking(monkeypatch)
        assert least_interval(tight, DifferenceEngine, Options(timeout=ticks)) == found


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"most_stages": 0}, "most_stages: a whole number of at least 1 (got 0)"),
        ({"most_stages": 1.5}, "most_stages: a whole number of at least 1 (got 1.5)"),
        ({"seed": -1}, "seed: a whole number up to 2147483647 (got -1)"),
        ({"seed": 1 << 31}, "seed: a whole number up to 2147483647 (got 2147483648)"),
        ({"timeout": 0}, "timeout: seconds above 0 (got 0)"),
        (
            {"until": "interval"},
            "until: one of stages, groups, transfers, length, slack (got 'interval')",
        ),
    ],
)
def test_options_that_no_engine_can_use_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(twill.InputError) as caught:
        Options(**options)
    assert str(caught.value) == told


def test_options_at_their_limits_are_options() -> None:
    Options(most_stages=1, seed=0, timeout=1e-9, until="stages")
    Options(seed=(1 << 31) - 1)


# -- requests that cannot be met -------------------------------------------------------------------


def refused(loop: twill.Loop, machine: twill.Machine, **options: Any) -> dict[str, Any]:
    with pytest.raises(twill.RefusedError) as caught:
        static_schedule(loop, machine, **options)
    data = caught.value.data
    assert data.pop("message") == str(caught.value)
    assert json.loads(json.dumps(data)) == data
    return data


def test_a_value_too_wide_says_by_how_much() -> None:
    loop = small_loop([op("a", "TC", registers=300)])
    assert refused(loop, small_machine(registers=255)) == {
        "families": ["registers"],
        "value": "a",
        "needed": 300,
        "limit": 255,
        "unit": "registers per thread",
    }


def test_a_value_too_large_says_by_how_much() -> None:
    loop = small_loop([op("a", "TC", memory="smem")])
    assert refused(loop, small_machine(smem=512)) == {
        "families": ["memory"],
        "value": "a",
        "needed": 1024,
        "limit": 512,
        "unit": "bytes of smem",
    }


def test_tensor_memory_is_counted_in_columns() -> None:
    machine = small_machine()
    data = machine.model_dump(mode="json", by_alias=True, exclude_none=True)
    data["memories"] = {"tmem": tmem_of(512)}
    machine = twill.Machine.from_json(json.dumps(data))
    tile = Tile(shape=(128, 640), dtype="f32", memory="tmem")
    loop = small_loop([op("a", "TC")]).model_copy(
        update={"invariants": (Invariant(name="q", tile=tile),)}
    )
    with pytest.raises(
        twill.RefusedError, match="need 640 columns of tmem; small has 512 columns"
    ) as caught:
        static_schedule(loop, machine)
    about = caught.value.about
    assert (about.needed, about.limit, about.unit) == (640, 512, "columns of tmem")


def test_contradictory_pins_name_their_family() -> None:
    loop = small_loop([op("a", "TC"), op("b", "ALU", variable_latency=True)], [edge("a", "b")])
    machine = small_machine()
    data = refused(loop, machine, pins={"a": "one", "b": "one"})
    assert "wishes" in data["families"]
    assert data["interval"] >= 1
    assert data["stages"] >= 6
    assert static_schedule(loop, machine, pins={"a": "one", "b": "two"}).initiation_interval == 1


def test_an_order_against_a_dependence_names_its_family() -> None:
    loop = small_loop([op("a", "TC"), op("b", "ALU")], [edge("a", "b")])
    assert "wishes" in refused(loop, small_machine(), orders=[("b", "a")])["families"]


def test_registers_that_a_limit_takes_away() -> None:
    operations = [op("a", "TC", registers=2), op("b", "ALU", registers=2)]
    operations.append(op("c", "BUS", working_set=2))
    loop = small_loop(operations, [edge("a", "c"), edge("b", "c")])
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 1}, registers=6)
    assert static_schedule(loop, machine).initiation_interval == 1
    data = refused(loop, machine, limits={"registers": 4})
    assert data["families"] == ["dependence", "registers"]
    assert (data["value"], data["needed"], data["limit"]) == ("a (2) and b (2)", 4, 4)


# -- the command -----------------------------------------------------------------------------------


def call(*command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return in_process("twill", *command, folder=folder)


@pytest.fixture
def too_wide(tmp_path: Path) -> Path:
    small_loop([op("a", "ALU", registers=200)]).save(tmp_path / "loop.json")
    machine = small_machine(registers=255)
    machine.save(tmp_path / "machine.json")
    return tmp_path


def test_a_refusal_is_data_with_json_and_a_line_without(too_wide: Path) -> None:
    command = ("schedule", "loop.json", "-m", "machine.json", "--limit", "registers=100")
    done = call(*command, folder=too_wide)
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        1,
        "it has a schedule with no --limit, of 1 cycles an iteration or more",
    )
    assert done.stderr == (
        "twill: small: the result of a needs 200 registers per thread; small has 100 of which 0 "
        "are reserved\n"
    )
    done = call(*command, "--json", folder=too_wide)
    assert (done.returncode, done.stderr) == (1, "")
    told = json.loads(done.stdout)["refused"]
    assert (told["value"], told["needed"], told["limit"]) == ("a", 200, 100)


def test_the_json_of_a_schedule_has_bounds_and_seconds() -> None:
    done = call("schedule", "paper_example", "-m", "paper_example", "--model", "paper", "--json")
    data = json.loads(done.stdout)
    assert data["interval_bounds"] == [2, 2]
    assert set(data["seconds"]) == {"interval", "levels", "total"}
    assert data["seconds"]["total"] >= data["seconds"]["interval"] >= 0
    assert (data["stages"], data["length"], len(data["groups"])) == (2, 4, 1)


def test_a_limit_of_time_ends_in_honest_bounds() -> None:
    done = call(
        "schedule",
        "attention_forward_hopper",
        "-m",
        "hopper_h100",
        "--model",
        "paper",
        "--timeout",
        "0.001",
        "--json",
    )
    assert done.returncode == 0
    told = json.loads(done.stdout)
    low, high = told["interval_bounds"]
    assert 2000 < low < high
    assert high == told["interval_cycles"]
    assert not any(told["proved"].values())


def test_a_limit_of_time_ends_in_a_refusal_where_no_schedule_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    budget = replace(TUNING.budget, last=0.1)  # nor of the loop as written
    monkeypatch.setattr("twill.search.search.TUNING", replace(TUNING, budget=budget))
    command = ("schedule", "attention_backward_hopper", "-m", "hopper_h100", "--timeout", "0.001")
    done = call(*command, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)["refused"]
    assert told["seconds"] == 0.001
    assert told["least_interval"] > 2000
    assert "which does not mean that there is none" in told["message"]
