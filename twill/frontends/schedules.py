"""Schedules by name or file: packaged ones, ``schedule.json``, orders, and IR."""

from __future__ import annotations

from twill.artifacts.schedule import Schedule


def load_schedule(name: str) -> Schedule:
    """Return a schedule: packaged by name, or from a ``.json`` or ``.mlir`` file.

    Raises
    ------
    InputError
        If there is no such schedule or it is not valid.
    """
    if name.endswith(".mlir"):
        from twill.frontends.schedule_ir import load_schedule_ir

        return load_schedule_ir(name)
    return Schedule.named(name)
