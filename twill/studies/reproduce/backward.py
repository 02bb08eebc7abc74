"""Attention backward: registers, groups, and iterations that overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from twill.artifacts.schedule import Schedule
from twill.bounds import bounds
from twill.explain.levers import on_faster_unit
from twill.problem import Problem
from twill.studies.reproduce.claims import Case, Judged, ask, ask_in_turn, least, wished
from twill.studies.reproduce.strategy import MOST, Strategy, executed, percent

BACKWARD_HOPPER, BACKWARD_BLACKWELL = "fa_bwd_hopper", "fa_bwd_blackwell"
FEW_REGISTERS = 176  # registers per thread of the reduced budget
REDUCED_SHARE = 1 / 2  # part of the limit of time for a question about so few registers
BACKWARD_HOPPER_CLAIMS = {
    "solved": "the joint problem is solved: least interval proved",
    "within": "operations overlap inside an iteration",
    "across": "no overlap across iterations",
    "registers": "the register limit is the cause",
}
BACKWARD_BLACKWELL_CLAIMS = {
    "solved": "the joint problem is solved: least interval proved",
    "two": "two compute groups, both with exponentials",
    "alternate": "the two alternate exponentials and staging of the reduction",
    "three": "with fewer registers per thread, three compute groups",
    "modulo": "the joint interval is above the pure modulo interval",
}


def hopper_backward(case: Case) -> None:
    """Judge attention backward on Hopper."""
    schedule = case.solved(BACKWARD_HOPPER, until="transfers")
    case.judge_solution("solved", schedule, 88.0)
    joint = case.simulated("joint", schedule, f"{BACKWARD_HOPPER} joint")
    program, polished = case.polished(BACKWARD_HOPPER)
    found, does = Strategy(schedule), Strategy(program, executed(program))
    case.judge_both("within", _within(found), _within(does))
    alone = case.solved(BACKWARD_HOPPER, until="stages", limits={"stages": 1})
    one, proved = alone.initiation_interval or 0, bool(alone.proof and alone.proof.levels[0].proved)
    case.metrics[f"{BACKWARD_HOPPER} interval, one stage (cycles)"] = one
    taken = case.simulated("joint, one stage", alone)
    interval = schedule.initiation_interval or 0
    case.judge_both(
        "across",
        _across(found, f"; {schedule.stages} stages"),
        _across(does, f"; {polished:g} cycles, {_most_live(program)} registers live"),
        f"In our model overlap pays and fits: with one stage the least interval is {one} "
        f"cycles{'' if proved else ' (not proved)'}, with {schedule.stages} it is {interval}. The "
        f"simulated SM agrees: {taken:g} cycles with one, {joint:g} with {schedule.stages}. "
        f"Groups have at most {_most_live(schedule)} registers per thread live.",
    )
    kernels = {"joint": schedule, "joint, one stage": alone, "polished": program}
    case.compile("across", kernels)

    def chosen(judge: Callable[[Strategy], Judged]) -> Callable[[Schedule], Judged]:
        return lambda best: judge(Strategy(best, executed(best)))

    judges = {"within": chosen(_within), "across": chosen(lambda does: _across(does, ""))}
    case.judge_chosen(BACKWARD_HOPPER, judges)
    _judge_registers(case, interval)


def _within(found: Strategy) -> Judged:
    shares = [found.under_others[t] + found.under_own[t] for t in found.under_own]
    told = "exponentials under GEMMs: " + ", ".join(percent(min(1.0, s)) for s in shares)
    return told, found.features["exponentials under products"]


def _across(found: Strategy, more: str) -> Judged:
    crossing = ", ".join(found.crossing) or "none"
    return f"groups whose iterations overlap: {crossing}{more}", not found.crossing


def _judge_registers(case: Case, interval: int) -> None:
    """Judge whether registers keep one stage from the interval that two have."""
    seconds, problem = case.settings.timeout, wished(BACKWARD_HOPPER, stages=1)
    asked = ask(problem, interval, 1, seconds)
    free = ask(replace(problem, registers=None), interval, 1, seconds).said
    core = ", ".join(asked.core) or "not named"
    case.judge(
        "registers",
        f"one stage at I = {interval}: {asked.said}; without any limit of registers: {free}",
        passed="registers" in asked.core,
        reason=f"What keeps an iteration from fitting into {interval} cycles is {core}: its own "
        "chain of GEMMs and exponentials is longer than the busiest unit's work, with however many "
        f"registers ({free} at {interval} without a limit). Overlap across iterations closes that "
        "gap, and its values fit the registers as our rules count them.",
    )


def _most_live(schedule: Schedule) -> int:
    return max(group.registers_live or 0 for group in schedule.groups)


def blackwell_backward(case: Case) -> None:
    """Judge attention backward on Blackwell."""
    schedule = case.solved(BACKWARD_BLACKWELL, until="groups")
    case.judge_solution("solved", schedule, 269.0)
    case.simulated("joint", schedule, f"{BACKWARD_BLACKWELL} joint")
    program, _ = case.polished(BACKWARD_BLACKWELL)
    _judge_two(case, schedule, Strategy(program, executed(program)))
    case.compile("two", {"joint": schedule, "polished": program})
    _judge_three(case, schedule)
    _judge_modulo(case, schedule)


def _judge_modulo(case: Case, schedule: Schedule) -> None:
    """Judge whether warps cost anything, and whether they would with another unit in the way."""
    problem = wished(BACKWARD_BLACKWELL)
    modulo = bounds(problem).interval
    interval = schedule.initiation_interval or 0
    case.metrics[f"{BACKWARD_BLACKWELL} modulo interval (cycles)"] = modulo
    unit = schedule.proof.bound.unit if schedule.proof else None
    case.judge(
        "modulo",
        f"joint I = {interval} cycles, bound of the pure modulo schedule {modulo}",
        passed=interval > modulo,
        reason=f"One iteration keeps the unit {unit} busy for all {modulo} cycles: with sub-tiles "
        "of 64 rows every GEMM reads its shared factor again, so that shared memory, not warps or "
        "registers, sets the pace, and the joint problem has a schedule at that very interval. "
        + (_if_faster(case, problem, unit) if unit else ""),
    )


def _if_faster(case: Case, problem: Problem, unit: str) -> str:
    """Say what bound and joint interval would be with the busiest unit twice as fast."""
    case.report(f"{BACKWARD_BLACKWELL} with {unit} twice as fast")
    faster = on_faster_unit(problem, unit)
    bound = bounds(faster)
    interval, proved = least(faster, case.settings.timeout)
    return (
        f"With {unit} twice as fast the bound is {bound.interval} ({bound.resource_unit}), and the "
        f"joint interval {interval}{'' if proved else ' at most'}."
    )


def _judge_two(case: Case, schedule: Schedule, does: Strategy) -> None:
    found = Strategy(schedule)
    reason = "With the tensor memory of the whole kernel counted, the least interval takes "
    reason += f"{schedule.stages} stages and {len(schedule.groups)} groups."
    case.judge_both("two", _two(found), _two(does), reason)
    case.judge_both(
        "alternate",
        _alternate(found),
        _alternate(does),
        "The sub-tiles of 64 keys add up to one tile of the reduction, which one operation "
        "takes from tensor memory to shared memory: one group does it in every iteration, so "
        "that there is nothing to take turns with.",
    )


def _softmax(found: Strategy) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the groups that do not load with their roles, and those among them with softmax."""
    compute = {g: r for g, r in found.groups.items() if "load" not in r}
    return compute, [g for g, rs in compute.items() if any(r.startswith("softmax") for r in rs)]


