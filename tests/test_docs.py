"""Every command and every piece of code of the README and the docs runs."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import twill
from tests.commands import in_process
from tests.svg import shapes
from twill.artifacts.sweep import Sweep, packaged_sweeps
from twill.cli import app
from twill.frontends.loops import packaged_loops
from twill.problem import Problem, build_problem
from twill.studies.sweep.points import axes

ROOT = Path(__file__).parents[1]
# Cycles of one iteration on the tensor core, for exponentials and on the SMEM port (reads, stores,
# reductions), by arithmetic from the tile sizes in FlashAttention-3's and -4's sources.
PUBLISHED = {
    "fa_fwd_hopper": (2048, 1024, 1280),
    "fa_bwd_hopper": (2560, 512, 2688),
    "fa_fwd_blackwell": (2048, 2048, 1536),
    "attention_backward_blackwell": (2560, 1024, 3328),
    "gemm_pointers_hopper": (512, 0, 384),
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def in_a_process(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, *(["-m"] if words[0] == "twill" else [])]
    command = [*program, *(words if words[0] == "twill" else words[1:])]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def run_commands(
    page: Path, language: str, folder: Path, start: Callable[..., Any] = in_process
) -> int:
    """Run the commands of a page's blocks, as in a clone, and return how many there were."""
    ran = 0
    for line in "\n".join(blocks(page, language)).splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] in ("make", "pip"):
            continue
        done = start(*words, folder=folder)
        assert done.returncode == 0, (line, done.stderr)
        ran += 1
    return ran


@pytest.mark.usefixtures("known_answers")
def test_the_readmes_commands(tmp_path: Path) -> None:
    assert run_commands(ROOT / "README.md", "sh", tmp_path, in_a_process) == 8


@pytest.mark.usefixtures("known_answers")
def test_the_commands_from_kernel_to_schedule(tmp_path: Path) -> None:
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    assert run_commands(ROOT / "docs" / "kernels.md", "sh", tmp_path) == 11


def test_the_commands_of_the_bench(tmp_path: Path) -> None:
    assert run_commands(ROOT / "docs" / "bench.md", "sh", tmp_path) == 3
    files = {file.name for file in (tmp_path / "bench").iterdir()}
    assert files == {"bench.json", "growth.png", "growth.svg"}


def test_the_paper_search_finds_what_its_page_says() -> None:
    page = ROOT / "docs" / "paper_search.md"
    table = re.findall(
        r"^\| `(\w+)` \| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\w+) \|$",
        page.read_text(),
        re.MULTILINE,
    )
    rows = {(loop, search): figures for loop, search, *figures in table}
    commands = [shlex.split(line) for line in "\n".join(blocks(page, "sh")).splitlines() if line]
    assert len(rows) == len(commands) == 4
    for words in commands:
        done = in_process(*words, "--json")
        data = json.loads(done.stdout)
        reason = data["bound"]["reason"]
        found = [data["interval_units"], data["length"], data["stages"]]
        proved = "no" if reason == "not proved" else reason
        assert rows[words[2], words[-1]] == [*map(str, found), proved]


