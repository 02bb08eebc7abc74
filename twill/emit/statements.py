"""Statements of a kernel for buffers, barriers and the tensor core: each is written here alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from twill.emit.attributes import access_options, is_true, refused
from twill.emit.expressions.texts import Text
from twill.emit.layouts import dtype
from twill.emit.source import Source, SSAValue, Statement
from twill.emit.tree import Allocation, Assignment, Barrier, Call
from twill.frontends.ttgir import USE_C
from twill.frontends.ttgir.kinds import PRODUCTS, product_operands
from twill.frontends.ttgir.reader import integer, integers, name_of

SCALED = {0: "e4m3", 1: "e5m2"}  # elements of scaled products
TF32 = 0  # of `inputPrecision`
IMPRECISE = 1 << 30  # of `maxNumImpreciseAcc` where Triton is not told otherwise
# Of `sem` and `scope`: Triton's ODS (`TritonAttrDefs.td`).
ORDERS = {1: "relaxed", 2: "acquire", 3: "release", 4: "acq_rel"}
SCOPES = {1: "gpu", 2: "cta", 3: "sys"}
POINTER, VALUE, MASK = range(3)  # operands of an atomic update
FENCE = Call("fence_async_shared")


class Operands(Protocol):
    """Values as a statement reads them where it is written."""

    def value(self, value: SSAValue) -> Text:
        """Return the text of a tile in registers, or of a number."""

    def factor(self, value: SSAValue) -> str:
        """Return a factor of a product, in registers or in a buffer."""


# -- buffers -----------------------------------------------------------------------------------


def contents(element: str, shape: Sequence[int], layout: str) -> str:
    """Return a buffer's contents, as arguments of its allocation."""
    return f"gl.{dtype(element)}, {list(shape)}, {layout}"


def shared_memory(name: str, what: str) -> Allocation:
    """Return the allocation of a buffer in shared memory."""
    return Allocation(name, f"gl.allocate_shared_memory({what})")


def tensor_memory(name: str, what: str) -> Allocation:
    """Return the allocation of a buffer in tensor memory."""
    return Allocation(name, f"allocate_tensor_memory({what})")


def read(variable: str, buffer: str, layout: str) -> Assignment:
    """Return the statement that reads a tile from a buffer."""
    return Assignment(variable, f"{buffer}.load({layout})")


def write(buffer: str, value: str) -> Call:
    """Return the statement that writes a tile to a buffer."""
    return Call(f"{buffer}.store", (value,))


# -- barriers ----------------------------------------------------------------------------------


def wait(barrier: str, parity: str) -> Call:
    """Return the wait for a phase of a barrier."""
    return Call("mbarrier.wait", (barrier, parity))


def arrive(barrier: str) -> Call:
    """Return an arrival at a barrier."""
    return Call("mbarrier.arrive", (barrier,))


def expect(barrier: str, count: int) -> Call:
    """Return an arrival that announces the bytes of transfers."""
    return Call("mbarrier.expect", (barrier, str(count)))


def commit(barrier: Barrier) -> Call:
    """Return the statement by which products signal that they are over."""
    return Call("tcgen05_commit", (barrier.slot(),))


def products_waited(variables: Sequence[str], younger: int) -> str:
    """Return the wait for products in registers that leaves `younger` ones in flight."""
    return f"warpgroup_mma_wait(num_outstanding={younger}, deps=({', '.join(variables)},))"


# -- global memory -----------------------------------------------------------------------------


def described(
    statement: Statement, value: Callable[[SSAValue], Text], tile: Sequence[int], element: str
) -> Call:
    """Return the making of a descriptor of tiles."""
    base, *numbers = (value(o).text for o in statement.operands)
    shape, strides = numbers[: len(tile)], numbers[len(tile) :]
    layout = f"gl.NVMMASharedLayout.get_default_for({list(tile)}, gl.{dtype(element)})"
    lists = (f"[{', '.join(shape)}]", f"[{', '.join(strides)}]", str(list(tile)))
    return Call("tma.make_tensor_descriptor", (base, *lists, layout))


def transfer(load: Statement, value: Callable[[SSAValue], Text], barrier: str, to: str) -> Call:
    """Return a load of a tile by TMA, which reports its bytes to a barrier."""
    if name_of(load) != "tt.descriptor_load":
        raise refused(load)
    descriptor, *at = load.operands
    coordinates = ", ".join(value(o).text for o in at)
    place = (f"[{coordinates}]", barrier, to)
    return Call("tma.async_load", (value(descriptor).text, *place))


def transfer_back(store: Statement, descriptor: str, at: Sequence[str], buffer: str) -> Call:
    """Return a store of a tile by TMA, or an addition."""
    reduces = name_of(store) == "tt.descriptor_reduce"
    call = "async_atomic_add" if reduces else "async_store"
    return Call(f"tma.{call}", (descriptor, f"[{', '.join(at)}]", buffer))


def transfers_waited(younger: int) -> Call:
    """Return the wait for stores by TMA that leaves `younger` ones in flight."""
    return Call("tma.store_wait", (f"pendings={younger}",))


def loaded(statement: Statement, operands: Sequence[Text]) -> str:
    """Return a load through pointers."""
    return f"gl.load({', '.join(_addressed(statement, operands))})"


