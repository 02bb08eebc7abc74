"""Instructions of single operations against the rules of machine files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.commands import TWILL, in_process
from twill.artifacts.machine import Machine
from twill.base.errors import InputError
from twill.compiled import operations
from twill.compiled.cubin import Cubin
from twill.compiled.operations import OPERATIONS, calibrate

INSTRUCTIONS = {
    "*": "FMUL", "-": "FADD", "+": "FADD", "maximum": "FMNMX", "exp2": "MUFU.EX2",
    "float16": "F2FP", "gl.max": "FMNMX", "sum": "FADD",
}  # fmt: skip


def compiler(number: int) -> object:
    """Return what stands for a compiler: it makes so many instructions of each operation."""

    def compile_file(file: str, architecture: int) -> Cubin:
        stored = re.search(r"gl.store\(y_ptr \+ \w+, (.*)\)", Path(file).read_text())
        assert stored
        names = [name for key, name in INSTRUCTIONS.items() if key in stored[1]]
        listing = "\n".join([f"/*0000*/ {name} R1, R2 ;" for name in names[:1]] * number)
        return Cubin("kernel", architecture, 4, 0, 0, "", f"/*0000*/ FADD R1, R2 ;\n{listing}")

    return compile_file


@pytest.mark.parametrize(("number", "differing"), [(64, 3), (65, 3), (66, 9), (62, 9)])
def test_three_per_cent_are_no_difference(
    number: int, differing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Always there are a cast of half as many, and two reductions with shuffles."""
    monkeypatch.setattr(operations, "compile_file", compiler(number))
    told: list[str] = []

    def say(message: str) -> None:
        told.append(message)

    found = calibrate(Machine.named("hopper_h100"), say)
    assert told == [operation.name for operation in OPERATIONS]
    assert (found.architecture, found.shape) == ("sm_90a", (64, 128))
    assert len({row.operation for row in found.rows if row.differs}) == differing
    counted = {row.operation: row.counted for row in found.rows if row.pipe == "fma"}
    assert counted["mul"] == number


def test_a_machine_of_another_architecture_is_refused() -> None:
    with pytest.raises(InputError, match="architecture: operations are compiled for sm_90 or"):
        calibrate(Machine.named("paper_example"))


def test_the_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    done = in_process(*TWILL, "calibrate", "hopper_h100")
    assert (done.returncode, "--from-cubin" in done.stderr) == (2, True)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = in_process(*TWILL, "calibrate", "--from-cubin", "hopper_h100")
    assert done.returncode == 2
    assert "pip install '.[triton]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
