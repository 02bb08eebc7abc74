"""A run as text for people."""

from __future__ import annotations

from twill.console import say, table
from twill.sim.execute import Run


def print_run(result: Run) -> None:
    """Print what a run achieved, where its units and its groups spent their time.

    Parameters
    ----------
    result : Run
        The run.
    """
    measured, static = result.measured_interval_cycles, result.static_interval_cycles
    say(
        f"{result.schedule} on {result.machine}, {result.iterations} iterations, "
        f"{result.latency} load latency, seed {result.seed}"
    )
    if measured is None:
        say(f"too few iterations for a steady state; {result.total_cycles:.0f} cycles in all")
    else:
        period = f", repeating every {result.period}" if result.period else ""
        say(
            f"measured interval {measured:.6g} cycles ({1000 / measured:.4g} iterations per "
            f"kilocycle{period})"
        )
    if static is not None:
        verdict = {True: "achieved", False: "NOT achieved", None: "not comparable"}
        say(
            f"static interval {static:.6g} cycles: {verdict[result.achieved]} (tolerance "
            f"{result.tolerance:.1%})"
        )
    if result.utilization:
        table(
            ["unit", "utilization"],
            [[unit, f"{share:.1%}"] for unit, share in result.utilization.items()],
            right={"utilization"},
        )
    rows = []
    for group, stalls in result.groups.items():
        whole = max(result.total_cycles, sum(stalls.values())) or 1.0
        for cause, cycles in sorted(stalls.items(), key=lambda item: -item[1]):
            rows.append(
                [
                    group,
                    cause,
                    f"{cycles / result.iterations:.1f}",
                    f"{cycles / whole:.1%}",
                ]
            )
    table(
        ["group", "spent on", "cycles per iteration", "share of time"],
        rows,
        right={"cycles per iteration", "share of time"},
    )