def test_the_commands_of_the_solver(tmp_path: Path) -> None:
    page = ROOT / "docs" / "solver.md"
    printed: list[str] = []

    def start(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
        done = in_process(*words, folder=folder)
        printed.append(done.stdout)
        return done

    assert run_commands(page, "sh", tmp_path, start) == 2
    (shown,) = blocks(page, "text")
    assert [x.rstrip() for x in printed[-1].strip().splitlines()] == shown.strip().splitlines()


def reading_outputs(folder: Path, language: str) -> list[tuple[str, str]]:
    """Run the commands of the page on reading; return its texts with what came before each."""
    (folder / "docs").symlink_to(ROOT / "docs")
    page, output, found = (ROOT / "docs" / "reading.md").read_text(), "", []
    fences = re.findall(r"^```(\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    for kind, block in fences:
        if kind == "text":
            found.append((block, output))
        elif kind != language:
            output = ""
        else:
            output = "".join(map(printed_by, block.splitlines()))
    return [(block, output) for block, output in found if output]


def printed_by(line: str) -> str:
    done = CliRunner().invoke(app, shlex.split(line)[1:], env={"COLUMNS": "80"})
    assert done.exit_code == 0, (line, done.output)
    return done.stdout


def assert_shown(block: str, output: str) -> None:
    lines = [line.rstrip() for line in block.strip("\n").splitlines()]
    shown = [line.rstrip() for line in output.splitlines()]
    starts = range(len(shown) - len(lines) + 1)
    assert any(shown[n : n + len(lines)] == lines for n in starts), block


def test_the_page_on_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outputs = reading_outputs(tmp_path, "sh")
    assert len(outputs) == 12
    for block, output in outputs:
        assert_shown(block, output)
    drawn, shown = (
        shapes(file.read_text())
        for file in (tmp_path / "blackwell_graph.svg", ROOT / "docs/reading/blackwell_graph.svg")
    )
    assert [said for said, _ in drawn] == [said for said, _ in shown]


@pytest.mark.slow
def test_what_takes_long_on_the_page_on_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ((block, output),) = reading_outputs(tmp_path, "long")
    assert_shown(block.splitlines()[0], output)


def test_the_commands_of_the_studies(tmp_path: Path) -> None:
    assert run_commands(ROOT / "docs" / "studies.md", "sh", tmp_path) == 6
    assert (tmp_path / "report.html").stat().st_size > 100_000


@pytest.mark.slow
def test_the_attention_studies(tmp_path: Path) -> None:
    assert run_commands(ROOT / "docs" / "studies.md", "studies", tmp_path) == 4
    for name in packaged_sweeps():
        assert (tmp_path / name / "throughput.svg").read_text().startswith("<?xml")


def test_the_studies_python() -> None:
    (code,) = blocks(ROOT / "docs" / "studies.md", "python")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})  # noqa: S102 - the page's own example
    assert out.getvalue().splitlines() == re.findall(r"  # (.+)$", code, re.MULTILINE)
    (spec,) = blocks(ROOT / "docs" / "studies.md", "toml")
    assert axes(Sweep.from_toml(spec.encode()))["depth"] == (1, 2, 3)


def test_the_studies_are_packaged() -> None:
    page = ROOT / "docs" / "studies.md"
    names = [line.split()[4] for line in "\n".join(blocks(page, "studies")).splitlines()]
    assert sorted(names) == packaged_sweeps()
    for name in names:
        assert f"](attention/{name}.svg)" in page.read_text()


def test_the_command_of_the_results(tmp_path: Path) -> None:
    assert run_commands(ROOT / "docs" / "results.md", "sh", tmp_path) == 1


@pytest.mark.triton
def test_the_command_that_dumps_a_kernel(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    assert run_commands(ROOT / "docs" / "kernels.md", "triton", tmp_path) == 1
    dumped = (tmp_path / "attention.mlir").read_text()
    assert dumped == (ROOT / "traces" / "ttgir" / "attention_forward.sm90.mlir").read_text()


def test_the_table_of_bounds() -> None:
    """Columns: tensor core, exponentials of tiles, SMEM port; published ones beside ours."""
    page = (ROOT / "docs" / "kernels.md").read_text()
    rows = re.findall(r"^\| `(\w+)`, [^|]*\| (\d+) \| (\d*) ?\| (\d+) \|$", page, re.MULTILINE)
    assert len(rows) == len(PUBLISHED)
    for name, *shown in rows:
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
        assert [int(text or 0) for text in shown] == found, name
        tensor_core, exponentials, port = PUBLISHED[name]
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


def test_the_readmes_python() -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})  # noqa: S102 - the README's own example
    promised = re.findall(r"# (.+)$", code, re.MULTILINE)
    assert out.getvalue().splitlines() == promised


def test_the_readmes_figures(attention_schedule: twill.Schedule) -> None:
    from twill.studies.compare import compare

    shown = re.findall(r"^ (\S+) +(\d+) +[\d.]+ +([\d.]+) +[\d.]+% +([\d.]+) ",
                       (ROOT / "README.md").read_text(), re.MULTILINE)  # fmt: skip
    found = [
        (
            v.variant,
            f"{v.interval_cycles:.6g}",
            f"{v.tflops:.1f}",
            f"{v.speedup_over_sequential:.2f}",
        )
        for v in compare(attention_schedule)
    ]
    assert shown == found[: len(shown)]
    assert len(shown) == 5


def test_the_docs_loop_and_rule_are_valid() -> None:
    page = ROOT / "docs" / "formats.md"
    (loop,) = blocks(page, "json")
    assert twill.Loop.from_json(loop).name == json.loads(loop)["name"] == "scale"
    (rule,) = blocks(page, "toml")
    rules = tomllib.loads(rule)["rules"]
    assert rules[0]["kind"] == ["mma"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
