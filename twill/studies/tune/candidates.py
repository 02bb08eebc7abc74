"""Candidates for the best kernel: a loop in other tiles and sub-tiles, a kernel's constants."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from twill.artifacts.hardware import Registers
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.sweep import Scalar
from twill.base.errors import InputError, RefusedError, TwillError, short
from twill.frontends.subtiling import impossible_product, resize, subtile
from twill.sim.analysis.problems import (
    RIGHT,
    accumulators,
    is_product,
    product_tile,
    streamed_rows,
    tile_rows,
)
from twill.studies.sweep.parameters import LIMITS, values

ROWS = COLUMNS = (64, 128, 192, 256)
STREAMED = (64, 96, 128, 160, 176, 192, 224, 256)
SUBTILES = (1, 2, 3, 4)
DEEPER = (1, 2)  # times the depth of an iteration that a product has
# Of constants of a kernel that nobody gave a value.
CONSTANTS = ("64", "128", "256")
MOST_CANDIDATES = 2000
BETWEEN = re.compile(r",(?![^<\[(]*[>\])])")  # commas outside brackets
REGISTERS = "registers"
Tile = tuple[int, ...]


@dataclass(frozen=True)
class Candidate:
    """A way to write the kernel: its loop, or why there is none."""

    point: int
    values: dict[str, Scalar]
    loop: Loop | None
    refusal: str = ""
    limits: dict[str, int] = field(default_factory=dict)

    @property
    def tile(self) -> str:
        """Its tile as people write it, as far as there is one."""
        given = str(self.values.get("tile", ""))
        return given if self.loop is None else tile_text(tile_of(self.loop))


def tile_of(loop: Loop) -> Tile:
    """Return the extents of a loop's tile: rows, columns and depth, or rows and streamed rows.

    Raises
    ------
    InputError
        If they do not follow from the loop.
    """
    return product_tile(loop) if is_product(loop) else (tile_rows(loop), streamed_rows(loop))


def tile_text(tile: Tile) -> str:
    """Return a tile as people write it: ``128x256x64``."""
    return "x".join(map(str, tile))


def parse_tile(text: str, path: str) -> Tile:
    """Return a tile, or the sizes of a product, from text.

    Raises
    ------
    InputError
        If it is anything else.
    """
    parts = text.split("x")
    if not all(part.isdecimal() and 0 < len(part) < 9 for part in parts):
        raise InputError(
            f"whole numbers with x between, as 128x256x64 (got {short(text)})", path=path
        )
    return tuple(map(int, parts))


def with_tile(loop: Loop, tile: Tile) -> Loop:
    """Return a loop in which a tile has other extents; each sub-tile changes in proportion.

    Raises
    ------
    InputError, RefusedError
        If the loop cannot be changed so.
    """
    before = tile_of(loop)
    if len(tile) != len(before):
        raise InputError(
            f"{loop.name} has tiles of {len(before)} extents, {tile_text(before)} as it is (got "
            f"{tile_text(tile)})",
            path="tile",
        )
    summed = [o.name for o in accumulators(loop)]
    # Its rows, its columns if they are tiled, and what its right factor has for each iteration.
    axes = [*range(len(before) - 1)]
    along = [[f"{name}:{axis}" for name in summed] for axis in axes]
    along.append([_right_factor(loop, name) for name in summed])
    wanted = {
        name: (_extent(loop, name), old, new)
        for names, old, new in zip(along, before, tile, strict=True)
        for name in names
    }
    changed = loop
    for name, (extent, old, new) in wanted.items():
        size, rest = divmod(extent * new, old)
        if rest:
            raise InputError(f"{new} are not {old // extent} equal parts", path="tile")
        if _extent(changed, name) != size:
            changed = resize(changed, name, size)
    return changed


def _right_factor(loop: Loop, name: str) -> str:
    """Return the rows of a product's right factor, as a dimension of what makes that."""
    found = [d for d in loop.dependences if d.consumer == name and d.operand == RIGHT]
    if not found:
        raise InputError(f"{loop.name}: the right factor of {name} is not loaded", path="tile")
    axis = 0 if found[0].axes is None else found[0].axes.index(0)
    return f"{found[0].producer}:{axis}"


