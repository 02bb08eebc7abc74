"""Persistent attention: a loop over output tiles, each with queries of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import twill
from tests.emit.test_emit import HOPPER, computes_what_it_should
from tests.support.pages import ROOT
from tests.support.solved import stored
from twill.artifacts.program import Barrier, Issue, Program, Wait
from twill.emit import emitted
from twill.emit.printer import wrapped
from twill.lower.rounds import pipelined
from twill.sim.emulator import emulate

CAUSAL = ROOT / "traces/ttgir/attention_forward_causal_persistent.sm90.mlir"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Emit the schedule of attention without a mask, whose loop is that below the diagonal."""
    loop = twill.load_loop(str(CAUSAL))
    schedule = stored("fa_fwd_hopper")
    assert loop.dependences == schedule.loop.dependences
    file = tmp_path_factory.mktemp("persistent") / "kernel.py"
    file.write_text(emitted(schedule.model_copy(update={"loop": loop})))
    return file


@pytest.mark.slow
@pytest.mark.sample
def test_every_tile_has_its_own_queries_and_mask(kernel: Path) -> None:
    """Tiles differ in their iterations, so that the host does not know how many there are."""
    assert "def trips" not in kernel.read_text()
    computes_what_it_should(emulate(kernel, iterations=(2,), victims=False, capability=HOPPER))


@pytest.mark.slow
@pytest.mark.sample
@pytest.mark.parametrize("waits", ["before_empty", "before_full"])
def test_a_tile_that_does_not_wait_for_its_queries_is_wrong(
    kernel: Path, waits: str, tmp_path: Path
) -> None:
    lines = kernel.read_text().splitlines(keepends=True)
    file = tmp_path / "kernel.py"
    file.write_text("".join(line for line in lines if f"mbarrier.wait({waits}" not in line))
    assert not emulate(file, iterations=(2,), capability=HOPPER).passed


@pytest.mark.slow
@pytest.mark.sample
def test_tiles_follow_each_other_whatever_is_late(kernel: Path) -> None:
    computes_what_it_should(emulate(kernel, iterations=(1, 3), capability=HOPPER))


def test_a_long_negative_stays_a_number() -> None:
    """A comma behind what is in brackets would make it a tuple, which has no negative."""
    names = " + ".join(f"length{n}" for n in range(20))
    text = "".join(wrapped(f"return -(-({names}) // 128)")).removeprefix("return ")
    assert eval(text, {f"length{n}": 64 for n in range(20)}) == 10  # noqa: S307 - our own text


@pytest.mark.parametrize(("persistent", "waited"), [(False, 0), (True, 1)])
def test_the_first_rounds_of_a_tile_wait_for_the_tile_before(
    *, persistent: bool, waited: int
) -> None:
    """A slot of the ring may still be read, for an iteration of an earlier output tile."""
    body = (
        Wait(barrier="empty", stage=0, distance=2),
        Issue(operation="load", stage=0, signals=("full",)),
        Issue(operation="add", stage=1),
    )
    barriers = {"empty": Barrier(name="empty", slots=2), "full": Barrier(name="full", slots=2)}
    program = Program(group="all", body=body)
    (first,) = pipelined(program, barriers, None, persistent=persistent).prologue
    waits = [step.iteration for step in first.steps if isinstance(step.instruction, Wait)]
    assert len(waits) == waited
    assert all(one.early and one.offset == -2 for one in waits)
