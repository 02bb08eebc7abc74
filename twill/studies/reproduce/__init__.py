"""The paper's evaluation, computed when asked for: cases with claims, side by side.

`claims` says what a case finds; `forward`, `backward` and `experiments` judge. It is shown as a
table on the terminal, and as a page in Markdown with the paper's bars beside it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from twill.artifacts.schedule import Schedule
from twill.base.console import Report, paragraph, say, silent
from twill.base.errors import InputError, short
from twill.base.executors import local
from twill.base.figures import new_figure, save
from twill.base.files import inside, write_whole
from twill.base.formats import number, tenths, yes
from twill.base.tables import Column, Table
from twill.search.request import Request
from twill.studies.published import AIM, table
from twill.studies.reproduce import backward, experiments, forward
from twill.studies.reproduce.claims import Case, CaseResult, Settings
from twill.studies.reproduce.strategy import MOST, STRATEGIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CASES: dict[str, tuple[Mapping[str, str], Callable[[Case], None]]] = {
    "running_example": (experiments.EXAMPLE_CLAIMS, experiments.running_example),
    "hopper_forward": (forward.FORWARD_HOPPER_CLAIMS, forward.hopper_forward),
    "blackwell_forward": (forward.FORWARD_BLACKWELL_CLAIMS, forward.blackwell_forward),
    "hopper_backward": (backward.BACKWARD_HOPPER_CLAIMS, backward.hopper_backward),
    "blackwell_backward": (backward.BACKWARD_BLACKWELL_CLAIMS, backward.blackwell_backward),
    "ablations": (experiments.ABLATION_CLAIMS, experiments.ablations),
    "timing": (experiments.TIMING_CLAIMS, experiments.timing),
    "published": (experiments.PUBLISHED_CLAIMS, experiments.throughput),
}
# Cases of one process together: what they share is solved for once.
LONGEST_FIRST = (
    ("blackwell_forward", "ablations"),
    ("timing",),
    ("blackwell_backward",),
    ("hopper_backward",),
    ("hopper_forward",),
    ("published", "running_example"),
)
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

`twill reproduce --markdown FILE` makes this page and its figures: loops are read from
TTGIR, solved without any cache, verified and executed on the simulated SM when the command runs.
One case takes `--case`, data are printed with `--json`:

```sh
twill reproduce --case running_example
```

The exit status is 1 if a claim does not hold. Everything here but the seconds is the same in every
run.

Claims are of the paper's static model and its schedule; the joint one is what
`twill schedule --model paper` returns. Where a claim is about what a schedule does, it is judged
of the *polished program* too, which `twill schedule` returns: its times are those of a run on the
simulated SM. Where Triton is installed, it says what
[`twill emit --check`](checks.md#compiled-kernels) finds in the kernels of attention.

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
YES = Column("pass", form=yes), Column("polished", form=yes)
PRINTED = (Column("claim"), Column("found"), *YES, TIME, PAPER)
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


def reproduce(
    names: Iterable[str] | None = None,
    *,
    timeout: float = Settings.timeout,
    stop: float = Settings.stop,
    effort: str = Settings.effort,
    jobs: int = Settings.jobs,
    report: Report = silent,
) -> list[CaseResult]:
    """Compute what the paper's evaluation claims; nothing is looked up.

    `timeout`: seconds for each search.
    `stop`: seconds after which the paper's encoding as printed is stopped.
    `effort`: ``quick``, ``normal`` or ``thorough``: programs that are simulated to polish a kernel.

    Raises
    ------
    InputError
        If there is no such case.
    """
    chosen = list(dict.fromkeys(names or CASES))
    for name in chosen:
        if name not in CASES:
            raise InputError(f"one of {', '.join(CASES)} (got {short(name)})", path="case")
    found: dict[str, CaseResult] = {}
    with local(1 if len(chosen) == 1 else jobs) as executor:
        if executor is None:
            found = _several(chosen, Settings(timeout, jobs, stop, effort), report)
        else:
            # Searches inside have one process at a time.
            settings = Settings(timeout, 1, stop, effort)
            tasks = [[name for name in task if name in chosen] for task in LONGEST_FIRST]
            several = [executor.submit(_several, task, settings) for task in tasks if task]
            for future in as_completed(several):
                found |= future.result()
                report(f"{len(found)} of {len(chosen)} cases done")
    return [found[name] for name in CASES if name in found]


def _several(
    names: Iterable[str], settings: Settings, report: Report = silent
) -> dict[str, CaseResult]:
    """Work on cases one after the other."""
    solutions: dict[Request, Schedule] = {}
    found = {}
    for name in names:
        texts, body = CASES[name]
        found[name] = Case(name, texts, settings, report, solutions).work(body)
    return found


def print_claims(results: Sequence[CaseResult]) -> None:
    """Print every claim with what was found, then why some do not hold."""
    for result in results:
        say(result.case.replace("_", " "))
        rows = [
            [c.claim, c.found, c.passed, c.polished_passed, c.seconds, c.paper_seconds]
            for c in result.claims
        ]
        Table(PRINTED, rows).print()
        for claim in result.claims:
            if not claim.passed:
                paragraph(f"  {claim.claim}: {claim.reason}")
            if claim.polished_passed not in (None, claim.passed):
                paragraph(f"  {claim.claim}, polished: {claim.polished}")
            if claim.compiled:
                paragraph(f"  {claim.claim}, compiled: {claim.compiled}")
        say()
    say(_held(results))


def _held(results: Sequence[CaseResult]) -> str:
    claims = [claim for result in results for claim in result.claims]
    held = f"{sum(claim.passed for claim in claims)} of {len(claims)} claims hold"
    polished = [claim.polished_passed for claim in claims if claim.polished_passed is not None]
    of_programs = f"; of polished programs {sum(polished)} of {len(polished)} that are about them"
    return held + (of_programs if polished else "")


def write_page(results: Sequence[CaseResult], file: Path) -> list[Path]:
    """Write the page, and figures into its folder."""
    figures = _draw(results, file.with_suffix(""))
    text = "\n".join(_lines(results, [figure.name for figure in figures]))
    write_whole(file, text + "\n")
    return [file, *figures]


def _lines(results: Sequence[CaseResult], figures: list[str]) -> Iterator[str]:
    yield HEAD
    for name, features in STRATEGIES.items():
        yield f"- **{name}**: {'; '.join(features)}."
    yield f"\n{_held(results)}."
    for figure in figures:
        what = figure.removesuffix(".svg").replace("_", " ")
        yield f"\n![{what}]({figure})"
    for result in results:
        if result.case != "timing":
            yield f"\n## {TITLES[result.case]}\n"
            yield _claims(result)
            yield from _reasons(result)
        if result.comparisons:
            yield from _published(result)
    if any(claim.paper_seconds for result in results for claim in result.claims):
        yield from _seconds(results)


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
            yield f"\n*{name}*, to the [compiler](checks.md#compiled-kernels). {claim.compiled}."


def _published(result: CaseResult) -> Iterator[str]:
    found = result.comparisons
    yield f"\nA figure is matched within {AIM:.0%} of the nearest end of the published range.\n"
    yield _markdown(table(found))
    errors = [one.error for one in found]
    yield (
        f"\nMedian error {statistics.median(errors):+.1%}, worst {max(errors, key=abs):+.1%}. "
        f"Not compared: {'; '.join(experiments.NOT_COMPARED)}."
    )


def _seconds(results: Sequence[CaseResult]) -> Iterator[str]:
    yield f"\n{SECONDS}"
    rows = [
        [TITLES[result.case], claim.claim, claim.seconds, claim.paper_seconds]
        for result in results
        for claim in result.claims
        if claim.paper_seconds is not None and result.case != "timing"
    ]
    yield _markdown(Table(SEARCHES, rows))
    for result in results:
        if result.timings:
            yield from _timings(result)


def _timings(result: CaseResult) -> Iterator[str]:
    yield (
        "\nUntil the least interval is known: the paper's Figures 4 to 6 as printed (`--engine "
        "verbatim`) against our engines, both in normalized time under the rules as printed:\n"
    )
    rows = []
    for timing, claim in zip(result.timings, result.claims, strict=False):
        stopped = f"more than {timing.limit:g}"
        both = timing.seconds or stopped, timing.verbatim_seconds or stopped
        rows.append([f"`{timing.kernel}`", *both, claim.passed])
    yield _markdown(Table(TIMINGS, rows))
    yield from _reasons(result)


# -- figures --------------------------------------------------------------------------------------


def _draw(results: Sequence[CaseResult], stem: Path) -> list[Path]:
    """Draw ``STEM_intervals.svg`` and ``STEM_published.svg``, as far as there are results."""
    files = []
    drawn = [r for r in results if r.case in KERNELS and r.intervals]
    if drawn:
        files.append(inside(stem.parent, f"{stem.name}_intervals.svg"))
        _draw_intervals(drawn, files[-1])
    for result in results:
        if result.comparisons:
            files.append(inside(stem.parent, f"{stem.name}_published.svg"))
            _draw_errors(result, files[-1])
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


def _draw_errors(result: CaseResult, file: Path) -> None:
    """Draw signed errors; what is matched is dark."""
    found = result.comparisons
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
