"""Annotations of a dump: names, places, Triton's own schedule, and what its pipeliner does.

A pipelined loop has every statement of the loop as written once, in the order in which a round
executes them. Its loads are copies into rings, and waits stand between. Names, variables and places
identify the statements of both loops; those of equal ones are in the same order.
"""

from __future__ import annotations

import itertools
import linecache
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from twill.frontends.ttgir.reader import Dump, attribute, integer, name_of, string

_ALIAS = re.compile(r"^#(loc\d*) = loc\((.*)\)$")
_ALIAS_USE = re.compile(r"#(loc\d*)\b")
_OPERATION = re.compile(r'^\s*(?:%\S+(?:, %\S+)* = )?"([\w.]+)"\(')
_ARGUMENT = re.compile(r"^\s*\^bb\d+\(%[^:]+: \S+")
_PLACE = re.compile(r'"([^"]+\.py)":(\d+):(\d+)')
_VARIABLE = re.compile(r'"([A-Za-z_]\w*)"\(')
_FOR = re.compile(r"^\s*for (\w+) in ")
_PLACEMENT = re.compile(r"\bloop\.(stage|cluster) = (\d+) : i32")
BOOKKEEPING = ("module", "yield", "return")
MOST_NAMED = 4
LOCATION = " loc("


def annotated(rolled: Listing, scheduled: Listing) -> tuple[str, str]:
    """Return a dump's text with every attribute that it gets, and what could not be matched.

    Returns: the text, and a remark about operations of Triton's schedule that are not in the dump;
    empty without such.
    """
    attributes = defaultdict[int, dict[str, str]](dict)
    for listed in rolled.operations:
        for name, value in (("location", listed.place), ("name", listed.variable)):
            if value and not listed.operation.endswith(BOOKKEEPING):
                attributes[listed.line][f"sched.{name}"] = f'"{value}"'
    lines = {key: listed.line for key, listed in _keyed(rolled)}
    unmatched = []
    for key, listed in _keyed(scheduled):
        placed = dict(_PLACEMENT.findall(scheduled.lines[listed.line]))
        if placed.keys() < {"stage", "cluster"}:
            continue
        if key not in lines:
            unmatched.append(listed)
            continue
        for name in ("stage", "cluster"):
            attributes[lines[key]][f"sched.{name}"] = f"{placed[name]} : i32"
    return rolled.annotated(attributes), _remark(unmatched)