def _extent(loop: Loop, along: str) -> int:
    name, _, axis = along.rpartition(":")
    result = next(o.result for o in loop.operations if o.name == name)
    assert result is not None
    return result.shape[int(axis)]


# -- enumeration ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choices:
    """Values of parameters, in the order of candidates."""

    tiles: Sequence[Tile] = ()  # of a loop; those of `default_tiles` without it
    # Sub-tiles to cut a tile into; without it those of `SUBTILES` that it can be cut into.
    subtiles: Sequence[int] = ()
    # Texts by parameter: limits of scheduling, and the constants and types of a kernel.
    given: Mapping[str, str] = field(default_factory=dict)
    warps: Sequence[int] = (4,)  # of a kernel

    def limits(self) -> list[dict[str, int]]:
        """Return every combination of limits of scheduling."""
        names = [one.name for one in LIMITS if one.name in self.given]
        several = [values(self.given[name], "whole", name) for name in names]
        return [
            dict(zip(names, map(int, some), strict=True)) for some in itertools.product(*several)
        ]

    def constants(self) -> dict[str, str]:
        """Return what is no limit of scheduling."""
        limits = {one.name for one in LIMITS}
        return {name: text for name, text in self.given.items() if name not in limits}


def of_loop(loop: Loop, machine: Machine, choices: Choices) -> list[Candidate]:
    """Return the candidates that a loop can become.

    Raises
    ------
    InputError
        If a parameter is none of a loop, or tiles do not follow from it.
    """
    if unknown := [*choices.constants()]:
        known = ", ".join(one.name for one in LIMITS)
        raise InputError(f"no parameter named {short(unknown[0])} ({known})", path="--set")
    own = tile_of(loop)
    tiles = dict.fromkeys(choices.tiles or default_tiles(loop))
    every = [
        _Whole({"tile": tile_text(tile)}, partial(with_tile, loop, tile), bool(choices.tiles))
        for tile in tiles
        if tile != own
    ]
    if not choices.tiles or own in choices.tiles:
        every.insert(0, _Whole({"tile": tile_text(own)}, lambda: loop))
    return _numbered(every, machine, choices)


def default_tiles(loop: Loop) -> list[Tile]:
    """Return the tiles that are tried without others, with the loop's own.

    Tiles that the loop cannot have are left out, and so are tiles without room for all results.

    Raises
    ------
    InputError
        If tiles do not follow from the loop.
    """
    own = tile_of(loop)
    if is_product(loop):
        extents = [ROWS, COLUMNS, [own[-1] * times for times in DEEPER]]
    else:
        extents = [ROWS, STREAMED]
    return sorted({own, *itertools.product(*extents)})


def of_kernel(
    dumped: Callable[[dict[str, str], int], Loop],
    unset: Sequence[str],
    machine: Machine,
    choices: Choices,
) -> list[Candidate]:
    """Return the candidates that a Triton kernel can become.

    `dumped`: the kernel's loop with these settings and so many warps.
    `unset`: constants that have no value; `CONSTANTS` are tried.

    Raises
    ------
    InputError
        If tiles are named, which the constants say.
    """
    if choices.tiles:
        raise InputError("a kernel's constants say its tile: name them with --set", path="--tile")
    texts = {**choices.constants(), **dict.fromkeys(unset, ",".join(CONSTANTS))}
    given = {name: [part.strip() for part in BETWEEN.split(text)] for name, text in texts.items()}
    several = [name for name, parts in given.items() if len(parts) > 1]
    every: list[_Whole] = []
    for warps in choices.warps:
        for some in itertools.product(*given.values()):
            settings = dict(zip(given, some, strict=True))
            shown: dict[str, Scalar] = {name: settings[name] for name in several}
            if len(choices.warps) > 1:
                shown["warps"] = warps
            every.append(_Whole(shown, partial(dumped, _substituted(settings), warps)))
    return _numbered(every, machine, choices)


