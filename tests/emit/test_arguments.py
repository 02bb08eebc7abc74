"""What emitted kernels are tested with: trip counts, masks, windows, tables, grids."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from tests.emit.test_emit import ARGUMENTS, GALLERY, HOPPER, UNPACKAGED, written
from tests.support.commands import in_process
from tests.support.pages import ROOT
from tests.support.sampled import sampled
from twill.base.errors import InputError
from twill.emit.host import choice as choices
from twill.emit.host.candidates import Entries, Size
from twill.emit.host.choice import Choice, Found
from twill.emit.source import Source
from twill.frontends import load_loop
from twill.frontends.triton_dump import dump_kernel
from twill.frontends.ttgir.extraction import extract
from twill.sim.emulator import emulate, load, stand_ins


@cache
def chosen(name: str, least: int = 1) -> Choice:
    found = (folder / f"{name}.mlir" for folder in (ARGUMENTS, UNPACKAGED, GALLERY))
    return Choice(Source(load_loop(str(next(file for file in found if file.exists())))), least)


@pytest.mark.parametrize(
    "name",
    sampled(
        (
            *("cdiv_gemm.sm90", "attention_capped_window.sm90", "gemm_grouped.sm90"),
            *("decode_splitkv.sm90", "splitk_bmm.sm90", "window_sinks.sm90"),
            *("paged_decode.sm90", "attention_causal.sm100", "attention_in_a_window.sm90"),
            "attention_grouped.sm90",
        ),
        5,
    ),
)
def test_every_trip_count_is_run_and_all_sides_are_seen(name: str) -> None:
    choice = chosen(name)
    assert choice.found.trips == (1, 2, 3, 8, 20)
    assert choice.found.faults == 0
    assert choice.missing(choice.found) == []


def test_what_never_happens_is_in_the_order_of_the_kernel() -> None:
    choice = chosen("conv_igemm.sm90")
    every = list(choice.source.function.walk())
    found = choice.missing(Found(outcomes=frozenset((s, "nothing") for s in every)))
    assert len(found) > 10
    assert [every.index(s) for s, _ in found] == sorted(every.index(s) for s, _ in found)


def test_a_trip_count_that_cannot_be_had_is_the_next_one() -> None:
    choice = chosen("conv_igemm.sm90")
    assert choice.found.trips == (9, 9, 9, 9, 27)
    assert choice.arguments.numbers["channels"] == Size(64, 9)


def test_lengths_reach_several_tiles_and_leave_no_program_without_an_iteration() -> None:
    choice = chosen("decode_splitkv.sm90")
    (entries,) = choice.arguments.tables.values()
    assert entries.kind == "lengths"
    runs = choice.runs(choice.arguments, 3, choice.candidates.slice)
    assert 3 * 64 < entries(1, 3) < entries(0, 3)
    assert all(run.trips[0] > 0 for run in runs)


@pytest.mark.triton
def test_programs_run_that_leave_by_a_number_in_memory_and_write_listed_rows() -> None:
    kernel = f"{ROOT / 'tests/data/kernels/called.py'}:listed"
    settings = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16") | {"depth": "i32:16", "N": "64"}
    settings |= dict.fromkeys(("rows_ptr", "count_ptr"), "*i32")
    found = Choice(Source(extract(dump_kernel(kernel, settings, 90))), 1).found
    assert (found.trips, found.faults) == ((1, 2, 3, 8, 20), 0)


def test_a_window_of_scores_is_narrower_than_the_rows() -> None:
    numbers = chosen("attention_in_a_window.sm90").arguments.numbers
    assert numbers["window"](3) < numbers["sequence"](3)
    assert numbers["group"](3) == 2


@pytest.mark.parametrize(
    ("size", "text", "numbers"),
    [
        (Size(64), "64 * iterations", (64, 192)),
        (Size(64, 9), "64 * -(-iterations // 9)", (64, 64)),
        (Size(64, more=-80, least=16), "max(64 * iterations - 80, 16)", (16, 112)),
        (Size(1, most=2), "min(iterations, 2)", (1, 2)),
        (
            Size(64, more=-80, even=16),
            "64 * iterations - 80 + 16 * (iterations % 2 == 0)",
            (-16, 112),
        ),
        (Size(1, later=2), "iterations + 2 * (iterations > 1)", (1, 5)),
        (Size(more=512), "512", (512, 512)),
    ],
)
def test_the_text_of_a_size_is_its_number(size: Size, text: str, numbers: tuple[int, int]) -> None:
    assert size.text == text
    for iterations, number in zip((1, 3), numbers, strict=True):
        assert size(iterations) == number
        assert eval(text, {}, {"iterations": iterations}) == number  # noqa: S307 - of our own text


@pytest.mark.parametrize("kind", ["tiles", "rows", "spread", "lengths", "begins"])
def test_the_text_of_a_table_is_what_it_holds(kind: str) -> None:
    entries = Entries(kind, Size(64, more=-16), 32)
    for place in range(9):
        known = {"iterations": 3, "place": place}
        assert eval(entries.text, {}, known) == entries(place, 3)  # noqa: S307 - of our own text


# -- in the file -----------------------------------------------------------------------------------


def test_arguments_with_which_the_loop_never_runs_prove_nothing(tmp_path: Path) -> None:
    file = written("gemm_two_tiles_hopper", tmp_path)
    with pytest.raises(InputError, match="the loop runs in no program"):
        emulate(file, iterations=[2], victims=False, capability=HOPPER, given={"depth": 0})


def test_numbers_and_the_grid_are_ones_own(tmp_path: Path) -> None:
    file = written("gemm_two_tiles_hopper", tmp_path)
    with stand_ins(capability=HOPPER):
        arguments, grid = load(file).make_arguments(2, depth=192, grid=(1, 1, 1))
    assert arguments["a_desc"].shape == (128, 192)
    assert grid == (1, 1, 1)
    with pytest.raises(InputError, match="the kernel has no number dept"):
        emulate(file, iterations=[2], given={"dept": 192})


def test_run_kernel_takes_numbers_and_a_file(tmp_path: Path) -> None:
    file, mine = written("gemm_two_tiles_hopper", tmp_path), tmp_path / "mine.py"
    mine.write_text(
        "def make_arguments(iterations, seed=0, device='cuda'):\n    raise KeyError(7)\n"
    )
    options = ["twill", "run-kernel", str(file), "--emulate", "--no-victims"]
    ran = in_process(*options, "--set", "depth=192", "--set", "grid=1,1,1", "--json")
    assert [run["passed"] for run in json.loads(ran.stdout)["runs"]] == [True]
    assert "KeyError: 7" in in_process(*options, "--arguments", str(mine)).stderr
    for setting in ("depth", "grid=2", "depth=x"):
        refused = in_process(*options, "--set", setting)
        assert refused.returncode == 2
        assert "NAME=NUMBER, or grid=2,4,1" in refused.stderr


@pytest.mark.slow
def test_a_kernel_without_its_steady_loop_is_wrong(tmp_path: Path) -> None:
    text = written("cdiv_gemm.sm90", tmp_path).read_text()
    broken = tmp_path / "broken.py"
    broken.write_text(text.replace("in tl.range(iterations)", "in tl.range(1)"))
    assert broken.read_text() != text
    assert not emulate(broken, iterations=[2, 3], victims=False, capability=HOPPER).passed


def test_arguments_are_looked_for_once_for_all_programs_of_a_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choices, "_FOUND", {})
    loops = [load_loop(f"gemm_{name}_hopper") for name in ("pointers", "two_tiles")]
    found = Choice(Source(loops[0]), 1).arguments

    def searched(_: object) -> None:
        raise AssertionError("looked for again")

    monkeypatch.setattr(Choice, "_searched", searched)
    assert Choice(Source(loops[0]), 1).arguments == found
    for loop, least in ((loops[0], 2), (loops[1], 1)):
        with pytest.raises(AssertionError, match="looked for again"):
            _ = Choice(Source(loop), least).arguments
