"""How modules and classes depend on each other: circles, bases of one heir, methods with bases."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.house.test_house import ROOT, own_files
from tests.house.test_limits import LIMITS

Found = tuple[str, str]
"""A name, and the module in which it is."""
CIRCLES: set[str] = set()
"""Modules that are in a circle all the same."""
SINGLE_HEIRS: set[str] = set()
"""Bases that have one heir and are never made all the same."""
MANY_METHODS: set[str] = set()
"""Classes that have too many methods all the same."""


def dotted(file: Path) -> str:
    """Return the name of a module."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[0] == "twill" else ("twill", *parts)).removesuffix(".__init__")


@dataclass
class Module:
    """One module: what it imports under which name, its classes with bases, what it calls."""

    name: str
    names: dict[str, Found] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)


def read(name: str, text: str, known: Iterable[str]) -> Module:
    """Return what a module says; imports of any depth count, those for type checkers too."""
    found = Module(name)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.modules.add(whole if whole in known else node.module)
                found.names[alias.asname or alias.name] = (alias.name, node.module)
        elif isinstance(node, ast.Import):
            found.modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            found.classes[node.name] = node
        elif isinstance(node, ast.Call):
            made = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            found.called |= {made.id} if isinstance(made, ast.Name) else set()
    found.modules &= set(known)
    return found


@cache
def house() -> dict[str, Module]:
    """Return the modules of the project by name."""
    files = {dotted(file): file for file in own_files()}
    return {name: read(name, file.read_text(), files) for name, file in files.items()}


def meant(modules: Mapping[str, Module], module: str, name: str) -> Found | None:
    """Return where a class lies that a module calls by a name, through faces that hand it on."""
    one = modules.get(module)
    if one is None or name in one.classes:
        return None if one is None else (name, module)
    known_as = one.names.get(name)
    return None if known_as in (None, (name, module)) else meant(modules, known_as[1], known_as[0])


def bases(modules: Mapping[str, Module], found: Found) -> Iterator[Found]:
    """Yield the bases of a class that lie in the project."""
    name, module = found
    for base in modules[module].classes[name].bases:
        named = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(named, ast.Name) and (one := meant(modules, module, named.id)) is not None:
            yield one


def methods(modules: Mapping[str, Module], found: Found) -> set[str]:
    """Return the methods of a class, those of its bases in the project too."""
    name, module = found
    body = modules[module].classes[name].body
    own = {entry.name for entry in body if isinstance(entry, ast.FunctionDef)}
    return own.union(*(methods(modules, base) for base in bases(modules, found)))


def every_class(modules: Mapping[str, Module]) -> list[Found]:
    return [(name, module) for module, one in modules.items() for name in one.classes]


def single_heirs(modules: Mapping[str, Module]) -> set[str]:
    """Return the bases that have one heir and are never made by themselves."""
    heirs = Counter(base for one in every_class(modules) for base in bases(modules, one))
    made = {meant(modules, name, one) for name, m in modules.items() for one in m.called}
    return {f"{m}.{name}" for (name, m), count in heirs.items() if count == 1} - {
        f"{one[1]}.{one[0]}" for one in made if one is not None
    }


def circles(modules: Mapping[str, Module]) -> set[str]:
    """Return the modules that import themselves by way of others."""
    after: dict[str, set[str]] = defaultdict(set)
    for name in modules:
        pending = [name]
        while pending:
            new = modules[pending.pop()].modules - after[name]
            after[name] |= new
            pending += new
    return {name for name in modules if name in after[name]}


def larger(modules: Mapping[str, Module]) -> set[str]:
    """Return the classes that have too many methods."""
    most = LIMITS["methods-of-a-class"]
    return {f"{m}.{n}" for n, m in every_class(modules) if len(methods(modules, (n, m))) > most}


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circles(house()) == CIRCLES


def test_no_base_has_one_heir_and_is_never_made() -> None:
    assert single_heirs(house()) == SINGLE_HEIRS


def test_no_class_has_too_many_methods_with_those_of_its_bases() -> None:
    assert larger(house()) == MANY_METHODS


MANY = "".join(f"    def f{n}(self): pass\n" for n in range(LIMITS["methods-of-a-class"]))
HEIR = "from a import A\nclass B(A):\n    def g(self): pass\nB()\n"
MADE_UP = {
    "late": {"a": "def f():\n    from b import g\n", "b": "import a\n"},
    "typing": {"a": "if TYPE_CHECKING:\n    from b import C\n", "b": "from a import D\n"},
    "heir": {"a": "class A: pass\n", "b": HEIR},
    "methods": {
        "a": f"class A:\n{MANY}A()\n",
        "b": HEIR,
    },
}


@pytest.mark.parametrize("wrong", MADE_UP)
def test_what_is_wrong_is_found(wrong: str) -> None:
    texts = MADE_UP[wrong]
    modules = {name: read(name, text, texts) for name, text in texts.items()}
    assert (circles(modules) == {"a", "b"}) == (wrong in ("late", "typing"))
    assert (single_heirs(modules) == {"a.A"}) == (wrong == "heir")
    assert (larger(modules) == {"b.B"}) == (wrong == "methods")
