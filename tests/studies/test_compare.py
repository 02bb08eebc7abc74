"""Loops against the other ways to run them: figures, tables, plots, and what items may be."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import twill
from tests.support.commands import SIM, in_process
from twill.artifacts.schedule import Schedule
from twill.base.console import silent
from twill.base.errors import InputError
from twill.frontends.schedules import load_schedule
from twill.sim.engine import UNMODELLED, Conditions
from twill.studies.compare import (
    Comparison,
    Comparisons,
    compare,
    comparison,
    document,
    frame,
    markdown,
    plot_comparisons,
    print_comparisons,
    write_comparisons,
)
from twill.studies.subjects import EXPERTS, Subject, experts, is_schedule, subjects


@pytest.fixture(scope="module")
def found() -> Comparison:
    return comparison(load_schedule("paper_example_by_hand"), Conditions(iterations=24))


def test_the_papers_running_example(found: Comparison) -> None:
    """Figure 1: three cycles as written, two pipelined; the tensor core is busy for two of them."""
    intervals = {v.variant: v.interval_cycles for v in found.variants}
    assert intervals == {"sequential": 3, "multi-warp": 3, "swp": 2, "joint": 2}
    assert [v.bound_cycles for v in found.variants] == [2] * 4
    assert [v.over_bound for v in found.variants] == [0.5, 0.5, 0, 0]
    assert [v.speedup_over_sequential for v in found.variants] == [1, 1, 1.5, 1.5]
    assert [v.iterations_per_kilocycle for v in found.variants] == pytest.approx(
        [1000 / 3, 1000 / 3, 500, 500]
    )
    assert [v.tensor_core_utilization for v in found.variants] == pytest.approx(
        [2 / 3, 2 / 3, 1, 1]
    )


def test_experts_with_other_tiles_are_compared_by_work_per_time() -> None:
    """An iteration of 128 x 176 tiles multiplies 176 / 128 as much as one of ours."""
    mine = load_schedule("fa3_forward_128x128")
    loop = mine.loop.model_copy(update={"name": "fa_fwd_hopper"})
    named = mine.model_copy(update={"name": "mine", "loop": loop})
    assert [one.name for one in experts(Subject.of(named))] == list(EXPERTS["fa_fwd_hopper"])
    assert experts(Subject.of(mine)) == []
    conditions = Conditions(iterations=24, without=frozenset(UNMODELLED))
    variants = {v.variant: v for v in comparison(named, conditions).variants}
    wide, narrow = variants["fa3_forward_128x176"], variants["joint"]
    assert wide.flop_per_iteration / narrow.flop_per_iteration == 176 / 128
    assert (wide.interval_cycles, narrow.interval_cycles) == (2816, 2048)
    assert wide.speedup_over_sequential == narrow.speedup_over_sequential
    # 4096 FLOP a cycle of a dense 16-bit tensor core on each of 132 SMs at 1830 MHz.
    assert narrow.tflops == pytest.approx(4096 * 132 * 1830e6 / 1e12)


def test_tables_say_the_same(found: Comparison, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(document([found]).to_json())["comparisons"][0]["variants"]
    rows = list(csv.DictReader(io.StringIO(frame([found]).to_csv(index=False))))
    assert [row["variant"] for row in rows] == [v["variant"] for v in data]
    for row, variant in zip(rows, data, strict=True):
        assert float(row["interval_cycles"]) == variant["interval_cycles"]
        assert float(row["tflops"]) == variant["tflops"]
    lines = [line for line in markdown([found]).splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    print_comparisons([found])
    shown = capsys.readouterr().out
    for variant in found.variants:
        assert re.search(rf"{variant.variant} +{variant.interval_cycles:g} ", shown)


def test_the_plot_has_a_bar_for_each_variant(found: Comparison) -> None:
    text = plot_comparisons([found, found])
    root = ET.fromstring(text)  # noqa: S314 - our own
    words = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert words.count("joint") == 2
    assert words.count("1398") == 4
    assert words.count("2097") == 4
    assert plot_comparisons([found, found]) == text


def test_what_is_written_comes_back(found: Comparison, tmp_path: Path) -> None:
    files = write_comparisons([found], tmp_path / "new")
    assert all(file.stat().st_size for file in files)
    assert Comparisons.load(files[0]).to_json() == document([found]).to_json()
    for name, schedule in found.schedules.items():
        file = tmp_path / "new/schedules" / f"paper_example.paper_example.{name}.json"
        assert Schedule.load(file) == schedule
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write: Not a directory"):
        write_comparisons([found], tmp_path / "file")


def test_items_are_told_apart(tmp_path: Path) -> None:
    twill.load_loop("paper_example").save(tmp_path / "loop.json")
    load_schedule("paper_example_by_hand").save(tmp_path / "schedule.json")
    files = [str(tmp_path / name) for name in ("loop.json", "schedule.json")]
    assert [is_schedule(item) for item in files] == [False, True]
    names = ["paper_example", "paper_example_by_hand", *files]
    found = subjects(names, ["paper_example", "hopper_h100"])
    assert [(s.name, s.machine.name, s.schedule is None) for s in found] == [
        ("paper_example", "paper_example", True),
        ("paper_example", "hopper_h100", True),
        ("paper_example", "paper_example", False),
        ("loop", "paper_example", True),
        ("loop", "hopper_h100", True),
        ("paper_example", "paper_example", False),
    ]
    assert subjects(["fa_fwd_blackwell"])[0].machine.name == "blackwell_b200"
    with pytest.raises(InputError, match="needs a machine"):
        subjects(files[:1])
    with pytest.raises(InputError, match="a schedule has its own"):
        subjects(files[1:], ["hopper_h100"])


def test_a_loop_without_a_schedule_is_a_row_with_the_reason() -> None:
    (subject,) = subjects(["paper_example"])
    machine = twill.Machine.named("hopper_h100")
    small = machine.registers
    assert small is not None
    none = machine.model_copy(
        update={
            "registers": small.model_copy(
                update={"file": small.file.model_copy(update={"value": 1})}
            )
        }
    )
    changed = replace(subject, name="mine", machine=none)
    found = compare(changed, Conditions(iterations=24), timeout=None, report=silent)
    rows = {v.variant: v for v in found.variants}
    assert rows["joint"].interval_cycles is None
    assert "registers" in rows["joint"].note
    assert rows["sequential"].interval_cycles is not None


def test_a_variant_that_cannot_run_is_a_row_with_its_reason() -> None:
    """The schedule lacks a wait; its loop, as it is written, reads what it makes only later."""
    schedule = load_schedule("paper_example_by_hand")
    loop, (program,) = schedule.loop, schedule.programs
    late = loop.model_copy(update={"operations": tuple(reversed(loop.operations))})
    hasty = program.model_copy(update={"body": program.body[:1] + program.body[2:]})
    broken = schedule.model_copy(update={"loop": late, "programs": (hasty,)})
    rows = {v.variant: v for v in comparison(broken, Conditions(iterations=24)).variants}
    assert {name: row.interval_cycles for name, row in rows.items()} == {
        "sequential": None,
        "multi-warp": None,
        "swp": 2,
        "joint": None,
    }
    for name in ("sequential", "multi-warp"):
        assert "'P' stands before 'S', which it needs" in rows[name].note
    assert rows["joint"].note.startswith("value: P of iteration 0 reads S of iteration 0")
    assert rows["swp"].speedup_over_sequential is None


def test_a_schedule_that_cannot_run_ends_the_command_with_1(tmp_path: Path) -> None:
    schedule = load_schedule("paper_example_by_hand")
    (program,) = schedule.programs
    hasty = program.model_copy(update={"body": program.body[:1] + program.body[2:]})
    schedule.model_copy(update={"programs": (hasty,)}).save(tmp_path / "hasty.json")
    command = (*SIM, "compare", "hasty.json", "paper_example_by_hand", "--iterations", "24")
    done = in_process(*command, folder=tmp_path)
    assert done.returncode == 1
    assert re.search(r"joint +-.*joint +2 .*", done.stdout, re.DOTALL)
    assert "joint: value: P of iteration 0 reads S of iteration 0" in done.stdout


def test_the_command_fits_80_columns(tmp_path: Path) -> None:
    command = (*SIM, "compare", "paper_example_by_hand", "--iterations", "24")
    done = in_process(*command, "-o", "out", folder=tmp_path)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "wrote out/comparison.svg" in done.stdout
    assert len(list((tmp_path / "out").iterdir())) == 5
    (found,) = Comparisons.load(tmp_path / "out/comparison.json").comparisons
    text = frame([found]).to_csv(index=False, lineterminator="\n")
    assert text == (tmp_path / "out/comparison.csv").read_text()