def _keyed(listing: Listing) -> Iterator[tuple[tuple[str, str, str, int], Listed]]:
    """Number the operations of one name, variable and place; equal modules get equal keys."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for listed in listing.operations:
        key = (listed.operation, listed.variable, listed.place)
        seen[key] += 1
        yield (*key, seen[key]), listed


def _remark(unmatched: list[Listed]) -> str:
    if not unmatched:
        return ""
    named = [f"{e.operation} at {e.place or 'an unknown place'}" for e in unmatched[:MOST_NAMED]]
    more = ["..."] if len(unmatched) > MOST_NAMED else []
    return f"only in Triton's schedule: {', '.join(named + more)}"


@dataclass(frozen=True)
class Listed:
    """An operation, at the line of its text that ends it.

    The operation computes a variable of the source (a loop its induction variable) at
    ``file:line:column``; both are empty where they are unknown.
    """

    line: int
    operation: str
    variable: str
    place: str


class Listing:
    """The text of a module in generic form: lines without locations, operations as they end."""

    def __init__(self, text: str) -> None:
        lines = text.rstrip().splitlines()
        aliases = {found[1]: found[2] for line in lines if (found := _ALIAS.match(line))}
        written = [line for line in lines if not _ALIAS.match(line)]
        self.lines = [without_locations(line) for line in written]
        self.operations = list(_operations(written, aliases))

    def annotated(self, attributes: Mapping[int, Mapping[str, str]]) -> str:
        """Return the text with more attributes, as text by name, for indices of lines."""
        lines = list(self.lines)
        for number, extra in attributes.items():
            added = ", ".join(f"{name} = {value}" for name, value in extra.items())
            head, types = lines[number].rsplit(" : (", 1)
            joined = f"{head} {{{added}}}"
            if head.endswith("}") and not head.endswith("{}"):
                joined = f"{head[:-1]}, {added}}}"
            lines[number] = f"{joined} : ({types}"
        return "\n".join(lines) + "\n"


def without_locations(line: str) -> str:
    """Return a line of MLIR without its ``loc(...)``."""
    kept, rest = "", line
    while LOCATION in rest:
        before, rest = rest.split(LOCATION, 1)
        kept += before
        rest = rest[len(_balanced(rest)) + 1 :]
    return kept + rest


def _balanced(text: str) -> str:
    """Return what comes before the parenthesis that closes the one before `text`."""
    depth, quoted = 1, False
    for i, character in enumerate(text):
        quoted ^= character == '"'
        if not quoted:
            depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[:i]
    return text


def _operations(lines: list[str], aliases: Mapping[str, str]) -> Iterator[Listed]:
    open_regions: list[tuple[str, str]] = []
    for number, line in enumerate(lines):
        found = _OPERATION.match(line)
        if found and line.endswith("({"):
            inside = lines[number + 1]
            induction = _first_argument(inside, aliases) if found[1] == "scf.for" else ""
            open_regions.append((found[1], induction))
            continue
        closes = line.lstrip().startswith("})")
        if not found and not closes:
            continue
        operation, induction = (found[1], "") if found else open_regions.pop()
        location = _location(line, aliases)
        variable, place = source_of(location)
        if operation == "scf.for":
            variable = induction or _loop_variable(location)
        yield Listed(number, operation, variable, place)


def _location(line: str, aliases: Mapping[str, str]) -> str:
    """Return the last location on a line with every alias written out."""
    text = _balanced(line.rsplit(LOCATION, 1)[1]) if LOCATION in line else ""
    while _ALIAS_USE.search(text):
        text = _ALIAS_USE.sub(lambda use: aliases.get(use[1], "unknown"), text)
    return text


def _first_argument(line: str, aliases: Mapping[str, str]) -> str:
    found = _ARGUMENT.match(line)
    if not found or not line.startswith(LOCATION, found.end()):
        return ""
    location = _balanced(line[found.end() + len(LOCATION) :])
    return source_of(_location(f"{LOCATION}{location})", aliases))[0]


def _loop_variable(location: str) -> str:
    """Return what the ``for`` statement at a place of the source counts with."""
    place = _PLACE.search(_outermost(location))
    found = _FOR.match(linecache.getline(place[1], int(place[2]))) if place else None
    return found[1] if found else ""


def _outermost(location: str) -> str:
    return location.rsplit(" at ", 1)[-1]


def source_of(location: str) -> tuple[str, str]:
    """Return variable and place from MLIR's text of a location; of a call, the outermost caller."""
    caller = _outermost(location)
    variable, place = _VARIABLE.search(caller), _PLACE.search(caller)
    where = f"{Path(place[1]).name}:{place[2]}:{place[3]}" if place else ""
    return (variable[1] if variable else ""), where


COPIES = {
    "ttng.async_tma_copy_global_to_local": "tt.descriptor_load",
    "ttg.async_copy_global_to_local": "tt.load",
}
# An allocation in a loop becomes one before it, and a store.
SAME = {**COPIES, "ttng.tmem_alloc": "ttng.tmem_store"}
HOPPER_PRODUCT = "ttng.warp_group_dot"
BLACKWELL_PRODUCTS = ("ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled")
BARRIER = re.compile(r"!ttg\.memdesc<(?:\d+x)*1xi64,")
SLOTS = re.compile(r"!ttg\.memdesc<(\d+)x")
SCALARS = ("i1", "i32", "i64", "index")  # what the pipeliner counts and compares itself


