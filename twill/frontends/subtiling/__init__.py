"""Splitting a loop's independent rows into sub-tiles that share what is streamed."""

from __future__ import annotations

from twill.frontends.subtiling.plan import Plan, Role
from twill.frontends.subtiling.rewrite import Rewriter
from twill.frontends.subtiling.subtile import plan_subtiles, subtile

__all__ = ["Plan", "Rewriter", "Role", "plan_subtiles", "subtile"]
