"""Dependence graphs in the format ddg-0.1."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.layouts import LINEAR
from tests.support.static import static_schedule
from twill.artifacts.loop import Loop
from twill.bounds import Bounds, bounds
from twill.frontends.ddg import load_ddg
from twill.frontends.ddg.format import tile_of
from twill.problem import build_problem
from twill.sim.checks import check

FILE = Path(__file__).parents[2] / "docs" / "reading" / "two_products.ddg.json"
Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    loaded: Document = json.loads(FILE.read_text())
    return loaded


@pytest.fixture(scope="module")
def loop() -> Loop:
    return load_ddg(str(FILE))


@pytest.fixture(scope="module")
def machine() -> twill.Machine:
    return twill.Machine.named("ddg")


def bounds_of(loop: Loop) -> Bounds:
    return bounds(build_problem(loop, twill.Machine.named("ddg")))


def test_bounds_are_the_files(document: Document, loop: Loop) -> None:
    found = bounds_of(loop)
    assert found.by_unit == {"TMA": 80, "TC": 100 + 110, "CUDA": 1 + 60 + 30, "SFU": 70}
    entry = document["loops"][0]
    assert (found.resource, found.recurrence) == (entry["res_mii"], entry["rec_mii"])
    assert set(found.recurrence_cycle) == {"mma.3", "tmem_load.4"}


def test_free_nodes_are_folded_and_say_where_values_are_stored(loop: Loop) -> None:
    assert [o.name for o in loop.operations] == [
        "mul.0", "load.1", "mma.3", "tmem_load.4", "exp2.5", "cast.6", "mma.8",
    ]  # fmt: skip
    tiles = {o.name: o.result for o in loop.operations}
    assert [
        (name, tile.shape, tile.dtype, tile.memory, tile.elements_per_thread)
        for name, tile in tiles.items()
        if tile
    ] == [
        ("load.1", (128, 128), "f16", "smem", None),
        ("mma.3", (128, 64), "f32", "tmem", None),
        ("tmem_load.4", (128, 64), "f32", "registers", 64),
        ("exp2.5", (128, 64), "f32", "registers", 64),
        ("cast.6", (128, 64), "f16", "tmem", None),
        ("mma.8", (128, 128), "f32", "tmem", None),
    ]
    assert [(f.name, f.into) for f in loop.folded] == [
        ("local_store.2", ("mma.3",)),
        ("tmem_store.7", ("mma.8",)),
    ]
    assert [(i.name, i.tile.bytes, i.used_by) for i in loop.invariants] == [
        ("w", 64 * 128 * 2, ("mma.3", "mma.8"))
    ]


def test_dependences_say_what_they_are(loop: Loop) -> None:
    found = {
        (d.producer, d.consumer, d.distance): (d.kind, d.in_place, d.delay)
        for d in loop.dependences
    }
    assert found == {
        # The load streams: it waits for nothing, its address follows from the loop counter.
        ("load.1", "mma.3", 0): ("data", False, None),
        ("mma.3", "tmem_load.4", 0): ("data", False, 300),
        ("tmem_load.4", "exp2.5", 0): ("data", False, 150),
        ("exp2.5", "cast.6", 0): ("data", False, 200),
        ("cast.6", "mma.8", 0): ("data", False, 40),
        # The first product does not accumulate, so that its buffer is overwritten.
        ("tmem_load.4", "mma.3", 1): ("anti", False, 150),
        ("mma.8", "mma.8", 1): ("data", True, 110),
    }


def test_costs_are_the_files(loop: Loop) -> None:
    found = {
        o.name: (c.steps[0].unit, c.steps[0].cycles, c.asynchronous, c.issue, c.latency)
        for o in loop.operations
        if (c := o.cost)
    }
    assert found == {
        "mul.0": ("CUDA", 1, False, 0, 1),
        "load.1": ("TMA", 80, True, 20, 500),
        "mma.3": ("TC", 100, True, 20, 300),
        "tmem_load.4": ("CUDA", 60, True, 60, 150),
        "exp2.5": ("SFU", 70, False, 0, 200),
        "cast.6": ("CUDA", 30, False, 0, 40),
        "mma.8": ("TC", 110, True, 20, 320),
    }
    assert [o.warps for o in loop.operations] == [1, 1, 1, 4, 4, 4, 1]


def test_the_loop_schedules_verifies_and_runs(machine: twill.Machine) -> None:
    schedule = static_schedule(twill.load_loop(str(FILE)), machine)
    assert schedule.initiation_interval == 450
    assert twill.verify(schedule).valid
    assert twill.sim.run(schedule).iterations_per_cycle == pytest.approx(1 / 450)


TOKEN, WIDE = "!ttg.async.token", f"tensor<128x128xf32, {LINEAR}>"


def add(
    document: Document,
    name: str,
    kind: str,
    operands: list[Document],
    result_types: list[str],
    pipeline: str = "CUDA",
    warps: int = 4,
) -> None:
    """Add an operation of the loop with its node, numbered in order."""
    nodes = document["loops"][0]["ddg"]["nodes"]
    document["ops"][name] = {
        "kind": kind, "scope": "loop:0", "operands": operands, "result_types": result_types
    }  # fmt: skip
    nodes.append(
        {"id": len(nodes), "op_ref": name, "op_kind": kind, "pipeline": pipeline, "latency": 60,
         "self_latency": 60, "occupancy": 60, "min_warps": warps}
    )  # fmt: skip


def link(document: Document, *ends: tuple[int, int, int, int]) -> None:
    """Add edges: from, to, distance, latency."""
    document["loops"][0]["ddg"]["edges"] += [
        {"src": u, "dst": v, "kind": "loop_carried" if distance else "data",
         "distance": distance, "latency": latency}
        for u, v, distance, latency in ends
    ]  # fmt: skip


@pytest.mark.parametrize("carried", ["said", "not said"])
def test_tokens_of_tensor_memory_are_no_data(
    carried: str, document: Document, machine: twill.Machine, tmp_path: Path
) -> None:
    """The accumulator is read, scaled and written again: nobody reads registers after scaling.

    As data, the token from the read to the write would hold its 128 registers beside those of the
    scaled tile, of 239.
    """
    scaling = copy.deepcopy(document)
    token: Document = {"iter_arg": {"loop": 0, "idx": 1}}
    add(scaling, "o_read", "ttng.tmem_load", [{"op": "o_buffer"}, token], [WIDE, TOKEN])
    add(scaling, "o_scaled", "arith.mulf", [{"op": "o_read"}, {"const": 2.0}], [WIDE])
    stored: list[Document] = [{"op": "o_buffer"}, {"op": "o_read", "result": 1}, {"op": "o_scaled"}]
    add(scaling, "o_store", "ttng.tmem_store", stored, [TOKEN])
    scaling["ops"]["o"]["operands"][3] = {"op": "o_store"}
    if carried == "said":
        results = [{"op": "s_read", "result": 0}, {"op": "o"}, {"const": -1}]
        scaling["ops"]["yield"] = {"kind": "scf.yield", "scope": "loop:0", "operands": results}
    link(scaling, (8, 9, 1, 320), (9, 10, 0, 60), (10, 11, 0, 60), (9, 11, 0, 60), (11, 8, 0, 60))
    loop = load_ddg(write(tmp_path, scaling))
    kinds = {
        (d.producer, d.consumer): (d.kind, d.in_place)
        for d in loop.dependences
        if d.producer.endswith((".9", ".10", ".11")) or d.consumer == "tmem_load.9"
    }
    assert kinds == {
        ("mma.8", "tmem_load.9"): ("data", False),
        ("tmem_load.9", "mul.10"): ("data", False),
        ("mul.10", "tmem_store.11"): ("data", False),
        ("tmem_load.9", "tmem_store.11"): ("anti", False),
        ("tmem_store.11", "mma.8"): ("data", True),
    }
    schedule = static_schedule(loop, machine)
    assert twill.verify(schedule).violations == ()
    for iterations in (1, 2, 20):
        check(schedule, iterations=iterations)


def test_a_load_of_one_warp_is_read_by_four(
    document: Document, machine: twill.Machine, tmp_path: Path
) -> None:
    """Its result stays in registers, from where it is sent to the group that reads it."""
    biased = copy.deepcopy(document)
    layout = f"tensor<128x64xf32, {LINEAR.replace(', [0, 64]', '')}>"
    add(biased, "bias", "tt.descriptor_load", [{"op": "row"}], [layout], "TMA", 1)
    biased["ops"]["e"] = {
        "kind": "arith.addf", "scope": "loop:0", "operands": [{"op": "s_read"}, {"op": "bias"}],
        "result_types": [layout],
    }  # fmt: skip
    link(biased, (9, 5, 0, 60))
    loop = load_ddg(write(tmp_path, biased))
    bias = loop.operation("load.9")
    assert bias.result is not None
    assert (bias.warps, bias.result.memory) == (1, "registers")
    schedule = static_schedule(loop, machine)
    assert schedule.assignment["load.9"] != schedule.assignment["exp2.5"]
    for iterations in (1, 2, 20):
        check(schedule, iterations=iterations)


def test_another_resource_bound_is_said(
    document: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = copy.deepcopy(document)
    other["loops"][0]["res_mii"] = 300
    file = write(tmp_path, other)
    assert bounds_of(load_ddg(file)).resource == 210
    assert capsys.readouterr().err == (
        f"twill: warning: {file}: loops[0].res_mii is 300 cycles; its nodes occupy TC for 210, "
        "which counts\n"
    )
    load_ddg(str(FILE))
    assert capsys.readouterr().err == ""


def test_a_name_and_a_choice_of_loop(document: Document, tmp_path: Path) -> None:
    both = copy.deepcopy(document)
    both["loops"].append({**copy.deepcopy(both["loops"][0]), "loop_id": 7})
    both["loops"][1]["ddg"]["nodes"][8]["occupancy"] = 500
    file = write(tmp_path, both)
    assert bounds_of(load_ddg(file, loop=7)).resource == 600
    assert load_ddg(file, loop=0, name="first").name == "first"
    with pytest.raises(twill.InputError, match=r"loops: 2 innermost loops; choose one with loop="):
        load_ddg(file)
    with pytest.raises(twill.InputError, match=r"loops: no loop 3 \(there are: 0, 7\)"):
        load_ddg(file, loop=3)


def write(folder: Path, document: Document) -> str:
    file = folder / "graph.json"
    file.write_text(json.dumps(document))
    return str(file)


# -- types ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shape", "memory", "size"),
    [
        ("i32", (), "registers", 4),
        ("tensor<64x128xbf16>", (64, 128), "registers", 16384),
        ("!ttg.memdesc<3x64x64xf8E4M3FN, #s, #ttg.shared_memory, mutable>", (3, 64, 64), "smem",
         12288),
        ("!ttg.memdesc<128x64xf32, #t, #ttng.tensor_memory, mutable>", (128, 64), "tmem", 32768),
    ],
)  # fmt: skip
def test_types_become_tiles(text: str, shape: tuple[int, ...], memory: str, size: int) -> None:
    tile = tile_of(text, path="p")
    assert tile is not None
    assert (tile.shape, tile.memory, tile.bytes) == (shape, memory, size)


@pytest.mark.parametrize(
    "text", ["!ttg.async.token", "!tt.tensordesc<8x8xf16>", "tensor<8x8x!tt.ptr<f16>>", "f80"]
)
def test_types_that_hold_no_data(text: str) -> None:
    assert tile_of(text, path="p") is None


# -- what is wrong with a file ----------------------------------------------------------------


def node(key: str, value: object, position: int = 3) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document["loops"][0]["ddg"]["nodes"][position][key] = value

    return change


def edge(key: str, value: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document["loops"][0]["ddg"]["edges"][3][key] = value

    return change


def op(name: str, key: str, value: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document["ops"][name][key] = value

    return change


def top(key: str, value: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document[key] = value

    return change


def self_loop_on_a_free_node(document: Document) -> None:
    document["loops"][0]["ddg"]["edges"].append(
        {"src": 2, "dst": 2, "kind": "loop_carried", "distance": 1, "latency": 5}
    )


def free_nodes_with_too_many_ways(document: Document) -> None:
    # Two parallel edges of distances 0 and 2^i between neighbours: 2^16 ways of 2^16 distances.
    graph = document["loops"][0]["ddg"]
    free = [{**graph["nodes"][2], "id": 100 + i} for i in range(17)]
    graph["nodes"] += free
    for i in range(16):
        ends = {"src": 100 + i, "dst": 101 + i, "kind": "loop_carried", "latency": 0}
        graph["edges"] += [{**ends, "distance": d} for d in (1, 1 + 2**i)]
    graph["edges"].append({**ends, "src": 3, "dst": 100, "distance": 0})


NODE, EDGE = "loops[0].ddg.nodes[3]", "loops[0].ddg.edges[3]"
MISTAKES: list[tuple[Callable[[Document], object], str]] = [
    (top("schema_version", "ddg-0.2"), "schema_version: input should be 'ddg-0.1' (got 'ddg-0.2')"),
    (top("loops", []), "loops: 0 innermost loops; choose one with loop= (there are: none)"),
    (lambda d: d.pop("ops"), "ops: this key is required"),
    (lambda d: d["loops"][0].pop("ddg"), "loops[0].ddg: this key is required"),
    (lambda d: d["loops"][0]["ddg"]["nodes"][3].pop("latency"),
     f"{NODE}.latency: this key is required"),
    (node("latency", -1), f"{NODE}.latency: input should be greater than or equal to 0 (got -1)"),
    (node("latency", math.nan), f"{NODE}.latency: input should be a valid integer (got nan)"),
    (node("latency", 1.5), f"{NODE}.latency: input should be a valid integer"),
    (node("occupancy", True), f"{NODE}.occupancy: input should be a valid integer (got True)"),
    (node("occupancy", 1 << 41), f"{NODE}.occupancy: input should be less than or equal to"),
    (node("pipeline", "XYZ"),
     f"{NODE}.pipeline: input should be 'TMA', 'TC', 'CUDA', 'SFU' or 'NONE' (got 'XYZ')"),
    (node("pipeline", "NONE"),
     f"{NODE}.occupancy: a node of pipeline NONE occupies nothing (got 100)"),
    (node("op_ref", "nothing"), f"{NODE}.op_ref: no operation named 'nothing'"),
    (node("id", 1), f"{NODE}.id: a second node 1"),
    (node("min_warps", 0), f"{NODE}.min_warps: input should be greater than 0 (got 0)"),
    (edge("dst", 99), f"{EDGE}.dst: no node 99"),
    (edge("distance", -1), f"{EDGE}.distance: input should be greater than or equal to 0 (got -1)"),
    (edge("dst", 1), "loops[0].ddg.edges: a cycle of distance 0 can never execute: "),
    (op("s", "operands", [{"op": "gone"}]), "ops.s.operands[0].op: no operation named 'gone'"),
    (op("s", "operands", [{"op": "x", "result": 1}]),
     "ops.s.operands[0].result: 'x' has 1 results (got 1)"),
    (op("e", "result_types", ["tensor<128x64xq8>"]), "ops.e.result_types[0]: dtype: Input should"),
    (op("e", "result_types", ["tensor<128x0xf32>"]), "ops.e.result_types[0]: shape: Input should"),
    (op("e", "result_types", ["tensor<128x"]), "ops.e.result_types[0]: not a type that is known"),
    (op("e", "result_types", ["tensor<8x8xf32, #ttg.blocked<{}>>"]),
     "ops.e.result_types[0]: not a layout for its shape (got '#ttg.blocked<{}>')"),
    (op("e", "result_types", ["tensor<8x8xf32, #ttg.blocked<" + "[" * 9999 + ">>"]),
     "ops.e.result_types[0]: not a layout for its shape (got '#ttg.blocked<[[["),
    (free_nodes_with_too_many_ways,
     "loops[0].ddg.edges: more than 20000 dependences without the free nodes"),
    (self_loop_on_a_free_node,
     "loops[0].ddg.edges: a recurrence of nodes that occupy nothing (at node 2)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mistake", "message"), MISTAKES, ids=[message[:50] for _, message in MISTAKES]
)
def test_mistakes_are_named_with_path_and_value(
    mistake: Callable[[Document], object], message: str, document: Document, tmp_path: Path
) -> None:
    wrong = copy.deepcopy(document)
    mistake(wrong)
    file = write(tmp_path, wrong)
    with pytest.raises(twill.InputError) as caught:
        twill.load_loop(file)
    text = str(caught.value)
    assert text.startswith(f"{file}: {message}"), text
    assert "\n" not in text


def test_what_cannot_be_scheduled_is_refused(document: Document, tmp_path: Path) -> None:
    nested = copy.deepcopy(document)
    nested["loops"][0]["ddg"]["nodes"][5]["is_super_node"] = True
    with pytest.raises(twill.RefusedError, match=r"nodes\[5\]: node 5 is a loop of its own"):
        load_ddg(write(tmp_path, nested))
    nested["loops"][0]["ddg"] = {"nodes": [], "edges": []}
    with pytest.raises(twill.RefusedError, match=r"loops\[0\].ddg: no node occupies anything"):
        load_ddg(write(tmp_path, nested))


@pytest.mark.parametrize(
    "text",
    ['{"schema_version": "ddg-0.1"', '{"schema_version": "ddg-0.1", "x": ' + "[" * 100_000],
    ids=["cut", "nested"],
)
def test_a_broken_document(text: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)
    with pytest.raises(twill.InputError, match="not JSON: ") as caught:
        twill.load_loop(str(file))
    assert "\n" not in str(caught.value)


def test_other_json_is_still_a_loop(paper_loop: Loop, tmp_path: Path) -> None:
    file = tmp_path / "loop.json"
    paper_loop.save(file)
    assert twill.load_loop(str(file)) == paper_loop
    file.write_text('{"schema_version": 3}')
    with pytest.raises(twill.InputError, match="schema_version: input should be 1 "):
        twill.load_loop(str(file))
