"""Schedules as kernels: Gluon code for Triton."""

from __future__ import annotations

from twill.emit.kernel import emitted

__all__ = ["emitted"]
