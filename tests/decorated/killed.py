"""First calls that are killed at any moment: the next call is right, and no kept file is corrupt.

``python -m tests.decorated.killed [SEED]`` prints what came of 20 of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from twill.base.files import FOLDER_VARIABLE
from twill.decorated.devices import VARIABLE

ROOT = Path(__file__).parents[2]
COUNT = 20
POLL_SECONDS = 0.001
CALL = """
import sys
from functools import partial
import numpy as np
import twill
from twill.decorated import answers
answers.schedule = partial(twill.schedule, model="paper")
sys.path.append("traces/kernels")
from gemm import gemm_pointers
kernel = twill.jit(gemm_pointers, machine="hopper_h100", on_refusal="error")
a, b, c = (np.ones((64, 64), np.float16) for _ in range(3))
kernel[1, 1](a, b, c, 64, 64, 64, 64, M=64, N=64, K=64)
assert (c == 64).all()
"""
"""A first call, of which a static schedule will do."""


def _started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CALL],
        cwd=ROOT,
        env={**os.environ, FOLDER_VARIABLE: str(folder), VARIABLE: "1", "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait(process: subprocess.Popen[str], folder: Path, seconds: float | None) -> None:
    """Wait so long, or until there is a file in the folder."""
    end = time.monotonic() + (seconds or 0.0)
    while process.poll() is None:
        if time.monotonic() > end if seconds is not None else any(folder.iterdir()):
            return
        time.sleep(POLL_SECONDS)


def killed(seconds: float | None) -> str:
    """Kill a first call after so long, or when it writes; return what is wrong afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _started(folder) as process:
            _wait(process, folder, seconds)
            process.kill()
        kept = {file: file.read_text() for file in folder.glob("kernel_*")}
        with _started(folder) as process:
            said = process.communicate()[1]
        if process.returncode or "Traceback" in said:
            return f"status {process.returncode}: {said[-300:]}"
        if len(found := list(folder.glob("kernel_*"))) != 1:
            return f"{len(found)} kernels"
        changed = [file.name for file, text in kept.items() if file.read_text() != text]
        return f"{changed} was not whole" if changed else ""


def campaign(count: int, seed: int) -> list[str]:
    """Kill first calls, half of them when they write; return what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        began = time.monotonic()
        with _started(Path(name)) as process:
            said = process.communicate()[1]
        assert not process.returncode, said
        whole = time.monotonic() - began
    random = Random(seed)
    moments = [None if n % 2 else random.uniform(0.0, whole) for n in range(count)]
    return [wrong for wrong in map(killed, moments) if wrong]


if __name__ == "__main__":
    wrong = campaign(COUNT, int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print("\n".join([f"{COUNT} killed, {len(wrong)} wrong", *wrong]))
