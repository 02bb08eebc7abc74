"""Programs spelled out: pseudo-code that runs, data that the simulator executes, any trip count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.pseudocode import BrokenError, Interpreter, value_of
from tests.support.small import tight_loop
from tests.support.static import static_schedule
from tests.support.unrolled import unrolled
from twill.artifacts.program import Arrive
from twill.frontends.schedules import load_schedule
from twill.show.code import code, program_data
from twill.sim.engine import Conditions
from twill.sim.engine.events import Arrived, Handlers, SimulationError, Waited
from twill.sim.engine.sm import StreamingMultiprocessor

ROOT = Path(__file__).parents[2]
# The paper's Figure 1f. Registers are renamed by `S = S_next`, its `S = Sn`; the loop's bounds are
# written out; exp is exp2 in the loop's file.
FIGURE_1F = """\
O = zeros()
// Prologue.
S = gemm(Q, K[0])
// Steady State.
for i:
  Sn = gemm(Q, K[i])
  P = exp(S)
  O += gemm(P, V[i-1])
  S = Sn
// Epilogue.
P = exp(S)
O += gemm(P, V[n-1])
"""
ORDERS = ("fa3_forward_128x128_parts", "fa4_forward", "paper_example_by_hand")


@pytest.fixture(scope="module")
def gemm_schedule(hopper: twill.Machine) -> twill.Schedule:
    return static_schedule(twill.load_loop("gemm_two_tiles_hopper"), hopper)


@pytest.fixture(scope="module")
def attention_schedule() -> twill.Schedule:
    return load_schedule(str(ROOT / "docs" / "reading" / "fa_fwd_hopper.mlir"))


def interpret(text: str, schedule: twill.Schedule, iterations: int, seeds: int = 2) -> None:
    for seed in range(seeds):
        Interpreter(text, schedule, iterations, seed).run()


def trip_counts(schedule: twill.Schedule) -> range:
    last = max(program.last_stage for program in schedule.programs)
    return range(1, 3 * (last + 1) + 1)


def test_the_running_example_is_figure_1f(paper_schedule: twill.Schedule) -> None:
    lines = code(paper_schedule).partition("group compute0: 4 warps\n")[2].splitlines()
    ours = [line.removeprefix("  ") for line in lines if not line.strip().startswith("await(")]
    figure = FIGURE_1F.replace("Sn", "S_next").replace("exp(", "exp2(").replace("State.", "state.")
    assert ours == figure.replace("for i:", "for i in range(1, n):").splitlines()


def test_the_running_examples_waits(paper_schedule: twill.Schedule) -> None:
    waits = [line.strip() for line in code(paper_schedule).splitlines() if "  await(" in line]
    assert waits == ["await(S, i-1)", "await(O, i-2)", "await(S, n-1)", "await(O, n-2)"]


def test_pseudo_code_of_solved_schedules_runs_for_any_trip_count(
    paper_schedule: twill.Schedule,
    gemm_schedule: twill.Schedule,
    attention_schedule: twill.Schedule,
) -> None:
    for schedule in (paper_schedule, gemm_schedule, attention_schedule):
        text, least = code(schedule), program_data(schedule)["least_iterations"]
        for iterations in trip_counts(schedule):
            interpret(code(schedule, iterations), schedule, iterations)
            if iterations >= least:
                interpret(text, schedule, iterations)


def test_pseudo_code_of_attention_on_blackwell_runs_for_any_trip_count() -> None:
    schedule = load_schedule(str(ROOT / "docs" / "reading" / "fa_fwd_blackwell.mlir"))
    text = code(schedule)
    for iterations in (1, 2, 4):
        interpret(code(schedule, iterations), schedule, iterations, seeds=3)
        if iterations > 1:
            interpret(text, schedule, iterations, seeds=3)


@pytest.fixture(scope="module")
def releasing() -> twill.Schedule:
    """Return the schedule of a loop with a value that only the next iteration reads, elsewhere."""
    schedule = static_schedule(*tight_loop(38))
    released = [i for i in schedule.program("load").body if isinstance(i, Arrive) and i.distance]
    assert [(i.barrier, i.distance) for i in released] == [("o7.empty", 1)]
    return schedule


def test_nothing_overtakes_a_parity(releasing: twill.Schedule) -> None:
    """A release too many at the end, which nothing keeps behind the wait before it, deadlocks.

    The next-to-last release could be missed otherwise: an mbarrier that is two phases ahead looks
    as if it were none ahead.
    """
    text = code(releasing)
    group = text[text.index("group load") : text.index("group compute0")]
    assert "arrive(o7.empty)" in group.partition("// Steady")[2].partition("// Epilogue")[0]
    end = group.partition("// Epilogue.\n")[2]
    assert end.count("arrive(o7.empty)") == 1
    for iterations in (1, 2, 4):
        interpret(code(releasing, iterations), releasing, iterations, seeds=3)
        if iterations > 1:
            interpret(text, releasing, iterations, seeds=3)
    broken = text[: text.index("group compute0")].rstrip() + "\n  arrive(o7.empty)\n\n"
    broken += text[text.index("group compute0") :]
    with pytest.raises(BrokenError, match="deadlock"):
        interpret(broken, releasing, 2, seeds=3)


def test_the_simulator_says_what_a_release_too_many_does(releasing: twill.Schedule) -> None:
    options: dict[str, Any] = {"iterations": 9, "latency": "uniform:100,9000", "seed": 1}
    twill.sim.run(releasing, **options)
    always = tuple(
        program.model_copy(
            update={
                "body": tuple(
                    i.model_copy(update={"stage": i.stage + i.distance, "distance": 0})
                    if isinstance(i, Arrive)
                    else i
                    for i in program.body
                )
            }
        )
        for program in releasing.programs
    )
    with pytest.raises(SimulationError, match=r"compute0 waits at o7\.empty slot 0"):
        twill.sim.run(releasing.model_copy(update={"programs": always}), **options)


@pytest.mark.parametrize("name", ORDERS)
def test_pseudo_code_of_orders_runs_for_any_trip_count(name: str) -> None:
    schedule = twill.load_schedule(name)
    text = code(schedule)
    for iterations in (1, 2, 5):
        interpret(code(schedule, iterations), schedule, iterations, seeds=2)
        interpret(text, schedule, iterations, seeds=2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    await(S, i-1)\n", ""),
        ("    S = S_next\n", ""),
        ("P = exp2(S)\n    O", "P = exp2(S_next)\n    O"),
        ("V[i-1]", "V[i]"),
        ("    await(O, i-2)\n", ""),
        ("  O = zeros()\n", ""),
    ],
)
def test_the_interpreter_finds_mistakes(paper_schedule: twill.Schedule, old: str, new: str) -> None:
    text = code(paper_schedule)
    assert old in text
    with pytest.raises(BrokenError):
        interpret(text.replace(old, new, 1), paper_schedule, 6, seeds=12)


@pytest.mark.parametrize("old", ["    wait(k.empty", "    arrive(k.empty", "    wait(v.full",
                                 "    await(o1"])  # fmt: skip
def test_the_interpreter_finds_missing_signals(
    attention_schedule: twill.Schedule, old: str
) -> None:
    lines = code(attention_schedule).splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith(old))
    with pytest.raises(BrokenError):
        interpret("\n".join(lines[:first] + lines[first + 1 :]), attention_schedule, 9, seeds=12)


class Log:
    """What every group waits for and arrives at."""

    def __init__(self) -> None:
        self.groups: dict[str, list[tuple[str, str, int]]] = {}
        verbs = {"barrier": "wait", "completion": "await"}
        self.handlers: Handlers = {
            Waited: lambda event: self._add(event, (verbs[event.kind], event.subject)),
            Arrived: lambda event: self._add(event, ("arrive", event.barrier)),
        }

    def _add(self, event: Waited | Arrived, what: tuple[str, str]) -> None:
        if event.group and event.warp == 0:
            self.groups.setdefault(event.group, []).append((*what, event.iteration))


def signals(steps: Iterator[tuple[dict[str, Any], int]]) -> list[tuple[str, str, int]]:
    kinds = {"wait": "barrier", "arrive": "barrier", "await": "operation"}
    return [(s["do"], s[kinds[s["do"]]], of) for s, of in steps if s["do"] in kinds]


def executed(steps: list[dict[str, Any]], i: int, n: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the steps of a round that have an iteration, with its number."""
    names = {"i": i, "n": n}
    for step in steps:
        if value_of(step.get("when", "True"), names):
            for part in step.get("parts", [step]):
                iteration = value_of(str(part.get("iteration", -1)), names)
                if iteration >= 0:
                    yield part, iteration


