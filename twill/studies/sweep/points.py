"""The points of a sweep: every combination of what runs and of parameter values."""

from __future__ import annotations

import hashlib
import itertools
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twill.artifacts.sweep import Scalar, Sweep
from twill.console import Report, silent
from twill.errors import InputError, short
from twill.studies.subjects import Subject, subjects, variant
from twill.studies.sweep.parameters import parameter, values

MOST_POINTS = 1_000_000
SAME = {
    ("tma-latency", "latency"): "how long loads take",
    ("depth", "deeper"): "how many slots rings have",
}
"""Parameters that change the same thing."""


@dataclass(frozen=True)
class Runnable:
    """Something that points run: a schedule, or a loop on a machine that is to be scheduled.

    Attributes
    ----------
    item, loop, machine, variant : str
        What it is, for the table.
    schedule, document, machine_document : str, optional
        JSON texts: of a schedule; or of a loop and of a machine.
    note : str
        Why there is no schedule, or what it needs that the machine lacks; empty if nothing.
    """

    item: str
    loop: str
    machine: str
    variant: str
    schedule: str = ""
    document: str = ""
    machine_document: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """Name that tells it apart, also of its file."""
        return f"{self.item}.{self.machine}.{self.variant}"

    @property
    def digest(self) -> str:
        """SHA-256 of all that it says."""
        text = "\n".join((self.schedule, self.document, self.machine_document, self.note))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Task:
    """One point, ready to be sent to another process.

    Attributes
    ----------
    index : int
        Its place in the table.
    subject : bytes
        The runnable's texts, compressed.
    labels : dict
        Columns that say what runs.
    point : dict
        Values by parameter.
    settings : dict
        What is the same for all points.
    """

    index: int
    subject: bytes
    labels: dict[str, str]
    point: dict[str, Scalar]
    settings: dict[str, Any]


def axes(sweep: Sweep) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of each parameter of a sweep.

    Raises
    ------
    InputError
        If a parameter is not known, has values of another kind, or needs `resolve`.
    """
    found = {}
    for name, given in sweep.axes.items():
        known = parameter(name)
        if known.resolve and not sweep.resolve:
            raise InputError(
                f"{name} changes what is scheduled: add --resolve (resolve = true)", path="axes"
            )
        found[name] = values(given, known.kind, f"axes.{name}")
        least = min((v for v in found[name] if not isinstance(v, str)), default=0)
        if least < known.least:
            raise InputError(f"no value below {known.least}", path=f"axes.{name}")
    _check_count(math.prod(len(several) for several in found.values()))
    for pair, what in SAME.items():
        if set(pair) <= set(found):
            raise InputError(f"{' and '.join(pair)} both say {what}: keep one", path="axes")
    return found


def _check_count(points: int) -> None:
    if points > MOST_POINTS:
        raise InputError(f"at most {MOST_POINTS} points (got {points})", path="axes")


def runnables(sweep: Sweep, report: Report = silent) -> list[Runnable]:
    """Return what a sweep runs; loops are scheduled unless each point does so."""
    found = [
        one
        for subject in subjects(sweep.items, sweep.machines)
        for one in (_loops(sweep, subject) if sweep.resolve else _schedules(sweep, subject, report))
    ]
    return _told_apart(found)


def _loops(sweep: Sweep, subject: Subject) -> list[Runnable]:
    loop, machine = subject.loop.to_json(), subject.machine.to_json()
    return [
        Runnable(
            subject.name,
            subject.loop.name,
            subject.machine.name,
            name,
            document=loop,
            machine_document=machine,
        )
        for name in sweep.variants
    ]


def _schedules(sweep: Sweep, subject: Subject, report: Report) -> list[Runnable]:
    schedule = subject.solved(seed=sweep.seed, timeout=sweep.timeout, report=report)
    item = subject.name if subject.schedule is None else schedule.name
    found: list[Runnable] = []
    for name in sweep.variants:
        report(f"{item} on {subject.machine.name}: {name}")
        way = variant(name, schedule, report)
        text = "" if way.schedule is None else way.schedule.to_json()
        found.append(
            Runnable(
                item,
                subject.loop.name,
                subject.machine.name,
                name,
                schedule=text,
                note=way.note,
            )
        )
    return found


def _told_apart(found: Sequence[Runnable]) -> list[Runnable]:
    """Number items that have one name, as two schedules of one loop do."""
    names: dict[str, int] = {}
    result = []
    for one in found:
        count = names[one.name] = names.get(one.name, 0) + 1
        item = one.item if count == 1 else f"{one.item}#{count}"
        result.append(Runnable(**{**vars(one), "item": item}))
    return result


def tasks(sweep: Sweep, found: Sequence[Runnable]) -> list[Task]:
    """Return every point of a sweep in the order of its table: what runs first, last axis fastest.

    Raises
    ------
    InputError
        If there are more than a million.
    """
    every = axes(sweep)
    _check_count(len(found) * math.prod(len(v) for v in every.values()))
    grid = [dict(zip(every, point, strict=True)) for point in itertools.product(*every.values())]
    settings = {
        "iterations": sweep.iterations,
        "seed": sweep.seed,
        "latency": list(sweep.latency),
        "tolerance": sweep.tolerance,
        "clock": sweep.clock,
        "timeout": sweep.timeout,
        "resolve": sweep.resolve,
    }
    made: list[Task] = []
    for one in found:
        subject = zlib.compress(
            "\0".join((one.schedule, one.document, one.machine_document, one.note)).encode()
        )
        labels = {
            "item": one.item,
            "loop": one.loop,
            "machine": one.machine,
            "variant": one.variant,
        }
        made += [Task(len(made) + i, subject, labels, p, settings) for i, p in enumerate(grid)]
    return made


def check_points(rows: Mapping[int, Mapping[str, Any]], every: Sequence[Task], file: str) -> None:
    """Refuse rows that are not of the points of a sweep.

    Raises
    ------
    InputError
        If a row is of no point, or does not say what ran, or with which values.
    """
    for index, row in rows.items():
        if index >= len(every):
            raise InputError(f"a row of point {short(index)} of {len(every)}", file=file)
        for name, value in {**every[index].labels, **every[index].point}.items():
            if name not in row:
                raise InputError(f"the row of point {index} has no {short(name)}", file=file)
            if row[name] != value:
                message = f"the row of point {index} ran {short(value)} (got {short(row[name])})"
                raise InputError(message, path=name, file=file)
