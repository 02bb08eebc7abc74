"""The code of one group: the schedule's instructions in order, one template a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.ir import Operation as Statement
from xdsl.ir import SSAValue

from twill.artifacts.loop import Dependence, Operation
from twill.artifacts.program import (
    Arrive,
    Await,
    Barrier,
    Fence,
    Get,
    Interleave,
    Issue,
    Put,
    Storage,
    Wait,
)
from twill.artifacts.schedule import Group
from twill.emit.dress import CLOSED, LOOSE, PLUS, Gluon, Text, joined
from twill.emit.layouts import dtype
from twill.emit.memory import Memories
from twill.emit.names import COUNTER, TRIPS, number, slot_and_parity
from twill.emit.source import constant
from twill.errors import RefusedError
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS, product_operands
from twill.frontends.ttgir.reader import integers, name_of
from twill.show.rounds import Iteration, Pipelined, Places, Round, Step, pipelined

USE_C = 3  # operand of ``ttng.warp_group_dot``: whether it accumulates
TRIAL_ROUNDS = 6
INDENT = "    "
CHUNK = 32  # columns of tensor memory that pass through registers at a time


@dataclass
class Where:
    """What is being emitted: an instruction of a round, for an iteration."""

    iteration: Iteration
    round: Iteration
    operation: Operation | None = None


class Outside:
    """Values from before the loop, as one partition computes them."""

    def __init__(self, memories: Memories, gluon: Gluon) -> None:
        self.memories, self.gluon, self.source = memories, gluon, memories.source
        self.lines: list[str] = []
        self._known: dict[SSAValue, Text] = {}

    def value(self, value: SSAValue) -> Text:
        """Return the text of a value, whose computation goes before the loop."""
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: SSAValue) -> Text:
        statement = self.source.statement(value)
        if statement is None:
            return Text(self.memories.argument(value))
        name = name_of(statement)
        if name == "scf.for":
            raise RefusedError("a value of another loop is read; it has no template for kernels")
        if name in ("tt.descriptor_load", "tt.load") and self.source.type_of(value).shape:
            return Text(self.memories.loaded_before(statement, self))
        text = self.gluon.expression(statement, [self.value(o) for o in statement.operands])
        hint = self.source.hint(value)
        trivial = name in ("arith.constant", "tt.splat", "tt.broadcast", "tt.expand_dims")
        if trivial or hint is None or len(list(value.uses)) == 1:
            return text
        variable = self.memories.local(hint, value)
        self.lines.append(f"{variable} = {text.text}")
        return Text(variable)


class Role:
    """The function of one group."""

    def __init__(self, memories: Memories, gluon: Gluon, group: Group) -> None:
        self.memories, self.gluon, self.group = memories, gluon, group
        self.schedule, self.source = memories.schedule, memories.source
        self.names = memories.names
        self.places = Places(self.schedule)
        self.barriers: dict[str, Barrier] = {b.name: b for b in self.schedule.barriers}
        self.operations = {o.name: o for o in self.schedule.loop.operations}
        self.program = self.schedule.program(group.name)
        self.parts: Pipelined = pipelined(self.program, self.barriers, None)
        self.outside = Outside(memories, gluon)
        self.where = Where(Iteration("", 0), Iteration("", 0))
        self._flying = self._counted()

    # -- the whole -------------------------------------------------------------------------------

    def loop(self) -> list[str]:
        """Return the prologue, the steady state and the epilogue."""
        lines = [f"{name} = {text}" for name, text in self._initial()]
        for k, of in enumerate(self.parts.prologue):
            lines += [f"# prologue, round {k}", *self._round(of)]
        steady = self.parts.steady
        assert steady is not None
        lines.append("# steady state")
        first = f"{self.parts.first}, " if self.parts.first else ""
        lines.append(f"for {COUNTER} in range({first}{TRIPS}):")
        lines += [INDENT + line for line in self._round(steady) or ["pass"]]
        for of in self.parts.epilogue:
            lines += [f"# epilogue, round {number(of.number)}", *self._round(of)]
        return lines + self._drained()

    def _round(self, of: Round) -> list[str]:
        lines: list[str] = []
        for k, step in enumerate(of.steps):
            self.where = Where(step.iteration, of.number)
            made = self._step(step, (of.number, k))
            if step.condition and made:
                condition = step.condition.replace("n", TRIPS)
                made = [f"if {condition}:", *(INDENT + line for line in made)]
            lines += made
        last = self.program.last_stage
        for name in dict.fromkeys(issue.operation for issue in self.program.issues):
            place = self.places.result(name)
            if place.rotating:
                lines += [
                    f"{self.names(new)} = {self.names(old)}"
                    for new, old in place.rotations(of.number, None, last)
                ]
        return lines

    def final(self, value: SSAValue) -> Text:
        """Return what the loop leaves of a value that the last iteration makes."""
        made, hops = self.source.graph.before_arguments(value)
        owner = self._register_owner(made)
        place, last = self.places.result(owner), self.program.last_stage
        if last:
            text = place.text(Iteration("n", -1 - hops), Iteration("n", last - 1))
        else:
            text = place.text(Iteration("i", -1 - hops), Iteration("i", 0))
        return Text(self.names(text))

    def _register_owner(self, value: SSAValue) -> str:
        owners = self.source.owners_of(value)
        mine = [o for o in owners if self.memories.in_registers(o)]
        if not mine:
            raise RefusedError("what the loop leaves passes through operations without a template")
        return mine[-1]

    def _drained(self) -> list[str]:
        """Wait for the products that are in flight when the loop ends."""
        names = [self.names(self._last_name(name)) for name in self._flying.left]
        if not names:
            return []
        waited = f"warpgroup_mma_wait(num_outstanding=0, deps=({', '.join(names)},))"
        return [f"{', '.join(names)} = {waited}"]

    def _last_name(self, operation: str) -> str:
        last = self.program.last_stage
        place = self.places.result(operation)
        if last:
            return place.text(Iteration("n", -1), Iteration("n", last - 1))
        return place.text(Iteration("i", -1), Iteration("i", 0))

    def _initial(self) -> Iterator[tuple[str, str]]:
        """Yield names and values of what registers hold before the first iteration."""
        done: set[str] = set()
        for d in self.schedule.loop.dependences:
            if d.kind != "data" or not d.distance:
                continue
            place = self.places.read(d)
            mine = d.consumer if place.name != d.producer else d.producer
            if self.schedule.assignment[mine] != self.group.name:
                continue
            if place.name == d.producer and not self.memories.in_registers(d.producer):
                continue
            for before in range(d.distance, 0, -1):
                name = self.names(place.text(Iteration("", -before), Iteration("", 0)))
                if name not in done:
                    done.add(name)
                    text = self._initial_value(d.producer, before).text
                    over = d.producer in self._flying.over
                    yield name, f"warpgroup_mma_init({text})" if over else text

    def _initial_value(self, operation: str, before: int) -> Text:
        """Return what the loop finds in the place of an operation's result so many iterations ago."""
        graph = self.source.graph
        for value in self.memories.results(operation):
            for argument, following in graph.carried.items():
                owner = self.source.statement(following)
                inner = following
                if owner is not None and name_of(owner) == "ttg.convert_layout":
                    inner = owner.operands[0]
                if value not in (following, inner):
                    continue
                for _ in range(before - 1):
                    argument = next(a for a, f in graph.carried.items() if f is argument)
                text = self.outside.value(graph.initial[argument])
                if value is following:
                    return text
                made = self.source.statement(value)
                assert made is not None
                return Text(f"gl.convert_layout({text.text}, {self.gluon.layout_of(made)})")
        raise RefusedError(f"what {operation} begins with has no template for kernels")

    # -- products in flight ----------------------------------------------------------------------

    def _counted(self) -> _Flying:
        """Count how many younger products, or stores, may be in flight at each await."""
        least: dict[tuple[Iteration, int], int] = {}
        history: dict[str, list[tuple[str, int]]] = {"mma": [], "store": []}
        trips = max(TRIAL_ROUNDS, 2 * self.program.last_stage + 2)
        over: set[str] = set()
        for of, i in self._walk(trips):
            if of is self.parts.steady:
                over |= {name for name, _ in history["mma"]}
            for k, step in enumerate(of.steps):
                for name, iteration in _begun(step, i, trips):
                    kind = self.operations[name].kind
                    if kind in history and self._counts(name):
                        history[kind].append((name, iteration))
                if isinstance(step.instruction, Await):
                    name = step.instruction.operation
                    done = history.get(self.operations[name].kind)
                    key = (name, _value(step.iteration, i, trips))
                    if done is not None and key in done:
                        younger = len(done) - 1 - done.index(key)
                        place = (of.number, k)
                        least[place] = min(least.get(place, younger), younger)
                        history[self.operations[name].kind] = done[len(done) - younger :]
        left = list(dict.fromkeys(name for name, _ in history["mma"]))
        return _Flying(least, left, frozenset(over))

    def _counts(self, name: str) -> bool:
        """Whether an operation is one whose completion a group waits for by number."""
        operation = self.operations[name]
        if operation.kind == "mma":
            return self.memories.in_registers(name)
        return operation.attributes.get("engine") == "tma"

    def _walk(self, trips: int) -> Iterator[tuple[Round, int]]:
        for of in self.parts.prologue:
            yield of, 0
        for i in range(self.parts.first, trips):
            if self.parts.steady is not None:
                yield self.parts.steady, i
        for of in self.parts.epilogue:
            yield of, 0

    # -- instructions ----------------------------------------------------------------------------

    def _step(self, step: Step, place: tuple[Iteration, int]) -> list[str]:
        instruction = step.instruction
        match instruction:
            case Interleave():
                lines: list[str] = []
                for part in instruction.parts:
                    self.where.iteration = step.iteration.minus(part.stage - instruction.parts[0].stage)
                    lines += self._issue(part)
                return lines
            case Issue():
                return self._issue(instruction)
            case Wait():
                return [self._waited(instruction.barrier, step.iteration)]
            case Arrive():
                return [self._arrived(instruction, step.iteration)]
            case Await():
                return self._awaited(instruction, step.iteration, place)
            case Put():
                staging = self.memories.staging(instruction.value)
                to = self.memories.slot(staging, step.iteration)
                value = self.places.result(instruction.value).text(step.iteration, self.where.round)
                return [f"{to}.store({self.names(value)})"]
            case Get():
                staging = self.memories.staging(instruction.value)
                produced = step.iteration
                place_of = self.places.copy(instruction.value, instruction.reader, instruction.distance)
                to = self.names(place_of.text(produced, self.where.round))
                layout = self.memories.register_layout(instruction.value, self.gluon)
                return [f"{to} = {self.memories.slot(staging, produced)}.load({layout})"]
            case Fence():
                return ["fence_async_shared()"]
        raise RefusedError(f"{instruction.do} has no template for kernels")

    def _barrier(self, name: str, iteration: Iteration) -> tuple[str, str]:
        """Return a barrier of a ring, and the parity of the phase of an iteration."""
        barrier = self.barriers[name]
        if barrier.kind is not None:
            raise RefusedError(f"{name}: named barriers have no template for kernels")
        slot, parity = self.memories.turn(iteration, barrier.slots)
        return f"{self.names(name)}.index({slot})", parity

    def _waited(self, name: str, iteration: Iteration) -> str:
        barrier, parity = self._barrier(name, iteration)
        return f"mbarrier.wait({barrier}, {parity})"

    def _arrived(self, instruction: Arrive, iteration: Iteration) -> str:
        barrier, _ = self._barrier(instruction.barrier, iteration)
        if instruction.expect is not None:
            return f"mbarrier.expect({barrier}, {instruction.expect})"
        return f"mbarrier.arrive({barrier})"

    def _awaited(
        self, instruction: Await, iteration: Iteration, place: tuple[Iteration, int]
    ) -> list[str]:
        name = instruction.operation
        operation = self.operations[name]
        if self.memories.has_done(name):
            slots = self.memories.done_slots(name)
            slot, parity = self.memories.turn(iteration, slots)
            return [f"mbarrier.wait({self.names(name)}_done.index({slot}), {parity})"]
        younger = self._flying.least.get(place, 0)
        if operation.kind == "mma":
            result = self.names(self.places.result(name).text(iteration, self.where.round))
            waited = f"warpgroup_mma_wait(num_outstanding={younger}, deps=({result},))"
            again = name in self._flying.over and younger  # a younger one still adds to it
            return [f"{result} = {f'warpgroup_mma_init({waited})' if again else waited}"]
        if operation.kind in ("store", "atomic") and operation.attributes.get("engine") == "tma":
            return [f"tma.store_wait(pendings={younger})"]
        return []  # what Gluon waits for by itself

    # -- operations ------------------------------------------------------------------------------

    def _issue(self, part: Issue) -> list[str]:
        operation = self.operations[part.operation]
        self.where.operation = operation
        lines: list[str] = []
        if part.first:
            template: Callable[[Operation, Issue], list[str]] = getattr(
                self, f"_{operation.kind.replace('.', '_')}", self._computed
            )
            lines += template(operation, part)
        if part.last and operation.kind not in ("load", "mma"):
            lines += [
                f"mbarrier.arrive({self._barrier(s, self.where.iteration)[0]})"
                for s in self._all_signals(operation.name)
            ]
        return lines

    def _all_signals(self, name: str) -> tuple[str, ...]:
        return tuple(s for p in self.program.issues if p.operation == name for s in p.signals)

    def _result(self, operation: Operation) -> str:
        place = self.places.result(operation.name)
        return self.names(place.text(self.where.iteration, self.where.round))

    def _computed(self, operation: Operation, _: Issue) -> list[str]:
        """Compute a tile in registers, all statements of an operation in one expression."""
        value = self.memories.results(operation.name)[-1]
        statement = self.source.statement(value)
        assert statement is not None
        return [f"{self._result(operation)} = {self._expression(statement).text}"]

    def _load(self, operation: Operation, _: Issue) -> list[str]:
        statement = self.memories.first(operation.name, "load")
        engine = operation.attributes.get("engine")
        if engine == "pointer":
            operands = [self.value(o) for o in statement.operands]
            counts = integers(statement, "operandSegmentSizes") or [1, 0, 0]
            keys = [k for k, c in zip(("", "mask=", "other="), counts, strict=True) if c]
            given = ", ".join(f"{k}{o.text}" for k, o in zip(keys, operands, strict=True))
            lines = [f"{self._result(operation)} = gl.load({given})"]
            return lines + [
                f"mbarrier.arrive({self._barrier(s, self.where.iteration)[0]})"
                for s in self._all_signals(operation.name)
            ]
        signals = [self._barrier(s, self.where.iteration)[0] for s in self._all_signals(operation.name)]
        if self.memories.has_done(operation.name):
            slot, _parity = self.memories.turn(
                self.where.iteration, self.memories.done_slots(operation.name)
            )
            signals.append(f"{self.names(operation.name)}_done.index({slot})")
        to = self.memories.slot(self.memories.held(operation.name), self.where.iteration)
        tile = operation.result
        assert tile is not None
        if engine == "cp_async":
            lines = [f"async_copy.async_load({to}, {self.value(statement.operands[0]).text})"]
            for barrier in signals:
                lines += [f"async_copy.mbarrier_arrive({barrier})", f"mbarrier.arrive({barrier})"]
            return lines
        if len(signals) != 1:
            raise RefusedError(f"{operation.name}: a transfer has one barrier (got {len(signals)})")
        descriptor, *at = statement.operands
        coordinates = ", ".join(self.value(o).text for o in at)
        own = [] if self._announced(operation.name) else [
            f"mbarrier.expect({signals[0]}, {tile.bytes})"
        ]  # fmt: skip
        return [
            *own,
            f"tma.async_load({self.value(descriptor).text}, [{coordinates}], {signals[0]}, {to})",
        ]

    def _announced(self, name: str) -> bool:
        """Whether an arrive announces the bytes of a load."""
        return any(self.barriers[s].transactions for s in self._all_signals(name))

    def _store(self, operation: Operation, _: Issue) -> list[str]:
        statement = self.memories.first(operation.name, "store")
        if operation.attributes.get("engine") != "tma":
            operands = [self.value(o) for o in statement.operands]
            return [f"gl.store({', '.join(o.text for o in operands)})"]
        descriptor, _staged, *at = statement.operands
        reduces = name_of(statement) == "tt.descriptor_reduce"
        call = "async_atomic_add" if reduces else "async_store"
        staged = next(d for d in self._reads(operation) if self.memories.held_or_none(d.producer))
        place = self.memories.held(staged.producer)
        source = self.memories.slot(place, self.where.iteration.minus(staged.distance))
        coordinates = ", ".join(self.value(o).text for o in at)
        return [f"tma.{call}({self.value(descriptor).text}, [{coordinates}], {source})"]

    def _mma(self, operation: Operation, _: Issue) -> list[str]:
        statement = self.memories.first(operation.name, "mma")
        if self.memories.in_registers(operation.name):
            return self._wgmma(operation, statement)
        return self._tcgen05(operation, statement)

    def _wgmma(self, operation: Operation, statement: Statement) -> list[str]:
        a, b, c = statement.operands[:3]
        result = self._result(operation)
        flag = statement.operands[USE_C] if len(statement.operands) > USE_C else None
        accumulator = self.value(c).text
        extra = ""
        made = self.source.statement(c)
        if flag is not None and (use := self.value(flag).text) != "True":
            extra = f", use_acc={use}"
        elif made is not None and name_of(made) == "arith.constant" and not self.source.inside(c):
            if constant(made, self.source.type_of(c).dtype) == 0:
                extra = ", use_acc=False"
        factor = self._operand(a)
        call = f"warpgroup_mma({factor}, {self._operand(b)}, {accumulator}{extra}, is_async=True)"
        return [f"{result} = {call}"]

    def _tcgen05(self, operation: Operation, statement: Statement) -> list[str]:
        roles = product_operands(statement)
        a, b = (statement.operands[roles[key] or 0] for key in ("a", "b"))
        use = roles["use_d"]
        used = "True" if use is None else self.value(statement.operands[use]).text
        to = self.memories.tensor(operation.name, self.where.iteration)
        if used == "True" and self.memories.begins_at_zero(operation.name):
            used = f"{number(self.where.iteration)} > 0"
            used = str(self.where.iteration.offset > 0) if not self.where.iteration.base else used
        signals = [self._barrier(s, self.where.iteration)[0] for s in self._all_signals(operation.name)]
        if self.memories.has_done(operation.name):
            slots = self.memories.done_slots(operation.name)
            slot, _parity = self.memories.turn(self.where.iteration, slots)
            signals.append(f"{self.names(operation.name)}_done.index({slot})")
        told = f", mbarriers=[{', '.join(signals)}]" if signals else ""
        flag = "" if used == "True" else f", use_acc={used}"
        return [f"tcgen05_mma({self._operand(a)}, {self._operand(b)}, {to}{flag}{told})"]

    def _local_store(self, operation: Operation, _: Issue) -> list[str]:
        to = self.memories.slot(self.memories.held(operation.name), self.where.iteration)
        return [f"{to}.store({self._stored(operation).text})"]

    def _stored(self, operation: Operation) -> Text:
        """Return the register tile that an access to memory writes there."""
        statement = self.memories.first(operation.name, "")
        name = name_of(statement)
        if name in ("ttg.local_alloc", "ttng.tmem_alloc", "ttg.local_store"):
            return self.value(statement.operands[0])
        if name == "ttng.tmem_store":
            tiles = [o for o in statement.operands if self.source.type_of(o).kind == "tensor"]
            return self.value(tiles[0])
        if name == "ttg.convert_layout":
            return self.value(statement.operands[0])
        return self.value(statement.operands[1])  # of a store by TMA

    def _local_load(self, operation: Operation, _: Issue) -> list[str]:
        read = self._reads(operation)[0]
        at = self.where.iteration.minus(read.distance)
        source = self.memories.slot(self.memories.held(read.producer), at)
        layout = self.memories.register_layout(operation.name, self.gluon)
        return [f"{self._result(operation)} = {source}.load({layout})"]

    def _tmem_load(self, operation: Operation, _: Issue) -> list[str]:
        layout = self.memories.register_layout(operation.name, self.gluon)
        return [f"{self._result(operation)} = {self._tensor_read(operation)}.load({layout})"]

    def _tensor_read(self, operation: Operation) -> str:
        """Return the tensor memory that an operation reads."""
        read = next(d for d in self._reads(operation) if self.memories.in_tensor(d.producer))
        return self.memories.tensor(read.producer, self.where.iteration.minus(read.distance))

    def _tmem_store(self, operation: Operation, _: Issue) -> list[str]:
        to = self.memories.tensor(operation.name, self.where.iteration)
        return [f"{to}.store({self._stored(operation).text})"]

    def _tmem_update(self, operation: Operation, _: Issue) -> list[str]:
        """Rescale an accumulator a few columns at a time, so that registers hold no more."""
        to = self.memories.tensor(operation.name, self.where.iteration)
        return self._chunks(operation, to, f"{to}.slice(begin, {CHUNK})")

    def _tmem_drain(self, operation: Operation, _: Issue) -> list[str]:
        held = self.memories.held_or_none(operation.name)
        if held is None:
            to = self.memories.tensor(operation.name, self.where.iteration)
            return self._chunks(operation, self._tensor_read(operation), f"{to}.slice(begin, {CHUNK})")
        to = self.memories.slot(held, self.where.iteration)
        return self._chunks(operation, self._tensor_read(operation), f"{to}.slice(begin, {CHUNK}, dim=1)")

    def _chunks(self, operation: Operation, source: str, to: str) -> list[str]:
        tile = operation.result
        assert tile is not None
        statements = self.memories.statements(operation.name)
        load = next(s for s in statements if name_of(s) == "ttng.tmem_load")
        last = statements[-1]
        value = {"ttng.tmem_store": self._tile_of(last), "ttg.local_store": last.operands[0]}.get(
            name_of(last), last.operands[0]
        )
        columns = CHUNK if self._by_columns(statements, load) else tile.shape[1]
        layout = self.memories.chunk_layout(load, columns, self.gluon)
        self._chunked = (load.results[0], layout)
        text = self.value(value).text
        self._chunked = None
        if columns != CHUNK:
            whole = to.replace(f".slice(begin, {CHUNK})", "").replace(f".slice(begin, {CHUNK}, dim=1)", "")
            return [f"part = {source}.load({layout})", f"{whole}.store({text})"]
        return [
            f"for begin in gl.static_range(0, {tile.shape[1]}, {CHUNK}):",
            f"{INDENT}part = {source}.slice(begin, {CHUNK}).load({layout})",
            f"{INDENT}{to}.store({text})",
        ]

    def _by_columns(self, statements: list[Statement], load: Statement) -> bool:
        """Whether a tile may go through registers in parts: nothing else in it has columns."""
        whole = self.source.type_of(load.results[0]).shape
        own = {result for statement in statements for result in statement.results}
        return not any(
            self.source.type_of(o).shape == whole and o not in own and not self._is_row(o)
            for statement in statements
            for o in statement.operands
            if self.source.type_of(o).kind == "tensor"
        )

    def _is_row(self, value: SSAValue) -> bool:
        """Whether a tile is a column of numbers, or one, that is broadcast."""
        owner = self.source.statement(value)
        if owner is None or name_of(owner) not in ("tt.broadcast", "tt.splat", "arith.constant"):
            return False
        return name_of(owner) != "tt.broadcast" or self.source.type_of(owner.operands[0]).shape[-1] == 1

    _chunked: tuple[SSAValue, str] | None = None

    def _tile_of(self, statement: Statement) -> SSAValue:
        return next(o for o in statement.operands if self.source.type_of(o).kind == "tensor")

    # -- values ----------------------------------------------------------------------------------

    def _reads(self, operation: Operation) -> list[Dependence]:
        return [
            d
            for d in self.schedule.loop.dependences
            if d.kind == "data" and d.consumer == operation.name
        ]

    def value(self, value: SSAValue) -> Text:
        """Return the text of a tile in registers, or of a number, for the current instruction."""
        return self._value(value, self.where.iteration)

    def _value(self, value: SSAValue, at: Iteration) -> Text:
        graph = self.source.graph
        if self._chunked is not None and value is self._chunked[0]:
            return Text("part")
        if not self.source.inside(value):
            return self.outside.value(value)
        if value is self.source.counter:
            return self._counter(at)
        if value in graph.carried:
            return self._carried(value, at)
        statement = self.source.statement(value)
        assert statement is not None
        operation = self.where.operation
        owners = self.source.owners_of(value)
        elsewhere = operation is None or operation.name not in owners or at != self.where.iteration
        if owners and elsewhere:
            return self._read_of(owners, value, at)
        if name_of(statement) in ("tt.descriptor_load", "tt.load"):
            return self._read_of(owners, value, at)
        return self._expression(statement, at)

    def _expression(self, statement: Statement, at: Iteration | None = None) -> Text:
        at = at or self.where.iteration
        operands = [self._value(o, at) for o in statement.operands]
        if self._chunked is not None and len(operands) == 1:
            name = name_of(statement)
            if name == "ttg.convert_layout":
                return operands[0]
            if name == "tt.expand_dims":
                layout = f"gl.SliceLayout(1, {self._chunked[1]})"
                return Text(f"gl.convert_layout({operands[0].text}, {layout})[:, None]")
        return self.gluon.expression(statement, operands)

    def _counter(self, at: Iteration) -> Text:
        lower, step = (self.outside.value(v) for v in (self.source.lower, self.source.step))
        if not at.base and step.text.isdigit():
            product = Text(str(at.offset * int(step.text)))
        else:
            times = counted(at)
            product = times if step.text == "1" else joined(times, "*", step)
        if lower.text == "0":
            return product
        return joined(lower, "+", product)

    def _carried(self, value: SSAValue, at: Iteration) -> Text:
        graph = self.source.graph
        following, initial = graph.carried[value], graph.initial[value]
        owner = self.source.statement(following)
        if not self.source.inside(following) or following is value:
            flag = self.outside.value(following).text
            if at.base:
                begun = self.outside.value(initial).text
                if begun == flag or following is value:
                    return self.outside.value(initial)
                if (begun, flag) == ("False", "True"):
                    return Text(f"{number(at)} > 0", LOOSE)
                raise RefusedError("a value that only the first iteration has is no flag")
            return self.outside.value(following if at.offset else initial)
        if owner is not None and name_of(owner) in ("arith.addi", "tt.addptr"):
            base, more = owner.operands
            if base is value and not self.source.inside(more):
                times = counted(at)
                start, step = self.outside.value(initial), self.outside.value(more)
                if not at.base and not at.offset:
                    return start
                return joined(start, "+", joined(times, "*", step))
        return self._value(following, at.minus(1))

    def _read_of(self, owners: list[str], value: SSAValue, at: Iteration) -> Text:
        """Return where the current operation finds what another one made."""
        operation = self.where.operation
        assert operation is not None
        distance = self.where.iteration.offset - at.offset
        for d in self._reads(operation):
            register = self.memories.in_registers(d.producer)
            if d.producer in owners and d.distance == distance and register:
                place = self.places.read(d)
                text = place.text(at, self.where.round)
                if "[" in text:
                    raise RefusedError(f"{d.producer}: a ring of registers has no template")
                return Text(self.names(text))
        hint = self.source.hint(value) or name_of(self.source.statement(value) or value.owner)  # type: ignore[arg-type]
        raise RefusedError(f"{operation.name} reads {hint}, which the loop does not tell it")

    def _operand(self, value: SSAValue) -> str:
        """Return a factor of a product: a tile in registers, or a buffer, perhaps transposed."""
        if self.source.type_of(value).kind == "tensor":
            return self.value(value).text
        return self.memory(value)

    def memory(self, value: SSAValue) -> str:
        """Return a buffer as the current operation reads it."""
        statement = self.source.statement(value)
        if statement is not None and name_of(statement) == "ttg.memdesc_trans":
            order = tuple(integers(statement, "order") or (1, 0))
            return f"{self.memory(statement.operands[0])}.permute({order})"
        if not self.source.inside(value):
            return self.memories.fixed(root_of(value, VIEWS))
        operation = self.where.operation
        assert operation is not None
        owners = self.source.owners_of(value)
        for d in self._reads(operation):
            if d.producer in owners:
                at = self.where.iteration.minus(d.distance)
                if self.memories.in_tensor(d.producer):
                    return self.memories.tensor(d.producer, at)
                held = self.memories.held_or_none(d.producer)
                if held is not None:
                    return self.memories.slot(held, at)
        raise RefusedError(f"{operation.name} reads a buffer that has no template for kernels")


@dataclass(frozen=True)
class _Flying:
    """Younger products at each await, and what is in flight when the loop ends."""

    least: dict[tuple[Iteration, int], int]
    left: list[str]
    over: frozenset[str]  # in flight where a round begins


def _begun(step: Step, i: int, trips: int) -> Iterator[tuple[str, int]]:
    instruction = step.instruction
    parts = instruction.parts if isinstance(instruction, Interleave) else (instruction,)
    for part in parts:
        if isinstance(part, Issue) and part.first:
            first = parts[0]
            assert isinstance(first, Issue)
            yield part.operation, _value(step.iteration.minus(part.stage - first.stage), i, trips)


def counted(at: Iteration) -> Text:
    """Return an iteration as an operand."""
    return Text(number(at), PLUS if at.offset and at.base else CLOSED)


def _value(iteration: Iteration, i: int, trips: int) -> int:
    return {"i": i, "n": trips, "": 0}[iteration.base] + iteration.offset


__all__ = ["Outside", "Role", "Storage", "dtype"]
