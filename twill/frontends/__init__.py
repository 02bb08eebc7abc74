"""Readers of loops and schedules, from whatever format."""

from __future__ import annotations

from twill.frontends.loops import READERS, load_loop, machine_of, packaged_loops, threads_per_warp

__all__ = ["READERS", "load_loop", "machine_of", "packaged_loops", "threads_per_warp"]
