"""The running example: everything that Figure 1 of the paper says about it."""

from __future__ import annotations

from twill.artifacts.schedule import Placement, Schedule
from twill.lower.baselines import sequential
from twill.studies.reproduce.claims import Case
from twill.verification.verifier import verify

LOOP = "paper_example"
CLAIMS = {
    "schedule": "I = 2, L = 4: S at 0, P at 2, O at 3 (1d)",
    "early": "P at 1 and O at 2 would break the modular reservation table (1d)",
    "program": "prologue S; round S, P, O of S's round before; epilogue P, O (1f)",
    "in order": "in order, 1/3 iterations per cycle (1g)",
    "pipelined": "pipelined, 1/2 iterations per cycle after the prologue (1h)",
}


def running_example(case: Case) -> None:
    """Judge Figure 1."""
    schedule = case.solved(LOOP)
    start = schedule.start
    told = ", ".join(f"{name} at {at}" for name, at in start.items())
    found = f"I = {schedule.initiation_interval}, L = {schedule.length}: {told}"
    valid = verify(schedule).valid
    as_printed = start == {"S": 0, "P": 2, "O": 3} and schedule.initiation_interval == 2
    case.judge(
        "schedule", found, passed=valid and as_printed and schedule.length == 4, reason=found
    )
    broken = {v.rule for v in verify(_moved(schedule, {"S": 0, "P": 1, "O": 2})).violations}
    found = f"the verifier refuses it: {', '.join(sorted(broken)) or 'nothing broken'}"
    case.judge("early", found, passed="capacity" in broken, reason=found)
    stages = {i.operation: i.stage for program in schedule.programs for i in program.issues}
    rounds = ", ".join(f"{name} of stage {stage}" for name, stage in stages.items())
    case.judge("program", rounds, passed=stages == {"S": 0, "P": 1, "O": 1}, reason=rounds)
    _judge_rate(case, "in order", sequential(schedule.loop, schedule.machine), 3)
    _judge_rate(case, "pipelined", schedule, 2)


def _judge_rate(case: Case, key: str, schedule: Schedule, cycles: int) -> None:
    found = case.simulated(key, schedule).measured_interval_cycles
    case.metrics[f"{LOOP} {key} (cycles)"] = found or 0.0
    text = f"an iteration every {found:g} cycles on the simulated SM"
    case.judge(key, text, passed=found == cycles, reason=text)


def _moved(schedule: Schedule, start: dict[str, int]) -> Schedule:
    """Return the schedule with other starts, of which nothing is proved."""
    placements = tuple(
        Placement(operation=p.operation, group=p.group, start=start[p.operation])
        for p in schedule.placements
    )
    moved: Schedule = schedule.model_copy(update={"placements": placements, "proof": None})
    return moved
