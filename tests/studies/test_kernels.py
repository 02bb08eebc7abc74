"""Kernels on a GPU: what is asked of the file, and what is said where there is none."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.commands import in_process
from twill.base.errors import InputError, MissingLibraryError
from twill.cli.command import json_text
from twill.schemas import SCHEMAS
from twill.studies import kernels

KERNEL = """
def launched(function):
    class Entry:
        def __getitem__(self, grid):
            return self.run

        def run(self, clocks, x):  # starts at 7000, ends 990 cycles later for each iteration
            clocks[0], clocks[64] = 7000, 7000 + 990 * x + len(clocks)

    return Entry()

def compute(x):
    return x
def other(x):
    compute(x)
@launched
def entry(x):
    compute(x)
KERNEL = "entry"
SIGNATURE = {"x": "i32"}
def make_arguments(iterations):
    return {"x": iterations}, (1, 1, 1)
def launch(arguments, grid):
    entry[grid](arguments["x"])
class CONFIG:
    least_iterations = 3
    simulated_cycles = 990
def check(iterations):
    assert iterations < 64, "o_desc: relative error 2.0e-01"
def bench(iterations):
    return [0.5 * iterations, 0.4 * iterations, 0.6 * iterations]
"""


class Numbers(list[int]):
    """A tensor of integers."""

    def tolist(self) -> list[int]:
        return list(self)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A machine with a GPU, as far as PyTorch says."""
    cuda = SimpleNamespace(
        is_available=lambda: True,
        get_device_capability=lambda: (9, 0),
        get_device_name=lambda: "NVIDIA H200",
        synchronize=lambda: None,
    )
    torch = SimpleNamespace(cuda=cuda, __version__="2.9", __spec__=object(), int64=None)
    torch.zeros = lambda size, **_: Numbers([0] * size)
    known = {"torch": torch}
    known["triton"] = SimpleNamespace(__version__="3.9.0", __spec__=object())
    monkeypatch.setattr(kernels, "_library", known.__getitem__)
    return cuda


def written(folder: Path, text: str = KERNEL) -> Path:
    file = folder / "kernel_on_gpu.py"
    file.write_text(text)
    return file


@pytest.mark.usefixtures("machine")
def test_a_kernel_is_checked_and_timed_from_its_least_trip_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = kernels.measured(written(tmp_path))
    assert [t.iterations for t in found.trips] == [3, 8, 32, 64]
    assert (found.device, found.capability) == ("NVIDIA H200", "sm_90")
    times = (found.trips[0].median, found.trips[0].low, found.trips[0].high)
    assert times == pytest.approx((1.5, 1.2, 1.8))
    assert found.trips[3].wrong == "o_desc: relative error 2.0e-01"
    assert not found.passed
    # Between 8 and 32; 64 are wrong.
    assert found.iteration_ns == pytest.approx(0.5e6)
    # Counted by the chip; its rate follows.
    assert (found.iteration_cycles, found.clock_mhz) == pytest.approx((990, 1.98))
    kernels.print_measured(found)
    told = "each further iteration takes 500000 ns, 990 cycles; on the simulated SM the loop's"
    assert f"{told} takes 990\n" in capsys.readouterr().out
    SCHEMAS["measured-kernel"].model_validate_json(json_text("measured-kernel", asdict(found)))


@pytest.mark.usefixtures("machine")
def test_a_kernel_without_partitions_has_no_cycles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = KERNEL.replace("    compute(x)\nKERNEL", "    x()\nKERNEL")
    assert kernels.measured(written(tmp_path, text)).iteration_cycles is None
    assert "cycles are not counted" in capsys.readouterr().err


@pytest.mark.usefixtures("machine")
def test_a_file_that_is_no_kernel_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no emitted kernel: it has no bench"):
        kernels.measured(written(tmp_path, KERNEL.replace("def bench", "def other")))


def test_without_a_gpu_the_way_without_one_is_said(
    machine: SimpleNamespace, tmp_path: Path
) -> None:
    machine.is_available = lambda: False
    with pytest.raises(InputError, match="finds no GPU"):
        kernels.measured(written(tmp_path))


def test_without_pytorch_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingLibraryError, match="torch is not installed"):
        kernels.measured(written(tmp_path))


def test_the_command_ends_in_one_line(tmp_path: Path) -> None:
    file = written(tmp_path)
    done = in_process("twill", "run-kernel", str(file), folder=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--emulate" in done.stderr
