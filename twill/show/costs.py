"""A loop on a machine as one table: operations down, units across, limits below."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from twill.artifacts.loop import Invariant, Operation, Tile
from twill.base.console import say
from twill.base.formats import count, megahertz, plural, teraflops
from twill.base.tables import Column, Table
from twill.bounds.analysis import Analysis, Recurrence, product_flops
from twill.problem.costs import StaticCost
from twill.show.inputs import folded_kinds, kinds_line

MARKS = {
    "a": "asynchronous",
    "s": "streaming: variable latency that nothing waits for, shown is the nominal one",
    "*": "on the recurrence that sets RecMII",
    "o": "on another recurrence",
    "?": "no cost",
}


def print_costs(analysis: Analysis) -> None:
    """Print the table of costs, the limits and what occupies memory throughout."""
    say(f"{analysis.loop.name} on {analysis.machine.name}, cycles of one iteration")
    _print_operations(analysis)
    say()
    if analysis.bounds is None:
        because = f": no cost for {', '.join(analysis.unknown)}" if analysis.unknown else ""
        say(f"totals, ResMII, RecMII and throughput unknown{because}")
    else:
        _print_limits(analysis)
        _print_bounds(analysis)
        _print_waits(analysis)
    for invariant in analysis.loop.invariants:
        users = f", read by {', '.join(invariant.used_by)}" if invariant.used_by else ""
        tile = invariant.tile
        where = "" if tile.memory == "none" else f" in {tile.memory}"
        shape = f"{'x'.join(map(str, tile.shape)) or 'scalar'} {tile.dtype}"
        taken = _occupied(analysis, invariant)
        say(f"invariant {invariant.name}: {shape}{where}, {taken}{users}")
    for name, entry in occupied(analysis).items():
        say(f"invariants take {entry['used']} of {entry['capacity']} {entry['unit']} of {name}")
    if analysis.loop.folded:
        kinds = kinds_line(folded_kinds(analysis.loop))
        say(f"folded away: {len(analysis.loop.folded)} operations ({kinds})")


def _print_operations(analysis: Analysis) -> None:
    units = list(analysis.machine.units)
    rows = [_row(analysis, operation, units) for operation in analysis.loop.operations]
    totals = (sum(_load(analysis, c, unit) for c in analysis.costs.values()) for unit in units)
    numbers = ("occupancy", "issue cost", "latency", "registers", "bytes")
    columns = [Column("operation"), Column("kind")]
    columns += [Column(unit.replace("_", "_\n"), form=_busy) for unit in units]
    columns += [Column(heading, form=count) for heading in numbers]
    columns += [Column("memory"), Column("marks")]
    below = [] if analysis.refusal else [["total", "", *totals, *[""] * 7]]
    Table(columns, rows, below).print()
    say("under a unit: cycles of the whole unit; registers: per thread of the result")
    shown = {mark for *_, marks in rows for mark in str(marks).split()}
    for mark, meaning in MARKS.items():
        if mark in shown:
            say(f"{mark}  {meaning}")


def _row(analysis: Analysis, operation: Operation, units: list[str]) -> list[object]:
    cost = analysis.costs.get(operation.name)
    result = operation.result
    stored = result.memory if result and result.memory in ("smem", "tmem") else ""
    loads = [_load(analysis, cost, unit) for unit in units]
    times = ["?"] * 3 if cost is None else [cost.occupancy, cost.issue, cost.latency]
    registers = _registers(analysis, operation) or ""
    taken: list[object] = [registers, result.bytes if result else "", stored]
    return [operation.name, operation.kind, *loads, *times, *taken, _marks(analysis, operation)]


def _load(analysis: Analysis, cost: StaticCost | None, unit: str) -> float:
    """Cycles for which the whole unit is busy: shares of it count as shares."""
    if cost is None:
        return 0
    capacity = analysis.machine.units[unit].capacity
    return sum(r.length * r.count / capacity for r in cost.reservations if r.unit == unit)


def _busy(cycles: float) -> str:
    """Return cycles in tenths where they are not whole, and nothing for none."""
    return f"{cycles:.{0 if cycles == round(cycles) else 1}f}" if cycles else ""


def _marks(analysis: Analysis, operation: Operation) -> str:
    cost = analysis.costs.get(operation.name)
    if cost is None:
        return "?"
    kept = "s" if _streams(analysis, operation, cost) else "a" if cost.asynchronous else ""
    member = {"critical": "*", "member": "o", None: ""}[_recurs(analysis, operation.name)]
    return " ".join(filter(None, (kept, member)))


def _streams(analysis: Analysis, operation: Operation, cost: StaticCost) -> bool:
    memory = operation.result.memory if operation.result is not None else "none"
    waits = any(d.consumer == operation.name for d in analysis.loop.dependences)
    return cost.variable_latency and memory in ("smem", "tmem") and not waits


def _recurs(analysis: Analysis, name: str) -> str | None:
    """Whether an operation is on the critical recurrence, on another one, or on none."""
    if any(name in {step.consumer for step in r.steps} for r in _critical(analysis)):
        return "critical"
    return "member" if any(name in r.operations for r in analysis.recurrences) else None


def _critical(analysis: Analysis) -> list[Recurrence]:
    return [r for r in analysis.recurrences if r.bound == analysis.recurrences[0].bound]


def _print_limits(analysis: Analysis) -> None:
    flops = product_flops(analysis.loop)
    columns = [
        Column("limit"),
        Column("unit-cycles", form=count),
        Column("capacity", form=count),
        Column("bound", "cycles", count),
        *([Column("TFLOP/s\nif alone", form=teraflops)] if flops else []),
        Column(""),
    ]
    keys = ["limit", "unit_cycles", "capacity", "cycles", *(["teraflops"] if flops else [])]
    rows = []
    for limit in limits(analysis):
        cells = ["" if limit[key] is None else limit[key] for key in keys]
        rows.append([*cells, "<- largest" if limit["largest"] else ""])
    Table(columns, rows).print()


def _print_bounds(analysis: Analysis) -> None:
    found = analysis.bounds
    assert found is not None
    longest = max(found.resource, found.recurrence)
    issue = f", issue of {found.issue_operation} {found.issue}" if found.issue > longest else ""
    together = found.configurations
    units = f", all units together {together.value}" if together else ""
    say(
        f"ResMII {found.resource} ({found.resource_unit}){units}, "
        f"RecMII {found.recurrence}{issue}: at least {plural(found.interval, 'cycle')} an iteration"
    )
    if not analysis.recurrences:
        say("no recurrence")
    for recurrence in analysis.recurrences:
        name = "RecMII" if recurrence in _critical(analysis) else "recurrence"
        say(f"{name}, {plural(recurrence.bound, 'cycle')}: {cycle_text(recurrence)}")
    flops, machine = product_flops(analysis.loop), analysis.machine
    if flops:
        say(
            f"TFLOP/s: {flops} FLOP an iteration (2 m n k of every product) on "
            f"{plural(machine.multiprocessors.value, 'SM')} at "
            f"{megahertz(machine.clock.value)} MHz"
        )


def cycle_text(recurrence: Recurrence) -> str:
    """Return the cycle of a recurrence with its delays and distances."""
    if not recurrence.steps:
        return f"{', '.join(recurrence.operations)} (without delay)"
    return recurrence.start + "".join(
        f" -> {step.consumer} ({plural(step.delay, 'cycle')}, distance {step.distance})"
        for step in recurrence.steps
    )


def _print_waits(analysis: Analysis) -> None:
    waits = defaultdict[str, list[str]](list)
    for entry in dependences(analysis):
        if entry["blocking"]:
            later = f" @{entry['distance']}" if entry["distance"] else ""
            waits[entry["consumer"]].append(f"{entry['producer']}{later}")
    for consumer, producers in waits.items():
        say(f"blocking wait: {consumer} for {', '.join(producers)}")


# -- data -------------------------------------------------------------------------------------


def costs_data(analysis: Analysis) -> dict[str, Any]:
    """Return everything that `print_costs` shows as plain data, with source locations."""
    found = analysis.bounds
    configurations = found and found.configurations
    return {
        "loop": analysis.loop.name,
        "machine": analysis.machine.name,
        "machine_hash": analysis.machine.digest,
        "operations": [_operation_data(analysis, o) for o in analysis.loop.operations],
        "unknown": list(analysis.unknown),
        "dependences": dependences(analysis),
        "limits": None if found is None else limits(analysis),
        "resource_bound": found and found.resource,
        "resource_unit": found and found.resource_unit,
        "configuration_bound": configurations and configurations.value,
        "recurrence_bound": found and found.recurrence,
        "lower_bound": found and found.interval,
        "recurrences": [_recurrence_data(r) for r in analysis.recurrences],
        "flops": product_flops(analysis.loop),
        "invariants": [
            {**_plain(invariant), "occupies": _occupied(analysis, invariant)}
            for invariant in analysis.loop.invariants
        ],
        "occupied": occupied(analysis),
        "folded": folded_kinds(analysis.loop),
    }


def limits(analysis: Analysis) -> list[dict[str, Any]]:
    """Return each bound with the throughput that it alone would allow.

    ResMII of every unit, what all units need together if that is more, and RecMII.
    """
    keys = ("limit", "unit_cycles", "capacity", "cycles")
    found = [dict[str, Any](zip(keys, limit, strict=True)) for limit in _limits(analysis)]
    largest = max(limit["cycles"] for limit in found)
    for limit in found:
        limit["teraflops"] = analysis.throughput(limit["cycles"])
        limit["largest"] = limit["cycles"] == largest
    return found


def _limits(analysis: Analysis) -> Iterator[tuple[str, int | None, int | None, int]]:
    """Yield each bound: its name, unit-cycles of work, capacity, cycles."""
    bounds, units = analysis.bounds, analysis.machine.units
    assert bounds is not None
    every = [r for cost in analysis.costs.values() for r in cost.reservations]
    for unit, bound in bounds.by_unit.items():
        work = sum(r.length * r.count for r in every if r.unit == unit)
        yield unit, work, units[unit].capacity, bound
    together = bounds.configurations
    if together is not None:
        yield "all units together", together.work, together.most, together.value
    yield "RecMII", None, None, bounds.recurrence


def dependences(analysis: Analysis) -> list[dict[str, Any]]:
    """Return every dependence with its delay and whether its consumer executes a blocking wait.

    Both are what holds if the two operations are on one warp group, or, where one of them is a load
    of variable latency, on two.
    """
    problem = analysis.problem
    if problem is None:
        return []
    names = [operation.name for operation in problem.operations]
    return [
        {
            "producer": names[edge.producer],
            "consumer": names[edge.consumer],
            "distance": edge.distance,
            "delay": problem.least_delay(position),
            "blocking": edge.blocking or problem.forced_cross[position],
        }
        for position, edge in enumerate(problem.edges)
    ]


def occupied(analysis: Analysis) -> dict[str, dict[str, Any]]:
    """Return what invariants occupy of each addressed memory that holds some."""
    found: dict[str, dict[str, Any]] = {}
    for name, memory in analysis.machine.memories.by_name.items():
        tiles = [i.tile for i in analysis.loop.invariants if i.tile.memory == name]
        used = -(-sum(map(memory.footprint, tiles)) * memory.available // memory.room)
        if tiles:
            found[name] = {"used": used, "capacity": memory.available, "unit": memory.unit}
    return found


def _occupied(analysis: Analysis, invariant: Invariant) -> str:
    """Return what an invariant occupies, with its unit."""
    tile, machine = invariant.tile, analysis.machine
    if tile.memory == "tmem" and machine.memories.tmem is not None:
        return f"{machine.memories.tmem.slot_size(tile)} columns"
    if tile.memory == "registers" and invariant.used_by:
        widest = max(analysis.loop.operation(name).warps for name in invariant.used_by)
        return f"{tile.registers_each(machine.threads(widest))} registers per thread"
    return f"{tile.bytes} bytes"


def _registers(analysis: Analysis, operation: Operation) -> int:
    """Return the registers per thread of an operation's result, 0 if it is elsewhere."""
    result = operation.result
    if result is None or result.memory != "registers":
        return 0
    return result.registers_each(analysis.machine.threads(operation.warps))


