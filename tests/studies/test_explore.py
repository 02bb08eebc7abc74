"""The page to explore: what it holds, that it needs nothing else, that it works in a browser."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import twill
from tests.support.programs import ring
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.cli.main import app
from twill.frontends.schedules import load_schedule
from twill.show import looks
from twill.show.placed import placed, reservation_table
from twill.sim.checks.occupancy import Occupancy
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.show.timeline import tracks_within
from twill.studies.explore import sections
from twill.studies.explore.graph import (
    HIGH,
    NODE_CHARACTER,
    Curve,
    bent,
    graph,
    layout,
    levels,
)
from twill.studies.explore.page import _marker, page
from twill.studies.explore.pictures import (
    Bar,
    Lane,
    View,
    occupied,
    reservations,
    timeline,
)
from twill.studies.explore.steady import ITERATIONS, steady

VOID = {"meta", "link", "br", "hr", "img", "input"}
READING = Path(__file__).parents[2] / "docs" / "reading"
BOTH = ("fa3_forward_128x128", "fa3_forward_128x128_no_overlap")
EXTERNAL = ("http:", "https:", "//", "file:")


class Reader(HTMLParser):
    """Checks that elements are closed in order, and keeps what refers to elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.ids: list[str] = []
        self.foreign: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(value or "")
            if key in ("src", "href", "xlink:href") and (value or "").startswith(EXTERNAL):
                self.foreign.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A schedule with a name that wants to be markup."""
    file = tmp_path_factory.mktemp("results") / "ring.json"
    ring(2, 100, 20).model_copy(update={"name": "<b>&ring"}).save(file)
    return file


@pytest.fixture(scope="module")
def html(results: Path) -> str:
    return page(sections([results]))


def test_the_page_is_whole_and_needs_nothing_else(html: str) -> None:
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    assert reader.foreign == []
    assert "@import" not in html
    assert "url(http" not in html
    assert len(reader.ids) == len(set(reader.ids))
    # Timeline and memory; graph and arrow are no figures.
    assert reader.seen.count("figure") == 2
    assert reader.seen.count("svg") == 4
    assert "<b>&ring" in " ".join(reader.text)
    assert "<b>" not in html


def test_equal_results_give_equal_bytes(results: Path, html: str) -> None:
    assert page(sections([results])) == html


def view_of(schedule: Schedule) -> View:
    found = steady(schedule.name, schedule)
    return View(found, *found.window(), looks(schedule))


def test_bars_are_where_the_cycles_are() -> None:
    view = view_of(ring(2, 100, 20))
    found, drawn = view.found, timeline(view)
    rows = tracks_within(view.schedule, found.recording, view.begin, view.end)
    slices = [piece for row in rows for piece in row.slices]
    assert len(drawn.bars) == len(slices)
    for bar, piece in zip(drawn.bars, slices, strict=True):
        assert (bar.begin, bar.end) == (piece.begin - view.begin, piece.end - view.begin)


def test_bars_of_registers_add_up_to_what_is_occupied() -> None:
    view = view_of(load_schedule(str(READING / "fa_fwd_hopper.mlir")))
    registers, memories = occupied(view)
    occupancy = Occupancy(view.schedule)
    StreamingMultiprocessor(view.schedule, Conditions(iterations=ITERATIONS), (occupancy,)).run()
    for lane, group in zip(registers.lanes, view.schedule.groups, strict=True):
        series = [e for e in occupancy.series()[f"registers of {group.name}"] if e[0] < view.end]
        for begin, end in itertools.pairwise([*(cycle for cycle, _ in series), view.end]):
            if begin < view.begin:
                continue
            middle, amount = (begin + end) / 2 - view.begin, dict(series)[begin]
            here = [b for b in registers.bars if b.begin <= middle < b.end and in_lane(b, lane)]
            scale = lane.height / (group.registers or 0)
            assert sum(b.height for b in here) == pytest.approx(amount * scale)
            tops = sorted(((b.top, b.top + b.height) for b in here), reverse=True)
            assert all(a[0] == pytest.approx(b[1]) for a, b in itertools.pairwise(tops))
    # What is in shared memory at one time has addresses of its own.
    (lane,) = memories.lanes
    for one, other in itertools.combinations(memories.bars, 2):
        together = one.begin < other.end and other.begin < one.end
        over = min(one.top + one.height, other.top + other.height) - max(one.top, other.top)
        assert not (together and over > 0.01), (one, other)
        assert in_lane(one, lane)


def in_lane(bar: Bar, lane: Lane) -> bool:
    return lane.top - 0.01 <= bar.top and bar.top + bar.height <= lane.top + lane.height + 0.01


def test_reservations_and_graph_are_the_schedules(paper_schedule: Schedule) -> None:
    found = placed(paper_schedule)
    drawn = reservations(found, looks(paper_schedule))
    cells = [c for track in found.units for c in reservation_table(track, found.interval)]
    places = [(bar.operations[0], bar.begin, bar.end) for bar in drawn.bars]
    assert places == [(cell.operation, cell.begin, cell.end) for cell in cells]
    shown = graph(paper_schedule, looks(paper_schedule))
    loop = paper_schedule.loop
    assert {node.operation for node in shown.nodes} == {o.name for o in loop.operations}
    wanted = {(d.producer, d.consumer, d.distance) for d in loop.dependences}
    assert {(*edge.operations, edge.distance) for edge in shown.edges} == wanted


@pytest.mark.parametrize("name", ["fa_bwd_blackwell", "layer_norm_hopper"])
def test_edges_pass_between_nodes(name: str) -> None:
    loop = twill.load_loop(name)
    edges = [(d.producer, d.consumer, d.distance) for d in loop.dependences]
    place = layout([o.name for o in loop.operations], edges, {o.name: 0 for o in loop.operations})
    rows: dict[float, list[float]] = {}
    for x, y in place.nodes.values():
        assert all(abs(x - other) >= 1 for other in rows.setdefault(y, []))
        rows[y].append(x)
    for route in place.routes:
        if route[0] == route[-1]:
            continue
        for x, y in flat(bent(route)[0]):
            row = round(y)
            beside = abs(y - row) > HIGH / 2 - 0.01
            assert beside or all(abs(x - other) > 0.46 for other in rows.get(row, []))


def flat(curve: Curve) -> list[tuple[float, float]]:
    """Points of a curve, some of each bend."""
    found = [curve[0][1][0]]
    for letter, points in curve[1:]:
        begin = found[-1]
        controls = [begin, *points] if letter == "C" else [begin, begin, points[0], points[0]]
        for t in (0.25, 0.5, 0.75, 1.0):
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
            x, y = (sum(w * at[axis] for w, at in zip(weights, controls, strict=True))
                    for axis in (0, 1))  # fmt: skip
            found.append((x, y))
    return found


def test_nodes_hold_their_text_and_do_not_overlap() -> None:
    schedule = load_schedule(str(READING / "fa_fwd_blackwell.mlir"))
    shown = graph(schedule, looks(schedule))
    wide, high = shown.node_width, shown.node_height
    for one, other in itertools.combinations(shown.nodes, 2):
        assert abs(one.x - other.x) >= wide or abs(one.y - other.y) >= high
    for node in shown.nodes:
        assert max(map(len, node.lines)) * NODE_CHARACTER <= wide
        assert wide / 2 <= node.x <= shown.width - wide / 2


def test_levels_follow_dependences() -> None:
    loop = twill.load_loop("fa_bwd_hopper")
    edges = [(d.producer, d.consumer, d.distance) for d in loop.dependences]
    level = levels([o.name for o in loop.operations], edges)
    assert all(level[a] < level[b] for a, b, distance in edges if distance == 0)


def test_names_are_marked_and_parts_of_names_are_not() -> None:
    marked = _marker({"k": 0, "n0": 1, "n0.reduce": 2, "a b": 3, "<": 4})
    assert marked("k[0] = k(k.full, k2, k_next)") == (
        '<span data-o="0">k</span>[0] = k(<span data-o="0">k</span>.full, k2, '
        '<span data-o="0">k_next</span>)'
    )
    assert marked("n0.reduce, n0") == (
        '<span data-o="2">n0.reduce</span>, <span data-o="1">n0</span>'
    )
    assert marked("a b & <") == '<span data-o="3">a b</span> &amp; <span data-o="4">&lt;</span>'


def test_schedules_are_beside_each_other_on_one_scale() -> None:
    (section,) = sections([Path(name) for name in BOTH])
    takes, least, *_ = section.summary
    assert re.match(
        rf"{BOTH[0]} takes [\d.]+ cycles an iteration, [\d.]+ TFLOP/s at \d+ MHz", takes
    )
    assert least.startswith("No program takes fewer than 2272 (register slots: tc); ")
    names = [panel.title for panel in section.panels]
    assert names[0::2] == names[1::2]
    assert [panel.of for panel in section.panels] == list(BOTH) * (len(names) // 2)
    timelines = [panel.shown for panel in section.panels if panel.title == "Timeline"]
    assert timelines[0].length == timelines[1].length
    assert [caption for caption, _ in section.tables] == [
        f"What differs between {' and '.join(BOTH)}"
    ]


def test_a_folder_is_no_schedule(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder; name the schedules in it"):
        sections([tmp_path])


# -- in Chromium ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; a machine without it fails this test, which `make browser` alone asks for."""
    from playwright.sync_api import sync_playwright

    named = os.environ.get("TWILL_CHROMIUM", "chromium")
    program = shutil.which(named)
    assert program is not None, f"no {named} here: install Chromium, or name it in TWILL_CHROMIUM"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 800, 400])
