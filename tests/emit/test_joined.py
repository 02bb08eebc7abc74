"""Two loops of which the second goes on where the first ends, in one pipeline: causal attention.

Iterations of the first loop leave the mask out. Programs differ in how many of those there are; the
first one of a head has none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import twill
from tests.emit.test_emit import HOPPER, close, computes_what_it_should
from tests.support.pages import ROOT
from tests.support.solved import stored
from twill.artifacts.schedule import Schedule
from twill.emit import emitted
from twill.frontends.ttgir import extract
from twill.lower.baselines import multi_warp
from twill.sim.emulator import emulate, load, stand_ins
from twill.studies.pipelined import software_pipelined

TWO_TILES = ROOT / "traces/ttgir/attention_forward_causal_two_tiles.sm90.mlir"
BY_STAGES = ROOT / "tests/data/kernels/causal_by_stages.sm90.mlir"  # two masked blocks of a query
ROUNDED = 2**-11  # of numbers of 16 bits


def joined() -> Schedule:
    """Return the schedule of attention without a mask, whose loop is that below the diagonal."""
    loop = twill.load_loop(str(TWO_TILES))
    schedule = stored("fa_fwd_hopper")
    assert loop.dependences == schedule.loop.dependences
    return schedule.model_copy(update={"loop": loop})


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("joined") / "kernel.py"
    file.write_text(emitted(joined()))
    return file


def test_a_mask_is_there_on_the_diagonal(kernel: Path) -> None:
    computes_what_it_should(emulate(kernel, iterations=(1, 2, 4), victims=False, capability=HOPPER))


@pytest.mark.parametrize("predicate", [5, 3])
@pytest.mark.parametrize(("kind", "stages"), [(multi_warp, 0), (software_pipelined, 2)])
def test_a_mask_is_in_the_rounds_that_have_it_and_nowhere_else(
    kind: Callable[[twill.Loop, twill.Machine], Schedule],
    stages: int,
    predicate: int,
    tmp_path: Path,
) -> None:
    """As in Triton's tutorial, where the mask is added; pipelined and not, the first loop empty.

    With predicate 3 keys that are no earlier than a query remain, none of them below the diagonal.
    """
    text = BY_STAGES.read_text().replace("predicate = 5", f"predicate = {predicate}")
    schedule = kind(extract(text), twill.Machine.named("hopper_h100"))
    assert max(p.last_stage for p in schedule.programs) == stages
    file = tmp_path / "kernel.py"
    file.write_text(emitted(schedule))
    found = emulate(file, iterations=(2, 6), victims=False, capability=HOPPER)
    assert found.passed
    assert max(d.alike for run in found.runs for d in run.differences) < ROUNDED


def test_the_reference_has_both_loops_as_they_are_written(kernel: Path) -> None:
    """Against the definition; the reference is not made of the joined loop."""
    with stand_ins(capability=HOPPER):
        module = load(kernel)
        arguments, grid = module.make_arguments(3)
        (found,) = module.reference(arguments, grid).values()
    q, k, v = (np.asarray(arguments[f"{name}_desc"].data, np.float64) for name in "qkv")
    length = grid[0] * 128
    for begin in range(0, grid[1] * arguments["sequence"], arguments["sequence"]):
        rows = slice(begin, begin + length)
        scores = arguments["scale"] * q[rows] @ k[rows].T
        scores[np.triu_indices(length, 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        wanted = weights / weights.sum(axis=1, keepdims=True) @ v[rows]
        assert close(np.asarray(found.data)[rows], wanted)


def test_both_loops_are_one_pipeline(kernel: Path) -> None:
    """Loads know nothing of a mask; of the two steady states of a group one has none."""
    text = kernel.read_text()
    load, *groups = sorted(text.split("@gluon.jit")[1:4], key=lambda part: "gl.where" in part)
    assert load.count("for i in") == 1
    for group in groups:
        first, second = group.split("# steady state of the ")[1:]
        assert ("gl.where" in first.split("# ")[0], "gl.where" in second) == (False, True)
    assert "before_done" not in text


@pytest.mark.slow
@pytest.mark.sample
def test_whatever_is_late_both_loops_compute_the_same(kernel: Path) -> None:
    found = emulate(kernel, iterations=(1, 3), capability=HOPPER)
    computes_what_it_should(found)
    assert len({run.victim for run in found.runs}) > 2


@pytest.mark.triton
def test_both_loops_are_compiled_as_they_are_written(kernel: Path) -> None:
    pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
    from twill import compiled

    found = compiled.check(kernel, 90)
    assert [f"{f.check}: {f.what}" for f in found.findings] == []
    assert len(found.loops) == 5  # of the loads one, of both groups two
