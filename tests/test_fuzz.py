"""Every reader against changed files: what is accepted is gone on with, the rest is one line."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.commands import in_process
from tests.fuzzing import Mutant, as_json, as_toml, mutants, text_mutants
from tests.mutations import mutations
from tests.test_mutations import limited
from twill.analysis import analyse
from twill.artifacts.expressions import MOST_CYCLES
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import Sweep
from twill.audit import audit, read_subject
from twill.frontends.loops import load_loop
from twill.frontends.schedules import load_schedule
from twill.pipelined.ir import ir
from twill.sim.execute import run
from twill.sim.latency_file import LatencyFile
from twill.studies.sweep.points import Runnable, tasks

ROOT = Path(__file__).parents[1]
COUNT = 300
MANY = 3_000
LONGEST_SECONDS = 20
LONGEST_MESSAGE = 1_000
MOST_BYTES = 10**9
SCHEDULES = ("paper_example_by_hand", "fa3_forward_128x128")
"""Packaged ones that are small and that run."""


@dataclass(frozen=True)
class Reader:
    """How changed files are made, and who reads them.

    Attributes
    ----------
    mutants : callable
        Yields changed files for a seed and a number of them.
    ending : str
        Of their names.
    follow : callable
        Reads a file and goes on with what it says.
    every : int
        Of so many files that are accepted, one is also gone on with by `further`.
    further : callable, optional
        Does what takes longer.
    accepted : int
        Of 100 files, so many are accepted at least: changes that break everything test little.
    """

    mutants: Callable[[int, int], Iterator[Mutant]]
    ending: str
    follow: Callable[[str], object]
    further: Callable[[str], object] | None = None
    every: int = 20
    accepted: int = 5


def commanded(*command: str) -> None:
    """Give a command; it ends without a traceback, and what it refuses is one line."""
    done = in_process(*command)
    assert done.returncode in (0, 1, 2), done
    if done.returncode == 2:
        warned = done.stderr.removesuffix("\n").split("\n")[:-1]
        assert done.stderr.startswith("twill: "), done
        assert all(line.startswith("twill: warning: ") for line in warned), done


def of_documents(
    documents: Callable[[], list[Any]], write: Callable[[Any], str]
) -> Callable[[int, int], Iterator[Mutant]]:
    return lambda seed, count: mutants(seed, count, documents(), write)


def documents(*patterns: str) -> list[Any]:
    return [json.loads(file.read_text()) for p in patterns for file in sorted(ROOT.glob(p))]


def toml_documents(pattern: str) -> list[Any]:
    return [tomllib.loads(file.read_text()) for file in sorted(ROOT.glob(pattern))]


@functools.cache
def schedules() -> tuple[str, ...]:
    """Schedules with all that they may have, as JSON."""
    solved = twill.schedule(load_loop("paper_example"), Machine.named("paper_example"))
    return (solved.to_json(), *(Schedule.named(name).to_json() for name in SCHEDULES))


def follow_loop(file: str) -> None:
    loop = load_loop(file)
    analyse(loop, Machine.named("paper_example"))


def show_loop(file: str) -> None:
    for machine in ("hopper_h100", "blackwell_b200", "paper_example", "ddg"):
        commanded("twill", "loop", "show", file, "--machine", machine)
    commanded("twill", "loop", "show", file)


def follow_machine(file: str) -> None:
    machine = Machine.named(file)
    analyse(load_loop("paper_example"), machine)


def audit_machine(file: str) -> None:
    audit(read_subject(file))
    commanded("twill", "machine", "show", file)


def follow_schedule(file: str) -> None:
    schedule = load_schedule(file)
    twill.verify(schedule)
    run(schedule, iterations=3)


def show_schedule(file: str) -> None:
    for form in ("table", "code", "json", "ir", "roles", "why"):
        commanded("twill", "show", file, "--as", form)
    with tempfile.TemporaryDirectory() as folder:
        picture = str(Path(folder, "picture.svg"))
        for form in ("graph", "timeline", "rrt", "roles"):
            commanded("twill", "show", file, "--as", form, "--output", picture)
    commanded("twill", "verify", file)
    commanded("twill", "explain", file)
    commanded("python", "-m", "twill.sim", "run", file, "--iterations", "5", "--values")


def follow_ir(file: str) -> None:
    twill.verify(load_schedule(file))


def follow_graph(file: str) -> None:
    analyse(load_loop(file), Machine.named("ddg"))


def dumps(seed: int, count: int) -> Iterator[Mutant]:
    for mutation in mutations(seed, count):
        yield Mutant(mutation.how, mutation.text.encode("utf-8", "surrogatepass"))


def follow_dump(file: str) -> None:
    from twill.frontends.ttgir import load_ttgir

    load_ttgir(file, loop="0")


def follow_sweep(file: str) -> None:
    tasks(Sweep.named(file), [Runnable("item", "loop", "machine", "variant")])


def latencies() -> list[str]:
    packaged = [file.read_text() for file in sorted(ROOT.glob("traces/latency/*.csv"))]
    return [
        *packaged,
        "# source: here\ncycles\n600\n20\n300.5\n",
        "# source: here\nbytes,cycles\n1024,20\n16384,200\n16384,300\n",
    ]


def follow_latencies(file: str) -> None:
    found = LatencyFile.named(file)
    assert all(0 <= found.quantile(4096, share / 10) <= MOST_CYCLES for share in range(11))


READERS = {
    "loop": Reader(
        of_documents(lambda: documents("traces/loops/*.json"), as_json),
        ".json",
        follow_loop,
        show_loop,
        every=20,
    ),
    "machine": Reader(
        of_documents(lambda: toml_documents("machines/*.toml"), as_toml),
        ".toml",
        follow_machine,
        audit_machine,
        every=40,
    ),
    "machine_text": Reader(
        lambda seed, count: text_mutants(
            seed, count, [file.read_text() for file in sorted(ROOT.glob("machines/*.toml"))]
        ),
        ".toml",
        follow_machine,
        audit_machine,
        every=80,
    ),
    "order": Reader(
        of_documents(lambda: documents("traces/schedules/*.json"), as_json),
        ".json",
        follow_schedule,
        show_schedule,
        every=60,
    ),
    "schedule": Reader(
        of_documents(lambda: [json.loads(text) for text in schedules()], as_json),
        ".json",
        follow_schedule,
        show_schedule,
        every=60,
    ),
    "schedule_ir": Reader(
        lambda seed, count: text_mutants(
            seed, count, [ir(Schedule.from_json(text)) for text in schedules()[:2]]
        ),
        ".mlir",
        follow_ir,
        accepted=2,
    ),
    "graph": Reader(
        of_documents(lambda: documents("tests/data/*.ddg.json"), as_json),
        ".json",
        follow_graph,
        lambda file: commanded("twill", "loop", "show", file, "--machine", "ddg"),
    ),
    "dump": Reader(dumps, ".mlir", follow_dump, accepted=1),
    "sweep": Reader(
        of_documents(lambda: toml_documents("traces/studies/*.toml"), as_toml),
        ".toml",
        follow_sweep,
    ),
    "latencies": Reader(
        lambda seed, count: text_mutants(seed, count, latencies()), ".csv", follow_latencies
    ),
}


def outcomes(reader: Reader, seed: int, count: int) -> Counter[str]:
    """Return how many files were accepted and refused; fail where something else happens."""
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"file{reader.ending}")
        for mutant in reader.mutants(seed, count):
            file.write_bytes(mutant.data)
            try:
                with limited(LONGEST_SECONDS):
                    end = _outcome(reader, str(file), ends["accepted"])
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                raise AssertionError(f"file {ends.total()} ({mutant.how}): {error!r}") from error
            ends[end] += 1
    return ends


def _outcome(reader: Reader, file: str, before: int) -> str:
    try:
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


@pytest.mark.parametrize("name", sorted(READERS.keys() - {"dump"}))  # `test_mutations` has those
def test_changed_files_are_accepted_or_refused_in_one_line(name: str) -> None:
    reader = READERS[name]
    ends = outcomes(reader, 0, COUNT)
    assert ends.total() == COUNT
    assert ends["accepted"] * 100 >= reader.accepted * COUNT, ends
    assert ends["refused"] * 100 >= 20 * COUNT, ends


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


@pytest.mark.parametrize("key", ["groups", "placements", "barriers", "programs"])
def test_a_schedule_of_tens_of_thousands_of_anything_is_refused_at_once(
    key: str, tmp_path: Path
) -> None:
    document = json.loads(Schedule.named("paper_example_by_hand").to_json())
    first = (document[key] or [{"name": "b", "slots": 1}])[0]
    document[key] = [first] * 70_000
    with limited(LONGEST_SECONDS), pytest.raises(twill.InputError, match=rf"{key}: .* at most"):
        load_schedule(written(tmp_path, "s.json", document))


def graph_with(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = documents("tests/data/*.ddg.json")[0]
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


def test_keys_are_shown_printably_and_short(tmp_path: Path) -> None:
    for key, shown in (
        ("\x1b[31mred", r"\u001b[31mred: unknown"),
        ("x" * 5000, f"{'x' * 60}...: "),
    ):
        with pytest.raises(twill.InputError) as caught:
            load_loop(written(tmp_path, "l.json", loop_of(2) | {key: 1}))
        assert f": {shown}" in str(caught.value)


MEASURED = """
import json, pathlib, re, resource, sys
from tests.test_fuzz import MOST_BYTES, READERS, outcomes
resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_BYTES, 4 * MOST_BYTES))
ends = outcomes(READERS[sys.argv[1]], 1, int(sys.argv[2]))
status = pathlib.Path("/proc/self/status").read_text()
print(json.dumps([ends, 1024 * int(re.search(r"VmHWM:\\\\s*(\\\\d+) kB", status)[1])]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_thousands_of_changed_files_within_a_gigabyte(name: str) -> None:
    command = [sys.executable, "-c", MEASURED, name, str(MANY)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ends, peak = json.loads(done.stdout)
    assert sum(ends.values()) == MANY
    assert peak < MOST_BYTES
