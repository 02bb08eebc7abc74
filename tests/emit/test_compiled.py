"""What is emitted as compilers need it, and kernels that they make as they are written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from twill.artifacts.program import Await, Get, Issue, Wait
from twill.cli.main import app
from twill.emit.outside import has_room
from twill.emit.partitions.operations import got
from twill.emit.partitions.partition import in_order
from twill.emit.printer import lines_of
from twill.lower.iterations import Iteration

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
    kinds = {"dv": "mma", "s": "mma", "stored": "store"}
    slots: Any = SimpleNamespace(
        operations={name: SimpleNamespace(kind=kind) for name, kind in kinds.items()},
        in_registers=lambda name: name == "dv",
    )
    of: Any = SimpleNamespace(
        steps=[SimpleNamespace(instruction=instruction) for instruction in instructions]
    )
    assert [place for place, _ in in_order(slots, of)] == order


def test_what_is_only_converted_is_read_in_the_layout_that_is_wanted() -> None:
    kinds = {"turned": "convert_layout", "difference": "sub"}
    values: Any = SimpleNamespace(
        operations={name: SimpleNamespace(kind=kind) for name, kind in kinds.items()},
        gluon=None,
        names=str,
        where=SimpleNamespace(round=None),
        places=SimpleNamespace(
            copy=lambda value, reader, _: SimpleNamespace(text=lambda *_: f"{value}_for_{reader}")
        ),
        slots=SimpleNamespace(
            is_number=lambda _: False,
            is_flag=lambda _: False,
            register_layout=lambda name, _: f"LAYOUT_OF_{name}",
            staged={"row": "row"},
            slot=lambda staged, _: f"{staged}_staging",
        ),
    )
    at = Iteration("i", 0)
    read = [got(values, Get(value="row", reader=reader), at) for reader in kinds]
    assert lines_of(read) == [
        "row_for_turned = row_staging.load(LAYOUT_OF_turned)",
        "row_for_difference = row_staging.load(LAYOUT_OF_row)",
    ]


@pytest.mark.parametrize(
    ("given", "live", "product", "room"),
    [
        *((24, 0, None, True), (24, 1, None, False), (224, 192, None, True)),
        *((216, 192, None, False), (256, 224, None, False), (232, 192, 12, False)),
        *((240, 192, 12, True), (224, None, None, False)),
    ],
)
def test_addresses_are_made_before_the_loop_where_registers_are_left_for_them(
    given: int, live: int | None, product: int | None, *, room: bool
) -> None:
    places = {"dv": "registers", "s": "tmem"}
    products = [
        SimpleNamespace(name=name, kind="mma", result=SimpleNamespace(memory=memory))
        for name, memory in places.items()
    ]
    load = SimpleNamespace(name="load", kind="load", result=SimpleNamespace(memory="registers"))
    file = SimpleNamespace(
        limit=SimpleNamespace(value=255), product=product and SimpleNamespace(value=product)
    )
    schedule: Any = SimpleNamespace(
        loop=SimpleNamespace(operations=[*products, load]),
        assignment={"dv": "compute", "s": "compute", "load": "compute"},
        machine=SimpleNamespace(registers=file),
    )
    group: Any = SimpleNamespace(name="compute", registers=given, registers_live=live)
    assert has_room(schedule, group) is room


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "machine", "effort"),
    [
        pytest.param(
            *("attention_backward_d64_hopper", "hopper_h100_ptxas", "quick"),
            marks=pytest.mark.triton,
        ),
        ("attention_backward_m64_d64_blackwell", "blackwell_b200", "normal"),
        ("tests/data/kernels/batched_product.sm90.mlir", "hopper_h100", "quick"),
    ],
)
def test_a_kernel_passes(loop: str, machine: str, effort: str, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    schedule, kernel = str(tmp_path / "s.json"), str(tmp_path / "kernel.py")
    made = ("schedule", loop, "--machine", machine, "--effort", effort, "-o", schedule)
    assert CliRunner().invoke(app, made).exit_code == 0
    checked = CliRunner().invoke(app, ("emit", schedule, "-o", kernel, "--check"))
    assert checked.exit_code == 0, checked.stdout
    assert "compiled as it is written" in checked.stdout
    assert "its machine code was not executed" not in checked.stdout
