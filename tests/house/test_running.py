"""Runs of the tests: what they take is measured, and what they leave behind is noticed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.test_house import ROOT
from tests.support import engine

TESTS = """
import tempfile
import time

import pytest


def work(seconds):
    begin = time.process_time()
    while time.process_time() < begin + seconds:
        pass


@pytest.fixture(scope="module")
def dear():
    work(0.3)


def test_of_a_dear_fixture(dear):
    work(0.1)


def test_that_leaves_a_file():
    tempfile.mkstemp(prefix="mistake")
"""


@pytest.mark.parametrize(
    "processes", ["0", pytest.param("1", marks=[pytest.mark.slow, pytest.mark.sample])]
)
def test_seconds_are_charged_and_files_that_are_left_are_noticed(
    processes: str, tmp_path: Path
) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\ntestpaths = ["small"]\naddopts = "-m \'not slow\'"\n'
        "markers = ['slow', 'torch']\n"
        "[tool.twill.limits]\nseconds-of-a-test = 0.05\nseconds-of-the-tests = 0.1\n"
    )
    (tmp_path / "small" / "test_made_up.py").write_text(TESTS)
    options = ("-n", processes, "-p", "tests.conftest", "--processor-times", "times.json")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *options),
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "left in the temporary folder: mistake" in done.stdout
    assert "test_of_a_dear_fixture: 0.1 processor seconds, 0.05 allowed" in done.stdout
    assert "the default suite: " in done.stdout
    times = json.loads((tmp_path / "times.json").read_text())
    assert times["fixtures"]["small/test_made_up.py::dear"] == pytest.approx(0.3, abs=0.1)
    first = times["tests"]["small/test_made_up.py::test_of_a_dear_fixture"]
    assert first["call"] == pytest.approx(0.1, abs=0.05)
    assert times["seconds"] > 0.4


def test_what_was_compiled_before_a_source_changed_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "sim" / "engine", tmp_path / "sim" / "engine")
    shutil.copy(ROOT / "setup.py", tmp_path)
    monkeypatch.setattr(engine, "ROOT", tmp_path)
    monkeypatch.setattr(engine, "BUILD", tmp_path / "build")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    engine.folder().mkdir(parents=True)
    before = len(sys.meta_path)
    assert engine.use()
    assert len(sys.meta_path) == before + 1
    with (tmp_path / "sim" / "engine" / "sm.py").open("a") as source:
        source.write("\n")
    assert not engine.use()
    assert len(sys.meta_path) == before + 1


@pytest.mark.slow
@pytest.mark.sample
def test_mutants_find_the_tests_that_they_are_tested_by(tmp_path: Path) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    # mutmut itself copies what it mutates, the tests and pyproject.toml.
    for name in ["tests", "pyproject.toml", *settings["source_paths"], *settings["also_copy"]]:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    tests = settings["pytest_add_cli_args_test_selection"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    told = subprocess.run(
        [*command, *tests], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout[-2000:] + told.stderr[-2000:]
