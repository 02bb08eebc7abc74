"""The host side of emitted files: what their template has of a kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import twill
from tests.support.pages import ROOT
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.emit import emitted
from twill.emit.host.file import HELPERS
from twill.frontends import load_loop
from twill.lower.baselines import sequential

DUMP = ROOT / "traces/ttgir/gemm_two_tiles.sm90.mlir"
RUNNING_SUMS = ROOT / "tests/data/kernels/running_sums.sm90.mlir"
MACHINE = twill.Machine.named("hopper_h100")


def schedule(file: Path) -> Schedule:
    return sequential(load_loop(str(file)), MACHINE)


def test_a_kernel_that_writes_nothing_is_refused(tmp_path: Path) -> None:
    lines = DUMP.read_text().splitlines(keepends=True)
    file = tmp_path / DUMP.name
    file.write_text("".join(line for line in lines if "tt.descriptor_store" not in line))
    with pytest.raises(RefusedError, match="gemm_two_tiles writes nothing"):
        emitted(schedule(file))


@pytest.mark.parametrize(("file", "called"), [(DUMP, []), (RUNNING_SUMS, ["scanned"])])
def test_a_reference_has_the_functions_that_it_calls(file: Path, called: list[str]) -> None:
    text = emitted(schedule(file))
    assert [name for name in HELPERS if f"def {name}(" in text] == called
    assert [name for name in HELPERS if re.search(rf"= .*\b{name}\(", text)] == called
