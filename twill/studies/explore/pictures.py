"""Pictures of the page: bars in lanes over cycles or slots.

A bar has the operations that it is about, by which the page links it with all others.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from twill.artifacts.program import Storage
from twill.artifacts.schedule import Schedule
from twill.base.figures import COLOURS
from twill.base.formats import cycles, percent
from twill.base.names import elided
from twill.show import Looks, unit_of_time
from twill.show.placed import Placed, reservation_table
from twill.sim.checks.occupancy import UNITS, Occupancy
from twill.sim.checks.occupied import Share
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.show.timeline import Slice, tracks_within
from twill.studies.explore.steady import CAUSES, ITERATIONS, Steady

# Pixels: of a line, of one in which bars are stacked, between lines, left of the bars, below them,
# of the whole without scripts, and of a character.
LINE, STACK, GAP, LEFT, AXIS, WIDTH, CHARACTER = 24, 110, 6, 92, 24, 1100, 6.2
LEAST_HEIGHT = 12  # pixels of a bar that has a label
WORKING = ("issue", "work")
MEMORIES = ("smem", "tmem")
WAITING = "waiting"  # CSS class of what is no operation's


@dataclass(frozen=True)
class Bar:
    """A rectangle: cycles or slots from the left end, pixels from the top."""

    begin: float
    end: float
    top: float
    height: float
    # In it if there is room, and in full.
    label: str
    title: str
    # CSS class.
    look: str
    operations: tuple[str, ...]


@dataclass(frozen=True)
class Lane:
    """A line of a picture, in pixels from the top."""

    name: str
    note: str
    top: float
    height: float


@dataclass(frozen=True)
class Picture:
    """Lanes of bars. Pictures of one `unit` have one scale."""

    unit: str
    length: float
    lanes: tuple[Lane, ...]
    bars: tuple[Bar, ...]

    @property
    def height(self) -> float:
        """In pixels."""
        return self.lanes[-1].top + self.lanes[-1].height + GAP + AXIS if self.lanes else AXIS


@dataclass(frozen=True)
class View:
    """The part of a steady state that is shown, in cycles, and how its groups look."""

    found: Steady
    begin: float
    end: float
    looks: Looks

    @property
    def schedule(self) -> Schedule:
        """The schedule that was run."""
        return self.found.schedule

    def look(self, operations: Sequence[str]) -> str:
        """Return the CSS class of work: that of the group which issues it."""
        return look_of(self.looks, self.schedule.assignment[operations[0]])


def look_of(looks: Looks, group: str) -> str:
    """Return a group's CSS class, a number among the colours."""
    return f"g{COLOURS.index(looks[group].colour)}"


def lanes_of(names: Iterable[tuple[str, str]], height: float) -> Iterator[Lane]:
    """Yield lanes below each other, of names and notes."""
    for number, (name, note) in enumerate(names):
        yield Lane(name, note, GAP + number * (height + GAP), height)


# -- over cycles ------------------------------------------------------------------------------


def timeline(view: View) -> Picture:
    """Return what groups, units and pipes do."""
    tracks = tracks_within(view.schedule, view.found.recording, view.begin, view.end)
    names = [_of_group(view, t.name) if t.kind == "group" else t.name for t in tracks]
    lanes = tuple(lanes_of(((name, "") for name in names), LINE))
    bars = tuple(
        _worked(view, piece, lane, of_group=track.kind == "group")
        for track, lane in zip(tracks, lanes, strict=True)
        for piece in track.slices
    )
    return Picture("cycles", view.end - view.begin, lanes, bars)


def _of_group(view: View, group: str) -> str:
    return f"{view.looks[group].letter}: {group}"


def _worked(view: View, piece: Slice, lane: Lane, *, of_group: bool) -> Bar:
    begin, end = piece.begin - view.begin, piece.end - view.begin
    spent = _in_cycles(piece.end - piece.begin)
    if piece.kind in WORKING:
        label = " + ".join(f"{n} [{i}]" for n, i in zip(piece.names, piece.iterations, strict=True))
        group = view.schedule.assignment[piece.names[0]]
        label = label if of_group else f"{view.looks[group].letter}: {label}"
        title, look, operations = f"{label}: {spent}", view.look(piece.names), piece.names
    else:
        label = " ".join(piece.names[:1])
        title = " ".join([CAUSES.get(piece.kind, piece.kind), *piece.names[:1]]) + f": {spent}"
        look, operations = WAITING, tuple(_awaited(view.schedule, label))
    return Bar(begin, end, lane.top, lane.height, elided(label), title, look, operations)


