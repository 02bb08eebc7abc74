"""A claim of the paper with what was found, and the case that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.proof import Level
from twill.artifacts.schedule import Schedule
from twill.console import Report, silent
from twill.errors import RefusedError
from twill.frontends.loops import load_loop, packaged_loops
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.sim.execute import Run, run
from twill.studies.published import Figure
from twill.verification import verify


@dataclass(frozen=True)
class Claim:
    """One claim, judged.

    Attributes
    ----------
    case, claim : str
        Where it belongs, and what is claimed.
    found : str
        What was found, in words and figures.
    passed : bool
        Whether that is what was claimed.
    seconds : float
        Wall-clock time that it took to find out.
    paper_seconds : float or None
        What the paper reports for the same, on one core of a Xeon Platinum 8570.
    reason : str
        Why it does not hold, found by experiment; empty if it does.
    """

    case: str
    claim: str
    found: str
    passed: bool
    seconds: float
    paper_seconds: float | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        return {
            "case": self.case,
            "claim": self.claim,
            "found": self.found,
            "pass": self.passed,
            "seconds": round(self.seconds, 2),
            "paper_seconds": self.paper_seconds,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Timing:
    """Seconds of one kernel, ours and others'.

    Attributes
    ----------
    kernel : str
        The packaged loop.
    paper_seconds : float
        The paper's, for its joint problem.
    seconds : float or None
        Ours until the least interval is known, on the same coarse grid and under the same rules as
        `verbatim`; None if stopped.
    verbatim_seconds : float or None
        The figures as printed; None if stopped.
    limit : float
        Seconds after which either is stopped.
    """

    kernel: str
    paper_seconds: float
    seconds: float | None
    verbatim_seconds: float | None
    limit: float


@dataclass(frozen=True)
class CaseResult:
    """All that a case found.

    Attributes
    ----------
    case : str
        Its name.
    claims : tuple of Claim
        Its claims, in order.
    intervals : dict
        Simulated cycles from one iteration to the next by variant, for figures.
    metrics : dict
        Figures that do not depend on how fast the machine at hand is.
    comparisons : tuple of Figure
        Published figures beside ours.
    timings : tuple of Timing
        Seconds of whole kernels.
    """

    case: str
    claims: tuple[Claim, ...]
    intervals: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    comparisons: tuple[Figure, ...] = ()
    timings: tuple[Timing, ...] = ()


@dataclass(frozen=True)
class Settings:
    """How a case is worked on.

    Attributes
    ----------
    timeout : float
        Seconds for each search; what is not decided by then is a claim that fails.
    jobs : int
        Processes of a search.
    stop : float
        Seconds after which the paper's encoding as printed is stopped.
    """

    timeout: float = 120.0
    jobs: int = 2
    stop: float = 30.0


class Case:
    """Collects what a case finds.

    `texts`: the claims by key, in order; one that is never judged counts as failed.
    `solutions`: what was solved in this run, for those who need the same.
    """

    def __init__(
        self,
        name: str,
        texts: Mapping[str, str],
        settings: Settings,
        report: Report = silent,
        solutions: dict[Request, Schedule] | None = None,
    ) -> None:
        self._solutions = {} if solutions is None else solutions
        self.name, self.settings, self.report = name, settings, report
        self.intervals: dict[str, float] = {}
        self.metrics: dict[str, float] = {}
        self.notes: dict[str, str] = {}
        self.comparisons: tuple[Figure, ...] = ()
        self.timings: tuple[Timing, ...] = ()
        self._texts, self._claims = texts, dict[str, Claim]()
        self._since = monotonic()

    def judge(
        self,
        key: str,
        found: str,
        *,
        passed: bool,
        reason: str | None = None,
        paper_seconds: float | None = None,
    ) -> None:
        """Judge a claim; its seconds are those since the one before.

        `reason`: why it does not hold; what was found says it where there is none.
        """
        now = monotonic()
        self._claims[key] = Claim(
            self.name,
            self._texts[key],
            found,
            passed,
            now - self._since,
            paper_seconds,
            "" if passed else found if reason is None else reason,
        )
        self._since = now

    def work(self, body: Callable[[Case], None]) -> CaseResult:
        """Judge all claims; a refusal fails those that are left, and is what was found."""
        self._since = monotonic()
        left = "not judged"
        try:
            body(self)
        except RefusedError as error:
            left = str(error)
        for key in self._texts:
            if key not in self._claims:
                self.judge(key, left, passed=False, reason="Nothing to judge: " + left + ".")
        claims = tuple(self._claims[key] for key in self._texts)
        return CaseResult(
            self.name, claims, self.intervals, self.metrics, self.comparisons, self.timings
        )

    def solved(self, loop: str, until: Level = "slack", **wishes: Any) -> Schedule:
        """Solve a packaged loop, without any cache.

        Raises
        ------
        RefusedError
            If there is no schedule, or none was found in time.
        """
        request = Request(*packaged(loop), until=until, **wishes)
        if request in self._solutions:
            return self._solutions[request]

        def report(message: str) -> None:
            self.report(f"{loop}: {message}")

        found = solve(request, timeout=self.settings.timeout, report=report).schedule
        self._solutions[request] = found
        return found

    def simulated(self, variant: str, schedule: Schedule, **options: Any) -> Run:
        """Run a schedule and keep its interval for the figures."""
        self.report(f"simulating {variant}")
        found = run(schedule, **options)
        assert found.measured_interval_cycles is not None  # there are enough iterations
        self.intervals[variant] = found.measured_interval_cycles
        return found

    def judge_solution(self, key: str, schedule: Schedule, paper_seconds: float) -> None:
        """Judge whether the least interval was proved and the verifier finds the schedule valid."""
        proof, valid = schedule.proof, verify(schedule).valid
        assert proof is not None
        proved = proof.levels[0].proved
        interval, bound = schedule.initiation_interval, proof.bound
        self.metrics[f"{schedule.name} interval (cycles)"] = float(interval or 0)
        why = bound.reason + (f" of {bound.unit}" if bound.unit else "")
        found = f"I = {interval} cycles, {schedule.stages} stages, "
        found += f"{len(schedule.groups)} warp groups; {why if proved else 'not proved'}"
        found += "; valid" if valid else "; NOT valid"
        reason = "The search ended at its limit of time; `--timeout` raises it."
        self.judge(key, found, passed=proved and valid, reason=reason, paper_seconds=paper_seconds)


def packaged(name: str) -> tuple[Loop, Machine]:
    """Return a packaged loop and the machine that it is meant for."""
    return load_loop(name), Machine.named(packaged_loops()[name].machine)


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.0f} %"
