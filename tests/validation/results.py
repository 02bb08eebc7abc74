"""Claims of the paper and our own, and figures of docs: ``python -m tests.validation.results``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from tests.validation import AsJson, program, tell
from tests.validation.own_claims import PUBLISHED_CLAIMS, TIMING_CLAIMS, throughput, timing
from tests.validation.published import AIM, Figure
from twill.base.console import Report, progress, run_app, say_written, silent
from twill.base.figures import new_figure, save
from twill.base.files import inside
from twill.studies.reproduce import print_claims, reproduce
from twill.studies.reproduce.claims import Case, CaseResult, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STOP_SECONDS = 30.0  # after which the paper's encoding as printed is stopped
OWN = ("timing", "published")  # cases that are not the paper's
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
    """Cases with their claims, and the published figures that one of them compares."""

    cases: Sequence[CaseResult]
    figures: Sequence[Figure] = ()


def own(name: str, settings: Settings, report: Report = silent) -> Results:
    """Work on one of `OWN`."""
    figures: list[Figure] = []

    def work(case: Case) -> None:
        if name == "timing":
            timing(case, STOP_SECONDS)
        else:
            figures.extend(throughput(case))

    texts = TIMING_CLAIMS if name == "timing" else PUBLISHED_CLAIMS
    case = Case(name, texts, settings, report).work(work)
    return Results((case,), figures)


def results(settings: Settings, report: Report = silent) -> Results:
    """Compute all cases."""
    timeout, effort, jobs = settings.timeout, settings.effort, settings.jobs
    found = reproduce(timeout=timeout, effort=effort, jobs=jobs, report=report)
    timed, compared = (own(name, settings, report) for name in OWN)
    return Results((*found, *timed.cases, *compared.cases), compared.figures)


def draw(found: Results, stem: Path) -> list[Path]:
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
    stem: Annotated[Path, Option(help="How figures' names begin.")] = Path("docs/results"),
    timeout: Annotated[float, Option(min=0.1, help="Seconds for each search.")] = 120.0,
    effort: Annotated[str, Option(help="quick, normal or thorough.")] = Settings.effort,
    jobs: Annotated[int, Option("--jobs", "-j", min=1, help="Cases at a time.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Compute the paper's claims and our own, and draw the figures."""
    with progress("results") as report:
        found = results(Settings(timeout, jobs, effort), report)
    files = draw(found, stem)
    claims = [claim.to_dict() for case in found.cases for claim in case.claims]
    tell(claims, lambda: print_claims(found.cases), as_json=as_json)
    if not as_json:
        say_written(*files)


app = program(main)
if __name__ == "__main__":
    run_app(app)
