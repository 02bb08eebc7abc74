"""The code of one group: the schedule's instructions in the schedule's order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twill.artifacts.loop import Dependence
from twill.artifacts.program import (
    Arrive,
    Await,
    Fence,
    Get,
    Interleave,
    Issue,
    Put,
    Wait,
    issues_of,
    singles,
)
from twill.artifacts.schedule import Group
from twill.base.errors import RefusedError
from twill.emit.dress import Gluon, Text
from twill.emit.memory import Memories
from twill.emit.names import COUNTER, INDENT, TRIPS, number
from twill.emit.operations import Operations
from twill.emit.outside import has_room
from twill.emit.source import SSAValue
from twill.emit.values import Where
from twill.frontends.ttgir.reader import name_of
from twill.lower.iterations import Iteration
from twill.lower.rounds import Pipelined, Place, Round, Step, pipelined

TRIAL_ROUNDS = 6  # after which what is in flight where repeats


@dataclass(frozen=True)
class Flights:
    """Products and stores in flight.

    Attributes
    ----------
    least : dict
        By round and place in it, how many younger ones an await may leave in flight.
    left : list
        Products in flight when the loop ends.
    over : frozenset
        Products in flight where a round begins.
    entered : frozenset
        Products in flight where the first round of the steady state begins, with their iterations.
    holders : dict
        By round and place in it, the product in flight that adds to what an await waits for, and
        so has its registers.
    stores : bool
        Whether stores are in flight when the loop ends; no block may end before they are over.
    """

    least: dict[tuple[Iteration, int], int]
    left: list[str]
    over: frozenset[str]
    entered: frozenset[tuple[str, int]]
    holders: dict[tuple[Iteration, int], str]
    stores: bool


class Role(Operations):
    """The function of one group."""

    def __init__(self, memories: Memories, gluon: Gluon, group: Group) -> None:
        super().__init__(memories, gluon, group)
        self.kept: dict[SSAValue, str] = {}  # results of the loop that branches leave
        self._take(None)

    def _take(self, trips: int | None) -> None:
        """Write rounds for so many iterations, or for as many as the pipeline needs at least."""
        self.trips = trips
        self.parts: Pipelined = pipelined(self.program, self.barriers, trips)
        self.flights = self._counted()

    # -- the whole -------------------------------------------------------------------------------

    def loop(self, left: list[SSAValue]) -> list[str]:
        """Return the loop, for each number of iterations that may be too small by itself.

        `left`: the loop's results that this group makes and that are needed after it.
        """
        last, trips = self.program.last_stage, self.source.trips
        if not self.source.varies:
            self._take(trips if trips is not None and trips <= last else None)
            return self._rounds()
        lines = []
        for result in left:
            self.kept[result] = f"left{self.source.position(result)}"
            lines.append(f"{self.kept[result]} = {self.outside.value(self.source.start(result))}")
        for few in (*range(1, last), None):
            self._take(few)
            body = self._rounds()
            body += [f"{self.kept[result]} = {self._made_last(result)}" for result in left]
            enough = f">= {max(1, last)}" if few is None else f"== {few}"
            lines += [f"if {TRIPS} {enough}:", *(INDENT + line for line in body)]
        return lines

    def _rounds(self) -> list[str]:
        """Return the prologue, the steady state and the epilogue."""
        steady, entering = self.parts.steady, self._entering()
        begins = set() if self.parts.prologue else entering
        lines = [
            f"{name} = {f'warpgroup_mma_init({text})' if name in begins else text}"
            for name, text in self._initial().items()
        ]
        for k, of in enumerate(self.parts.prologue):
            lines += [f"# {'prologue, ' if steady else ''}round {k}", *self._round(of)]
        if steady is not None:
            lines += [f"{name} = warpgroup_mma_init({name})" for name in sorted(entering - begins)]
            lines.append("# steady state")
            first = f"{self.parts.first}, " if self.parts.first else ""
            here = "" if has_room(self.schedule, self.group) else ", disable_licm=True"
            lines.append(f"for {COUNTER} in tl.range({first}{TRIPS}{here}):")
            lines += [INDENT + line for line in self._round(steady) or ["pass"]]
        for of in self.parts.epilogue:
            lines += [f"# epilogue, round {number(of.number)}", *self._round(of)]
        return lines + self._drained()

    def _entering(self) -> set[str]:
        """Return the variables that hold no product where the steady state begins, but do later.

        Triton wants a variable to be of one type in all rounds of a loop.
        """
        first, begin = self.parts.first, Iteration("i", 0)
        return {
            self.names(place.text(Iteration("i", -before), begin))
            for d, place in self._carried_registers()
            for before in range(d.distance, 0, -1)
            if self.parts.steady is not None
            and d.producer in self.flights.over
            and (d.producer, first - before) not in self.flights.entered
        }

    def _round(self, of: Round) -> list[str]:
        lines: list[str] = []
        for k, step in self._in_order(of):
            self.where = Where(step.iteration, of.number)
            made = self._step(step, (of.number, k))
            if step.condition and made:
                condition = step.condition.replace("n", TRIPS)
                made = [f"if {condition}:", *(INDENT + line for line in made)]
            lines += made
        if self.trips is not None and of is self.parts.prologue[-1]:
            return lines
        issued = dict.fromkeys(issue.operation for issue in self.program.issues)
        places = [self.places.result(name) for name in issued]
        gets = [part for one in self.program.body for part in singles(one) if isinstance(part, Get)]
        places += [self.places.copy(get.value, get.reader, get.distance) for get in gets]
        for place in places:
            renamed = place.rotations(of.number, self.trips, self.program.last_stage)
            lines += [f"{self.names(new)} = {self.names(old)}" for new, old in renamed]
        return lines

    def _in_order(self, of: Round) -> list[tuple[int, Step]]:
        """Return the steps of a round with their places, in the order in which they are compiled.

        ptxas waits for stores in front of a product that is issued directly before.
        """
        found: list[tuple[int, Step]] = []
        for k, step in enumerate(of.steps):
            at = len(found)
            while at and _waits_for_stores(self, step) and _issues_product(self, found[at - 1][1]):
                at -= 1
            found.insert(at, (k, step))
        return found

    def final(self, result: SSAValue) -> Text:
        """Return what the loop leaves."""
        return Text(self.kept.get(result) or self._made_last(result))

    def _made_last(self, result: SSAValue) -> str:
        """Return the variable of what the last iteration leaves of a result of the loop."""
        made, hops = self.source.graph.before_arguments(self.source.yielded(result))
        owners = [o for o in self.source.owners_of(made) if self.memories.in_registers(o)]
        if not owners:
            raise RefusedError("what the loop leaves passes through operations without a template")
        return self._last_name(owners[-1], hops)

    def _last_name(self, operation: str, before: int = 0) -> str:
        """Return the variable of an operation's result of the last iteration, or one before."""
        last, place = self.program.last_stage, self.places.result(operation)
        if self.trips is not None:
            end = Iteration("", self.trips)
            text = place.text(end.minus(1 + before), end.minus(1 - last))
        elif last:
            text = place.text(Iteration("n", -1 - before), Iteration("n", last - 1))
        else:
            text = place.text(Iteration("i", -1 - before), Iteration("i", 0))
        return self.names(text)

    def _drained(self) -> list[str]:
        """Wait for the products that are in flight when the loop ends."""
        names = [self._last_name(name) for name in self.flights.left]
        if not names:
            return []
        waited = f"warpgroup_mma_wait(num_outstanding=0, deps=({', '.join(names)},))"
        return [f"{', '.join(names)} = {waited}"]

    # -- before the first iteration --------------------------------------------------------------

    def _carried_registers(self) -> Iterator[tuple[Dependence, Place]]:
        """Yield the dependences by which this group's registers are read, and their places."""
        for d in self.schedule.loop.dependences:
            if d.kind != "data":
                continue
            place = self.places.read(d)
            copied = place.name != d.producer
            holder = d.consumer if copied else d.producer
            mine = self.schedule.assignment[holder] == self.group.name
            if mine and (copied or self.memories.in_registers(d.producer)):
                yield d, place

    def _initial(self) -> dict[str, str]:
        """Return what registers hold before the first iteration, by their names."""
        found: dict[str, str] = {}
        for d, place in self._carried_registers():
            for before in range(d.distance, 0, -1):
                name = self.names(place.text(Iteration("", -before), Iteration("", 0)))
                if name not in found:
                    found[name] = self._initial_value(d.producer, before).text
        return found

    def _initial_value(self, operation: str, before: int) -> Text:
        """Return what the loop finds in the place of a result of so many iterations ago."""
        graph = self.source.graph
        back = {following: argument for argument, following in graph.carried.items()}
        for value in self.memories.results(operation):
            for argument, following in graph.carried.items():
                owner = self.source.statement(following)
                converted = owner is not None and name_of(owner) == "ttg.convert_layout"
                inner = owner.operands[0] if owner is not None and converted else following
                if value not in (following, inner):
                    continue
                first: SSAValue = argument
                for _ in range(before - 1):
                    first = back[first]
                text = self.outside.value(graph.initial[first])
                if value is following:
                    return text
                made = self.source.statement(value)
                assert made is not None
                return Text(f"gl.convert_layout({text.text}, {self.gluon.layout_of(made)})")
        raise RefusedError(f"what {operation} begins with has no template for kernels")

    # -- products in flight ----------------------------------------------------------------------

    def _counted(self) -> Flights:
        """Execute the program for some iterations, as far as what is in flight is concerned."""
        least: dict[tuple[Iteration, int], int] = {}
        holders: dict[tuple[Iteration, int], str] = {}
        flying: dict[str, list[tuple[str, int]]] = {"mma": [], "store": []}
        over: set[str] = set()
        entered: frozenset[tuple[str, int]] | None = None
        trips = max(TRIAL_ROUNDS, 2 * self.program.last_stage + 2)
        for of, i in self._walk(trips):
            if of is self.parts.steady:
                over |= {name for name, _ in flying["mma"]}
                entered = frozenset(flying["mma"]) if entered is None else entered
            for k, step in enumerate(of.steps):
                for name, iteration in _begun(step, i, trips):
                    if self._is_counted(name):
                        flying[self.operations[name].kind].append((name, iteration))
                if not isinstance(step.instruction, Await):
                    continue
                name = step.instruction.operation
                there = flying.get(self.operations[name].kind, [])
                key = (name, _value(step.iteration, i, trips))
                if key in there:
                    younger = len(there) - 1 - there.index(key)
                    place = (of.number, k)
                    least[place] = min(least.get(place, younger), younger)
                    holder = self._holder(key, there[len(there) - younger :])
                    if holder is not None:
                        holders[place] = holder
                    flying[self.operations[name].kind] = there[len(there) - younger :]
        left = list(dict.fromkeys(name for name, _ in flying["mma"]))
        stores = bool(flying["store"])
        return Flights(least, left, frozenset(over), entered or frozenset(), holders, stores)

    def _holder(self, product: tuple[str, int], younger: list[tuple[str, int]]) -> str | None:
        """Return the last of younger products that adds to a product's result, if one does."""
        found: str | None = None
        for name, iteration in younger:
            chained = [
                d.producer == product[0] and d.distance == iteration - product[1]
                for d in self.schedule.loop.dependences
                if d.consumer == name and d.in_place
            ]
            if any(chained):
                found, product = name, (name, iteration)
        return found

    def _is_counted(self, name: str) -> bool:
        """Whether a group waits for an operation by the number of younger ones."""
        operation = self.operations[name]
        if operation.kind == "mma":
            return self.memories.in_registers(name)
        return operation.kind == "store" and operation.attributes.get("engine") == "tma"

    def _walk(self, trips: int) -> Iterator[tuple[Round, int]]:
        yield from ((of, 0) for of in self.parts.prologue)
        if self.parts.steady is not None:
            yield from ((self.parts.steady, i) for i in range(self.parts.first, trips))
        yield from ((of, 0) for of in self.parts.epilogue)

    # -- instructions ----------------------------------------------------------------------------

    def _step(self, step: Step, place: tuple[Iteration, int]) -> list[str]:
        instruction, at = step.instruction, step.iteration
        lines: list[str] = []
        match instruction:
            case Interleave() | Issue():
                parts = issues_of(instruction)
                for part in parts:
                    self.where.iteration = at.minus(part.stage - parts[0].stage)
                    lines += self.issue(part)
            case Wait():
                barrier, parity = self.barrier(instruction.barrier, at)
                lines = [f"mbarrier.wait({barrier}, {parity})"]
            case Arrive():
                barrier, _ = self.barrier(instruction.barrier, at)
                announced = instruction.expect
                call = "arrive" if announced is None else "expect"
                more = "" if announced is None else f", {announced}"
                lines = [f"mbarrier.{call}({barrier}{more})"]
            case Await():
                lines = self._awaited(instruction.operation, at, place)
            case Put():
                to = self.memories.slot(self.memories.staging(instruction.value), at)
                value = self.places.result(instruction.value).text(at, self.where.round)
                lines = [f"{to}.store({self._put(instruction.value, self.names(value))})"]
            case Get():
                lines = [self._gotten(instruction, at)]
            case Fence():
                lines = ["fence_async_shared()"]
        return lines

    def _awaited(self, name: str, at: Iteration, place: tuple[Iteration, int]) -> list[str]:
        operation = self.operations[name]
        if self.memories.has_done(name):
            slot, parity = self.memories.turn(at, self.memories.done_slots(name))
            return [f"mbarrier.wait({self.names(name)}_done.index({slot}), {parity})"]
        younger = self.flights.least.get(place, 0)
        reads = [d for d in self.schedule.loop.dependences if d.producer == name]
        passed_on = all(d.in_place and d.consumer != name for d in reads)
        if operation.kind == "mma" and (place in self.flights.least or not passed_on):
            holder = self.flights.holders.get(place)
            if holder is not None and holder != name:
                ahead = next(i for i in self.program.issues if i.operation == holder)
                at = self.where.round.minus(ahead.stage)
            result = self.names(self.places.result(holder or name).text(at, self.where.round))
            waited = f"warpgroup_mma_wait(num_outstanding={younger}, deps=({result},))"
            return [f"{result} = {waited if holder is None else f'warpgroup_mma_init({waited})'}"]
        if operation.kind == "store" and self._is_counted(name):
            return [f"tma.store_wait(pendings={younger})"]
        return []  # Gluon waits by itself, or a wait before this one was for the same product


def _waits_for_stores(role: Role, step: Step) -> bool:
    awaited = step.instruction
    return isinstance(awaited, Await) and role.operations[awaited.operation].kind == "store"


def _issues_product(role: Role, step: Step) -> bool:
    issued = step.instruction
    return (
        isinstance(issued, Issue)
        and role.operations[issued.operation].kind == "mma"
        and role.memories.in_registers(issued.operation)
    )


def _begun(step: Step, i: int, trips: int) -> Iterator[tuple[str, int]]:
    parts = issues_of(step.instruction)
    for part in parts:
        if part.first:
            at = step.iteration.minus(part.stage - parts[0].stage)
            yield part.operation, _value(at, i, trips)


def _value(iteration: Iteration, i: int, trips: int) -> int:
    return {"i": i, "n": trips, "": 0}[iteration.base] + iteration.offset