def copied(source: Source, statement: Statement, operands: Sequence[Text], to: str) -> Call:
    """Return an asynchronous copy through pointers, which puts zeros where a mask is false.

    Raises
    ------
    RefusedError
        If something else is wanted there.
    """
    if len(operands) > 2:
        if not source.is_zero(statement.operands[2]):
            raise refused(statement, "it is copied asynchronously, and `other` is not zero")
        operands = operands[:2]
    return Call("async_copy.async_load", (to, *_addressed(statement, operands)))


def stored(statement: Statement, operands: Sequence[Text]) -> Call:
    """Return a store through pointers."""
    return Call("gl.store", (*(o.text for o in operands), *access_options(statement)))


def _addressed(statement: Statement, operands: Sequence[Text]) -> list[str]:
    counts = integers(statement, "operandSegmentSizes") or [1, 0, 0]
    keys = [k for k, c in zip(("", "mask=", "other="), counts, strict=True) if c]
    given = [f"{k}{o.text}" for k, o in zip(keys, operands, strict=False)]
    return [*given, *access_options(statement)]


def updated(source: Source, statement: Statement, operands: Sequence[Text]) -> Call:
    """Return an atomic update."""
    given = [operands[POINTER].text, operands[VALUE].text]
    if len(operands) > MASK and not is_true(source, statement.operands[MASK]):
        given.append(f"mask={operands[MASK].text}")
    for key, named, values, usual in (
        ("sem", "sem", ORDERS, "acq_rel"),
        ("scope", "scope", SCOPES, "gpu"),
    ):
        word = values.get(integer(statement, key) or 0)
        if word is None:
            raise refused(statement, f"{key} = {integer(statement, key)}")
        given += [] if word == usual else [f'{named}="{word}"']
    return Call(f"gl.atomic_{update_of(statement)}", tuple(given))


# -- products ----------------------------------------------------------------------------------


def wgmma(source: Source, statement: Statement, operands: Operands, *more: str) -> str:
    """Return a product whose accumulator lies in registers; `more` are further arguments.

    Raises
    ------
    RefusedError
        If its factors are to be multiplied more precisely than the tensor core does.
    """
    a, b, *others = statement.operands
    texts = [operands.factor(a), operands.factor(b), *(operands.value(o).text for o in others)]
    use = texts[USE_C] if len(texts) > USE_C else "True"
    if use == "True" and source.is_zero(statement.operands[2]):
        use = "False"
    begun = source.statement(statement.operands[2])
    if begun is not None and name_of(begun) == "tt.broadcast":  # no product adds to one row
        texts[2] += f".broadcast_to({list(source.type_of(statement.operands[2]).shape)})"
    factor = source.type_of(b)
    if factor.dtype == "f32" and (integer(statement, "inputPrecision") or 0) != TF32:
        raise refused(statement, "inputPrecision is not tf32")
    given = [*texts[:USE_C], *([] if use == "True" else [f"use_acc={use}"])]
    imprecise = integer(statement, "maxNumImpreciseAcc") or 0
    if factor.dtype.startswith("f8") and imprecise != IMPRECISE:  # Triton's default on Hopper
        given.append(f"max_num_imprecise_acc={min(imprecise, factor.shape[0])}")
    return f"warpgroup_mma({', '.join([*given, *more])})"


def tcgen05(
    statement: Statement,
    operands: Operands,
    to: str,
    signals: Sequence[str],
    *,
    scales: Sequence[str] = (),
    adds: str | None = None,
) -> Call:
    """Return a product that tensor memory accumulates, by scales if there are some.

    `adds`: where the statement always adds, whether it does all the same.

    Raises
    ------
    RefusedError
        If the tensor core does not scale its elements.
    """
    roles = product_operands(statement)
    a, b = (operands.factor(statement.operands[roles[key] or 0]) for key in ("a", "b"))
    use = roles["use_d"]
    used = "True" if use is None else operands.value(statement.operands[use]).text
    used = adds if used == "True" and adds is not None else used
    given, call = [a, b, to, *scales], "tcgen05_mma"
    if name_of(statement) == PRODUCTS[1]:
        call = "tcgen05_mma_scaled"
        for key in ("a_type", "b_type"):
            element = SCALED.get(integer(statement, key) or 0)
            if element is None:
                raise refused(statement, f"{key} = {integer(statement, key)}")
            given.append(f'"{element}"')
    given += [] if used == "True" else [f"use_acc={used}"]
    given += [f"mbarriers=[{', '.join(signals)}]"] if signals else []
    return Call(call, tuple(given))


# Of `atomic_rmw_op`: Triton's ODS (`TritonAttrDefs.td`).
UPDATES = {4: "add", 5: "add", 6: "max", 7: "min"}


def update_of(statement: Statement) -> str:
    """Return the operation of an atomic update: ``add``, ``max`` or ``min``.

    Raises
    ------
    RefusedError
        If it is another operation, or if the old value is used.
    """
    which = integer(statement, "atomic_rmw_op") or 0
    if which not in UPDATES:
        raise refused(statement, f"atomic_rmw_op = {which}")
    if any(list(result.uses) for result in statement.results):
        raise refused(statement, "what it returns is used")
    return UPDATES[which]
