"""The function of one partition: the schedule's instructions in the schedule's order."""

from __future__ import annotations

from collections.abc import Iterator

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
from twill.emit import statements
from twill.emit.expressions.gluon import Gluon
from twill.emit.expressions.texts import Text
from twill.emit.memory.memories import Memories
from twill.emit.memory.slots import Slots
from twill.emit.names import COUNTER, SEAM, TRIPS, TURN, number
from twill.emit.outside import has_room
from twill.emit.partitions.flights import Flights, flights_of, is_counted
from twill.emit.partitions.operations import Operations, got, put
from twill.emit.partitions.values import Values, Where
from twill.emit.source import SSAValue
from twill.emit.tree import Assignment, Comment, If, Loop, Node
from twill.frontends.ttgir.reader import name_of
from twill.lower.iterations import Iteration
from twill.lower.rounds import Pipelined, Place, Round, Step, pipelined


class Partition:
    """The function of one group."""

    def __init__(self, memories: Memories, gluon: Gluon, group: Group) -> None:
        self.memories, self.slots, self.gluon, self.group = memories, memories.slots, gluon, group
        self.schedule, self.source = memories.schedule, memories.source
        self.program = self.schedule.program(group.name)
        self.values = Values(memories, gluon, group)
        self.names, self.places = self.values.names, self.values.places
        self.outside = self.values.outside
        self.operations = Operations(self.values, self.program)
        self.later = min(
            (
                part.stage
                for part in self.program.issues
                if part.first and self.values.depends_on_seam(part.operation)
            ),
            default=None,
        )
        """The first stage with an operation that depends on which of joined loops it is in."""
        self.kept: dict[SSAValue, str] = {}  # results of the loop that branches leave
        self._take(None)

    def _take(self, trips: int | None) -> None:
        """Write rounds for so many iterations, or for as many as the pipeline needs at least."""
        self.trips = trips
        rings, persistent = self.memories.barriers.rings, self.slots.persistent
        self.parts: Pipelined = pipelined(self.program, rings, trips, persistent=persistent)
        self.flights: Flights = flights_of(self.slots, self.program, self.parts)

    # -- the whole -------------------------------------------------------------------------------

    def loop(self, left: list[SSAValue]) -> list[Node]:
        """Return the loop, for each number of iterations that may be too small by itself.

        `left`: the loop's results that this group makes and that are needed after it.
        """
        last, trips = self.program.last_stage, self.source.trips
        if not self.source.varies:
            self._take(trips if trips is not None and trips <= last else None)
            return self._rounds()
        nodes: list[Node] = []
        for result in left:
            self.kept[result] = f"left{self.source.position(result)}"
            start = self.source.start(result)
            begun = self.gluon.tile(start, self.outside.value(start))
            nodes.append(Assignment(self.kept[result], str(begun)))
        for few in (*range(1, last), None):
            self._take(few)
            body = self._rounds()
            body += [Assignment(self.kept[result], self._made_last(result)) for result in left]
            enough = f">= {max(1, last)}" if few is None else f"== {few}"
            nodes.append(If(f"{TRIPS} {enough}", tuple(body)))
        return nodes

    def _rounds(self) -> list[Node]:
        """Return the prologue, the steady state and the epilogue."""
        steady, entering = self.parts.steady, self._entering()
        begins = set() if self.parts.prologue else entering
        nodes: list[Node] = [
            Assignment(name, f"warpgroup_mma_init({text})" if name in begins else text)
            for name, text in self._initial().items()
        ]
        for k, of in enumerate(self.parts.prologue):
            nodes += [Comment(f"{'prologue, ' if steady else ''}round {k}"), *self._round(of)]
        if steady is not None:
            nodes += [
                Assignment(name, f"warpgroup_mma_init({name})")
                for name in sorted(entering - begins)
            ]
            nodes += self._steady(steady)
        for of in self.parts.epilogue:
            nodes += [Comment(f"epilogue, round {number(of.number)}"), *self._round(of)]
        return nodes + self._drained()

    def _steady(self, of: Round) -> list[Node]:
        """Return the steady state, one after the other for either of joined loops."""
        here = "" if has_room(self.schedule, self.group) else ", disable_licm=True"
        begin, later = self.parts.first, self.later

        def loop(first: object, end: str) -> Loop:
            over = f"{first}, {end}" if first else end
            return Loop(COUNTER, f"tl.range({over}{here})", tuple(self._round(of)))

        if later is None:
            return [Comment("steady state"), loop(begin, TRIPS)]
        turn = f"gl.minimum({SEAM}{f' + {later}' if later else ''}, {TRIPS})"
        turn = f"gl.maximum({turn}, {begin})" if later < begin else turn
        nodes: list[Node] = [Assignment(TURN, turn)]
        for past, first, end in ((-1, begin, TURN), (later, TURN, TRIPS)):
            self.values.past = past
            which = "second" if first is TURN else "first"
            nodes += [Comment(f"steady state of the {which} loop"), loop(first, end)]
        self.values.past = None
        return nodes

    def _entering(self) -> set[str]:
        """Return the variables that hold no product where the steady state begins, but do later.

        Triton wants a variable to be of one type in all rounds of a loop.
        """
        first, begin = self.parts.first, Iteration("i", 0)
        stages = {part.operation: part.stage for part in self.program.issues if part.first}
        return {
            self.names(place.text(Iteration("i", -before), begin))
            for d, place in self._carried_registers()
            if self.parts.steady is not None and d.producer in self.flights.over
            for before in range(stages[d.producer] + 1, stages[d.producer] + d.distance + 1)
            if (d.producer, first - before) not in self.flights.entered
        }

    def _round(self, of: Round) -> list[Node]:
        nodes: list[Node] = []
        for k, step in in_order(self.slots, of):
            self.values.where = Where(step.iteration, of.number)
            made = self._step(step, (of.number, k))
            if step.condition and made:
                made = [If(step.condition.replace("n", TRIPS), tuple(made))]
            nodes += made
        if self.trips is not None and of is self.parts.prologue[-1]:
            return nodes
        issued = dict.fromkeys(issue.operation for issue in self.program.issues)
        places = [self.places.result(name) for name in issued]
        gets = [part for one in self.program.body for part in singles(one) if isinstance(part, Get)]
        places += [self.places.copy(get.value, get.reader, get.distance) for get in gets]
        for place in places:
            renamed = place.rotations(of.number, self.trips, self.program.last_stage)
            nodes += [Assignment(self.names(new), self.names(old)) for new, old in renamed]
        return nodes

    def final(self, result: SSAValue) -> Text:
        """Return what the loop leaves."""
        return Text(self.kept.get(result) or self._made_last(result))

    def _made_last(self, result: SSAValue) -> str:
        """Return the variable of what the last iteration leaves of a result of the loop."""
        made, hops = self.source.graph.before_arguments(self.source.yielded(result))
        owners = [o for o in self.source.owners_of(made) if self.slots.in_registers(o)]
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

    def _drained(self) -> list[Node]:
        """Wait for the products that are in flight when the loop ends."""
        names = [self._last_name(name) for name in self.flights.left]
        if not names:
            return []
        return [Assignment(", ".join(names), statements.products_waited(names, 0))]

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
            if mine and (copied or self.slots.in_registers(d.producer)):
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
        for value in self.slots.results(operation):
            for argument, following in graph.carried.items():
                owner = self.source.statement(following)
                converted = owner is not None and name_of(owner) == "ttg.convert_layout"
                inner = owner.operands[0] if owner is not None and converted else following
                if value not in (following, inner):
                    continue
                first: SSAValue = argument
                for _ in range(before - 1):
                    first = back[first]
                begun = graph.initial[first]
                text = self.gluon.tile(begun, self.outside.value(begun))
                if value is following:
                    return text
                made = self.source.statement(value)
                assert made is not None
                return Text(f"gl.convert_layout({text.text}, {self.gluon.layout_of(made)})")
        raise RefusedError(f"what {operation} begins with has no template for kernels")

    # -- instructions ----------------------------------------------------------------------------

    def _step(self, step: Step, place: tuple[Iteration, int]) -> list[Node]:
        instruction, at = step.instruction, step.iteration
        nodes: list[Node] = []
        match instruction:
            case Interleave() | Issue():
                parts = issues_of(instruction)
                for part in parts:
                    self.values.where.iteration = at.minus(part.stage - parts[0].stage)
                    nodes += self.operations.issue(part)
            case Wait():
                nodes = [statements.wait(*self.memories.barriers.of(instruction.barrier, at))]
            case Arrive():
                barrier, _ = self.memories.barriers.of(instruction.barrier, at)
                count = instruction.expect
                nodes = [
                    statements.arrive(barrier)
                    if count is None
                    else statements.expect(barrier, count)
                ]
            case Await():
                nodes = self._awaited(instruction.operation, at, place)
            case Put():
                nodes = [put(self.values, instruction, at)]
            case Get():
                nodes = [got(self.values, instruction, at)]
            case Fence():
                nodes = [statements.FENCE]
        return nodes

    def _awaited(self, name: str, at: Iteration, place: tuple[Iteration, int]) -> list[Node]:
        operation, done = self.slots.operations[name], self.memories.barriers.done(name, at)
        if done is not None:
            return [statements.wait(*done)]
        younger = self.flights.least.get(place, 0)
        reads = [d for d in self.schedule.loop.dependences if d.producer == name]
        passed_on = all(d.in_place and d.consumer != name for d in reads)
        if operation.kind == "mma" and (place in self.flights.least or not passed_on):
            holder = self.flights.holders.get(place)
            if holder is not None and holder != name:
                ahead = next(i for i in self.program.issues if i.operation == holder)
                at = self.values.where.round.minus(ahead.stage)
            text = self.places.result(holder or name).text(at, self.values.where.round)
            result = self.names(text)
            waited = statements.products_waited([result], younger)
            made = waited if holder is None else f"warpgroup_mma_init({waited})"
            return [Assignment(result, made)]
        if operation.kind == "store" and is_counted(self.slots, name):
            return [statements.transfers_waited(younger)]
        return []  # Gluon waits by itself, or a wait before this one was for the same product


def in_order(slots: Slots, of: Round) -> list[tuple[int, Step]]:
    """Return the steps of a round with their places, in the order in which they are compiled.

    ptxas waits for stores in front of a product that is issued directly before.
    """
    found: list[tuple[int, Step]] = []
    for k, step in enumerate(of.steps):
        at = len(found)
        while at and _waits_for_stores(slots, step) and _issues_product(slots, found[at - 1][1]):
            at -= 1
        found.insert(at, (k, step))
    return found


def _waits_for_stores(slots: Slots, step: Step) -> bool:
    awaited = step.instruction
    return isinstance(awaited, Await) and slots.operations[awaited.operation].kind == "store"


def _issues_product(slots: Slots, step: Step) -> bool:
    issued = step.instruction
    return (
        isinstance(issued, Issue)
        and slots.operations[issued.operation].kind == "mma"
        and slots.in_registers(issued.operation)
    )