def flat(group: dict[str, Any], n: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the steps of a group's program as they come, with the iterations concerned."""
    for of_round in group["prologue"]:
        yield from executed(of_round["steps"], 0, n)
    if (steady := group["steady_state"]) is not None:
        for i in range(steady["first"], n if steady["end"] == "n" else steady["end"]):
            yield from executed(steady["steps"], i, n)
    for of_round in group["epilogue"]:
        yield from executed(of_round["steps"], 0, n)


@pytest.mark.parametrize("name", ["paper", "gemm", "fa4_forward"])
def test_data_unrolled_program_and_simulation_are_one(
    paper_schedule: twill.Schedule, gemm_schedule: twill.Schedule, name: str
) -> None:
    known = {"paper": paper_schedule, "gemm": gemm_schedule}
    schedule = known.get(name) or twill.load_schedule(name)
    for iterations in trip_counts(schedule):
        log = Log()
        sm = StreamingMultiprocessor(schedule, Conditions(iterations=iterations), (log,))
        sm.run()
        for open_ended in (True, False):
            data = program_data(schedule, None if open_ended else iterations)
            if open_ended and iterations < data["least_iterations"]:
                continue
            for group in json.loads(json.dumps(data))["groups"]:
                steps = list(flat(group, iterations))
                assert signals(iter(steps)) == log.groups.get(group["group"], []), iterations
                program = schedule.program(group["group"])
                ends = [
                    (part.operation, of) for part, of in unrolled(program, iterations)
                    if part.do == "issue" and part.last
                ]  # fmt: skip
                assert ends == [
                    (step["operation"], of) for step, of in steps
                    if step["do"] == "issue"
                    and step.get("cycles", {"end": 0, "of": 0})["end"]
                    == step.get("cycles", {"of": 0})["of"]
                ]  # fmt: skip


def test_refusals(paper_schedule: twill.Schedule) -> None:
    with pytest.raises(twill.InputError, match="iterations: at least 1"):
        code(paper_schedule, 0)
    bare = paper_schedule.model_copy(update={"programs": ()})
    with pytest.raises(twill.InputError, match="programs: no group has a program"):
        code(bare)
