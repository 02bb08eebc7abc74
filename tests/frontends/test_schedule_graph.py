"""Schedules of ddg-0.1 graphs: times, groups and slots are the file's, and what follows by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import twill
from twill.base.errors import InputError
from twill.studies.subjects import is_schedule

DATA = Path(__file__).parents[2] / "docs" / "reading"
FILE = DATA / "two_products.schedule_graph.json"
Document = dict[str, Any]
Change = Callable[[Document], object]


def changed(folder: Path, change: Change, name: str = "schedule_graph.json") -> str:
    """Write the file with a change, beside its graph, and return its name."""
    shutil.copy(DATA / "two_products.ddg.json", folder / "ddg.json")
    document = json.loads(FILE.read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))
    return str(folder / name)


def scheduled(document: Document) -> Document:
    found: Document = document["loops"][0]["schedule_loop"]
    return found


def test_times_groups_and_slots_are_those_of_the_file() -> None:
    schedule = twill.load_schedule(str(FILE))
    assert is_schedule(str(FILE))
    assert schedule.initiation_interval == 450
    assert schedule.start == {
        "mul.0": 0, "load.1": 1, "mma.3": 501, "tmem_load.4": 801, "exp2.5": 951, "cast.6": 1151,
        "mma.8": 1191,
    }  # fmt: skip
    assert schedule.assignment == {
        "mul.0": "group0", "load.1": "group0", "mma.3": "group1", "mma.8": "group1",
        "tmem_load.4": "group2", "exp2.5": "group2", "cast.6": "group2",
    }  # fmt: skip
    assert [(g.name, g.warps) for g in schedule.groups] == [
        ("group0", 1), ("group1", 1), ("group2", 4),
    ]  # fmt: skip
    slots = {s.value: s.slots for s in schedule.storage}
    assert (slots["load.1"], slots["cast.6"]) == (2, 1)


def test_what_it_breaks_is_what_the_format_lacks() -> None:
    """It has no addresses and no hiding depths; a scalar stands on the loads' group."""
    broken = {v.rule for v in twill.verify(twill.load_schedule(str(FILE))).violations}
    assert broken == {"addresses", "statistics", "variable latency"}


def test_it_takes_the_interval_of_its_recurrence() -> None:
    """The first product (300) and the read of its result (150) wait for each other."""
    run = twill.sim.run(twill.load_schedule(str(FILE)))
    assert run.measured_interval_cycles == 450


def test_with_one_slot_a_load_waits_for_the_product_that_reads_the_one_before(
    tmp_path: Path,
) -> None:
    """From its issue (500) to the end of that product (300)."""
    file = changed(tmp_path, lambda d: scheduled(d)["buffers"][0].update(count=1))
    assert twill.sim.run(twill.load_schedule(file)).measured_interval_cycles == 800


def move(node: int, cycle: int, stage: int) -> Change:
    def change(document: Document) -> None:
        place = scheduled(document)["graph"]["nodes"][node]["schedule"]
        place.update(cycle=cycle, stage=stage)

    return change


def test_two_products_at_a_time_are_found_by_the_verifier(tmp_path: Path) -> None:
    """The second one is moved to slot 60, when the first has the unit from 51 to 151."""
    found = twill.verify(twill.load_schedule(changed(tmp_path, move(8, 1410, 3)))).violations
    assert [v.message for v in found if v.rule == "capacity"] == [
        "unit TC in slot 60: 2 in use by mma.3, mma.8, capacity 1"
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (move(5, 460, 1), "'exp2.5' stands before 'tmem_load.4'"),
        (lambda d: scheduled(d)["graph"]["nodes"].pop(), "nodes are not those of the graph beside"),
        (lambda d: d["loops"].append(d["loops"][0]), "loops: 2 innermost loops; one is read"),
        (lambda d: d.update(schema_version="0.2"), "schema_version: input should be '0.1'"),
        (lambda d: scheduled(d)["buffers"][0].update(count=0), r"buffers\[0\].count"),
        (lambda d: d["loops"][0]["warp_groups"].append({"id": 0, "num_warps": 1}), "a second time"),
        (move(3, 501, 1 << 40), "stage: input should be less than or equal to 65536"),
    ],
)
def test_what_is_wrong_is_one_line(change: Change, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        twill.load_schedule(changed(tmp_path, change))


def test_a_file_without_its_graph_says_which_is_missing(tmp_path: Path) -> None:
    shutil.copy(FILE, tmp_path / "schedule_graph.json")
    with pytest.raises(InputError, match=r"ddg\.json: No such file"):
        twill.load_schedule(str(tmp_path / "schedule_graph.json"))
    with pytest.raises(InputError, match="its name must have schedule_graph where"):
        twill.load_schedule(changed(tmp_path, lambda _: None, "other.json"))
