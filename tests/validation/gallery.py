"""The gallery: kernels that people write, each from its dump to a kernel that was executed.

``python -m tests.validation.gallery`` writes docs/gallery.md and its pictures.
"""

from __future__ import annotations

import argparse
import ast
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.validation.make_ttgir import BLACKWELL, HOPPER, PACKAGED, Packaged
from twill.artifacts.bound import ProgramBound
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.console import say_written
from twill.base.errors import RefusedError
from twill.base.executors import local
from twill.base.files import write_whole
from twill.base.formats import cycles, percent
from twill.base.tables import Column, Table
from twill.bounds.programs import program_bound
from twill.emit import emitted
from twill.frontends import load_loop
from twill.polish import polish, programs_of
from twill.search.cache import Cache
from twill.search.request import Request, answers, beginnings
from twill.search.scheduler import solve
from twill.sim.emulator import emulate
from twill.sim.engine.record import Recording
from twill.sim.execute import run
from twill.sim.show.timeline import draw_timeline, window
from twill.traces import HERE
from twill.verification import verify

MACHINES = {HOPPER: "hopper_h100", BLACKWELL: "blackwell_b200"}
GALLERY = tuple(packaged for packaged in PACKAGED if packaged.gallery)
ITERATIONS = 32  # of the run that is drawn
PAGE = """\
# Gallery

Eleven kernels, each [from Triton source](kernels.md) to a schedule, an interval on the simulated SM
and [a Gluon kernel](kernels.md#emit). Use the source nearest to your kernel as a start. The steps:

```sh
twill schedule traces/gallery/gemm_grouped.sm90.mlir -m hopper_h100 --effort quick -o grouped.json
twill verify grouped.json
twill emit grouped.json -o grouped_kernel.py
twill run-kernel grouped_kernel.py --emulate --no-victims
```

- *Bound*: cycles per iteration that [no program of the loop beats](bounds.md), and its reason.
- *Warps*: those of each warp group.
- *Interval*: cycles per iteration of the fastest program that quick effort finds, simulated over
  200 iterations. Every schedule is verified.
- *Emulated*: executed on NumPy for four trip counts and compared with the source in float64.

{table}

{emulated} of {every} are emitted and compute the right result, with errors of at most {error} of an
output's largest value. [An H200](gpu.md) has run some of them.

Each kernel has a tile per program, of a size that the registers of a warp group allow. Faster tiles
come from [splitting](kernels.md#split) and [tuning](studies.md#tuning). `make gallery` writes this
page.
{kernels}
## Refused kernels

`twill schedule` or `twill emit` refuses these tile sizes:

{refused}
"""
COLUMNS = (
    Column("kernel"),
    Column("GPU"),
    Column("tile"),
    Column("bound by"),
    Column("warps"),
    Column("bound", form=cycles),
    Column("interval", form=cycles),
    Column("over the bound", form=percent),
    Column("emulated", form=str),
)
REFUSED = (Column("kernel"), Column("GPU"), Column("tile"), Column("reason"))


@dataclass(frozen=True)
class Way:
    """How far a kernel came.

    Attributes
    ----------
    packaged : Packaged
        Its dump.
    bound : ProgramBound, optional
        What no program of its loop is below.
    interval : float, optional
        Cycles of an iteration on the simulated SM.
    groups : tuple of int
        Warps of each warp group.
    trips : tuple of int
        Numbers of iterations for which the emitted kernel computed what it should.
    error : float
        The largest, relative to the largest value of an output.
    refusal : str
        Why it ended; empty if it did not.
    """

    packaged: Packaged
    bound: ProgramBound | None = None
    interval: float | None = None
    groups: tuple[int, ...] = ()
    trips: tuple[int, ...] = ()
    error: float = 0.0
    refusal: str = ""
    schedule: Schedule | None = field(default=None, repr=False)

    @property
    def machine(self) -> str:
        """Name of the machine."""
        return MACHINES[self.packaged.architecture]


def way(packaged: Packaged, iterations: Sequence[int] | None = None) -> Way:
    """Take a kernel from its dump to the emitted kernel, as far as it comes.

    `iterations`: trip counts of the emulation, by default those of ``twill run-kernel``.
    """
    found = Way(packaged)
    loop, machine = load_loop(str(HERE / packaged.file)), Machine.named(found.machine)
    try:
        found = replace(found, bound=program_bound(loop, machine))
        schedule = fastest(Request(loop, machine))
        verdict = verify(schedule)
        assert verdict.valid, verdict
        assert schedule.promise is not None
        groups = tuple(g.warps for g in schedule.groups)
        interval = schedule.promise.interval_cycles
        found = replace(found, interval=interval, groups=groups, schedule=schedule)
        return _emulated(found, emitted(schedule), iterations)
    except RefusedError as error:
        return replace(found, refusal=str(error))


