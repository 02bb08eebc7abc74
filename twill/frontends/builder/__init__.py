"""Loops written in Python: `LoopBuilder`, with operations recorded in program order."""

from __future__ import annotations

from twill.frontends.builder.loop_builder import LoopBuilder
from twill.frontends.builder.values import Carried, Value

__all__ = ["Carried", "LoopBuilder", "Value"]
