"""Claims of the project's own beside the paper's: seconds of solving, and published throughput."""

from __future__ import annotations

import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from tests.validation.apart import Case as Solve
from tests.validation.apart import solve_apart
from tests.validation.published import AIM, Figure, figures
from twill.frontends import packaged_loops
from twill.search.request import EngineName
from twill.studies.reproduce.claims import Case

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


def timing(case: Case, stop: float) -> None:
    """Solve each kernel twice in normalized time under the rules as printed, and compare.

    `stop`: seconds after which the encoding as printed is stopped.
    """
    for kernel, paper in PAPER.items():
        case.report(kernel)
        cases = _case(kernel, "both", stop), _case(kernel, "verbatim", stop)
        with ThreadPoolExecutor(max_workers=max(1, case.settings.jobs)) as pool:
            told_of = pool.map(solve_apart, cases)
        # Until the least interval is known; None if stopped.
        ours, theirs = (one.get("seconds_to_interval") for one in told_of)
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


def throughput(case: Case) -> tuple[Figure, ...]:
    """Judge how many published figures are matched, and return those that are compared."""
    every = figures(case.report)
    found = tuple(one for one in every if not one.shown_because)
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
        "traces/results/switches.csv has them with one mechanism switched off at a time.",
    )
    return found
