"""A loop on a machine as one table: operations down, units across, limits below."""

from __future__ import annotations

from typing import Any

from twill.artifacts.loop import Operation
from twill.bounds.analysis import Analysis, Recurrence, product_flops
from twill.console import say
from twill.problem.costs import StaticCost
from twill.show.tables.grid import Column, grid
from twill.show.tables.structure import (
    folded_kinds,
    invariants_data,
    occupied_text,
    operation_data,
    result_registers,
    tile_text,
)
from twill.show.tables.words import kinds_line, plural

MARKS = {
    "a": "asynchronous",
    "s": "streaming: variable latency that nothing waits for, shown is the nominal one",
    "*": "on the recurrence that sets RecMII",
    "o": "on another recurrence",
    "?": "no cost",
}


def print_costs(analysis: Analysis) -> None:
    """Print the table of costs, the limits and what occupies memory throughout."""
    units = list(analysis.machine.units)
    say(f"{analysis.loop.name} on {analysis.machine.name}, cycles of one iteration")
    rows = [_row(analysis, operation, units) for operation in analysis.loop.operations]
    grid(_columns(units), rows, [] if analysis.refusal else [_total_row(analysis, units)])
    _print_legend(rows)
    if analysis.bounds is None:
        _print_unknown(analysis)
    else:
        say()
        _print_limits(analysis)
        _print_waits(analysis)
    _print_invariants(analysis)
    if analysis.loop.folded:
        say(
            f"folded away: {len(analysis.loop.folded)} free operations "
            f"({kinds_line(folded_kinds(analysis.loop))})"
        )


def _columns(units: list[str]) -> list[Column]:
    return [
        Column("operation", right=False),
        Column("kind", right=False),
        *(Column(unit.replace("_", "_\n")) for unit in units),
        Column("occupancy"),
        Column("issue\ncost"),
        Column("latency"),
        Column("registers"),
        Column("bytes"),
        Column("memory", right=False),
        Column("marks", right=False),
    ]


def _row(analysis: Analysis, operation: Operation, units: list[str]) -> list[str]:
    cost = analysis.costs.get(operation.name)
    result = operation.result
    stored = result.memory if result and result.memory in ("smem", "tmem") else ""
    return [
        operation.name,
        operation.kind,
        *(_number(_load(analysis, cost, unit)) for unit in units),
        *(["?"] * 3 if cost is None else [str(cost.occupancy), str(cost.issue), str(cost.latency)]),
        str(result_registers(operation, analysis.machine) or ""),
        str(result.bytes) if result else "",
        stored,
        _marks(analysis, operation),
    ]


def _load(analysis: Analysis, cost: StaticCost | None, unit: str) -> float:
    """Cycles for which the whole unit is busy: shares of it count as shares."""
    if cost is None:
        return 0
    capacity = analysis.machine.units[unit].capacity
    return sum(r.length * r.count / capacity for r in cost.reservations if r.unit == unit)


def _number(value: float) -> str:
    if not value:
        return ""
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def _marks(analysis: Analysis, operation: Operation) -> str:
    cost = analysis.costs.get(operation.name)
    if cost is None:
        return "?"
    marks = ["s" if _streams(analysis, operation) else "a" if cost.asynchronous else ""]
    marks.append({"critical": "*", "member": "o"}.get(_recurs(analysis, operation.name) or "", ""))
    return " ".join(mark for mark in marks if mark)


def _streams(analysis: Analysis, operation: Operation) -> bool:
    cost = analysis.costs.get(operation.name)
    memory = operation.result.memory if operation.result is not None else "none"
    waits = any(d.consumer == operation.name for d in analysis.loop.dependences)
    ring = memory in ("smem", "tmem")
    return cost is not None and cost.variable_latency and ring and not waits


def _recurs(analysis: Analysis, name: str) -> str | None:
    """Whether an operation is on the critical recurrence, on another one, or on none."""
    if any(name in {step.consumer for step in r.steps} for r in _critical(analysis)):
        return "critical"
    return "member" if any(name in r.operations for r in analysis.recurrences) else None


def _critical(analysis: Analysis) -> list[Recurrence]:
    return [r for r in analysis.recurrences if r.bound == analysis.recurrences[0].bound]


def _total_row(analysis: Analysis, units: list[str]) -> list[str]:
    totals = (
        sum(_load(analysis, cost, unit) for cost in analysis.costs.values()) for unit in units
    )
    return ["total", "", *(_number(total) for total in totals), *[""] * 7]


def _print_legend(rows: list[list[str]]) -> None:
    say("under a unit: cycles of the whole unit; registers: per thread of the result")
    shown = set(" ".join(row[-1] for row in rows).split())
    for mark, meaning in MARKS.items():
        if mark in shown:
            say(f"{mark}  {meaning}")


def _print_unknown(analysis: Analysis) -> None:
    say()
    because = f": no cost for {', '.join(analysis.unknown)}" if analysis.unknown else ""
    say(f"totals, ResMII, RecMII and throughput unknown{because}")


def _print_limits(analysis: Analysis) -> None:
    flops = product_flops(analysis.loop)
    rows = []
    for limit in limits(analysis):
        throughput = limit["teraflops"]
        rows.append(
            [
                limit["limit"],
                "" if limit["unit_cycles"] is None else str(limit["unit_cycles"]),
                "" if limit["capacity"] is None else str(limit["capacity"]),
                str(limit["cycles"]),
                *([_rate(throughput)] if flops else []),
                "<- largest" if limit["largest"] else "",
            ]
        )
    columns = [
        Column("limit", right=False),
        Column("unit-cycles"),
        Column("capacity"),
        Column("bound\n(cycles)"),
        *([Column("TFLOP/s\nif alone")] if flops else []),
        Column("", right=False),
    ]
    grid(columns, rows)
    _print_bounds(analysis)
    if flops:
        say(
            f"TFLOP/s: {flops} FLOP an iteration (2 m n k of every product) on "
            f"{plural(analysis.machine.multiprocessors.value, 'SM')} at "
            f"{analysis.machine.clock.value:g} MHz"
        )


