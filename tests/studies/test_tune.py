"""Tuning: candidates, bounds that leave none out that could win, ranking, going on after a kill."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.commands import TWILL, in_process
from tests.support.sampled import sampled
from tests.validation.make_ttgir import PACKAGED, Packaged
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import Tuned, TunedRow
from twill.base.errors import InputError, RefusedError
from twill.bounds.programs import program_bound
from twill.frontends import load_loop
from twill.frontends.schedules import load_schedule
from twill.sim.analysis.problems import attention, product, product_tile, tile_rows
from twill.sim.analysis.whole_kernel import WholeKernel, least_microseconds
from twill.sim.execute import run
from twill.studies.tune import NAME, TABLE, candidates, evaluate, tune
from twill.studies.tune.candidates import (
    Candidate,
    Choices,
    default_tiles,
    parse_tile,
    tile_of,
    with_tile,
)
from twill.studies.tune.evaluate import Question

HOPPER = Machine.named("hopper_h100")
ROOT = Path(__file__).parents[2]
FEW = Choices(tiles=[(64, 64, 64), (64, 128, 64), (128, 128, 64), (128, 192, 64)], subtiles=(1,))
EVERYTHING = 1000.0
SMALL = (8448, 128, 1024)
"""Of 132 x 64 rows: one round of 64 x 128 tiles, and one of 128 x 256 that are mostly beyond."""


def question(*sizes: tuple[int, ...], within: float = 0.01) -> Question:
    return Question("gemm_hopper", HOPPER, sizes=sizes, within=within)


def tuned(asked: Question, choices: Choices = FEW, folder: Path | None = None) -> Tuned:
    return tune(asked, candidates(asked, choices), folder)[0]


def named(row: TunedRow) -> tuple[str, object]:
    return row.tile, row.values["sub-tiles"]


@pytest.fixture(autouse=True)
def _solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are scheduled once in all tests, which is most of the time."""
    monkeypatch.setattr(evaluate, "_scheduled", _scheduled)


def _scheduled(asked: Question, candidate: Candidate) -> Schedule:
    key = (candidate.loop.to_json() if candidate.loop else "", *candidate.limits.items())
    if key not in KNOWN:
        try:
            KNOWN[key] = SCHEDULED(asked, candidate)
        except RefusedError as error:
            KNOWN[key] = error
    found = KNOWN[key]
    if isinstance(found, RefusedError):
        raise found
    return found


SCHEDULED = evaluate._scheduled
KNOWN: dict[object, Schedule | RefusedError] = {}


# -- problems and tiles -----------------------------------------------------------------------


GEMMS = [p for p in PACKAGED if p.kernel.startswith("gemm") and not p.gallery]


@pytest.mark.parametrize("made", GEMMS, ids=str)
def test_tiles_of_products_are_those_of_the_kernels(made: Packaged) -> None:
    kernel, constants = made.kernel, made.constants
    loop = load_loop(str(ROOT / "traces" / made.file))
    rows, columns = constants["M"], constants["N"]
    rows *= 2 if kernel == "gemm_two_tiles" else 1
    columns *= 2 if kernel == "gemm_geglu" else 1  # two products of one factor, side by side
    assert product_tile(loop) == (rows, columns, constants["K"])


def test_tiles_of_a_product_cover_it() -> None:
    loop = load_loop("gemm_hopper")
    for rows, columns, depth in itertools.product((1, 128, 129, 4096), (255, 256, 257), (64, 100)):
        found = product(loop, rows, columns, depth)
        corners = [(i, j) for i in range(0, rows, 128) for j in range(0, columns, 256)]
        assert found.tiles == len(corners)
        assert found.iterations == len(range(0, depth, 64))
        assert found.flop == 2 * rows * columns * depth


def test_problems_that_a_loop_does_not_have() -> None:
    with pytest.raises(InputError, match="is no matrix product; attention has --sequence"):
        product(load_loop("fa_fwd_hopper"), 64, 64, 64)
    with pytest.raises(InputError, match="depth: a whole number from 1"):
        product(load_loop("gemm_hopper"), 64, 64, 0)


