"""Loops from Triton's GPU IR (TTGIR)."""

from __future__ import annotations

from twill.frontends.ttgir.extraction import USE_C, extract, load_ttgir

__all__ = ["USE_C", "extract", "load_ttgir"]
