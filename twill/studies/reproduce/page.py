"""Claims as a table on the terminal, and as a page in Markdown with the paper's bars beside it."""

from __future__ import annotations

import io
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from twill.console import paragraph, say, table
from twill.figures import drawing
from twill.files import write_whole
from twill.studies.published import AIM
from twill.studies.reproduce.claims import CaseResult, Claim, Timing
from twill.studies.reproduce.experiments import NOT_COMPARED
from twill.studies.reproduce.strategy import MOST, STRATEGIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from twill.studies.reproduce.claims import CaseResult

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

`twill reproduce --markdown docs/results.md` makes this page and its figures: loops are read from
TTGIR, solved without any cache, verified and executed on the simulated SM when the command runs.
One case takes `--case`, data are printed with `--json`:

```sh
twill reproduce --case running_example
```

The exit status is 1 if a claim does not hold. Everything here but the seconds is the same in every
run.

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


def write_page(results: Sequence[CaseResult], file: Path) -> list[Path]:
    """Write the page, and figures into its folder."""
    figures = draw(results, file.with_suffix(""))
    text = "\n".join(_lines(results, [figure.name for figure in figures]))
    write_whole(str(file), text + "\n")
    return [file, *figures]


def _lines(results: Sequence[CaseResult], figures: list[str]) -> Iterator[str]:
    yield HEAD
    for name, features in STRATEGIES.items():
        yield f"- **{name}**: {'; '.join(features)}."
    yield ""
    claims = [claim for result in results for claim in result.claims]
    yield f"{sum(claim.passed for claim in claims)} of {len(claims)} claims hold."
    for figure in figures:
        what = figure.removesuffix(".svg").replace("_", " ")
        yield f"\n![{what}]({figure})"
    for result in results:
        if result.case != "timing":
            yield from _case(result)
    if any(claim.paper_seconds or result.timings for result in results for claim in result.claims):
        yield from _seconds(results)


def _case(result: CaseResult) -> Iterator[str]:
    yield f"\n## {TITLES[result.case]}\n"
    yield "| claim | found | holds |"
    yield "|---|---|---|"
    for claim in result.claims:
        yield f"| {_cell(claim.claim)} | {_cell(claim.found)} | {_yes(claim)} |"
    yield from _reasons(result)
    if result.comparisons:
        yield from _published(result)


def _reasons(result: CaseResult) -> Iterator[str]:
    for claim in result.claims:
        if not claim.passed:
            yield f"\n*{_capital(claim.claim)}* does not hold. {claim.reason}"


def _published(result: CaseResult) -> Iterator[str]:
    found = result.comparisons
    yield f"\nA figure is matched within {AIM:.0%} of the nearest end of the published range.\n"
    yield "| published | range | simulated | signed error | |"
    yield "|---|---|---|---|---|"
    for one in found:
        span = f"{one.low:.4g}" if one.low == one.high else f"{one.low:.4g} to {one.high:.4g}"
        unit = "" if one.unit == "ratio" else f" {one.unit}"
        matched = "matched" if one.matched else "missed"
        figures = f"{span}{unit} | {one.simulated:.4g}{unit} | {one.error:+.1%}"
        yield f"| {one.what} | {figures} | {matched} |"
    errors = [one.error for one in found]
    yield (
        f"\n{sum(one.matched for one in found)} of {len(found)} matched, median error "
        f"{statistics.median(errors):+.1%}, worst {max(errors, key=abs):+.1%}. "
        f"Not compared: {'; '.join(NOT_COMPARED)}."
    )


def _seconds(results: Sequence[CaseResult]) -> Iterator[str]:
    yield f"\n{SECONDS}"
    yield "| case | claim | seconds | paper |"
    yield "|---|---|---|---|"
    for result in results:
        for claim in result.claims:
            if claim.paper_seconds is not None and result.case != "timing":
                yield (
                    f"| {TITLES[result.case]} | {_cell(claim.claim)} | {claim.seconds:.1f} | "
                    f"{claim.paper_seconds:g} |"
                )
    timings = [timing for result in results for timing in result.timings]
    if not timings:
        return
    yield (
        "\nUntil the least interval is known: the paper's Figures 4 to 6 as printed (`--engine "
        "verbatim`) against our engines, both in normalized time under the rules as printed:\n"
    )
    yield "| loop | ours (s) | as printed (s) | holds |"
    yield "|---|---|---|---|"
    for result in results:
        for timing, claim in zip(result.timings, result.claims, strict=False):
            yield f"| `{timing.kernel}` | {_columns(timing)} | {_yes(claim)} |"
        if result.timings:
            yield from _reasons(result)


