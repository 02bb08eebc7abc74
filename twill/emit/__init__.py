"""Schedules as kernels: Gluon code for Triton."""

from __future__ import annotations

from twill.emit.kernel import emitted, epilogue_parts

__all__ = ["emitted", "epilogue_parts"]
