"""Where the latency of variable-latency loads comes from."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from twill.artifacts.expressions import MOST_CYCLES
from twill.artifacts.machine import Level, Machine
from twill.errors import InputError, short
from twill.sim.engine.conditions import latency_texts
from twill.sim.engine.latency_file import LatencyFile
from twill.sim.engine.work import Work

FORMS = (
    "fixed:N, uniform:A,B, lognormal:MEDIAN,SIGMA, mixture, mixture:RATES or trace:FILE in cycles "
    f"up to {MOST_CYCLES}, with OPERATION= before it for one load"
)
LARGEST_EXPONENT = 700
"""Of e, within the range of floating-point numbers."""


class Source(Protocol):
    """Draws latencies."""

    def draw(self, generator: random.Random, work: Work, start: float) -> float:
        """Return the cycles from the start of a load until its data is there.

        `start`: cycle at which its unit starts on it.
        """


@dataclass(frozen=True)
class Fixed:
    """Always the same, in cycles."""

    cycles: float

    def draw(self, generator: random.Random, work: Work, start: float) -> float:
        """Return the cycles; see `Source`."""
        return self.cycles


@dataclass(frozen=True)
class Uniform:
    """Whole cycles from `least` to `most`, all equally often."""

    least: int
    most: int

    def draw(self, generator: random.Random, work: Work, start: float) -> float:
        """Return the cycles; see `Source`."""
        return generator.randint(self.least, self.most)


@dataclass(frozen=True)
class LogNormal:
    """Whole cycles whose logarithm is normal: `median` in cycles, `sigma` of the logarithm."""

    median: float
    sigma: float

    def draw(self, generator: random.Random, work: Work, start: float) -> float:
        """Return the cycles; see `Source`."""
        deviation = min(generator.gauss(0, self.sigma), LARGEST_EXPONENT)
        return round(min(MOST_CYCLES, self.median * math.exp(deviation)))


@dataclass(frozen=True)
class Recorded:
    """Whole cycles drawn from published or recorded latencies."""

    file: LatencyFile

    def draw(self, generator: random.Random, work: Work, start: float) -> float:
        """Return the cycles; see `Source`."""
        return round(self.file.quantile(work.bytes, generator.random()))


class Mixture:
    """Data lies in one of several levels of the memory system.

    A level adds its cycles to the nominal latency, which is that of the nearest level. Loads from a
    level with a rate of its own queue for it.

    `rates`: share of the loads that each serves; they add up to 1.
    `queues`: cycle at which each level is done with what it was asked for, where several mixtures
    share the levels; changed in place.
    """

    def __init__(
        self, levels: Sequence[Level], rates: Sequence[float], queues: list[float] | None = None
    ) -> None:
        self._levels, self._rates = levels, rates
        self._free = [0.0] * len(levels) if queues is None else queues

    def draw(self, generator: random.Random, work: Work, start: float) -> float:
        """Return the cycles; see `Source`."""
        chosen = generator.choices(range(len(self._levels)), self._rates)[0]
        level = self._levels[chosen]
        latency = work.latency + level.further.value
        if level.rate is None:
            return latency
        begin = max(start, self._free[chosen])
        self._free[chosen] = begin + work.bytes / level.rate.value
        return math.ceil(max(begin + latency, self._free[chosen]) - start)


class Latencies:
    """The latency of every variable-latency load.

    Each operation has random numbers of its own, so that what one draws does not depend on what the
    others do.

    `default`: of loads that are not named; their nominal latency without it.
    """

    def __init__(self, default: Source | None, named: dict[str, Source], seed: int) -> None:
        self._default, self._named, self._seed = default, named, seed
        self._generators: dict[str, random.Random] = {}

    def draw(self, work: Work, start: float) -> float:
        """Return the cycles from the start of a load until its data is there.

        `start`: cycle at which its unit starts on it.
        """
        source = self._named.get(work.name, self._default)
        if source is None:
            return work.latency
        if work.name not in self._generators:
            self._generators[work.name] = random.Random(  # noqa: S311 - no secret
                f"{self._seed}/{work.name}"
            )
        return source.draw(self._generators[work.name], work, start)


def parse_latency(
    text: str, machine: Machine | None = None, queues: list[float] | None = None
) -> Source:
    """Return a latency source.

    `text`: ``fixed:N``, ``uniform:A,B``, ``lognormal:MEDIAN,SIGMA``, ``mixture``, ``mixture:RATES``
    (one for each level of the machine's memory system) or ``trace:FILE``; in cycles.

    Raises
    ------
    InputError
        If the text has another form, or there is no such file.
    """
    kind, _, rest = str(text).partition(":")
    if kind == "trace" and rest:
        return Recorded(LatencyFile.named(rest))
    if kind == "mixture":
        return _mixture(rest, machine, queues)
    numbers = _numbers(rest)
    whole = all(number == int(number) for number in numbers)
    if kind == "fixed" and len(numbers) == 1 and whole:
        return Fixed(int(numbers[0]))
    if kind == "uniform" and len(numbers) == 2 and whole and numbers[0] <= numbers[1]:
        return Uniform(int(numbers[0]), int(numbers[1]))
    if kind == "lognormal" and len(numbers) == 2:
        return LogNormal(*numbers)
    raise InputError(f"a latency is {FORMS} (got {short(text)})", path="latency")


def _numbers(text: str) -> list[float]:
    """Split numbers with commas between; nothing if one is none, or out of range."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return []
    return numbers if all(0 <= number <= MOST_CYCLES for number in numbers) else []


def _mixture(text: str, machine: Machine | None, queues: list[float] | None) -> Mixture:
    if machine is None or not machine.levels:
        raise InputError(
            "the machine names no levels of its memory system, so that there is no mixture",
            path="latency",
        )
    names = ", ".join(level.name for level in machine.levels)
    rates = _numbers(text) if text else [level.share.value for level in machine.levels]
    if len(rates) != len(machine.levels) or not math.isclose(sum(rates), 1, abs_tol=1e-6):
        raise InputError(
            f"a mixture has a rate for each of {names}, which add up to 1 (got {short(text)})",
            path="latency",
        )
    return Mixture(machine.levels, rates, queues)


def parse_latencies(
    texts: str | Iterable[str] | None, works: dict[str, Work], machine: Machine, seed: int
) -> Latencies:
    """Return the latency of every load.

    `texts`: as `parse_latency` takes them, in one text with spaces between; one that begins with
    ``OPERATION=`` is for that load only.

    Raises
    ------
    InputError
        If a text has another form, names no load of variable latency, or one twice.
    """
    default: Source | None = None
    named: dict[str, Source] = {}
    queues: list[float] = [0.0] * len(machine.levels or ())
    for text in latency_texts(texts):
        name, separator, rest = text.partition("=")
        if not separator:
            if default is not None:
                raise InputError(f"a second one for all loads ({short(text)})", path="latency")
            default = parse_latency(text, machine, queues)
            continue
        _check_load(name, works, named)
        named[name] = parse_latency(rest, machine, queues)
    return Latencies(default, named, seed)


def _check_load(name: str, works: dict[str, Work], named: dict[str, Source]) -> None:
    loads = [work.name for work in works.values() if work.variable_latency]
    if name not in loads:
        known = ", ".join(loads) or "none"
        raise InputError(
            f"no load of variable latency named {short(name)}; there are {known}", path="latency"
        )
    if name in named:
        raise InputError(f"a second one for {name}", path="latency")
