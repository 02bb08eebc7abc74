"""Every change of a line of synchronisation is caught, but for those that another line implies."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

import twill
from tests.emit.mutants import Judge, arithmetic_mutants, judged, mutants
from tests.emit.test_emit import GALLERY, written
from tests.support.static import static_schedule
from twill.base.errors import RefusedError
from twill.emit import emitted
from twill.frontends import load_loop
from twill.search.request import Options

IMPLIED = {
    "gemm_blackwell": [
        # One product hands back both slots, and the load waits for the other one first.
        ("wait left out", "mbarrier.wait(a_empty"),
    ],
    "gemm_two_tiles_hopper": [
        # The load waits for a1, then b, then a0: one of its waits implies what the next would tell.
        ("wait left out", "mbarrier.wait(a0_empty"),
        ("arrive before wait", "mbarrier.arrive(b_empty"),
        ("arrive before wait", "mbarrier.arrive(a0_empty"),
        # Both slots of b are handed back a load later, which comes before the one that needs it.
        ("slot shifted", "mbarrier.arrive(b_empty"),
        # compute0 waits for b before it lets compute1 issue its product.
        ("wait left out", "mbarrier.wait(b_full"),
        # Turns on the tensor core.
        ("arrive before access", "mbarrier.arrive(c1_issued"),
        ("arrive before access", "mbarrier.arrive(c0_issued"),
    ],
}


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", IMPLIED)
def test_what_survives_is_implied_by_another_line(name: str, tmp_path: Path) -> None:
    judge = Judge(written(name, tmp_path), tmp_path)
    survived = [m for m in mutants(judge.text) if judge.judge(m).run is None]
    found = sorted((mutant.kind, mutant.was.partition(".index(")[0]) for mutant in survived)
    assert found == sorted(IMPLIED[name])


@pytest.mark.slow
@pytest.mark.sample
def test_changes_of_the_arithmetic_are_noticed(tmp_path: Path) -> None:
    file = written("gemm_two_tiles_hopper", tmp_path)
    found = judged([file], arithmetic=True, limit=5, seed=1, folder=tmp_path)
    assert len(found) == 5
    assert [one.mutant for _, one in found if one.run is None] == []


@pytest.mark.slow
@pytest.mark.sample
def test_a_kernel_without_its_window_is_noticed(tmp_path: Path) -> None:
    judge = Judge(written("window_sinks.sm90", tmp_path), tmp_path, arithmetic=True)
    every = list(arithmetic_mutants(judge.text))
    mask = next(m for m in every if m.was == "cols[None, :] + window -> (cols[None, :])")
    bound = next(m for m in every if m.was == "row - window -> (row)")
    assert [m for m in (mask, bound) if judge.judge(m).run is None] == []


@pytest.mark.slow
@pytest.mark.nightly
def test_of_200_changes_of_the_gallerys_arithmetic_19_of_20_are_noticed(tmp_path: Path) -> None:
    """The others are of the first round, when sums are zero, or of a running maximum."""
    files = []
    for file in sorted(GALLERY.glob("*.mlir")):
        machine = "blackwell_b200" if "sm100" in file.name else "hopper_h100"
        with suppress(RefusedError):  # what cannot be emitted has no mutants
            options = Options(effort=0.2)
            loop, target = load_loop(str(file)), twill.Machine.named(machine)
            text = emitted(static_schedule(loop, target, options=options))
            files.append(tmp_path / f"{file.stem}.py")
            files[-1].write_text(text)
    found = judged(files, arithmetic=True, limit=200, seed=0, folder=tmp_path)
    survived = [(name, one.mutant) for name, one in found if one.run is None]
    assert len(found) == 200
    assert len(survived) <= 10, survived


def test_no_mutant_is_the_kernel_and_no_two_are_the_same(tmp_path: Path) -> None:
    text = written("gemm_persistent_hopper", tmp_path).read_text()
    every = list(mutants(text))
    assert len({mutant.text for mutant in every} | {text}) == len(every) + 1
    assert {"product wait left out", "one product more in flight"} < {m.kind for m in every}
