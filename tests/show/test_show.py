"""What the commands on loops and machines print, against sums made by hand and by brute force."""

from __future__ import annotations

import importlib
import itertools
import json
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner, Result

import twill
from tests.support.small import edge, op, random_loop, small_loop, small_machine
from twill.artifacts.loop import Tile
from twill.bounds.analysis import analyse, components, product_flops
from twill.cli.main import app
from twill.cli.options import parse_settings
from twill.show.costs import cycle_text
from twill.show.ir import ir

ROOT = Path(__file__).parents[2]
DUMP = str(ROOT / "traces" / "ttgir" / "attention_forward_two_tiles.sm90.mlir")


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def lines_of(done: Result) -> dict[str, list[str]]:
    """Lines of the output by their first word."""
    return {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.split()}


# -- loop show --------------------------------------------------------------------------------


def test_attention_adds_up_as_on_paper() -> None:
    """Four products of 64 x 128 x 128 at 4096 FLOP a cycle; 989.4 TFLOP/s is the data sheet's."""
    data = json.loads(call("loop", "show", "fa_fwd_hopper", "--json").stdout)
    assert data["machine"] == "hopper_h100"
    assert data["flops"] == 4 * 2 * 64 * 128 * 128
    limits = {entry["limit"]: entry for entry in data["limits"]}
    assert limits["tc"]["cycles"] == data["flops"] // 4096 == 2048
    assert limits["tc"]["teraflops"] == pytest.approx(132 * 4096 * 1.83e9 / 1e12)
    # Two tiles of exponentials and two columns of 64 rows with 4 lanes each, 16 a clock.
    assert limits["mufu"]["cycles"] == 2 * (64 * 128 + 64 * 4) // 16
    assert limits["mufu"]["teraflops"] == pytest.approx(limits["tc"]["teraflops"] * 2048 / 1056)
    # Two k tiles fetched by products from SMEM at 96, two v tiles at 64 of 128 bytes a clock.
    assert limits["smem"]["unit_cycles"] == 2 * 512 * 96 + 2 * 512 * 64
    assert [entry["limit"] for entry in data["limits"] if entry["largest"]] == ["tc"]
    assert (data["resource_bound"], data["recurrence_bound"]) == (2048, 637)
    assert data["lower_bound"] == 2048
    assert data["occupied"]["smem"] == {
        "used": 2 * 64 * 128 * 2, "capacity": 230400, "unit": "bytes"
    }  # fmt: skip
    assert sum(data["folded"].values()) == 18


def test_units_of_the_json_add_up_to_the_limits() -> None:
    data = json.loads(call("loop", "show", "fa_fwd_hopper", "--json").stdout)
    assert len(data["limits"]) > 5
    for entry in data["limits"][:-1]:
        used = [
            unit["cycles"] * unit["count"]
            for operation in data["operations"]
            for name, unit in operation["cost"]["units"].items()
            if name == entry["limit"]
        ]
        assert sum(used) == entry["unit_cycles"]
        assert entry["cycles"] >= sum(used) / entry["capacity"]


def test_json_has_locations_registers_and_marks() -> None:
    data = json.loads(call("loop", "show", "fa_fwd_hopper", "--json").stdout)
    by_name = {operation["name"]: operation for operation in data["operations"]}
    assert by_name["o0"]["location"] == "attention_forward.py:38:14"
    assert by_name["o0"]["registers_per_thread"] == 64 * 128 // 128
    assert (by_name["k"]["bytes"], by_name["k"]["result"]["memory"]) == (32768, "smem")
    assert by_name["k"]["cost"]["streaming"] is True
    assert by_name["p0"]["cost"]["streaming"] is by_name["p0"]["cost"]["asynchronous"] is False
    marks = {name: operation["recurrence"] for name, operation in by_name.items()}
    assert {name for name, mark in marks.items() if mark == "critical"} == {
        "o0", "o0.mul", "o1", "o1.mul"
    }  # fmt: skip
    assert {name for name, mark in marks.items() if mark == "member"} == {
        "n0", "l0", "n1", "l1"
    }  # fmt: skip


