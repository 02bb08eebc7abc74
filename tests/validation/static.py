"""Static schedules, executed and compiled: ``python -m tests.validation.static [LOOP ...]``.

``traces/results/promises.csv`` gets their intervals on the simulated SM; of those that break their
promise also with one thing changed. ``mechanisms.csv`` gets those of schedules that mechanisms of
the SM slow down, with one switched off. ``compiled.csv`` gets what the compiler makes of kernels.
Without names of loops all packaged ones are solved, and the files written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from tests.support.promises import Promise, modelled, promises
from tests.validation.tables import record
from twill.base.errors import TwillError
from twill.base.formats import signed_percent
from twill.emit import emitted
from twill.lower.prepare import prepared
from twill.sim.engine import DEFAULT_TOLERANCE as TOLERANCE
from twill.sim.engine import UNMODELLED, Conditions
from twill.sim.execute import simulate
from twill.studies.choice import judged_text
from twill.studies.reproduce.claims import said_of

CHANGES = {
    "loads of a cycle": Conditions(latency=("fixed:1",)),
    "free synchronisation": Conditions(without=frozenset(["synchronisation"])),
    "results at once": Conditions(without=frozenset(["completion"])),
}


def executed(found: Promise) -> dict[str, Any]:
    """Return the row of a schedule that was executed."""
    assert found.schedule is not None
    assert found.excess is not None
    row: dict[str, Any] = {"loop": found.loop, "promised": _short(found.promised)}
    row |= {"simulated": _short(found.simulated), "error": signed_percent(found.excess)}
    row |= {"with mechanisms": _short(found.mechanisms)}
    for name, how in CHANGES.items():
        row[name] = "" if found.kept else _short(modelled(found.schedule, how))
    return row


def slowed(found: Promise) -> dict[str, Any] | None:
    """Return the row of a schedule that mechanisms slow down; None if none does."""
    assert found.schedule is not None
    if found.mechanisms is None or found.mechanisms <= (1 + TOLERANCE) * (found.simulated or 0):
        return None
    row: dict[str, Any] = {"loop": found.loop, "with all": _short(found.mechanisms)}
    for name in UNMODELLED:
        off = simulate(found.schedule, Conditions(without=frozenset([name])))
        row[f"no {name}"] = _short(off.measured_interval_cycles)
    return {**row, "with none": _short(found.simulated)}


def compiled(found: Promise) -> dict[str, Any]:
    """Return the row of a schedule whose kernel is compiled and its machine code executed."""
    assert found.schedule is not None
    row: dict[str, Any] = {"loop": found.loop, "machine file": found.machine}
    row |= {"cycles": _short(found.promised), "machine code": ""}
    try:
        kernel = emitted(prepared(found.schedule))
        judged = judged_text(kernel, found.schedule.machine)
    except TwillError as error:
        return {**row, "compiled": str(error)}
    return {**row, "machine code": _short(judged.cycles), "compiled": said_of(judged.made.findings)}


def _short(cycles: float | None) -> str:
    return "" if cycles is None else f"{round(cycles, 1):g}"


def main(loops: Sequence[str]) -> None:
    """Print each row; write the data files if all loops were asked for."""
    ran: list[dict[str, Any]] = []
    slow: list[dict[str, Any]] = []
    made: list[dict[str, Any]] = []
    for found in promises(loops):
        if found.excess is None:
            print(found.loop, found.note, flush=True)
            continue
        assert found.schedule is not None
        ran.append(executed(found))
        print(ran[-1], flush=True)
        slow.extend(row for row in [slowed(found)] if row)
        if found.schedule.loop.source is not None:
            made.append(compiled(found))
            print(made[-1], flush=True)
    if not loops:
        record("promises", "", ran)
        record("mechanisms", "", slow)
        record("compiled", f"Triton {version('triton')}, no GPU", made)


if __name__ == "__main__":
    main(sys.argv[1:])
