"""Packaged kernels, TTGIR dumps, loops and schedules."""
