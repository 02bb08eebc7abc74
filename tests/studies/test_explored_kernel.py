"""The page of a kernel file: bars are what its machine code did, and lead to source lines."""

from __future__ import annotations

import itertools
import re
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.commands import in_process
from twill.base.errors import InputError
from twill.compiled.cubin import Cubin
from twill.sim.machine_code.trace import Recording, recorded
from twill.studies.explore.machine_code import SHORT, SHOWN, kernel_section
from twill.studies.explore.page import Section, page
from twill.studies.explore.pictures import WAITING, Bar, Picture
from twill.studies.judged import instruction_costs, kernel_of, machine_of

FOLDER = Path(__file__).parents[1] / "data" / "machine_code"
INTERVAL = 512


def compiled(_file: Path, _architecture: int) -> Cubin:
    """Return the kernel that was compiled before."""
    return Cubin("kernel", 90, 8, 131340, 0, "", (FOLDER / "gemm_grouped.sass").read_text())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernel file, by the name that it had when it was compiled."""
    place = tmp_path_factory.mktemp("kernel") / "gemm_grouped__quick0.py"
    return Path(shutil.copy(FOLDER / "gemm_grouped.py", place))


@pytest.fixture(scope="module")
def section(file: Path) -> Section:
    return kernel_section(file, compiler=compiled)


@pytest.fixture(scope="module")
def execution(file: Path) -> Recording:
    kernel = kernel_of(compiled(file, 90), file.read_text())
    return recorded(kernel, instruction_costs(machine_of(90)))


def timeline(section: Section) -> dict[str, list[Bar]]:
    """Return the bars of each lane, in time."""
    picture = section.panels[0].shown
    assert isinstance(picture, Picture)
    assert picture.length == pytest.approx(SHOWN * INTERVAL)
    return {
        lane.name: sorted((b for b in picture.bars if b.top == lane.top), key=lambda b: b.begin)
        for lane in picture.lanes
    }


def test_a_lane_has_what_its_group_did(section: Section, execution: Recording) -> None:
    lanes = timeline(section)
    groups = ["A: compute0 (warp 0)", "B: gemm_grouped_kernel (warp 4)", "C: load (warp 6)"]
    assert list(lanes) == [*groups, "D: tensor core"] == list(section.legend)
    begin, end = execution.end / 2, execution.end / 2 + SHOWN * INTERVAL
    part = execution.within(begin, end)
    assert part.issued
    for (warp, name), bars in zip(part.groups.items(), list(lanes.values())[:-1], strict=True):
        issued = [one for one in part.issued if one[0] == warp]
        waited = [one[5] for one in part.waited if one[0] == warp]
        counts = [re.search(r"of (\d+) instructions?:", b.title) for b in bars]
        assert sum(int(found[1]) for found in counts if found) == len(issued), name
        grey = sum(b.end - b.begin for b in bars if b.look == WAITING)
        assert grey == pytest.approx(sum(one for one in waited if one >= SHORT))
        assert all(a.end <= b.begin + SHORT for a, b in itertools.pairwise(bars)), name


def test_products_are_all_that_the_tensor_core_does(section: Section) -> None:
    *_, products = timeline(section).values()
    assert sum(b.end - b.begin for b in products) == pytest.approx(SHOWN * INTERVAL, rel=0.01)


def test_lines_have_their_instructions_and_waits(
    section: Section, execution: Recording, file: Path
) -> None:
    part = execution.within(execution.end / 2, execution.end / 2 + SHOWN * INTERVAL)
    source = file.read_text().splitlines()
    waited: dict[str, float] = defaultdict(float)
    for _, index, *_, cycles in part.waited:
        waited[f"L{part.steps[index].instruction.line[1]}"] += cycles / SHOWN
    rows = section.panels[1].shown.rows
    assert sum(row[2] or 0 for row in rows) == pytest.approx(len(part.issued) / SHOWN)
    assert {row[0]: row[3] for row in rows if row[3]} == pytest.approx(waited)
    assert all(row[1] == source[int(row[0][1:]) - 1] for row in rows)
    assert any("warpgroup_mma" in row[1] for row in rows if row[2])


def test_waits_lead_to_what_they_wait_for(section: Section) -> None:
    bars = [bar for lane in timeline(section).values() for bar in lane]
    assert {line for bar in bars for line in bar.operations} <= set(section.operations)
    answered = [re.match(r"(L\d+) waits for (\S+) of (L\d+):", b.title) for b in bars]
    causes = {(found[2], found[3]) for found in answered if found}
    assert ("UTMALDG.2D", "L58") in causes
    for bar, found in zip(bars, answered, strict=True):
        if found:
            assert bar.operations == tuple(dict.fromkeys((found[1], found[3])))


def test_the_page_says_what_is_predicted(section: Section) -> None:
    text = page([section])
    assert "512 cycles an iteration" in text
    assert "off by" in text
    assert "gemm_grouped__quick0.py, machine code" in text


def test_two_parts_of_an_execution_are_the_whole(execution: Recording) -> None:
    cut = execution.end / 2
    parts = execution.within(0, cut), execution.within(cut, execution.end)
    assert [*parts[0].issued, *parts[1].issued] == execution.issued
    waited = (sum(one[5] for part in parts for one in part.waited), len(parts[0].waited))
    assert waited[0] == pytest.approx(sum(one[5] for one in execution.waited))
    assert len(parts[1].waited) + waited[1] <= len(execution.waited) + len(execution.groups)
    busy = sum(end - begin for part in parts for begin, end in part.products)
    assert busy == pytest.approx(sum(end - begin for begin, end in execution.products))
    assert len(parts[0].groups) > len(parts[1].groups) == 3  # those at work


def test_a_kernel_that_is_not_executed_says_why(file: Path) -> None:
    def broken(place: Path, architecture: int) -> Cubin:
        cubin = compiled(place, architecture)
        return Cubin("kernel", 90, 8, 0, 0, "", cubin.listing.replace("BAR.SYNC", "UNKNOWN.SYNC"))

    with pytest.raises(InputError, match=r"not executed: .*UNKNOWN"):
        kernel_section(file, compiler=broken)


def test_a_file_that_is_missing_ends_in_one_line(tmp_path: Path) -> None:
    done = in_process("twill", "explore", str(tmp_path / "none.py"), "-o", str(tmp_path / "x.html"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "none.py" in done.stderr
