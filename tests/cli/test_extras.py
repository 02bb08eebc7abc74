"""What the extra [cluster] adds; run with `make extras`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.studies.test_sweep import Told, lines, rows_in, sweep
from tests.support.programs import ring
from twill.base.errors import InputError
from twill.base.executors import cluster
from twill.studies.sweep import run_sweep
from twill.studies.sweep.table import csv_text

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]
POINTS = {"tma-latency": "50:250:40", "depth": "1:3"}


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that lose their scheduler leave their scratch folders."""
    monkeypatch.setenv("DASK_TEMPORARY_DIRECTORY", str(tmp_path))


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    """A scheduler and two worker processes."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as found:
        yield found


@pytest.fixture
def schedule(tmp_path: Path) -> str:
    file = tmp_path / "ring.json"
    ring(2, 100, 20).save(file)
    return str(file)


def worker_processes(local: Any) -> list[int]:
    from distributed import Client

    with Client(local) as client:
        return list(client.run(os.getpid).values())


def test_a_scheduler_that_goes_away_is_one_line(schedule: str, tmp_path: Path) -> None:
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    file = tmp_path / "scheduler.json"
    with (tmp_path / "log").open("w") as log:
        scheduler = subprocess.Popen([*dask, "--scheduler-file", file, "--port", "0"], stderr=log)
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", file,
             "--nthreads", "1", "--no-dashboard", "--death-timeout", "5"], stderr=log,
        )  # fmt: skip
        journal = tmp_path / "out/journal.jsonl"
        try:
            until = time.monotonic() + 60
            while not file.exists() and time.monotonic() < until:
                time.sleep(0.1)
            words = ("sweep", schedule, "--tma-latency", "50:250:200", "--iterations", "4000")
            asking = subprocess.Popen(
                [sys.executable, "-m", "twill.sim", *words, "--cluster", file, "-o", "out"],
                cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            while lines(journal) < 3 and asking.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            scheduler.kill()
        out, err = asking.communicate(timeout=60)
        worker.kill()
        assert (scheduler.wait(), worker.wait()) != (0, 0)
    assert (asking.returncode, out) == (2, "")
    assert err.startswith("twill: nobody runs the points any more")
    assert err.count("\n") == 1
    assert len(rows_in(tmp_path / "out")) >= 2


def test_a_worker_is_killed_in_the_middle(local: Any, schedule: str, tmp_path: Path) -> None:
    made = sweep(schedule, axes=POINTS, iterations=400)
    folder = tmp_path / "out"
    victim, other = worker_processes(local)
    assert victim != other
    killed: list[int] = []

    def kill() -> None:
        while lines(folder / "journal.jsonl") < 10:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)
        killed.append(lines(folder / "journal.jsonl"))

    thread = threading.Thread(target=kill)
    thread.start()
    counted: list[int] = []
    with cluster(local.scheduler_address) as executor:
        found = run_sweep(made, folder, executor, Told(advanced=lambda: counted.append(1)))
    thread.join()
    assert 10 <= killed[0] < 100
    # No point is lost and none is there twice.
    assert list(found["point"]) == list(range(120))
    assert lines(folder / "journal.jsonl") == 121
    assert len(counted) == 120
    assert len(rows_in(folder)) == 120
    assert set(found["status"]) == {"ok"}
    assert csv_text(found) == csv_text(run_sweep(made))
    assert victim not in worker_processes(local)


def test_the_command_uses_the_cluster(local: Any, schedule: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "twill.sim", "sweep", schedule, "--depth", "1:3"]
    command += ["--tma-latency", "50:250:5", "--iterations", "32"]
    for name, more in {"alone": [], "cluster": ["--cluster", local.scheduler_address]}.items():
        done = subprocess.run(
            [*command, *more, "-o", tmp_path / name], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    for name in ("results.csv", "answers.txt", "throughput.svg"):
        assert (tmp_path / "alone" / name).read_bytes() == (
            tmp_path / "cluster" / name
        ).read_bytes()


def test_nobody_answers() -> None:
    with (
        pytest.raises(InputError, match="no Dask scheduler answers"),
        cluster("tcp://127.0.0.1:9"),
    ):
        pass
