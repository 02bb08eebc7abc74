"""What is said of the installation: all that is depended on, and only what works as working."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from twill.base.errors import MissingLibraryError
from twill.studies import installation

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
FOR_DEVELOPERS = {"browser", "mutation", "test"}


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=~!,\[ ]", one)[0] for one in requirements}


def test_all_that_is_depended_on_is_told_and_nothing_else() -> None:
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = {
        name: extra
        for extra, some in project["optional-dependencies"].items()
        if extra not in FOR_DEVELOPERS
        for name in names(some)
    }
    assert set(installation.PACKAGES) == names(project["dependencies"])
    assert {name: extra for name, (extra, _) in installation.EXTRAS.items()} == extras


def test_what_the_tests_run_with_works() -> None:
    found = installation.installation()
    assert [one for one in found if one.required and not one.version] == []
    assert [one for one in found if bool(one.version) == bool(one.remedy)] == []


def test_a_package_whose_library_is_missing_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_library() -> None:
        raise MissingLibraryError("no libyices")

    monkeypatch.setitem(installation.PACKAGES, "yices", (without_library, "finding"))
    yices = installation.installation()[0]
    assert (yices.version, yices.problem) == ("", "no libyices")
    assert "yices" in yices.remedy


def test_a_driver_without_a_gpu_is_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho no devices were found; exit 6\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    gpu = installation.installation()[-1]
    assert (gpu.name, gpu.version) == ("GPU", "")
    assert "6" in gpu.problem
    program.write_text("#!/bin/sh\necho NVIDIA H100 80GB HBM3\n")
    assert installation.installation()[-1].version == "NVIDIA H100 80GB HBM3"


def test_the_shell_completes_commands() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("twill")],
        env={"_TWILL_COMPLETE": "complete_bash", "COMP_WORDS": "twill sch", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["schedule"]
