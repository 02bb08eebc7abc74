"""Conditions under which programs run: trip count, seed, latencies, how the SM works."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar, get_args

from twill.base.errors import InputError, short

WarpScheduler = Literal["oldest", "round-robin"]
# What can be switched off, to see what it costs.
#
# ``issue-slots``: contexts issue as many instructions a cycle as are ready. ``issue-cost``:
# commands cost the warps that issue them nothing. ``synchronisation``: waits, arrives and the way
# of a signal take no time. ``completion``: an asynchronous result is there when its unit has done
# its work. ``shared-ports``: commands need no unit beside their own. ``queues``: commands are taken
# as many as come, with any number of bytes in flight. ``register-slots``, ``memory-port``,
# ``hand-overs``: those of the machine's mechanisms, see `twill.artifacts.mechanisms.Mechanisms`.
Mechanism = Literal[
    "issue-slots", "issue-cost", "synchronisation", "completion", "shared-ports", "queues",
    "register-slots", "memory-port", "hand-overs",
]  # fmt: skip

WARP_SCHEDULERS: tuple[WarpScheduler, ...] = get_args(WarpScheduler)
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)
# Mechanisms that the static model leaves out.
UNMODELLED: tuple[Mechanism, ...] = ("register-slots", "memory-port", "hand-overs", "queues")
DEFAULT_ITERATIONS, MOST_ITERATIONS = 64, 10_000_000
DEFAULT_TOLERANCE = 0.02
NOMINAL = "nominal"  # latencies of loads that are those of the machine file
Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Conditions of a run.

    Attributes
    ----------
    iterations : int
        Trip count of the loop.
    seed : int
        Seed of the variable latencies and of the ages of warps; with 0 ages follow the order of
        the groups.
    latency : tuple of str
        Sources of variable latencies, see `twill.sim.engine.latency.parse_latencies`; nominal
        without one.
    warp_scheduler : str
        Choice of an issue context among the warps that are ready in a cycle. ``oldest``: the warp
        that issued last, as long as it is ready, otherwise the oldest. ``round-robin``: the next
        ready warp in turn.
    without : frozenset of str
        Mechanisms that are switched off.
    tolerance : float
        Relative excess over the static interval that still counts as achieved.
    clock : float or str, optional
        Clock in MHz at which TFLOP/s are stated, or ``capped``, the one that a power limit leaves;
        by default the machine's.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    iterations: int = DEFAULT_ITERATIONS
    seed: int = 0
    latency: tuple[str, ...] = ()
    warp_scheduler: WarpScheduler = "round-robin"
    without: frozenset[Mechanism] = frozenset()
    tolerance: float = DEFAULT_TOLERANCE
    clock: float | str | None = None

    def __post_init__(self) -> None:
        number = self.iterations
        if not isinstance(number, int) or not 1 <= number <= MOST_ITERATIONS:
            raise InputError(
                f"a whole number from 1 to {MOST_ITERATIONS} (got {short(number)})",
                path="iterations",
            )
        if not isinstance(self.tolerance, int | float) or not 0 <= self.tolerance < 1:
            raise InputError(f"between 0 and 1 (got {short(self.tolerance)})", path="tolerance")

    @classmethod
    def of(
        cls,
        *,
        latency: str | Iterable[str] | None = None,
        warp_scheduler: str = "round-robin",
        without: Iterable[str] = (),
        **others: Any,
    ) -> Self:
        """Return conditions as people state them.

        `latency`: as `latency_texts` takes it.
        `others`: the other attributes.

        Raises
        ------
        InputError
            If something has no such name, a number is out of range or a quotation has no end.
        """
        (scheduler,) = _known((warp_scheduler,), WARP_SCHEDULERS, "warp_scheduler")
        return cls(
            latency=latency_texts(latency),
            warp_scheduler=scheduler,
            without=frozenset(_known(without, MECHANISMS, "without")),
            **others,
        )

    @property
    def latency_text(self) -> str:
        """The latency sources in one text that `latency_texts` takes apart; ``nominal`` if none."""
        return shlex.join(self.latency) or NOMINAL


def latency_texts(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return latency sources one by one.

    `texts`: in one text with spaces between, as a shell has them: a path with spaces is in quotes;
    ``nominal`` for none.

    Raises
    ------
    InputError
        If a quotation has no end.
    """
    if not isinstance(texts, str):
        return tuple(texts or ())
    if texts == NOMINAL:
        return ()
    try:
        return tuple(shlex.split(texts))
    except ValueError:
        raise InputError(
            f"a quotation without an end (got {short(texts)})", path="latency"
        ) from None


def _known(names: Iterable[str], known: tuple[Name, ...], path: str) -> list[Name]:
    found = []
    for name in names:
        if name not in known:
            raise InputError(f"one of {', '.join(known)} (got {short(name)})", path=path)
        found.append(known[known.index(name)])
    return found
