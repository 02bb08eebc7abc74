"""Public bug reports as files: the mistake is named, and without it nothing is said."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import twill
from tests.house.test_house import ROOT
from tests.sim.emulator.test_mistakes import told
from tests.support.commands import SIM, in_process
from tests.support.static import static_schedule
from twill.frontends.schedules import load_schedule
from twill.sim.checks import check
from twill.sim.emulator import Run, emulate
from twill.verification import verify

FOLDER = ROOT / "tests" / "data" / "bugs"
GITHUB = "https://github.com/"
COUNTS = (2, 3)
MISTAKE = "BUG = True"
"""A line of every kernel here; with False it is as it should be."""


@dataclass(frozen=True)
class Report:
    """A public report, the kernel made after it, and what is said; nothing of a legal one."""

    url: str
    file: str
    said: str = ""


REPORTS = [
    Report(
        f"{GITHUB}facebookexperimental/triton/pull/430",
        "02_released_before_the_store_reads.py",
        r"race: a TMA load writes ring\[0\], which a TMA store \(consume, .*\) reads",
    ),
    Report(
        f"{GITHUB}triton-lang/triton/pull/8964",
        "05_accumulator_read_without_the_last_wait.py",
        r"in flight: the result of a product \(kernel, .*\) is used before its wait",
    ),
    Report(
        f"{GITHUB}triton-lang/triton/pull/11162",
        "07_two_loads_into_one_buffer.py",
        r"race: a TMA load writes tile, which a TMA load \(kernel, .*\) writes",
    ),
    Report(
        f"{GITHUB}deepseek-ai/DeepGEMM/pull/389",
        "08_generic_reads_before_a_load.py",
        r"fence: a TMA load writes ring\[0\], which a load \(consume, .*\) reads",
    ),
    Report(
        f"{GITHUB}mlc-ai/TIRx-kernels/pull/7",
        "09_factor_in_tensor_memory_overwritten.py",
        r"race: a store writes factor, which a product \(kernel, .*\) reads",
    ),
    Report(
        f"{GITHUB}tile-ai/tilelang/issues/2668",
        "11_read_then_overwritten_pipelined.py",
        r"error .*output='y'",
    ),
    Report(f"{GITHUB}triton-lang/triton/pull/10192", "12_legal_a_partition_ends_early.py"),
    Report(
        f"{GITHUB}triton-lang/triton/pull/8265",
        "13_legal_the_issuer_is_not_the_one_who_waits.py",
    ),
]
WRONG = [report for report in REPORTS if report.said]


def failed(text: str, folder: Path, *, capability: tuple[int, int]) -> list[Run]:
    """Return the runs of a kernel that do not pass."""
    file = folder / "kernel.py"
    file.write_text(text)
    found = emulate(file, iterations=COUNTS, capability=capability)
    assert {run.iterations for run in found.runs} == set(COUNTS)
    return [run for run in found.runs if not run.passed]


def source(report: Report) -> tuple[str, tuple[int, int]]:
    """Return the text of a kernel, and what it is for."""
    text = (FOLDER / report.file).read_text()
    return text, (10, 0) if "nvidia.blackwell" in text else (9, 0)


@pytest.mark.parametrize("report", WRONG, ids=lambda report: report.url)
def test_a_reported_mistake_is_named(report: Report, tmp_path: Path) -> None:
    text, capability = source(report)
    assert text.count(MISTAKE) == 1
    runs = failed(text, tmp_path, capability=capability)
    assert runs
    for run in runs:
        assert re.search(report.said, told(run)), told(run)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.url)
def test_nothing_is_said_of_what_is_right(report: Report, tmp_path: Path) -> None:
    text, capability = source(report)
    right = text if not report.said else text.replace(MISTAKE, "BUG = False")
    assert failed(right, tmp_path, capability=capability) == []


def test_a_loop_that_reads_and_then_loads_is_scheduled_as_meant() -> None:
    """https://github.com/tile-ai/tilelang/issues/2668: iteration i reads what i - 1 loaded."""
    loop = twill.Loop.load(FOLDER / "14_legal_reads_then_loads.loop.json")
    schedule = static_schedule(loop, twill.Machine.named("hopper_h100"))
    (ring,) = [s for s in schedule.storage if s.value == "t" and s.memory == "smem"]
    assert ring.slots >= 2
    assert verify(schedule).valid
    found = check(schedule, values=True)
    assert found.numbers is not None
    assert found.numbers.right


def test_registers_beyond_the_pool_are_named() -> None:
    """https://github.com/triton-lang/triton/pull/9786: setmaxnreg waits for what nobody gives."""
    file = str(FOLDER / "15_registers_beyond_the_pool.order.json")
    assert {v.rule for v in verify(load_schedule(file)).violations} == {"register file"}
    ran = in_process(*SIM, "run", file)
    assert ran.returncode == 1
    assert re.match("twill: deadlock: .*setmaxnreg", ran.stderr)
