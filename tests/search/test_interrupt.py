"""Ctrl-C: within a second, no traceback, no half-written file, no process left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import twill

pytestmark = pytest.mark.usefixtures("heard")

TWILL = [sys.executable, "-m", "twill"]
SIM = [sys.executable, "-m", "twill.sim"]
BUSY_SECONDS = 2.0
"""Processor time after which a command has imported what it needs; half of it on a slow machine."""
ROOT = Path(__file__).parents[2]
MARK = "TWILL_TEST_FOLDER"
CASES = {
    "cp-sat": [*TWILL, "schedule", "{dump}", "-m", "hopper_h100", "--engine", "cpsat",
               "-o", "out.json"],
    "cbc": [*TWILL, "schedule", "fa_fwd_hopper", "-m", "hopper_h100", "--search", "paper",
            "--time", "normalized", "-o", "out.json"],
    "yices": [*TWILL, "schedule", "{dump}", "-m", "hopper_h100", "--engine", "difference",
              "-o", "out.json"],
    "simulation": [*SIM, "run", "{schedule}", "--iterations", "1000000"],
}  # fmt: skip


def started(command: list[str], folder: Path) -> subprocess.Popen[str]:
    mark, pipe = {**os.environ, MARK: str(folder)}, subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=folder, env=mark)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=[pytest.mark.sample] * (c == "yices")) for c in CASES]
)
def test_an_interruption_ends_the_work(
    case: str, tmp_path: Path, attention_schedule: twill.Schedule, hard_loop: Path
) -> None:
    schedule = tmp_path / "in" / "schedule.json"
    schedule.parent.mkdir()
    attention_schedule.save(schedule)
    folder = tmp_path / "out"
    folder.mkdir()
    command = [
        word.format(schedule=schedule, dump=hard_loop) if "{" in word else word
        for word in CASES[case]
    ]
    process = started(command, folder)
    try:
        _wait_until(lambda: _seconds_of_work(process.pid) > BUSY_SECONDS)
        if case == "cbc":
            _wait_until(lambda: "cbc" in _living(str(folder)))
        assert process.poll() is None, process.communicate()
        begun = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=20)
        assert time.perf_counter() - begun < 2.0
    finally:
        process.kill()
    assert process.returncode == 130
    assert not _living(str(folder))
    if error == "twill: interrupted\n":
        assert list(folder.iterdir()) == []
    else:
        assert error == "twill: interrupted; this is the best schedule so far\n"
        assert twill.verify(twill.Schedule.load(folder / "out.json")).violations == ()


@pytest.mark.slow
@pytest.mark.sample
def test_an_interruption_keeps_the_best_schedule_so_far(tmp_path: Path) -> None:
    command = [*TWILL, "schedule", "fa_fwd_blackwell", "-m", "blackwell_b200", "--no-cache",
               "--model", "paper", "-o", "out.json"]  # fmt: skip
    process = started([sys.executable, "-c", SAYS_WHEN_FOUND, *command[3:]], tmp_path)
    try:
        assert process.stdout is not None
        while "found a schedule" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, error) == (
        130,
        "twill: interrupted; this is the best schedule so far\n",
    )
    assert "wrote out.json" in out
    kept = twill.Schedule.load(tmp_path / "out.json")
    assert twill.verify(kept).violations == ()
    assert kept.proof is not None
    assert not all(level.proved for level in kept.proof.levels)
    assert not _living(str(tmp_path))


SAYS_WHEN_FOUND = """
import contextlib, sys
from twill.cli import schedule
from twill.cli.main import main

@contextlib.contextmanager
def progress(title):
    yield lambda message: print(message, flush=True)

schedule.progress = progress
main()
"""


IN_A_DESTRUCTOR = """
import os, signal, sys, time
from twill.base.console import command, run_app

class Interrupted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(200)

@command
def app():
    Interrupted()
    time.sleep(200)

run_app(lambda standalone_mode: app())
"""


def test_an_interruption_of_a_destructor_ends_the_work() -> None:
    command = [sys.executable, "-c", IN_A_DESTRUCTOR]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (130, "twill: interrupted\n")


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="a signal at a parent's death is Linux's")
def test_a_killed_command_leaves_no_solver_behind(tmp_path: Path) -> None:
    words = ["-m", "tests.validation.bench", "--case", "fa_bwd_blackwell", "--engine", "both"]
    process = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, MARK: str(tmp_path)},
        cwd=ROOT,
    )
    try:
        _wait_until(lambda: _seconds_of_work(process.pid) > 2 * BUSY_SECONDS)
        assert len(_living(str(tmp_path))) > 1
    finally:
        process.kill()
        process.wait()
    _wait_until(lambda: not _living(str(tmp_path)), 5.0)


@pytest.fixture(scope="module")
def hard_loop(tmp_path_factory: pytest.TempPathFactory, attention: twill.Loop) -> Path:
    """Attention with four sub-tiles: minutes of search."""
    operations = list(attention.operations)
    dependences = list(attention.dependences)
    operations += [
        operation.model_copy(update={"name": f"{operation.name}_b"})
        for operation in attention.operations
        if operation.name not in ("k", "v")
    ]
    for d in attention.dependences:
        producer = d.producer if d.producer in ("k", "v") else f"{d.producer}_b"
        update = {"producer": producer, "consumer": f"{d.consumer}_b"}
        dependences.append(d.model_copy(update=update))
    loop = twill.Loop(name="hard", operations=tuple(operations), dependences=tuple(dependences))
    file = tmp_path_factory.mktemp("hard") / "hard.json"
    loop.save(file)
    return file


def _wait_until(happened: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.perf_counter() + seconds
    while not happened():
        assert time.perf_counter() < end
        time.sleep(0.05)


def _seconds_of_work(process: int) -> float:
    """Return the processor time of a process and of those that it has started."""
    found = 0.0
    whole = psutil.Process(process)
    for one in (whole, *whole.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            found += sum(one.cpu_times()[:2])
    return found


def _living(mark: str) -> list[str]:
    """Names of the living processes that inherited `mark` in their environment."""
    names = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                names.append(process.name())
        except psutil.Error:
            continue
    return names


INTERRUPTED_TWICE = """
import multiprocessing, os, signal, threading, time
from twill.base.executors import local

def main():
    try:
        with local(2) as pool:
            last = pool.submit(time.sleep, 2)
            while not last.running():
                time.sleep(0.01)
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print(len(multiprocessing.active_children()))
    try:
        time.sleep(1)  # workers may have ended before the second one comes
    except KeyboardInterrupt:
        pass

if __name__ == "__main__":
    main()
"""


def test_workers_end_where_a_second_interruption_follows(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(INTERRUPTED_TWICE)
    process = started([sys.executable, "twice.py"], tmp_path)
    try:
        assert process.communicate(timeout=60) == ("0\n", "")
    finally:
        process.kill()
    assert process.returncode == 0
