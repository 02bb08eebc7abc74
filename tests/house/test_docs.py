"""Every command and every piece of code of the README and the docs runs."""

from __future__ import annotations

import functools
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

import twill
from tests.support.commands import app_of, in_process
from tests.support.pages import PAGES, ROOT, Reader, anchors, blocks, commands, links, said
from tests.support.svg import shapes
from tests.validation import tables
from twill.artifacts.sweep import Sweep, packaged_sweeps
from twill.cli.main import app
from twill.frontends import packaged_loops
from twill.problem import Problem, build_problem
from twill.studies.sweep.parameters import PARAMETERS
from twill.studies.sweep.points import axes

# Cycles of one iteration on the tensor core, for exponentials and on the SMEM port (reads, stores,
# reductions), by arithmetic from the tile sizes in FlashAttention-3's and -4's sources.
PUBLISHED = {
    "fa_fwd_hopper": (2048, 1024, 1280),
    "fa_bwd_hopper": (2560, 512, 2688),
    "fa_fwd_blackwell": (2048, 2048, 1536),
    "attention_backward_blackwell": (2560, 1024, 3328),
    "gemm_pointers_hopper": (512, 0, 384),
}
DAYS = {"slow": pytest.mark.slow, "triton": pytest.mark.triton}
# Pages that search, emit and emulate for more than three seconds.
LONG = (
    "README.md",
    "gallery.md",
    "kernels.md",
    "polish.md",
    "reading.md",
    "solver.md",
    "studies.md",
    "tour.md",
)

# Pages that take minutes where Triton is installed.
LASTING = ("tutorial.md",)


def in_a_process(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, *(["-m"] if words[0] == "twill" else [])]
    command = [*program, *(words if words[0] == "twill" else words[1:])]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def the_timeline(folder: Path) -> None:
    name = "blackwell_timeline.svg"
    same_words(folder / name, ROOT / "docs" / "reading" / name)


def same_words(drawn: Path, shown: Path) -> None:
    first, second = (shapes(file.read_text()) for file in (drawn, shown))
    assert [text for text, _ in first] == [text for text, _ in second]


def the_page(folder: Path) -> None:
    assert (folder / "explore.html").stat().st_size > 100_000


def the_studies(folder: Path) -> None:
    for name in packaged_sweeps():
        assert (folder / name / "throughput.svg").read_text().startswith("<?xml")


def the_dump(folder: Path) -> None:
    packaged = ROOT / "traces" / "ttgir" / "attention_forward.sm90.mlir"
    assert (folder / "attention.mlir").read_text() == packaged.read_text()


def the_placed(folder: Path) -> None:
    same_words(folder / "placed.svg", ROOT / "docs" / "tour" / "placed.svg")


# What a page leaves behind, by page and by the mark of the test that reads it.
LEFT: dict[tuple[str, str], Callable[[Path], None]] = {
    ("reading.md", ""): the_timeline,
    ("studies.md", ""): the_page,
    ("tour.md", ""): the_placed,
    ("studies.md", "slow"): the_studies,
    ("kernels.md", "triton"): the_dump,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder, seen in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TWILL_EMULATE", "1")  # as the pages export it
    return tmp_path


@pytest.mark.usefixtures("known_answers")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, id=page.name, marks=[pytest.mark.slow, pytest.mark.sample] * (page.name in LONG)
        )
        for page in PAGES
    ],
)
def test_a_page_does_what_it_says(page: Path, folder: Path) -> None:
    """The README's commands are processes of their own, those of the docs are not."""
    start = in_a_process if page.name == "README.md" else in_process
    ran = Reader(page, folder, start=start).read()
    wanted = [b for b in blocks(page) if not {*DAYS} & {*b.options}]
    programs = sum(b.language == "python" and "file" not in b.options for b in wanted)
    assert ran == programs + sum(len(commands(b)) for b in wanted if b.language == "sh")
    if (page.name, "") in LEFT:
        LEFT[page.name, ""](folder)


@pytest.mark.usefixtures("known_answers")
@pytest.mark.parametrize(
    ("page", "day"),
    [
        pytest.param(
            page,
            day,
            marks=[mark, *[pytest.mark.slow] * (page.name in LASTING)],
            id=f"{page.name}-{day}",
        )
        for page in PAGES
        for day, mark in DAYS.items()
        if any(day in block.options for block in blocks(page))
    ],
)
def test_a_page_does_what_takes_more(page: Path, day: str, folder: Path) -> None:
    if day == "triton":
        pytest.importorskip("triton")
    Reader(page, folder, also=frozenset({day})).read()
    if (page.name, day) in LEFT:
        LEFT[page.name, day](folder)


PAGE = f"""
```sh
twill --version
```

```text
twill {twill.__version__}
```
"""
FENCE = "```"


@pytest.mark.parametrize(
    "wrong",
    [
        f"{FENCE}sh\ntwill verify nothing.json\n{FENCE}",
        f"{FENCE}text\n9.9.9\n{FENCE}",
        f"{FENCE}text\n...\ntwill {twill.__version__}\n...\ntwill {twill.__version__}\n{FENCE}",
        f"{FENCE}console\nanything\n{FENCE}",
        f"{FENCE}\ntwill verify nothing.json\n{FENCE}",
        f"{FENCE}sh someday\ntwill --version\n{FENCE}",
        f"{FENCE}python\nprint(1)  # 2\n{FENCE}",
        f'{FENCE}toml\n[[rules]]\nkind = ["mma"]\n{FENCE}',
        f'{FENCE}json\n{{"schema": "twill.loop", "schema_version": 1}}\n{FENCE}',
    ],
)
def test_a_reader_notices(wrong: str, folder: Path) -> None:
    page = folder / "page.md"
    page.write_text(PAGE)
    assert Reader(page, folder / "clone").read() == 1
    page.write_text(PAGE + wrong)
    with pytest.raises((AssertionError, AttributeError, ValueError, twill.TwillError)):
        Reader(page, folder / "again").read()


