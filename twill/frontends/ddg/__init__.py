"""Loops from dependence graphs in the format ``ddg-0.1``."""

from twill.frontends.ddg.extract import load_ddg
from twill.frontends.ddg.format import is_ddg

__all__ = ["is_ddg", "load_ddg"]
