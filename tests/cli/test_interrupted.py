"""Ctrl-C and kills: no traceback from the first line on, and nothing that was found is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.cli.interrupted import COUNTS, campaign
from tests.support.commands import in_process
from tests.support.dying import deadly, square
from tests.support.sampled import sampled
from tests.support.small import random_loop
from twill.base import executors, interruptions
from twill.base.executors import local
from twill.cli import polish
from twill.search.request import Request
from twill.search.scheduler import solve

pytestmark = pytest.mark.usefixtures("heard")

ROOT = Path(__file__).parents[2]
WHEN_IMPORTED = """
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "{name}":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.argv = ["twill", *{words}]
sys.meta_path.insert(0, Interrupting())
runpy.run_module("{module}", run_name="__main__", alter_sys=True)
"""
SCHEDULE = ("schedule", "paper_example", "-m", "paper_example", "--no-cache", "-o", "out.json")
RUN = ("run", "schedule.json")
IMPORTS = [
    ("twill", SCHEDULE, "twill.cli"),
    ("twill", SCHEDULE, "typer"),
    ("twill", SCHEDULE, "pydantic"),
    ("twill", SCHEDULE, "numpy"),
    ("twill", SCHEDULE, "ortools.sat.python.cp_model"),
    ("twill.sim", RUN, "twill.cli.main"),
    ("twill.sim", RUN, "twill.sim.execute"),
]


@pytest.mark.parametrize(("module", "words", "name"), sampled(IMPORTS, 3))
def test_an_interruption_of_an_import_is_no_traceback(
    module: str, words: tuple[str, ...], name: str, paper_schedule: twill.Schedule, tmp_path: Path
) -> None:
    paper_schedule.save(tmp_path / "schedule.json")
    code = WHEN_IMPORTED.format(name=name, words=words, module=module)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (130, "twill: interrupted\n")
    assert not (tmp_path / "out.json").exists()


def test_ctrl_c_is_heard_before_anything_else_is_imported() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"twill": "twill.__main__:main"}
    imported = "import sys; before = {*sys.modules}; import twill.base.interruptions; "
    shown = "print(*({*sys.modules} - before - {'enum', 'signal', 'contextlib'}))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"{imported}{shown}"],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    ours = {name for name in done.stdout.split() if name.startswith("twill")}
    assert ours == {"twill", "twill.base", "twill.called", "twill.base.interruptions"}
    assert "typing" not in done.stdout.split()


# -- workers ---------------------------------------------------------------------------------------


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    with local(2) as pool:
        assert pool is not None
        found = [pool.submit(square, number, str(tmp_path)) for number in (2, 3)]
        assert [one.result(60) for one in found] == [4, 9]


def test_what_every_worker_dies_of_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "MOST_DEATHS", 2)
    with local(2) as pool:
        assert pool is not None
        died = pool.submit(deadly)
        assert isinstance(died.exception(60), BrokenExecutor)
        assert pool.submit(abs, -1).result(60) == 1


# -- the best so far -------------------------------------------------------------------------------


def of_a_loop(seed: int, folder: Path) -> twill.Schedule:
    """Save a random loop as it is written, of which there are better programs."""
    loop, machine = random_loop(seed)
    given = solve(Request(loop, machine, search="written")).schedule
    given.save(folder / "given.json")
    return given


POLISH = ("twill", "polish", "given.json", "--simulations", "8", "--jobs", "1")


def test_what_is_better_is_on_the_disk_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_a_loop(36, tmp_path)
    seen: list[float] = []
    real: Callable[..., None] = polish.Kept.__call__

    def noted(self: polish.Kept, schedule: twill.Schedule) -> None:
        real(self, schedule)
        promise = twill.Schedule.load(tmp_path / "out.partial.json").promise
        assert promise is not None
        seen.append(promise.interval_cycles)
        assert not (tmp_path / "out.json").exists()

    monkeypatch.setattr(polish.Kept, "__call__", noted)
    assert in_process(*POLISH, "-o", "out.json", folder=tmp_path).returncode == 0
    promise = twill.Schedule.load(tmp_path / "out.json").promise
    assert promise is not None
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == promise.interval_cycles
    assert [file.name for file in tmp_path.glob("out*")] == ["out.json"]


def test_without_an_answer_the_best_so_far_stays_and_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_a_loop(36, tmp_path)
    left = tmp_path / "out.partial.json"
    left.write_text("of another run")

    def fail(*_: object, **__: object) -> None:
        raise twill.InputError("no space left")

    monkeypatch.setattr("twill.cli.command.Output.keep", fail)
    done = in_process(*POLISH, "-o", "out.json", folder=tmp_path)
    assert done.returncode == 2
    assert "the best so far is in" in done.stderr
    assert left.read_text() == "of another run"
    assert twill.verify(twill.Schedule.load(tmp_path / "out.partial-2.json")).valid


@pytest.mark.parametrize("output", [(), ("-o", "-"), ("-o", "/dev/null")])
def test_nothing_is_kept_beside_what_is_no_ordinary_file(
    output: tuple[str, ...], tmp_path: Path
) -> None:
    of_a_loop(36, tmp_path)
    assert in_process(*POLISH, *output, folder=tmp_path).returncode == 0
    assert [file.name for file in tmp_path.iterdir()] == ["given.json"]


def test_a_second_interruption_ends_at_once_and_says_what_is_kept(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    interruptions.keep("; the best so far is in out.partial.json")
    with interruptions.raised():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), 2)
        assert interruptions.heard()
        os.kill(os.getpid(), 2)
    interruptions.keep("")
    assert ended == [130]
    said = "twill: interrupted; the best so far is in out.partial.json\n"
    assert capfd.readouterr().err == said


def test_an_interruption_of_earlier_work_is_not_heard_where_ctrl_c_is_ignored() -> None:
    with interruptions.raised(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), 2)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptions.raised():
            assert not interruptions.heard()
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interruption_waits_for_what_must_not_be_cut_short() -> None:
    done: list[Any] = []

    def work() -> None:
        with interruptions.later():
            os.kill(os.getpid(), 2)
            done.append("whole")
        done.append("never")

    with interruptions.raised(), pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["whole"]


# -- many moments ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.sample
def test_nothing_that_was_found_is_lost() -> None:
    said: list[str] = []
    assert campaign(0, dict.fromkeys(COUNTS, 2), said.append) == [], said


@pytest.mark.slow
@pytest.mark.nightly
def test_nothing_that_was_found_is_lost_at_many_moments() -> None:
    said: list[str] = []
    assert campaign(1, COUNTS, said.append) == [], said


LOST = """
import os, signal
from twill.base.errors import InputError
from twill.base.console import command

@command
def reading():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise InputError("cannot be read") from None

reading()
"""


def test_an_interruption_that_became_another_error_is_one() -> None:
    code = [sys.executable, "-c", LOST]
    done = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "twill: interrupted; cannot be read\n")