def _columns(timing: Timing) -> str:
    both = (timing.seconds, timing.verbatim_seconds)
    return " | ".join(f"more than {timing.limit:g}" if s is None else f"{s:.1f}" for s in both)


def _yes(claim: Claim) -> str:
    return "yes" if claim.passed else "**no**"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


GREY, DARK = "0.72", "0.25"
KERNELS = {
    "hopper_forward": "attention forward, Hopper",
    "blackwell_forward": "attention forward, Blackwell",
    "hopper_backward": "attention backward, Hopper",
    "blackwell_backward": "attention backward, Blackwell",
}
BAR_INCHES, HEAD_INCHES, WIDTH_INCHES = 0.26, 0.62, 7.2


def draw(results: Sequence[CaseResult], stem: Path) -> list[Path]:
    """Draw what there is to draw as SVG; the same results give the same bytes.

    Returns: ``STEM_intervals.svg`` and ``STEM_published.svg``, as far as there are results for
    them.
    """
    drawn = [r for r in results if r.case in KERNELS and r.intervals]
    compared = [r for r in results if r.comparisons]
    files = []
    with drawing():
        if drawn:
            files.append(_save(_intervals(drawn), Path(f"{stem}_intervals.svg")))
        if compared:
            files.append(_save(_errors(compared[0]), Path(f"{stem}_published.svg")))
    return files


def _figure(heights: list[float]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.patch.set_facecolor("white")
    return figure


def _save(figure: Figure, file: Path) -> Path:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    write_whole(file, text.getvalue())
    return file


def _intervals(results: Sequence[CaseResult]) -> Figure:
    """Draw cycles an iteration, a panel for each kernel; ours are dark."""
    heights = [HEAD_INCHES + BAR_INCHES * len(result.intervals) for result in results]
    figure = _figure(heights)
    panels = figure.subplots(len(results), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, result in zip(panels, results, strict=True):
        ordered = sorted(result.intervals.items(), key=lambda item: item[1])
        names, cycles = [name for name, _ in ordered], [value for _, value in ordered]
        colours = [DARK if name.startswith("joint") else GREY for name in names]
        bars = axes.barh(names, cycles, color=colours)
        axes.bar_label(bars, fmt="{:.0f}", padding=3, fontsize=8)
        axes.set_xlim(right=1.12 * max(cycles))
        axes.set_title(KERNELS[result.case], fontsize=9, loc="left")
        axes.tick_params(labelsize=8)
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("cycles an iteration on the simulated SM (less is better)", fontsize=8)
    return figure


def _errors(result: CaseResult) -> Figure:
    """Draw signed errors; what is matched is dark."""
    found = result.comparisons
    figure = _figure([HEAD_INCHES + BAR_INCHES * len(found)])
    axes = figure.subplots()
    axes.axvspan(-100 * AIM, 100 * AIM, color="0.92")
    axes.axvline(0, color="black", linewidth=0.8)
    names = [one.what for one in found]
    errors = [100 * one.error for one in found]
    bars = axes.barh(names, errors, color=[DARK if one.matched else GREY for one in found])
    axes.bar_label(bars, labels=[f"{e:+.1f} %" for e in errors], padding=3, fontsize=8)
    axes.set_xlim(min(errors) - 12, max(errors) + 12)
    axes.set_xlabel(
        f"signed error against the published range in %; band: within {AIM:.0%}", fontsize=8
    )
    axes.tick_params(labelsize=8)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def print_claims(results: Sequence[CaseResult]) -> None:
    """Print every claim with what was found, then why some do not hold."""
    for result in results:
        say(result.case.replace("_", " "))
        columns = ["claim", "found", "pass", "s", "paper s"]
        rows = [
            [
                claim.claim,
                claim.found,
                "yes" if claim.passed else "NO",
                f"{claim.seconds:.1f}",
                "" if claim.paper_seconds is None else f"{claim.paper_seconds:g}",
            ]
            for claim in result.claims
        ]
        table(columns, rows, right={"s", "paper s"})
        for claim in result.claims:
            if not claim.passed:
                paragraph(f"  {claim.claim}: {claim.reason}")
        say()
    claims = [claim for result in results for claim in result.claims]
    say(f"{sum(claim.passed for claim in claims)} of {len(claims)} claims hold")
