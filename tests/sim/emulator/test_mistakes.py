"""Every rule of the emulator, by a kernel that breaks it in one line."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from tests.house.test_house import ROOT
from twill.sim.emulator import Run, emulate

DATA = ROOT / "tests" / "data"
KERNELS = DATA / "gluon"
ATTENTION, GEMM = "attention_wgmma", "gemm_tcgen05"
VICTIMS = {ATTENTION: "products of compute1", GEMM: "stores of c_smem"}
"""One of what is late in each kernel."""


@pytest.mark.parametrize(
    "counts", [(3,), pytest.param((1, 2, 7), marks=pytest.mark.slow)], ids=["some", "more"]
)
@pytest.mark.parametrize("name", [ATTENTION, GEMM])
def test_what_is_right_passes_at_every_trip_count_whoever_is_late(
    name: str, counts: tuple[int, ...]
) -> None:
    found = emulate(KERNELS / f"{name}.py", iterations=counts)
    assert [run for run in found.runs if not run.passed] == []
    assert {run.victim for run in found.runs} > {None, "load", VICTIMS[name]}
    assert all(d.alike < 1e-3 and d.exact < 1e-3 for run in found.runs for d in run.differences)


@dataclass(frozen=True)
class Mistake:
    """A line of a kernel as it should not be, the trip counts that show it, and what is said."""

    name: str
    kernel: str
    right: str
    wrong: str
    said: str
    shown_by: tuple[int, ...] = (1, 2, 3, 7)


MISTAKES = TypeAdapter(list[Mistake]).validate_python(
    tomllib.loads((DATA / "mistakes" / "gluon.toml").read_text())["mistake"]
)


def told(run: Run) -> str:
    """Return what a run that did not pass says."""
    if run.fault is not None:
        return str(run.fault)
    return "" if run.passed else f"error {run.differences}"


def failed(mistake: Mistake, count: int, folder: Path) -> bool:
    """Return whether a trip count shows a mistake, which then has to be named."""
    text = (KERNELS / f"{mistake.kernel}.py").read_text()
    assert text.count(mistake.right) >= 1
    file = folder / "kernel.py"
    file.write_text(text.replace(mistake.right, mistake.wrong))
    runs = [run for run in emulate(file, iterations=(count,)).runs if not run.passed]
    for run in runs:
        assert re.search(mistake.said, told(run)), told(run)
    return bool(runs)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_named_at_the_first_trip_count_that_shows_it(
    mistake: Mistake, tmp_path: Path
) -> None:
    assert failed(mistake, mistake.shown_by[0], tmp_path)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_named_at_no_other_trip_counts_than_those_that_show_it(
    mistake: Mistake, tmp_path: Path
) -> None:
    shown = [count for count in (1, 2, 3, 7) if failed(mistake, count, tmp_path)]
    assert shown == list(mistake.shown_by)
