"""Mistakes of published kernels, made in emitted ones: each is named by the emulator.

The threads are those of `tests/sim/test_known_bugs.py`. Not here are warps of one group that do not
wait for each other (facebookexperimental/triton#1992, #1133) and registers (cutlass#3308), of which
the emulator knows nothing.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from tests.emit.test_emit import capability, solved
from tests.sim.emulator.test_mistakes import told
from tests.support.pages import ROOT
from twill.emit import emitted
from twill.sim.emulator import emulate

ATTENTION = "fa_fwd_hopper"


@dataclass(frozen=True)
class Bug:
    """A change of an emitted kernel: what is replaced, what is said, and at which trip counts."""

    where: str
    kernel: str
    right: str
    wrong: str
    said: str
    shown_by: tuple[int, ...] = (1, 2)
    not_by: tuple[int, ...] = ()
    role: str = ""  # only in this function


BUGS = TypeAdapter(list[Bug]).validate_python(
    tomllib.loads((ROOT / "tests/data/mistakes/emitted.toml").read_text())["bug"]
)


@functools.cache
def kernel(name: str) -> str:
    return emitted(solved(name))


def changed(bug: Bug) -> str:
    """Return the kernel with the mistake."""
    text = kernel(bug.kernel)
    begin = text.index(f"def {bug.role}(") if bug.role else 0
    end = text.index("@gluon.jit", begin) if bug.role else len(text)
    part, count = re.subn(bug.right, bug.wrong, text[begin:end])
    assert count >= 1
    return text[:begin] + part + text[end:]


@pytest.mark.parametrize(
    "bug",
    [pytest.param(b, marks=[pytest.mark.slow] * (b.kernel == ATTENTION), id=b.where) for b in BUGS],
)
def test_a_mistake_of_a_published_kernel_is_named(bug: Bug, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(changed(bug))
    counts = sorted({*bug.shown_by, *bug.not_by})
    ways = {"iterations": counts, "capability": capability(bug.kernel)}
    found = emulate(file, victims=False, **ways)  # type: ignore[arg-type]
    failed = [run for run in found.runs if not run.passed]
    for run in failed:
        assert re.search(bug.said, told(run)), told(run)
    assert [run.iterations for run in failed] == list(bug.shown_by)
