"""Fixtures that many tests share."""

from __future__ import annotations

import gc
import itertools
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import twill
from tests import COMPILED_ENGINE
from tests.support import solved
from tests.support.static import static_schedule
from twill.base.files import FOLDER_VARIABLE
from twill.search.cache import Cache
from twill.sim.emulator import pytorch
from twill.studies.choice import JUDGE_VARIABLE, SIMULATED

pytest_plugins = ["tests.support.processor"]
TESTS = itertools.count()
"""Numbers of the folders of tests, which a listing of all that there are would find more slowly."""


def pytest_report_header() -> str:
    return f"engine: {'compiled' if COMPILED_ENGINE else 'Python, `make engine` compiles it'}"


def pytest_collection_finish() -> None:
    """Thousands of tests and their modules stay: there is nothing to look for among them."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(autouse=True)
def temporary(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Give a test and the commands that it calls a temporary folder, which they leave empty."""
    folder = tmp_path_factory.getbasetemp() / f"temporary{next(TESTS)}"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    left = sorted(path.name for path in folder.iterdir())
    shutil.rmtree(folder)
    assert not left, f"left in the temporary folder: {', '.join(left)}"


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the reports of defects, of a test that makes one."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def no_users_cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Every test, and every command that it calls, has a cache of its own, and compiles nothing."""
    folder = tmp_path_factory.getbasetemp() / f"cache{next(TESTS)}"
    folder.mkdir()
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    monkeypatch.setenv(JUDGE_VARIABLE, SIMULATED)
    return folder


@pytest.fixture(autouse=True)
def stand_in_for_pytorch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emulated kernels have the stand-in as their host, but in tests that are marked `torch`."""
    if request.node.get_closest_marker("torch") is None:
        monkeypatch.setattr(pytorch, "installed", lambda: False)


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands simulate in the process of the test; tests run side by side themselves."""
    monkeypatch.setenv("TWILL_JOBS", "1")


@pytest.fixture(autouse=True)
def no_users_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test's tables are as narrow as the terminal in which it happens to run."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session", autouse=True)
def answers(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Cache]:
    """What this session has solved, in all its processes."""
    folder = tmp_path_factory.getbasetemp()
    alone = not hasattr(request.config, "workerinput")
    cache = Cache((folder if alone else folder.parent) / "answers")
    cache.folder.mkdir(exist_ok=True)
    solved.answers.append(cache)
    yield cache
    solved.answers.clear()


@pytest.fixture
def known_answers(answers: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that need a schedule, and are not about finding it, share those of the session."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(answers.folder))


@pytest.fixture(scope="session")
def solved_once() -> Callable[..., twill.Schedule]:
    """Return `twill.schedule`, which two processes do not do twice."""
    return solved.solved_once


@pytest.fixture(scope="session")
def paper_machine() -> twill.Machine:
    return twill.Machine.named("paper_example")


@pytest.fixture(scope="session")
def hopper() -> twill.Machine:
    return twill.Machine.named("hopper_h100")


@pytest.fixture(scope="session")
def paper_loop() -> twill.Loop:
    return twill.load_loop("paper_example")


@pytest.fixture(scope="session")
def attention() -> twill.Loop:
    return twill.load_loop("fa_fwd_hopper")


@pytest.fixture(scope="session")
def paper_schedule(paper_loop: twill.Loop, paper_machine: twill.Machine) -> twill.Schedule:
    return static_schedule(paper_loop, paper_machine)


@pytest.fixture(scope="session")
def attention_schedule() -> twill.Schedule:
    return solved.stored("fa_fwd_hopper_in_order")


@pytest.fixture
def heard() -> Iterator[None]:
    """Let processes hear Ctrl-C, which those that a shell starts in the background do not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