def _rate(teraflops: float | None) -> str:
    if teraflops is None:
        return ""
    return f"{teraflops:.0f}" if teraflops >= 10_000 else f"{teraflops:.1f}"


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


def cycle_text(recurrence: Recurrence) -> str:
    """Return the cycle of a recurrence with its delays and distances."""
    if not recurrence.steps:
        return f"{', '.join(recurrence.operations)} (without delay)"
    return recurrence.start + "".join(
        f" -> {step.consumer} ({plural(step.delay, 'cycle')}, distance {step.distance})"
        for step in recurrence.steps
    )


def limits(analysis: Analysis) -> list[dict[str, Any]]:
    """Return each bound with the throughput that it alone would allow.

    ResMII of every unit, what all units need together if that is more, and RecMII.
    """
    found = analysis.bounds
    assert found is not None
    entries: list[dict[str, Any]] = []
    for unit, bound in found.by_unit.items():
        work = sum(
            r.length * r.count
            for cost in analysis.costs.values()
            for r in cost.reservations
            if r.unit == unit
        )
        entries.append(
            {
                "limit": unit,
                "unit_cycles": work,
                "capacity": analysis.machine.units[unit].capacity,
                "cycles": bound,
            }
        )
    if found.configurations is not None:
        entries.append(
            {
                "limit": "all units together",
                "unit_cycles": found.configurations.work,
                "capacity": found.configurations.most,
                "cycles": found.configurations.value,
            }
        )
    entries.append(
        {"limit": "RecMII", "unit_cycles": None, "capacity": None, "cycles": found.recurrence}
    )
    largest = max(entry["cycles"] for entry in entries)
    for entry in entries:
        entry["teraflops"] = analysis.throughput(entry["cycles"])
        entry["largest"] = entry["cycles"] == largest
    return entries


def _print_waits(analysis: Analysis) -> None:
    waits: dict[str, list[str]] = {}
    for entry in dependences(analysis):
        if entry["blocking"]:
            later = f" @{entry['distance']}" if entry["distance"] else ""
            waits.setdefault(entry["consumer"], []).append(f"{entry['producer']}{later}")
    for consumer, producers in waits.items():
        say(f"blocking wait: {consumer} for {', '.join(producers)}")


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


def _print_invariants(analysis: Analysis) -> None:
    for invariant in analysis.loop.invariants:
        users = ", ".join(invariant.used_by)
        taken = occupied_text(analysis.loop, invariant, analysis.machine)
        read = f", read by {users}" if users else ""
        say(f"invariant {invariant.name}: {tile_text(invariant.tile)}, {taken}{read}")
    for name, entry in occupied(analysis).items():
        say(f"invariants take {entry['used']} of {entry['capacity']} {entry['unit']} of {name}")


def occupied(analysis: Analysis) -> dict[str, dict[str, Any]]:
    """Return what invariants occupy of each addressed memory that holds some."""
    found: dict[str, dict[str, Any]] = {}
    for name, memory in analysis.machine.memories.by_name.items():
        tiles = [i.tile for i in analysis.loop.invariants if i.tile.memory == name]
        used = -(-sum(map(memory.footprint, tiles)) * memory.capacity // memory.room)
        if tiles:
            found[name] = {"used": used, "capacity": memory.capacity, "unit": memory.unit}
    return found


def costs_data(analysis: Analysis) -> dict[str, Any]:
    """Return everything that `print_costs` shows as plain data, with source locations."""
    found = analysis.bounds
    configurations = None if found is None else found.configurations
    return {
        "loop": analysis.loop.name,
        "machine": analysis.machine.name,
        "machine_hash": analysis.machine.digest,
        "operations": [_operation_data(analysis, o) for o in analysis.loop.operations],
        "unknown": list(analysis.unknown),
        "dependences": dependences(analysis),
        "limits": None if found is None else limits(analysis),
        "resource_bound": None if found is None else found.resource,
        "resource_unit": None if found is None else found.resource_unit,
        "configuration_bound": configurations.value if configurations else None,
        "recurrence_bound": None if found is None else found.recurrence,
        "lower_bound": None if found is None else found.interval,
        "recurrences": [_recurrence_data(r) for r in analysis.recurrences],
        "flops": product_flops(analysis.loop),
        "invariants": invariants_data(analysis.loop, analysis.machine),
        "occupied": occupied(analysis),
        "folded": folded_kinds(analysis.loop),
    }


def _operation_data(analysis: Analysis, operation: Operation) -> dict[str, Any]:
    cost = analysis.costs.get(operation.name)
    data = operation_data(operation, analysis.machine)
    if cost is None:
        return data | {"cost": None, "recurrence": None}
    return data | {
        "cost": {
            "units": {r.unit: {"cycles": r.length, "count": r.count} for r in cost.reservations},
            "occupancy": cost.occupancy,
            "issue": cost.issue,
            "latency": cost.latency,
            "transfer": cost.transfer,
            "working_set": cost.working_set,
            "asynchronous": cost.asynchronous,
            "streaming": _streams(analysis, operation),
        },
        "recurrence": _recurs(analysis, operation.name),
    }


def _recurrence_data(recurrence: Recurrence) -> dict[str, Any]:
    return {
        "cycles": recurrence.bound,
        "operations": list(recurrence.operations),
        "start": recurrence.start,
        "steps": [
            {"to": step.consumer, "delay": step.delay, "distance": step.distance}
            for step in recurrence.steps
        ],
    }
