"""The running example, ablations, seconds, and published throughput beside the simulated SM's."""

from __future__ import annotations

import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from twill.artifacts.schedule import Schedule
from twill.frontends import packaged_loops
from twill.lower.baselines import sequential
from twill.search.request import EngineName
from twill.studies.bench import Case as Solve
from twill.studies.bench.process import solve_apart
from twill.studies.published import AIM, figures
from twill.studies.reproduce.claims import Asked, Case, Timing, ask, least, wished
from twill.studies.reproduce.forward import FORWARD_BLACKWELL
from twill.verification import verify

EXAMPLE = "paper_example"
EXAMPLE_CLAIMS = {
    "schedule": "I = 2, L = 4: S at 0, P at 2, O at 3 (1d)",
    "early": "P at 1 and O at 2 would break the modular reservation table (1d)",
    "program": "prologue S; round S, P, O of S's round before; epilogue P, O (1f)",
    "in order": "in order, 1/3 iterations per cycle (1g)",
    "pipelined": "pipelined, 1/2 iterations per cycle after the prologue (1h)",
}


def running_example(case: Case) -> None:
    """Judge Figure 1."""
    schedule = case.solved(EXAMPLE)
    start = schedule.start
    told = ", ".join(f"{name} at {at}" for name, at in start.items())
    found = f"I = {schedule.initiation_interval}, L = {schedule.length}: {told}"
    valid = verify(schedule).valid
    as_printed = start == {"S": 0, "P": 2, "O": 3} and schedule.initiation_interval == 2
    case.judge("schedule", found, passed=valid and as_printed and schedule.length == 4)
    starts = {"S": 0, "P": 1, "O": 2}
    early = [p.model_copy(update={"start": starts[p.operation]}) for p in schedule.placements]
    moved = schedule.model_copy(update={"placements": tuple(early), "proof": None})
    broken = {v.rule for v in verify(moved).violations}
    found = f"the verifier refuses it: {', '.join(sorted(broken)) or 'nothing broken'}"
    case.judge("early", found, passed="capacity" in broken)
    stages = {i.operation: i.stage for program in schedule.programs for i in program.issues}
    rounds = ", ".join(f"{name} of stage {stage}" for name, stage in stages.items())
    case.judge("program", rounds, passed=stages == {"S": 0, "P": 1, "O": 1})
    _judge_rate(case, "in order", sequential(schedule.loop, schedule.machine), 3)
    _judge_rate(case, "pipelined", schedule, 2)


def _judge_rate(case: Case, key: str, schedule: Schedule, cycles: int) -> None:
    found = case.simulated(key, schedule, f"{EXAMPLE} {key}")
    text = f"an iteration every {found:g} cycles on the simulated SM"
    case.judge(key, text, passed=found == cycles, reason=text)


ONE_TILE = "attention_forward_blackwell"
ABLATION_CLAIMS = {
    "restored": "unmodified, the least interval and its stages are feasible",
    "warps": "fewer warps: infeasible there",
    "tiles": "no sub-tiling: infeasible there",
    "communication": "no communication across warps: infeasible there",
    "again": "each restored: feasible again",
}


def ablations(case: Case) -> None:
    """Judge the three ablations at the interval and the stages of the unmodified loop."""
    schedule = case.solved(FORWARD_BLACKWELL, until="transfers")
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
    _judge_no(case, "warps", fewer, f"{groups - 1} warp groups: {fewer.said}")
    _judge_one_tile(case, interval, stages)
    alone = _ask(case, interval, stages, transfers=0)
    told = f"no register value handed to another group: {alone.said}"
    _judge_no(case, "communication", alone, told)
    restored = [
        _ask(case, interval, stages, groups=groups),
        _ask(case, interval, stages, transfers=levels.get("transfers", 0)),
    ]
    told = f"{groups} groups: {restored[0].said}; {levels.get('transfers')} transfers: "
    told += f"{restored[1].said}; two sub-tiles: as above"
    case.judge("again", told, passed=all(asked.feasible for asked in restored))


