"""The graph of every packaged loop as Triton's own parser and bindings see it, edge by edge."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from twill.base.errors import RefusedError
from twill.frontends.ttgir.graph import BodyGraph
from twill.frontends.ttgir.reader import Dump, name_of

libtriton = pytest.importorskip("triton._C.libtriton", reason="needs Triton")
pytestmark = pytest.mark.triton
DUMPS = sorted((Path(__file__).parents[2] / "traces" / "ttgir").glob("*.mlir"))
Edge = tuple[int, int, int]
NESTED = {"scf.for", "scf.if", "scf.while"}


@pytest.fixture(scope="module")
def context() -> Any:
    made = libtriton.ir.context()
    libtriton.ir.load_dialects(made)
    libtriton.nvidia.load_dialects(made)
    return made


@dataclass
class Body:
    """A loop's body as the bindings show it: names in order, and who reads what of whom."""

    names: list[str] = field(default_factory=list)
    edges: set[Edge] = field(default_factory=set)


class Bodies:
    """All bodies of one module; `walk` visits what is inside an operation before itself."""

    def __init__(self, module: Any) -> None:
        self.operations: list[Any] = []
        module.walk(self.operations.append)
        self._around = {
            operation.get_region(r).id(): number
            for number, operation in enumerate(self.operations)
            for r in range(operation.get_num_regions())
        }
        self._parent = [self._parent_of(operation) for operation in self.operations]

    def _parent_of(self, operation: Any) -> int | None:
        block = operation.get_block()
        return None if block is None else self._around.get(block.get_parent().id())

    def loops(self) -> list[int]:
        """Loops in program order: an outer one, which `walk` visits later, before its inner."""
        found = [n for n, o in enumerate(self.operations) if o.get_name() == "scf.for"]
        return sorted(found, key=self._first)

    def _first(self, number: int) -> tuple[int, int]:
        inside = [n for n in range(number) if number in self._chain(n)]
        return (inside[0] if inside else number), -number

    def _chain(self, number: int) -> list[int]:
        chain = []
        parent = self._parent[number]
        while parent is not None:
            chain.append(parent)
            parent = self._parent[parent]
        return chain

    def of(self, loop: int) -> Body:
        *nodes, last = [n for n, parent in enumerate(self._parent) if parent == loop]
        terminator = self.operations[last]
        assert terminator.get_name() == "scf.yield"
        block = terminator.get_block()
        hop = {
            block.arg(1 + i).id(): terminator.get_operand(i).id()
            for i in range(terminator.get_num_operands())
        }
        made = {
            self.operations[n].get_result(r).id(): position
            for position, n in enumerate(nodes)
            for r in range(self.operations[n].get_num_results())
        }
        body = Body([self.operations[n].get_name() for n in nodes])
        for consumer, n in enumerate(nodes):
            for value in self._reads(n):
                found = _traced(value, hop, made)
                if found is not None:
                    body.edges.add((found[0], consumer, found[1]))
        return body

    def _reads(self, number: int) -> set[int]:
        """Values that an operation and all inside it read, less those that are made inside."""
        inner = [n for n in range(number) if number in self._chain(n)]
        own = {
            self.operations[n].get_result(r).id()
            for n in inner
            for r in range(self.operations[n].get_num_results())
        }
        for n in inner:
            block = self.operations[n].get_block()
            own |= {block.arg(a).id() for a in range(block.get_num_arguments())}
        read = {
            self.operations[n].get_operand(i).id()
            for n in (*inner, number)
            for i in range(self.operations[n].get_num_operands())
        }
        return read - own


def _traced(value: int, hop: dict[int, int], made: dict[int, int]) -> tuple[int, int] | None:
    """Producer and iterations ago; None for what comes from outside or never changes."""
    passed = [value]
    while passed[-1] in hop:
        following = hop[passed[-1]]
        if following in passed:
            return None
        passed.append(following)
    producer = made.get(passed[-1])
    return None if producer is None else (producer, len(passed) - 1)


@pytest.mark.parametrize("file", DUMPS, ids=lambda file: file.stem)
def test_triton_sees_the_same_graph(file: Path, context: Any) -> None:
    bodies = Bodies(libtriton.ir.parse_mlir_module(str(file), context))
    loops = Dump(file.read_text(), file.name).loops()
    numbers = bodies.loops()
    assert len(numbers) == len(loops) > 0
    refused = 0
    for number, loop in zip(numbers, loops, strict=True):
        theirs = bodies.of(number)
        try:
            ours = BodyGraph(loop)
        except RefusedError:
            assert NESTED & set(theirs.names)
            refused += 1
            continue
        assert [name_of(o) for o in ours.operations] == theirs.names
        assert ours.edges == theirs.edges
        assert len(theirs.edges) >= len(theirs.names) - 1
    assert refused == ("persistent" in file.name)


REGIONS = """\
"builtin.module"() ({
  "tt.func"() <{function_type = (i32, f32, tensor<4xf32>) -> (), sym_name = "k"}> ({
  ^bb0(%n: i32, %f: f32, %t: tensor<4xf32>):
    %r:5 = "scf.for"(%n, %n, %n, %f, %f, %f, %f, %f) ({
    ^bb0(%i: i32, %still: f32, %left: f32, %right: f32, %late: f32, %x: f32):
      %u = "arith.addf"(%still, %late) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %v = "tt.reduce"(%t) <{axis = 0 : i32}> ({
      ^bb0(%a: f32, %b: f32):
        %c = "arith.addf"(%a, %u) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
        %d = "arith.mulf"(%c, %x) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
        "tt.reduce.return"(%d) : (f32) -> ()
      }) : (tensor<4xf32>) -> f32
      %w = "arith.subf"(%x, %v) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %y = "arith.subf"(%left, %w) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "scf.yield"(%still, %right, %left, %x, %w) : (f32, f32, f32, f32, f32) -> ()
    }) : (i32, i32, i32, f32, f32, f32, f32, f32) -> (f32, f32, f32, f32, f32)
    "tt.return"() : () -> ()
  }) : () -> ()
}) {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} : () -> ()
"""


def test_captures_hops_and_swapped_arguments(tmp_path: Path, context: Any) -> None:
    """By hand: captures at distances 0 and 1, two hops, an argument that never changes."""
    file = tmp_path / "regions.mlir"
    file.write_text(REGIONS)
    bodies = Bodies(libtriton.ir.parse_mlir_module(str(file), context))
    (number,), (loop,) = bodies.loops(), Dump(REGIONS).loops()
    by_hand = {(2, 0, 2), (0, 1, 0), (2, 1, 1), (1, 2, 0), (2, 2, 1), (2, 3, 0)}
    assert bodies.of(number).edges == by_hand
    assert BodyGraph(loop).edges == by_hand
