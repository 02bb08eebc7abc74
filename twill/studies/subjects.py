"""Subjects of studies: loops and schedules by name or file, and the ways to execute each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from twill.artifacts.base import unknown
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.order import SCHEMA as ORDER
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.errors import InputError, RefusedError, short
from twill.base.files import read_bytes
from twill.frontends import READERS, load_loop, packaged_loops
from twill.frontends.ddg.schedules import is_schedule_graph
from twill.frontends.schedules import load_schedule, packaged_schedules
from twill.lower.baselines import multi_warp, sequential
from twill.search.cache import Cache
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.studies.pipelined import excess, software_pipelined, spilled, triton_pipelined

SCHEDULES = ("twill.schedule", ORDER)


@dataclass(frozen=True)
class Subject:
    """A loop on a machine, with its schedule if there is one already."""

    # Of the loop as a person gave it, or of the schedule's loop.
    name: str
    loop: Loop
    machine: Machine
    schedule: Schedule | None = None
    # Why there is none, once one was looked for.
    refusal: str = ""

    @classmethod
    def of(cls, schedule: Schedule) -> Subject:
        """Return the subject that a schedule is."""
        return cls(schedule.loop.name, schedule.loop, schedule.machine, schedule)

    def solved(
        self, *, seed: int = 0, timeout: float | None = None, report: Report = silent
    ) -> Schedule:
        """Return the schedule, an optimal one if none was given.

        `timeout`: seconds after which the best schedule by then is taken.

        Raises
        ------
        RefusedError
            If there is none.
        """
        if self.schedule is not None:
            return self.schedule
        if self.refusal:
            raise RefusedError(self.refusal)
        request = Request(self.loop, self.machine, seed=seed)
        return solve(request, timeout=timeout, report=report, cache=Cache()).schedule


Place = str | os.PathLike[str]


def subjects(
    items: Iterable[Loop | Schedule | Place], machines: Sequence[Machine | Place] = ()
) -> list[Subject]:
    """Return loops on machines, and schedules on theirs, in the order in which they are named.

    `items`: packaged names, files, or loops and schedules. A JSON file whose key ``schema`` is
    ``twill.schedule`` or ``twill.order`` is a schedule, anything else a loop.
    `machines`: for the loops, each on each; the machine that a packaged loop is meant for without
    them.

    Raises
    ------
    InputError
        If an item is neither, or a loop has no machine, or machines are named without loops.
    """
    chosen = [Machine.named(name) for name in machines]
    found: list[Subject] = []
    for given in items:
        item = given if isinstance(given, Loop | Schedule) else os.fspath(given)
        if isinstance(item, Schedule) or (isinstance(item, str) and is_schedule(item)):
            found.append(Subject.of(load_schedule(item)))
        elif isinstance(item, Loop):
            found += [Subject(item.name, item, m) for m in chosen or _own_machine(item.name)]
        else:
            # Without folders and endings.
            name = item.rpartition("/")[2]
            name = name.removesuffix(next((e for e in READERS if name.endswith(e)), ""))
            loop = load_loop(item)
            found += [Subject(name, loop, machine) for machine in chosen or _own_machine(item)]
    if chosen and all(subject.schedule for subject in found):
        raise InputError("only loops go to other machines; a schedule has its own", path="machine")
    return found


def _own_machine(item: str) -> list[Machine]:
    packaged = packaged_loops().get(item)
    if packaged is None:
        raise InputError("this loop needs a machine: name one with --machine", file=item)
    return [Machine.named(packaged.machine)]


def is_schedule(item: str) -> bool:
    """Return whether an item is a schedule, or an order that one is derived from.

    Raises
    ------
    InputError
        If it is neither a packaged schedule nor a packaged loop nor a file that can be read.
    """
    if item in packaged_schedules():
        return True
    if not item.endswith(".json"):
        if item in packaged_loops() or item.endswith(tuple(READERS)):
            return False
        known = [*packaged_loops(), *packaged_schedules()]
        raise unknown("loop or schedule", item, known, " or ".join(READERS))
    try:
        text = read_bytes(item)
        document = json.loads(text)
    except (ValueError, RecursionError):
        return True  # the reader of schedules says what is wrong with it
    if is_schedule_graph(text):
        return True
    return isinstance(document, dict) and document.get("schema") in SCHEDULES


# The loop as written; its sub-tiles on groups of their own; a modulo schedule that knows nothing of
# warps; what Triton's pipeliner makes of it; the schedule itself.
VARIANTS: dict[str, Callable[[Subject, Report], Schedule]] = {
    "sequential": lambda one, _: sequential(one.loop, one.machine),
    "multi-warp": lambda one, _: multi_warp(
        one.loop, one.machine, one.schedule.pipeline_depths if one.schedule else None
    ),
    "swp": lambda one, report: software_pipelined(one.loop, one.machine, report=report),
    "triton": lambda one, _: triton_pipelined(one.loop, one.machine),
    "joint": lambda one, report: one.solved(report=report),
}


def variants_of(loop: Loop) -> list[str]:
    """Return the variants that a loop may have: Triton's is of loops from its dumps."""
    return [name for name in VARIANTS if name != "triton" or loop.source is not None]


# Packaged schedules of the same kernel that others made, by loop: FlashAttention-3 and -4 in the
# order of their sources, and what Triton's warp specialization makes of attention. Tiles may have
# other shapes (128 x 176), so that only work per time compares.
EXPERTS: dict[str, tuple[str, ...]] = {
    "fa_fwd_hopper": (
        "fa3_forward_128x128",
        "fa3_forward_128x128_parts",
        "fa3_forward_128x176",
        "fa3_forward_128x176_parts",
    ),
    "fa_fwd_blackwell": ("fa4_forward", "fa4_forward_rescaling"),
    "attention_forward_blackwell": ("triton_attention_forward",),
    "paper_example": ("paper_example_by_hand",),
}


@dataclass(frozen=True)
class Variant:
    """A way to execute a loop."""

    # One of `VARIANTS`, or the name of a hand-written schedule.
    name: str
    # None if there is none.
    schedule: Schedule | None
    # Why not, or why the SM could not execute it as it is; empty if it could.
    note: str = ""


def variant(name: str, subject: Subject, report: Report = silent) -> Variant:
    """Return one way to execute a subject.

    `subject`: its schedule is the joint one; the others use its loop, machine and ring depths.

    Raises
    ------
    InputError
        If there is no such variant.
    """
    if name not in VARIANTS:
        raise InputError(f"one of {', '.join(VARIANTS)} (got {short(name)})", path="variant")
    try:
        made = VARIANTS[name](subject, report)
    except (InputError, RefusedError) as error:
        return Variant(name, None, str(error))
    notes = (excess(made), spilled(made)) if name in ("swp", "triton") else ()
    return Variant(name, made, "; ".join(filter(None, notes)))


def experts(subject: Subject) -> list[Variant]:
    """Return the hand-written schedules of a loop's kernel for its machine."""
    found = (load_schedule(name) for name in EXPERTS.get(subject.loop.name, ()))
    own = subject.schedule.name if subject.schedule else None
    return [
        Variant(one.name, one)
        for one in found
        if one.machine.name == subject.machine.name and one.name != own
    ]
