"""What an audit looks at, and what it finds."""

from __future__ import annotations

import functools
import importlib.resources
import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from twill.artifacts.costs import Rule, variables
from twill.artifacts.loop import Loop, Operation, Tile
from twill.artifacts.machine import Machine
from twill.files import read_bytes
from twill.frontends.loops import load_loop, packaged_loops

FILES = (".toml", ".json")


@dataclass(frozen=True)
class Finding:
    """Something to mend in a machine file.

    Attributes
    ----------
    where : str
        Path inside the file.
    what : str
        What is wrong, with the values.
    mend : str
        What to do about it.
    """

    where: str
    what: str
    mend: str


@dataclass(frozen=True)
class Subject:
    """A machine with what is needed to judge its file.

    Attributes
    ----------
    machine : Machine
        The machine, complete.
    own : dict
        What its file says itself, without the machine that it extends.
    loops : tuple of Loop
        Packaged loops for its architecture, or that name it.
    everything : tuple of Loop
        All packaged loops.
    """

    machine: Machine
    own: dict[str, Any]
    loops: tuple[Loop, ...] = ()
    everything: tuple[Loop, ...] = ()

    @property
    def own_rules(self) -> tuple[Rule, ...]:
        """The rules of the file itself; they come before those it extends."""
        return self.machine.rules[: len(self.own.get("rules", ()))]

    def own_names(self, table: str) -> list[str]:
        """Return the names that the file itself gives in a table."""
        return list(self.own.get(table, {}))

    @functools.cached_property
    def facts(self) -> frozenset[str]:
        """Names that the model gives every rule about an operation."""
        tile = Tile(shape=(64, 64), dtype="f16", memory="registers")
        product = Operation(name="product", kind="mma", operands=(tile, tile), result=tile)
        bare = self.machine.model_copy(update={"constants": {}})
        return frozenset(variables(bare, product))

    @property
    def kinds(self) -> set[str]:
        """Kinds of operations in packaged loops."""
        return {o.kind for loop in self.everything for o in loop.operations}

    def attributes(self, kinds: tuple[str, ...]) -> set[str] | None:
        """Return the attributes of packaged operations of some kinds; None without any."""
        operations = [o for loop in self.everything for o in loop.operations if o.kind in kinds]
        if not operations:
            return None
        return {name for operation in operations for name in operation.attributes}


Check = Callable[[Subject], Iterator[Finding]]


def read_subject(name: str) -> Subject:
    """Read a machine and the packaged loops that are meant for it.

    Raises
    ------
    InputError
        If there is no such machine or its file is not valid.
    """
    machine = Machine.named(name)
    everything = _packaged()
    meant = tuple(
        loop
        for key, loop in everything.items()
        if packaged_loops()[key].machine == machine.name
        or (
            machine.architecture
            and loop.origin is not None
            and loop.origin.architecture == machine.architecture
        )
    )
    return Subject(machine, _document(name), meant, tuple(everything.values()))


@functools.cache
def _packaged() -> dict[str, Loop]:
    return {name: load_loop(name) for name in packaged_loops()}


def _document(name: str) -> dict[str, Any]:
    if name.endswith(FILES):
        text = read_bytes(name)
    else:
        text = importlib.resources.files("twill.machines").joinpath(f"{name}.toml").read_bytes()
    document: dict[str, Any] = (
        json.loads(text) if name.endswith(".json") else tomllib.loads(text.decode("utf-8"))
    )
    return document
