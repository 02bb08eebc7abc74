"""What schedules promise against what the SM measures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import twill
from tests.sim.test_known_bugs import BUGS, Bug
from tests.support.commands import SIM, TWILL, in_process
from tests.support.promises import promises
from tests.support.sampled import sampled
from twill.artifacts.proof import Measured
from twill.artifacts.proof import Promise as Promised
from twill.engines.tuning import TUNING
from twill.frontends.schedules import load_schedule
from twill.sim.checks import Checks
from twill.sim.promise import MOST_ITERATIONS


def test_the_running_example_and_a_gemm_keep_their_promise() -> None:
    example, gemm = promises(["paper_example", "gemm_pointers_hopper"])
    assert (example.promised, example.simulated, example.kept) == (2, 2, True)
    assert gemm.proved
    assert gemm.kept
    assert gemm.excess == pytest.approx(0, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "fa_fwd_hopper",
        "fa_bwd_hopper",
        "online_softmax_hopper",
        "linear_attention_hopper",
        "attention_forward_hopper",
        "attention_forward_diagonal_blackwell",
        "block_scaled_gemm_blackwell",
    ],
)
def test_a_packaged_loop_keeps_its_promise(name: str) -> None:
    (found,) = promises([name], timeout=600)
    assert found.promised is not None
    assert found.kept


def test_without_time_there_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = replace(TUNING.budget, last=0.1)  # nor for the loop as written
    monkeypatch.setattr("twill.search.search.TUNING", replace(TUNING, budget=budget))
    (found,) = promises(["attention_backward_hopper"], timeout=0.1)
    assert found.promised is None
    assert found.excess is None
    assert "0.1 s" in found.note


def promising(schedule: twill.Schedule, interval: float, iterations: int = 64) -> twill.Schedule:
    """Return a schedule with a promise."""
    said = Measured(warp_scheduler="round-robin", latency="nominal", interval_cycles=interval)
    promise = Promised(interval_cycles=interval, iterations=iterations, conditions=(said,))
    return schedule.model_copy(update={"promise": promise})


@pytest.mark.parametrize("bug", sampled(BUGS, 4), ids=lambda bug: bug.record)
def test_to_verify_with_a_run_is_to_run_with_every_check(bug: Bug, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    for mistaken in (True, False):
        promising(bug.program(mistaken), 1000.0).save(file)
        valid = in_process(*TWILL, "verify", str(file)).returncode == 0
        ran = in_process(*SIM, "run", str(file))
        verified = in_process(*TWILL, "verify", str(file), "--run")
        assert (ran.returncode == 0) == (not mistaken)
        assert (verified.returncode == 0) == (valid and not mistaken)
        if valid and mistaken:
            assert verified.stderr == ran.stderr != ""


def test_what_is_occupied_and_computed_is_verified_with_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = (*TWILL, "verify", "paper_example_by_hand", "--run")
    done = in_process(*words, "--values", "--json")
    (checks,) = json.loads(done.stdout)["checks"]
    assert done.returncode == 0
    assert checks["numbers"]["wrong"] == []
    assert "values: all" in in_process(*words, "--values").stdout
    for name, value in (("exceeded", ["smem"]), ("right", False)):
        with monkeypatch.context() as patched:
            patched.setattr(Checks, name, value)
            assert in_process(*words).returncode == 1
    done = in_process(*words[:-1], "--values")
    assert (done.returncode, done.stderr) == (2, "twill: --values: only of use with --run\n")


def test_no_run_is_longer_than_what_shows_a_promise(tmp_path: Path) -> None:
    made = promising(load_schedule("paper_example_by_hand"), 2.0, 10**12)
    made.save(tmp_path / "s.json")
    for command in ("verify", "explain"):
        options = ["--run"] if command == "verify" else ["--effort", "quick"]
        done = in_process(*TWILL, command, "s.json", *options, folder=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        if command == "verify":
            told = " ".join(done.stdout.split())
            assert f"{MOST_ITERATIONS} iterations of the {10**12} that are promised" in told


def test_a_promise_has_few_conditions() -> None:
    said = Measured(warp_scheduler="oldest", latency="nominal", interval_cycles=2.0)
    with pytest.raises(ValueError, match="at most 64"):
        Promised(interval_cycles=2.0, iterations=64, conditions=(said,) * 65)
