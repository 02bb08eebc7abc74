"""Pictures: the same bytes, nothing overlaps, no label is cut, and they show what is scheduled."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

import twill
from tests.support.small import random_loop
from tests.support.svg import shapes
from twill.base import figures as figures_module
from twill.base.figures import COLOURS, HATCHES
from twill.frontends.schedules import load_schedule
from twill.show import gantt
from twill.show.gantt import draw_timeline
from twill.show.placed import Cell, lanes, placed, reservation_table
from twill.show.roles import roles_text

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "data" / "pictures"
POINTS = 1.5
"""By how much text and shapes may move from one version of matplotlib to another."""


@pytest.fixture(scope="module")
def hopper_schedule() -> twill.Schedule:
    return load_schedule(str(ROOT / "docs" / "reading" / "fa_fwd_hopper.mlir"))


@pytest.fixture(scope="module")
def blackwell_schedule() -> twill.Schedule:
    return load_schedule(str(ROOT / "docs" / "reading" / "fa_fwd_blackwell.mlir"))


# -- golden pictures ----------------------------------------------------------------------------


def test_a_golden_picture(paper_schedule: twill.Schedule, tmp_path: Path) -> None:
    file = tmp_path / "timeline.svg"
    draw_timeline(paper_schedule, str(file))
    drawn, golden = shapes(file.read_text()), shapes((GOLDEN / file.name).read_text())
    assert [said for said, _ in drawn] == [said for said, _ in golden]
    for (said, ours), (_, theirs) in zip(drawn, golden, strict=True):
        assert len(ours) == len(theirs), said
        assert np.allclose(ours, theirs, atol=POINTS), said


def test_a_golden_picture_as_pixels(paper_schedule: twill.Schedule, tmp_path: Path) -> None:
    file = tmp_path / "timeline.png"
    draw_timeline(paper_schedule, str(file))
    drawn, golden = imread(file), imread(GOLDEN / "timeline.png")
    assert drawn.shape == golden.shape
    assert float(np.sqrt(np.mean((drawn - golden) ** 2))) < 0.03
    assert float(np.sqrt(np.mean((np.roll(drawn, 12, axis=1) - golden) ** 2))) > 0.06


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_equal_schedules_give_equal_bytes(
    paper_schedule: twill.Schedule, tmp_path: Path, ending: str
) -> None:
    drawn = []
    for name in ("one", "two"):
        file = tmp_path / f"{name}.{ending}"
        draw_timeline(paper_schedule, str(file))
        drawn.append(file.read_bytes())
    assert drawn[0] == drawn[1]


def test_bytes_do_not_depend_on_hashing(tmp_path: Path) -> None:
    source = str(ROOT / "docs" / "reading" / "fa_fwd_hopper.mlir")
    code = (
        "from twill.frontends.schedules import load_schedule as load\n"
        "from twill.show.gantt import draw_timeline\n"
        f"draw_timeline(load({source!r}), 'one.svg')\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True,
                   env={"PYTHONHASHSEED": "1"})  # fmt: skip
    draw_timeline(load_schedule(source), str(tmp_path / "two.svg"))
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


# -- what they show -----------------------------------------------------------------------------


def texts(file: Path) -> list[str]:
    root = ET.parse(file).getroot()  # noqa: S314 - written here
    return [e.text or "" for e in root.iter() if e.tag.endswith("}text")]


def test_the_timeline_shows_iterations_and_parts(
    paper_schedule: twill.Schedule, tmp_path: Path
) -> None:
    draw_timeline(paper_schedule, str(tmp_path / "t.svg"))
    said = texts(tmp_path / "t.svg")
    for label in ("S [0]", "P [0]", "O [0]", "S [2]", "P [2]", "O [2]"):
        assert label in said
    assert {"prologue", "steady state", "epilogue"} <= set(said)


def test_a_picture_has_no_more_stages_than_can_be_read(
    paper_schedule: twill.Schedule, tmp_path: Path
) -> None:
    far = paper_schedule.initiation_interval or 1
    first, *others = paper_schedule.placements
    late = first.model_copy(update={"start": far * gantt.MOST_STAGES})
    schedule = paper_schedule.model_copy(update={"placements": (late, *others)})
    with pytest.raises(twill.InputError, match=r"at most 200 stages \(got 20\d\)"):
        draw_timeline(schedule, str(tmp_path / "t.svg"))


def test_roles_say_who_tells_whom(blackwell_schedule: twill.Schedule) -> None:
    text = roles_text(blackwell_schedule)
    assert max(len(line) for line in text.splitlines()) <= 80
    flat = " ".join(text.split())
    assert "waits: k.empty k has been read: its slot is free; from compute0, compute1" in flat
    assert "D compute2: 1 mma, 2 tmem_update" in flat
    assert "takes from others a1, a0" in flat


@pytest.mark.parametrize("seed", range(10))
def test_the_reservation_table_slot_by_slot(seed: int) -> None:
    """Every slot holds what begins so that it reaches it, in this or an earlier interval."""
    loop, machine = random_loop(seed)
    generator = np.random.default_rng(seed)
    interval = int(generator.integers(1, 6))
    start = {o.name: int(generator.integers(0, 9)) for o in loop.operations}
    schedule = hand_placed(loop, machine, interval, start)
    for track in placed(schedule).units:
        cells = reservation_table(track, interval)
        for slot in range(interval):
            taken: Counter[str] = Counter()
            for operation in loop.operations:
                cost = machine.cost(operation)
                for step in cost.steps:
                    if step.unit == track.name:
                        reached = range(start[operation.name], start[operation.name] + step.cycles)
                        taken[operation.name] += step.count * sum(
                            time % interval == slot for time in reached
                        )
            here = [c for c in cells if c.begin <= slot < c.end]
            assert Counter({c.operation: 0 for c in here}) + sum_counts(here) == +taken
            assert [c.low for c in here] == list(
                np.cumsum([0, *(c.count for c in here)])[: len(here)]
            )


def sum_counts(cells: list[Cell]) -> Counter[str]:
    found: Counter[str] = Counter()
    for cell in cells:
        found[cell.operation] += cell.count
    return found


def hand_placed(
    loop: twill.Loop, machine: twill.Machine, interval: int, start: dict[str, int]
) -> twill.Schedule:
    return twill.Schedule.model_validate(
        {
            "name": "placed",
            "initiation_interval": interval,
            "groups": ({"name": "all", "warps": 4},),
            "placements": tuple(
                {"operation": name, "group": "all", "start": begin} for name, begin in start.items()
            ),
            "loop": loop,
            "machine": machine,
        }
    )


def test_lanes_never_overlap() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        begins = sorted(generator.integers(0, 40, 12).tolist())
        spans = [
            (b, b + int(n)) for b, n in zip(begins, generator.integers(1, 12, 12), strict=True)
        ]
        found = list(zip(spans, lanes(spans), strict=True))
        for n, ((b, e), lane) in enumerate(found):
            for (c, f), other in found[n + 1 :]:
                assert lane != other or e <= c or f <= b
        most = max(sum(b <= t < e for b, e in spans) for t in range(60))
        assert max(lane for _, lane in found) + 1 == most


# -- nothing overlaps, nothing is cut -------------------------------------------------------------


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are drawn, kept open."""
    kept: list[Figure] = []
    save = figures_module.save

    def keep(figure: Figure, file: str) -> None:
        kept.append(figure)
        save(figure, file)

    monkeypatch.setattr(gantt, "save", keep)
    return kept


