"""The memory of one kernel, which all its partitions share."""

from __future__ import annotations

from twill.artifacts.schedule import Schedule
from twill.emit.layouts import Layouts
from twill.emit.memory.allocations import Allocations
from twill.emit.memory.barriers import Barriers
from twill.emit.memory.before import Before
from twill.emit.memory.slots import Slots
from twill.emit.source import Source


class Memories:
    """The slots, allocations and barriers of one kernel, and what is there before its loop."""

    def __init__(self, schedule: Schedule, source: Source, layouts: Layouts) -> None:
        self.schedule, self.source, self.layouts = schedule, source, layouts
        self.slots = Slots(schedule, source, layouts)
        self.allocations = Allocations(self.slots)
        self.barriers = Barriers(self.slots)
        self.before = Before(self.slots)
