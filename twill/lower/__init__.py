"""A solution of a problem becomes the artifact."""

from __future__ import annotations

from twill.lower.realization import artifact, lay_out, realize

__all__ = ["artifact", "lay_out", "realize"]
