"""The bench: what it measures, what it says of cases that do not end, what it compares."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.commands import in_process
from twill.studies.bench import (
    CASES,
    ENGINES,
    Bench,
    Case,
    Outcome,
    bench,
    growth_cases,
    kernel_cases,
)
from twill.studies.bench.process import peak_bytes
from twill.studies.bench.view import plot_growth

MIB = 1 << 20
TIMES = ("seconds_to_interval", "seconds_to_all_levels", "seconds")


def call(*options: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return in_process("twill", "bench", "solver", *options, folder=folder)


def outcome(name: str = "x", **changes: Any) -> Outcome:
    facts: dict[str, Any] = {
        "name": name,
        "machine": "hopper_h100",
        "engine": "difference",
        "time": "normalized",
        "loop": name,
        "operations": 10,
        "seed": None,
        "limits": {},
        "timeout": 30.0,
        "rules": "paper",
        "status": "found",
    }
    return Outcome(**{**facts, **changes})


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("bench")
    done = call("--case", "paper_example", "--growth", "10", "--seeds", "0", "--engine",
                "difference", "--json", "-o", str(folder / "new"))  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout), folder / "new"


def test_every_outcome_has_its_times_memory_and_proof(
    measured: tuple[dict[str, Any], Path],
) -> None:
    outcomes = measured[0]["outcomes"]
    assert [(o["name"], o["time"], o["interval_units"]) for o in outcomes[:3]] == [
        ("paper_example", "exact", 2),
        ("paper_example", "normalized", 2),
        ("paper_example", "refined", 2),
    ]
    assert [(o["machine"], o["operations"]) for o in outcomes[3:]] == [
        ("hopper_h100", 10),
        ("blackwell_b200", 10),
    ]
    for found in outcomes:
        assert (found["status"], found["valid"]) == ("found", True)
        times = [found[key] for key in TIMES]
        assert times == sorted(times)
        assert times[0] > 0
        assert 20 * MIB < found["peak_bytes"] < 1000 * MIB
        assert set(found["proved"]) >= {"interval", "stages", "groups", "transfers", "length"}


def test_the_folder_holds_the_figures_and_the_plots(measured: tuple[dict[str, Any], Path]) -> None:
    data, folder = measured
    assert json.loads((folder / "bench.json").read_text()) == data
    assert (folder / "growth.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "growth.svg").read_text()


def test_all_but_times_and_memory_is_the_same_again() -> None:
    cases = growth_cases((10,), (1,), machines=("hopper_h100",))
    results = [bench(cases).to_dict()["outcomes"][0] for _ in range(2)]
    for result in results:
        for key in (*TIMES, "peak_bytes"):
            assert result.pop(key)
    assert results[0] == results[1]


def test_the_table_and_the_engines_agree() -> None:
    done = call("--case", "paper_example", "--time", "exact")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines() if "paper_example" in line]
    assert [row[2] for row in rows if row[-1] == "levels"] == [
        engine for engine in ENGINES if engine != "verbatim"
    ]
    assert {row[6] for row in rows} == {"2"}


def test_a_case_that_takes_too_long_gets_no_time() -> None:
    done = call("--case", "fa_bwd_hopper", "--time", "exact", "--engine", "difference",
                "--timeout", "0.1")  # fmt: skip
    assert done.returncode == 0
    assert "> 0.1" in done.stdout
    assert "stopped" in done.stdout
    case = Case("slow", "hopper_h100", "difference", "exact", "fa_bwd_hopper", timeout=0.1)
    stopped = bench([case]).outcomes[0]
    assert (stopped.status, stopped.seconds, stopped.valid) == ("stopped", None, None)
    assert stopped.peak_bytes is None or stopped.peak_bytes > 10 * MIB


def test_a_limit_on_registers_reaches_the_solver() -> None:
    case = Case("small", "hopper_h100", "difference", "exact", "fa_fwd_hopper")
    limited = Case(**{**case.__dict__, "limits": {"registers": 40}})
    refused = bench([limited]).outcomes[0]
    assert refused.status == "refused"
    assert "hopper_h100 has 40 of which 16 are reserved" in refused.message
    assert refused.seconds is None
    assert kernel_cases(["fa_bwd_blackwell_168"])[0].limits == {"registers": 168}


def test_a_case_that_fails_says_why() -> None:
    case = Case("none", "hopper_h100", "difference", "exact", operations=5, seed=0)
    failed = bench([case]).outcomes[0]
    assert (failed.status, failed.message) == ("failed", "operations: 10 to 200 (got 5)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--case", "nothing"), "case: one of paper_example, fa_fwd_hopper, "),
        (("--engine", "nothing"), "engine: one of both, difference, cpsat"),
        (("--growth", "5"), "growth: sizes are 10 to 200 (got 5)"),
        (("--growth", "ten"), "--growth: a whole number (got 'ten')"),
    ],
)
def test_wrong_choices_are_named(options: tuple[str, ...], message: str) -> None:
    done = call(*options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_speedups_compare_the_same_grid_and_say_where_they_are_bounds() -> None:
    verbatim = {"engine": "verbatim"}
    found = Bench(
        (
            outcome("a", seconds=0.5),
            outcome("a", seconds=5.0, **verbatim),
            outcome("a", seconds=0.1, time="exact"),
            outcome("a", seconds=0.2, rules="issue"),
            outcome("b", seconds=0.25),
            outcome("b", status="stopped", **verbatim),
            outcome("c", status="stopped"),
            outcome("c", status="stopped", **verbatim),
            outcome("d", seconds=1.0),
        )
    ).speedups
    assert [(s.name, s.times, s.at_least) for s in found] == [("a", 10, False), ("b", 120, True)]


def test_verbatim_is_compared_under_its_own_rules() -> None:
    cases = kernel_cases(["paper_example"], ["difference", "cpsat", "verbatim"])
    kinds = [(case.time, case.engine, case.rules) for case in cases]
    assert [kind for kind in kinds if kind[0] == "normalized"] == [
        ("normalized", "difference", "issue"),
        ("normalized", "cpsat", "issue"),
        ("normalized", "difference", "paper"),
        ("normalized", "verbatim", "paper"),
    ]
    assert {(e, r) for time, e, r in kinds if time != "normalized"} == {
        ("difference", "issue"), ("cpsat", "issue"),
    }  # fmt: skip


def test_the_speedup_over_verbatim_is_measured() -> None:
    done = call("--case", "paper_example", "--time", "normalized", "--engine", "difference",
                "--engine", "verbatim", "--json")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert {o["interval_units"] for o in data["outcomes"]} == {2}
    assert [(s["name"], s["at_least"]) for s in data["speedups"]] == [("paper_example", False)]


@pytest.mark.slow
@pytest.mark.nightly
def test_the_default_is_a_hundred_times_faster_once_verbatim_takes_ten_seconds() -> None:
    """Both drivers solve every level; verbatim is stopped when the ratio is reached (minutes)."""
    engines, ratio = ("difference", "verbatim"), 0.0
    for name in CASES:
        short = bench(kernel_cases([name], engines, ["normalized"], stop=10))
        if short.outcomes[-1].status != "stopped":
            continue
        ours = next(o for o in short.outcomes if o.rules == "paper")
        assert ours.seconds is not None
        (case,) = kernel_cases([name], ["verbatim"], ["normalized"], stop=101 * ours.seconds)
        ratio = Bench((ours, *bench([case]).outcomes)).speedups[0].times
        break
    assert ratio >= 100


@pytest.mark.parametrize("solved", range(6))
def test_medians_count_what_was_stopped_as_longer(solved: int) -> None:
    seconds = [float(x) for x in np.random.default_rng(solved).uniform(1, 9, solved)]
    stopped = [outcome(seed=i, status="stopped") for i in range(5 - solved)]
    growth = Bench((*stopped, *(outcome(seed=9, seconds=s) for s in seconds))).growth
    median = float(np.median([*seconds, *[np.inf] * (5 - solved)]))
    assert len(growth) == 1
    assert growth[0].seconds == (median if np.isfinite(median) else None)
    assert (growth[0].loops, growth[0].stopped, growth[0].others) == (5, 5 - solved, 0)


def test_plots_are_the_same_again(tmp_path: Path) -> None:
    shown = Bench(
        tuple(
            outcome(seed=0, operations=n, seconds=n / 10 if n < 50 else None, peak_bytes=n * MIB,
                    status="found" if n < 50 else "stopped")
            for n in (10, 20, 50)
        )
    )  # fmt: skip
    files = [plot_growth(shown, tmp_path)[1].read_bytes() for _ in range(2)]
    assert files[0] == files[1]
    assert b"operations" in files[0]


def test_peak_memory_is_that_of_the_process_itself() -> None:
    """Neither what it has given back is forgotten nor what its parent holds counted."""
    held = b"x" * (400 * MIB)
    code = (
        "from twill.studies.bench.process import peak_bytes\n"
        "small = peak_bytes(); x = b'x' * (150 << 20); del x\n"
        "print(small, peak_bytes(), flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        before, after = map(int, process.stdout.readline().split())
        seen = peak_bytes(process.pid)
        process.communicate("\n")
    assert len(held) > 2 * before
    assert 145 * MIB < after - before < 160 * MIB
    assert seen in (None, after)
