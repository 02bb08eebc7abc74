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
class CONFIG:
    least_iterations = 3
    simulated_cycles = 990
def check(iterations):
    assert iterations < 64, "o_desc: relative error 2.0e-01"
def bench(iterations):
    return [0.5 * iterations, 0.4 * iterations, 0.6 * iterations]
"""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A machine with a GPU, as far as PyTorch says."""
    cuda = SimpleNamespace(
        is_available=lambda: True,
        get_device_capability=lambda: (9, 0),
        get_device_name=lambda: "NVIDIA H200",
        clock_rate=lambda: 1980,
    )
    known = {"torch": SimpleNamespace(cuda=cuda, __version__="2.9", __spec__=object())}
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
    assert (found.device, found.capability, found.clock_mhz) == ("NVIDIA H200", "sm_90", 1980.0)
    times = (found.trips[0].median, found.trips[0].low, found.trips[0].high)
    assert times == pytest.approx((1.5, 1.2, 1.8))
    assert found.trips[3].wrong == "o_desc: relative error 2.0e-01"
    assert not found.passed
    # Between 8 and 32; 64 are wrong.
    assert found.iteration_ns == pytest.approx(0.5e6)
    assert found.iteration_cycles == pytest.approx(990e3)
    kernels.print_measured(found)
    told = "each further iteration takes 500000 ns, 990000 cycles; on the simulated SM the loop's"
    assert f"{told} takes 990\n" in capsys.readouterr().out
    SCHEMAS["measured-kernel"].model_validate_json(json_text("measured-kernel", asdict(found)))


def test_the_clock_is_read_while_launches_are_timed(
    machine: SimpleNamespace, tmp_path: Path
) -> None:
    file = tmp_path / "launching"
    launches = f"""
    from pathlib import Path
    import time
    Path(r"{file}").touch()
    time.sleep(0.2)
    Path(r"{file}").unlink()
    return [0.5, 0.4, 0.6]
"""
    text = KERNEL.partition("    return [")[0] + launches.removeprefix("\n")
    machine.clock_rate = lambda: 1600 if file.exists() else 1980
    assert kernels.measured(written(tmp_path, text), [8]).clock_mhz == 1600


def test_the_clock_is_the_drivers_where_its_library_is_missing(
    machine: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        '#!/bin/sh\ntest "$1 $2" = "--id=GPU-7a --query-gpu=clocks.sm" && echo 1755\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    del machine.clock_rate
    machine.get_device_properties = lambda: SimpleNamespace(uuid="7a")
    assert kernels.measured(written(tmp_path), [8]).clock_mhz == 1755
    machine.get_device_properties = lambda: SimpleNamespace(uuid="8b")
    found = kernels.measured(written(tmp_path), [3, 8])
    assert (found.clock_mhz, found.iteration_cycles) == (None, None)


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