def _two(found: Strategy) -> Judged:
    compute, softmax = _softmax(found)
    told = "; ".join(f"{group}: {', '.join(roles)}" for group, roles in compute.items())
    return told, len(compute) == len(softmax) == 2


def _alternate(found: Strategy) -> Judged:
    compute, softmax = _softmax(found)
    staging = [group for group, roles in compute.items() if "staging" in roles]
    shares = ", ".join(map(percent, found.under_others.values()))
    told = f"staging on {' and '.join(staging)}; exponentials under the other sub-tile's GEMMs: "
    told += f"{shares} (at least {percent(MOST)} on average)"
    alternates = len(softmax) == 2 and set(staging) == set(softmax)
    return told, alternates and found.features["exponentials under other sub-tiles' products"]


def _judge_three(case: Case, schedule: Schedule) -> None:
    """Judge whether a third compute group makes up for registers, given a stage more."""
    interval, stages = schedule.initiation_interval or 0, (schedule.stages or 1) + 1
    registers = schedule.machine.registers
    assert registers is not None
    needs = _most_live(schedule) + int(registers.reserve.value)
    seconds = REDUCED_SHARE * case.settings.timeout
    problem = wished(BACKWARD_BLACKWELL, registers=FEW_REGISTERS)
    three, two = ask_in_turn(problem, interval, stages, (4, 3), seconds)
    told = [
        f"{compute} compute groups: "
        + (asked.said if asked.feasible is not None else f"not decided in {seconds:g} s")
        for compute, asked in ((3, three), (2, two))
    ]
    answers = [three.feasible, two.feasible]
    case.judge(
        "three",
        f"at most {FEW_REGISTERS} registers per thread (the schedule above needs {needs}), I = "
        f"{interval}, {stages} stages: " + "; ".join(told),
        passed=answers == [True, False],
        paper_seconds=64.0,
        reason="Three compute groups are enough. That two are too few takes minutes to show; "
        "`--case blackwell_backward --timeout 600` leaves the time for it."
        if answers == [True, None]
        else "; ".join(told) + ".",
    )
