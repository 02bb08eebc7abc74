"""Whether two loops are one graph, with what their operations cost."""

from __future__ import annotations

import networkx as nx

import twill
from twill.artifacts.costs import rule_for
from twill.artifacts.loop import Cost, Loop, Operation, Tile

TRITONS_OWN = ("triton_stage", "triton_cluster")


def tile_text(tile: Tile | None) -> str:
    return "" if tile is None else tile.model_dump_json()


def facts(operation: Operation, machine: twill.Machine) -> str:
    attributes = {k: v for k, v in operation.attributes.items() if k not in TRITONS_OWN}
    said = [operation.kind, operation.warps, operation.elementwise, sorted(attributes.items())]
    tiles = [tile_text(tile) for tile in (*operation.operands, operation.result)]
    cost = cost_of(operation, machine)
    return str([*said, tiles, cost and cost.model_dump_json()])


def cost_of(operation: Operation, machine: twill.Machine) -> Cost | None:
    """The cost where the machine has a rule; without one the facts say all there is."""
    try:
        rule_for(machine, operation)
    except twill.InputError:
        return None
    return machine.cost(operation)


def graph(loop: Loop, machine: twill.Machine) -> nx.DiGraph[str]:
    """The loop as a coloured graph, in which dependences and reads are nodes too."""
    drawn: nx.DiGraph[str] = nx.DiGraph()
    for operation in loop.operations:
        drawn.add_node(operation.name, colour=facts(operation, machine))
    for number, d in enumerate(loop.dependences):
        colour = f"{d.distance} {d.kind} {d.operand} {d.axes} {d.in_place} {d.delay} {d.blocking}"
        drawn.add_node(f"dependence {number}", colour=colour)
        drawn.add_edge(d.producer, f"dependence {number}")
        drawn.add_edge(f"dependence {number}", d.consumer)
    for number, invariant in enumerate(loop.invariants):
        drawn.add_node(f"invariant {number}", colour=tile_text(invariant.tile))
        for position, read in enumerate(invariant.reads):
            node = f"read {number} {position}"
            drawn.add_node(node, colour=f"{read.operand} {read.axes}")
            drawn.add_edge(f"invariant {number}", node)
            drawn.add_edge(node, read.operation)
        assert set(invariant.used_by) == {read.operation for read in invariant.reads}
    return drawn


def same_graph(one: Loop, other: Loop, machine: twill.Machine) -> bool:
    return bool(
        nx.vf2pp_is_isomorphic(graph(one, machine), graph(other, machine), node_label="colour")
    )
