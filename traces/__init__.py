"""Packaged kernels, TTGIR dumps, loops and schedules."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
