"""The report page: what it holds, that it needs nothing else, and that it works in a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.studies.test_sweep import AXES, sweep
from tests.support.programs import ring
from twill.artifacts.schedule import Schedule
from twill.cli.main import app
from twill.errors import InputError
from twill.frontends.schedules import load_schedule
from twill.sim.engine import Conditions
from twill.studies.compare import comparison, write_comparisons
from twill.studies.report import inlined, page, section
from twill.studies.report.steady import WIDTH, steady, timeline
from twill.studies.sweep import run_sweep
from twill.studies.sweep.answers import answers

VOID = {"meta", "link", "br", "hr", "img", "input"}
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
    """A sweep, a comparison and a schedule, the last with a name that wants to be markup."""
    folder = tmp_path_factory.mktemp("results")
    made = ring(2, 100, 20).model_copy(update={"name": "<b>&ring"})
    made.save(folder / "ring.json")
    run_sweep(sweep(str(folder / "ring.json"), axes=AXES), folder / "sweep")
    found = comparison(load_schedule("paper_example_by_hand"), Conditions(iterations=24))
    write_comparisons([found], folder / "comparison")
    return folder


@pytest.fixture(scope="module")
def html(results: Path) -> str:
    return page([section(results / name) for name in ("sweep", "comparison", "ring.json")])


def test_the_page_is_whole_and_needs_nothing_else(html: str) -> None:
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    assert reader.foreign == []
    assert "@import" not in html
    assert "url(http" not in html
    assert len(reader.ids) == len(set(reader.ids))
    # Two plots of a sweep, one of a comparison, three timelines, three breakdowns of stalls.
    assert reader.seen.count("svg") == 9
    assert reader.seen.count("figure") == 9
    text = " ".join(reader.text)
    assert "hold from a" in text or "hold up to a" in text
    assert "paper_example on paper_example: the joint schedule takes 2 cycles" in text
    assert "1.50 times as fast as the loop as written" in text
    assert "<b>&ring" in text
    assert "<b>" not in html


def test_equal_results_give_equal_bytes(results: Path, html: str) -> None:
    assert page([section(results / n) for n in ("sweep", "comparison", "ring.json")]) == html


def test_the_page_says_what_the_sweep_says(results: Path, html: str) -> None:
    made = sweep(str(results / "ring.json"), axes=AXES)
    for answer in answers(made, run_sweep(made)):
        assert answer.words.replace("<b>&ring", "&lt;b&gt;&amp;ring") in html


def test_bars_are_where_the_cycles_are() -> None:
    found = steady("ring", ring(2, 100, 20))
    drawn = timeline(found)
    slices = [piece for row in found.rows for piece in row.slices]
    assert len(drawn.bars) == len(slices)
    scale = (WIDTH - min(bar.x for bar in drawn.bars)) / drawn.cycles
    for bar, piece in zip(drawn.bars, slices, strict=True):
        assert bar.end - bar.begin == piece.end - piece.begin
        assert bar.width == pytest.approx(max(0.3, (piece.end - piece.begin) * scale), rel=0.01)
    # The reader works 20 cycles of (100 + 20 + 3) / 2, and the rest of them waits.
    shares = {group: sum(causes.values()) for group, causes in found.spent.items()}
    assert shares == pytest.approx(dict.fromkeys(shares, 1.0))


def test_roles_are_the_programs(results: Path) -> None:
    found = steady("ring", Schedule.load(results / "ring.json"))
    for group, _, _, operations, _ in found.roles.rows:
        program = found.schedule.program(str(group))
        issued = [o.split(" ")[0] for o in str(operations).split(", ")]
        assert issued == [i.operation for i in program.issues]


def test_an_unfinished_sweep_is_told(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "part"
    shutil.copytree(results / "sweep", folder)
    lines = (folder / "journal.jsonl").read_text().splitlines(keepends=True)
    (folder / "journal.jsonl").write_text("".join(lines[:6]) + '{"point": 9')
    assert section(folder).summary[0] == "5 of 15 points are finished"
    (folder / "journal.jsonl").write_text(lines[0])
    with pytest.raises(InputError, match="no point is finished yet"):
        section(folder)
    with pytest.raises(InputError, match=r"neither sweep\.json nor comparison\.json"):
        section(tmp_path)
    (tmp_path / "comparison.json").write_text("[]")
    with pytest.raises(InputError, match=r"comparison\.json: input should be an object"):
        section(tmp_path)


def test_figures_take_the_pages_colours() -> None:
    text = '<?xml?><svg width="9pt" height="8pt" viewBox="0 0 9 8">'
    text += '<path id="a" style="stroke: #000000"/>'
    text += '<use xlink:href="#a" clip-path="url(#c)" width="3"/></svg>'
    assert inlined(text, "f1-") == (
        '<svg viewBox="0 0 9 8"><path id="f1-a" style="stroke: currentColor"/>'
        '<use xlink:href="#f1-a" clip-path="url(#f1-c)" width="3"/></svg>'
    )


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
@pytest.mark.parametrize("width", [1280, 400])
def test_in_a_browser(browser: Any, html: str, tmp_path: Path, width: int, scheme: str) -> None:
    file = tmp_path / "report.html"
    file.write_text(html)
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
    selector = "getComputedStyle(document.querySelector('.plot svg text')).fill"
    assert contrast(view, selector) >= 4.5
    zoomed_by_keys(view)
    view.emulate_media(media="print")
    assert not view.query_selector(".tools").is_visible()
    assert view.query_selector("figure svg").is_visible()
    assert said == []
    context.close()


def zoomed_by_keys(view: Any) -> None:
    """The first timeline is reached with Tab; plus widens bars, 0 brings everything back."""
    visible = (
        "[...document.querySelectorAll('.timeline')[0].querySelectorAll('.bar')]"
        ".filter(e => e.style.display !== 'none').length"
    )
    for _ in range(60):
        view.keyboard.press("Tab")
        if view.evaluate("document.activeElement.classList.contains('timeline')"):
            break
    before = view.evaluate(visible)
    view.keyboard.press("+")
    view.keyboard.press("+")
    assert view.evaluate(visible) < before
    view.keyboard.press("ArrowRight")
    view.keyboard.press("0")
    assert view.evaluate(visible) == before
    view.query_selector(".timeline button[data-do=in]").click()
    assert view.evaluate(visible) < before
    view.query_selector(".timeline button[data-do=all]").click()
    assert view.evaluate(visible) == before


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


def test_a_report_is_html(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["sim", "report", str(tmp_path), "-o", str(tmp_path / "x.pdf")])
    assert done.exit_code == 2
    assert "--output: must end in .html" in done.stderr
    assert not list(tmp_path.iterdir())
