"""Solving under a limit of memory: the same answers, and an honest no."""

from __future__ import annotations

import json
import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest

import twill
from tests.support.commands import in_process
from tests.support.small import op, small_loop, small_machine
from twill.base.errors import SolverError
from twill.search import worker
from twill.search.cache import Cache
from twill.search.request import Request
from twill.search.scheduler import schedule as static_schedule
from twill.search.scheduler import solve
from twill.search.worker import resident, solve_within


def test_with_enough_memory_it_is_the_same_answer(
    paper_loop: twill.Loop, paper_machine: twill.Machine, tmp_path: Path
) -> None:
    told: list[str] = []
    cache = Cache(tmp_path)

    def report(message: str) -> None:
        told.append(message)

    solved = solve_within(4000, Request(paper_loop, paper_machine), report=report, cache=cache)
    assert solved.schedule.to_json() == static_schedule(paper_loop, paper_machine).to_json()
    assert "found a schedule at I = 2" in told
    assert solve_within(4000, Request(paper_loop, paper_machine), cache=cache).cached
    assert solve(Request(paper_loop, paper_machine), cache=cache).cached


def test_with_too_little_nothing_is_claimed(attention: twill.Loop, hopper: twill.Machine) -> None:
    with pytest.raises(twill.RefusedError) as caught:
        solve_within(20, Request(attention, hopper))
    assert str(caught.value) == (
        "fa_fwd_hopper: more than 20 MB were needed; no schedule was found so far"
    )
    assert caught.value.data["limit"] == 20
    assert caught.value.about.interval is None


def hungry(told: Connection, *_: object) -> None:
    """Say what was found, and take more and more memory."""
    for interval in (9, 7):
        told.send(("report", f"found a schedule at I = {interval}"))
    held = bytearray(300_000_000)
    held[::4096] = b"x" * len(held[::4096])
    time.sleep(60)


def test_what_was_found_before_is_told(
    paper_loop: twill.Loop, paper_machine: twill.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "answer", hungry)
    with pytest.raises(
        twill.RefusedError, match="the best so far was a schedule of interval 7, not"
    ):
        solve_within(150, Request(paper_loop, paper_machine))


def wrong(*_: object) -> None:
    raise SystemExit(1)


def aborting(*_: object) -> None:
    os.abort()


def test_a_process_that_ends_for_another_reason_is_no_refusal(
    paper_loop: twill.Loop, paper_machine: twill.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "answer", wrong)
    with pytest.raises(SolverError, match=r"the solving process ended with status 1$"):
        solve_within(4000, Request(paper_loop, paper_machine))
    monkeypatch.setattr(worker, "answer", aborting)
    with pytest.raises(SolverError, match="ended with SIGABRT"):
        solve_within(4000, Request(paper_loop, paper_machine))


def killed_at_first(told: Connection, asked: worker.Asked) -> None:
    """Say what is found, and be killed, as for want of memory; the second time answer."""
    assert asked.cache is not None
    first = asked.cache.folder / "first"
    if not first.exists():
        first.touch()
        told.send(("report", "found a schedule at I = 9"))
        os.kill(os.getpid(), signal.SIGKILL)
    worker.answer(told, asked)


def test_a_process_that_is_killed_is_replaced(
    paper_loop: twill.Loop,
    paper_machine: twill.Machine,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    asked, told = Request(paper_loop, paper_machine), list[str]()
    monkeypatch.setattr(worker, "answer", killed_at_first)

    def report(message: str) -> None:
        told.append(message)

    solved = solve_within(4000, asked, report=report, cache=Cache(tmp_path))
    assert solved.schedule == solve(asked).schedule
    assert told[0] == "found a schedule at I = 9"


def test_refusals_and_bad_input_pass_through() -> None:
    loop = small_loop([op("a", "TC", registers=300)])
    with pytest.raises(twill.RefusedError, match="needs 300 registers") as caught:
        solve_within(4000, Request(loop, small_machine(registers=255)))
    assert caught.value.about.needed == 300
    with pytest.raises(twill.InputError) as wrong:
        solve_within(4000, Request(small_loop([op("a", "GPU")]), small_machine()))
    assert wrong.value.path == "operations[0].cost.steps[0].unit"


def test_resident_memory_is_what_the_system_says() -> None:
    mine = psutil.Process().memory_info().rss
    assert resident(os.getpid()) == pytest.approx(mine, rel=0.05)
    assert resident(1 << 22) == 0


def test_the_command() -> None:
    words = ("twill", "schedule", "paper_example", "-m", "paper_example")
    done = in_process(*words, "--memory", "20", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["refused"]["unit"] == "MB"
