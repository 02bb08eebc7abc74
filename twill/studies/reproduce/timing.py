"""Seconds of the joint problem: ours, the paper's, and the encoding as printed in the same run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from twill.frontends.loops import packaged_loops
from twill.studies.bench.process import solve_apart
from twill.studies.reproduce.claims import Case, Timing

PAPER = {
    "fa_fwd_hopper": 28.0,
    "fa_fwd_blackwell": 19.0,
    "fa_bwd_hopper": 88.0,
    "fa_bwd_blackwell": 269.0,
}
"""Twill's paper, section 6: seconds for the joint problem on one core of a Xeon Platinum 8570."""
CLAIMS = {
    kernel: f"{kernel}: least interval known before the printed encoding knows it"
    for kernel in PAPER
}


def timing(case: Case) -> None:
    """Solve each kernel twice in normalized time under the rules as printed, and compare."""
    timings = []
    for kernel, paper in PAPER.items():
        case.report(kernel)
        ours, theirs = _both(case, kernel)
        stop = case.settings.stop
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


def _both(case: Case, kernel: str) -> tuple[float | None, float | None]:
    """Return our seconds to the least interval and the printed encoding's; None if stopped."""
    with ThreadPoolExecutor(max_workers=max(1, case.settings.jobs)) as pool:
        ours, theirs = pool.map(
            lambda engine: solve_apart(_case(kernel, engine), case.settings.stop),
            ("both", "verbatim"),
        )
    return ours.get("seconds_to_interval"), theirs.get("seconds_to_interval")


def _on_a_fine_grid(kernel: str, stop: float) -> str:
    """Say whether it is the coarse grid that makes a kernel hard."""
    exact = solve_apart(_case(kernel, "both") | {"time": "exact"}, 2 * stop)
    seconds, interval = exact.get("seconds_to_interval"), exact.get("interval_units")
    neither = f"Neither knew it within {stop:g} s."
    if seconds is None:
        return f"{neither} Nor do our engines in exact time within {2 * stop:g} s."
    return (
        f"{neither} In exact time, under the same rules, ours know I = {interval} cycles in "
        "less than twice that: it is the coarse grid that makes this loop hard."
    )


def _case(kernel: str, engine: str) -> dict[str, Any]:
    return {
        "loop": kernel,
        "machine": packaged_loops()[kernel].machine,
        "engine": engine,
        "time": "normalized",
        "rules": "paper",
        "limits": {},
        "until": "stages",
    }


def _seconds(seconds: float | None, stop: float) -> str:
    return f"more than {stop:g} s" if seconds is None else f"{seconds:.1f} s"
