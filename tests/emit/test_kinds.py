"""Kernels of integers, scans and atomic updates are costed, emitted, and compute right."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest

from tests.emit.test_emit import ALIKE, capability, computes_what_it_should
from tests.support.pages import ROOT
from twill.artifacts.costs import cost_by_rule
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.emit import emitted
from twill.frontends import load_loop
from twill.frontends.ttgir import extract
from twill.lower.baselines import multi_warp
from twill.sim.emulator import emulate, load, stand_ins

pytestmark = pytest.mark.usefixtures("first_arguments")
KERNELS = ROOT / "tests/data/kernels"  # made from integers.py by `twill loop dump`
NAMES = (
    *("running_sums.sm90", "recurrence.sm90", "suffix_maxima.sm90", "dropout.sm90"),
    *("quotients.sm90", "eight_bits.sm90", "eight_bits.sm100", "four_bits.sm90"),
    *("split_depth.sm90", "batched_product.sm90", "product_of_tiles.sm90"),
)
HOPPER = Machine.named("hopper_h100")


def in_order(loop: Loop, machine: Machine = HOPPER) -> Schedule:
    """Return a schedule that takes no search: loads in one group, everything else in another."""
    return multi_warp(loop, machine)


@functools.cache
def solved(name: str) -> Schedule:
    machine = Machine.named("blackwell_b200" if name.endswith("sm100") else "hopper_h100")
    return in_order(load_loop(str(KERNELS / f"{name}.mlir")), machine)


def written(name: str, folder: Path) -> Path:
    file = folder / f"{name}.py"
    file.write_text(emitted(solved(name)))
    return file


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_computes_what_its_loop_does(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"victims": False, "capability": capability(name)}
    computes_what_it_should(emulate(written(name, tmp_path), iterations=(2,), **options))


def test_what_is_added_to_outputs_is_expected_of_them_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stand_ins(capability=capability("split_depth.sm90")):
        module = load(written("split_depth.sm90", tmp_path))

        def launch(arguments: dict[str, Any], grid: tuple[int, ...]) -> None:
            for name, value in module.reference(arguments, grid).items():
                arguments[name] = value.to(arguments[name].dtype)

        monkeypatch.setattr(module, "launch", launch)
        module.check(4)


# By kernel: what of it is replaced by what, once.
MISTAKES = {
    "running_sums.sm90": ("axis=1", "axis=0"),
    "recurrence.sm90": (r"\)\[1\]", ")[0]"),
    "suffix_maxima.sm90": (", reverse=True", ""),
    "dropout.sm90": (r"gl\.umulhi\(", "gl.maximum("),
    "quotients.sm90": (r", bitcast=True\) %", ", bitcast=True) //"),
    "four_bits.sm90": (r" << 4", " << 3"),
    "split_depth.sm90": (r"gl\.atomic_add", "gl.atomic_max"),
    "batched_product.sm90": (r"\[rows, columns\]", "[64, columns]"),
    "product_of_tiles.sm90": (r"// 3 \* 3", "* 3"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_template_is_noticed(name: str, tmp_path: Path) -> None:
    file = written(name, tmp_path)
    kernel, section, rest = file.read_text().partition("# Entry point")
    broken, count = re.subn(*MISTAKES[name], kernel)
    assert count
    file.write_text(broken + section + rest)
    assert not emulate(file, iterations=(1,), victims=False).passed


def changed(name: str, before: str, after: str) -> str:
    text = (KERNELS / f"{name}.mlir").read_text()
    assert before in text
    return text.replace(before, after)


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        (
            *("split_depth.sm90", "atomic_rmw_op = 5", "atomic_rmw_op = 10"),
            r"tt.atomic_rmw at \S+:\d+:\d+ has no template for kernels: atomic_rmw_op = 10",
        ),
        (
            *("running_sums.sm90", '"arith.addf"(%arg12', '"test.own"(%arg12'),
            r"test.own at \S+:\d+:\d+ has no template for kernels",
        ),
    ],
)
def test_what_has_no_template_is_refused_with_its_place(
    name: str, before: str, after: str, said: str
) -> None:
    loop = extract(changed(name, before, after))
    schedule = in_order(loop)
    with pytest.raises(RefusedError, match=said):
        emitted(schedule)


def costs(name: str) -> dict[str, int]:
    """Return cycles by unit that the operations of a kernel take together, by kind."""
    found: dict[str, int] = {}
    for operation in solved(name).loop.operations:
        for step in cost_by_rule(HOPPER, operation).steps:
            key = f"{operation.kind} {step.unit}"
            found[key] = found.get(key, 0) + step.cycles
    return found


def test_a_division_by_a_power_of_two_takes_shifts_alone() -> None:
    """Eight elements a thread; remainders take a product more, and so do other divisors."""
    each = 8
    found = costs("quotients.sm90")
    assert found["remainder fma"] == 2 * each * 6
    assert found["divide fma"] == 2 * each * 4
    assert found["divide alu"] == each * (6 + 2 * 4)


def test_what_a_scan_takes_follows_from_its_layout() -> None:
    """One function a row and step of the ladder, and twice for every element but its first."""
    scan = next(o for o in solved("running_sums.sm90").loop.operations if o.kind == "scan")
    facts = {key: scan.attributes[key] for key in ("values", "arithmetic", "run", "lanes")}
    assert facts == {"values": 1, "arithmetic": 1, "run": 8, "lanes": 8}
    steps = {step.unit: step.cycles for step in cost_by_rule(HOPPER, scan).steps}
    assert steps == {"fma": 2 * 7 + 3, "shuffle": 4 * 4}


def test_an_unsigned_operation_is_written_as_one(tmp_path: Path) -> None:
    text = written("quotients.sm90", tmp_path).read_text()
    assert "gl.cast(x, gl.uint32, bitcast=True) % 11" in re.sub(r"x_\w+", "x", text)
    assert "first = program[0] * rows" in text  # no more than that is an address
    assert 'torch.div(x2, 7, rounding_mode="trunc")' in text


@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_computes_the_same_beside_pytorch(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"victims": False, "capability": capability(name), "real": True}
    found = emulate(written(name, tmp_path), iterations=(1,), **options)
    assert found.passed
    assert found.host == "PyTorch"
    assert max(one.alike for run in found.runs for one in run.differences) < 100 * ALIKE