def with_pipeline(text: str, pipelined: str) -> str:
    """Return a dump's text with the slots and waits that its pipelined loops have.

    `text`: with Triton's stages and clusters. `pipelined`: of the same kernel, pipelined. Both have
    names and places.
    """
    made = Dump(pipelined).loops()
    dump = Dump(text)
    listing = Listing(text)
    lines = {o: e.line for o, e in zip(dump.operations(), listing.operations, strict=True)}
    found: dict[int, dict[str, str]] = {}
    for loop in dump.loops():
        place = string(loop, "sched.location")
        same = [other for other in made if string(other, "sched.location") == place]
        if len(same) == 1 and integer(_body(loop).first_op or loop, "sched.stage") is not None:
            pipeline = _Pipeline(loop, same[0])
            for statement, facts in pipeline.facts().items():
                line = lines[pipeline.written[statement]]
                found[line] = {f"sched.{name}": f"{n} : i32" for name, n in facts.items()}
    return listing.annotated(found)


def _identity(operation: Operation) -> tuple[str, str | None, str | None]:
    name = SAME.get(name_of(operation), name_of(operation))
    return name, string(operation, "sched.name"), string(operation, "sched.location")


def _body(loop: Operation) -> Block:
    return loop.regions[0].blocks[0]


@dataclass(frozen=True)
class _Wait:
    """A wait at place `at` of the round, so many `rounds` after a statement was issued."""

    statement: int
    rounds: int
    at: int