def test_the_table_shows_rows_totals_and_the_named_recurrence() -> None:
    done = call("loop", "show", "fa_fwd_hopper")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = lines_of(done)
    assert lines["o0"] == ["o0", "mma", "512", "256", "12", "512", "96", "559", "64", "32768",
                           "a", "*"]  # fmt: skip
    assert lines["k"] == ["k", "load", "405", "405", "48", "633", "32768", "smem", "s"]
    assert lines["l0"][-1] == "o"
    assert lines["total"] == ["total", "2048", "1056", "470", "408", "64", "1280", "810", "851.2"]
    assert lines["tc"] == ["tc", "2048", "1", "2048", "989.4", "<-", "largest"]
    assert "ResMII 2048 (tc), RecMII 637: at least 2048 cycles an iteration" in done.stdout
    assert (
        "RecMII, 637 cycles: o0 -> o0.mul (559 cycles, distance 1) -> o0 (78 cycles, distance 0)"
    ) in done.stdout
    assert "invariants take 32768 of 230400 bytes of smem" in done.stdout


def test_the_paper_example() -> None:
    done = call("loop", "show", "paper_example")
    lines = lines_of(done)
    assert lines["S"] == ["S", "mma", "1", "1", "0", "1", "64", "32768", "a"]
    assert lines["total"] == ["total", "2", "1"]
    assert lines["TC"] == ["TC", "2", "1", "2", "2097.2", "<-", "largest"]
    assert "RecMII, 1 cycle: O -> O (1 cycle, distance 1)" in done.stdout


def test_a_loop_is_shown_on_the_machine_that_it_was_compiled_for(tmp_path: Path) -> None:
    twill.load_loop("fa_fwd_hopper").save(tmp_path / "loop.json")
    data = json.loads(call("loop", "show", str(tmp_path / "loop.json"), "--json").stdout)
    assert (data["machine"], data["lower_bound"]) == ("hopper_h100", 2048)
    small_loop([op("a", "TC")]).save(tmp_path / "a.json")
    done = call("loop", "show", str(tmp_path / "a.json"))
    assert done.exit_code == 2
    wanted = f"{tmp_path}/a.json: this loop needs a machine: name one with --machine"
    assert done.stderr == f"twill: {wanted}\n"


def test_no_total_while_a_cost_is_unknown() -> None:
    done = call("loop", "show", "fa_fwd_hopper", "--machine", "paper_example")
    assert done.exit_code == 2
    assert done.stderr == (
        "twill: machines/paper_example.toml: rules: no cost rule for kind 'load' (operation 'k' "
        "at attention_forward.py:29:13): add a [[rules]] entry to this file\n"
    )
    lines = lines_of(done)
    assert lines["k"] == ["k", "load", "?", "?", "?", "32768", "smem", "?"]
    assert lines["p0"] == ["p0", "exp2", "1", "1", "1", "1", "64", "32768"]
    assert "total" not in lines
    assert "ResMII " not in done.stdout
    assert (
        "totals, ResMII, RecMII and throughput unknown: no cost for k, v, n0.reduce, l0.reduce, "
        "o0.cast, n1.reduce, l1.reduce, o1.cast"
    ) in done.stdout


def test_unknown_costs_in_json() -> None:
    done = call("loop", "show", "fa_fwd_hopper", "--machine", "paper_example", "--json")
    assert done.exit_code == 2
    data = json.loads(done.stdout)
    assert data["unknown"][:2] == ["k", "v"]
    assert data["limits"] is data["lower_bound"] is None
    assert [o["cost"] is None for o in data["operations"]][:4] == [True, True, False, False]


def test_a_unit_that_the_machine_lacks_is_an_unknown_cost(tmp_path: Path) -> None:
    loop = small_loop([op("a", "TC", asynchronous=True), op("b", "XX", asynchronous=True)])
    loop.save(tmp_path / "a.json")
    done = call("loop", "show", str(tmp_path / "a.json"), "-m", "hopper_h100")
    assert done.exit_code == 2
    assert done.stderr.startswith(
        f"twill: {tmp_path}/a.json: operations[0].cost.steps[0].unit: hopper_h100 has no unit "
        "named 'TC'"
    )
    assert "unknown: no cost for a, b" in done.stdout


