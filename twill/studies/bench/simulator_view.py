"""How fast the simulator is, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.console import say, table

if TYPE_CHECKING:
    from twill.studies.bench.simulator import SimulatorBench

MIB = 1 << 20


def print_simulator_bench(measured: SimulatorBench) -> None:
    """Print what was measured."""
    columns = ["runs", "iter.", "bundle", "s", "Mcyc/s", "events", "Mev/s", "timeouts"]
    table(
        columns,
        [
            [
                speed.name,
                str(speed.iterations),
                str(speed.bundle),
                f"{speed.seconds:.3f}",
                f"{speed.cycles_per_second / 1e6:.2f}",
                str(speed.events),
                f"{speed.events_per_second / 1e6:.2f}",
                f"{speed.times_a_timeout:.2f}",
            ]
            for speed in measured.speeds
        ],
        right=set(columns[1:]),
    )
    say("timeouts: what an event costs, in bare SimPy timeouts of the same number and run")
    say(f"peak resident memory {measured.peak_bytes / MIB:.0f} MiB")
