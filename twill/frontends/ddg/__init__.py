"""Loops from dependence graphs in the format ``ddg-0.1``, with the costs that the file gives."""

from __future__ import annotations

from twill.frontends.ddg.extraction import load_ddg

__all__ = ["load_ddg"]
