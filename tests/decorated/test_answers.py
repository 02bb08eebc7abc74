"""Kept answers: right or one line, nothing corrupt, whatever happens to their folder."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import twill
from tests.decorated.killed import COUNT, campaign
from tests.support.solved import HOPPER
from twill.base.files import FOLDER_VARIABLE
from twill.decorated import answers
from twill.decorated.answers import How, answer
from twill.decorated.calls import Call
from twill.decorated.devices import Device

KERNEL = "SIGNATURE = {}  # of a kernel\n" * 100
NOWHERE = "/proc/self/twill"  # not even root can write there
LIMITED_BYTES = 1000


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Note which sources are scheduled, of which this is the kernel."""
    monkeypatch.setattr(answers, "own_folder", lambda: tmp_path / "own")
    found: list[str] = []

    def emitted(kernel: Any, *_: Any) -> str:
        found.append(kernel.cache_key)
        return KERNEL

    monkeypatch.setattr(answers, "_emitted", emitted)
    monkeypatch.setattr(answers, "version", lambda _: "3.9.0")
    return found


def _answered(source: str = "source") -> str:
    """Return the kernel of a call, or why there is none."""
    device = Device(twill.Machine.named(HOPPER), emulated=True)
    found = answer(SimpleNamespace(cache_key=source), Call("key", {}, {}), device, How())
    return found.refused if found.file is None else found.file.read_text().partition("\n")[2]


def _files(folder: Path) -> list[str]:
    return sorted(file.name[:7] for file in folder.iterdir())


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0", KERNEL.encode(), b"# twill-kernel-1"])
def test_a_file_that_is_no_answer_is_replaced(
    content: bytes, searches: list[str], no_users_cache: Path
) -> None:
    assert _answered() == KERNEL
    (file,) = no_users_cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(content)
    assert _answered() == _answered() == KERNEL
    assert searches == ["source"] * 2
    assert file.read_bytes() == whole


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_is_no_file_is_neither_read_nor_replaced(
    kind: str, searches: list[str], no_users_cache: Path, tmp_path: Path
) -> None:
    assert _answered() == KERNEL
    (file,) = no_users_cache.iterdir()
    other = tmp_path / "other"
    file.rename(other)
    if kind == "folder":
        file.mkdir()
    else:
        file.symlink_to(other)
    other.write_text("mine")
    assert _answered() == KERNEL
    assert searches == ["source"] * 2
    assert other.read_text() == "mine"
    assert file.is_dir() or file.is_symlink()


def test_another_source_or_triton_is_another_answer(
    searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _answered() == _answered("changed") == _answered() == KERNEL
    assert searches == ["source", "changed"]
    monkeypatch.setattr(answers, "version", lambda _: "3.10.0")
    assert _answered() == KERNEL
    assert searches == ["source", "changed", "source"]


def test_a_folder_that_cannot_be_made_stops_nothing(
    searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, NOWHERE)
    assert _answered() == _answered() == KERNEL
    assert searches == ["source"] * 2
    monkeypatch.setattr(answers, "own_folder", lambda: Path(NOWHERE))
    assert _answered() == "its emitted kernel can be written to no folder"


def test_a_full_disk_leaves_no_part_of_a_file(
    searches: list[str], no_users_cache: Path, tmp_path: Path
) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMITED_BYTES, limit[1]))
    try:
        found = _answered()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert found == "its emitted kernel can be written to no folder"
    assert not [*no_users_cache.iterdir(), *(tmp_path / "own").iterdir()]
    assert _answered() == KERNEL
    assert searches == ["source"] * 2


def _all(sources: list[str]) -> set[str]:
    return {_answered(source) for source in sources}


def test_processes_share_a_folder(searches: list[str], no_users_cache: Path) -> None:
    sources = [f"source {n}" for n in range(10)]
    with get_context("fork").Pool(2) as pool:
        assert pool.map(_all, [sources, sources], chunksize=1) == [{KERNEL}] * 2
    assert _files(no_users_cache) == ["kernel_"] * 10
    assert _all(sources) == {KERNEL}
    assert not searches


def test_the_end_of_a_fork_leaves_the_folder_of_its_parent(tmp_path: Path) -> None:
    text = (
        "import os, sys; from twill.decorated.answers import own_folder; print(own_folder())\n"
        "if not os.fork(): sys.exit()\n"
        "os.wait(); print(own_folder().is_dir())"
    )
    command, environment = [sys.executable, "-uc", text], {**os.environ, "TMPDIR": str(tmp_path)}
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    folder, is_there = made.stdout.split()
    assert is_there == "True"
    assert not Path(folder).exists()


@pytest.mark.slow
@pytest.mark.triton
def test_killed_first_calls_leave_nothing_corrupt() -> None:
    assert not campaign(COUNT, seed=0)
