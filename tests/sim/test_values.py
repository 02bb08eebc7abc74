"""Numbers of pipelined programs against formulas, and against another evaluator of loops."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import twill
from tests.support.commands import SIM, in_process
from tests.support.loop_values import Outside, evaluate
from tests.support.programs import unsolved
from tests.support.sampled import sampled
from twill.artifacts.loop import Operation, Tile
from twill.artifacts.program import Await, Interleave, Issue, Wait
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.frontends import load_loop, packaged_loops
from twill.lower.baselines import multi_warp, sequential
from twill.sim.checks import check
from twill.sim.checks.dataflow import Dataflow
from twill.sim.checks.tiles import TOLERANCE, Inputs, Kernel, function_of, known, placed, rounded
from twill.sim.checks.values import Provenance, Values
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.show import print_checks

ITERATIONS = 5
SILENT = {
    "attention_forward_diagonal_hopper": "kind 'compare' with 2 operands does not say what",
    "attention_forward_diagonal_blackwell": "kind 'compare' with 2 operands does not say what",
    "linear_attention_blackwell": "which of its operands are constants does not show",
    "block_scaled_gemm_blackwell": "NumPy has no element type f8e4m3",
    "skipped_interval": "kind 'mma' with 0 operands does not say what",
    "skipped_interval_issue": "kind 'mma' with 0 operands does not say what",
}
NO_FORMULA = {"paper_example", "linear_attention", "layer_norm", "online_softmax"}


def kernel_of(loop: twill.Loop, iterations: int = ITERATIONS) -> Kernel:
    kernel = known(loop, iterations)
    assert kernel is not None
    return kernel


def compute(
    schedule: Schedule, inputs: Inputs | None = None, **conditions: Any
) -> tuple[Values, Provenance]:
    """Execute a schedule and follow its numbers."""
    values = Values(schedule, ITERATIONS, inputs)
    watched = values.watch()
    stated = Conditions.of(iterations=ITERATIONS, **conditions)
    StreamingMultiprocessor(schedule, stated, [watched]).run()
    return values, watched


# -- formulas ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sampled([n for n in packaged_loops() if n not in SILENT], 3))
def test_packaged_loops_compute_their_formulas(name: str) -> None:
    loop = twill.load_loop(name)
    kernel = known(loop, 3)
    if kernel is None:
        assert name.rsplit("_", 1)[0] in NO_FORMULA or name in NO_FORMULA
        return
    machine = twill.Machine.named(packaged_loops()[name].machine)
    values = Values(sequential(loop, machine), 3, kernel.inputs)
    assert kernel.error(values.as_written()) < TOLERANCE


@pytest.mark.parametrize("name", SILENT)
def test_operations_that_do_not_say_what_they_compute_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="values cannot be computed: " + SILENT[name]):
        Dataflow(twill.load_loop(name))


def test_pipelined_attention_computes_softmax_times_values(
    attention_schedule: Schedule,
) -> None:
    # Plain softmax(Q K^T / sqrt(D)) V, written out here.
    kernel = kernel_of(attention_schedule.loop)
    values, watched = compute(attention_schedule, kernel.inputs)
    made, tile = values.pipelined(watched), attention_schedule.loop.operation("k").result
    assert tile is not None
    keys, worths = (
        np.concatenate(
            [rounded(kernel.inputs.load(name, i, tile), "f16") for i in range(ITERATIONS)]
        ).astype(float)
        for name in "kv"
    )
    for part in "01":
        invariant = next(i for i in attention_schedule.loop.invariants if i.name == f"q{part}")
        queries = rounded(kernel.inputs.invariant(f"q{part}", invariant.tile), "f16")
        powers = np.exp(queries.astype(float) @ keys.T / np.sqrt(128))
        expected = powers / powers.sum(1, keepdims=True) @ worths
        last = ITERATIONS - 1
        found = made[f"o{part}", last] / made[f"l{part}", last][:, None]
        np.testing.assert_allclose(found, expected, atol=TOLERANCE * np.abs(expected).max())


def test_the_gradients_are_slopes_of_the_forward_pass() -> None:
    # dV and dK of the formula against finite differences of sum(O * dO).
    loop = twill.load_loop("attention_backward_hopper")
    kernel = kernel_of(loop, 2)
    made = {
        name: np.stack(
            [
                rounded(kernel.inputs.load(name, i, loop.operation(name).result), "f16")  # type: ignore[arg-type]
                for i in range(2)
            ]
        ).astype(float)
        for name in ("q", "do")
    }
    tiles = {i.name: i.tile for i in loop.invariants}
    held = {
        name: rounded(kernel.inputs.invariant(name, tiles[name]), "f16").astype(float)
        for name in "kv"
    }
    generator = np.random.default_rng(1)
    for name in "kv":
        direction = generator.standard_normal(held[name].shape)

        def loss(step: float, name: str = name, direction: Any = direction) -> float:
            moved = held | {name: held[name] + step * direction}
            powers = np.exp(made["q"] @ moved["k"].T / np.sqrt(held["k"].shape[1]))
            out = powers / powers.sum(2, keepdims=True) @ moved["v"]
            return float((out * made["do"]).sum())

        slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
        assert slope == pytest.approx((kernel.expected[f"d{name}"] * direction).sum(), rel=1e-4)


# -- pipelined against as written -------------------------------------------------------------


@pytest.mark.parametrize("latency", [None, "uniform:0,4000"])
def test_a_pipelined_program_computes_what_the_loop_does(
    attention_schedule: Schedule, latency: str | None
) -> None:
    values, watched = compute(attention_schedule, latency=latency, seed=3)
    assert values.differences(watched) == []


NAIVE = ("gemm_two_tiles_hopper", "fa_fwd_blackwell", "layer_norm_hopper")
"""The last one's loads end in registers of a warp of their own, which sends them to the tile."""


