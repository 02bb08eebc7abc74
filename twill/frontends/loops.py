"""Loops by name or file: packaged ones, ``loop.json``, TTGIR dumps, dependence graphs."""

from __future__ import annotations

import functools
import importlib.resources
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass

from twill.artifacts.base import unknown
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine, packaged_machines
from twill.base.errors import InputError, RefusedError, short
from twill.base.files import read_bytes

# What a JSON document has that is a dependence graph and no loop.
_GRAPH = re.compile(rb'"schema_version"\s*:\s*"ddg-')


@dataclass(frozen=True)
class PackagedLoop:
    """A loop that ships with the package.

    `name`, `description`: for people.
    `file`: its file inside the package ``twill.traces``.
    `machine`: the packaged machine that it is meant for.
    `loop`: which of the file's loops.
    """

    name: str
    file: str
    machine: str
    description: str
    loop: str | None = None


@functools.cache
def packaged_loops() -> dict[str, PackagedLoop]:
    """Return the packaged loops by name."""
    text = importlib.resources.files("twill.traces").joinpath("loops.toml").read_text()
    return {name: PackagedLoop(name=name, **entry) for name, entry in tomllib.loads(text).items()}


def load_loop(name: Loop | str | os.PathLike[str], *, loop: str | None = None) -> Loop:
    """Return a loop: packaged by name, or from a ``.json`` (ours or ddg-0.1) or ``.mlir`` file.

    Parameters
    ----------
    name : str or path
        A name that `packaged_loops` lists, or a path; a loop is returned as it is.
    loop : str, optional
        Which loop of a file that has several, by name or number.

    Raises
    ------
    InputError
        If there is no such loop or its file cannot be read.
    RefusedError
        If a dump's loop cannot be scheduled.
    """
    if isinstance(name, Loop):
        return name
    name = os.fspath(name)
    packaged = packaged_loops().get(name)
    if packaged is not None:
        return _packaged(name, loop or packaged.loop)
    if not name.endswith(tuple(READERS)):
        raise unknown("loop", name, packaged_loops(), " or ".join(READERS))
    return _read(name, None, loop)


@functools.cache
def _packaged(name: str, loop: str | None) -> Loop:
    """Return a packaged loop, which is read once: what lies in the package does not change."""
    folder = importlib.resources.files("twill.traces")
    with importlib.resources.as_file(folder.joinpath(packaged_loops()[name].file)) as file:
        return _read(str(file), name, loop)


def machine_of(loop: Loop) -> Machine | None:
    """Return the first packaged machine of the architecture that a loop was compiled for."""
    architecture = loop.origin.architecture if loop.origin else None
    if not architecture:
        return None
    return next((m for m in _packaged_machines() if m.architecture == architecture), None)


def threads_per_warp(loop: Loop, machine: Machine | None = None) -> int:
    """Return the threads of a warp on `machine`, or else on those that a loop may be for.

    Raises
    ------
    RefusedError
        If the loop was compiled for no packaged machine, and these do not agree.
    """
    given = machine or machine_of(loop)
    found = {m.threads_per_warp.value for m in ([given] if given else _packaged_machines())}
    if len(found) > 1:
        raise RefusedError(f"{loop.name}: name a machine, which says how many threads a warp has")
    return found.pop()


@functools.cache
def _packaged_machines() -> tuple[Machine, ...]:
    return tuple(Machine.named(name) for name in packaged_machines())


def _number(loop: str | None) -> int | None:
    """Return the number of a loop where loops have no names."""
    try:
        return None if loop is None else int(loop)
    except ValueError:
        message = f"loops of a graph are numbered (got {short(loop)})"
        raise InputError(message, path="loop") from None


def _read(file: str, name: str | None, loop: str | None) -> Loop:
    reader = next(reader for ending, reader in READERS.items() if file.endswith(ending))
    return reader(file, name, loop)


def _read_json(file: str, name: str | None, loop: str | None) -> Loop:
    if not _GRAPH.search(read_bytes(file)):
        return Loop.load(file)
    from twill.frontends.ddg import load_ddg

    return load_ddg(file, name=name, loop=_number(loop))


def _read_ttgir(file: str, name: str | None, loop: str | None) -> Loop:
    from twill.frontends.ttgir import load_ttgir

    return load_ttgir(file, name=name, loop=loop)


# What reads a file, by its ending: the file, the name for its loop, and which of its loops.
READERS: dict[str, Callable[[str, str | None, str | None], Loop]] = {
    ".json": _read_json,
    ".mlir": _read_ttgir,
}
