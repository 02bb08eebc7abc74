"""Timelines: clocks of two executions, what differs, the trace, and the explorer's page of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.commands import in_process
from twill.base.errors import InputError
from twill.compiled import compile_file
from twill.compiled.clocks import ROUNDS, Clocked, Moment, Place
from twill.studies.explore.clocks import clocks_section
from twill.studies.explore.page import page
from twill.studies.explore.pictures import WAITING, Picture
from twill.studies.timeline import (
    SHOWN,
    Cycles,
    Timeline,
    print_timeline,
    simulated_clocks,
    timeline,
    trace,
)

FILE = Path(__file__).parents[1] / "data" / "machine_code" / "gemm_grouped.py"
WAIT = "mbarrier.wait(full)"
READS: tuple[tuple[Moment, int, str], ...] = (
    ("start", 1, "load"),
    ("round", 3, "for i in tl.range(n):"),
    ("before", 5, WAIT),
    ("after", 5, WAIT),
    ("end", 9, "load"),
)


def clocks(origin: int, work: int, wait: int, rounds: int) -> Cycles:
    """Return the clocks of `READS`: rounds of work, a wait, and ten cycles more."""
    begins = [origin + n * (work + wait + 10) for n in range(rounds)]
    later = (0, work, work + wait)
    read = [{n: begin + more for n, begin in enumerate(begins)} for more in later]
    return ({0: origin - 7}, *read, {0: begins[-1] + work + wait + 10})


@pytest.fixture
def found() -> Timeline:
    """A wait that takes 40 cycles longer on the GPU, which has more rounds."""
    places = tuple(Place("load", moment, line, text) for moment, line, text in READS)
    executed = clocks(900, 60, 80, 40), clocks(100, 60, 40, 16)
    return Timeline("kernel.py", "NVIDIA H200", places, *executed, without=104.0)


def test_what_differs_most_is_named_first(
    found: Timeline, capsys: pytest.CaptureFixture[str]
) -> None:
    assert found.rounds == tuple(range(4, 12))
    assert (found.interval(found.gpu), found.interval(found.simulated)) == (150, 110)
    first, *others = found.differences()
    assert (first.piece.what, first.piece.line, first.piece.waits) == (WAIT, 5, True)
    assert (first.gpu, first.simulated, first.more) == (80, 40, 40)
    assert [(one.gpu, one.more) for one in others] == [(60, 0), (10, 0)]
    print_timeline(found)
    said = capsys.readouterr().out
    assert "150 cycles on NVIDIA H200, 110 on the simulated SM, and 104 without reads" in said
    assert said.index(WAIT) < said.index("work until line 5")


def test_a_trace_begins_at_one_round_of_both(found: Timeline) -> None:
    events = json.loads(trace(found))["traceEvents"]
    shown = [e for e in events if e["ph"] == "X"]
    firsts = [next(e for e in shown if e["pid"] == process) for process in (1, 2)]
    assert [(e["ts"], e["name"]) for e in firsts] == [(0, "work until line 5")] * 2
    waits = [round(1000 * e["dur"]) for e in shown if e["args"]["waits"]]
    assert waits == [80] * SHOWN + [40] * SHOWN


def test_the_page_has_both_executions_in_lanes(found: Timeline, tmp_path: Path) -> None:
    file = tmp_path / "timeline.json"
    file.write_text(trace(found))
    section = clocks_section(file)
    picture = section.panels[0].shown
    assert isinstance(picture, Picture)
    assert [lane.name for lane in picture.lanes] == ["A GPU", "A simulated"]
    for lane, wait in zip(picture.lanes, (80, 40), strict=True):
        bars = [b for b in picture.bars if b.top == lane.top]
        assert len(bars) == 3 * SHOWN
        lasts = {round(b.end - b.begin) for b in bars if b.look == WAITING}
        assert lasts == {wait}
    assert WAIT in page([section])


def test_another_trace_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text('{"traceEvents": [{"ph": "X", "ts": 0, "dur": 1, "args": {}}]}')
    with pytest.raises(InputError, match="no trace of run-kernel --timeline"):
        clocks_section(file)


def test_no_common_round_is_refused(found: Timeline) -> None:
    apart = Timeline("kernel.py", "", found.places, ({},) * 5, found.simulated)
    with pytest.raises(InputError, match="no round of a loop was executed by both"):
        _ = apart.begins


def test_an_emulated_kernel_has_none(tmp_path: Path) -> None:
    done = in_process(
        "twill", "run-kernel", str(FILE), "--emulate", "--timeline", str(tmp_path / "t.json")
    )
    assert done.returncode == 2
    assert "a GPU is needed; without one: python -m twill.sim run" in done.stderr


@pytest.mark.triton
def test_a_file_is_executed_with_clocks_on_both(tmp_path: Path) -> None:
    """Instead of a GPU the simulated SM, on which one wait takes 100 cycles longer."""
    file = Path(shutil.copy(FILE, tmp_path / "gemm_grouped__quick0.py"))

    def on_gpu(made: Clocked, iterations: int, *_: object) -> tuple[str, list[list[int]]]:
        assert iterations == ROUNDS
        numbers = [0] * made.size
        longer = next(n for n, p in enumerate(made.places) if p.moment == "after")
        same = made.places[longer].partition
        for place, cycles in enumerate(simulated_clocks(made, compile_file)):
            for n, cycle in cycles.items():
                late = n + (place >= longer and made.places[place].partition == same)
                numbers[ROUNDS * place + n] = 5000 + cycle + 100 * late
        return "none", [numbers]

    found = timeline(file, on_gpu=on_gpu)
    assert found.interval(found.gpu) == pytest.approx(found.interval(found.simulated) + 100)
    first = found.differences()[0]
    assert (first.piece.waits, first.more) == (True, 100)
    assert "mbarrier.wait" in first.piece.what
    assert found.without == pytest.approx(512, rel=0.01)
    assert found.interval(found.simulated) == pytest.approx(found.without, rel=0.05)
