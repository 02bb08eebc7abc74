"""The commands as users run them: output, exit status, one-line errors."""

from __future__ import annotations

import json
import os
import pty
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from rich.text import Text

import twill
from tests.support.commands import SIM, TWILL
from tests.support.commands import in_process as call
from twill.base import console
from twill.cli.main import app

PROCESS = [sys.executable, "-m", "twill"]


def process(*command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Start one; for what the rest does without: entry points, imports, terminals."""
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


@pytest.fixture(scope="module")
def schedule_file(
    tmp_path_factory: pytest.TempPathFactory, attention_schedule: twill.Schedule
) -> str:
    file = tmp_path_factory.mktemp("cli") / "schedule.json"
    attention_schedule.save(file)
    return str(file)


def test_schedule_writes_the_file_and_a_table(tmp_path: Path) -> None:
    done = call(*TWILL, "schedule", "paper_example", "--machine", "paper_example",
                "-o", "s.json", folder=tmp_path)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "initiation interval 2 cycles, length 4, 2 stages (issue rules)" in done.stdout
    assert (
        "optimal of the static model: unit TC needs all 2 for one iteration's work" in done.stdout
    )
    assert twill.Schedule.load(tmp_path / "s.json").start == {"S": 0, "P": 2, "O": 3}


@pytest.mark.parametrize("time_mode", ["exact", "normalized"])
def test_schedule_json(time_mode: str) -> None:
    done = call(*TWILL, "schedule", "paper_example", "-m", "paper_example",
                "--time", time_mode, "--model", "paper", "--json")  # fmt: skip
    data = json.loads(done.stdout)
    assert (data["interval_units"], data["interval_cycles"]) == (2, 2.0)
    assert data["start"] == {"S": 0, "P": 2, "O": 3}
    assert data["proved"] == dict.fromkeys(
        ("interval", "stages", "groups", "transfers", "length", "slack"), True
    )
    assert data["bound"]["reason"] == "ResMII"


def test_the_two_engines_write_the_same_levels() -> None:
    levels = [
        json.loads(call(*TWILL, "schedule", "paper_example", "-m", "hopper_h100", "--engine",
                        engine, "--json").stdout)["levels"]
        for engine in ("difference", "cpsat")
    ]  # fmt: skip
    assert levels[0] == levels[1]
    assert levels[0]["interval"] == 1024


@pytest.mark.parametrize(
    ("options", "paper", "complete"),
    [
        (["skipped_interval", "--rules", "paper"], 3, 2),
        (["skipped_interval_issue", "--limit", "groups=1"], 4, 3),
    ],
)
def test_the_papers_search_claims_no_more_than_it_shows(
    tmp_path: Path, options: list[str], paper: int, complete: int
) -> None:
    command = [*TWILL, "schedule", *options, "-m", "paper_example"]
    for search, interval in (("paper", paper), ("complete", complete)):
        done = call(*command, "--search", search, "-o", "s.json", folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"initiation interval {interval} cycles" in done.stdout
        between = f"the least interval is between {complete} and {paper}"
        said = " ".join(done.stdout.split())
        assert (f"not proved optimal of the static model: {between}" in said) == (search == "paper")
        found = twill.Schedule.load(tmp_path / "s.json")
        assert twill.verify(found).violations == ()
        assert found.proof is not None
        assert all(level.proved for level in found.proof.levels) == (search == "complete")
        assert any(level.proved for level in found.proof.levels) == (search == "complete")


def test_the_papers_search_proves_what_a_bound_does() -> None:
    done = call(*TWILL, "schedule", "paper_example", "-m", "paper_example", "--rules", "paper",
                "--search", "paper", "--engine", "verbatim", "--limit", "groups=2",
                "--pin", "P=second", "--order", "S,P", "--json")  # fmt: skip
    data = json.loads(done.stdout)
    assert (data["interval_units"], data["bound"]["reason"]) == (2, "ResMII")
    assert data["proved"] == {
        "interval": True, "stages": False, "groups": False, "transfers": False, "length": False,
        "slack": False,
    }  # fmt: skip
    assert data["assignment"]["P"] == "second"
    assert set(data["seconds"]) == {"interval", "levels", "total"}


def test_verify(schedule_file: str, tmp_path: Path) -> None:
    done = call(*TWILL, "verify", schedule_file)
    assert (done.returncode, done.stdout[:6]) == (0, "valid:")
    data = json.loads(Path(schedule_file).read_text())
    data["length"] = 100
    (tmp_path / "bad.json").write_text(json.dumps(data))
    done = call(*TWILL, "verify", "bad.json", "--json", folder=tmp_path)
    assert done.returncode == 1
    assert {"rule": "completion", "message": "s0 ends at 512, the length is 100"} in json.loads(
        done.stdout
    )["violations"]
    done = call(*TWILL, "verify", "bad.json", folder=tmp_path)
    assert done.returncode == 1
    assert "completion: s0 ends at 512, the length is 100" in done.stdout


def test_run(schedule_file: str) -> None:
    done = call(*SIM, "run", schedule_file, "--iterations", "24", "--json", "--strict")
    assert done.returncode == 0
    data = json.loads(done.stdout)
    assert (data["static_interval_cycles"], data["measured_interval_cycles"]) == (2048, 2048)
    assert data["achieved"] is True
    assert data["iterations_per_cycle"] == 1 / 2048
    assert data["utilization"]["tc"] == 1.0
    assert set(data["groups"]) == {"load", "compute0", "compute1"}
    done = call(*SIM, "run", schedule_file, "--machine", "hopper_h100")
    assert done.stderr == "twill: --machine: only of use with a kernel file\n"
    for option, said in (
        (("--iterations", "8"), "--iterations: of no use with a kernel file"),
        (("--no-checks",), "--checks: of no use with a kernel file"),
        (("--latency", "mixture"), "latency: loads of machine code have neither names nor levels"),
    ):
        done = call(*SIM, "run", "kernel.py", *option)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"twill: {said}")
    assert data["stalls"]["wait s0"] == data["groups"]["compute0"]["wait s0"] > 0


def test_a_broken_promise_under_strict(schedule_file: str) -> None:
    late = [*SIM, "run", schedule_file, "--iterations", "24", "--latency", "fixed:8000"]
    done = call(*late)
    assert done.returncode == 0
    assert "static interval 2048 cycles: NOT achieved (tolerance 2.0%)" in done.stdout
    assert call(*late, "--strict").returncode == 1
    assert call(*late, "--strict", "--tolerance", "0.99").returncode == 1
    done = call(*SIM, "run", "paper_example_by_hand", "--strict")
    assert done.returncode == 1
    assert done.stderr == (
        "twill: paper_example_by_hand: no static interval to compare with; "
        "a promise is for `twill verify --run`\n"
    )


def test_traces_and_timelines(tmp_path: Path) -> None:
    command = [*SIM, "run", "paper_example_by_hand", "--iterations", "24", "--clock", "500"]
    pictures = ["--trace", "t.json", "--timeline", "t.png", "--json"]
    data = json.loads(call(*command, *pictures, folder=tmp_path).stdout)
    assert json.loads((tmp_path / "t.json").read_text())["displayTimeUnit"] == "ns"
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    assert (data["clock_mhz"], data["clock_source"]) == (500, "as stated")
    assert data["warm_up_iterations"] == 0
    assert data["profile"]["critical"]["words"].startswith("TC is never idle: 2 cycles of work")
    done = call(*command, "--timeline", "t.pdf", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "twill: timeline: a timeline ends in .svg or .png (got 't.pdf')\n"
    done = call(*command, "--trace", "nowhere/t.json", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("twill: nowhere/t.json")


def test_compare(schedule_file: str) -> None:
    done = call(*SIM, "compare", schedule_file, "--iterations", "24", "--json")
    (found,) = json.loads(done.stdout)["comparisons"]
    data = {entry["variant"]: entry for entry in found["variants"]}
    assert list(data)[:5] == ["sequential", "multi-warp", "swp", "triton", "joint"]
    assert list(data)[5:] == [f"fa3_forward_128x{n}{p}" for n in (128, 176) for p in ("", "_parts")]
    assert data["joint"]["interval_cycles"] == 2048
    assert data["sequential"]["speedup_over_sequential"] == 1
    assert data["joint"]["speedup_over_sequential"] > data["multi-warp"]["speedup_over_sequential"]


def test_lists() -> None:
    machines = json.loads(call(*TWILL, "machine", "list", "--json").stdout)["machines"]
    assert [entry["name"] for entry in machines] == [
        "blackwell_b200", "blackwell_b200_polynomial", "ddg", "hopper_h100", "hopper_h100_ptxas",
        "hopper_h200", "paper_example",
    ]  # fmt: skip
    loops = json.loads(call(*TWILL, "loop", "list", "--json").stdout)["loops"]
    names = [entry["name"] for entry in loops]
    assert names[:3] == ["paper_example", "fa_fwd_hopper", "fa_fwd_blackwell"]
    assert {"fa_bwd_hopper", "fa_bwd_blackwell", "gemm_hopper", "layer_norm_blackwell"} < {*names}
    assert "hopper_h200" in call(*TWILL, "machine", "list").stdout
    assert "fa_fwd_hopper" in call(*TWILL, "loop", "list").stdout


def test_version() -> None:
    assert process(*PROCESS, "--version").stdout == f"twill {twill.__version__}\n"


def helps(tree: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the help texts of all commands and of their options."""
    for name, command in getattr(tree, "commands", {}).items():
        yield from helps(command, (*words, name))
    for parameter in tree.params:
        yield " ".join((*words, parameter.name)), getattr(parameter, "help", None) or ""
    yield " ".join(words), tree.help or ""


def test_help_is_shown_as_it_is_written() -> None:
    """Rich takes a word in brackets for a style, and leaves it out."""
    found = dict(helps(typer.main.get_command(app)))
    assert "sim sweep cluster" in found
    for where, text in found.items():
        assert Text.from_markup(text).plain == text, where


def test_the_interface_is_listed() -> None:
    assert dir(twill) == sorted([*twill.__all__, "__version__"])
    assert all(getattr(twill, name) is not None for name in dir(twill))


def test_help_imports_no_solver_and_answers_at_once() -> None:
    code = (
        "import sys; sys.argv = ['twill', '--help']\n"
        "from twill.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pandas', 'pydantic', 'simpy', 'pulp', 'ortools', 'yices', 'xdsl'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    assert process(sys.executable, "-c", code).returncode == 0
    bare = min(_seconds(sys.executable, "-c", "import typer, rich") for _ in range(3))
    helped = min(_seconds(*PROCESS, "--help") for _ in range(3))
    assert helped < 2 * bare + 0.3


def _seconds(*command: str) -> float:
    """Return the processor seconds of a command, which other work leaves as they are."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


OPERATION = {"name": "a", "kind": "k"}
COST = {"steps": [{"unit": "XX", "cycles": 1}], "latency": 1}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "nonsense", "twill: a.json: not JSON: "),
        ("a.json", '{"schema_version": 7, "name": "a", "operations": []}',
         "twill: a.json: schema_version: input should be 1 (got 7)"),
        ("a.json", '{"name": "a", "operations": []}',
         "twill: a.json: operations: the loop is empty (got [])"),
        ("a.json", json.dumps({"name": "a", "operations": [{**OPERATION, "cost": COST}]}),
         "twill: a.json: operations[0].cost.steps[0].unit: hopper_h100 has no unit named 'XX'"),
        ("a.json", json.dumps({"name": "a", "operations": [OPERATION], "dependences": [
            {"producer": "a", "consumer": "a"}]}),
         "twill: a.json: dependences: a cycle of distance 0 can never execute: a -> a"),
        ("a.json", json.dumps({"name": "a", "operations": [OPERATION], "dependences": [
            {"producer": "a", "consumer": "a", "distance": 1, "delay": -3}]}),
         "twill: a.json: dependences[0].delay: input should be greater than or equal to 0"),
        ("a.json", json.dumps({"name": "a", "operations": [
            {**OPERATION, "warps": 16, "cost": {**COST, "steps": [{"unit": "tc", "cycles": 1}]}}]}),
         "twill: a.json: operations[0].warps: operation 'a' needs 16 warps, the widest"),
        ("a.json", json.dumps({"name": "a", "operations": [OPERATION]}),
         "twill: machines/hopper_h100.toml: rules: no cost rule for kind 'k' (operation 'a')"),
        ("a.json", "[" * 1_000_000, "twill: a.json: not JSON: recursion limit exceeded"),
        ("a.mlir", "[" * 1_000_000, "twill: a.mlir: not a TTGIR dump"),
        ("a.txt", "", "twill: a.txt: no such loop; packaged are "),
        ("a.py:k", "", "twill: a.py:k: kernels are dumped first: twill loop dump FILE.py:KERNEL"),
    ],
)  # fmt: skip
def test_bad_loops_end_in_status_2_and_one_line(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    done = call(*TWILL, "schedule", name, "-m", "hopper_h100", "-o", "s.json", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "s.json").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("capacity = 1", "capacity = 0",
         "twill: m.toml: units.TC.capacity: input should be greater than 0 (got 0)"),
        ("value = 1000.0", "value = nan",
         "twill: m.toml: clock.value: input should be a finite number (got nan)"),
        ("schema_version = 2", "schema_version = 9",
         "twill: m.toml: schema_version: input should be 2 (got 9)"),
        ("[units.TC]", "[units", "twill: m.toml: not TOML: "),
    ],
)  # fmt: skip
def test_bad_machines_end_in_status_2_and_one_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = (Path(__file__).parents[2] / "machines" / "paper_example.toml").read_text()
    (tmp_path / "m.toml").write_text(text.replace(old, new, 1))
    done = call(*TWILL, "schedule", "paper_example", "-m", "m.toml", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [(*TWILL, "verify"), (*SIM, "run"), (*SIM, "compare")])
def test_bad_schedules_end_in_status_2_and_one_line(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "brackets.json").write_text("[" * 1_000_000)
    with (tmp_path / "huge.json").open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)
    (tmp_path / "loop.json").write_text('{"schema": "twill.loop"}')
    for name in ("brackets.json", "huge.json", "loop.json", "none.json", "nothing"):
        done = call(*command, name, folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"twill: {name}: ")
        assert done.stderr.count("\n") == 1


def test_an_infeasible_request_ends_in_status_1(tmp_path: Path) -> None:
    tile = {"shape": [64, 8192], "dtype": "f32", "memory": "registers"}
    loop = {
        "name": "wide",
        "operations": [
            {"name": "a", "kind": "mul", "operands": [tile], "result": tile, "elementwise": True}
        ],
    }
    (tmp_path / "wide.json").write_text(json.dumps(loop))
    done = call(
        *TWILL, "schedule", "wide.json", "-m", "hopper_h100", "--model", "paper", folder=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr == (
        "twill: wide: the result of a needs 4096 registers per thread; hopper_h100 has 255 of "
        "which 16 are reserved\n"
    )
    assert done.stdout.startswith("no change that was tried gives it a schedule: 8 warps, not 4;")


def test_a_loop_that_was_compiled_for_another_architecture_is_told_of() -> None:
    words = ("--model", "paper", "--json")
    for machine, said in (("hopper_h200", ""), ("blackwell_b200", "compiled for sm_90, and black")):
        done = call(*TWILL, "schedule", "gemm_persistent_hopper", "-m", machine, *words)
        assert (done.returncode, said in done.stderr, bool(said)) == (0, True, bool(done.stderr))


def test_an_unwritable_output_leaves_nothing(tmp_path: Path) -> None:
    done = call(*TWILL, "schedule", "paper_example", "-m", "paper_example",
                "-o", "no/s.json", folder=tmp_path)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "twill: no/s.json: cannot write: No such file or directory\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.sample
def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lasts over two seconds tells so; here it is given 3.5, after which it may have none."""
    monkeypatch.setattr(console, "QUIET_SECONDS", 0.0)
    model = ("--machine", "hopper_h100", "--model", "paper", "--json")
    assert call(*TWILL, "schedule", "layer_norm_hopper", *model).stderr == ""
    command = ("schedule", "fa_fwd_hopper", *model, "--timeout", "3.5")
    terminal, end = pty.openpty()
    shower = subprocess.Popen([*PROCESS, *command], stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    assert shower.wait() in (0, 1)
    assert b"scheduling fa_fwd_hopper" in shown


def test_the_simulator_is_a_command_too() -> None:
    words = ("run", "paper_example_by_hand", "--iterations", "16", "--json")
    alias = call(*TWILL, "sim", *words)
    module = process(sys.executable, "-m", "twill.sim", *words)
    assert alias.returncode == module.returncode == 0
    assert alias.stdout == module.stdout
    assert json.loads(alias.stdout)["schedule"] == "paper_example_by_hand"
    wrong = call(*TWILL, "sim", "run", "nothing")
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1


def test_a_wrong_choice_is_one_line_that_names_the_others(tmp_path: Path) -> None:
    done = call(*TWILL, "show", "fa4_forward", "--as", "picture", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "twill: Invalid value for '--as': 'picture' is not one of 'table'"
    )
    assert done.stderr.count("\n") == 1


def test_choices_are_those_of_the_request() -> None:
    from twill.artifacts.schedule import Rules
    from twill.cli import schedule
    from twill.search import request
    from twill.studies.subjects import VARIANTS

    for choices, known in (
        (schedule.EngineName, request.EngineName),
        (schedule.TimeMode, request.TimeMode),
        (schedule.SearchName, request.SearchName),
        (schedule.RulesName, Rules),
    ):
        assert tuple(choices) == get_args(known)
    help_text = call(*TWILL, "sim", "sweep", "--help").stdout
    assert all(name in help_text for name in VARIANTS)
