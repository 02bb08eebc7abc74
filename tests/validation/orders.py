"""What the documents of orders are written with."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
HEADER: Document = {"schema": "twill.order", "schema_version": 1}


def interleaved(*operations: str) -> Any:
    """Return an instruction that issues operations in turns, or the only one."""
    if len(operations) == 1:
        return operations[0]
    parts = [{"operation": operation} for operation in operations]
    return {"do": "interleave", "parts": parts}


def later(operation: str, stage: int = 1) -> Document:
    """Issue an operation of the iteration before, or of one further back."""
    return {"do": "issue", "operation": operation, "stage": stage}


def group(name: str, warps: int, body: list[Any], **more: int) -> Document:
    """Return a group of so many warps, with what it issues in an iteration."""
    return {"name": name, "warps": warps, **more, "body": body}