def _plain(part: Invariant | Tile) -> dict[str, Any]:
    return part.model_dump(mode="json", exclude_none=True)


def _operation_data(analysis: Analysis, operation: Operation) -> dict[str, Any]:
    cost, result = analysis.costs.get(operation.name), operation.result
    data: dict[str, Any] = {
        "name": operation.name,
        "kind": operation.kind,
        "warps": operation.warps,
        "location": operation.location,
        "operands": [_plain(tile) for tile in operation.operands],
        "result": None if result is None else _plain(result),
        "registers_per_thread": _registers(analysis, operation),
        "bytes": 0 if result is None else result.bytes,
        "cost": None,
        "recurrence": None,
    }
    if cost is None:
        return data
    numbers = ("occupancy", "issue", "latency", "transfer", "working_set", "asynchronous")
    return data | {
        "cost": {
            "units": {r.unit: {"cycles": r.length, "count": r.count} for r in cost.reservations},
            **{key: getattr(cost, key) for key in numbers},
            "streaming": _streams(analysis, operation, cost),
        },
        "recurrence": _recurs(analysis, operation.name),
    }


def _recurrence_data(found: Recurrence) -> dict[str, Any]:
    steps = [{"to": s.consumer, "delay": s.delay, "distance": s.distance} for s in found.steps]
    operations = list(found.operations)
    return {"cycles": found.bound, "operations": operations, "start": found.start, "steps": steps}
