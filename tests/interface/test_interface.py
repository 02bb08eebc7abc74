"""What Python calls does what the commands do, with names, paths and objects."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import twill
from tests.support.commands import in_process
from twill.engines.tuning import TUNING
from twill.interface import functions
from twill.search.request import Request

HAND = "paper_example_by_hand"
ROOMS = ("emit", "explain", "polish")


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param((), marks=[pytest.mark.slow, pytest.mark.sample]),
        ("--effort", "quick", "--seed", "1"),
        ("--model", "paper"),
        ("--limit", "groups=1"),
    ],
    ids=" ".join,
)
def test_a_schedule_is_the_one_that_the_command_writes(
    asked: tuple[str, ...], tmp_path: Path
) -> None:
    named: dict[tuple[str, ...], dict[str, object]] = {
        (): {},
        ("--effort", "quick", "--seed", "1"): {"effort": "quick", "seed": 1},
        ("--model", "paper"): {"model": "paper"},
        ("--limit", "groups=1"): {"limits": {"groups": 1}},
    }
    made = tmp_path / "made.json"
    command = ("twill", "schedule", "skipped_interval_issue", "-m", "paper_example")
    assert in_process(*command, *asked, "-o", str(made)).returncode == 0
    found = twill.schedule("skipped_interval_issue", "paper_example", **named[asked])  # type: ignore[arg-type]
    assert found.to_json() == made.read_text()
    assert (found.promise is None) == (asked[:1] in (("--model",), ("--limit",)))


def test_wishes_of_the_static_model_are_not_polished() -> None:
    with pytest.raises(twill.InputError, match="not polished"):
        twill.schedule("paper_example", "paper_example", effort="quick", rules="paper")
    with pytest.raises(twill.InputError, match=r"quick, normal, thorough \(got 'fast'\)"):
        twill.polish(HAND, effort="fast")  # type: ignore[arg-type]


def test_the_search_of_an_effort_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of the command; without a limit `twill.jit` would prove for minutes."""
    work: set[float | None] = set()

    def refused(request: Request, **_: object) -> None:
        work.add(request.work)
        raise twill.RefusedError("no")

    monkeypatch.setattr(functions, "solve", refused)
    for effort in (None, "quick"):
        with pytest.raises(twill.RefusedError):
            twill.schedule("skipped_interval_issue", "paper_example", effort=effort)
    assert work == {TUNING.polishing.normal, TUNING.polishing.quick}


def lines(found: object) -> str:
    return found if isinstance(found, str) else repr(found)


@pytest.mark.parametrize(
    "call",
    [
        twill.verify,
        twill.sim.run,
        twill.explain,
        twill.compare,
        lambda given: twill.polish(given, simulations=2).schedule.promise,
    ],
    ids=["verify", "run", "explain", "compare", "polish"],
)
def test_a_schedule_is_taken_by_name_by_path_and_as_it_is(
    call: Callable[[object], object], tmp_path: Path
) -> None:
    given = twill.load_schedule(HAND)
    file = tmp_path / "given.json"
    given.save(file)
    told = {lines(call(one)) for one in (HAND, given, file, str(file))}
    assert len(told) == 1


def test_a_loop_and_a_machine_are_taken_by_path_and_as_they_are(tmp_path: Path) -> None:
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    loop.save(tmp_path / "loop.json")
    machine.save(tmp_path / "machine.json")
    read = twill.schedule(tmp_path / "loop.json", tmp_path / "machine.json", model="paper")
    assert read == twill.schedule(loop, machine, model="paper")
    (compared,) = twill.compare(tmp_path / "loop.json", machines=[machine])
    assert compared.variants == twill.compare(loop)[0].variants


def test_kernels_and_sources_are_made_of_schedules_by_name(tmp_path: Path) -> None:
    schedule = twill.schedule("gemm_two_tiles_hopper", "hopper_h100", model="paper")
    file = tmp_path / "gemm.json"
    schedule.save(file)
    assert twill.emit(file) == twill.emit(schedule)
    assert twill.annotate(file).lines == twill.annotate(schedule).lines
    cut = twill.subtile("gemm_hopper", 2, machine="hopper_h100")
    assert len(cut.operations) > len(twill.load_loop("gemm_hopper").operations)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_that_is_called_is_a_room_still(room: str) -> None:
    module = importlib.import_module(f"twill.{room}")
    assert getattr(twill, room) is module
    assert callable(module)
    assert next(iter(inspect.signature(module).parameters)) == "schedule"
    assert {"emit": "emitted", "explain": "Explanation", "polish": "Polished"}[room] in dir(module)


def test_an_import_brings_no_solver_and_no_room() -> None:
    code = (
        "import sys, twill; twill.Schedule, dir(twill)\n"
        "heavy = ('yices', 'ortools', 'pyscipopt', 'simpy', 'numpy', 'pandas', 'xdsl', 'triton',\n"
        "         'matplotlib', 'twill.interface', 'twill.search', 'twill.polish')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
