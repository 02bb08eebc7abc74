"""Parameters of a sweep by name: values as people write them, and the effect of each."""

from __future__ import annotations

import difflib
import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.sweep import Scalar, Values
from twill.base.errors import InputError, short
from twill.base.names import wrong
from twill.explain.levers import scaled_signals, with_unit_faster

Kind = Literal["whole", "number", "text"]
MOST_VALUES = 100_000
# Significant digits of computed values: evenly spaced ones read as people would write them.
DIGITS = 12
FORMS = (
    "numbers with commas between, A:B for whole numbers, START:STOP:COUNT for evenly spaced ones, "
    "or log:START:STOP:COUNT"
)


def values(given: Values, kind: Kind, path: str) -> tuple[Scalar, ...]:
    """Return the values of a parameter, each once, in the order given.

    `kind`: ``whole``: evenly spaced values are rounded. ``text``: taken as it is.

    Raises
    ------
    InputError
        If it has none of these forms.
    """
    parts: Iterable[Scalar] = given if isinstance(given, tuple) else (given,)
    found: dict[Scalar, None] = {}
    try:
        for part in parts:
            found |= dict.fromkeys(_values(part, kind))
            if len(found) > MOST_VALUES:
                raise _too_many(part)
    except InputError as error:
        raise InputError(error.message, path=path) from None
    if not found:
        raise InputError("at least one value", path=path)
    return tuple(found)


def _values(part: Scalar, kind: Kind) -> list[Scalar]:
    if kind == "text":
        return [str(part)]
    if isinstance(part, bool):
        raise _refused(part)
    text = str(part)
    if "," in text:
        return [_as(_number(one, part), kind, part) for one in text.split(",")]
    bounds = [_number(one, part) for one in text.removeprefix("log:").split(":")]
    if len(bounds) == 3:
        return _spaced(bounds, kind, part)
    if text.startswith("log:") or len(bounds) > 3:
        raise _refused(part)
    if len(bounds) == 1:
        return [_as(bounds[0], kind, part)]
    first, last = (int(_as(bound, "whole", part)) for bound in bounds)
    if last < first:
        raise _refused(part)
    if last - first >= MOST_VALUES:
        raise _too_many(part)
    return list(range(first, last + 1))


def _spaced(bounds: list[float], kind: Kind, given: Scalar) -> list[Scalar]:
    first, last, count = bounds
    logarithmic = str(given).startswith("log:")
    if count < 1 or count % 1 or (logarithmic and min(first, last) <= 0):
        raise _refused(given)
    if count > MOST_VALUES:
        raise _too_many(given)
    spaced = (np.geomspace if logarithmic else np.linspace)(first, last, int(count))
    points = [float(f"{x:.{DIGITS}g}") for x in spaced]
    return [round(x) if kind == "whole" else x for x in points]


def _as(number: float, kind: Kind, given: Scalar) -> int | float:
    if kind == "whole" and number % 1:
        raise InputError(f"whole numbers (got {short(given)})")
    return int(number) if number == int(number) else number


def _number(text: str, given: Scalar) -> float:
    try:
        number = float(text)
    except ValueError:
        raise _refused(given) from None
    if not math.isfinite(number) or abs(number) > 1e15:
        raise _refused(given)
    return number


def _too_many(given: Scalar) -> InputError:
    return InputError(f"at most {MOST_VALUES} values (got {short(given)})")


def _refused(given: Scalar) -> InputError:
    return InputError(f"{FORMS} (got {short(given)})")


@dataclass(frozen=True)
class Parameter:
    """Something with values; docs/studies.md says what each changes."""

    # As on the command line; ``throughput.`` and the like go on with what is meant.
    name: str
    unit: str
    kind: Kind
    # Whether only scheduling anew can take it into account.
    resolve: bool = False
    # The least value that it may have.
    least: int = 0


# Parameters that say how many slots rings have: what hides latency, and takes room.
RINGS = ("depth", "deeper")
# Of scheduling.
LIMITS = (
    Parameter("groups", "groups", "whole", resolve=True),
    Parameter("registers", "registers a thread", "whole", resolve=True),
    Parameter("stages", "stages", "whole", resolve=True),
    Parameter("transfers", "transfers", "whole", resolve=True),
)
PARAMETERS = (
    Parameter("tma-latency", "cycles", "whole"),
    Parameter("latency", "", "text"),
    Parameter("depth", "slots", "whole", least=1),
    Parameter("deeper", "slots", "whole"),
    Parameter("synchronisation", "times", "number"),
    Parameter("throughput.", "times", "number"),
    Parameter("machine.", "", "number"),
    *LIMITS,
    Parameter("iterations", "iterations", "whole"),
    Parameter("seed", "", "whole"),
    Parameter("warp-scheduler", "", "text"),
    Parameter("without", "", "text"),
)


