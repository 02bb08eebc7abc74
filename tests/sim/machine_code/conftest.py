"""The simulator of machine code as compiled, or in Python where a test changes it."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

import twill.sim
from tests.support import engine
from twill.artifacts.machine import Machine

PACKAGE = "twill.sim.machine_code"


def module(name: str) -> Any:
    """Return a module of the simulator, compiled or in Python, as it is imported just now."""
    return importlib.import_module(f"{PACKAGE}.{name}")


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the simulator be Python: methods that are compiled cannot be replaced."""
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        monkeypatch.delitem(sys.modules, name)
    finders = [finder for finder in sys.meta_path if not isinstance(finder, engine.Compiled)]
    monkeypatch.setattr(sys, "meta_path", finders)
    monkeypatch.setattr(twill.sim, "machine_code", None, raising=False)
    assert module("sm").__file__.endswith(".py")


def entries(machine: str) -> tuple[list[tuple[str, tuple[str, ...], dict[str, float]]], str]:
    """Return what the machine file says of instructions, as `costs_of` takes it."""
    found = Machine.named(machine).instructions or ()
    values = [{name: cost.value for name, cost in one.costs.items()} for one in found]
    return [(one.pipe, one.opcodes, v) for one, v in zip(found, values, strict=True)], "a test"
