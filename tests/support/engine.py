"""The compiled simulators, as the wheel has them, for tests: `make engine` builds them.

They lie in a folder that is named after their sources, apart from them, so that no change of a
source is hidden by what was compiled before, and that nothing but tests and campaigns finds them.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PACKAGES = ("twill.sim.engine", "twill.sim.machine_code")
BUILD = ROOT / "build" / "engine"


def folder() -> Path:
    """Return where the engine lies that is compiled from the sources as they are."""
    digest = hashlib.sha256(sys.version.encode())
    folders = [ROOT.joinpath(*package.split(".")[1:]) for package in PACKAGES]
    sources = [source for folder in folders for source in sorted(folder.glob("*.py"))]
    for source in (ROOT / "setup.py", *sources):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return BUILD / digest.hexdigest()[:16]


class Compiled(importlib.abc.MetaPathFinder):
    """Finds the modules of the engine that are compiled, and what they share."""

    def __init__(self, where: Path) -> None:
        self.where = where

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,  # noqa: ARG002 - where the package lies
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the compiled module of a name, None for all others."""
        package = name.rpartition(".")[0]
        if package not in PACKAGES and not name.endswith("__mypyc"):
            return None
        within = str(self.where.joinpath(*package.split(".")))
        return importlib.machinery.PathFinder.find_spec(name, [within], target)


def use() -> bool:
    """Let this process import the compiled engine, if there is one of these sources."""
    where = folder()
    if where.is_dir():
        sys.meta_path.insert(0, Compiled(where))
    return where.is_dir()


def build() -> str:
    """Compile the engine unless it is there, and return what was done."""
    where = folder()
    if where.is_dir():
        return f"{where.relative_to(ROOT)} is there"
    if shutil.which("cc") is None:
        return "there is no C compiler: tests use the engine in Python"
    shutil.rmtree(BUILD, ignore_errors=True)
    made = BUILD / "made"
    command = (
        "setup.py",
        "-q",
        "build_ext",
        "--build-lib",
        made,
        "--build-temp",
        BUILD / "objects",
    )
    subprocess.run((sys.executable, *command), cwd=ROOT, check=True)
    shutil.rmtree(BUILD / "objects")
    made.rename(where)
    return f"compiled {where.relative_to(ROOT)}"


def keep(wheel: zipfile.ZipFile) -> None:
    """Keep the engine that a wheel of these sources holds, so that it is not compiled again."""
    shutil.rmtree(BUILD, ignore_errors=True)
    made = BUILD / "made"
    wheel.extractall(made, [name for name in wheel.namelist() if name.endswith(".so")])
    made.rename(folder())
