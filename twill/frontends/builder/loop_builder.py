"""Loops written in Python: `LoopBuilder`, with operations recorded in program order."""

from __future__ import annotations

from typing import Self, Unpack

from twill.artifacts.loop import Cost, DependenceKind, ElementType, Loop, MemoryName, Step
from twill.frontends.builder.finish import Finishing
from twill.frontends.builder.recorder import Products, Recorder, here
from twill.frontends.builder.values import (
    Carried,
    Lies,
    Node,
    Order,
    Outside,
    Said,
    Shape,
    Value,
    Variable,
    describe,
)

__all__ = ["Carried", "LoopBuilder", "Value"]


class LoopBuilder:
    """Writes a loop down as its body reads.

    Parameters
    ----------
    name : str
        Name of the loop.
    description : str
        A sentence about the loop.
    warps : int
        Warps that execute an operation together if it does not say otherwise.
    products : str
        Where the results of matrix products live: ``registers`` (Hopper) or ``tmem`` (Blackwell).

    Attributes
    ----------
    operation, mma, elementwise, cast, reduce : callable
        Add an operation; those of `twill.frontends.builder.recorder.Recorder`.
    tile : callable
        Return a type of a result; that of the recorder, too.

    Examples
    --------
    >>> with LoopBuilder("scale") as loop:
    ...     x = loop.given("x", (64, 128), "f32", memory="registers")
    ...     y = (x * 2.0).named("y")
    >>> loop.build().operations[0].kind
    'mul'
    """

    def __init__(
        self, name: str, *, description: str = "", warps: int = 4, products: Products = "registers"
    ) -> None:
        recorder = Recorder(name, description=description, warps=warps, products=products)
        self._recorder, self.name, self.tile = recorder, name, recorder.tile
        self.operation, self.mma = recorder.operation, recorder.mma
        self.elementwise, self.cast, self.reduce = (
            recorder.elementwise,
            recorder.cast,
            recorder.reduce,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        if kind is None:
            self.build()

    def build(self) -> Loop:
        """Close the loop and return it; nothing can be added after this.

        Raises
        ------
        InputError
            If a carried variable was never assigned or has no producer, if the spread of a
            reduced tile is unknown, or if the loop is empty.
        """
        if self._recorder.finished is None:
            self._recorder.finished = Finishing(self._recorder).loop()
        return self._recorder.finished

    def given(self, name: str, shape: Shape, dtype: ElementType, **lies: Unpack[Lies]) -> Value:
        """Return a tile that is simply there: no operation makes it, no room is counted for it.

        Parameters
        ----------
        name : str
            For people.
        shape, dtype, memory, elements_per_thread
            Its type, see `twill.artifacts.loop.Tile`; by default in shared memory, a scalar in
            registers.
        """
        self._recorder.check_open()
        where = lies.get("memory") or ("smem" if shape else "registers")
        tile = self.tile(shape, dtype, where, lies.get("elements_per_thread"))
        return Value(self._recorder, tile, Outside(self._recorder.check_name(name), tile))

    def invariant(self, name: str, shape: Shape, dtype: ElementType, **lies: Unpack[Lies]) -> Value:
        """Return a tile that occupies its memory throughout the loop, for example Q in attention.

        Parameters are those of `given`.
        """
        value = self.given(name, shape, dtype, **lies)
        assert isinstance(value.source, Outside)
        self._recorder.invariants.append(value.source)
        return value

    def carried(
        self,
        name: str,
        shape: Shape,
        dtype: ElementType = "f32",
        *,
        memory: MemoryName | None = None,
        distance: int = 1,
    ) -> Carried:
        """Return a variable that begins with its value of an earlier iteration.

        The operation that makes its last value is called `name` unless it has a name of its own.

        Parameters
        ----------
        name : str
            For people and for that operation.
        shape, dtype, memory
            Its type; in registers by default.
        distance : int
            How many iterations before.
        """
        self._recorder.check_open()
        if distance < 1:
            raise self._recorder.error(
                f"a carried value comes from an earlier iteration (got {distance})"
            )
        tile = self.tile(shape, dtype, memory or "registers")
        variable = Variable(self._recorder.check_name(name), tile, distance, here())
        self._recorder.variables.append(variable)
        return Carried(self._recorder, variable)

    def load(
        self,
        name: str,
        shape: Shape,
        dtype: ElementType,
        *,
        engine: str = "tma",
        cost: Cost | None = None,
    ) -> Value:
        """Add a load of an input tile into shared memory; one warp issues it.

        Parameters
        ----------
        name : str
            Unique in the loop.
        shape, dtype
            The tile.
        engine : str
            The engine that moves it, an attribute for rules.
        cost : Cost, optional
            In place of the machine's rule.
        """
        return self.operation(
            "load",
            result=self.tile(shape, dtype, "smem"),
            name=name,
            warps=1,
            attributes={"engine": engine},
            cost=cost,
        )

    def exp2(self, x: Value, **said: Unpack[Said]) -> Value:
        """Add 2 to the power of `x` (see `elementwise`)."""
        return self.elementwise("exp2", x, **said)

    def maximum(self, x: Value | float, y: Value | float, **said: Unpack[Said]) -> Value:
        """Add the larger of two tiles, element by element (see `elementwise`)."""
        return self.elementwise("max", x, y, **said)

    def local_store(self, x: Value, **said: Unpack[Said]) -> Value:
        """Add a copy of a tile in registers to shared memory (see `operation`)."""
        result = self.tile(x.shape, x.dtype, "smem")
        return self.operation("local_store", self._held(x), result=result, **said)

    def tmem_load(self, x: Value, **said: Unpack[Said]) -> Value:
        """Add a read of a tile in tensor memory into registers (see `operation`)."""
        x = self._recorder.reading(x)
        if x.memory != "tmem":
            raise self._recorder.error(
                f"tmem_load: the tile is not in tensor memory (got {describe(x)})"
            )
        result = self.tile(x.shape, x.dtype, "registers")
        return self.operation("tmem_load", x, result=result, **said)

    def tmem_store(self, x: Value, *, into: Value | None = None, **said: Unpack[Said]) -> Value:
        """Add a copy of a tile in registers to tensor memory.

        Parameters
        ----------
        x : Value
            The tile.
        into : Value, optional
            A tile there that it overwrites, for example an accumulator.
        name, cost
            As in `operation`.
        """
        result = self.tile(x.shape, x.dtype, "tmem")
        operands = [self._held(x)]
        if into is not None:
            operands.append(self._recorder.fitting(into, result, "tmem_store: the destination"))
        return self.operation(
            "tmem_store", *operands, result=result, in_place=1 if into is not None else None, **said
        )

    def store(self, x: Value, *, engine: str = "tma", **said: Unpack[Said]) -> Value:
        """Add a store of a tile to global memory; from shared memory one warp issues it.

        Parameters
        ----------
        x : Value
            The tile.
        engine : str
            The engine that moves it, an attribute for rules.
        name, cost
            As in `operation`.
        """
        return self.operation(
            "store",
            x,
            result=None,
            warps=1 if x.memory == "smem" else None,
            attributes={"engine": engine},
            **said,
        )

    def order(
        self,
        first: Value,
        then: Value,
        *,
        distance: int = 0,
        kind: DependenceKind = "order",
        delay: int | None = None,
        blocking: bool | None = None,
    ) -> None:
        """Add a dependence between two operations, in addition to those that reading implies.

        Parameters
        ----------
        first, then : Value
            Results of the two operations.
        distance, kind, delay, blocking
            As in `twill.artifacts.loop.Dependence`.
        """
        before, after = (self._recorder.reading(value).source for value in (first, then))
        if not (isinstance(before, Node) and isinstance(after, Node)):
            raise self._recorder.error("order: both ends must be operations of this iteration")
        if distance < 0 or (delay or 0) < 0:
            raise self._recorder.error(
                f"order: negative distance or delay (got {distance}, {delay})"
            )
        said = {"distance": distance, "kind": kind, "delay": delay, "blocking": blocking}
        self._recorder.orders.append(Order(before, after, here(), said))

    @staticmethod
    def cost(
        unit: str,
        cycles: int,
        *,
        latency: int | None = None,
        asynchronous: bool = False,
        issue: int = 0,
    ) -> Cost:
        """Return a cost that replaces a machine's rule: work on one unit.

        Parameters
        ----------
        unit : str
            A functional unit of the machine.
        cycles : int
            For how long it works.
        latency : int, optional
            Cycles until the result can be read, `cycles` without it.
        asynchronous, issue
            As in `twill.artifacts.loop.Cost`.
        """
        return Cost(
            steps=(Step(unit=unit, cycles=cycles),),
            latency=cycles if latency is None else latency,
            asynchronous=asynchronous,
            issue=issue,
        )

    def _held(self, value: Value) -> Value:
        seen = self._recorder.reading(value)
        if seen.memory != "registers":
            raise self._recorder.error(f"a store reads registers (got {describe(seen)})")
        return seen
