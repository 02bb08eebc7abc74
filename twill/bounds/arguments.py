"""Arguments for bounds of programs, and the certificates that prove them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from twill.artifacts.bound import Case, Certificate, Premise, ProgramBound, Rule

Reason = Literal[
    "work",
    "issue slots",
    "register slots",
    "commands",
    "recurrence",
    "memory",
    "registers",
    "registers of groups",
]
Figures = Mapping[str, Fraction | int]


@dataclass(frozen=True)
class Argument:
    """Why no program takes less: the sum of its figures, over what there is of it in a cycle."""

    # ``work`` of a unit, ``issue slots`` or ``register slots`` of a context, ``commands`` of an
    # operation, a ``recurrence``, residence in a ``memory`` or in ``registers``, or ``registers of
    # groups`` that operations share.
    reason: Reason
    # The unit, the operations of the recurrence or in the groups, or the memory.
    of: tuple[str, ...]
    # By operation: cycles of the unit, instructions, cycles of the recurrence, or bytes (columns,
    # registers) times cycles; of groups the interval, by the way to share them that is fastest.
    figures: Figures
    # Contexts, iterations that the recurrence spans, or bytes (columns, registers) there are.
    over: Fraction | int
    certificate: Certificate  # inequalities and weights that prove it

    @property
    def cycles(self) -> Fraction:
        """The interval that no program is below."""
        return Fraction(sum(self.figures.values())) / self.over

    @property
    def bound(self) -> ProgramBound:
        """The bound with its certificate, as schedules record it."""
        return ProgramBound(
            cycles=float(self.cycles), reason=self.reason, of=self.of, certificate=self.certificate
        )


@dataclass(frozen=True)
class Inequality:
    """A premise before it is written down: the fields of `Premise`."""

    rule: Rule
    of: tuple[str, ...]
    cycles: Fraction | int = 0
    intervals: Fraction | int = 0
    terms: tuple[tuple[str, int], ...] = ()
    dependence: int | None = None
    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def premise(self) -> Premise:
        """The inequality as a file has it; terms that cancel are left out."""
        terms = Counter[str]()
        for name, coefficient in self.terms:
            terms[name] += coefficient
        return Premise(
            rule=self.rule,
            of=self.of,
            dependence=self.dependence,
            groups=self.groups,
            terms={name: coefficient for name, coefficient in terms.items() if coefficient},
            intervals=Fraction(self.intervals),
            cycles=Fraction(self.cycles),
        )


Weighted = Iterable[tuple[Inequality, int]]
TIME = Inequality("time", (), intervals=1)


@dataclass
class Draft:
    """A certificate while its cases are added; each premise is written once."""

    positions: dict[Inequality, int] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)

    def add(
        self,
        weighted: Weighted,
        groups: tuple[tuple[str, ...], ...] = (),
        apart: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Add a case; its weights are scaled such that one interval, or one cycle, is left."""
        weights = Counter[Inequality]()
        for inequality, weight in weighted:
            weights[inequality] += weight
        zero = Fraction(0)
        intervals = sum((Fraction(i.intervals) * w for i, w in weights.items()), zero)
        cycles = sum((Fraction(i.cycles) * w for i, w in weights.items()), zero)
        whole = intervals if intervals > 0 else cycles
        scaled = {i: Fraction(w) for i, w in weights.items()}
        if intervals < 0:
            scaled[TIME] = -intervals
        chosen = tuple(
            (self.positions.setdefault(i, len(self.positions)), w / whole)
            for i, w in scaled.items()
        )
        self.cases.append(Case(groups=groups, apart=apart, weights=chosen))

    def certificate(self, operations: tuple[str, ...] = ()) -> Certificate:
        """Return all that was added."""
        premises = tuple(inequality.premise for inequality in self.positions)
        return Certificate(operations=operations, premises=premises, cases=tuple(self.cases))


def alone(weighted: Weighted) -> Certificate:
    """Return the certificate of a single case, of all programs."""
    draft = Draft()
    draft.add(weighted)
    return draft.certificate()