@pytest.mark.parametrize("shown", ["one", "two"])
def test_in_a_browser(
    browser: Any, html: str, tmp_path: Path, width: int, scheme: str, shown: str
) -> None:
    file = tmp_path / "explore.html"
    file.write_text(html if shown == "one" else page(sections([Path(name) for name in BOTH])))
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    view = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    view.on("console", lambda message: said.append(message.text))
    view.on("pageerror", lambda error: said.append(str(error)))
    view.on("request", lambda request: asked.append(request.url))
    view.goto(file.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]
    # Nothing is wider than the window; what is wider scrolls in a box of its own.
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for figure in view.query_selector_all("figure svg"):
        assert figure.is_visible()
        box = figure.bounding_box()
        assert box["width"] >= 300
        assert box["height"] >= 40
        assert box["x"] >= 0
        assert figure.evaluate("e => e.querySelectorAll('path, rect').length > 3")
    # Text and lines are told from the ground: contrast of at least 4.5 (WCAG 2.2, 1.4.3).
    assert contrast(view, "getComputedStyle(document.body).color") >= 4.5
    assert contrast(view, "getComputedStyle(document.querySelector('.bars .name')).fill") >= 4.5
    zoomed_by_keys(view)
    if shown == "two":
        chosen_everywhere(view)
    view.emulate_media(media="print")
    assert not view.query_selector(".tools").is_visible()
    assert view.query_selector("figure svg").is_visible()
    assert said == []
    context.close()


