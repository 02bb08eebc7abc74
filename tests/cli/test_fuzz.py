"""Every reader against changed files: what is accepted is gone on with, the rest is one line."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

import twill
from tests.support.commands import SIM, in_process
from tests.support.fuzzing import LONGEST_SECONDS, limited
from tests.support.readers import (
    CAUSAL,
    PAPER,
    READERS,
    ROOT,
    SCHEDULES,
    Reader,
    documents,
    follow_sweep,
    loads,
)
from twill.artifacts.loop import MOST_CYCLES
from twill.frontends import load_loop
from twill.frontends.schedules import load_schedule
from twill.sim.engine.latency import LatencyFile, parse_latency

FEW, MANY = 10, 3_000
LONG = ("dump", "machine", "machine_text", "order")
LONGEST_MESSAGE = 1_000
MOST_BYTES = 10**9


def outcomes(reader: Reader, seed: int, count: int) -> tuple[Counter[str], float]:
    """Return how many files were accepted and refused, and the most seconds that one took.

    Fails where something else happens.
    """
    ends: Counter[str] = Counter()
    longest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"file{reader.ending}")
        for mutant in reader.mutants(seed, count):
            file.write_bytes(mutant.data)
            start = time.perf_counter()
            try:
                end = _outcome(reader, str(file), ends["accepted"])
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                raise AssertionError(f"file {ends.total()} ({mutant.how}): {error!r}") from error
            ends[end] += 1
            longest = max(longest, time.perf_counter() - start)
    return ends, longest


def _outcome(reader: Reader, file: str, before: int) -> str:
    try:
        with limited(LONGEST_SECONDS):
            reader.follow(file)
        end = "accepted"
    except twill.TwillError as error:
        message = str(error)
        assert message.isprintable(), message
        assert 10 < len(message) < LONGEST_MESSAGE, message
        end = "refused"
    if end == "accepted" and reader.further is not None and before % reader.every == 1:
        reader.further(file)
    return end


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.slow, pytest.mark.sample] * (n in LONG or k % 2 > 0))
        for k, n in enumerate(READERS)
    ],
)
def test_changed_files_are_accepted_or_refused_in_one_line(name: str) -> None:
    ends, _ = outcomes(READERS[name], 0, FEW)
    assert ends.total() == FEW


def written(folder: Path, name: str, data: object) -> str:
    file = folder / name
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(file)


def loop_of(count: int) -> dict[str, Any]:
    operation = {"kind": "x", "cost": {"steps": [{"unit": "TC", "cycles": 1}], "latency": 1}}
    return {
        "schema_version": 1,
        "name": "many",
        "operations": [{"name": f"o{i}", **operation} for i in range(count)],
        "dependences": [{"producer": f"o{i}", "consumer": f"o{i + 1}"} for i in range(count - 1)],
    }


@pytest.mark.parametrize(
    "key", ["groups", "placements", "barriers", pytest.param("programs", marks=pytest.mark.slow)]
)
def test_a_schedule_of_tens_of_thousands_of_anything_is_refused_at_once(
    key: str, tmp_path: Path
) -> None:
    document = json.loads(load_schedule("paper_example_by_hand").to_json())
    first = (document[key] or [{"name": "b", "slots": 1}])[0]
    document[key] = [first] * 70_000
    with limited(LONGEST_SECONDS), pytest.raises(twill.InputError, match=rf"{key}: .* at most"):
        load_schedule(written(tmp_path, "s.json", document))


def test_a_machine_of_billions_of_contexts_is_refused_at_once(tmp_path: Path) -> None:
    document = json.loads(load_schedule("paper_example_by_hand").to_json())
    document["machine"]["contexts"]["value"] = 1 << 40
    with pytest.raises(twill.InputError, match=r"contexts\.value: .* or equal to 1048576"):
        load_schedule(written(tmp_path, "s.json", document))


def graph_with(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = documents("docs/reading/*.ddg.json")[0]
    document["loops"][0]["ddg"]["nodes"][0] |= changes
    return document


@pytest.mark.parametrize(("key", "value"), [("latency", 1 << 40), ("min_warps", 65)])
def test_costs_of_a_graph_are_bounded_as_those_of_a_loop(
    key: str, value: int, tmp_path: Path
) -> None:
    with pytest.raises(twill.InputError, match=rf"ddg\.nodes\[0\]\.{key}: input should be"):
        load_loop(written(tmp_path, "g.json", graph_with(**{key: value})))


def free_node_between(ways: int, latency: int = 1) -> dict[str, Any]:
    """A node that occupies nothing, after one node and before another at many distances."""
    document = graph_with()
    graph = document["loops"][0]["ddg"]
    node, edge = graph["nodes"][0], graph["edges"][0] | {"kind": "data", "latency": latency}
    work, free = node | {"occupancy": 1, "pipeline": "CUDA"}, node | {"occupancy": 0}
    graph["nodes"] = [work | {"id": 0}, free | {"id": 1, "pipeline": "NONE"}, work | {"id": 2}]
    ends = [(0, 1), (1, 2)]
    graph["edges"] = [
        edge | {"src": src, "dst": dst, "distance": 1 + distance}
        for src, dst in ends
        for distance in range(ways)
    ]
    return document


@pytest.mark.parametrize(
    ("ways", "latency", "problem"),
    [
        (2_000, 1, "more than 1000000 ways through the free nodes"),
        (1, 4_000_000, "delays of more than 4194304 cycles"),
    ],
)
def test_what_free_nodes_connect_is_bounded(
    ways: int, latency: int, problem: str, tmp_path: Path
) -> None:
    file = written(tmp_path, "g.json", free_node_between(ways, latency))
    with limited(LONGEST_SECONDS), pytest.raises(twill.InputError, match=problem):
        load_loop(file)


def test_a_shape_of_thousands_of_digits(tmp_path: Path) -> None:
    document = graph_with()
    for op in document["ops"].values():
        op["result_types"] = [f"tensor<{'9' * 6000}x4xf32>"]
    with pytest.raises(twill.InputError, match="not the shape of a tile"):
        load_loop(written(tmp_path, "g.json", document))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cycles\n" + "1" * 200_000, "not CSV: field larger"),
        ('cycles\n"1\n2\n', "not CSV: unexpected end"),
        ("cycles\n1,2\n", "row 1: 1 cells"),
        ("bytes,bytes,cycles\n1,2,3\n", "columns are"),
        ("cycles\n" + "5\n" * 300_000, "more than 200000 latencies"),
    ],
)
def test_latencies_that_are_no_table(text: str, problem: str, tmp_path: Path) -> None:
    file = written(tmp_path, "l.csv", f"# source: here\n{text}")
    with limited(LONGEST_SECONDS), pytest.raises(twill.InputError, match=problem):
        LatencyFile.named(file)


@pytest.mark.parametrize("values", ['"1:1e15"', '"0:99999999"', "1" + "0" * 400, "nan", "inf"])
def test_values_of_a_sweep_are_counted_before_they_are_made(values: str, tmp_path: Path) -> None:
    text = f'schema_version = 1\nitems = ["paper_example"]\naxes = {{ seed = {values} }}\n'
    file = written(tmp_path, "s.toml", text)
    with limited(LONGEST_SECONDS), pytest.raises(twill.InputError):
        follow_sweep(file)


DIGITS = "9" * 5000
"""More than Python reads."""


@pytest.mark.parametrize(
    "command",
    [
        ("twill", "schedule", PAPER, "-m", PAPER, "--limit", f"groups={DIGITS}"),
        ("twill", "loop", "extract", str(CAUSAL), "--loop", DIGITS),
        ("twill", "tune", "gemm_hopper", "-m", "hopper_h100", "--warps", DIGITS),
        (*SIM, "sweep", SCHEDULES[1], "--set", f"machine.levels.{DIGITS}.share.value=1"),
    ],
)
def test_numbers_of_thousands_of_digits(command: tuple[str, ...]) -> None:
    done = in_process(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "999..." in done.stderr
    assert "Exceeds the limit" not in done.stderr
    assert len(done.stderr) < LONGEST_MESSAGE


def test_the_number_of_a_graph_of_thousands_of_digits(tmp_path: Path) -> None:
    with pytest.raises(twill.InputError, match="loops of a graph are numbered"):
        load_loop(written(tmp_path, "g.json", graph_with()), loop=DIGITS)


def test_a_latency_that_no_floating_point_number_is() -> None:
    source = parse_latency(f"lognormal:{MOST_CYCLES},{MOST_CYCLES}")
    drawn = [source(Random(seed), loads()["K"], 0) for seed in range(20)]
    assert {0, MOST_CYCLES} == set(drawn)


def test_keys_are_shown_printably_and_short(tmp_path: Path) -> None:
    for key, shown in (
        ("\x1b[31mred", r"\u001b[31mred: unknown"),
        ("x" * 5000, f"{'x' * 60}...: "),
    ):
        with pytest.raises(twill.InputError) as caught:
            load_loop(written(tmp_path, "l.json", loop_of(2) | {key: 1}))
        assert f": {shown}" in str(caught.value)


MEASURED = """
import json, resource, sys
from tests.support.fuzzing import peak_bytes
from tests.cli.test_fuzz import MOST_BYTES, READERS, outcomes
resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_BYTES, 4 * MOST_BYTES))
ends, longest = outcomes(READERS[sys.argv[1]], 1, int(sys.argv[2]))
print(json.dumps([ends, longest, peak_bytes()]))
"""


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", READERS)
def test_thousands_of_changed_files_within_a_gigabyte(name: str) -> None:
    command = [sys.executable, "-c", MEASURED, name, str(MANY)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ends, longest, peak = json.loads(done.stdout)
    print(f"{name}: {ends}, at most {longest:.1f} s, {peak / 1e6:.0f} MB")
    assert sum(ends.values()) == MANY
    assert ends["accepted"] * 100 >= READERS[name].accepted * MANY, ends
    assert ends["refused"] * 100 >= 20 * MANY, ends
    assert peak < MOST_BYTES
