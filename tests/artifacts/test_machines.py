"""Packaged machine files against published measurements, and what a bad file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.sampled import sampled
from twill.artifacts.loop import Operation, Tile
from twill.artifacts.machine import FACTS, packaged_machines
from twill.frontends import packaged_loops
from twill.problem.costs import StaticCost, static_cost, static_costs


def product(m: int, n: int, k: int, a: str = "smem", dtype: str = "f16") -> Operation:
    factors = (
        Tile.model_validate({"shape": (m, k), "dtype": dtype, "memory": a}),
        Tile.model_validate({"shape": (k, n), "dtype": dtype, "memory": "smem"}),
    )
    result = Tile(shape=(m, n), dtype="f32", memory="registers")
    return Operation(name="product", kind="mma", operands=factors, result=result)


def elementwise(kind: str, rows: int = 64, columns: int = 128, dtype: str = "f32") -> Operation:
    made = dtype if dtype.startswith("i") else "f32"
    source = Tile.model_validate({"shape": (rows, columns), "dtype": made, "memory": "registers"})
    result = Tile.model_validate({"shape": (rows, columns), "dtype": dtype, "memory": "registers"})
    return Operation(name="e", kind=kind, operands=(source,), result=result, elementwise=True)


def reduction(combine: str, lanes: int) -> Operation:
    return Operation(
        name="r",
        kind="reduce",
        operands=(Tile(shape=(64, 128), dtype="f32", memory="registers"),),
        result=Tile(shape=(64,), dtype="f32", memory="registers", elements_per_thread=2),
        attributes={"combine": combine, "lanes": lanes, "lane_warps": 1},
    )


def test_every_packaged_machine_loads_and_is_listed() -> None:
    assert packaged_machines() == [
        "blackwell_b200", "blackwell_b200_polynomial", "ddg", "hopper_h100", "hopper_h100_ptxas",
        "hopper_h200", "paper_example",
    ]  # fmt: skip
    for name in packaged_machines():
        assert twill.Machine.named(name).name == name


@pytest.mark.parametrize(("key", "said"), FACTS.items())
def test_a_file_without_a_fact_is_told_what_known_machines_have(key: str, said: str) -> None:
    data = json.loads(twill.Machine.named("blackwell_b200").to_json())
    part: dict[str, Any] = data
    *path, last = key.split(".")
    for step in path:
        part = part[step]
    del part[last]
    message = f"m.json: {key}: this key is required; Hopper and Blackwell have {said}"
    with pytest.raises(twill.InputError) as caught:
        twill.Machine.from_json(json.dumps(data), file="m.json")
    assert str(caught.value) == message


def test_a_schedule_with_an_older_machine_is_told_too(paper_schedule: twill.Schedule) -> None:
    data = json.loads(paper_schedule.to_json())
    del data["machine"]["threads_per_warp"]
    with pytest.raises(
        twill.InputError,
        match=r"machine\.threads_per_warp: this key is required; Hopper and Blackwell have 32",
    ):
        twill.Schedule.from_json(json.dumps(data))


# Issue intervals of m64nNk16 bf16 with both factors in SMEM, measured on an H100 SXM5
# (revollllt/flash-vla, constants.yaml).
@pytest.mark.parametrize(
    ("n", "measured"),
    [(8, 18.9), (16, 20.7), (32, 24.7), (64, 32.8), (96, 48.7), (128, 65.0), (192, 97.1),
     (256, 129.3)],
)  # fmt: skip
def test_wgmma_interval_is_the_measured_one(hopper: twill.Machine, n: int, measured: float) -> None:
    occupancy = static_cost(product(64, n, 16), hopper).occupancy
    assert 0 <= measured - occupancy < 1.5


# Single-shot latency of m64n64k16: 79 cycles with commit and wait, same source.
def test_wgmma_single_shot_latency(hopper: twill.Machine) -> None:
    assert static_cost(product(64, 64, 16), hopper).latency == 79


# tcgen05.mma bf16 k16, M = 128, one CTA, measured on a B200 (SemiAnalysisAI/microbench-blackwell):
# issue interval and latency up to the mbarrier wait.
@pytest.mark.parametrize(
    ("a", "n", "interval", "latency"),
    [("smem", 64, 48, 168), ("smem", 96, 56, 184), ("smem", 128, 64, 200), ("smem", 256, 128, 264),
     ("tmem", 64, 32, 136), ("tmem", 96, 48, 152), ("tmem", 128, 64, 168), ("tmem", 256, 128, 232)],
)  # fmt: skip
def test_tcgen05_interval_and_latency_are_the_measured_ones(
    a: str, n: int, interval: int, latency: int
) -> None:
    machine = twill.Machine.named("blackwell_b200")
    cost = static_cost(product(128, n, 16, a), machine)
    assert cost.occupancy == interval
    # The table's latencies are N/2 plus a constant, also where the interval is longer than N/2.
    assert abs(cost.latency - latency) <= interval - n // 2


# The same with M = 64.
@pytest.mark.parametrize(
    ("n", "interval", "latency"),
    [(64, 32, 152), (96, 48, 168), (128, 64, 184), (256, 128, 248)],
)
def test_tcgen05_of_64_rows(n: int, interval: int, latency: int) -> None:
    cost = static_cost(product(64, n, 16), twill.Machine.named("blackwell_b200"))
    assert (cost.occupancy, cost.latency) == (interval, latency)


# Datasheet peaks at the data sheets' clocks: 989 and 2250 TFLOP/s dense fp16.
@pytest.mark.parametrize(
    ("name", "m", "peak"), [("hopper_h100", 64, 989.4e12), ("blackwell_b200", 128, 2243e12)]
)
def test_peak_throughput_is_the_data_sheets(name: str, m: int, peak: float) -> None:
    machine = twill.Machine.named(name)
    cycles = static_cost(product(m, 256, 64), machine).occupancy
    rate = 2 * m * 256 * 64 / cycles * machine.clock.value * 1e6 * machine.multiprocessors.value
    assert rate == pytest.approx(peak, rel=0.001)


@pytest.mark.parametrize(
    ("kind", "dtype", "cycles"),
    # 64 x 128 elements at 128, 64, 16 results a clock; conversions at 128; 8/7 for full issue.
    [("mul", "f32", 74), ("max", "f32", 128), ("exp2", "f32", 512), ("cast", "f16", 64)],
)
def test_hopper_elementwise_occupancy(
    hopper: twill.Machine, kind: str, dtype: str, cycles: int
) -> None:
    assert static_cost(elementwise(kind, dtype=dtype), hopper).occupancy == cycles


def test_a_reduction_is_charged_by_its_input(hopper: twill.Machine) -> None:
    # 8192 inputs at 64 a clock, then two rounds of shuffles and maxima for two rows.
    assert static_cost(reduction("max", 4), hopper).occupancy == 8192 // 64 + 4 * 2 + 4 * 4
    assert static_cost(reduction("max", 1), hopper).occupancy == 8192 // 64


@pytest.mark.parametrize("name", ["hopper_h100", "blackwell_b200"])
def test_a_reduction_across_warps_pays_for_a_barrier(name: str) -> None:
    machine = twill.Machine.named(name)
    within = reduction("add", 32)
    across = within.model_copy(update={"attributes": {**within.attributes, "lane_warps": 2}})
    inside, outside = static_cost(within, machine), static_cost(across, machine)
    assert outside.occupancy >= inside.occupancy + 31
    assert any(r.unit == "smem" for r in outside.reservations)


def test_replicated_rows_are_read_from_smem_once_for_each_warp(hopper: twill.Machine) -> None:
    # 128 elements go from one a thread to all in every thread: 32 vectors for each of four warps.
    row = Tile(shape=(128,), dtype="f32", memory="registers", elements_per_thread=1)
    spread = row.model_copy(update={"elements_per_thread": 128})
    operation = Operation(name="c", kind="convert_layout", operands=(row,), result=spread)
    port = next(r for r in static_cost(operation, hopper).reservations if r.unit == "smem")
    assert (port.length, port.count) == (2 * (4 + 32 * 4), 64)


def test_integers_are_not_costed_as_floats(hopper: twill.Machine) -> None:
    assert static_cost(elementwise("add", dtype="i32"), hopper).occupancy == 2 * 64
    assert static_cost(elementwise("add", dtype="f32"), hopper).occupancy == 74


def test_a_part_of_the_exponentials_may_be_polynomials() -> None:
    plain = static_cost(elementwise("exp2"), twill.Machine.named("blackwell_b200"))
    shared = static_cost(elementwise("exp2"), twill.Machine.named("blackwell_b200_polynomial"))

    def on(cost: StaticCost, unit: str) -> int:
        return sum(r.length for r in cost.reservations if r.unit == unit)

    # 64 elements a thread: 6 pairs are emulated, 52 remain for the multi-function unit.
    assert (on(plain, "mufu"), on(plain, "fma")) == (8 * 64, 0)
    assert (on(shared, "mufu"), on(shared, "fma"), on(shared, "alu")) == (8 * 52, 12 * 6, 12 * 6)


def test_tensor_memory_is_updated_a_chunk_at_a_time() -> None:
    accumulator = Tile(shape=(128, 128), dtype="f32", memory="tmem")
    factor = Tile(shape=(128, 128), dtype="f32", memory="registers")
    update = Operation(
        name="o",
        kind="tmem_update",
        operands=(accumulator, factor),
        result=accumulator,
        attributes={"arithmetic": 1},
    )
    cost = static_cost(update, twill.Machine.named("blackwell_b200"))
    assert cost.working_set == 32
    # Wait for the first chunk, 64 KiB at 230 B/clk, 128 products a thread, 64 KiB at 400 B/clk.
    assert cost.occupancy == 200 + 285 + 128 + 164


@pytest.mark.parametrize("name", sampled(packaged_loops(), 3))
def test_every_packaged_loop_can_be_costed(name: str) -> None:
    machine = twill.Machine.named(packaged_loops()[name].machine)
    costs = static_costs(twill.load_loop(name), machine)
    assert costs
    for cost in costs.values():
        assert cost.latency >= cost.occupancy > 0


def test_issue_slots_are_counted_in_eighths(hopper: twill.Machine) -> None:
    def share(operation: Operation) -> int:
        table = static_cost(operation, hopper).reservations
        return next(r.count for r in table if r.unit == "issue")

    assert [share(elementwise(kind)) for kind in ("exp2", "max", "mul")] == [1, 4, 7]


def test_a_number_without_a_source_is_refused() -> None:
    text = (Path(__file__).parents[2] / "machines" / "paper_example.toml").read_text()
    with pytest.raises(twill.InputError, match=r"m\.toml: clock\.source: must begin with a key"):
        twill.Machine.from_toml(
            text.replace('source = "MODEL: the example has no clock', 'source = "GUESS: none')
            .encode(), file="m.toml")  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[units.TC]\ncapacity = 1", "[units.TC]\ncapacity = 0",
         "m.toml: units.TC.capacity: input should be greater than 0 (got 0)"),
        ("value = 1000.0", "value = nan",
         "m.toml: clock.value: input should be a finite number (got nan)"),
        ('unit = "TC", cycles = "1"', 'unit = "XX", cycles = "1"',
         "m.toml: rules[0].steps[0].unit: no unit named 'XX'"),
        ('unit = "TC", cycles = "1"', 'unit = "TC", cycles = "1 +"',
         "m.toml: rules[0].steps[0].cycles: not an expression (got '1 +')"),
        ('name = "paper_example"', 'name = "paper_example', "m.toml: not TOML"),
        ("schema_version = 2", "schema_version = 2\nextends = \"nothing\"",
         "m.toml: extends: 'nothing' No such file"),
        ("schema_version = 2", f"schema_version = 2\nextends = \"{'x' * 3000}\"",
         f"m.toml: extends: '{'x' * 20}"),
    ],
)  # fmt: skip
def test_bad_machine_files(old: str, new: str, message: str) -> None:
    text = (Path(__file__).parents[2] / "machines" / "paper_example.toml").read_text()
    assert old in text
    with pytest.raises(twill.InputError) as caught:
        twill.Machine.from_toml(text.replace(old, new, 1).encode(), file="m.toml")
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300


def test_an_operation_without_a_rule_names_itself_its_place_and_the_file(
    hopper: twill.Machine,
) -> None:
    operation = Operation(name="y", kind="atan", location="kernel.py:12:3")
    with pytest.raises(twill.InputError) as caught:
        hopper.cost(operation)
    assert str(caught.value) == (
        "machines/hopper_h100.toml: rules: no cost rule for kind 'atan' (operation 'y' at "
        "kernel.py:12:3): add a [[rules]] entry to this file"
    )


def test_a_rule_that_needs_a_missing_fact_says_which(hopper: twill.Machine) -> None:
    with pytest.raises(twill.InputError, match=r"rules\[\d+\]\.when: nothing named 'combine'"):
        hopper.cost(Operation(name="r", kind="reduce"))


def test_a_machine_can_extend_another(tmp_path: Path, hopper: twill.Machine) -> None:
    file = tmp_path / "fast.toml"
    file.write_text(
        'schema_version = 1\nextends = "hopper_h100"\nname = "fast"\n'
        '[clock]\nvalue = 2000.0\nunit = "MHz"\nsource = "MODEL: what if"\n'
    )
    fast = twill.Machine.named(str(file))
    assert (fast.name, fast.clock.value) == ("fast", 2000.0)
    assert fast.rules == hopper.rules
    assert fast.digest != hopper.digest
    renamed = hopper.model_copy(update={"name": "renamed"})
    assert renamed.digest == twill.Machine.from_json(renamed.to_json()).digest != hopper.digest
