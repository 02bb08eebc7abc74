"""What is suggested for a refused loop is what gives it a schedule."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import twill
from tests.support.commands import in_process
from tests.support.small import op, small_loop, small_machine
from twill.frontends import load_loop, packaged_loops
from twill.studies.suggest import suggestions

REFUSED = (
    "attention_backward_blackwell",
    "attention_backward_d64_blackwell",
    "attention_backward_hopper",
    "attention_backward_two_tiles_d64_blackwell",
)


def test_what_is_suggested_for_a_product_can_be_typed(tmp_path: Path) -> None:
    command = ("twill", "schedule", "gemm_hopper", "-m", "hopper_h100", "--suggest")
    done = in_process(*command, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("twill: gemm_hopper: the result of c needs 256 registers")
    typed = [line for line in done.stdout.splitlines() if line.startswith("  twill ")]
    assert len(typed) == 6
    for line in typed:
        assert in_process(*shlex.split(line), folder=tmp_path).returncode == 0, line


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_each_refused_backward_loop_has_sub_tiles_that_help(name: str, tmp_path: Path) -> None:
    machine = packaged_loops()[name].machine
    found = suggestions(load_loop(name), twill.Machine.named(machine), name, machine)
    cut, schedule = found[0].commands
    assert in_process(*shlex.split(cut), folder=tmp_path).returncode == 0
    written = (*shlex.split(schedule), "--search", "written", "-o", "s.json")
    assert in_process(*written, folder=tmp_path).returncode == 0
    assert twill.verify(twill.load_schedule(str(tmp_path / "s.json"))).valid


def test_nothing_is_suggested_where_nothing_helps() -> None:
    loop = small_loop([op("a", "ALU", registers=200)])
    assert suggestions(loop, small_machine(registers=100), "loop.json", "machine.toml") == []
