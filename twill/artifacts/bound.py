"""Bounds of programs with certificates: inequalities whose weighted sum is the bound."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Field,
    NonNegativeInt,
    PlainSerializer,
    WithJsonSchema,
)

from twill.artifacts.base import Artifact, Part
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine

NUMBER = r"^-?[0-9]{1,40}(/[1-9][0-9]{0,39})?$"
MOST = 10_000  # premises, cases
Cycles = Annotated[float, Field(gt=0)]
Rule = Literal[
    "work",
    "work of contexts",
    "work of a context",
    "slots of contexts",
    "slots of a context",
    "slots of contexts with products",
    "command",
    "delay",
    "transfer",
    "room",
    "read",
    "made",
    "exclusive",
    "kept",
    "registers",
    "launch",
    "time",
]


def _fraction(value: object) -> object:
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, str) or not re.fullmatch(NUMBER, value):
        raise ValueError("a fraction is written as '3' or '3/4'")
    return Fraction(value)


Number = Annotated[
    Fraction,
    BeforeValidator(_fraction),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": NUMBER}),
]


class Premise(Part):
    """An inequality of every program: `terms` and `intervals` times T add up to `cycles` or more.

    `rule`: the rule of docs/bounds.md from which the inequality follows.
    `of`: the unit, the operations, or the memory and values.
    `dependence`: position of the dependence in the loop.
    `groups`: operations that share a warp group, where the rule is one of such a group.
    `terms`: coefficients of starts of operations and of the times for which values are kept.
    `intervals`: coefficient of T, the interval.
    `cycles`: the right-hand side.
    """

    rule: Rule
    of: tuple[str, ...]
    dependence: NonNegativeInt | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    terms: dict[str, int] = Field(default_factory=dict)
    intervals: Number
    cycles: Number


class Case(Part):
    """Programs with some groups, and the weights of premises that bound their interval.

    The weighted sum has no terms. The sum says that T is at least the bound, or that 0 is at least
    1.

    `groups`: groups that the programs have, among the operations of the certificate.
    `apart`: operations that are on different groups.
    `weights`: positions of premises, with positive weights.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    weights: Annotated[tuple[tuple[NonNegativeInt, Number], ...], Field(min_length=1)]


class Certificate(Part):
    """Why no program is below a bound, as linear programs are refuted.

    `operations`: operations of which every division among groups is a case; empty if groups do not
    matter.
    `premises`: inequalities on which the bound rests.
    `cases`: cases, of which each program is described by at least one.
    """

    operations: tuple[str, ...] = ()
    premises: Annotated[tuple[Premise, ...], Field(min_length=1, max_length=MOST)]
    cases: Annotated[tuple[Case, ...], Field(min_length=1, max_length=MOST)]


class ProgramBound(Part):
    """An interval that no program of the loop is below on the simulated SM.

    `cycles`: the bound.
    `reason`: the argument that gives it, see docs/bounds.md.
    `of`: the unit, the operations of a recurrence or on groups, or the memory.
    """

    cycles: Cycles
    reason: str
    of: tuple[str, ...] = ()
    certificate: Certificate


class BoundFile(Artifact):
    """A bound with its loop and machine, to be checked by itself.

    Attributes
    ----------
    latency : int, optional
        Cycles that every load of variable latency takes at least; nominal without it.
    """

    schema_name: Literal["twill.bound"] = Field("twill.bound", alias="schema")
    schema_version: Literal[1] = 1
    latency: NonNegativeInt | None = None
    loop: Loop
    machine: Machine
    bound: ProgramBound
