"""The paper's evaluation, computed when asked for: cases with claims, side by side.

`claims` says what a case finds, `kernels` and `experiments` judge, `page` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import as_completed

from twill.artifacts.schedule import Schedule
from twill.console import Report, silent
from twill.errors import InputError, short
from twill.search.request import Request
from twill.studies.executors import local
from twill.studies.reproduce import experiments, kernels
from twill.studies.reproduce.claims import Case, CaseResult, Settings

CASES: dict[str, tuple[Mapping[str, str], Callable[[Case], None]]] = {
    "running_example": (experiments.EXAMPLE_CLAIMS, experiments.running_example),
    "hopper_forward": (kernels.FORWARD_HOPPER_CLAIMS, kernels.hopper_forward),
    "blackwell_forward": (kernels.FORWARD_BLACKWELL_CLAIMS, kernels.blackwell_forward),
    "hopper_backward": (kernels.BACKWARD_HOPPER_CLAIMS, kernels.hopper_backward),
    "blackwell_backward": (kernels.BACKWARD_BLACKWELL_CLAIMS, kernels.blackwell_backward),
    "ablations": (experiments.ABLATION_CLAIMS, experiments.ablations),
    "timing": (experiments.TIMING_CLAIMS, experiments.timing),
    "published": (experiments.PUBLISHED_CLAIMS, experiments.throughput),
}
LONGEST_FIRST = (
    ("blackwell_forward", "ablations"),
    ("timing",),
    ("blackwell_backward",),
    ("hopper_backward",),
    ("hopper_forward",),
    ("published", "running_example"),
)
"""Cases of one process together: what they share is solved for once."""


def reproduce(
    names: Iterable[str] | None = None,
    *,
    timeout: float = Settings.timeout,
    stop: float = Settings.stop,
    jobs: int = Settings.jobs,
    report: Report = silent,
) -> list[CaseResult]:
    """Compute what the paper's evaluation claims; nothing is looked up.

    `timeout`: seconds for each search.
    `stop`: seconds after which the paper's encoding as printed is stopped.

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
            found = _several(chosen, Settings(timeout, jobs, stop), report)
        else:
            # Searches inside have one process at a time.
            settings = Settings(timeout, 1, stop)
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
