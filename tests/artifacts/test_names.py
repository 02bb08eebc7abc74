"""Names are free text: what they may be, and that they are shown as what they are."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import twill
from tests.support.commands import in_process
from tests.support.sampled import sampled
from tests.support.static import static_schedule
from twill.artifacts.machine import Machine
from twill.base.errors import InputError
from twill.base.names import MOST_NAME, cell, elided, one_line, visible, wrong
from twill.frontends.builder import LoopBuilder

SIM = ("python", "-m", "twill.sim")
PAPER = ("-m", "paper_example")
NAMES = {
    "mathematics": ("$\\frac{", "a$b$c", "$"),
    "length": ("S" * MOST_NAME, "P" * MOST_NAME, "O" * MOST_NAME),
    "scripts": ("日本語の演算", "عربي", "e\u0301 👍"),
    "markup": ("<b>&amp;\"x'", "[red]x[/red] a\\b", "a|b`c` {x}  %s%(a)s"),
}
SHOWN = ("table", "why", "roles", "code", "json")


def renamed(names: Iterable[str]) -> twill.Loop:
    """Return the paper's loop with other names, the first of them its own."""
    found = tuple(names)
    data = json.loads(twill.load_loop("paper_example").to_json())
    new = dict(zip([o["name"] for o in data["operations"]], found, strict=True))
    for operation in data["operations"]:
        operation["name"] = new[operation["name"]]
    for dependence in data["dependences"]:
        dependence |= {end: new[dependence[end]] for end in ("producer", "consumer")}
    data["name"] = found[0]
    return twill.Loop.from_json(json.dumps(data))


@pytest.fixture(scope="module", params=NAMES)
def scheduled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    loop = renamed(NAMES[request.param])
    loop.save(folder / "loop.json")
    static_schedule(loop, Machine.named("paper_example")).save(folder / "s.json")
    return folder


