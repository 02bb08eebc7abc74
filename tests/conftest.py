"""Fixtures that many tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

import twill
from twill.cache import FOLDER_VARIABLE


@pytest.fixture(autouse=True)
def no_users_cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Every test, and every command that it calls, has a cache of its own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    return folder


@pytest.fixture(autouse=True)
def no_users_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test's tables are as narrow as the terminal in which it happens to run."""
    monkeypatch.delenv("COLUMNS", raising=False)


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
    return twill.schedule(paper_loop, paper_machine)


@pytest.fixture(scope="session")
def attention_schedule(attention: twill.Loop, hopper: twill.Machine) -> twill.Schedule:
    return twill.schedule(attention, hopper, orders=[("s0", "s1")])
