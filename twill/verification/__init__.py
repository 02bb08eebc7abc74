"""Judges of schedules and proofs; they import no solver."""