@pytest.mark.parametrize(
    "name", ["gemm_hopper", "gemm_two_tiles_hopper", "attention_forward_hopper"]
)
def test_a_loop_gets_the_tile_that_is_asked_for(name: str) -> None:
    loop = load_loop(name)
    assert with_tile(loop, tile_of(loop)) == loop
    for tile in default_tiles(loop):
        assert tile_of(with_tile(loop, tile)) == tile
    with pytest.raises(InputError, match="extents"):
        with_tile(loop, (64,))


@pytest.mark.parametrize("text", ["", "x", "128x", "128*64", "-1x4", "1.5x2"])
def test_what_is_no_tile(text: str) -> None:
    with pytest.raises(InputError, match="--tile: whole numbers with x between"):
        parse_tile(text, "--tile")


# -- bounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize(
    "name", sampled(["fa3_forward_128x128", "fa3_forward_128x176", "fa4_forward"], 3)
)
def test_no_whole_kernel_is_below_its_bound(name: str, persistent: bool) -> None:
    schedule = load_schedule(name)
    loop, machine = schedule.loop, schedule.machine
    interval = program_bound(loop, machine).cycles
    whole = WholeKernel(schedule, persistent=persistent)
    for sequence in (128, 512, 1000, 8192):
        problem = attention(loop, sequence, 16384, 16)
        least = least_microseconds(loop, machine, problem, interval, persistent=persistent)
        assert 0.9 * least < least <= whole.time(problem).microseconds
        assert problem.tiles == math.ceil(sequence / tile_rows(loop)) * (16384 // sequence) * 16


@pytest.mark.parametrize("size", [(4096, 4096, 4096), pytest.param(SMALL, marks=pytest.mark.slow)])
def test_bounds_never_leave_out_the_winner(size: tuple[int, ...]) -> None:
    every = tuned(question(size, within=EVERYTHING))
    assert all(row.status in ("ran", "refused") for row in every.rows)
    ran = [row for row in every.rows if row.rank]
    assert all((row.over_bound or 0) >= 0 for row in ran)
    best = min(ran, key=lambda row: row.microseconds or math.inf)
    for within in (0.0, 0.05):
        few = tuned(question(size, within=within))
        assert few.rows[0] == every.rows[0] == best
        left_out = {named(row) for row in few.rows if row.status == "bounded"}
        assert left_out
        for row in ran:
            assert row.microseconds is not None
            assert best.microseconds is not None
            assert named(row) not in left_out or row.microseconds > best.microseconds * (1 + within)


# -- ranking ----------------------------------------------------------------------------------


def test_rounds_of_tiles_count_and_not_the_interval_alone() -> None:
    """The tile of least cycles per multiplication is mostly idle where few tiles are to be done."""
    asked = question(SMALL, within=EVERYTHING)
    found = tuned(asked, Choices(tiles=[(64, 128, 64), (128, 256, 64)]))
    first, *others = [row for row in found.rows if row.rank]

    def per_product(row: TunedRow) -> float:
        rows, columns, depth = map(int, row.tile.split("x"))
        assert row.interval_cycles is not None
        return row.interval_cycles / (rows * columns * depth)

    by_interval = min([first, *others], key=per_product)
    assert first.tile == "64x128x64"
    assert by_interval.tile == "128x256x64"
    assert first.times[0].tiles_per_multiprocessor == by_interval.times[0].tiles_per_multiprocessor


def test_several_problems_are_added_up() -> None:
    asked = question(SMALL, (4096, 4096, 512), within=EVERYTHING)
    for row in tuned(asked).rows:
        if row.rank:
            assert row.microseconds == sum(time.microseconds for time in row.times)
            assert [list(time.sizes.values()) for time in row.times] == [*map(list, asked.sizes)]


def test_what_is_refused_is_a_row_with_its_reason() -> None:
    choices = Choices(tiles=[(64, 64, 64), (100, 64, 64)], subtiles=(1, 3))
    found = {named(row): row for row in tuned(question(within=EVERYTHING), choices).rows}
    assert len(found) == 4
    assert found["64x64x64", 1].status == "ran"
    assert "not 3 equal parts" in found["64x64x64", 3].reason
    assert "multiple of 64" in found["100x64x64", 1].reason


def test_registers_are_a_reason_too() -> None:
    choices = Choices(tiles=[(128, 256, 64)], subtiles=(1,))
    (row,) = tuned(question(), choices).rows
    assert row.status == "refused"
    assert "registers" in row.reason
    assert row.bound_microseconds is not None


def test_limits_of_scheduling_are_candidates() -> None:
    choices = Choices(tiles=[(64, 128, 64)], given={"stages": "1:2"})
    found = tuned(question(within=EVERYTHING), choices)
    assert [row.values["stages"] for row in found.rows] == [1, 2]
    with pytest.raises(InputError, match="no parameter named 'BLOCK'"):
        tuned(question(), Choices(given={"BLOCK": "64"}))


# -- the same answer whoever gives it ---------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    files = [folder / NAME, folder / TABLE, *sorted((folder / "schedules").iterdir())]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_two_jobs_and_a_kill_change_nothing(tmp_path: Path) -> None:
    words = ["tune", "gemm_hopper", "-m", "hopper_h100", "--size", "4096x4096x4096"]
    words += ["--tile", "64x64x64,64x128x64,128x128x64,128x192x64", "--subtiles=1"]
    words += ["--within=9"]
    alone = in_process(*TWILL, *words, "-o", str(tmp_path / "one"))
    assert alone.returncode == 0, alone.stderr
    killed = tmp_path / "killed"
    command = [sys.executable, "-m", "twill", *words, "-j", "2", "-o", str(killed)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    journal, until = killed / "journal.jsonl", time.monotonic() + 60
    while time.monotonic() < until:
        if journal.exists() and journal.read_bytes().count(b"\n") >= 2:
            break
        time.sleep(0.01)
    process.kill()
    process.communicate()
    before = journal.read_bytes().splitlines()
    assert "waiting" in (killed / TABLE).read_text()
    again = in_process(*TWILL, *words, "-o", str(killed))
    assert again.returncode == 0, again.stderr
    assert journal.read_bytes().splitlines()[: len(before)] == before
    assert again.stdout.replace(str(killed), str(tmp_path / "one")) == alone.stdout
    ours, theirs = contents(killed), contents(tmp_path / "one")
    assert ours[NAME] == theirs[NAME]
    assert ours[TABLE] == theirs[TABLE]
    # One that was begun before it was known to be too slow may be there as well.
    assert theirs.items() <= ours.items()


def test_what_more_workers_solve_is_not_told(tmp_path: Path) -> None:
    asked = question((4096, 4096, 4096), within=0.0)
    every = candidates(asked, FEW)
    one, _ = tune(asked, every)
    with ThreadPoolExecutor(2) as executor:
        two, schedules = tune(asked, every, tmp_path, executor, at_a_time=8)
    rows = [row.model_copy(update={"file": None}) for row in two.rows]
    assert tuple(rows) == one.rows
    assert len(schedules) > len([row for row in one.rows if row.rank])


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    choices = Choices(tiles=[(64, 64, 64)])
    tuned(question(SMALL), choices, tmp_path)
    before = contents(tmp_path)
    with pytest.raises(InputError, match="name another folder"):
        tuned(question((4096, 4096, 4096)), choices, tmp_path)
    assert contents(tmp_path) == before
    (schedule,) = (tmp_path / "schedules").iterdir()
    schedule.write_text(schedule.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.raises(InputError, match="is not the schedule that ran"):
        tuned(question(SMALL), choices, tmp_path)


# -- the command ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--tile", "128"), "tiles of 3 extents, 128x256x64 as it is"),
        (("--size", "64x64"), "rows, columns and depth"),
        (("--size", "64x64x64", "--sequence", "64"), "either --size or --sequence"),
        (("--jobs", "2", "--cluster", "x"), "either --jobs or --cluster"),
    ],
)
def test_wrong_questions_are_one_line(words: tuple[str, ...], error: str) -> None:
    done = in_process(*TWILL, "tune", "gemm_hopper", "-m", "hopper_h100", *words)
    assert done.returncode == 2
    assert error in done.stderr


def test_a_kernel_is_named_behind_its_file() -> None:
    done = in_process(*TWILL, "tune", "kernel.py", "-m", "hopper_h100")
    assert (done.returncode, "file.py:kernel" in done.stderr) == (2, True)


@pytest.mark.triton
def test_a_kernel_is_tuned_by_its_constants_and_emitted(tmp_path: Path) -> None:
    kernel = f"{ROOT}/traces/kernels/gemm.py:gemm_two_tiles"
    types = {"a_desc": "[M,K]", "b_desc": "[K,N]", "c_desc": "[M,N]"}
    words = [f"--set={name}=tensordesc<fp16{shape}>" for name, shape in types.items()]
    words += ["--set=depth=i32", "--set=M=64", "--set=K=64", "--subtiles=1", "--within=1"]
    file = tmp_path / "kernel.py"
    done = in_process(
        *(*TWILL, "tune", kernel, "-m", "hopper_h100", *words, "--json", "--emit", str(file))
    )
    assert done.returncode == 0, done.stderr
    found = Tuned.model_validate(json.loads(done.stdout), strict=False)
    # Of the constant that has no value three are tried.
    assert [row.values["N"] for row in found.rows] == ["256", "128", "64"]
    assert [row.tile for row in found.rows] == ["128x256x64", "128x128x64", "128x64x64"]
    assert "rank 1" in done.stderr
    assert in_process(*TWILL, "run-kernel", str(file), "--emulate", "--no-victims").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "experts"),
    [("attention_forward_hopper", {"128x128", "128x176"}), ("gemm_hopper", {"128x256x64"})],
)
def test_the_tiles_of_experts_are_simulated(loop: str, experts: set[str]) -> None:
    asked = Question(loop, HOPPER)
    found, schedules = tune(asked, candidates(asked, Choices()))
    ran = {row.tile: row for row in reversed(found.rows) if row.rank}
    assert experts <= ran.keys()
    best, *others = found.rows
    assert best.microseconds is not None
    assert all((ran[tile].microseconds or math.inf) < 1.02 * best.microseconds for tile in experts)
    again = {}
    for row in (best, *others[:4], *(ran[tile] for tile in experts)):
        schedule = schedules[row.point]
        problem = asked.problems(schedule.loop)[0]
        steady = run(schedule, iterations=200).measured_interval_cycles
        again[row.point] = WholeKernel(schedule, interval=steady).time(problem).microseconds
    assert min(again, key=lambda point: again[point]) == best.point


@pytest.mark.parametrize("name", [NAME, TABLE, "journal.jsonl", "schedules/000_64x64x64.json"])
def test_links_are_not_followed_where_results_are_written(name: str, tmp_path: Path) -> None:
    mine, place = tmp_path / "mine", tmp_path / "results" / name
    mine.write_text("before")
    place.parent.mkdir(parents=True)
    place.symlink_to(mine)
    few = Choices(tiles=[(64, 64, 64)], subtiles=(1,))
    with pytest.raises(InputError, match=f"results/{name}: not an ordinary file"):
        tuned(question(SMALL), few, tmp_path / "results")
    assert mine.read_text() == "before"


def test_only_what_can_be_a_kernel_is_ranked_where_one_is_wanted() -> None:
    """A loop in other tiles has lost its kernel, and is refused before anybody schedules it."""
    asked = Question("gemm_hopper", HOPPER, sizes=((1024, 1024, 1024),), emits=True)
    found = tuned(asked, Choices(tiles=[(64, 64, 64)], subtiles=(1,)))
    assert [row.status for row in found.rows] == ["refused"]
    assert "only loops that are read from TTGIR know the kernel" in found.rows[0].reason
