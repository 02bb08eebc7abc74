"""Commands without a process of their own: what they print, and how they end."""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from twill.base.console import run_app
from twill.cli.main import main as twill_main
from twill.cli.main import simulator

TWILL = ("twill",)
SIM = ("python", "-m", "twill.sim")


def in_process(*command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Return what a command writes and its exit status, as `subprocess.run` does.

    It starts with ``twill`` or ``python -m`` and a module, and takes the way of a process from
    its entry point on, less a second of imports. `test_cli` and the README start processes.
    """
    main, words = _entry(command)
    out, err = io.StringIO(), io.StringIO()
    before = signal.getsignal(signal.SIGINT)  # a process lets Ctrl-C end itself
    with (
        contextlib.chdir(folder or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", [command[0], *words]),
    ):
        try:
            status = _status(main)
        finally:
            signal.signal(signal.SIGINT, before)
    return subprocess.CompletedProcess(command, status, out.getvalue(), err.getvalue())


def _entry(command: tuple[str, ...]) -> tuple[Callable[[], None], tuple[str, ...]]:
    if command[:1] == TWILL:
        return twill_main, command[1:]
    assert command[:2] == ("python", "-m"), command
    return partial(run_app, app_of(command[2])), command[3:]


def app_of(module: str) -> Any:
    """Return the tree of commands of a module, None if it has none."""
    if module == "twill.sim":
        return simulator
    return getattr(importlib.import_module(module), "app", None)


def _status(main: Callable[[], None]) -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