@pytest.mark.parametrize(
    "name",
    [
        *NAIVE,
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in packaged_loops()
            if name not in NAIVE
        ),
    ],
)
def test_a_naive_program_computes_what_the_loop_does(name: str) -> None:
    loop = twill.load_loop(name)
    machine = twill.Machine.named(packaged_loops()[name].machine)
    for schedule in (sequential(loop, machine), multi_warp(loop, machine)):
        check(schedule, iterations=ITERATIONS)
        values = Values(schedule, ITERATIONS, dataflow=Dataflow.of(loop))
        watched = values.watch()
        StreamingMultiprocessor(schedule, Conditions(iterations=ITERATIONS), [watched]).run()
        assert values.differences(watched) == []


def test_a_wrong_slot_gives_a_wrong_number(attention_schedule: Schedule) -> None:
    """Without its wait, a product reads what its slot holds: nothing, or keys of before."""
    programs = tuple(
        program.model_copy(
            update={
                "body": tuple(
                    i for i in program.body if not (isinstance(i, Wait) and i.barrier == "k.full")
                )
            }
        )
        for program in attention_schedule.programs
    )
    broken = attention_schedule.model_copy(update={"programs": programs})
    values = Values(attention_schedule, ITERATIONS)
    watched = values.watch(broken)
    StreamingMultiprocessor(
        broken, Conditions(iterations=ITERATIONS), [watched], checks=False
    ).run()
    wrong = {difference.operation for difference in values.differences(watched)}
    assert wrong == {"n0", "l0", "o0", "n1", "l1", "o1"}


