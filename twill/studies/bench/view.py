"""What the bench measured, as tables."""

from __future__ import annotations

from twill.console import say
from twill.show.tables.grid import Column, grid
from twill.studies.bench.bench import Bench, Growth, Outcome, SpeedUp

MIB = 1 << 20


def print_bench(bench: Bench) -> None:
    """Print the cases, the speed-ups and the growth with the size of the loop."""
    if bench.outcomes:
        _print_outcomes(bench.outcomes)
    if bench.speedups:
        _print_speedups(bench.speedups)
    if bench.synthetic:
        _print_growth(bench.growth)
    for outcome in bench.outcomes:
        if outcome.message:
            say(
                f"{outcome.name}, {outcome.engine}, {outcome.time} time, {outcome.rules} rules: "
                f"{outcome.message}"
            )


def _print_outcomes(outcomes: tuple[Outcome, ...]) -> None:
    headings = ["case", "machine", "engine", "time", "rules"]
    figures = [
        "operations",
        "interval",
        "(cycles)",
        "to the\ninterval (s)",
        "to all\nlevels (s)",
        "total (s)",
        "peak\n(MiB)",
    ]
    columns = [Column(h, right=False) for h in headings] + [Column(h) for h in figures]
    columns.append(Column("proved", right=False))
    grid(columns, [_outcome_row(outcome) for outcome in outcomes])


def _outcome_row(o: Outcome) -> list[str]:
    return [
        o.name,
        o.machine,
        o.engine,
        o.time,
        o.rules,
        _number(o.operations, "d"),
        _number(o.interval_units, "d"),
        _number(o.interval_cycles, ".6g"),
        _number(o.seconds_to_interval, ".2f"),
        _number(o.seconds_to_all_levels, ".2f"),
        _total(o),
        _number(None if o.peak_bytes is None else o.peak_bytes / MIB, ".0f"),
        _proved(o),
    ]


def _total(o: Outcome) -> str:
    return f"> {o.timeout:g}" if o.status == "stopped" else _number(o.seconds, ".2f")


def _proved(o: Outcome) -> str:
    """Say which levels were proved, and what went wrong."""
    if o.status != "found":
        return o.status
    missing = [level for level, proved in o.proved.items() if not proved]
    levels = f"all but {', '.join(missing)}" if missing else "all levels"
    return levels if o.valid else f"{levels}; NOT VALID"


def _print_speedups(speedups: list[SpeedUp]) -> None:
    say("the default engine against the paper's formulation, in normalized time, paper rules")
    rows = [
        [
            s.name,
            f"{s.seconds:.2f}",
            f"{'> ' if s.at_least else ''}{s.verbatim_seconds:.2f}",
            f"{'> ' if s.at_least else ''}{s.times:.3g}",
        ]
        for s in speedups
    ]
    grid(
        [
            Column("case", right=False),
            Column("default (s)"),
            Column("verbatim (s)"),
            Column("speed-up"),
        ],
        rows,
    )


def _print_growth(growth: list[Growth]) -> None:
    say("synthetic loops: medians over the seeds")
    columns = [Column("machine", right=False), Column("engine", right=False)]
    columns += [
        Column(h)
        for h in ("operations", "loops", "stopped", "no schedule", "total (s)", "peak\n(MiB)")
    ]
    rows = [
        [
            g.machine,
            g.engine,
            str(g.operations),
            str(g.loops),
            str(g.stopped),
            str(g.others),
            _number(g.seconds, ".2f"),
            _number(None if g.peak_bytes is None else g.peak_bytes / MIB, ".0f"),
        ]
        for g in growth
    ]
    grid(columns, rows)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
