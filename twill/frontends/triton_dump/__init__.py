"""Dump a Triton kernel's TTGIR where a scheduler wants it: tiled, placed, not yet pipelined."""

from __future__ import annotations

from twill.frontends.triton_dump.kernel import dump_kernel, unset_constants

__all__ = ["dump_kernel", "unset_constants"]
