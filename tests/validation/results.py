"""The page of results, docs/results.md: ``python -m tests.validation.results [FILE]``.

Claims of the paper's evaluation and our own, with figures beside the page.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from tests.validation import program
from tests.validation.own_claims import (
    NOT_COMPARED,
    PUBLISHED_CLAIMS,
    TIMING_CLAIMS,
    Timing,
    throughput,
    timing,
)
from tests.validation.published import AIM, Figure, table
from twill.base.console import Report, progress, run_app, say_written, silent
from twill.base.figures import new_figure, save
from twill.base.files import inside, write_whole
from twill.base.formats import number, tenths
from twill.base.tables import Column, Table
from twill.studies.reproduce import reproduce
from twill.studies.reproduce.claims import Case, CaseResult, Settings
from twill.studies.reproduce.evaluation import held
from twill.studies.reproduce.strategy import MOST, STRATEGIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STOP_SECONDS = 30.0  # after which the paper's encoding as printed is stopped
OWN = ("timing", "published")  # cases that are not the paper's
TITLES = {
    "running_example": "The running example",
    "hopper_forward": "Attention forward on Hopper",
    "blackwell_forward": "Attention forward on Blackwell",
    "hopper_backward": "Attention backward on Hopper",
    "blackwell_backward": "Attention backward on Blackwell",
    "ablations": "Ablations, attention forward on Blackwell",
    "timing": "Against the encoding as printed",
    "published": "Published throughput",
}
HEAD = f"""# The paper's evaluation

`python -m tests.validation.results` makes this page and its figures: loops are read from TTGIR,
solved without any cache, verified and executed on the simulated SM when the command runs.
`twill reproduce` prints the paper's claims; one case takes `--case`, `--json` prints data:

```sh
twill reproduce --case running_example
```

The exit status is 1 if a claim does not hold. Everything here but the seconds is the same in every
run.

Claims are of the paper's static model and its schedule; the joint one is what
`twill schedule --model paper` returns. Where a claim is about what a schedule does, it is judged
of the *polished program* too, which `twill schedule` returns: its times are those of a run on the
simulated SM. Where Triton is installed, it says what [`twill emit --check`](compiled.md) finds in
the kernels of attention.

A claim is judged from the schedule itself. A *sub-tile* is what hangs together between first
products (GEMMs that need no other GEMM of their iteration) and later ones. A product is *hoisted*
if the prologue holds it and not the later products of its sub-tile. Something happens *under*
something else if it does so for at least {100 * MOST:.0f} % of its time on average, modulo the
interval. A strategy bears a name if it has all of these properties:
"""
SECONDS = """## Seconds