def fastest(request: Request) -> Schedule:
    """Return the fastest program that quick effort finds.

    Raises
    ------
    RefusedError
        If there is none.
    """
    cache = Cache()
    first, *others = answers(beginnings(request), lambda one: solve(one, cache=cache).schedule)
    return polish(first, others=others, simulations=programs_of("quick", request.loop)).schedule


def _emulated(found: Way, text: str, iterations: Sequence[int] | None) -> Way:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.py"
        write_whole(file, text)
        capability = divmod(found.packaged.architecture, 10)
        emulation = emulate(file, iterations=iterations, victims=False, capability=capability)
    if not emulation.passed:
        wrong = next(one for one in emulation.runs if not one.passed)
        return replace(found, refusal=str(wrong.fault or "an output is not what it should be"))
    errors = [one.exact for run in emulation.runs for one in run.differences]
    return replace(found, trips=tuple(r.iterations for r in emulation.runs), error=max(errors))


def draw(found: Way, file: Path) -> None:
    """Draw the steady state of a kernel's loop."""
    assert found.schedule is not None
    recording = Recording()
    result = run(found.schedule, iterations=ITERATIONS, recording=recording)
    last = ITERATIONS - 1 if result.profile is None else result.profile.last
    begin, end = window(recording, last, result.measured_interval_cycles)
    draw_timeline(found.schedule, recording, begin, end, file)


# -- the page --------------------------------------------------------------------------------------


def page(ways: Sequence[Way]) -> str:
    """Return docs/gallery.md."""
    shown = [w for w in ways if not w.packaged.suffix]
    return PAGE.format(
        emulated=sum(bool(w.trips) for w in shown),
        every=len(shown),
        error=f"{max(w.error for w in shown):.1e}",
        table=Table(COLUMNS, [row(w) for w in shown]).markdown().rstrip("\n"),
        kernels="".join(_sections(shown)),
        refused=Table(REFUSED, [_refused(w) for w in ways if w.refusal]).markdown().rstrip("\n"),
    )


def row(found: Way) -> list[object]:
    """Return the row about a kernel on one machine."""
    over = None
    if found.bound is not None and found.interval is not None:
        over = found.interval / found.bound.cycles - 1
    name, bound = found.packaged.kernel, found.bound
    by = bound and " ".join((bound.reason, *bound.of))
    warps = "+".join(map(str, found.groups)) or None
    interval = found.interval and round(found.interval, 1)
    figures = [bound and bound.cycles, interval, over, "yes" if found.trips else "NO"]
    return [f"[{name}](#{name})", found.machine, _tile(found), by, warps, *figures]


def _sections(ways: Sequence[Way]) -> Iterator[str]:
    for kernel in dict.fromkeys(w.packaged.kernel for w in ways):
        source = f"traces/gallery/{kernel}.py"
        said = ast.get_docstring(ast.parse((HERE.parent / source).read_text())) or ""
        yield f"\n## {kernel}\n\n{said}\n\n[`{source}`](../{source})\n"
        yield f"\n![{kernel}: two iterations of the steady state](gallery/{kernel}.svg)\n"


def _tile(found: Way) -> str:
    return ", ".join(f"{name}={value}" for name, value in found.packaged.constants.items())


def _refused(found: Way) -> list[object]:
    return [found.packaged.kernel, found.machine, _tile(found), found.refusal]


def write(ways: Sequence[Way]) -> None:
    """Write the page and its pictures, of Blackwell, into the folder docs of a clone."""
    docs = HERE.parent / "docs"
    (docs / "gallery").mkdir(exist_ok=True)
    for found in ways:
        if found.schedule is not None and found.packaged.architecture == BLACKWELL:
            draw(found, docs / "gallery" / f"{found.packaged.kernel}.svg")
    write_whole(docs / "gallery.md", page(ways))
    say_written(str(docs / "gallery.md"))


def main() -> None:
    """Make the gallery."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="kernels at a time")
    with local(parser.parse_args().jobs) as pool:
        write(list(map(way, GALLERY) if pool is None else pool.map(way, GALLERY)))


if __name__ == "__main__":
    main()