def _in_cycles(value: float) -> str:
    """Return a time in words."""
    return f"{cycles(value)} cycle{'' if value == 1 else 's'}"


def _awaited(schedule: Schedule, subject: str) -> Iterator[str]:
    """Yield the operation that a wait is about: that, or the one that a barrier is named after."""
    for name in (subject, subject.rpartition(".")[0]):
        if name in schedule.assignment:
            yield name
            return


def occupied(view: View) -> tuple[Picture, Picture]:
    """Return what registers of groups, and addresses of memories, hold (see `Occupancy`)."""
    schedule = view.schedule
    occupancy = Occupancy(schedule)
    conditions = Conditions(iterations=ITERATIONS)
    StreamingMultiprocessor(schedule, conditions, (occupancy,)).run()
    by_place: dict[str, list[Share]] = defaultdict(list)
    for share in occupancy.shares():
        if share.warp == 0 and share.begin < view.end and share.end > view.begin:
            begin, end = max(share.begin, view.begin), min(share.end, view.end)
            by_place[share.place].append(share._replace(begin=begin, end=end))
    return _registers(view, by_place, occupancy.always()), _memories(view, by_place)


@dataclass(frozen=True)
class _Stack:
    """A lane in which amounts lie above each other, up to the whole that fills it."""

    view: View
    lane: Lane
    whole: float
    unit: str

    def always(self, what: str, low: float, amount: float) -> Bar:
        """Return a bar of what no operation fills."""
        return self._bar(what, (self.view.begin, self.view.end), low, amount, WAITING, ())

    def share(self, share: Share, low: float, amount: float) -> Bar:
        """Return a bar of a value."""
        what = f"{share.value} [{share.iteration}]{' (staging)' if share.staged else ''}"
        value = (share.value,)
        return self._bar(what, (share.begin, share.end), low, amount, self.view.look(value), value)

    def _bar(
        self,
        what: str,
        time: tuple[float, float],
        low: float,
        amount: float,
        look: str,
        operations: tuple[str, ...],
    ) -> Bar:
        scale = self.lane.height / self.whole
        height, (begin, end) = amount * scale, time
        place = "" if self.unit == UNITS["registers"] else f", from {low:g} on"
        return Bar(
            begin - self.view.begin,
            end - self.view.begin,
            self.lane.top + self.lane.height - low * scale - height,
            height,
            elided(what) if height >= LEAST_HEIGHT else "",
            f"{what}: {amount:g} {self.unit} for {_in_cycles(end - begin)}{place}",
            look,
            operations,
        )


def _registers(view: View, shares: dict[str, list[Share]], always: dict[str, int]) -> Picture:
    groups, limit = view.schedule.groups, view.schedule.machine.registers
    most = limit.limit.value if limit else 0
    notes = (
        f"{g.registers} given" if g.registers else f"of {most}" if most else "" for g in groups
    )
    names = (_of_group(view, group.name) for group in groups)
    lanes = tuple(lanes_of(zip(names, notes, strict=True), STACK))
    bars: list[Bar] = []
    for lane, group in zip(lanes, groups, strict=True):
        place = f"registers of {group.name}"
        reserved = always.get(place, 0)
        pieces = list(_stacked(shares[place], reserved))
        peak = max((float(low + share.amount) for share, low in pieces), default=0.0)
        stack = _Stack(view, lane, max(peak, group.registers or most, 1), UNITS["registers"])
        if reserved:
            bars.append(stack.always("addresses, counters and invariants", 0, reserved))
        bars += [stack.share(share, float(low), float(share.amount)) for share, low in pieces]
    return Picture("cycles", view.end - view.begin, lanes, tuple(bars))


