"""What is emitted as compilers need it, and a backward kernel that they make as it is written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from twill.artifacts.program import Await, Get, Issue, Wait
from twill.cli.main import app
from twill.emit.roles import Role

DV, S, STORED = Issue(operation="dv"), Issue(operation="s"), Await(operation="stored")
TAKEN = Wait(barrier="dv.taken")


@pytest.mark.parametrize(
    ("instructions", "order"),
    [
        ((DV, STORED), [1, 0]),
        ((DV, DV, STORED), [2, 0, 1]),
        ((TAKEN, DV, STORED, DV), [0, 2, 1, 3]),
        ((DV, TAKEN, STORED), [0, 1, 2]),
        ((S, STORED), [0, 1]),
        ((DV, Await(operation="dv")), [0, 1]),
    ],
)
def test_a_store_is_awaited_before_the_products_of_registers_that_are_issued_before(
    instructions: tuple[Any, ...], order: list[int]
) -> None:
    role: Any = Role.__new__(Role)
    kinds = {"dv": "mma", "s": "mma", "stored": "store"}
    role.operations = {name: SimpleNamespace(kind=kind) for name, kind in kinds.items()}
    role.memories = SimpleNamespace(in_registers=lambda name: name == "dv")
    steps = [SimpleNamespace(instruction=instruction) for instruction in instructions]
    assert [place for place, _ in role._in_order(SimpleNamespace(steps=steps))] == order


def test_what_is_only_converted_is_read_in_the_layout_that_is_wanted() -> None:
    role: Any = Role.__new__(Role)
    kinds = {"turned": "convert_layout", "difference": "sub"}
    role.operations = {name: SimpleNamespace(kind=kind) for name, kind in kinds.items()}
    role.gluon, role.names, role.where = None, str, SimpleNamespace(round=None)
    role.places = SimpleNamespace(
        copy=lambda value, reader, _: SimpleNamespace(text=lambda *_: f"{value}_for_{reader}")
    )
    role.memories = SimpleNamespace(
        is_number=lambda _: False,
        is_flag=lambda _: False,
        register_layout=lambda name, _: f"LAYOUT_OF_{name}",
        staging=lambda value: value,
        slot=lambda staging, _: f"{staging}_staging",
    )
    read = [role._gotten(Get(value="row", reader=reader), None) for reader in kinds]
    assert read == [
        "row_for_turned = row_staging.load(LAYOUT_OF_turned)",
        "row_for_difference = row_staging.load(LAYOUT_OF_row)",
    ]


@pytest.mark.slow
@pytest.mark.triton
def test_a_backward_kernel_passes(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    schedule, kernel = str(tmp_path / "s.json"), str(tmp_path / "kernel.py")
    loop, machine = "attention_backward_d64_hopper", "hopper_h100_ptxas"
    made = ("schedule", loop, "--machine", machine, "--effort", "quick", "-o", schedule)
    assert CliRunner().invoke(app, made).exit_code == 0
    checked = CliRunner().invoke(app, ("emit", schedule, "-o", kernel, "--check"))
    assert checked.exit_code == 0, checked.stdout
    assert "attention_backward_kernel for sm_90a" in checked.stdout
