"""Sources beside what their operations cost: the right lines, and sums that others know too."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

import twill
from tests.support.commands import TWILL, in_process
from twill.base.errors import InputError
from twill.frontends.schedules import load_schedule
from twill.sim.engine.record import Recording
from twill.sim.execute import Run, run
from twill.studies.annotated import annotate, source_table
from twill.studies.explore import sections
from twill.studies.explore.page import page

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "reading" / "fa_fwd_hopper.mlir"
KERNEL = ROOT / "traces" / "kernels" / "attention_forward.py"
LINES = range(28, 47)  # of the kernel's loop


@pytest.fixture(scope="module")
def schedule() -> twill.Schedule:
    return load_schedule(str(FILE))


@pytest.fixture(scope="module")
def result(schedule: twill.Schedule) -> Run:
    return run(schedule, recording=Recording())


@pytest.fixture
def renamed(schedule: twill.Schedule) -> twill.Schedule:
    """The same, of a file that nobody has."""
    text = schedule.to_json().replace("attention_forward.py", "elsewhere.py")
    return twill.Schedule.from_json(text)


def test_lines_are_those_of_the_file(schedule: twill.Schedule, result: Run) -> None:
    found = annotate(schedule, result=result)
    texts = KERNEL.read_text().splitlines()
    assert [line.line for line in found.lines] == list(LINES)
    assert [line.text for line in found.lines] == [texts[number - 1] for number in LINES]
    # Each operation computes the variable that its name begins with, on the line that assigns it.
    for line in found.lines:
        for placed in line.operations:
            variable = placed.operation.split(".")[0]
            assert line.text is not None
            assert line.text.strip().startswith(f"{variable} = ")
    shown = [placed.operation for line in found.lines for placed in line.operations]
    assert sorted(shown) == sorted(operation.name for operation in schedule.loop.operations)


def test_cycles_and_stalls_add_up(schedule: twill.Schedule, result: Run) -> None:
    found = annotate(schedule, result=result)
    assert found.interval_cycles == result.measured_interval_cycles == 2048
    booked: dict[str, int] = defaultdict(int)
    stalled = sum(found.elsewhere.values())
    for placed in (placed for line in found.lines for placed in line.operations):
        for unit, cycles in placed.units.items():
            booked[unit] += cycles
        assert placed.stall_cycles == pytest.approx(sum(placed.stalls.values()))
        stalled += placed.stall_cycles
        assert placed.group == schedule.assignment[placed.operation]
    # FlashAttention-3's numbers for 128 x 128 x 128: 4 x 64 x 128 x 128 MACs at 4096 a cycle and
    # 16384 exponentials at 16 a cycle, and those of 128 rows.
    assert booked["tc"] == 2048
    assert booked["mufu"] == 1024 + 32
    assert result.profile is not None
    busy = ("issue", "idle")
    assert stalled == pytest.approx(
        sum(s.cycles for s in result.profile.groups if s.cause not in busy)
    )


def test_without_the_source_ttgir_is_shown(renamed: twill.Schedule, result: Run) -> None:
    found = annotate(renamed, result=result)
    assert found.source is None
    assert found.missing is not None
    assert found.missing.startswith("elsewhere.py is not at hand")
    assert all(line.text is None and line.operations for line in found.lines)
    by_name = {p.operation: p.ttgir for line in found.lines for p in line.operations}
    assert by_name["k"] == ("tt.descriptor_load", "ttg.local_alloc")
    assert by_name["p0"] == ("math.exp2",)
    assert "ttng.warp_group_dot" in source_table(found).markdown()


def test_another_file_is_not_taken_for_it(
    schedule: twill.Schedule, result: Run, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no function attention_forward_two_tiles"):
        annotate(schedule, KERNEL.with_name("gemm.py"), result=result)
    moved = tmp_path / KERNEL.name
    moved.write_text("\n" + KERNEL.read_text())
    with pytest.raises(InputError, match="its line 28 is not the loop's"):
        annotate(schedule, moved, result=result)
    # One that happens to be beside the schedule is passed over.
    schedule.save(tmp_path / "s.json")
    beside = load_schedule(str(tmp_path / "s.json"))
    assert annotate(beside, result=result).missing is None
    moved.write_text(KERNEL.read_text())
    assert (
        annotate(schedule, tmp_path, result=result).lines
        == annotate(schedule, moved, result=result).lines
    )


def placed_at(folder: Path, *places: str) -> Path:
    """Write a schedule whose operations are read from these places, into a folder."""
    folder.mkdir(exist_ok=True)
    schedule = load_schedule("paper_example_by_hand")
    changed = [
        operation.model_copy(update={"location": place})
        for operation, place in zip(schedule.loop.operations, places, strict=True)
    ]
    loop = schedule.loop.model_copy(update={"operations": tuple(changed)})
    file = folder / "s.json"
    schedule.model_copy(update={"loop": loop}).save(file)
    return file


def all_that_is_shown(file: Path, *options: str) -> str:
    """Return what `annotate` and the page show of a schedule."""
    told = [
        in_process(*TWILL, "annotate", str(file), *options, folder=file.parent).stdout,
        in_process(*TWILL, "annotate", str(file), *options, "--json", folder=file.parent).stdout,
        in_process(*TWILL, "explore", str(file), *options, "-o", "-", folder=file.parent).stdout,
    ]
    assert all(told)
    return "\n".join(told)


@pytest.mark.parametrize("way", ["absolute", "above", "link"])
def test_no_file_outside_of_the_schedules_folder_is_read(way: str, tmp_path: Path) -> None:
    outside = tmp_path / "private.py"
    outside.write_text("password = 1\nanother = 2\nthird = 3\n")
    folder = tmp_path / "schedules"
    named = {"absolute": str(outside), "above": "../private.py", "link": "linked.py"}[way]
    file = placed_at(folder, *(f"{named}:{line}:1" for line in (1, 2, 3)))
    (folder / "linked.py").symlink_to(outside)
    shown = all_that_is_shown(file)
    assert "password" not in shown
    assert "is outside of the schedule's folder, and is not read" in " ".join(shown.split())
    # Nor by a folder that is given; a file that is given is the source.
    done = in_process(*TWILL, "annotate", str(file), "--source", ".", folder=folder)
    assert done.returncode == 2
    assert "leads out of it" in done.stderr
    assert "password = 1" in all_that_is_shown(file, "--source", str(outside))


def test_a_file_in_the_schedules_folder_is_shown(tmp_path: Path) -> None:
    file = placed_at(tmp_path / "schedules", "beside.py:1:1", "./beside.py:2", "beside.py:0:0")
    (file.parent / "beside.py").write_bytes(b"# coding: latin-1\nname = '\xe9'\nthird = 3\n")
    assert "coding: latin-1" in all_that_is_shown(file)


@pytest.mark.parametrize("place", ["my kernel", "", "a.py", "a.py:1:1:x"])
def test_a_place_without_a_line_is_one_line(place: str, tmp_path: Path) -> None:
    file = placed_at(tmp_path, "a.py:1:1", "a.py:2:1", place)
    for words in (("annotate", str(file)), ("explore", str(file), "-o", "-")):
        done = in_process(*TWILL, *words, folder=tmp_path)
        assert done.returncode == 2
        where = "s.json: loop.operations[2].location: a place in a source is file:line:column (got"
        assert where in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_loop_without_places_is_refused() -> None:
    with pytest.raises(InputError, match="no places in a source"):
        annotate(load_schedule("paper_example_by_hand"))


def test_the_command_and_the_page(schedule: twill.Schedule, tmp_path: Path) -> None:
    done = in_process(*TWILL, "annotate", str(FILE), folder=tmp_path)
    assert "attention_forward.py" in done.stdout
    assert "        v = v_desc.load" not in done.stdout  # without what all lines begin with
    assert "    v = v_desc.load([head + start, 0])" in done.stdout
    schedule.save(tmp_path / "s.json")
    text = re.sub("</?span[^>]*>", "", page(sections([tmp_path / "s.json"])))
    assert "<h3>Source</h3>" in text
    assert "    v = v_desc.load([head + start, 0])" in text
