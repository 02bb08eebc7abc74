"""The paper's evaluation: the running example, the ablations, all cases, and claims as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import as_completed

from twill.artifacts.schedule import Schedule
from twill.base.console import Report, paragraph, say, silent
from twill.base.errors import InputError, short
from twill.base.executors import local
from twill.base.formats import number, tenths, yes
from twill.base.tables import Column, Table
from twill.lower.baselines import sequential
from twill.search.request import Request
from twill.studies.reproduce import backward, forward
from twill.studies.reproduce.claims import Asked, Case, CaseResult, Settings, ask, least, wished
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


CASES: dict[str, tuple[Mapping[str, str], Callable[[Case], None]]] = {
    "running_example": (EXAMPLE_CLAIMS, running_example),
    "hopper_forward": (forward.FORWARD_HOPPER_CLAIMS, forward.hopper_forward),
    "blackwell_forward": (forward.FORWARD_BLACKWELL_CLAIMS, forward.blackwell_forward),
    "hopper_backward": (backward.BACKWARD_HOPPER_CLAIMS, backward.hopper_backward),
    "blackwell_backward": (backward.BACKWARD_BLACKWELL_CLAIMS, backward.blackwell_backward),
    "ablations": (ABLATION_CLAIMS, ablations),
}
# Cases of one process together: what they share is solved for once.
LONGEST_FIRST = (
    ("blackwell_forward", "ablations"),
    ("blackwell_backward",),
    ("hopper_backward",),
    ("hopper_forward",),
    ("running_example",),
)
PRINTED = (
    Column("claim"),
    Column("found"),
    Column("pass", form=yes),
    Column("polished", form=yes),
    Column("time", "s", tenths),
    Column("paper", "s", number),
)


def reproduce(
    names: Iterable[str] | None = None,
    *,
    timeout: float = Settings.timeout,
    effort: str = Settings.effort,
    jobs: int = Settings.jobs,
    report: Report = silent,
) -> list[CaseResult]:
    """Compute what the paper's evaluation claims; nothing is looked up.

    `timeout`: seconds for each search.
    `effort`: ``quick``, ``normal`` or ``thorough``: programs that are simulated to polish a kernel.

    Raises
    ------
    InputError
        If there is no such case.
    """
    chosen = list(dict.fromkeys(names or CASES))
    for name in chosen:
        if name not in CASES:
            raise InputError(f"one of {', '.join(CASES)} (got {short(name)})", path="case")
    found: dict[str, CaseResult] = {}
    with local(1 if len(chosen) == 1 else jobs) as executor:
        if executor is None:
            found = _several(chosen, Settings(timeout, jobs, effort), report)
        else:
            # Searches inside have one process at a time.
            settings = Settings(timeout, 1, effort)
            tasks = [[name for name in task if name in chosen] for task in LONGEST_FIRST]
            several = [executor.submit(_several, task, settings) for task in tasks if task]
            for future in as_completed(several):
                found |= future.result()
                report(f"{len(found)} of {len(chosen)} cases done")
    return [found[name] for name in CASES if name in found]


def _several(
    names: Iterable[str], settings: Settings, report: Report = silent
) -> dict[str, CaseResult]:
    """Work on cases one after the other."""
    solutions: dict[Request, Schedule] = {}
    found = {}
    for name in names:
        texts, body = CASES[name]
        found[name] = Case(name, texts, settings, report, solutions).work(body)
    return found


def print_claims(results: Sequence[CaseResult]) -> None:
    """Print every claim with what was found, then why some do not hold."""
    for result in results:
        say(result.case.replace("_", " "))
        rows = [
            [c.claim, c.found, c.passed, c.polished_passed, c.seconds, c.paper_seconds]
            for c in result.claims
        ]
        Table(PRINTED, rows).print()
        for claim in result.claims:
            if not claim.passed:
                paragraph(f"  {claim.claim}: {claim.reason}")
            if claim.polished_passed not in (None, claim.passed):
                paragraph(f"  {claim.claim}, polished: {claim.polished}")
            if claim.compiled:
                paragraph(f"  {claim.claim}, compiled: {claim.compiled}")
        say()
    say(held(results))


def held(results: Sequence[CaseResult]) -> str:
    """Return how many claims hold, in words."""
    claims = [claim for result in results for claim in result.claims]
    held = f"{sum(claim.passed for claim in claims)} of {len(claims)} claims hold"
    polished = [claim.polished_passed for claim in claims if claim.polished_passed is not None]
    of_programs = f"; of polished programs {sum(polished)} of {len(polished)} that are about them"
    return held + (of_programs if polished else "")
