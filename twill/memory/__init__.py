"""Addresses in SMEM and TMEM."""
