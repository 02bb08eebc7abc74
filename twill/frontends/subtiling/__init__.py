"""A loop's independent rows as sub-tiles that share what is streamed, and tiles of other sizes."""

from __future__ import annotations

from twill.frontends.subtiling.plan import Plan, Role, impossible_product
from twill.frontends.subtiling.rewrite import Rewriter, plan_subtiles, resize, subtile

__all__ = ["Plan", "Rewriter", "Role", "impossible_product", "plan_subtiles", "resize", "subtile"]
