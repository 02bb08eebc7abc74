"""The section of a trace of `run-kernel --timeline`: rounds on a GPU above the simulated ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import twill
from twill.base.errors import InputError
from twill.base.figures import COLOURS, look
from twill.base.files import read_bytes
from twill.studies.explore.page import Panel, Section
from twill.studies.explore.pictures import LINE, WAITING, Bar, Lane, Picture, lanes_of

CYCLES = 1000  # of a microsecond of a trace, in which one is a nanosecond
EVENTS = "traceEvents"


def is_trace(place: Path) -> bool:
    """Return whether a file is a trace."""
    return EVENTS.encode() in read_bytes(place)[:100]


def clocks_section(place: Path) -> Section:
    """Return both executions of a trace, a lane for each partition and execution.

    Raises
    ------
    InputError
        If the file is no trace of ``run-kernel --timeline``.
    """
    try:
        events = json.loads(read_bytes(place))[EVENTS]
        named = [e for e in events if "dur" not in e]
        names = {(e["pid"], e["tid"], e["name"]): e["args"]["name"] for e in named}
        processes = {p: name for (p, _, kind), name in names.items() if kind == "process_name"}
        threads = {t: name for (_, t, kind), name in names.items() if kind == "thread_name"}
        pieces = [e for e in events if "dur" in e and {"line", "waits"} <= e["args"].keys()]
        length = CYCLES * max(e["ts"] + e["dur"] for e in pieces)
    except (ValueError, KeyError, TypeError) as error:
        wrong = f"no trace of run-kernel --timeline ({type(error).__name__}: {error})"
        raise InputError(wrong, file=str(place)) from None
    keys = [(process, thread) for thread in threads for process in processes]
    letters = {thread: look(number).letter for number, thread in enumerate(threads)}
    last = max(processes)
    titles = ((f"{letters[t]} {'simulated' if p == last else 'GPU'}", "") for p, t in keys)
    lanes = tuple(lanes_of(titles, LINE))
    looks = {t: f"g{number % (len(COLOURS) - 1)}" for number, t in enumerate(threads)}
    bars = _bars(pieces, dict(zip(keys, lanes, strict=True)), looks)
    picture = Picture("cycles", length, lanes, tuple(bars))
    return Section(
        title=place.name,
        summary=[f"rounds on {' and on '.join(processes.values())}, from one round; grey waits"],
        panels=[Panel("Timeline", "bars", picture)],
        legend={f"{letters[t]}: {name}": looks[t] for t, name in threads.items()},
        operations={name: [name] for name in dict.fromkeys(map(_name, pieces))},
        provenance={"twill": twill.__version__},
    )


def _name(piece: dict[str, Any]) -> str:
    return f"L{piece['args']['line']}: {piece['name']}"


def _bars(
    pieces: list[dict[str, Any]], lanes: dict[tuple[int, int], Lane], looks: dict[int, str]
) -> Iterator[Bar]:
    for piece in pieces:
        lane, waits = lanes[piece["pid"], piece["tid"]], piece["args"]["waits"]
        begin, cycles, name = CYCLES * piece["ts"], CYCLES * piece["dur"], _name(piece)
        title = f"{name}: {cycles:,.0f} cycles"
        shown = WAITING if waits else looks[piece["tid"]]
        place = begin, begin + cycles, lane.top, lane.height
        yield Bar(*place, f"L{piece['args']['line']}", title, shown, (name,))
