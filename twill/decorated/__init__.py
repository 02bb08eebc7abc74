"""Triton kernels that are called as before, and run as the kernels that Twill emits for them."""

from __future__ import annotations

from twill.decorated.kernel import Kernel, jit

__all__ = ["Kernel", "jit"]
