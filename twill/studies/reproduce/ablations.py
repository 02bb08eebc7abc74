"""Changes that the paper says make its forward schedule on Blackwell infeasible."""

from __future__ import annotations

from twill.studies.feasibility import Asked, ask, least, wished
from twill.studies.reproduce.claims import Case, packaged
from twill.studies.reproduce.forward import BLACKWELL

ONE_TILE = "attention_forward_blackwell"
CLAIMS = {
    "restored": "unmodified, the least interval and its stages are feasible",
    "warps": "fewer warps: infeasible there",
    "tiles": "no sub-tiling: infeasible there",
    "communication": "no communication across warps: infeasible there",
    "again": "each restored: feasible again",
}


def ablations(case: Case) -> None:
    """Judge the three ablations at the interval and the stages of the unmodified loop."""
    schedule = case.solved(BLACKWELL, until="transfers")
    interval, stages = schedule.initiation_interval or 0, schedule.stages or 0
    groups = len(schedule.groups)
    levels = {level.level: level.value for level in schedule.proof.levels} if schedule.proof else {}
    case.judge(
        "restored",
        f"I = {interval} cycles, {stages} stages, {groups} groups, "
        f"{levels.get('transfers')} transfers",
        passed=schedule.proof is not None and schedule.proof.levels[0].proved,
        reason="The search ended at its limit of time.",
    )
    fewer = _ask(case, interval, stages, groups=groups - 1)
    case.judge(
        "warps", f"{groups - 1} warp groups: {fewer.said}", passed=fewer.feasible is False,
        reason=_undecided(fewer),
    )  # fmt: skip
    _judge_one_tile(case, interval, stages)
    alone = _ask(case, interval, stages, transfers=0)
    case.judge(
        "communication",
        f"no register value handed to another group: {alone.said}",
        passed=alone.feasible is False,
        reason=_undecided(alone),
    )
    restored = [
        _ask(case, interval, stages, groups=groups),
        _ask(case, interval, stages, transfers=levels.get("transfers", 0)),
    ]
    told = f"{groups} groups: {restored[0].said}; {levels.get('transfers')} transfers: "
    told += f"{restored[1].said}; two sub-tiles: as above"
    case.judge("again", told, passed=all(asked.feasible for asked in restored), reason=told)


def _judge_one_tile(case: Case, interval: int, stages: int) -> None:
    """Judge the loop as the tutorial writes it: half the work, in half the interval."""
    problem = wished(*packaged(ONE_TILE))
    asked = ask(problem, interval // 2, stages, case.settings.timeout)
    alone, proved = least(problem, case.settings.timeout)
    case.metrics[f"{ONE_TILE} interval (cycles)"] = alone
    case.judge(
        "tiles",
        f"one tile, half the work, at half the interval ({interval // 2}): {asked.said}; its least "
        f"interval is {alone}{'' if proved else ' at most'}",
        passed=asked.feasible is False,
        reason=_undecided(asked),
    )


def _ask(case: Case, interval: int, stages: int, **limits: int) -> Asked:
    told = ", ".join(f"{name} {value}" for name, value in limits.items())
    case.report(f"I = {interval}, {stages} stages, {told}")
    problem = wished(*packaged(BLACKWELL), limits=limits)
    return ask(problem, interval, stages, case.settings.timeout)


def _undecided(asked: Asked) -> str:
    if asked.feasible is None:
        return "It was not decided in time; `--timeout` raises the limit."
    return "In our model it does not need what was taken away."
