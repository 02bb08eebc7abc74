"""Modulo schedules by CBC."""
