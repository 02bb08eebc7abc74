"""What is suggested for a refused loop is what gives it a schedule."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import twill
from tests.support.commands import in_process
from tests.support.pages import ROOT
from tests.support.small import op, small_loop, small_machine
from twill.frontends import load_loop, packaged_loops
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.studies.suggest import suggestions, with_warps

REFUSED = (
    "attention_backward_blackwell",
    "attention_backward_d64_blackwell",
    "attention_backward_hopper",
    "attention_backward_two_tiles_d64_blackwell",
)


def test_what_is_suggested_for_a_product_can_be_typed(tmp_path: Path) -> None:
    command = ("twill", "schedule", "gemm_hopper", "-m", "hopper_h100")
    done = in_process(*command, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("twill: gemm_hopper: the result of c needs 256 registers")
    typed = [line for line in done.stdout.splitlines() if line.startswith("  twill ")]
    assert len(typed) == 6
    assert "it has a schedule with 8 warps, not 4, of 1024 cycles" in done.stdout
    for line in typed:
        assert in_process(*shlex.split(line), folder=tmp_path).returncode == 0, line


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_each_refused_backward_loop_has_sub_tiles_that_help(name: str, tmp_path: Path) -> None:
    machine = packaged_loops()[name].machine
    found = suggestions(load_loop(name), twill.Machine.named(machine), name, machine)
    cut, schedule = next(one.commands for one in found.found if one.commands)
    assert in_process(*shlex.split(cut), folder=tmp_path).returncode == 0
    written = (*shlex.split(schedule), "--search", "written", "-o", "s.json")
    assert in_process(*written, folder=tmp_path).returncode == 0
    assert twill.verify(twill.load_schedule(str(tmp_path / "s.json"))).valid


def test_nothing_is_suggested_where_nothing_helps() -> None:
    loop = small_loop([op("a", "ALU", registers=200)])
    told = suggestions(loop, small_machine(registers=100), "loop.json", "machine.toml")
    assert told.found == []
    assert told.tried == ["8 warps, not 4"]


def test_a_change_of_warps_is_what_a_dump_for_them_has() -> None:
    machine = twill.Machine.named("hopper_h100")
    wide = load_loop(str(ROOT / "tests/data/kernels/product_with_bias_wide.sm90.mlir"))
    narrow = with_warps(wide, machine, 8, 4)
    dumped = load_loop(str(ROOT / "tests/data/kernels/product_with_bias.sm90.mlir"))
    made, told = (next(o for o in loop.operations if o.kind == "mma") for loop in (narrow, dumped))
    assert made.result is not None
    assert told.result is not None
    assert made.result.elements == told.result.elements
    assert made.result.elements_per_thread == told.result.elements_per_thread == 64
    assert made.warps == told.warps == 4
    again = with_warps(narrow, machine, 4, 8)
    assert again.operations == wide.operations


def test_a_backward_loop_for_too_many_warps_is_told_of_fewer() -> None:
    machine = twill.Machine.named("hopper_h100")
    loop = with_warps(load_loop("attention_backward_d64_hopper"), machine, 4, 8)
    with pytest.raises(twill.RefusedError, match="lse needs a warp group of 8 warps"):
        solve(Request(loop, machine))
    told = suggestions(loop, machine, "loop.json", "hopper_h100")
    assert told.found[0].change == "4 warps, not 8"


def test_what_is_refused_for_an_option_is_told_to_be_asked_without(tmp_path: Path) -> None:
    asked = ("paper_example", "-m", "paper_example", "--limit", "groups=1")
    pinned = ("--pin", "S=one", "--pin", "P=two", "--json")
    done = in_process("twill", "schedule", *asked, *pinned, folder=tmp_path)
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert [one["change"] for one in told["suggestions"]] == ["no --limit, no --pin"]
