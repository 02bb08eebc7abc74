"""The tree of an emitted module: its functions and their statements.

Expressions are text. Every node knows which names it defines, and which it uses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar


@lru_cache(maxsize=4096)
def names_in(expression: str) -> frozenset[str]:
    """Return the names that an expression uses; attributes and keywords are none."""
    walked = ast.walk(ast.parse(expression, mode="eval"))
    return frozenset(node.id for node in walked if isinstance(node, ast.Name))


@dataclass(frozen=True)
class Node:
    """A part of a module; `DEFINING` and `USING` are its fields that are targets or expressions."""

    DEFINING: ClassVar[Sequence[str]] = ()
    USING: ClassVar[Sequence[str]] = ()

    @property
    def defines(self) -> frozenset[str]:
        """Names that it defines."""
        return self._names(self.DEFINING) | defined_by(getattr(self, "body", ()))

    @property
    def uses(self) -> frozenset[str]:
        """Names that it uses."""
        return self._names(self.USING) | used_by(getattr(self, "body", ()))

    def _names(self, fields: Sequence[str]) -> frozenset[str]:
        found = [getattr(self, field) for field in fields]
        texts = (t for entry in found for t in ((entry,) if isinstance(entry, str) else entry))
        return frozenset[str]().union(*map(names_in, texts))


def defined_by(nodes: Iterable[Node]) -> frozenset[str]:
    """Return the names that nodes define."""
    return frozenset[str]().union(*(node.defines for node in nodes))


def used_by(nodes: Iterable[Node]) -> frozenset[str]:
    """Return the names that nodes use."""
    return frozenset[str]().union(*(node.uses for node in nodes))


@dataclass(frozen=True)
class Assignment(Node):
    """An assignment to a variable, or to several with commas between."""

    target: str
    value: str
    sign: str = "="
    DEFINING = ("target",)
    USING = ("value", "changed")

    @property
    def changed(self) -> Sequence[str]:
        """The variable that an augmented assignment also reads."""
        return () if self.sign == "=" else (self.target,)


@dataclass(frozen=True)
class Allocation(Assignment):
    """A buffer: its allocation, or the part of another buffer that it is."""


@dataclass(frozen=True)
class Barrier(Node):
    """A ring of mbarriers, or one without a ring: its `slots` are None."""

    target: str
    slots: int | None = 1
    arrivals: int = 1
    library: ClassVar[str] = "mbarrier"
    DEFINING = ("target",)
    USING = ("library",)

    def slot(self, index: str = "0") -> str:
        """Return one barrier of the ring."""
        return self.target if self.slots is None else f"{self.target}.index({index})"


@dataclass(frozen=True)
class Call(Node):
    """A call for its effect."""

    function: str
    arguments: tuple[str, ...] = ()
    USING = ("text",)

    @property
    def text(self) -> str:
        """The call as an expression."""
        return f"{self.function}({', '.join(self.arguments)})"


@dataclass(frozen=True)
class Return(Node):
    """The end of a function."""

    value: str
    USING = ("value",)


@dataclass(frozen=True)
class Comment(Node):
    """A line for the reader."""

    text: str


@dataclass(frozen=True)
class Loop(Node):
    """A loop over a range."""

    target: str
    over: str
    body: tuple[Node, ...]
    DEFINING = ("target",)
    USING = ("over",)


@dataclass(frozen=True)
class If(Node):
    """Statements under a condition."""

    condition: str
    body: tuple[Node, ...]
    USING = ("condition",)


@dataclass(frozen=True)
class Specialization(Node):
    """The call of several partitions: their names, warps and registers, the default one first."""

    arguments: tuple[str, ...]
    partitions: tuple[str, ...]
    warps: tuple[int, ...]
    registers: tuple[int, ...]
    library: ClassVar[str] = "gl"
    USING = ("library", "arguments", "partitions")


@dataclass(frozen=True)
class Function(Node):
    """A function of the kernel."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Node, ...]

    @property
    def defines(self) -> frozenset[str]:
        """Its name; those of its body are its own."""
        return frozenset({self.name})


@dataclass(frozen=True)
class Verbatim(Node):
    """Lines of the host's code, and the modules that they need besides the usual ones."""

    lines: tuple[str, ...]
    modules: tuple[str, ...] = ()
    USING = ("modules",)


@dataclass(frozen=True)
class Section(Node):
    """A part of a module with a title."""

    title: str
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Module(Node):
    """A file: its docstring, the family of GPUs that it is for, and its sections."""

    docstring: str
    family: str
    body: tuple[Section, ...]
