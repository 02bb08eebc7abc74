"""Loops from Triton's GPU IR (TTGIR)."""

from twill.frontends.ttgir.extract import extract, load_ttgir

__all__ = ["extract", "load_ttgir"]
