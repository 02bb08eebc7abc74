"""Traces and timelines: no overlaps, arrows that hold on to slices, counters within capacity."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.sampled import sampled
from twill.sim.engine import UNMODELLED
from twill.sim.engine.record import Recording
from twill.sim.execute import run
from twill.sim.show.timeline import _looks, draw_timeline, tracks_within, window
from twill.sim.show.trace import trace

Event = dict[str, Any]
SVG_TEXT = "{http://www.w3.org/2000/svg}text"


def recorded(schedule: twill.Schedule, latency: str | None = None) -> Recording:
    recording = Recording(values=True)
    run(schedule, iterations=16, latency=latency, recording=recording)
    return recording


@pytest.fixture(scope="module")
def attention_recording(attention_schedule: twill.Schedule) -> Recording:
    return recorded(attention_schedule)


@pytest.fixture(scope="module")
def events(attention_schedule: twill.Schedule, attention_recording: Recording) -> list[Event]:
    found: list[Event] = json.loads(trace(attention_schedule, attention_recording))["traceEvents"]
    return found


def by_track(events: list[Event]) -> dict[tuple[int, int], list[Event]]:
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    return tracks


def cycles(event: Event) -> tuple[int, int]:
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event.get("dur", 0) * 1000)


def test_slices_of_a_track_do_not_overlap(events: list[Event]) -> None:
    tracks = by_track(events)
    assert len(tracks) >= 3 + 3
    for slices in tracks.values():
        for before, after in itertools.pairwise(map(cycles, slices)):
            assert before[0] < before[1] <= after[0]


def test_every_track_has_a_name(events: list[Event]) -> None:
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert set(named) >= set(by_track(events))
    assert {"load (1 warp)", "compute0 (4 warps)", "tc", "tma", "mufu (pipe)"} <= {*named.values()}


def test_an_arrow_leads_from_a_slice_to_a_later_one(events: list[Event]) -> None:
    tracks = by_track(events)
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len(starts) > 16 * 8
    for number, end in ends.items():
        start = starts[number]
        assert (start["name"], start["cat"]) == (end["name"], end["cat"])
        assert start["ts"] <= end["ts"]
        assert end["bp"] == "e"
        for event in (start, end):
            at = cycles(event)[0]
            slices = [cycles(piece) for piece in tracks[event["pid"], event["tid"]]]
            assert sum(begin <= at < until for begin, until in slices) == 1


def test_a_barriers_arrow_comes_from_who_arrives(events: list[Event]) -> None:
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    arrows = Counter(
        (start["name"], named[start["pid"], start["tid"]], named[end["pid"], end["tid"]])
        for start, end in itertools.pairwise(e for e in events if e["ph"] in "sf")
        if (start["ph"], end["ph"]) == ("s", "f")
    )
    assert arrows["k.full", "tma", "compute0 (4 warps)"] == 16
    assert arrows["s0", "tc", "compute0 (4 warps)"] == 16
    releases = [who for name, who, to in arrows if name == "k.empty" and to == "load (1 warp)"]
    assert set(releases) <= {"compute0 (4 warps)", "compute1 (4 warps)"}


def test_the_tensor_cores_slices_are_its_work(events: list[Event]) -> None:
    named = {e["args"]["name"]: (e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    busy = sum(end - begin for begin, end in map(cycles, by_track(events)[named["tc"]]))
    assert busy == 16 * 2048


def test_counters_stay_within_the_machine(
    events: list[Event], attention_schedule: twill.Schedule
) -> None:
    amounts = defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            amounts[event["name"]].append(next(iter(event["args"].values())))
    invariants = sum(fixed.size for fixed in attention_schedule.fixed)
    assert min(amounts["SMEM bytes"]) >= invariants == 2 * 64 * 128 * 2
    # Two slots of 32 KiB for each of K and V, all four in use now and then.
    assert max(amounts["SMEM bytes"]) == invariants + 4 * (32 << 10)
    for group in ("compute0", "compute1"):
        assert 64 <= max(amounts[f"registers of {group}"]) <= 255


def test_equal_runs_give_equal_bytes(
    attention_schedule: twill.Schedule, attention_recording: Recording
) -> None:
    again = trace(attention_schedule, recorded(attention_schedule))
    assert again == trace(attention_schedule, attention_recording)
    other = trace(attention_schedule, recorded(attention_schedule, "uniform:400,6000"))
    assert again != other


def test_the_trace_of_the_paper_example_is_as_it_was() -> None:
    schedule = twill.load_schedule("paper_example_by_hand")
    recording = Recording(values=True)
    run(schedule, iterations=8, recording=recording)
    golden = Path(__file__).parents[1] / "data" / "paper_example_trace.json"
    assert trace(schedule, recording) == golden.read_text()


# -- timelines --------------------------------------------------------------------------------


def test_the_paper_examples_timeline(paper_schedule: twill.Schedule) -> None:
    # Figure 2 of the paper: the first product of an iteration and the second of the one before
    # alternate on the tensor core, the exponential lies under the second.
    recording = Recording()
    result = run(paper_schedule, recording=recording)
    assert result.profile is not None
    begin, end = window(recording, result.profile.last, result.measured_interval_cycles)
    assert end - begin == 4
    drawn = {row.name: row.slices for row in tracks_within(paper_schedule, recording, begin, end)}
    products = [(piece.name, piece.begin - begin, piece.end - begin) for piece in drawn["TC"]]
    assert [name for name, _, _ in products] in (["S", "O"] * 2, ["O", "S"] * 2)
    assert [(b, e) for _, b, e in products] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    for piece in drawn["EXP"]:
        assert piece.names == ("P",)
        assert piece.end - piece.begin == 1


def test_a_timeline_ends_before_loads_that_run_ahead_do() -> None:
    # The rings are full when the loads of the last iterations have been issued; what then drains
    # is no steady state.
    schedule = twill.load_schedule("fa3_forward_128x128")
    recording = Recording()
    result = run(schedule, recording=recording, without=UNMODELLED)
    assert result.profile is not None
    begin, end = window(recording, result.profile.last, result.measured_interval_cycles)
    assert end - begin == 2 * 2048
    for row in tracks_within(schedule, recording, begin, end):
        working = [piece for piece in row.slices if piece.kind in {"issue", "work"}]
        middle = (begin + end) / 2
        for half in ((begin, middle), (middle, end)):
            seen = {n for s in working for n in s.names if half[0] <= s.begin < half[1]}
            assert not working or seen, (row.name, half)
        if row.name == "tma":
            assert Counter(n for s in working for n in s.names)["K"] >= 2


def test_operations_of_one_colour_look_different(attention_schedule: twill.Schedule) -> None:
    recording = recorded(attention_schedule)
    looks = _looks(tracks_within(attention_schedule, recording, 0, 20_000))
    assert len(looks) > 18
    assert len(set(looks.values())) == len(looks)


def test_a_timeline_names_the_file_that_cannot_be_written(
    attention_schedule: twill.Schedule, attention_recording: Recording, tmp_path: Path
) -> None:
    with pytest.raises(twill.InputError, match=r"no/a\.png: cannot write: No such file"):
        draw_timeline(attention_schedule, attention_recording, 0, 10, tmp_path / "no" / "a.png")


@pytest.mark.parametrize("ending", sampled(["svg", "png"], 2))
def test_a_timeline_is_drawn_the_same_twice(
    attention_schedule: twill.Schedule, attention_recording: Recording, tmp_path: Path, ending: str
) -> None:
    files = [tmp_path / f"{name}.{ending}" for name in ("one", "two")]
    for file in files:
        draw_timeline(
            attention_schedule,
            attention_recording,
            *window(attention_recording, 12, 2048.0),
            file,
        )
    assert files[0].read_bytes() == files[1].read_bytes()
    if ending == "svg":
        texts = [
            "".join(node.itertext()).strip()
            for node in ET.parse(files[0]).iter(SVG_TEXT)  # noqa: S314 - our own file
        ]
        assert {"load", "compute0", "compute1", "tc", "tma", "mufu", "cycles"} <= {*texts}
        labels = Counter(text.split(" [")[0] for text in texts if " [" in text)
        assert {"s0", "s1", "o0", "o1", "p0", "p1", "k", "v"} <= labels.keys()


def test_a_timeline_has_one_of_two_endings(
    attention_schedule: twill.Schedule, attention_recording: Recording, tmp_path: Path
) -> None:
    with pytest.raises(twill.InputError, match=r"timeline: a timeline ends in \.svg or \.png"):
        draw_timeline(attention_schedule, attention_recording, 0, 10, tmp_path / "a.pdf")


def test_a_timeline_that_cannot_be_written_names_its_file(
    attention_schedule: twill.Schedule, attention_recording: Recording, tmp_path: Path
) -> None:
    file = tmp_path / "missing" / "a.svg"
    with pytest.raises(twill.InputError, match=r"missing/a\.svg: cannot write: No such file"):
        draw_timeline(attention_schedule, attention_recording, 0, 10, file)
