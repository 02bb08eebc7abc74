"""Values from before the loop, as one partition computes them."""

from __future__ import annotations

from twill.artifacts.schedule import Group, Schedule
from twill.base.errors import RefusedError
from twill.emit import statements
from twill.emit.expressions.gluon import Gluon
from twill.emit.expressions.texts import Text, joined
from twill.emit.memory.memories import Memories
from twill.emit.source import BlockArgument, SSAValue
from twill.emit.tree import Assignment, Node
from twill.frontends.ttgir.kinds import DESCRIPTOR
from twill.frontends.ttgir.reader import name_of

ROOM = 32  # registers beyond values from which on addresses are made before the loop
TRIVIAL = ("arith.constant", "tt.splat", "tt.broadcast", "tt.expand_dims")


def has_room(schedule: Schedule, group: Group) -> bool:
    """Return whether addresses that are made before the loop have registers of a group in it.

    A group without values has all its registers for them.
    """
    file = schedule.machine.registers
    if file is None or group.registers is None or group.registers_live is None:
        return False
    if not group.registers_live:
        return True
    made = [o for o in schedule.loop.operations if schedule.assignment[o.name] == group.name]
    results = [o.result for o in made if o.kind == "mma"]
    products = sum(tile is not None and tile.memory == "registers" for tile in results)
    values = group.registers_live + products * (file.product.value if file.product else 0)
    return min(group.registers, file.limit.value) - values >= ROOM


class Outside:
    """Texts of values from before the loop; `nodes` are what computes those with a name.

    `begun`: whether the loops before it are over.
    """

    def __init__(self, memories: Memories, gluon: Gluon, *, begun: bool = False) -> None:
        self.begun = begun
        self.memories, self.gluon, self.source = memories, gluon, memories.source
        self.nodes: list[Node] = []
        self._known: dict[SSAValue, Text] = {}

    def value(self, value: SSAValue) -> Text:
        """Return the text of a value, whose computation goes before the loop."""
        if value not in self._known:
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: SSAValue) -> Text:
        statement, tiles = self.source.statement(value), self.source.blocks[1:]
        if isinstance(value, BlockArgument) and value.index and value.block in tiles:
            return self._summed(value)
        if statement is None:
            name = self.memories.slots.argument(value)
            return Text(name, is_variable=name in (p.name for p in self.memories.slots.parameters))
        name = name_of(statement)
        if name == DESCRIPTOR:
            return Text(self.memories.slots.argument(value), is_variable=True)
        if name == "scf.for" and self.begun and self.source.type_of(value).kind == "tensor":
            variable = self.memories.before.local(self.source.hint(value) or "begun", value)
            buffer, layout = self.memories.allocations.begun(value), self.gluon.layout(value)
            self.nodes.append(statements.read(variable, buffer, layout))
            return Text(variable, is_variable=True)
        if name == "scf.for":
            raise RefusedError("a value of another loop is read; it has no template for kernels")
        if name == "tt.descriptor_load":
            wrong = "is loaded into registers before the loop by TMA; there is no template for that"
            raise RefusedError(f"{self.source.hint(value) or 'a tile'} {wrong}")
        operands = [self.value(o) for o in statement.operands]
        hint = self.source.hint(value)
        if name == "tt.load":
            text, hint = Text(statements.loaded(statement, operands)), hint or "loaded"
        else:
            text = self.gluon.expression(statement, operands)
        alone = len(list(value.uses)) == 1 and name != "tt.load"
        if name in TRIVIAL or hint is None or alone:
            return text
        variable = self.memories.before.local(hint, value)
        self.nodes.append(Assignment(variable, text.text))
        return Text(variable, is_variable=True)

    def _summed(self, value: BlockArgument) -> Text:
        """Return a number that the loop over output tiles adds the same to for each."""
        body, outer = list(value.block.ops), value.block.parent_op()
        assert outer is not None
        lower, _, step, *starts = outer.operands
        owner = self.source.statement(body[-1].operands[value.index - 1])
        base, more = owner.operands if owner and name_of(owner) == "arith.addi" else (None, None)
        if base is not value or more is None or self.source.statement(more) in body:
            raise RefusedError("what a loop over output tiles carries has no template")
        done = joined(self.value(value.block.args[0]), "-", self.value(lower))
        added = joined(joined(done, "//", self.value(step)), "*", self.value(more))
        return joined(self.value(starts[value.index - 1]), "+", added)
