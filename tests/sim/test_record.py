"""Recordings: what is kept of a long run."""

from __future__ import annotations

import json

from typer.testing import CliRunner

import twill
from twill.cli.main import simulator as app
from twill.sim.analysis.profile import Profile
from twill.sim.engine.record import DEFAULT_ITERATIONS, Recording
from twill.sim.execute import run


def test_a_long_run_is_recorded_at_its_end_only() -> None:
    schedule = twill.load_schedule("paper_example_by_hand")

    def kept(iterations: int) -> tuple[Recording, Profile]:
        recording = Recording(iterations=64)
        found = run(schedule, iterations=iterations, recording=recording).profile
        assert found is not None
        return recording, found

    (short, before), (long, after) = kept(200), kept(2200)
    for of_long, of_short in ((long.spans, short.spans), (long.uses, short.uses)):
        assert {key: len(events) for key, events in of_long.items()} == {
            key: len(events) for key, events in of_short.items()
        }
    for name in ("arrivals", "wakeups", "starts", "completions", "work_ends"):
        assert len(getattr(long, name)) == len(getattr(short, name))
    assert len(long.completions) < 80 * len(schedule.loop.operations)
    # What is said of the steady state is what a recording of everything says.
    whole = run(schedule, iterations=200, recording=Recording(iterations=None)).profile
    assert whole is not None
    assert before.first > whole.first
    assert before.last == whole.last
    assert before.critical == whole.critical == after.critical
    assert before.groups == whole.groups == after.groups


def test_the_command_records_no_more_than_it_prints() -> None:

    told = CliRunner().invoke(
        app, ["run", "paper_example_by_hand", "--iterations", "1500", "--no-checks", "--json"]
    )
    found = json.loads(told.stdout)["profile"]
    assert 1500 - found["first"] <= DEFAULT_ITERATIONS + 4
    assert found["critical"]["closed"]
