"""The artifacts that people open, edit and feed in again: loop, machine, schedule, order, sweep."""
