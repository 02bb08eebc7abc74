"""Published throughput of attention over sequence lengths, and whole kernels in the simulator.

Compared is the shape: each curve over its own value at the longest sequence, which leaves the clock
out as far as it is the same at all lengths.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence
from dataclasses import dataclass

from tests.validation import AsJson, program, tell
from tests.validation.published import AIM
from tests.validation.published_bounds import Series, every_series
from twill.base.console import Report, paragraph, progress, run_app, silent
from twill.base.formats import signed_percent
from twill.base.tables import Column, Table
from twill.frontends.schedules import load_schedule
from twill.sim.analysis.problems import attention
from twill.sim.analysis.whole_kernel import WholeKernel

SHORTEST = 1024
# The program of each loop, or the one that stands in where a kernel's own is not known.
PROGRAMS = {
    "fa3_forward_128x176": "fa3_forward_128x176_parts",
    "fa3_forward_128x128": "fa3_forward_128x128_parts",
    "fa_fwd_hopper": "fa3_forward_128x128_parts",
    "fa_fwd_blackwell": "fa4_forward",
    "attention_forward_blackwell": "triton_attention_forward",
}
STAND_IN = "its program is not known; one of FlashAttention-3, of -4 or of Triton 3.9 stands in"
COLUMNS = (
    Column("kernel"),
    Column("machine"),
    Column("what"),
    Column("per-\nsistent"),
    Column("blocks\nper SM"),
    Column("lengths", form=str),
    Column("worst", form=signed_percent),
    Column("at"),
    Column(f"within\n{AIM:.0%}", form=str),
)


@dataclass(frozen=True)
class Curve:
    """Throughput of one kernel over sequence lengths.

    Attributes
    ----------
    kernel, what, source : str
        What was measured, and where it is published.
    machine, schedule : str
        What was simulated, and where.
    persistent : bool
        Whether a block goes on to its next tile; taken to, where that is not known.
    sharing : int
        Blocks that share a multiprocessor.
    sequences : tuple of int
        Lengths, from `SHORTEST` on.
    published, simulated : tuple of float
        TFLOP/s.
    errors : tuple of float
        Signed deviation of the simulated shape, either curve over its last value.
    worst : float
        The greatest of them.
    matched : bool
        Whether that is at most `AIM`.
    shown_because : str
        Why it is shown only; empty where it is compared.
    """

    kernel: str
    what: str
    source: str
    machine: str
    schedule: str
    persistent: bool
    sharing: int
    sequences: tuple[int, ...]
    published: tuple[float, ...]
    simulated: tuple[float, ...]
    errors: tuple[float, ...]
    worst: float
    matched: bool
    shown_because: str


def curves(report: Report = silent) -> list[Curve]:
    """Simulate whole kernels at the lengths of each published curve of a forward pass.

    Blocks that share a multiprocessor hide what is around their loops behind each other's, as
    persistent ones do behind their own next one's.
    """
    kernels = functools.cache(
        lambda name, hidden: WholeKernel(load_schedule(name), persistent=hidden)
    )
    found = []
    for series in every_series():
        if series.heads is not None:
            report(f"{series.kernel}, {series.what}")
            persistent = series.persistent is not False
            program = series.program or PROGRAMS[series.loop]
            kernel = kernels(program, persistent or series.sharing > 1)
            found.append(_curve(series, program, kernel, persistent=persistent))
    return found


def _curve(series: Series, program: str, kernel: WholeKernel, *, persistent: bool) -> Curve:
    loop = load_schedule(program).loop
    lengths = [int(text) for text in series.teraflops if int(text) >= SHORTEST]
    published = [series.teraflops[str(length)] for length in lengths]
    simulated = []
    for length in lengths:
        tokens = series.tokens if series.batch is None else series.batch * length
        assert tokens is not None
        assert series.heads is not None
        causal = "causal" in series.what
        problem = attention(loop, length, tokens, series.heads, causal=causal)
        simulated.append(kernel.time(problem).tflops)
    errors = [
        (ours / simulated[-1]) / (theirs / published[-1]) - 1
        for ours, theirs in zip(simulated, published, strict=True)
    ]
    worst = max(errors, key=abs)
    return Curve(
        kernel=series.kernel,
        what=series.what,
        source=series.source,
        machine=series.machine,
        schedule=program,
        persistent=persistent,
        sharing=series.sharing,
        sequences=tuple(lengths),
        published=tuple(published),
        simulated=tuple(simulated),
        errors=tuple(errors),
        worst=worst,
        matched=abs(worst) <= AIM,
        shown_because=STAND_IN if series.units is not None else "",
    )


def print_curves(found: Sequence[Curve]) -> None:
    """Print a row for each curve, and the sources."""
    table(found).print()
    for source in dict.fromkeys(one.source for one in found):
        paragraph(source)


def table(found: Sequence[Curve]) -> Table:
    """Return a row for each curve, with its worst deviation."""
    reasons = dict.fromkeys(one.shown_because for one in found if one.shown_because)
    letters = {"": ""} | dict(zip(reasons, string.ascii_uppercase, strict=False))
    rows = []
    for one in found:
        lengths = f"{one.sequences[0]} to {one.sequences[-1]}"
        at = one.sequences[one.errors.index(one.worst)]
        verdict = ("matched" if one.matched else "MISSED") + letters[one.shown_because].rjust(2)
        how = (one.kernel, one.machine, one.what, "yes" if one.persistent else "no", one.sharing)
        rows.append((*how, lengths, one.worst, at, verdict))
    notes = []
    for which, those in (("compared", ""), ("shown only", STAND_IN)):
        matched = [one.matched for one in found if one.shown_because == those]
        notes.append(f"{sum(matched)} of {len(matched)} that are {which} are matched.")
    notes += [f"{letters[reason]}: shown only, {reason}." for reason in reasons]
    return Table(COLUMNS, rows, notes=notes)


def main(as_json: AsJson = False) -> None:
    """Compare whole kernels of attention over the sequence length, each over its longest."""
    with progress("published figures") as report:
        found = curves(report)
    tell(found, lambda: print_curves(found), as_json=as_json)


app = program(main)
if __name__ == "__main__":
    run_app(app)