def test_many_pages_do_something() -> None:
    """A reader that found no blocks would be content with every page."""
    active = {page.name for page in PAGES if any(map(commands, blocks(page, "sh")))}
    passive = {"architecture.md", "bounds.md", "formats.md", "limits.md", "model.md"}
    assert active == {page.name for page in PAGES} - passive


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_text_exist(page: Path) -> None:
    """Commands within sentences name commands, modules and options that there are."""
    for text in said(page):
        words = shlex.split(text.replace("...", ""))
        if words[0] == "twill":
            assert_known(words[1:], typer.main.get_command(app))
        else:
            tree = app_of(words[2])
            if tree is not None:
                assert_known(words[3:], typer.main.get_command(tree))


def assert_known(words: list[str], command: Any) -> None:
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert words[0] in command.commands, words
        command, words = command.commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    assert {word for word in words if word.startswith("-")} <= known, words


def test_the_paper_search_finds_what_its_page_says() -> None:
    page = ROOT / "docs" / "solver.md"
    table = re.findall(
        r"^\| `(\w+)` \| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\w+) \|$",
        page.read_text(),
        re.MULTILINE,
    )
    rows = {(loop, search): figures for loop, search, *figures in table}
    asked = [words for b in blocks(page, "sh") for words in commands(b) if "--search" in words]
    assert len(rows) == len(asked) == 4
    for words in asked:
        data = json.loads(in_process(*words, "--json").stdout)
        reason = data["bound"]["reason"]
        found = [data["interval_units"], data["length"], data["stages"]]
        proved = "no" if reason == "not proved" else reason
        assert rows[words[2], words[-1]] == [*map(str, found), proved]


def test_the_studies_are_packaged() -> None:
    page = ROOT / "docs" / "studies.md"
    slow = [block for block in blocks(page, "sh") if "slow" in block.options]
    names = [words[4] for block in slow for words in commands(block)]
    assert sorted(names) == packaged_sweeps()
    for name in names:
        assert f"attention/{name}.svg" in links(page)
    (spec,) = blocks(page, "toml")
    assert axes(Sweep.from_toml(spec.text.encode()))["depth"] == (1, 2, 3)


def test_every_parameter_of_a_sweep_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "studies.md").read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z-]+\.?)[A-Z:]*`", row)}
    assert {known.name for known in PARAMETERS} <= named


def test_the_work_of_packaged_loops_is_that_of_published_kernels() -> None:
    """Cycles of the tensor core, of exponentials of tiles, and of the SMEM port."""
    for name, (tensor_core, exponentials, port) in PUBLISHED.items():
        loop = twill.load_loop(name)
        machine = twill.Machine.named(packaged_loops()[name].machine)
        problem = build_problem(loop, machine)
        exp2 = [o for o in loop.operations if o.kind == "exp2"]
        tiles = {o.name for o in exp2 if o.result and len(o.result.shape) > 1}
        found = [
            work(problem, "tc"),
            sum(work(problem, "mufu", name) for name in tiles),
            work(problem, "smem"),
        ]
        assert found[:2] == [tensor_core, exponentials], name
        assert abs(found[2] - port) <= 0.1 * port, name


def work(problem: Problem, unit: str, name: str | None = None) -> int:
    used = sum(
        r.length * r.count
        for o in problem.operations
        for r in o.reservations
        if r.unit == unit and name in (None, o.name)
    )
    return used // problem.capacities[unit]


def test_the_readmes_figures_are_measured_ones() -> None:
    readme, measured = ((ROOT / page).read_text() for page in ("README.md", "docs/gpu.md"))
    rows = re.findall(r"^\| .*\| .*\d.* \|$", readme, re.MULTILINE)
    ours, *others = (re.sub(r"\*|Twill, ", "", row) for row in rows[1:])
    assert others
    assert {ours, *others} <= {row.replace("*", "") for row in measured.splitlines()}


def test_the_limits_quote_the_results() -> None:
    limits = (ROOT / "docs" / "limits.md").read_text()
    passed = [row["pass"] for row in tables.read("claims")]
    matched = [row["within 10 %"] for row in tables.read("published")]
    assert re.findall(r"^\| .*?(\d+ of \d+)", limits, re.MULTILINE) == [
        f"{passed.count('yes')} of {len(passed)}",
        f"{matched.count('matched')} of {len(matched)}",
    ]
    excess = [float(row["error"].rstrip(" %")) for row in tables.read("promises")]
    missed = [x for x in excess if x > 2]
    assert f"by {min(missed):.0f} to {max(missed):.0f} %" in limits


known_anchors = functools.cache(anchors)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        if not target.startswith("http"):
            name, _, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            assert file.exists(), target
            assert not anchor or anchor in known_anchors(file), target


def test_the_readme_lists_every_page() -> None:
    """Once each, and a picture of the docs is on some page."""
    listed = [link for link in links(ROOT / "README.md") if link.endswith(".md")]
    after = listed[-len(PAGES) + 1 :]
    assert sorted(after) == [f"docs/{page.name}" for page in PAGES[1:]]
