"""Whether schedules keep their promise: packaged loops solved, executed, and compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from twill.artifacts.machine import Machine
from twill.base.console import Report, command, progress, run_app, say, silent
from twill.base.errors import RefusedError
from twill.base.formats import cycles, signed_percent
from twill.base.tables import Column, Table
from twill.cli.options import Json
from twill.frontends import load_loop, packaged_loops
from twill.search.cache import Cache
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.sim.engine import DEFAULT_ITERATIONS, DEFAULT_TOLERANCE
from twill.sim.execute import run

DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True)
class Promise:
    """A loop's schedule, and what the SM made of it; intervals in cycles."""

    loop: str
    machine: str
    promised: float | None = None  # None if no schedule was found in time
    proved: bool = False
    # Under fixed, nominal latencies, and whether that is at most 2 % above the promised one.
    simulated: float | None = None
    kept: bool | None = None
    note: str = ""  # why a figure is missing

    @property
    def excess(self) -> float | None:
        """Relative excess of the simulated over the promised interval."""
        if self.promised is None or self.simulated is None:
            return None
        return self.simulated / self.promised - 1


def promises(
    names: Iterable[str] | None = None,
    *,
    timeout: float | None = DEFAULT_TIMEOUT,
    iterations: int = DEFAULT_ITERATIONS,
    report: Report = silent,
) -> Iterator[Promise]:
    """Solve packaged loops and execute their schedules.

    `timeout`: seconds for each search; what it has found by then is executed.
    """
    for name in names or packaged_loops():
        report(name)
        yield _promise(name, timeout, iterations)


def _promise(name: str, timeout: float | None, iterations: int) -> Promise:
    machine = packaged_loops()[name].machine
    try:
        request = Request(load_loop(name), Machine.named(machine))
        schedule = solve(request, timeout=timeout, cache=Cache()).schedule
    except RefusedError as error:
        return Promise(name, machine, note=str(error))
    assert schedule.proof is not None
    proved = schedule.proof.levels[0].proved
    try:
        found = run(schedule, iterations=iterations, tolerance=DEFAULT_TOLERANCE)
    except RefusedError as error:
        return Promise(name, machine, proved=proved, note=str(error))
    promised = found.static_interval_cycles
    simulated = found.modelled_interval_cycles or found.measured_interval_cycles
    return Promise(name, machine, promised, proved, simulated, found.achieved)


NAME = "python -m tests.support.promises"
app = typer.Typer(name=NAME, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@command
def main(
    loops: Annotated[
        list[str] | None,
        typer.Argument(metavar="LOOP", help="Packaged loops; without any, all of them."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for each search.")
    ] = DEFAULT_TIMEOUT,
    iterations: Annotated[int, typer.Option(min=1, help="Trip count.")] = DEFAULT_ITERATIONS,
    as_json: Json = False,
) -> None:
    """Compare what schedules promise with what the simulated SM measures."""
    with progress("promises") as report:
        found = list(promises(loops, timeout=timeout, iterations=iterations, report=report))
    if as_json:
        say(json.dumps([{**asdict(p), "excess": p.excess} for p in found], indent=1))
        return
    columns = [Column("loop"), Column("promised", "cycles", cycles), Column("proved")]
    columns += [Column("simulated", "cycles", cycles), Column("excess", form=signed_percent)]
    kept = {True: "yes", False: "NO", None: None}
    rows = [
        (p.loop, p.promised, "yes" if p.proved else "no", p.simulated, p.excess, kept[p.kept])
        for p in found
    ]
    Table([*columns, Column("kept")], rows).print()
    for promise in found:
        if promise.note:
            say(f"{promise.loop}: {promise.note.removeprefix(f'{promise.loop}: ')}")


if __name__ == "__main__":
    run_app(app)
