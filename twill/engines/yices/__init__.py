"""The finder: integer differences at a fixed interval, solved by Yices."""

from __future__ import annotations

from twill.engines.yices.difference import DifferenceEngine

__all__ = ["DifferenceEngine"]
