"""Schedules beside naive loops, software pipelines and those of experts."""
