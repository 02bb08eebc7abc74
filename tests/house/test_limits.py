"""How large what a reader meets may be: modules, functions, classes, folders, and the whole."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house.test_house import ROOT, own_files, sources

LIMITS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["twill"]["limits"]
KERNELS = tuple(ROOT / "traces" / folder for folder in ("kernels", "gallery"))
"""Triton kernels, whose parameters are pointers and strides."""
LONG_FACES = {"twill"}
"""Folders whose `__init__.py` is longer than a face all the same."""


def lines(files: list[Path]) -> int:
    return sum(len(file.read_text().splitlines()) for file in files)


def own_tests() -> list[Path]:
    data = ROOT / "tests" / "data"
    return [file for file in sources("tests") if data not in file.parents]


def words_of_the_docs() -> int:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return sum(len(page.read_text().split()) for page in pages)


WHOLE: dict[str, Callable[[], int]] = {
    "lines-of-the-product": lambda: lines(own_files()),
    "lines-of-the-tests": lambda: lines(own_tests()),
    "words-of-the-docs": words_of_the_docs,
}
"""How much there is of everything; `tests/support/processor.py` adds up the seconds."""


@pytest.mark.parametrize("what", WHOLE)
def test_the_whole_stays_within_its_limit(what: str) -> None:
    """A limit is lowered with what it counts; what raises one says why in its commit."""
    found, most = WHOLE[what](), LIMITS[what]
    assert found <= most, f"{what}: {found}, and {most} in pyproject.toml"
    assert found > 0.95 * most, f"{what}: {found}, lower the {most} in pyproject.toml"


def without_docstring(function: ast.FunctionDef) -> int:
    """Return the lines of a function but for its docstring."""
    whole = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is None:
        return whole
    text = function.body[0]
    return whole - ((text.end_lineno or 0) - text.lineno + 1)


def positional(function: ast.FunctionDef) -> int:
    """Return how many parameters a caller may not name, the object itself aside."""
    given = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return len(given) - (given[:1] in (["self"], ["cls"]))


def measured(file: Path, text: str) -> Iterator[tuple[str, int, str]]:
    """Yield what of a module has a limit, how much of it there is, and where."""
    yield "lines-of-a-module", len(text.splitlines()), file.name
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            where = f"{file.name}:{node.lineno} {node.name}"
            yield "lines-of-a-function", without_docstring(node), where
            if file.parent not in KERNELS:
                yield "parameters-of-a-function", positional(node), where
                every = positional(node) + len(node.args.kwonlyargs)
                if node.name.startswith("_"):
                    yield "parameters-of-a-function", every, where


def test_nothing_is_larger_than_a_reader_should_meet() -> None:
    over = [
        f"{where}: {amount} {what}"
        for file in own_files()
        for what, amount, where in measured(file, file.read_text())
        if amount > LIMITS[what]
    ]
    folders = Counter(file.parent for file in own_files() if file.name != "__init__.py")
    over += [f"{f}: {n} modules" for f, n in folders.items() if n > LIMITS["modules-of-a-folder"]]
    assert not over, "\n".join(over)


def test_an_init_is_a_face() -> None:
    faces = {file: len(file.read_text().splitlines()) for file in own_files()}
    long = {
        str(file.parent.relative_to(ROOT))
        for file, lines in faces.items()
        if file.name == "__init__.py" and lines > LIMITS["lines-of-a-face"]
    }
    assert long == LONG_FACES


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("lines-of-a-module", "x = 1\n" * 401),
        ("lines-of-a-function", "def f():\n" + " x = 1\n" * 60),
        ("parameters-of-a-function", "def f(a, b, c, d, e, f, g, h): pass"),
        ("parameters-of-a-function", "def _f(a, b, c, *, d, e, f, g, h): pass"),
    ],
)
def test_what_is_larger_is_noticed(what: str, text: str) -> None:
    found = [w for w, amount, _ in measured(ROOT / "made_up.py", text) if amount > LIMITS[w]]
    assert found == [what]