def labels(figure: Figure) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    """Yield every visible text with its box in pixels; numbers at ticks may lie out of sight."""
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_visible() and not re.fullmatch(r"[\N{MINUS SIGN}\d.]*", text.get_text()):
            yield text.get_text(), text.get_window_extent().extents


def test_no_text_leaves_the_picture(
    paper_schedule: twill.Schedule,
    blackwell_schedule: twill.Schedule,
    figures: list[Figure],
    tmp_path: Path,
) -> None:
    for schedule in (paper_schedule, blackwell_schedule):
        draw_timeline(schedule, str(tmp_path / "picture.svg"))
        figure = figures[-1]
        width, height = figure.canvas.get_width_height()
        for said, (left, low, right, high) in labels(figure):
            inside = left >= -1 and low >= -1 and right <= width + 1 and high <= height + 1
            assert inside, (schedule.name, said)


def test_groups_differ_without_colour() -> None:
    assert len(set(COLOURS)) == len(COLOURS)
    assert len(set(HATCHES)) == len(HATCHES)


def contrast(colour: str) -> float:
    """Return the contrast of black text by WCAG 2's formula."""
    channels = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return (light + 0.05) / 0.05


def test_black_text_is_legible_on_every_colour() -> None:
    assert min(map(contrast, COLOURS)) > 7  # WCAG 2, level AAA


# -- refusals ---------------------------------------------------------------------------------


def test_what_was_not_solved_has_no_times() -> None:
    with pytest.raises(twill.InputError, match="K has no start; simulate it instead"):
        draw_timeline(twill.load_schedule("fa4_forward"), "x.svg")


def test_endings_are_checked(paper_schedule: twill.Schedule) -> None:
    with pytest.raises(twill.InputError, match=r"--output: must end in \.svg or \.png"):
        draw_timeline(paper_schedule, "picture.jpeg")


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_missing_folder_is_named(paper_schedule: twill.Schedule, ending: str) -> None:
    with pytest.raises(twill.InputError, match="cannot write"):
        draw_timeline(paper_schedule, f"/nonexistent/picture.{ending}")