def _stacked(shares: list[Share], base: int) -> Iterator[tuple[Share, Fraction]]:
    """Yield shares with what lies below them, cut where that changes; the oldest are lowest."""
    ordered = sorted(shares, key=lambda s: (s.begin, -s.end, s.value))
    edges = sorted({edge for s in ordered for edge in (s.begin, s.end)})
    known: dict[int, tuple[Share, Fraction]] = {}
    for begin, end in itertools.pairwise(edges):
        low = Fraction(base)
        for number, share in enumerate(ordered):
            if not share.begin <= begin < share.end:
                continue
            before = known.get(number)
            if before is not None and before[1] == low:
                known[number] = (before[0]._replace(end=end), low)
            else:
                if before is not None:
                    yield before
                known[number] = (share._replace(begin=begin, end=end), low)
            low += share.amount
    yield from known.values()


def _memories(view: View, shares: dict[str, list[Share]]) -> Picture:
    memories = view.schedule.machine.memories.by_name
    names = [name for name in MEMORIES if name in shares or _fixed(view.schedule, name)]
    places = {name: _addresses(view.schedule, name) for name in names}
    wholes = {
        name: (memories[name].capacity if name in memories else None)
        or max((low + size for low, size in places[name].values()), default=1)
        for name in names
    }
    lanes = tuple(lanes_of(((name, f"{wholes[name]:g} {UNITS[name]}") for name in names), STACK))
    bars: list[Bar] = []
    for lane, name in zip(lanes, names, strict=True):
        stack = _Stack(view, lane, wholes[name], UNITS[name])
        bars += [stack.always(*fixed) for fixed in _fixed(view.schedule, name)]
        bars += [
            stack.share(share, *places[name][share.value, share.staged, share.slot])
            for share in shares[name]
        ]
    return Picture("cycles", view.end - view.begin, lanes, tuple(bars))


def _fixed(schedule: Schedule, memory: str) -> list[tuple[str, int, int]]:
    """Return invariants of a memory that have an address, with that and their size."""
    return [
        (value.name, value.address, value.size)
        for value in schedule.fixed
        if value.memory == memory and value.address is not None
    ]


def _addresses(schedule: Schedule, memory: str) -> dict[tuple[str, bool, int], tuple[float, float]]:
    """Return address and extent of every slot; one after the other where they have none."""
    found: dict[tuple[str, bool, int], tuple[float, float]] = {}
    beyond = 0
    for storage in schedule.storage:
        if storage.memory == memory and storage.reader is None:
            for slot in range(storage.slots):
                address = storage.addresses[slot] if storage.addresses else beyond
                beyond += storage.size
                found[storage.value, storage.transfer, slot] = _half(storage, slot, address)
    return found


def _half(storage: Storage, slot: int, address: int) -> tuple[float, float]:
    """Return where a slot is drawn: half of its columns' height if it takes half of the lanes."""
    if not storage.halves:
        return address, storage.size
    return address + storage.halves[slot] * storage.size / 2, storage.size / 2


# -- over slots -------------------------------------------------------------------------------


def reservations(found: Placed, looks: Looks) -> Picture:
    """Return the modular reservation table."""
    unit = unit_of_time(found.schedule)
    tables = [(t, reservation_table(t, found.interval)) for t in found.units if t.bars]
    bars, names = [], []
    for track, cells in tables:
        taken = sum(c.count * (c.end - c.begin) for c in cells)
        busy = percent(taken / (track.capacity * found.interval))
        names.append((track.name, f"{busy} busy"))
    lanes = tuple(lanes_of(names, LINE))
    for (track, cells), lane in zip(tables, lanes, strict=True):
        scale = lane.height / track.capacity
        for cell in cells:
            what = f"{looks[cell.group].letter}: {cell.operation}"
            several = f", {cell.count} of {track.capacity}" if track.capacity > 1 else ""
            height = cell.count * scale
            bars.append(
                Bar(
                    cell.begin,
                    cell.end,
                    lane.top + lane.height - cell.low * scale - height,
                    height,
                    elided(what) if height >= LEAST_HEIGHT else "",
                    f"{what}: slots {cell.begin} to {cell.end}{several}",
                    look_of(looks, cell.group),
                    (cell.operation,),
                )
            )
    return Picture(f"slots ({unit})", found.interval, lanes, tuple(bars))