def call(folder: Path, *words: str) -> str:
    """Return what a command says that has nothing to complain about."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = in_process(*words, folder=folder)
    assert (done.returncode, done.stderr) == (0, ""), words
    assert visible(done.stdout) == done.stdout
    return done.stdout


def texts(svg: Path) -> list[str]:
    root = ET.fromstring(svg.read_text())  # noqa: S314 - our own
    return ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_view_shows_every_name(scheduled: Path) -> None:
    names = [o.name for o in twill.Loop.load(scheduled / "loop.json").operations]
    for form in SHOWN:
        said = call(scheduled, "twill", "show", "s.json", "--as", form)
        if form == "json":
            said = repr(json.loads(said))
            names_there = [repr(name)[1:-1] for name in names]
        else:
            names_there = names if form == "code" else [elided(name) for name in names]
        if form in ("table", "code", "json"):
            assert all(name in said for name in names_there), form
    call(scheduled, "twill", "loop", "show", "loop.json", *PAPER)
    call(scheduled, "twill", "verify", "s.json")


def test_every_picture_is_well_formed_and_says_the_names(scheduled: Path) -> None:
    names = [o.name for o in twill.Loop.load(scheduled / "loop.json").operations]
    call(scheduled, "twill", "show", "s.json", "--as", "timeline", "-o", "t.svg")
    words = " ".join(" ".join(texts(scheduled / "t.svg")).split())
    assert all(" ".join(elided(name).split()) in words for name in names)
    call(scheduled, "twill", "show", "s.json", "--as", "timeline", "-o", "t.png")


def test_ir_comes_back_equal(scheduled: Path) -> None:
    call(scheduled, "twill", "show", "s.json", "--as", "ir", "-o", "s.mlir")
    call(scheduled, "twill", "extract", "s.mlir", "-o", "back.json")
    assert (scheduled / "back.json").read_bytes() == (scheduled / "s.json").read_bytes()


@pytest.mark.parametrize("scheduled", sampled(reversed(NAMES), 3), indirect=True)
def test_studies_take_every_name(scheduled: Path) -> None:
    run = ("run", "s.json", "--iterations", "24", "--trace", "t.json", "--timeline", "t.svg")
    call(scheduled, *SIM, *run)
    texts(scheduled / "t.svg")
    json.loads((scheduled / "t.json").read_text())
    call(scheduled, *SIM, "compare", "s.json", "--iterations", "24", "-o", "c")
    texts(scheduled / "c/comparison.svg")
    axis = ("--set", "synchronisation=1,2", "--iterations", "24")
    call(scheduled, *SIM, "sweep", "s.json", *axis, "-o", "w")
    call(scheduled, "twill", "explore", "s.json", "-o", "r.html")


# -- what no name may be --------------------------------------------------------------------------

REFUSED = ["a\nb", "a\x1b[31mred", "b\x07", "c\u202ex", "\u00a0", "a\u2028b", "x" * 201, ""]


@pytest.mark.parametrize("name", REFUSED, ids=ascii)
def test_what_cannot_be_shown_is_no_name(name: str, tmp_path: Path) -> None:
    assert wrong(name)
    data = json.loads(twill.load_loop("paper_example").to_json())
    places: list[tuple[str, Any]] = [("name", data), ("operations[0].name", data["operations"][0])]
    for path, place in places:
        before, place["name"] = place["name"], name
        (tmp_path / "l.json").write_text(json.dumps(data))
        place["name"] = before
        done = in_process("twill", "loop", "show", "l.json", folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"twill: l.json: {path}: ")
        assert done.stderr.count("\n") == 1
        assert one_line(done.stderr) == done.stderr[:-1]
    machine = Machine.named("paper_example").to_json().replace('"TC"', json.dumps(name))
    with pytest.raises(InputError):
        Machine.from_json(machine)
    solve = partial(static_schedule, twill.load_loop("paper_example"))
    with pytest.raises(InputError, match=r"^pin: a name has"):
        solve(Machine.named("paper_example"), pins={"S": name})
    with pytest.raises(InputError, match="a name has"):
        LoopBuilder(name)


def test_free_text_is_shown_so_that_it_can_be_seen(tmp_path: Path) -> None:
    """What is no name may hold anything; a terminal gets none of it raw, and IR reads it back."""
    text = "a\x1b[31mred\x07\u202e\r\nsecond $x$ */ // line"
    loop = twill.load_loop("paper_example")
    first, *rest = loop.operations
    operations = (first.model_copy(update={"location": text}), *rest)
    hostile = loop.model_copy(update={"description": text, "operations": operations})
    hostile.save(tmp_path / "loop.json")
    made = static_schedule(hostile, Machine.named("paper_example"))
    made.model_copy(update={"description": text}).save(tmp_path / "s.json")
    call(tmp_path, "twill", "loop", "show", "loop.json", *PAPER)
    for form in SHOWN:
        call(tmp_path, "twill", "show", "s.json", "--as", form)
    test_ir_comes_back_equal(tmp_path)
    call(tmp_path, "twill", "show", "s.json", "--as", "timeline", "-o", "t.svg")
    texts(tmp_path / "t.svg")


def test_errors_show_what_they_name(tmp_path: Path) -> None:
    for name in ("a\nb.json", "\x1b[31m.json", "\u202e.json", "[/red].json"):
        done = in_process("twill", "verify", name, folder=tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert one_line(done.stderr) == done.stderr[:-1]


# -- how they are shown -------------------------------------------------------------------------


def test_nothing_invisible_is_left() -> None:
    assert visible("a\x1bb\u202ec\nd\u00a0e") == "a\\u001bb\\u202ec\nd\u00a0e"
    assert json.loads(visible('"a\x7f\U000e0001"')) == "a\x7f\U000e0001"
    assert one_line(" a\n\tb ") == "a b"


def test_long_words_keep_both_ends() -> None:
    assert elided("short and longer") == "short and longer"
    assert elided("x" * 40 + "y" * 40) == "x" * 30 + "\u2026" + "y" * 29
    assert cell("a\n" + "b" * 70).split("\n")[0] == "a"
