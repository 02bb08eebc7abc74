"""The paper's cases: which there are, working on them side by side, and their claims as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import as_completed

from twill.artifacts.schedule import Schedule
from twill.base.console import Report, paragraph, say, silent
from twill.base.errors import InputError, short
from twill.base.executors import local
from twill.base.formats import number, tenths, yes
from twill.base.tables import Column, Table
from twill.search.request import Request
from twill.studies.reproduce import backward, experiments, forward
from twill.studies.reproduce.claims import Case, CaseResult, Settings

CASES: dict[str, tuple[Mapping[str, str], Callable[[Case], None]]] = {
    "running_example": (experiments.EXAMPLE_CLAIMS, experiments.running_example),
    "hopper_forward": (forward.FORWARD_HOPPER_CLAIMS, forward.hopper_forward),
    "blackwell_forward": (forward.FORWARD_BLACKWELL_CLAIMS, forward.blackwell_forward),
    "hopper_backward": (backward.BACKWARD_HOPPER_CLAIMS, backward.hopper_backward),
    "blackwell_backward": (backward.BACKWARD_BLACKWELL_CLAIMS, backward.blackwell_backward),
    "ablations": (experiments.ABLATION_CLAIMS, experiments.ablations),
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
