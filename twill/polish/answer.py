"""The answer of a search for faster programs."""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.schedule import Schedule


@dataclass(frozen=True)
class Other:
    """The best program that was found another way.

    `origin`: the first change to the given schedule; `cycles`: its interval.
    """

    origin: str
    cycles: float


@dataclass(frozen=True)
class Polished:
    """The best program that was found.

    Attributes
    ----------
    schedule : Schedule
        The best schedule, with its promise; the given one where nothing is faster.
    given : Schedule
        The schedule from which the search began.
    given_cycles : float or None
        Interval of the given schedule on the simulated SM, over as many iterations as a promise;
        None where it does not run, or breaks a rule that the verifier checks.
    origin : str
        The change to the given schedule before the search went on from it; empty if none.
    others : tuple of Other
        The next best ways, the best first.
    objection : str
        Why the given schedule is no answer, empty if it is one.
    different : tuple of Schedule
        Other programs that are nearly as fast, the best first, each with its promise.
    """

    schedule: Schedule
    given: Schedule
    given_cycles: float | None
    origin: str
    others: tuple[Other, ...] = ()
    objection: str = ""
    different: tuple[Schedule, ...] = ()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the best program until then."""

    def __init__(self, polished: Polished) -> None:
        super().__init__("this is the best program so far")
        self.polished = polished