The paper's are for its joint problem on one core of a Xeon Platinum 8570, ours for the whole search
(every level of the objective that a case needs, and its proof) beside other cases. They are those
of one run on two cores, and vary.
"""


HOLDS = Column("holds", form=lambda holds: "yes" if holds else "**no**")
TIME, PAPER = Column("time", "s", tenths), Column("paper", "s", number)
SEARCHES = (Column("case"), Column("claim"), TIME, PAPER)
TIMINGS = (Column("loop"), Column("ours", "s", tenths), Column("as printed", "s", tenths), HOLDS)
GREY, DARK = "0.72", "0.25"
OURS = ("joint", "polished")
KERNELS = {
    "hopper_forward": "attention forward, Hopper",
    "blackwell_forward": "attention forward, Blackwell",
    "hopper_backward": "attention backward, Hopper",
    "blackwell_backward": "attention backward, Blackwell",
}
BAR_INCHES, HEAD_INCHES, WIDTH_INCHES = 0.26, 0.62, 7.2


@dataclass(frozen=True)
class Results:
    """Cases with their claims, and what those of our own have beside."""

    cases: Sequence[CaseResult]
    timings: Sequence[Timing] = ()
    figures: Sequence[Figure] = ()


def own(name: str, settings: Settings, report: Report = silent) -> Results:
    """Work on one of `OWN`."""
    timings: list[Timing] = []
    figures: list[Figure] = []

    def work(case: Case) -> None:
        if name == "timing":
            timings.extend(timing(case, STOP_SECONDS))
        else:
            figures.extend(throughput(case))

    texts = TIMING_CLAIMS if name == "timing" else PUBLISHED_CLAIMS
    case = Case(name, texts, settings, report).work(work)
    return Results((case,), timings, figures)


def results(settings: Settings, report: Report = silent) -> Results:
    """Compute all cases."""
    timeout, effort, jobs = settings.timeout, settings.effort, settings.jobs
    found = reproduce(timeout=timeout, effort=effort, jobs=jobs, report=report)
    timed, compared = (own(name, settings, report) for name in OWN)
    return Results((*found, *timed.cases, *compared.cases), timed.timings, compared.figures)


def write_page(found: Results, file: Path) -> list[Path]:
    """Write the page, and figures into its folder."""
    figures = _draw(found, file.with_suffix(""))
    text = "\n".join(_lines(found, [figure.name for figure in figures]))
    write_whole(file, text + "\n")
    return [file, *figures]


def _lines(found: Results, figures: list[str]) -> Iterator[str]:
    yield HEAD
    for name, features in STRATEGIES.items():
        yield f"- **{name}**: {'; '.join(features)}."
    yield f"\n{held(found.cases)}."
    for figure in figures:
        what = figure.removesuffix(".svg").replace("_", " ")
        yield f"\n![{what}]({figure})"
    for result in found.cases:
        if result.case != "timing":
            yield f"\n## {TITLES[result.case]}\n"
            yield _claims(result)
            yield from _reasons(result)
        if result.case == "published":
            yield from _published(found.figures)
    if any(claim.paper_seconds for result in found.cases for claim in result.claims):
        yield from _seconds(found)


def _claims(result: CaseResult) -> str:
    rows = [[c.claim, c.found, c.passed, c.polished, c.polished_passed] for c in result.claims]
    columns = [Column("claim"), Column("found"), HOLDS, Column("polished program"), HOLDS]
    shown = 5 if any(claim.polished for claim in result.claims) else 3
    return _markdown(Table(columns[:shown], [row[:shown] for row in rows]))


def _markdown(found: Table) -> str:
    return found.markdown().rstrip("\n")


def _reasons(result: CaseResult) -> Iterator[str]:
    for claim in result.claims:
        name = claim.claim[:1].upper() + claim.claim[1:]
        if not claim.passed:
            yield f"\n*{name}* does not hold. {claim.reason}"
        if claim.compiled:
            yield f"\n*{name}*, to the [compiler](compiled.md). {claim.compiled}."


def _published(found: Sequence[Figure]) -> Iterator[str]:
    yield f"\nA figure is matched within {AIM:.0%} of the nearest end of the published range.\n"
    yield _markdown(table(found))
    errors = [one.error for one in found]
    yield (
        f"\nMedian error {statistics.median(errors):+.1%}, worst {max(errors, key=abs):+.1%}. "
        f"Not compared: {'; '.join(NOT_COMPARED)}."
    )


def _seconds(found: Results) -> Iterator[str]:
    yield f"\n{SECONDS}"
    rows = [
        [TITLES[result.case], claim.claim, claim.seconds, claim.paper_seconds]
        for result in found.cases
        for claim in result.claims
        if claim.paper_seconds is not None and result.case != "timing"
    ]
    yield _markdown(Table(SEARCHES, rows))
    for result in found.cases:
        if result.case == "timing":
            yield from _timings(result, found.timings)


def _timings(result: CaseResult, timings: Sequence[Timing]) -> Iterator[str]:
    yield (
        "\nUntil the least interval is known: the paper's Figures 4 to 6 as printed (`--engine "
        "verbatim`) against our engines, both in normalized time under the rules as printed:\n"
    )
    rows = []
    for one, claim in zip(timings, result.claims, strict=False):
        stopped = f"more than {one.limit:g}"
        both = one.seconds or stopped, one.verbatim_seconds or stopped
        rows.append([f"`{one.kernel}`", *both, claim.passed])
    yield _markdown(Table(TIMINGS, rows))
    yield from _reasons(result)


# -- figures --------------------------------------------------------------------------------------


def _draw(found: Results, stem: Path) -> list[Path]:
    """Draw ``STEM_intervals.svg`` and ``STEM_published.svg``, as far as there are results."""
    files = []
    drawn = [r for r in found.cases if r.case in KERNELS and r.intervals]
    if drawn:
        files.append(inside(stem.parent, f"{stem.name}_intervals.svg"))
        _draw_intervals(drawn, files[-1])
    if found.figures:
        files.append(inside(stem.parent, f"{stem.name}_published.svg"))
        _draw_errors(found.figures, files[-1])
    return files


def _draw_intervals(results: Sequence[CaseResult], file: Path) -> None:
    """Draw cycles an iteration, a panel for each kernel; ours are dark."""
    heights = [HEAD_INCHES + BAR_INCHES * len(result.intervals) for result in results]
    with new_figure(WIDTH_INCHES, sum(heights)) as figure:
        panels = figure.subplots(len(results), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, result in zip(panels, results, strict=True):
            ordered = dict(sorted(result.intervals.items(), key=lambda item: item[1]))
            colours = [DARK if name.startswith(OURS) else GREY for name in ordered]
            bars = axes.barh([*ordered], [*ordered.values()], color=colours)
            axes.bar_label(bars, fmt="{:.0f}", padding=3, fontsize=8)
            axes.set_xlim(right=1.12 * max(ordered.values()))
            axes.set_title(KERNELS[result.case], fontsize=9, loc="left")
            _frame(axes)
        label = "cycles an iteration on the simulated SM (less is better)"
        panels[-1].set_xlabel(label, fontsize=8)
        save(figure, file)


def _draw_errors(found: Sequence[Figure], file: Path) -> None:
    """Draw signed errors; what is matched is dark."""
    errors = [100 * one.error for one in found]
    with new_figure(WIDTH_INCHES, HEAD_INCHES + BAR_INCHES * len(found)) as figure:
        axes = figure.subplots()
        axes.axvspan(-100 * AIM, 100 * AIM, color="0.92")
        axes.axvline(0, color="black", linewidth=0.8)
        colours = [DARK if one.matched else GREY for one in found]
        bars = axes.barh([one.what for one in found], errors, color=colours)
        axes.bar_label(bars, labels=[f"{e:+.1f} %" for e in errors], padding=3, fontsize=8)
        axes.set_xlim(min(errors) - 12, max(errors) + 12)
        label = f"signed error against the published range in %; band: within {AIM:.0%}"
        axes.set_xlabel(label, fontsize=8)
        _frame(axes)
        save(figure, file)


def _frame(axes: Axes) -> None:
    axes.tick_params(labelsize=8)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)


def main(
    file: Annotated[Path, Argument(help="The page.")] = Path("docs/results.md"),
    timeout: Annotated[float, Option(min=0.1, help="Seconds for each search.")] = 120.0,
    effort: Annotated[str, Option(help="quick, normal or thorough.")] = Settings.effort,
    jobs: Annotated[int, Option("--jobs", "-j", min=1, help="Cases at a time.")] = 2,
) -> None:
    """Compute the paper's claims and our own, and write the page."""
    with progress("results") as report:
        found = results(Settings(timeout, jobs, effort), report)
    say_written(*write_page(found, file))


app = program(main)
if __name__ == "__main__":
    run_app(app)
