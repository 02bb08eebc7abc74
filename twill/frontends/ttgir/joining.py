"""Two loops of which the second goes on where the first ends, as one.

Causal attention has one for the blocks before the diagonal, and one for those on it.

Operations that both have are one. The others of the second loop are in the joined body, too. A
selection by whether the iteration is the second loop's passes on what they make. They are
`LATER`: most iterations do without them.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnregisteredOp, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from twill.artifacts.loop import Source
from twill.frontends.ttgir.contiguity import Contiguity
from twill.frontends.ttgir.kinds import LATER, MUTABLE_VIEWS, VIEWS
from twill.frontends.ttgir.reader import Dump, attribute, has_body, name_of
from twill.frontends.ttgir.rewriting import rewrite

JOINED = "twill.joined"  # the attribute of a loop that has become a part of it
AT_LEAST = 5  # predicate of `arith.cmpi`


def read_loop(source: Source) -> tuple[Dump, Operation]:
    """Return the dump and the loop of a loop's source, which are not to be changed.

    Raises
    ------
    InputError
        If it is no dump.
    """
    return _read(source.text, source.loop, joined=bool(source.joined))


@functools.lru_cache(maxsize=4)  # a search emits parts of the same kernel again and again
def _read(text: str, number: int, *, joined: bool) -> tuple[Dump, Operation]:
    dump = Dump(text)
    rewrite(dump)
    found = dump.loops()
    if joined:
        join(dump, found[number], found[number + 1])
    return dump, found[number]


def following(loop: Operation) -> Operation | None:
    """Return the loop that follows one, if all that lies between is arithmetic."""
    after = loop.next_op
    while after is not None and _is_arithmetic(after):
        after = after.next_op
    return after if after is not None and name_of(after) == "scf.for" and has_body(after) else None


def join(dump: Dump, first: Operation, second: Operation) -> str | None:
    """Make the second loop a part of the first; return why not, if it cannot be."""
    return _Joining(dump, first, second).run()


class _Joining:
    def __init__(self, dump: Dump, first: Operation, second: Operation) -> None:
        self.dump, self.first, self.second = dump, first, second
        self.lower, self.seam, self.step = list(first.operands)[:3]
        (self.counter, *self.arguments), (counter, *self.others) = (
            list(loop.regions[0].blocks[0].args) for loop in (first, second)
        )
        *self.body, self.end = first.regions[0].blocks[0].ops
        *self.more, self.last = second.regions[0].blocks[0].ops
        self.known: dict[SSAValue, SSAValue] = {counter: self.counter}
        self.positions: dict[int, int] = {}  # of arguments of the second loop: those of the first
        self.past: Operation | None = None

    def run(self) -> str | None:
        """Join the loops, or return why not before anything is changed."""
        pairs = self._pairs()
        wrong = self._wrong_bounds() or self._wrong_arguments() or self._wrong_operations(pairs)
        if wrong is not None:
            return wrong
        self._hoist()
        self._merge(pairs)
        self.first.operands[1] = self._upper()
        for j, k in self.positions.items():
            self.second.results[j].replace_all_uses_with(self.first.results[k])
        self.second.detach()  # type: ignore[no-untyped-call]  # xDSL has no types
        self.first.attributes[JOINED] = IntegerAttr(1, i1)
        return None

    # -- whether they can be joined ----------------------------------------------------------------

    def _wrong_bounds(self) -> str | None:
        lower, _, step = list(self.second.operands)[:3]
        if not same(step, self.step) or not same(lower, self.seam):
            return "the second loop does not begin where the first ends, or has another step"
        if integer_of(self.lower) != 0 or not is_natural(self.seam):
            return "the first loop does not begin at 0, or may end before"
        width = integer_of(self.step)
        if not width or Contiguity(self.dump).divisor(self.seam) % width:
            return "where the first loop ends is not known to be a multiple of its step"
        return None

    def _wrong_arguments(self) -> str | None:
        """Find for each value that the second loop carries the one of the first."""
        results: list[SSAValue] = list(self.first.results)
        for j, (argument, begun) in enumerate(
            zip(self.others, list(self.second.operands)[3:], strict=True)
        ):
            if begun in results:
                k = results.index(begun)
            else:
                k = next((k for k in range(len(results)) if self._goes_on(j, k)), -1)
            if k < 0 or k in self.positions.values():
                return "the second loop carries what the first one does not"
            self.positions[j] = k
            self.known[argument] = self.arguments[k]
        uses = [use for result in results for use in result.uses]
        if any(use.operation is not self.second for use in uses):
            return "what the first loop leaves is read by more than the second"
        return None

    def _goes_on(self, j: int, k: int) -> bool:
        """Whether an argument counts on in steps of the loop from where another one ends."""
        more, less = self.last.operands[j].owner, self.end.operands[k].owner
        steps = [
            o.operands[1]
            for o, argument in ((more, self.others[j]), (less, self.arguments[k]))
            if isinstance(o, Operation) and name_of(o) == "arith.addi" and o.operands[0] is argument
        ]
        if len(steps) < 2 or not all(same(step, self.step) for step in steps):
            return False
        begun, then = self.first.operands[3 + k], self.second.operands[3 + j]
        return without(terms(then), [*terms(begun), *terms(self.seam)]) == []

    def _wrong_operations(self, pairs: dict[Operation, Operation]) -> str | None:
        single = [o for o in self.more if o not in pairs]
        single += [o for o in self.body if o not in pairs.values()]
        other = next((o for o in single if not _is_arithmetic(o)), None)
        if other is not None:
            return f"one of the loops has {name_of(other)} of its own"
        known = self.known | {
            r: s for o, p in pairs.items() for r, s in zip(o.results, p.results, strict=True)
        }
        for more, less in pairs.items():
            for a, b in zip(more.operands, less.operands, strict=True):
                if not same(known.get(a, a), b) and self.dump.type_of(b).kind != "tensor":
                    return f"the loops differ in what {name_of(less)} reads"
        for j, k in self.positions.items():
            made = self.last.operands[j]
            if not same(known.get(made, made), self.end.operands[k]):
                return "the loops differ in the operation that makes what they carry"
        return None

    def _pairs(self) -> dict[Operation, Operation]:
        """Return operations of the second loop with the same ones of the first, in order."""
        first, second = ([_signature(o) for o in body] for body in (self.body, self.more))
        found = difflib.SequenceMatcher(a=first, b=second, autojunk=False).get_matching_blocks()
        return {
            self.more[block.b + i]: self.body[block.a + i]
            for block in found
            for i in range(block.size)
        }

    # -- joining -----------------------------------------------------------------------------------

    def _hoist(self) -> None:
        """Move what lies between the loops to before them."""
        block = self.first.parent
        assert block is not None
        while (between := self.first.next_op) is not None and between is not self.second:
            between.detach()  # type: ignore[no-untyped-call]  # xDSL has no types
            block.insert_op_before(between, self.first)

    def _upper(self) -> SSAValue:
        """Return where the second loop ends, or the first if that is later."""
        upper = self.second.operands[1]
        more = without(terms(upper), terms(self.seam))
        if more is not None and all(map(is_natural, more)):
            return upper
        found = _made("arith.maxsi", (upper, self.seam), upper.type, {})
        _insert(found, self.first)
        return found.results[0]

    def _merge(self, pairs: dict[Operation, Operation]) -> None:
        position = 0
        for operation in self.more:
            if operation not in pairs:
                before = self.body[position] if position < len(self.body) else self.end
                self._copy(operation, before)
                continue
            own = pairs[operation]
            position = self.body.index(own) + 1
            for k, value in enumerate(operation.operands):
                other = self.known.get(value, value)
                if not same(other, own.operands[k]):
                    own.operands[k] = self._selected(other, own.operands[k], own)
            self.known.update(zip(operation.results, own.results, strict=True))

    def _copy(self, operation: Operation, before: Operation) -> None:
        copied = operation.clone(self.known)
        copied.attributes[LATER] = StringAttr("")
        _insert(copied, before)
        self.known.update(zip(operation.results, copied.results, strict=True))

    def _selected(self, later: SSAValue, value: SSAValue, before: Operation) -> SSAValue:
        """Return a value that is another one from the seam on."""
        if self.past is None:
            compared = (self.counter, self.seam)
            predicate = {"predicate": IntegerAttr(AT_LEAST, i64)}
            self.past = _made("arith.cmpi", compared, i1, predicate)
            _insert(self.past, self.body[0])
        operands = (self.past.results[0], later, value)
        found = _made("arith.select", operands, value.type, {LATER: IntegerAttr(1, i1)})
        _insert(found, before)
        return found.results[0]


def _made(
    name: str,
    operands: tuple[SSAValue, ...],
    kind: Attribute,
    attributes: Mapping[str, Attribute],
) -> Operation:
    made = UnregisteredOp.with_name(name)
    found = made.create(operands=operands, result_types=[kind], attributes=attributes)
    found.attributes.setdefault(LATER, StringAttr(""))
    return found


def _insert(operation: Operation, before: Operation) -> None:
    block = before.parent
    assert block is not None
    block.insert_op_before(operation, before)


def _is_arithmetic(operation: Operation) -> bool:
    name = name_of(operation)
    plain = name.startswith(("arith.", "math.")) or name in VIEWS - MUTABLE_VIEWS
    return (plain or name == "ttg.convert_layout") and len(operation.results) == 1


def _signature(operation: Operation) -> str:
    """Return what two operations share that do the same with their operands."""
    given = sorted(
        f"{key}={value}"
        for key, value in (operation.attributes | operation.properties).items()
        if not key.startswith(("sched.", "tt."))
    )
    inside = [name_of(o) for o in operation.walk() if o is not operation]
    types = [str(v.type) for v in (*operation.operands, *operation.results)]
    return f"{name_of(operation)} {given} {inside} {types}"


def same(a: SSAValue, b: SSAValue) -> bool:
    """Return whether two values are one, or computed in the same way of the same values."""
    if a is b:
        return True
    first, second = a.owner, b.owner
    if not isinstance(first, Operation) or not isinstance(second, Operation):
        return False
    if not _is_arithmetic(first) or _signature(first) != _signature(second):
        return False
    return all(same(x, y) for x, y in zip(first.operands, second.operands, strict=True))


def terms(value: SSAValue) -> list[SSAValue]:
    """Return what an integer is the sum of, without zeros."""
    owner = value.owner
    if isinstance(owner, Operation) and name_of(owner) == "arith.addi":
        return [term for operand in owner.operands for term in terms(operand)]
    return [] if integer_of(value) == 0 else [value]


def without(some: list[SSAValue], others: list[SSAValue]) -> list[SSAValue] | None:
    """Return the terms of a sum but for those of another; None if it lacks one."""
    left = list(some)
    for other in others:
        found = next((k for k, term in enumerate(left) if same(term, other)), None)
        if found is None:
            return None
        del left[found]
    return left


def is_natural(value: SSAValue) -> bool:
    """Return whether an integer is known not to be negative."""
    owner, number = value.owner, integer_of(value)
    if number is not None or not isinstance(owner, Operation):
        return number is not None and number >= 0
    name = name_of(owner)
    natural = [is_natural(operand) for operand in owner.operands]
    computed = name in ("arith.addi", "arith.muli") and all(natural)
    return computed or (name == "arith.maxsi" and any(natural)) or name == "tt.get_program_id"


def integer_of(value: SSAValue) -> int | None:
    """Return the number that a value is, if it is a constant."""
    owner = value.owner
    if not isinstance(owner, Operation) or name_of(owner) != "arith.constant":
        return None
    found = attribute(owner, "value")
    return int(found.value.data) if isinstance(found, IntegerAttr) else None