def test_a_problem_that_cannot_be_stated_keeps_its_table(tmp_path: Path) -> None:
    small_loop([op("a", "TC", warps=16)]).save(tmp_path / "a.json")
    done = call("loop", "show", str(tmp_path / "a.json"), "-m", "paper_example")
    assert done.exit_code == 2
    assert "operation 'a' needs 16 warps, the widest warp group of paper_example" in done.stderr
    assert lines_of(done)["a"][:2] == ["a", "test"]
    assert "totals, ResMII, RecMII and throughput unknown\n" in done.stdout


def test_invariants_in_registers_and_tmem_say_what_they_occupy(tmp_path: Path) -> None:
    loop = small_loop([op("a", "tc")]).model_dump(mode="json", by_alias=True)
    tile = {"shape": [128, 64], "dtype": "f32"}
    loop["invariants"] = [
        {"name": "r", "tile": {**tile, "memory": "registers"}, "used_by": ["a"]},
        {"name": "t", "tile": {**tile, "memory": "tmem"}},
    ]
    (tmp_path / "a.json").write_text(json.dumps(loop))
    done = call("loop", "show", str(tmp_path / "a.json"), "-m", "blackwell_b200")
    assert "invariant r: 128x64 f32 in registers, 64 registers per thread, read by a" in done.stdout
    assert "invariant t: 128x64 f32 in tmem, 64 columns\n" in done.stdout
    assert "invariants take 64 of 512 columns of tmem" in done.stdout
    assert "no recurrence" in done.stdout
    assert "TFLOP/s" not in done.stdout


# -- recurrences and throughput ---------------------------------------------------------------


def test_components_are_what_reachability_says() -> None:
    generator = random.Random(7)
    for _ in range(200):
        size = generator.randint(1, 6)
        arcs = [(u, v) for u in range(size) for v in range(size) if generator.random() < 0.25]
        assert sorted(components(size, arcs)) == sorted(_parts(size, arcs))


def _parts(size: int, arcs: list[tuple[int, int]]) -> list[list[int]]:
    def reached(start: int) -> set[int]:
        found: set[int] = set()
        pending = [v for u, v in arcs if u == start]
        while pending:
            node = pending.pop()
            if node not in found:
                found.add(node)
                pending += [v for u, v in arcs if u == node]
        return found

    reach = [reached(node) for node in range(size)]
    parts = {
        tuple(v for v in range(size) if v in reach[u] and u in reach[v])
        for u in range(size)
        if u in reach[u]
    }
    return [list(part) for part in parts]


