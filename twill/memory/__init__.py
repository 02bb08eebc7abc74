"""Addresses of every instance in SMEM and TMEM, with memory shared in time."""

from __future__ import annotations

from twill.memory.allocation import Allocation, Conflict, Ring, Tenant, allocate, meeting

__all__ = ["Allocation", "Conflict", "Ring", "Tenant", "allocate", "meeting"]