def _judge_one_tile(case: Case, interval: int, stages: int) -> None:
    """Judge the loop as the tutorial writes it: half the work, in half the interval."""
    problem = wished(ONE_TILE)
    asked = ask(problem, interval // 2, stages, case.settings.timeout)
    alone, proved = least(problem, case.settings.timeout)
    case.metrics[f"{ONE_TILE} interval (cycles)"] = alone
    told = f"one tile, half the work, at half the interval ({interval // 2}): {asked.said}; "
    told += f"its least interval is {alone}{'' if proved else ' at most'}"
    _judge_no(case, "tiles", asked, told)


def _ask(case: Case, interval: int, stages: int, **limits: int) -> Asked:
    told = ", ".join(f"{name} {value}" for name, value in limits.items())
    case.report(f"I = {interval}, {stages} stages, {told}")
    problem = wished(FORWARD_BLACKWELL, **limits)
    return ask(problem, interval, stages, case.settings.timeout)


def _judge_no(case: Case, key: str, asked: Asked, told: str) -> None:
    """Judge whether there is no schedule."""
    reason = "In our model it does not need what was taken away."
    if asked.feasible is None:
        reason = "It was not decided in time; `--timeout` raises the limit."
    case.judge(key, told, passed=asked.feasible is False, reason=reason)


# Twill's paper, section 6: seconds for the joint problem on one core of a Xeon Platinum 8570.
PAPER = {
    "fa_fwd_hopper": 28.0,
    "fa_fwd_blackwell": 19.0,
    "fa_bwd_hopper": 88.0,
    "fa_bwd_blackwell": 269.0,
}
TIMING_CLAIMS = {
    kernel: f"{kernel}: least interval known before the printed encoding knows it"
    for kernel in PAPER
}


def timing(case: Case) -> None:
    """Solve each kernel twice in normalized time under the rules as printed, and compare."""
    timings = []
    for kernel, paper in PAPER.items():
        case.report(kernel)
        stop = case.settings.stop
        cases = _case(kernel, "both", stop), _case(kernel, "verbatim", stop)
        with ThreadPoolExecutor(max_workers=max(1, case.settings.jobs)) as pool:
            told_of = pool.map(solve_apart, cases)
        # Until the least interval is known; None if stopped.
        ours, theirs = (one.get("seconds_to_interval") for one in told_of)
        timings.append(Timing(kernel, paper, ours, theirs, stop))
        told = f"{_seconds(ours, stop)} against {_seconds(theirs, stop)}"
        if ours:
            told += f": {'more than ' if theirs is None else ''}{(theirs or stop) / ours:.0f} times"
        case.judge(
            kernel,
            told,
            passed=ours is not None and ours < (theirs or stop),
            reason="" if ours is not None else _on_a_fine_grid(kernel, stop),
            paper_seconds=paper,
        )
    case.timings = tuple(timings)


def _on_a_fine_grid(kernel: str, stop: float) -> str:
    """Say whether it is the coarse grid that makes a kernel hard."""
    exact = solve_apart(replace(_case(kernel, "both", 2 * stop), time="exact"))
    seconds, interval = exact.get("seconds_to_interval"), exact.get("interval_units")
    neither = f"Neither knew it within {stop:g} s."
    if seconds is None:
        return f"{neither} Nor do our engines in exact time within {2 * stop:g} s."
    return (
        f"{neither} In exact time, under the same rules, ours know I = {interval} cycles in "
        "less than twice that: it is the coarse grid that makes this loop hard."
    )


def _case(kernel: str, engine: EngineName, stop: float) -> Solve:
    machine = packaged_loops()[kernel].machine
    return Solve(
        kernel, machine, engine, "normalized", kernel, timeout=stop, rules="paper", until="stages"
    )


def _seconds(seconds: float | None, stop: float) -> str:
    return f"more than {stop:g} s" if seconds is None else f"{seconds:.1f} s"


PUBLISHED_CLAIMS = {"matched": f"published ratios and cycles are matched within {AIM:.0%}"}
NOT_COMPARED = (
    "absolute TFLOP/s (clocks are not published)",
    "cuDNN (closed; only its TFLOP/s are published)",
    "Triton (the paper's bars exist as images only)",
    "FlashAttention-3 and -4 backward (no cycles or ablations are published)",
    "sequence lengths (docs/results.md compares their curves)",
)


def throughput(case: Case) -> None:
    """Judge how many published figures are matched."""
    every = figures(case.report)
    case.comparisons = found = tuple(one for one in every if not one.shown_because)
    case.metrics |= {f"error, {one.what}": round(one.error, 6) for one in found}
    missed = [f"{one.what} ({one.error:+.1%})" for one in found if not one.matched]
    worst = max(found, key=lambda one: abs(one.error))
    case.judge(
        "matched",
        f"{len(found) - len(missed)} of {len(found)} matched; median error "
        f"{statistics.median(one.error for one in found):+.1%}, worst {worst.error:+.1%} "
        f"({worst.what})",
        passed=not missed,
        reason=f"Missed: {'; '.join(missed)}. "
        "docs/results.md takes each apart by switching one mechanism at a time.",
    )
