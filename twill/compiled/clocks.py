"""Reads of the SM's clock in a kernel file: where each partition is at which cycle.

Any kernel file whose partitions can be read will do: it becomes a tree, gets the reads, and is
written as text again. The last block of the grid writes the clocks to one more argument.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from twill.base.errors import InputError
from twill.compiled.order import PRODUCT_WAIT, STORE_WAIT, WAIT, Role, kernel_name, read_roles

CLOCKS = "clocks_ptr"
"""The argument: a tensor of `Clocked.size` integers of 64 bits, of zeros."""
ROUNDS = 64
"""Rounds of a loop that are kept, from the first."""
_BLOCKING = {WAIT, PRODUCT_WAIT, STORE_WAIT}
_ELEMENTS = f"{CLOCKS} + ("  # before the place's first element and the round
_CLOCK = (
    "gl.inline_asm_elementwise('mov.u64 $0, %clock64;', '=l', [], dtype=gl.int64, is_pure=False,"
    " pack=1)"
)
_KEPT = "clocks_kept"
_LAST = " & ".join(f"(gl.program_id({n}) + 1 == gl.num_programs({n}))" for n in range(3))

Moment = Literal["start", "round", "before", "after", "end"]


@dataclass(frozen=True)
class Place:
    """A read of the clock.

    `partition`: function of the partition.
    `moment`: ``start`` or ``end`` of the partition, begin of a ``round``, ``before`` or ``after`` a
    statement that waits.
    `line`: line of the original file: of the loop, the statement, or the function.
    `text`: the statement.
    `read`: line of the file with clocks.
    """

    partition: str
    moment: Moment
    line: int
    text: str
    read: int = 0


@dataclass(frozen=True)
class Clocked:
    """A kernel file that reads clocks; place n has `ROUNDS` numbers from ``n * ROUNDS``."""

    text: str
    places: tuple[Place, ...]

    @property
    def size(self) -> int:
        """How many numbers it writes at most."""
        return ROUNDS * len(self.places)


def clocked(text: str, *, rounds: bool = True) -> Clocked:
    """Return a kernel file that reads the clock.

    `text`: the kernel file.
    `rounds`: whether to read it also where a round of an innermost loop begins, and before and
    after each statement that waits in it. Otherwise it is read where a partition begins and ends.

    Raises
    ------
    InputError
        If its partitions cannot be read, or its ``launch`` does not call the kernel.
    """
    roles, tree = read_roles(text), ast.parse(text)
    functions = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}
    places: list[Place] = []
    for role in {role.name: role for role in roles}.values():
        _Reads(role, places, rounds=rounds).insert(functions[role.name])
    kernel = functions[kernel_name(tree)]
    _pass_on(kernel, {role.name for role in roles})
    _give(tree, functions.get("launch"), kernel.name)
    written = ast.unparse(ast.fix_missing_locations(tree))
    pattern = re.compile(re.escape(f"gl.store({_ELEMENTS}") + r"(\d+)")
    for number, line in enumerate(written.splitlines(), 1):
        if read := pattern.search(line):
            place = int(read[1]) // ROUNDS
            places[place] = replace(places[place], read=number)
    return Clocked(written, tuple(places))


class _Reads:
    """Statements that read the clock, put into the function of a role."""

    def __init__(self, role: Role, places: list[Place], *, rounds: bool) -> None:
        self._role, self._places = role, places
        self._loops = {loop.first for loop in role.loops if rounds}
        marks = [mark for loop in role.loops for mark in loop.marks]
        self._waits = {mark.lines[0] for mark in marks if mark.kind in _BLOCKING}

    def insert(self, function: ast.FunctionDef) -> None:
        """Read the clock in a function, which gets one more argument, the first."""
        function.args.args.insert(0, ast.arg(CLOCKS))
        body = self._statements(function.body, [])
        begin = [*ast.parse(f"{_KEPT} = {_LAST}").body, self._read("start", function)]
        last = len(body) - isinstance(body[-1], ast.Return)
        body.insert(last, self._read("end", body[-1]))
        function.body = [*begin, *body]

    def _statements(self, body: Iterable[ast.stmt], around: list[ast.For]) -> list[ast.stmt]:
        """Return statements, of which loops that are within others know those."""
        found: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.For):
                inner = [*around, statement]
                if statement.lineno in self._loops:
                    begin = self._read("round", statement, inner)
                    statement.body = [begin, *self._waiting(statement.body, inner)]
                else:
                    statement.body = self._statements(statement.body, inner)
            elif isinstance(statement, ast.If):
                statement.body = self._statements(statement.body, around)
                statement.orelse = self._statements(statement.orelse, around)
            found.append(statement)
        return found

    def _waiting(self, body: Iterable[ast.stmt], around: list[ast.For]) -> Iterator[ast.stmt]:
        """Yield the statements of a round, and reads before and after those that wait."""
        just_read = True
        for statement in body:
            if isinstance(statement, ast.If):
                statement.body = [*self._waiting(statement.body, around)]
                statement.orelse = [*self._waiting(statement.orelse, around)]
            lines = range(statement.lineno, (statement.end_lineno or 0) + 1)
            waits = not isinstance(statement, ast.If | ast.For) and self._waits & {*lines}
            if waits and not just_read:
                yield self._read("before", statement, around)
            yield statement
            if waits:
                yield self._read("after", statement, around)
            just_read = bool(waits)

    def _read(
        self, moment: Moment, statement: ast.stmt, around: Sequence[ast.For] = ()
    ) -> ast.stmt:
        """Return a statement that reads the clock, in the first round of all outer loops."""
        number, kept = "0", [_KEPT]
        if around:
            *outer, inner = around
            number = _round(inner)
            first_rounds = [f"({_round(loop)} == 0)" for loop in outer]
            kept += [f"({number} < {ROUNDS})", *first_rounds]
        place = f"{_ELEMENTS}{ROUNDS * len(self._places)} + {number})"
        text = self._role.name if moment in ("start", "end") else ast.unparse(statement)
        self._places.append(
            Place(self._role.name, moment, statement.lineno, text.partition("\n")[0])
        )
        return ast.parse(f"gl.store({place}, {_CLOCK}, mask={' & '.join(kept)})").body[0]


def _round(loop: ast.For) -> str:
    """Return an expression for the round of a loop over ``range``, from zero."""
    assert isinstance(loop.iter, ast.Call)
    variable, bounds = ast.unparse(loop.target), [ast.unparse(a) for a in loop.iter.args]
    begin = bounds[0] if len(bounds) > 1 else "0"
    step = bounds[2] if len(bounds) > 2 else "1"
    return f"({variable} - ({begin})) // ({step})"


def _pass_on(kernel: ast.FunctionDef, partitions: set[str]) -> None:
    """Let the entry take the clocks and give them to its partitions."""
    kernel.args.args.insert(0, ast.arg(CLOCKS))
    tuples = {
        ast.unparse(node.targets[0]): node.value
        for node in kernel.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
    }
    given: dict[int, list[ast.expr]] = {}
    for node in ast.walk(kernel):
        match node:
            case ast.Tuple([ast.Name(name), arguments]) if name in partitions:
                named = tuples.get(ast.unparse(arguments), arguments)
                if isinstance(named, ast.Tuple):
                    given[id(named)] = named.elts
            case ast.Call(ast.Name(name), arguments) if name in partitions:
                given[id(node)] = arguments
    for values in given.values():
        values.insert(0, ast.Name(CLOCKS))


def _give(tree: ast.Module, launch: ast.FunctionDef | None, kernel: str) -> None:
    """Let the host name the clocks in ``SIGNATURE`` and give them to the kernel."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SIGNATURE":
            assert isinstance(node.value, ast.Dict)
            node.value.keys.insert(0, ast.Constant(CLOCKS))
            node.value.values.insert(0, ast.Constant("*i64"))
    for part in ast.walk(launch or ast.Module([], [])):
        match part:
            case ast.Call(ast.Subscript(ast.Name(name)), values) if name == kernel:
                values.insert(0, ast.parse(f'arguments["{CLOCKS}"]', mode="eval").body)
                return
    raise InputError(f"launch has no call of {kernel}[grid]")
