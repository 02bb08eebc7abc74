"""Two schedules above each other, with what was moved in a thick frame."""

from __future__ import annotations

from twill.artifacts.schedule import Schedule
from twill.figures import EDGE, Look, new_figure, save
from twill.show.differences.compare import Comparison
from twill.show.pictures.look import legend, looks
from twill.show.pictures.placed import placed
from twill.show.pictures.timeline import ROW, WIDTH, draw_rows, row_lanes, rows_of

FRAME = 2.6
"""Inches around the two timelines."""


def draw_differences(found: Comparison, file: str) -> None:
    """Draw two solved schedules on one scale of time.

    Raises
    ------
    InputError
        If one of them was not solved, or the file cannot be written.
    """
    from matplotlib.patches import Patch

    sides = [placed(schedule) for schedule in (found.first, found.second)]
    rows = [rows_of(side) for side in sides]
    counts = [side.stages for side in sides]
    heights = [
        sum(row_lanes(row, side.interval, count) for row in own)
        for side, own, count in zip(sides, rows, counts, strict=True)
    ]
    scale = [side.schedule.time.cycles_per_unit for side in sides]
    cycles = max(
        (side.length + (count - 1) * side.interval) * s
        for side, count, s in zip(sides, counts, scale, strict=True)
    )
    styles = matched_looks(found)
    title = f"{found.first.name} and {found.second.name}"
    with new_figure(WIDTH, FRAME + ROW * sum(heights)) as figure:
        both = figure.subplots(2, 1, height_ratios=heights)
        for axes, side, own, count, look, s, name in zip(
            both, sides, rows, counts, styles, scale, ("first", "second"), strict=True
        ):
            width = -int(-cycles // s)
            draw_rows(axes, side, own, count, marked=found.moved, width=width, styles=look)
            axes.set_title(
                f"{name}: {side.schedule.name} on {side.schedule.machine.name}, one iteration "
                f"every {side.interval} {side.unit_of_time}",
                fontsize=10,
                loc="left",
            )
        moved = Patch(facecolor="white", edgecolor="black", linewidth=1.8, label="moved")
        unchanged = Patch(facecolor="white", edgecolor=EDGE, linewidth=0.5, label="as it was")
        legend(figure, found.first, [moved, unchanged])
        save(figure, file, title)


def matched_looks(found: Comparison) -> tuple[dict[str, Look], dict[str, Look]]:
    """Return the looks of both schedules' groups; groups that match look alike."""
    first, second = looks(found.first), _many_looks(found)
    free = [look for look in second if look not in first.values()]
    matched: dict[str, Look] = {}
    for group in found.second.groups:
        partner = found.groups.get(group.name)
        matched[group.name] = first[partner] if partner is not None else free.pop(0)
    return first, matched


def _many_looks(found: Comparison) -> list[Look]:
    """Return enough looks for the groups of both schedules together."""
    again = [
        group.model_copy(update={"name": f"{group.name}/{side}"})
        for side, schedule in enumerate((found.first, found.second))
        for group in schedule.groups
    ]
    many: Schedule = found.first.model_copy(update={"groups": tuple(again)})
    return list(looks(many).values())