def zoomed_by_keys(view: Any) -> None:
    """The first timeline is reached with Tab; plus widens bars, 0 brings everything back."""
    visible = (
        "[...document.querySelectorAll('.bars')[0].querySelectorAll('.bar')]"
        ".filter(e => e.style.display !== 'none').length"
    )
    for _ in range(60):
        view.keyboard.press("Tab")
        if view.evaluate("document.activeElement.classList.contains('bars')"):
            break
    before = view.evaluate(visible)
    view.keyboard.press("+")
    view.keyboard.press("+")
    assert view.evaluate(visible) < before
    view.keyboard.press("ArrowRight")
    view.keyboard.press("0")
    assert view.evaluate(visible) == before
    view.query_selector(".bars button[data-do=in]").click()
    assert view.evaluate(visible) < before
    view.query_selector(".bars button[data-do=all]").click()
    assert view.evaluate(visible) == before


def chosen_everywhere(view: Any) -> None:
    """A click marks an operation in every view; the list, n, p and Escape choose too."""
    marks = "[...document.querySelectorAll('.panel')].filter(e => e.querySelector('.on')).length"
    chosen = "document.querySelector('#operation').value"
    numbers = "(e.dataset.o ?? e.dataset.of).split(' ')"
    about = f"[...document.querySelectorAll('.on')].every(e => {numbers}.includes({chosen}))"
    assert view.evaluate(marks) == 0
    view.query_selector(".graph .node").click()
    first = view.evaluate(chosen)
    assert first != ""
    assert view.evaluate(marks) >= 7
    assert view.evaluate(about)
    assert view.query_selector(".facts p.on").is_visible()
    view.query_selector(".graph .node").click()
    assert view.evaluate(marks) == 0
    view.query_selector("pre [data-o]").click()
    assert view.evaluate(marks) >= 7
    view.keyboard.press("Escape")
    assert view.evaluate(marks) == 0
    view.query_selector("figure.bars").focus()
    view.keyboard.press("n")
    assert view.evaluate(chosen) == "0"
    view.keyboard.press("n")
    view.keyboard.press("n")
    view.keyboard.press("p")
    assert view.evaluate(chosen) == "1"
    assert view.evaluate(about)
    view.select_option("#operation", "")
    assert view.evaluate(marks) == 0
    view.query_selector("[data-step='-1']").click()
    assert view.evaluate(f"{chosen} === String(document.querySelector('#operation').length - 2)")
    view.query_selector("[data-step='0']").click()
    # Dragging moves and does not choose.
    bar = view.query_selector(".bars .bar[data-o] rect").bounding_box()
    view.mouse.move(bar["x"] + 2, bar["y"] + 5)
    view.mouse.down()
    view.mouse.move(bar["x"] + 40, bar["y"] + 5, steps=4)
    view.mouse.up()
    assert view.evaluate(marks) == 0


def contrast(view: Any, colour: str) -> float:
    numbers = "({0}).match(/[0-9.]+/g).slice(0, 3).map(Number)"
    ink = view.evaluate(numbers.format(colour))
    ground = view.evaluate(numbers.format("getComputedStyle(document.body).backgroundColor"))
    lighter, darker = sorted((luminance(ink), luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: list[float]) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [c / 255 for c in colour]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_page_is_html(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["explore", str(tmp_path), "-o", str(tmp_path / "x.pdf")])
    assert done.exit_code == 2
    assert "--output: must end in .html" in done.stderr
    assert not list(tmp_path.iterdir())
