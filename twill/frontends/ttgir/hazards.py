"""What must have read a value before another operation updates it in place."""

from __future__ import annotations

from dataclasses import replace

from twill.frontends.ttgir.draft import Draft, Flow


def order_in_place(draft: Draft) -> None:
    """Order the other readers of a value before the operation that updates it where it lies.

    A reader that can only come after the update keeps the update from being in place: the value
    is then copied, which registers allow and tensor memory never asks for.
    """
    for update in [flow for flow in draft.flows if flow.in_place]:
        orders = [
            Flow(reader.consumer, update.consumer, update.distance - reader.distance, kind="anti")
            for reader in draft.reads_of(update.producer)
            if reader.consumer != update.consumer
        ]
        impossible = any(
            order.distance < 0
            or (order.distance == 0 and _reaches(draft, update.consumer, order.producer))
            for order in orders
        )
        if impossible:
            draft.flows[draft.flows.index(update)] = replace(update, in_place=False)
            continue
        known = {(f.producer, f.consumer, f.distance) for f in draft.flows}
        draft.flows += [o for o in orders if (o.producer, o.consumer, o.distance) not in known]


def _reaches(draft: Draft, start: float, goal: float) -> bool:
    """Whether `goal` follows `start` within one iteration."""
    pending, seen = [start], {start}
    while pending:
        node = pending.pop()
        if node == goal:
            return True
        for flow in draft.flows:
            if flow.producer == node and not flow.distance and flow.consumer not in seen:
                seen.add(flow.consumer)
                pending.append(flow.consumer)
    return False
