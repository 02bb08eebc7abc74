"""Forms of a kernel: as written, or its tiles in parts that overlap; the bound orders them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError, TwillError
from twill.bounds.programs import program_bound
from twill.decorated.devices import architecture_of
from twill.emit import attributes
from twill.emit.source import Source
from twill.frontends.subtiling import impossible_product
from twill.frontends.triton_dump.kernel import dump_call
from twill.frontends.triton_dump.lower import DEFAULT_WARPS, check_target, splits
from twill.frontends.triton_dump.split import FACTORS, Split
from twill.frontends.ttgir.extraction import extract

LEAST_WARPS = 4  # of a group that multiplies
MOST_SOLVED = 2  # forms that are scheduled
WITHIN = 0.01  # of the best time; a form is not scheduled for less


@dataclass(frozen=True)
class Form:
    """A kernel's loop in one form.

    `loop`: the loop with the kernel around it.
    `bound`: cycles that an iteration takes at least, over all parts.
    `split`: parts of its tiles; None as written.
    `narrow`: whether it has fewer warps than the call asks for, for machines that refuse all
    others.
    """

    loop: Loop
    bound: float
    split: Split | None = None
    narrow: bool = False

    def __str__(self) -> str:
        """Return the form in words."""
        if self.split is None:
            return f"as written{f' with {LEAST_WARPS} warps' if self.narrow else ''}"
        return f"{self.split.factor} sub-tiles along {self.split.along}"


def forms(
    kernel: Any, arguments: Mapping[str, Any], options: Mapping[str, Any], machine: Machine
) -> list[Form]:
    """Return the forms of a kernel that a machine may execute, that of the lowest bound first.

    Raises
    ------
    InputError, RefusedError
        If there is none: why the kernel as written is refused.
    """
    if options.get("num_ctas", 1) != 1:
        raise RefusedError("clusters of several blocks have no template")
    if any(isinstance(value, tuple) for value in arguments.values()):
        raise RefusedError("tuples as arguments have no template")
    architecture = architecture_of(machine)
    warps = options.get("num_warps", DEFAULT_WARPS)
    check_target(architecture, warps)
    file = kernel.fn.__code__.co_filename
    fuses = bool(options.get("enable_fp_fusion", True))

    def form(how: Split | None, count: int) -> Form:
        given = {**options, "num_warps": count}
        text = dump_call(kernel, arguments, architecture, given, file, how)
        loop = extract(text, file=kernel.__name__, name=kernel.__name__, fp_fusion=fuses)
        attributes.check(Source(loop))
        if how is not None and (wrong := impossible_product(loop, machine)):
            raise RefusedError(wrong)
        narrow = how is None and count < warps
        return Form(loop, program_bound(loop, machine).cycles, how, narrow)

    found = [form(None, warps)]
    least = min(machine.products.rows) if machine.products is not None else 1
    asked = (kernel, arguments, architecture, {"num_warps": warps, **options})
    for factor in FACTORS:
        with contextlib.suppress(TwillError):  # the kernel as written is still there
            each = min(warps, max(LEAST_WARPS, warps // factor))
            found += [form(how, each) for how in splits(*asked, factor=factor, least=least)[:1]]
    if warps > LEAST_WARPS:
        with contextlib.suppress(TwillError):
            found.append(form(None, LEAST_WARPS))
    return sorted(found, key=lambda one: (one.narrow, one.bound))


def fastest(found: Sequence[Form], solved: Callable[[Loop], tuple[Schedule, str]]) -> str:
    """Return the kernel of the form that is executed fastest, of those that are scheduled.

    `solved`: returns the schedule of a loop, and its kernel.

    Raises
    ------
    RefusedError
        If no form has a kernel: why the first has none, or the one with fewer warps.
    """
    made: list[tuple[float, str]] = []
    refused: list[RefusedError] = []
    for form in found:
        best = min(made, default=None)
        better = best is None or form.bound <= best[0] * (1 - WITHIN)
        if made and (len(made) == MOST_SOLVED or form.narrow or not better):
            break
        try:
            schedule, kernel = solved(form.loop)
        except RefusedError as error:
            refused.append(error)
            continue
        made.append((cycles_of(schedule), kernel))
    if not made:
        raise refused[-1 if found[-1].narrow else 0]
    return min(made)[1]


def cycles_of(schedule: Schedule) -> float:
    """Return the cycles of an iteration by the best judge that there was."""
    promise = schedule.promise
    if promise is None:
        return float(schedule.initiation_interval or 0)
    judged = promise.on_gpu or promise.machine_code
    return promise.interval_cycles if judged is None else judged.interval_cycles