def test_another_evaluator_agrees_on_the_loop_as_written(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    kernel = kernel_of(attention, 3)
    values = Values(sequential(attention, hopper), 3, kernel.inputs)
    other = evaluate(attention, 3, _as_outside(attention, kernel))
    for key, tile in values.as_written().items():
        np.testing.assert_allclose(tile, other[key], rtol=2e-3, atol=2e-3 * np.abs(tile).max())


def _as_outside(loop: twill.Loop, kernel: Kernel) -> Outside:
    """Give the other evaluator the same tiles; its exponentials are not exact beyond 2^4."""
    tiles: dict[str, Tile | None] = {i.name: i.tile for i in loop.invariants}

    def value(kind: str, name: str, number: int, shape: tuple[int, ...]) -> Any:
        if kind == "invariant":
            tile = tiles[name]
            assert tile is not None
            return rounded(kernel.inputs.invariant(name, tile), tile.dtype).astype(float)
        operation: Operation = loop.operation(name)
        if kind == "load":
            assert operation.result is not None
            return rounded(kernel.inputs.load(name, number, operation.result), "f16").astype(float)
        if kind == "first":
            return np.full(shape, -1e30 if operation.kind == "max" else 0.0)
        if operation.kind == "mma":
            return np.zeros(shape)
        return np.full(shape, kernel.inputs.constant(name, number, operation.operands[number]))

    return Outside(value)


def test_interleaved_operations_compute_as_apart(hopper: twill.Machine) -> None:
    loop = twill.load_loop("layer_norm_hopper")
    names = [o.name for o in loop.operations]
    one = [Issue(operation=name) for name in names]
    body: list[Any] = [one[0], Await(operation=names[0]), *one[1:]]
    body[4:6] = [Interleave(parts=(body[4], body[5]))]
    schedule = unsolved(loop, hopper, {"all": body})
    values, watched = compute(schedule)
    assert values.differences(watched) == []


# -- inputs and tiles -------------------------------------------------------------------------


def test_results_without_numbers_are_refused(attention: twill.Loop, hopper: twill.Machine) -> None:
    class Huge(Inputs):
        def load(self, operation: str, iteration: int, tile: Tile) -> Any:
            return super().load(operation, iteration, tile) * 1e4

    with pytest.raises(InputError, match="infinite or no number at all"):
        Values(sequential(attention, hopper), 2, Huge(attention))


@pytest.mark.parametrize(
    ("negated", "wanted"), [(None, 2 + 2.0**-10), ("addend", 2.0**-24), ("product", -(2.0**-24))]
)
def test_a_fused_product_and_sum_is_rounded_once(negated: str | None, wanted: float) -> None:
    """The square of 1 + 2^-12 is 1 + 2^-11 + 2^-24, which is no float32."""
    tile = Tile(shape=(1,), dtype="f32", memory="registers")
    attributes: dict[str, Any] = {} if negated is None else {"negated": negated}
    fused = Operation(
        name="x", kind="fma", operands=(tile,) * 3, result=tile, attributes=attributes
    )
    a, c = np.array([1 + 2.0**-12], np.float32), np.array([1 + 2.0**-11], np.float32)
    assert rounded(function_of(fused)(a, a, c), "f32") == wanted
    with pytest.raises(twill.InputError, match="fma"):
        function_of(fused.model_copy(update={"attributes": {"negated": "all"}}))


def test_bfloat16_rounds_to_the_nearest_even() -> None:
    given = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-9, -(1 + 5 * 2**-9), 3e38])
    found = rounded(given, "bf16")
    assert found.tolist()[:5] == [1.0, 1.0, 1 + 2**-6, 1.0, -(1 + 2**-7)]
    assert np.isfinite(found[5])


@pytest.mark.parametrize(
    ("shape", "axes", "wanted"),
    [
        ((3, 4), (1, 0), (4, 3)),
        ((3,), (1,), (2, 3)),
        ((3,), None, (3, 5)),
        ((1, 4), (None, 0), (4,)),
    ],
)
def test_values_are_laid_out_along_axes(
    shape: tuple[int, ...], axes: tuple[int | None, ...] | None, wanted: tuple[int, ...]
) -> None:
    value = np.arange(np.prod(shape)).reshape(shape)
    found = placed(value, axes, wanted)
    where = range(len(shape)) if axes is None else axes
    for index in np.ndindex(*wanted):
        source = tuple(0 if axis is None else index[axis] for axis in where)
        assert found[index] == value[source]


# -- what people see --------------------------------------------------------------------------


def shown(*arguments: str) -> str:
    done = in_process(*SIM, "run", "paper_example_by_hand", *arguments)
    done.check_returncode()
    return done.stdout


def test_run_tells_about_its_checks() -> None:
    text = shown("--values")
    assert "checked over 10 iterations: no races" in text
    assert "values: all 1 results are those of the loop as written" in text
    assert max(map(len, text.splitlines())) <= 83
    data = json.loads(shown("--values", "--json"))["checks"]
    assert data["numbers"] == {
        "results": 1, "wrong": [], "silent": None, "formula_error": None, "formula_tolerance": None,
    }  # fmt: skip
    assert set(data["occupancy"]["registers of all"]) == {
        "unit", "capacity", "allocated", "always", "peak", "peak_cycle", "mean", "along_program",
    }  # fmt: skip


def test_checks_can_be_left_out() -> None:
    assert json.loads(shown("--no-checks", "--json"))["checks"] is None


def test_what_says_too_little_computes_stand_ins(capsys: pytest.CaptureFixture[str]) -> None:
    loop = load_loop("attention_forward_diagonal_hopper")
    schedule = multi_warp(loop, twill.Machine.named("hopper_h100"))
    found = check(schedule, iterations=ITERATIONS, values=True)
    assert found.numbers is not None
    assert found.numbers.right
    assert found.numbers.results
    assert found.numbers.silent is not None
    assert SILENT[loop.name] in found.numbers.silent
    print_checks(found)
    assert "compute stand-ins" in capsys.readouterr().out
