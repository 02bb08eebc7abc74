"""The bench: what it measures, what it says of cases that do not end, what it compares."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict
from typing import Any

import pytest

from tests.support.commands import in_process
from tests.validation.apart import Case, peak_bytes
from tests.validation.bench import CASES, ENGINES, Bench, Outcome, bench, kernel_cases

MIB = 1 << 20
TIMES = ("seconds_to_interval", "seconds_to_all_levels", "seconds")


def call(*options: str) -> subprocess.CompletedProcess[str]:
    return in_process("python", "-m", "tests.validation.bench", *options)


def outcome(name: str = "x", **changes: Any) -> Outcome:
    facts: dict[str, Any] = {
        "name": name,
        "machine": "hopper_h100",
        "engine": "difference",
        "time": "normalized",
        "loop": name,
        "operations": 10,
        "limits": {},
        "timeout": 30.0,
        "rules": "paper",
        "status": "found",
    }
    return Outcome(**{**facts, **changes})


def test_every_outcome_has_its_times_memory_and_proof() -> None:
    cases = kernel_cases(["paper_example"], ["difference"])
    outcomes = bench(cases).outcomes
    assert [(o.name, o.time, o.interval_units) for o in outcomes] == [
        ("paper_example", "exact", 2),
        ("paper_example", "normalized", 2),
    ]
    for found in outcomes:
        assert (found.status, found.valid, found.operations) == ("found", True, 3)
        times = [getattr(found, key) for key in TIMES]
        assert times == sorted(times)
        assert times[0] > 0
        assert found.peak_bytes is not None
        assert 20 * MIB < found.peak_bytes < 1000 * MIB
        assert set(found.proved) >= {"interval", "stages", "groups", "transfers", "length"}


@pytest.mark.slow
@pytest.mark.nightly
def test_all_but_times_and_memory_is_the_same_again() -> None:
    cases = kernel_cases(["paper_example"], ["difference"], ["exact"])
    results = [asdict(bench(cases).outcomes[0]) for _ in range(2)]
    for result in results:
        for key in (*TIMES, "peak_bytes"):
            assert result.pop(key)
    assert results[0] == results[1]


@pytest.mark.slow
@pytest.mark.nightly
def test_the_table_and_the_engines_agree() -> None:
    done = call("--case", "paper_example", "--time", "exact")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines() if "paper_example" in line]
    assert [row[2] for row in rows if row[-1] == "levels"] == [
        engine for engine in ENGINES if engine != "verbatim"
    ]
    assert {row[6] for row in rows} == {"2"}


@pytest.mark.slow
@pytest.mark.nightly
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


@pytest.mark.slow
@pytest.mark.nightly
def test_a_limit_on_registers_reaches_the_solver() -> None:
    case = Case("small", "hopper_h100", "difference", "exact", "fa_fwd_hopper")
    limited = Case(**{**case.__dict__, "limits": {"registers": 40}})
    refused = bench([limited]).outcomes[0]
    assert refused.status == "refused"
    assert "hopper_h100 has 40 of which 16 are reserved" in refused.message
    assert refused.seconds is None
    assert kernel_cases(["fa_bwd_blackwell_168"])[0].limits == {"registers": 168}


def test_a_case_that_fails_says_why() -> None:
    case = Case("none", "hopper_h100", "difference", "exact", "none")
    failed = bench([case]).outcomes[0]
    assert failed.status == "failed"
    assert failed.message.startswith("none: no such loop")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--case", "nothing"), "case: one of paper_example, fa_fwd_hopper, "),
        (("--engine", "nothing"), "engine: one of both, difference, cpsat"),
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


@pytest.mark.slow
@pytest.mark.nightly
def test_the_speedup_over_verbatim_is_measured() -> None:
    found = bench(kernel_cases(["paper_example"], ["difference", "verbatim"], ["normalized"]))
    assert {o.interval_units for o in found.outcomes} == {2}
    assert [(s.name, s.at_least) for s in found.speedups] == [("paper_example", False)]


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


@pytest.mark.slow
@pytest.mark.nightly
def test_peak_memory_is_that_of_the_process_itself() -> None:
    """Neither what it has given back is forgotten nor what its parent holds counted."""
    held = b"x" * (400 * MIB)
    code = (
        "from tests.validation.apart import peak_bytes\n"
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
