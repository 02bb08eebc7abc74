"""Dump a Triton kernel's TTGIR where a scheduler wants it: tiled, placed, not yet pipelined."""

from __future__ import annotations

from twill.frontends.triton_dump.kernel import dump_kernel, unset_constants
from twill.frontends.triton_dump.lower import dump_compiled

__all__ = ["dump_compiled", "dump_kernel", "unset_constants"]