def _substituted(settings: Mapping[str, str]) -> dict[str, str]:
    """Write values of constants into the shapes of types: ``tensordesc<fp16[M,D]>``."""

    def written(text: str) -> str:
        return re.sub(r"\b[A-Za-z_]\w*\b", lambda word: settings.get(word[0], word[0]), text)

    return {name: written(text) if "[" in text else text for name, text in settings.items()}


@dataclass(frozen=True)
class _Whole:
    """A loop before it is cut: by its parameters, and whether a refusal is worth a row."""

    shown: Mapping[str, Scalar]
    made: Callable[[], Loop]
    asked: bool = True


def _numbered(every: Sequence[_Whole], machine: Machine, choices: Choices) -> list[Candidate]:
    limits = choices.limits()
    found: list[Candidate] = []
    for one in every:
        for parameters, loop, refusal in _cut(one, machine, choices):
            for some in limits:
                point = len(found)
                found.append(Candidate(point, {**parameters, **some}, loop, refusal, some))
        if len(found) > MOST_CANDIDATES:
            raise InputError(f"more than {MOST_CANDIDATES} candidates: name fewer values")
    return found


def _cut(
    one: _Whole, machine: Machine, choices: Choices
) -> Iterator[tuple[dict[str, Scalar], Loop | None, str]]:
    """Yield the sub-tiles of one candidate; without choices only those that are possible."""
    try:
        whole = one.made()
        tile_of(whole)
    except TwillError as error:
        if one.asked:
            yield dict(one.shown), None, str(error)
        return
    possible: list[tuple[dict[str, Scalar], Loop]] = []
    refusals: list[tuple[dict[str, Scalar], None, str]] = []
    for count in choices.subtiles or SUBTILES:
        parameters = {**one.shown, "sub-tiles": count}
        try:
            loop = whole if count == 1 else subtile(whole, count, machine=machine)
            if (problem := impossible_product(loop, machine)) is not None:
                raise RefusedError(problem)
        except TwillError as error:
            refusals.append((parameters, None, str(error)))
        else:
            possible.append((parameters, loop))
    if choices.subtiles or (one.asked and not possible):
        yield from refusals[: None if choices.subtiles else 1]
    roomy = [(parameters, loop) for parameters, loop in possible if has_room(loop, machine)]
    chosen = possible if choices.subtiles or (one.asked and not roomy) else roomy
    for parameters, loop in chosen:
        yield parameters, loop, ""


def has_room(loop: Loop, machine: Machine) -> bool:
    """Return whether the results of all products of an iteration have room at once.

    In registers those of one sub-tile have to be in the threads of one group, with some to spare. A
    loop without that room may have a schedule, which then has little to choose from.
    """
    made = [o for o in loop.operations if o.kind == "mma"]
    results = [(o.result, machine.threads(o.warps)) for o in made if o.result is not None]
    for name, memory in machine.memories.by_name.items():
        taken = sum(memory.footprint(tile) for tile, _ in results if tile.memory == name)
        if taken > memory.room:
            return False
    if (registers := machine.registers) is None:
        return True
    tiles = len(accumulators(loop))
    held = [tile.registers_each(threads) for tile, threads in results if tile.memory == REGISTERS]
    return sum(held) / tiles + registers.reserve.value < _allocated(registers, machine, tiles)


def _allocated(registers: Registers, machine: Machine, groups: int) -> int:
    """Return the registers for each thread of so many groups, with another group for loads."""
    each = registers.file.value // machine.threads(registers.warps.value)
    if registers.launch is not None:
        step = registers.launch.value
        launched = min(each // (groups + 1) // step * step, registers.most.value)
        each = launched * (groups + 1)
    step = registers.step.value
    left = (each - registers.least.value) // groups // step * step
    return min(left, registers.limit.value, registers.most.value)
