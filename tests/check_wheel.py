"""Build sdist and wheel, compare with the tree, run the wheel elsewhere; see `make wheel`.

The wheel's engine is compiled: it has to say what the tree's, which is Python, says.
Tests use it from then on.

Run as a module, not by pytest: it installs into a clean environment.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

from tests.support import engine

ROOT = Path(__file__).parents[1]
KINDS = {".py", ".toml", ".json", ".mlir", ".csv", ".typed", ".j2", ".css", ".js"}
# Read by nothing that is packaged, but one file.
MEASURED = ("traces/measure/", "traces/measured/", "traces/results/")
READ = "traces/results/predictions.csv"
HAND_WRITTEN = "twill/traces/schedules/paper_example_by_hand.json"
# Programs of both architectures, with parts, copies and turns, under conditions that use all else.
PROGRAMS = ["fa3_forward_128x128_parts", "fa4_forward_rescaling"]
CONDITIONS = "--warp-scheduler oldest --latency mixture --values --trace trace.json"


def run(*command: str | Path, folder: Path = ROOT) -> str:
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def runs(program: Path, python: Path, folder: Path) -> tuple[str, bytes]:
    """Return the report and the timeline of a run."""
    options = ["--json", *CONDITIONS.split()]
    report = run(python, "-m", "twill.sim", "run", program, *options, folder=folder)
    return report, (folder / "trace.json").read_bytes()


def tree() -> set[str]:
    """Return what a wheel must hold: tracked files of the package, links followed."""
    tracked = run("git", "ls-files", "twill", "sim", "machines", "traces").split()
    rooms = {"sim", "machines", "traces"}
    files = {
        f"twill/{name}" if name.split("/")[0] in rooms else name
        for name in tracked
        if Path(name).suffix in KINDS and (name == READ or not name.startswith(MEASURED))
    }
    assert len(files) > 60, files
    return files


def check(folder: Path) -> None:
    run(sys.executable, "-m", "build", "--outdir", folder)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    with tarfile.open(sdist) as archive:
        assert any(name.endswith("sim/engine/sm.py") for name in archive.getnames())
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("twill/")}
        compiled = {name for name in held if name.endswith(".so")}
        assert compiled, "no engine was compiled: is there a C compiler?"
        engine.keep(archive)
    held -= compiled
    assert held == tree(), (sorted(tree() - held), sorted(held - tree()))

    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    where = run(python, "-c", "import twill; print(twill.__path__[0])", folder=elsewhere).strip()
    assert str(environment) in where, where
    schedule = Path(where).parent / HAND_WRITTEN
    result = run(python, "-m", "twill.sim", "run", schedule, "--json", folder=elsewhere)
    assert json.loads(result)["iterations_per_cycle"] == 0.5
    for name in PROGRAMS:
        program = Path(where) / "traces" / "schedules" / f"{name}.json"
        told = [runs(program, Path(which), elsewhere) for which in (python, sys.executable)]
        assert told[0] == told[1], f"the compiled engine says something else of {name}"
    made = elsewhere / "schedule.json"
    twill = environment / "bin" / "twill"
    run(twill, "schedule", "paper_example", "-m", "paper_example", "-o", made, folder=elsewhere)
    run(twill, "verify", made, folder=elsewhere)
    sys.stdout.write(f"{wheel.name}: {len(held)} files, as in the tree; runs from another folder\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="twill-wheel-") as name:
        check(Path(name))