class _Pipeline:
    """A loop as written, and pipelined; statements are numbered as written."""

    def __init__(self, written: Operation, pipelined: Operation) -> None:
        self.block = _body(pipelined)
        self.written, self.round = list(_body(written).ops)[:-1], list(self.block.ops)
        self.statement = self._matched()

    def facts(self) -> dict[int, dict[str, int]]:
        """Return slots of rings, and where what is asynchronous is awaited.

        In round j the wait is for iteration j - ``wait_stage``, before statement ``wait_before``.
        """
        found: dict[int, dict[str, int]] = defaultdict(dict)
        for copy, statement in self._issued(COPIES):
            found[statement]["slots"] = self._slots(copy)
        for wait in self._waits():
            before, wrapped = self._next(wait.at)
            issued = integer(self.written[wait.statement], "sched.stage") or 0
            found[wait.statement] |= {
                "wait_stage": issued + wait.rounds + wrapped,
                "wait_before": before,
            }
        return found

    def _matched(self) -> dict[int, int]:
        """Return the statement that stands at each place of the round."""
        same = defaultdict[tuple[str, str | None, str | None], list[int]](list)
        clusters = [integer(statement, "sched.cluster") or 0 for statement in self.written]
        for position in sorted(range(len(clusters)), key=clusters.__getitem__):
            same[_identity(self.written[position])].append(position)
        found: dict[int, int] = {}
        for at, operation in self._in_round():
            if positions := same[_identity(operation)]:
                # Of a product Triton may make several, one after the other.
                last = len(positions) == 1 and name_of(operation) == HOPPER_PRODUCT
                found[at] = positions[0] if last else positions.pop(0)
        return found

    def _in_round(
        self, names: Sequence[str] | Mapping[str, str] = ()
    ) -> Iterator[tuple[int, Operation]]:
        return ((at, o) for at, o in enumerate(self.round) if not names or name_of(o) in names)

    def _issued(self, names: Sequence[str] | Mapping[str, str]) -> Iterator[tuple[Operation, int]]:
        found = self._in_round(names)
        return ((o, self.statement[at]) for at, o in found if at in self.statement)

    def _next(self, at: int) -> tuple[int, bool]:
        """Return the statement that follows a place of the round, and whether in the next round."""
        size = len(self.round)
        for place in range(at + 1, at + 1 + size):
            kinds = {str(result.type) for result in self.round[place % size].results}
            if place % size in self.statement and not (kinds and kinds <= {*SCALARS}):
                return self.statement[place % size], place >= size
        raise AssertionError  # a pipelined loop has something that is pipelined

    def _slots(self, copy: Operation) -> int:
        memory = (v for v in copy.operands if str(v.type).startswith("!ttg.memdesc<"))
        ring = next(v for v in memory if not _is_barrier(v))
        found = SLOTS.match(str(_indexed(ring).type)) if _indexed(ring) is not ring else None
        return int(found[1]) if found else 1

    # -- waits ----------------------------------------------------------------------------------

    def _waits(self) -> Iterator[_Wait]:
        """Yield the first wait for each load and product."""
        places = {self.round[at]: at for at in self.statement}
        products, sent = [], []
        for at, product in self._in_round((HOPPER_PRODUCT,)):
            if integer(product, "isAsync"):
                products.append((at, self.statement[at]))
            else:
                yield _Wait(self.statement[at], 0, at)
        yield from self._counted(products, "ttng.warp_group_dot_wait", "pendings")
        for at, commit in self._in_round(("ttg.async_commit_group",)):
            copies = [v.owner for v in commit.operands if isinstance(v.owner, Operation)]
            sent += [(at, self.statement[places[copy]]) for copy in copies if copy in places]
        yield from self._counted(sent, "ttg.async_wait", "num")
        for at, product in self._in_round(BLACKWELL_PRODUCTS):
            if attribute(product, "is_async") is None:
                yield _Wait(self.statement[at], 0, at)
        yield from self._at_barriers()

    def _counted(self, issued: Sequence[tuple[int, int]], name: str, key: str) -> Iterator[_Wait]:
        """Yield waits that leave so many of what was issued last in flight."""
        places = [at for at, _ in issued]
        waits = [(at, integer(o, key) or 0) for at, o in self._in_round((name,))]
        for older, (begun, statement) in enumerate(issued, 1):
            for rounds in itertools.count() if waits else ():
                found = [
                    at
                    for at, left in waits
                    if (rounds or at > begun)
                    and rounds * len(issued) + bisect_right(places, at) - older >= left
                ]
                if found:
                    yield _Wait(statement, rounds, found[0])
                    break

    def _at_barriers(self) -> Iterator[_Wait]:
        waits = [
            (at, *self._carried(wait.operands[0]))
            for at, wait in self._in_round(("ttng.wait_barrier",))
        ]
        for at, product in self._in_round(BLACKWELL_PRODUCTS):
            for barrier in filter(_is_barrier, product.operands):
                own = [(n, place) for place, value, n in waits if value is barrier]
                yield from (_Wait(self.statement[at], n, place) for n, place in own[:1])
        for copy, statement in self._issued(COPIES):
            for barrier in filter(_is_barrier, copy.operands):
                ring = _indexed(barrier)
                found = [place for place, value, _ in waits if _indexed(value) is ring]
                # It stands before the first use, in its stage.
                uses = [use.operation for r in self.written[statement].results for use in r.uses]
                first_use = min(integer(use, "sched.stage") or 0 for use in uses)
                rounds = first_use - (integer(self.written[statement], "sched.stage") or 0)
                yield from (_Wait(statement, rounds, place) for place in found[:1])

    def _carried(self, value: SSAValue) -> tuple[SSAValue, int]:
        """Return what a value is, and how many rounds ago it was made."""
        rounds, last = 0, self.block.last_op
        while isinstance(value, BlockArgument) and value.block is self.block and value.index:
            assert last is not None
            value, rounds = last.operands[value.index - 1], rounds + 1
            if rounds > len(self.block.args):
                break
        return value, rounds


def _is_barrier(value: SSAValue) -> bool:
    return BARRIER.match(str(value.type)) is not None


def _indexed(value: SSAValue) -> SSAValue:
    """Return the ring that a slot belongs to."""
    owner = value.owner
    indexes = isinstance(owner, Operation) and name_of(owner) == "ttg.memdesc_index"
    return owner.operands[0] if indexes and isinstance(owner, Operation) else value
