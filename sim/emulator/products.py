"""Products of the tensor core, asynchronous ones: wgmma on registers, tcgen05 on tensor memory.

Products of one partition happen in the order of their issues. A wgmma is over when its partition
has waited for all but younger ones. A tcgen05 product is over when the partition has waited at a
barrier at which it, or a later commit, arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from twill.sim.emulator.accesses import Actor
from twill.sim.emulator.barriers import Barrier
from twill.sim.emulator.faults import FaultError
from twill.sim.emulator.machine import machine
from twill.sim.emulator.memory import Memory
from twill.sim.emulator.values import FLOAT32, INT32, OPERATORS, Array, DType, Numbers

# What kernels call the elements of scaled factors, and how many of a row share a scale.
ELEMENTS = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
SCALED_TOGETHER, NAN_SCALE = 32, 255
WHOLE = ("int8", "uint8")  # factors whose products are integers


@dataclass(eq=False)
class _Product:
    """A product: the line that issued it, the shape of its result, the result once it is there."""

    where: object
    shape: tuple[int, ...]
    value: Array | None = None


class InFlight:
    """The registers of a product without a completed wait; touching them is a fault.

    To the compiler the result is a `handle` until there is a wait for it, and a tile from then on,
    though that wait may have left it in flight.
    """

    def __init__(self, product: _Product, *, handle: bool) -> None:
        self.__dict__.update(_product=product, _handle=handle)

    @property
    def kind(self) -> tuple[str, str, tuple[int, ...], None]:
        """The result's kind as the compiler sees it, as `twill.sim.emulator.language.Kind`."""
        what = "handle of a product" if self.__dict__["_handle"] else "tile"
        return what, FLOAT32.name, tuple(_of(self).shape), None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in OPERATORS:
            raise AttributeError(name)
        raise _touched(self)


def _of(value: InFlight) -> _Product:
    product: _Product = value.__dict__["_product"]
    return product


def _touched(value: InFlight) -> FaultError:
    where = _of(value).where or "none that was issued"
    return machine().fault(
        "in flight", f"the result of a product ({where}) is used before its wait"
    )


def _refused(self: InFlight, *_: Any) -> Any:
    raise _touched(self)


for _name in (*OPERATORS, "__getitem__", "__bool__", "__iter__"):
    setattr(InFlight, _name, _refused)


def _factor(a: Any) -> Numbers:
    kind = np.int32 if a.dtype.name in WHOLE else np.float32
    return np.asarray(a.numbers() if isinstance(a, Memory) else a.data, kind)


def _summed(a: Any, b: Memory) -> DType:
    """Return the type in which products of two factors are summed.

    Raises
    ------
    FaultError
        If the tensor core does not multiply them.
    """
    whole = [factor.dtype.name in WHOLE for factor in (a, b)]
    if whole[0] != whole[1]:
        what = f"a product of {a.dtype.name} and {b.dtype.name}"
        raise machine().fault("type", what)
    return INT32 if whole[0] else FLOAT32


def _fitting(a: Any, b: Memory, shape: tuple[int, ...]) -> None:
    (m, k), (length, n) = a.shape, b.shape
    if length != k or tuple(shape) != (m, n):
        what = f"a product of {[m, k]} and {[length, n]} into {list(shape)}"
        raise machine().fault("shape", what)


def _shape(acc: Array | InFlight) -> tuple[int, ...]:
    return _of(acc).shape if isinstance(acc, InFlight) else acc.shape


def _wgmma(
    a: Any, b: Memory, acc: Any, *, use_acc: Any = True, is_async: bool = False, **_: Any
) -> Any:
    running = machine()
    me = running.current
    _fitting(a, b, _shape(acc))
    summed = _summed(a, b)
    access = running.access("a product", "wgmma")
    for factor in (a, b):
        if isinstance(factor, Memory):
            running.accesses.read(factor.name, factor.cells(), access)
    product, accumulates = _Product(access.place, _shape(acc)), bool(use_acc)
    result = InFlight(product, handle=True)
    a = a if isinstance(a, Memory) else Array(a.data, a.dtype)

    def run() -> None:
        before = _of(acc).value if isinstance(acc, InFlight) else acc
        assert before is not None  # products happen in their order
        total = _factor(a) @ _factor(b)
        total = before.data + total if accumulates else total
        product.value = Array(total, summed, before.layout)

    label = f"products of {me.name}"
    me.products.append([(running.later(label, run, label), access)])
    if not is_async:
        return _wgmma_wait(0, (result,))
    running.step()
    return result


def _wgmma_wait(num_outstanding: int = 0, deps: Any = ()) -> Any:
    running = machine()
    running.settle(running.current.products, int(num_outstanding), "products")
    late = [access.place for ((_, access),) in running.current.products]
    values = tuple(_settled(one, late) for one in deps)
    return values[0] if len(values) == 1 else values


def _settled(value: Any, late: list[Any]) -> Any:
    """Return the result of a product if it is over; to the compiler it is a tile in any case."""
    if not isinstance(value, InFlight):
        return value
    product = _of(value)
    if any(product.where is one for one in late):
        return InFlight(product, handle=False)
    return product.value


