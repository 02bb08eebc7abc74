"""What would run on, hang or fill the memory is one line, at once, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path

import psutil
import pytest

from tests.support.commands import in_process
from tests.support.sampled import sampled
from twill.artifacts.base import parse_toml
from twill.artifacts.loop import MOST_OPERATIONS
from twill.artifacts.sweep import Sweep
from twill.base.errors import InputError, WorkerError, short
from twill.cli.options import MOST_JOBS
from twill.studies.sweep import run_sweep

TWILL = (sys.executable, "-m", "twill")
SIM = ("python", "-m", "twill.sim")
BUSY = """
import sys, pulp, twill
from pathlib import Path
from twill.engines.cbc import modulo_schedule
from twill.problem import build_problem
solver = Path(sys.argv[1]) / "cbc"
solver.write_text("#!/bin/sh\\nexec sleep 600\\n")
solver.chmod(0o755)
pulp.PULP_CBC_CMD.pulp_cbc_path = str(solver)
loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
modulo_schedule(build_problem(loop, machine), 3)
"""


def until(condition: Callable[[], object], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


def test_cbc_ends_with_a_killed_parent_and_leaves_no_file(tmp_path: Path) -> None:
    files = tmp_path / "temporary"
    files.mkdir()
    asking = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(tmp_path)], env={**os.environ, "TMPDIR": str(files)}
    )
    process = psutil.Process(asking.pid)
    assert until(process.children)
    (solver,) = process.children()
    assert until(lambda: solver.name() == "sleep")
    asking.kill()
    asking.wait()
    assert until(lambda: not solver.is_running() or solver.status() == psutil.STATUS_ZOMBIE)
    assert list(files.iterdir()) == []


@pytest.mark.slow
@pytest.mark.nightly
def test_the_cases_of_the_paper_end_with_who_asked_for_them() -> None:
    cases = ("--case", "hopper_forward", "--case", "blackwell_backward", "--jobs", "2")
    asking = subprocess.Popen([*TWILL, "reproduce", *cases], stdout=subprocess.DEVNULL)
    process = psutil.Process(asking.pid)

    def working() -> list[psutil.Process]:
        found = process.children(recursive=True)
        return [child for child in found if child.cpu_times().user > 3]

    assert until(lambda: len(working()) >= 2, seconds=60)
    children = process.children(recursive=True)
    asking.kill()
    asking.wait()
    assert until(lambda: not any(child.is_running() for child in children))


def one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("twill: ")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 400
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("values", ["0:999999999999", "0:1e12:1000000000000", "log:1:2:1e12"])
def test_a_sweep_of_too_many_points_is_refused_at_once(values: str, tmp_path: Path) -> None:
    began = time.process_time()
    words = ("sweep", "fa3_forward_128x128", "--tma-latency", values, "-o", str(tmp_path / "o"))
    one_line(in_process(*SIM, *words), "at most 100000 values")
    many = ("sweep", "paper_example", "--tma-latency", "0:9999", "--set", "seed=1:1000")
    one_line(in_process(*SIM, *many), "at most 1000000 points (got 10000000)")
    assert time.process_time() - began < 10


def operations(count: int) -> str:
    """Return a loop of equal operations as text."""
    tile = '{"shape":[64,128],"dtype":"f32","memory":"registers"}'
    one = f'{{"name":"n","kind":"mul","elementwise":true,"operands":[{tile}],"result":{tile}}}'
    body = ",".join([one] * count)
    return f'{{"schema":"twill.loop","schema_version":1,"name":"big","operations":[{body}]}}'


@pytest.mark.parametrize(
    ("count", "why"),
    [(270_000, "larger than the limit of 16777216 bytes"), (5_000, f"at most {MOST_OPERATIONS}")],
    ids=["43 MB", "5000 operations"],
)
def test_a_loop_that_is_too_large_is_refused_at_once(count: int, why: str, tmp_path: Path) -> None:
    (tmp_path / "big.json").write_text(operations(count))
    began = time.process_time()
    done = in_process(
        "twill", "schedule", "big.json", "-m", "hopper_h100", "--model", "paper", folder=tmp_path
    )
    one_line(done, "big.json: ", why)
    assert time.process_time() - began < 2


KEYS = {
    "bare": "a." * 20_000 + "b = 1",
    "table": "[" + "a." * 20_000 + "b]",
    "quoted": '"a b" . ' * 20_000 + "b = 1",
    "inline": "x = {" + "a." * 20_000 + "b = 1}",
    "arrays": "x = " + "[" * 100_000,
}


@pytest.mark.parametrize("key", KEYS)
def test_a_toml_key_of_20_000_dots_is_refused_at_once(key: str, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(KEYS[key])
    (tmp_path / "e.toml").write_text('extends = "m.toml"\n')
    began = time.process_time()
    for file in ("m.toml", "e.toml"):
        done = in_process("twill", "machine", "check", file, folder=tmp_path)
        one_line(done, "not TOML: nested too deeply")
    one_line(in_process(*SIM, "sweep", "m.toml", folder=tmp_path), "nested too deeply")
    assert time.process_time() - began < 10


def test_what_toml_is_read() -> None:
    numbers = ", ".join(["0.25"] * 200)
    words = "one. two. " * 100
    text = f'a.b."c.d" = [{numbers}]\nsource = "{words}" # {words}\nmore = """\n{words}"""'
    read = parse_toml(text.encode(), "m")
    assert len(read["a"]["b"]["c.d"]) == 200
    assert read["source"] == read["more"] == words
    with pytest.raises(InputError, match="longer than the limit"):
        parse_toml(b"#" * (1 << 21), "m")


@pytest.mark.parametrize(
    "words",
    [
        ("twill", "reproduce"),
        (*SIM, "sweep", "fa3_forward_128x128", "--depth", "1:2"),
    ],
    ids=lambda words: words[-3] if words[0] == "python" else words[1],
)
def test_too_many_processes_are_refused_at_once(words: tuple[str, ...]) -> None:
    one_line(in_process(*words, "--jobs", "100000"), "--jobs", f" {MOST_JOBS}")


def test_a_backend_of_matplotlibs_does_not_concern_files(tmp_path: Path) -> None:
    words = ("run", "paper_example_by_hand", "--iterations", "24", "--timeline", "t.png")
    done = subprocess.run(
        [*TWILL, "sim", *words],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("closed", "status", "told"),
    sampled(
        [
            (">&-", 2, "twill: cannot write: standard output is closed\n"),
            ("<&-", 0, ""),
            ("| true", 0, ""),
            ("2>&-", 0, ""),
            (">&- 2>&-", 2, ""),
        ],
        2,
    ),
)
def test_a_closed_stream_is_no_traceback(closed: str, status: int, told: str) -> None:
    command = f"'{sys.executable}' -m twill show fa4_forward {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, told)


def test_large_values_are_cut_before_they_are_written() -> None:
    began = time.process_time()
    for value in ([0] * 10**7, dict.fromkeys(range(10**6), "x"), "x" * 10**8):
        assert len(short(value)) == 60
    assert time.process_time() - began < 2


class Leaving(Executor):
    """Cancels what it was given, as Dask's does once its scheduler is gone."""

    def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
        future: Future[object] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_who_ran_the_points_and_left_is_told_of() -> None:
    made = Sweep(items=("fa3_forward_128x128",), axes={"depth": (1, 2)}, iterations=24)
    with pytest.raises(WorkerError, match="nobody runs the points any more"):
        run_sweep(made, None, Leaving())
