"""Kernels in rounds on a GPU, which programs that print what a run would stand in for."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from textwrap import dedent

import pytest

from twill.artifacts.proof import OnGpu
from twill.base.errors import InputError, MissingLibraryError, RefusedError
from twill.cli.command import json_text
from twill.studies.kernels import Measured, Timed
from twill.studies.on_gpu import LEAST_ROUNDS, MOST_ROUNDS, check_gpu, measured_in_rounds

RUN = """
from pathlib import Path
log = Path(r"{log}")
done = log.read_text().split() if log.exists() else []
log.write_text(" ".join([*done, "{name}"]))
round = done.count("{name}")
print({lines}[round])
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def told(cycles: float | None, clock: float = 1000.0, wrong: str | None = None) -> str:
    """Return what a run prints."""
    trips = (Timed(32, None, 1.0, 0.9, 1.1), Timed(64, wrong, 2.0, 1.9, 2.1))
    taken = None if cycles is None else 1e3 * cycles / clock
    versions = ("NVIDIA H200", "sm_90", clock, "2.9", "3.9.0")
    found = Measured("kernel.py", *versions, trips, taken, cycles, None)
    return json_text("measured-kernel", asdict(found))


def kernel(log: Path, name: str, *rounds: float | str) -> str:
    """Return a kernel that takes so many cycles in its rounds, the last in all that follow."""
    lines = [told(one) if isinstance(one, float) else one for one in rounds]
    return RUN.format(log=log, name=name, lines=lines + lines[-1:] * MOST_ROUNDS)


def measured(*kernels: str, seed: int = 0, seconds: float = 60.0) -> list[OnGpu | RefusedError]:
    def command(file: Path) -> list[str]:
        return [sys.executable, "-S", str(file)]

    return measured_in_rounds(kernels, seed, command=command, seconds=seconds)


def test_rounds_end_when_one_is_faster_in_every_run(log: Path) -> None:
    slow, fast = measured(kernel(log, "slow", 900.0), kernel(log, "fast", 800.0, 820.0, 810.0))
    assert isinstance(slow, OnGpu)
    assert isinstance(fast, OnGpu)
    assert fast == OnGpu(
        device="NVIDIA H200",
        interval_cycles=810.0,
        lowest_cycles=800.0,
        highest_cycles=820.0,
        clock_mhz=1000.0,
        rounds=LEAST_ROUNDS,
        compiler="triton 3.9.0",
    )
    assert slow.interval_cycles == 900


def test_those_that_may_be_the_fastest_stay_until_the_last_round(log: Path) -> None:
    found = measured(
        kernel(log, "a", 800.0, 860.0, 805.0),
        kernel(log, "b", 850.0),
        kernel(log, "c", 861.0),
    )
    rounds = [one.rounds for one in found if isinstance(one, OnGpu)]
    assert rounds == [MOST_ROUNDS, MOST_ROUNDS, LEAST_ROUNDS]


def test_the_order_of_a_round_is_drawn_by_the_seed(tmp_path: Path) -> None:
    def order(seed: int) -> list[str]:
        log = tmp_path / "order"
        measured(*(kernel(log, name, 800.0) for name in "abcd"), seed=seed)
        runs = log.read_text().split()
        log.unlink()
        return ["".join(runs[at : at + 4]) for at in range(0, len(runs), 4)]

    first = order(1)
    assert len(first) == MOST_ROUNDS
    assert {"".join(sorted(one)) for one in first} == {"abcd"}
    assert len(set(first)) > 1
    assert order(1) == first
    assert order(2) != first


def test_cycles_are_compared_and_not_times_where_the_clock_varies(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The first one is the faster one in time.
    found = measured(
        kernel(log, "a", told(900.0, clock=1900.0)), kernel(log, "b", told(800.0, clock=1500.0))
    )
    assert [one.interval_cycles for one in found if isinstance(one, OnGpu)] == [900.0, 800.0]
    assert "the SM clock varied from 1500 to 1900 MHz" in capsys.readouterr().err
    measured(kernel(log, "c", told(900.0, clock=1900.0), told(900.0, clock=1880.0)))
    assert capsys.readouterr().err == ""


FAILING = {
    "hangs": ("import time; time.sleep(10)", "not measured within 2 s"),
    "crashes": ("import os; os.kill(os.getpid(), 11)", "status -11"),
    "fails": (
        "import sys; print('noise\\ntwill: no such file', file=sys.stderr); sys.exit(2)",
        "status 2: twill: no such file",
    ),
    "is wrong": (f"print('''{told(1.0, wrong='o: error 2e-1')}''')", "wrong on the GPU: o: error"),
    "has no clock": (f"print('''{told(None)}''')", "cycles of an iteration"),
    "is no iteration": (f"print('''{told(-1.0)}''')", "cycles of an iteration"),
}


@pytest.mark.parametrize("how", FAILING)
def test_a_run_that_fails_costs_its_kernel_only(log: Path, how: str) -> None:
    text, why = FAILING[how]
    failed, good = measured(text, kernel(log, "good", 800.0), seconds=2.0)
    assert isinstance(failed, RefusedError)
    assert why in str(failed)
    assert isinstance(good, OnGpu)
    assert good.rounds == LEAST_ROUNDS


def test_a_kernel_that_fails_once_is_refused(log: Path) -> None:
    wrong = told(1.0, wrong="o: error 2e-1")
    failed, good = measured(kernel(log, "a", 700.0, wrong, 700.0), kernel(log, "b", 800.0))
    assert isinstance(failed, RefusedError)
    assert isinstance(good, OnGpu)
    assert measured() == []


def test_without_a_gpu_the_command_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (found,) = measured_in_rounds([dedent("CONFIG = check = bench = None")])
    assert isinstance(found, RefusedError)
    assert "the run ended with status 2: twill: " in str(found)
    assert "--emulate" in str(found)


def test_pytorch_and_a_gpu_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingLibraryError, match="torch is not installed"):
        check_gpu()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(InputError, match="no GPU is at hand: there is no nvidia-smi"):
        check_gpu()
    program = tmp_path / "nvidia-smi"
    monkeypatch.setattr(shutil, "which", lambda _name: str(program))
    program.write_text("#!/bin/sh\nexit 6\n")
    program.chmod(0o755)
    with pytest.raises(InputError, match=r"no GPU is at hand: .*status 6"):
        check_gpu()
    program.write_text("#!/bin/sh\necho NVIDIA H200\n")
    check_gpu()