def parameter(name: str) -> Parameter:
    """Return a parameter by name.

    Raises
    ------
    InputError
        If there is none.
    """
    if wrong(name):
        raise InputError(f"{wrong(name)} (got {short(name)})", path="axes")
    for known in PARAMETERS:
        if name.startswith(known.name) and (name == known.name) != known.name.endswith("."):
            return known
    names = [known.name for known in PARAMETERS]
    near = difflib.get_close_matches(name, names, n=2)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    listed = ", ".join(n + "..." if n.endswith(".") else n for n in names)
    raise InputError(f"no parameter named {short(name)}{hint} (there are {listed})", path="axes")


# As which option of `twill.sim.run` a parameter's value is given.
OPTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "iterations": ("iterations", int),
    "seed": ("seed", int),
    "tma-latency": ("latency", "fixed:{}".format),
    "latency": ("latency", str),
    "warp-scheduler": ("warp_scheduler", str),
    "without": ("without", lambda value: (str(value),) if value else ()),
}


def run_options(point: Mapping[str, Scalar]) -> dict[str, Any]:
    """Return the options of `twill.sim.run` that a point names."""
    given = ((*OPTIONS[name], value) for name, value in point.items() if name in OPTIONS)
    return {option: form(value) for option, form, value in given}


def limits(point: Mapping[str, Scalar]) -> dict[str, int]:
    """Return the limits of `twill.schedule` that a point names."""
    return {one.name: int(point[one.name]) for one in LIMITS if one.name in point}


def changed_machine(machine: Machine, point: Mapping[str, Scalar]) -> Machine:
    """Return a machine with what a point changes of it.

    Raises
    ------
    InputError
        If it has no such number, or cannot have this value.
    """
    for name, value in point.items():
        if name == "synchronisation":
            if float(value) < 0:
                raise InputError(f"at least 0 (got {short(value)})", path=name)
            machine = scaled_signals(machine, float(value))
        elif name.startswith("machine."):
            machine = with_number(machine, name.removeprefix("machine."), float(value), name)
    return machine


def changed_loop(
    loop: Loop, machine: Machine, point: Mapping[str, Scalar], *, resolve: bool
) -> Loop:
    """Return a loop with what a point changes of it, its operations' costs among it.

    `resolve`: whether it will be scheduled: only then the nominal latency changes with
    ``tma-latency``.

    Raises
    ------
    InputError
        If the machine has no such unit, or it cannot be so fast.
    """
    for name, value in point.items():
        if name.startswith("throughput."):
            loop = _faster(loop, machine, name, float(value))
    if resolve and "tma-latency" in point:
        loop = with_latency(loop, machine, int(point["tma-latency"]))
    return loop


def _faster(loop: Loop, machine: Machine, name: str, factor: float) -> Loop:
    unit = name.removeprefix("throughput.")
    if unit not in machine.units:
        known = ", ".join(machine.units)
        raise InputError(f"{machine.name} has no unit named {short(unit)}, only {known}", path=name)
    if factor <= 0:
        raise InputError(f"more than 0 (got {short(factor)})", path=name)
    return with_unit_faster(loop, machine, unit, factor)


def with_latency(loop: Loop, machine: Machine, cycles: int) -> Loop:
    """Return a loop whose loads of variable latency nominally take so long."""
    costs = [(operation, machine.cost(operation)) for operation in loop.operations]
    late = {"latency": cycles}
    operations = tuple(
        o.model_copy(update={"cost": cost.model_copy(update=late)}) if cost.variable_latency else o
        for o, cost in costs
    )
    return loop.model_copy(update={"operations": operations})


def with_number(machine: Machine, path: str, value: float, parameter_name: str) -> Machine:
    """Return a machine in which one number of its file is another one.

    Raises
    ------
    InputError
        If there is no such number, or the machine is none with it.
    """
    data: Any = machine.model_dump(mode="json", by_alias=True, exclude_none=True)
    *folders, last = path.split(".")
    inner = functools.reduce(_entry, folders, data)
    before = _entry(inner, last)
    if not isinstance(before, int | float) or isinstance(before, bool):
        raise InputError(
            f"{machine.name} has no number at {short(path)}: name one by its keys, for example "
            "machine.synchronisation.hop.value",
            path=parameter_name,
        )
    inner[int(last) if isinstance(inner, list) else last] = (
        int(value) if isinstance(before, int) and value == int(value) else value
    )
    try:
        return Machine.from_json(json.dumps(data))
    except InputError as error:
        raise InputError(f"{machine.name}: {error}", path=parameter_name) from None


def _entry(inner: Any, key: str) -> Any:
    if isinstance(inner, list):
        return inner[int(key)] if key.isdecimal() and int(key) < len(inner) else None
    return inner.get(key) if isinstance(inner, dict) else None