def test_recurrences_against_all_cycles() -> None:
    """Each part's bound is the largest ratio over its simple cycles, and its cycle attains it."""
    seen = 0
    for seed in range(120):
        analysis = analyse(*random_loop(seed))
        assert analysis.problem is not None
        problem = analysis.problem
        arcs = [
            (e.producer, e.consumer, problem.least_delay(i), e.distance)
            for i, e in enumerate(problem.edges)
        ]
        for recurrence in analysis.recurrences:
            part = [problem.index[name] for name in recurrence.operations]
            assert recurrence.bound == max(_ratios(part, arcs))
            if recurrence.steps:
                seen += 1
                delay = sum(step.delay for step in recurrence.steps)
                distance = sum(step.distance for step in recurrence.steps)
                assert -(-delay // distance) == recurrence.bound
                assert recurrence.steps[-1].consumer == recurrence.start
        assert analysis.bounds is not None
        largest = max((r.bound for r in analysis.recurrences), default=0)
        assert largest == analysis.bounds.recurrence
    assert seen > 20


def _ratios(part: list[int], arcs: list[tuple[int, int, int, int]]) -> list[int]:
    found = [0]
    for length in range(1, len(part) + 1):
        for nodes in itertools.permutations(part, length):
            ways = [
                [(d, n) for u, v, d, n in arcs if (u, v) == pair]
                for pair in zip(nodes, (*nodes[1:], nodes[0]), strict=True)
            ]
            found += [
                -(-sum(d for d, _ in choice) // sum(n for _, n in choice))
                for choice in itertools.product(*ways)
            ]
    return found


def test_the_cycle_names_the_tighter_of_two_dependences() -> None:
    loop = small_loop(
        [op("a", "ALU", 2), op("b", "ALU", 3)],
        [edge("a", "b"), edge("b", "a", 3), edge("b", "a", 1, delay=4)],
    )
    (recurrence,) = analyse(loop, small_machine()).recurrences
    assert recurrence.bound == 6
    assert sorted(cycle_text(recurrence).split(" -> ")[1:]) == [
        "a (4 cycles, distance 1)", "b (2 cycles, distance 0)"
    ]  # fmt: skip


def test_flops_count_products_only() -> None:
    loop = twill.load_loop("paper_example")
    assert product_flops(loop) == 2 * (2 * 64 * 128 * 128)
    assert product_flops(small_loop([op("a", "ALU")])) == 0
    assert analyse(small_loop([op("a", "ALU")]), small_machine()).throughput(5) is None
    batch = loop.operations[0].model_copy(
        update={"result": Tile(shape=(3, 64, 128), dtype="f32", memory="registers")}
    )
    assert product_flops(loop.model_copy(update={"operations": (batch,)})) == 3 * 2 * 64 * 128 * 128


# -- machine show -------------------------------------------------------------------------------


def test_machine_show() -> None:
    done = call("machine", "show", "hopper_h100")
    assert done.exit_code == 0
    for line in (
        "hopper_h100: 132 SMs at 1830 MHz",
        "an SM has 4 contexts of 16 warps",
        "smem: 232448 bytes, 230400 for values",
        "warp groups: up to 4 of 1, 4 of 4, 1 of 8 warps; 64 warps are resident at most",
        (
            "registers: 65536 of 32 bit; 24 to 256 per thread in steps of 8 for 4 warps together; "
            "255 usable, 16 of them reserved; a launch gives multiples of 8"
        ),
        "signals, in cycles: wait 8, arrive 8, hop 54",
    ):
        assert line in done.stdout
    assert lines_of(done)["tc"][:5] == ["tc", "1", "sm", "yes", "3"]
    assert "registers are not limited" in call("machine", "show", "paper_example").stdout


def test_machine_show_json() -> None:
    machine = twill.Machine.named("hopper_h100")
    data = json.loads(call("machine", "show", "hopper_h100", "--json").stdout)
    assert data["hash"] == machine.digest
    assert (data["units"]["smem"]["capacity"], data["clock"]["value"]) == (128, 1830.0)
    assert data["rules_by_kind"]["mma"] == 2
    assert sum(data["rules_by_kind"].values()) == sum(len(rule.kind) for rule in machine.rules)


# -- extract and dump -------------------------------------------------------------------------


def test_extract_says_what_was_taken_and_writes_the_loop(tmp_path: Path) -> None:
    file = tmp_path / "loop.json"
    done = call("loop", "extract", DUMP, "-o", str(file))
    assert (done.exit_code, done.stderr) == (0, "")
    for line in (
        "loop attention_forward_two_tiles",
        "nodes/edges 46/61 as written, 34/48 after folding",
        "28 operations: 2 load, 4 mma, 4 reduce, ",
        "18 folded away: 4 tt.expand_dims, 4 tt.broadcast, 4 arith.mulf, 2 ttg.convert_layout, ",
        "recurrence through o0.mul, o0",
        "invariant: q0, q1",
        f"wrote {file}",
    ):
        assert line in done.stdout
    assert twill.Loop.load(file).operations == twill.load_loop("fa_fwd_hopper").operations
    data = json.loads(call("loop", "extract", DUMP, "--json").stdout)
    assert (data["operations"], data["kinds"]["mma"]) == (28, 4)
    assert data["origin"]["nodes_after_folding"] == 34
    assert ["o0.mul", "o0"] in data["recurrences"]


def test_extract_passes_the_choice_of_a_loop_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def load(file: str, *, loop: str | None, whole_tiles: bool, fp_fusion: bool) -> twill.Loop:
        assert (whole_tiles, fp_fusion) == (False, True)
        asked.append((file, loop))
        return twill.load_loop("paper_example")

    monkeypatch.setattr("twill.frontends.ttgir.load_ttgir", load)
    done = call("loop", "extract", "a.mlir", "--loop", "2")
    assert asked == [("a.mlir", "2")]
    assert "nothing folded away" in done.stdout


class FakeDoor(ModuleType):
    """Stands in for the module that compiles kernels."""

    @staticmethod
    def dump_kernel(
        spec: str, settings: dict[str, str], architecture: int, num_warps: int, *_more: object
    ) -> str:
        return f"// {spec} {sorted(settings.items())} sm_{architecture} {num_warps}\n"


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    importlib.import_module("twill.frontends.triton_dump.split")  # commands read options with it
    monkeypatch.setitem(sys.modules, "twill.frontends.triton_dump", FakeDoor("door"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_dump_writes_a_file_named_after_kernel_and_architecture(door: Path) -> None:
    done = call("loop", "dump", "dir/k.py:gemm", "--sm", "90", "--set", "M=64",
                "--set", "a=tensordesc<fp16[64,64]>", "--warps", "8")  # fmt: skip
    assert (done.exit_code, done.stdout) == (0, "wrote gemm.sm90.mlir\n")
    text = "// dir/k.py:gemm [('M', '64'), ('a', 'tensordesc<fp16[64,64]>')] sm_90 8\n"
    assert (door / "gemm.sm90.mlir").read_text() == text
    assert list(door.iterdir()) == [door / "gemm.sm90.mlir"]


def test_dump_to_a_file_and_to_stdout(door: Path) -> None:
    assert call("loop", "dump", "k.py:f", "--sm", "100", "-o", "x.mlir").exit_code == 0
    assert (door / "x.mlir").read_text() == "// k.py:f [] sm_100 None\n"
    done = call("loop", "dump", "k.py:f", "--sm", "100", "-o", "-")
    assert done.stdout == "// k.py:f [] sm_100 None\n"
    assert list(door.iterdir()) == [door / "x.mlir"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["k.py"], "twill: k.py: the kernel must follow the file, as in file.py:kernel\n"),
        (["k.py:"], "twill: k.py:: the kernel must follow the file, as in file.py:kernel\n"),
        (["k.py:f", "--set", "M"], "twill: --set: must be NAME=VALUE (got 'M')\n"),
        (["k.py:f", "--set", "=3"], "twill: --set: must be NAME=VALUE (got '=3')\n"),
        (["k.py:f", "--set", "M=1", "--set", "M=2"], "twill: --set: M is given twice\n"),
        (["k.py:f", "-o", "no/x.mlir"],
         "twill: no/x.mlir: cannot write: No such file or directory\n"),
    ],
)  # fmt: skip
def test_bad_dump_requests_end_in_status_2_and_one_line(
    door: Path, words: list[str], message: str
) -> None:
    done = call("loop", "dump", *words, "--sm", "90")
    assert (done.exit_code, done.stderr) == (2, message)
    assert list(door.iterdir()) == []


def test_settings_may_contain_equals_signs() -> None:
    assert parse_settings(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


def test_who_waits_for_whom_is_listed() -> None:
    shown = call("loop", "show", "fa_fwd_hopper")
    assert "blocking wait: s0 for k\n" in shown.stdout
    assert "blocking wait: o0.mul for o0 @1\n" in shown.stdout
    data = json.loads(call("loop", "show", "fa_fwd_hopper", "--json").stdout)
    delays = {(d["producer"], d["consumer"]): d for d in data["dependences"]}
    # In place on the tensor core an accumulation follows without a wait; its result takes one.
    assert delays["s0", "n0.reduce"]["blocking"]
    assert delays["s0", "n0.reduce"]["delay"] == 512 + 47
    assert not delays["n0.reduce", "n0.mul"]["blocking"]


def test_numbers_of_any_length_are_written_as_ir() -> None:
    schedule = twill.load_schedule("fa3_forward_128x128_no_ping_pong")
    assert f"{10**30} : i101" in ir(schedule.model_copy(update={"seed": 10**30}))
