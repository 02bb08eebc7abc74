"""Loops written in Python: `LoopBuilder`."""

from twill.frontends.builder.loop import LoopBuilder
from twill.frontends.builder.values import Carried, Value

__all__ = ["Carried", "LoopBuilder", "Value"]