def _handle(value: Any) -> InFlight:
    """Return a tile, or what a wait left in flight, as the handle of a product."""
    if isinstance(value, InFlight) and value.__dict__["_handle"]:
        raise machine().fault("type", "warpgroup_mma_init takes a tile, and was given a handle")
    if isinstance(value, InFlight):
        return InFlight(_of(value), handle=True)
    return InFlight(_Product(None, tuple(value.shape), value), handle=True)


def _tcgen05_mma(a: Memory, b: Memory, acc: Memory, **named: Any) -> None:
    _fitting(a, b, tuple(acc.shape))
    if acc.dtype.name not in ("float16", _summed(a, b).name):
        raise machine().fault("type", f"a product of {a.dtype.name} into {acc.dtype.name}")
    _tcgen05((a, b), acc, lambda: _factor(a) @ _factor(b), **named)


def _tcgen05_mma_scaled(
    a: Memory,
    b: Memory,
    acc: Memory,
    a_scale: Memory,
    b_scale: Memory,
    a_type: str,
    b_type: str,
    **named: Any,
) -> None:
    for factor, kind in ((a, a_type), (b, b_type)):
        if factor.dtype.name != ELEMENTS.get(kind):
            what = f"a factor of {factor.dtype.name} is said to be {kind}"
            raise machine().fault("type", what)
    rows = (a.shape[0], b.shape[1])
    for scale, length in zip((a_scale, b_scale), rows, strict=True):
        if tuple(scale.shape) != (length, a.shape[1] // SCALED_TOGETHER):
            what = f"scales of {list(scale.shape)} for {[length, a.shape[1]]} elements"
            raise machine().fault("shape", what)

    def total() -> Numbers:
        left = _factor(a) * _powers(a_scale)
        right = _factor(b).T * _powers(b_scale)
        return np.asarray(left @ right.T)

    _fitting(a, b, tuple(acc.shape))
    _tcgen05((a, b, a_scale, b_scale), acc, total, **named)


def _powers(scale: Memory) -> Numbers:
    """Return powers of two of bytes that are exponents with a bias of 127 (UE8M0)."""
    exponents = scale.numbers().astype(np.uint8).astype(np.float32)
    powers = np.where(exponents == NAN_SCALE, np.nan, np.exp2(exponents - 127))
    return np.repeat(powers.astype(np.float32), SCALED_TOGETHER, axis=1)


def _tcgen05(
    operands: tuple[Memory, ...],
    acc: Memory,
    product: Callable[[], Numbers],
    *,
    use_acc: Any = True,
    pred: Any = True,
    mbarriers: Any = None,
    mbarrier_preds: Any = None,
    **_: Any,
) -> None:
    if not pred:
        return
    running = machine()
    for operand in operands:
        access = running.access("a product", "tcgen05", shared=operand.in_shared)
        running.accesses.read(operand.name, operand.cells(), access)
    access = running.access("a product", "tcgen05", shared=False)
    accumulates = bool(use_acc)
    if accumulates:
        running.accesses.read(acc.name, acc.cells(), access)
    running.accesses.write(acc.name, acc.cells(), access)

    def run() -> None:
        total = product()
        acc.put(acc.numbers() + total if accumulates else total)

    label = f"products of {running.current.name}"
    running.later(label, run, label)
    preds = [True] * len(mbarriers or ()) if mbarrier_preds is None else mbarrier_preds
    for barrier, wanted in zip(mbarriers or (), preds, strict=True):
        _commit(barrier, pred=wanted)
    running.step()


def _commit(barrier: Barrier, pred: Any = True, **_: Any) -> None:
    if not pred:
        return
    running = machine()
    barrier.initialised().pending += 1
    running.accesses.arrive(
        running.access(f"an arrival at {barrier.name}", "tcgen05", shared=False)
    )
    published = running.accesses.published(Actor(running.current.number, "tcgen05"))
    label = f"products of {running.current.name}"

    def run() -> None:
        barrier.pending -= 1
        barrier.arrive(1, published, f"a product of {label.removeprefix('products of ')}")

    running.later(label, run, label)


def _commit_apart(barrier: Barrier, pred: Any = True, **_: Any) -> None:
    _commit(barrier, pred)
    machine().step()


def _copy(src: Memory, dst: Memory) -> None:
    running = machine()
    access = running.access("a copy", "tcgen05")
    running.accesses.read(src.name, src.cells(), access)
    access = running.access("a copy", "tcgen05", shared=False)
    running.accesses.write(dst.name, dst.cells(), access)
    label = f"products of {running.current.name}"
    running.later(label, lambda: dst.put(src.numbers()), label)
    running.step()


HOPPER = {
    "warpgroup_mma": _wgmma,
    "warpgroup_mma_wait": _wgmma_wait,
    "warpgroup_mma_init": _handle,
    "warpgroup_mma_accumulator": InFlight,
}
BLACKWELL = {
    "tcgen05_mma": _tcgen05_mma,
    "tcgen05_mma_scaled": _tcgen05_mma_scaled,
    "tcgen05_commit": _commit_apart,
    "tcgen05_copy": _copy,
    "tcgen05_mma_barrier_count": lambda *_, **__: 1,
}
