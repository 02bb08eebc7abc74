"""Values that groups exchange through shared memory."""

from __future__ import annotations

from twill.artifacts.program import Get, Put
from twill.emit import statements
from twill.emit.layouts import dtype
from twill.emit.partitions.values import Values
from twill.emit.tree import Assignment, Call
from twill.lower.iterations import Iteration


def put(values: Values, put: Put, at: Iteration) -> Call:
    """Return what leaves a value where other groups find it."""
    slots, place = values.slots, values.places.result(put.value)
    text = values.names(place.text(at, values.where.round))
    if slots.is_number(put.value):
        kind = dtype(values.source.type_of(slots.results(put.value)[-1]).dtype)
        layout = values.gluon.layouts.of_number(values.group.warps)
        text = f"gl.full([1], {text}, gl.{kind}, {layout})"
    elif slots.is_flag(put.value):
        text = f"{text}.to(gl.int8)"
    return statements.write(slots.slot(slots.staged[put.value], at), text)


def got(values: Values, get: Get, at: Iteration) -> Assignment:
    """Return what gets the copy of another group's value for one of this group's operations."""
    slots, place = values.slots, values.places.copy(get.value, get.reader, get.distance)
    to = values.names(place.text(at, values.where.round))
    slot = slots.slot(slots.staged[get.value], at)
    if slots.is_number(get.value):
        layout = values.gluon.layouts.of_number(values.group.warps)
        return Assignment(to, f"gl.sum({slot}.load({layout}), axis=0)")
    # What is only converted is read as it is wanted, and not exchanged once more.
    converted = values.operations[get.reader].kind == "convert_layout"
    layout = slots.register_layout(get.reader if converted else get.value, values.gluon)
    test = " != 0" if slots.is_flag(get.value) else ""
    return Assignment(to, f"{slot}.load({layout}){test}")
