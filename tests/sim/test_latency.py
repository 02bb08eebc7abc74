"""Latency sources: what they draw, and how loads queue behind them."""

from __future__ import annotations

import math
import random
import statistics
from pathlib import Path

import pytest

import twill
from twill.artifacts.schedule import Schedule
from twill.sim.engine import Conditions, latency_texts
from twill.sim.engine.latency import LatencyFile, packaged_latencies, parse_latencies, parse_latency
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.engine.work import Work, works


@pytest.fixture(scope="module")
def load(attention: twill.Loop, hopper: twill.Machine) -> Work:
    return works(attention, hopper)["k"]


def drawn(text: str, load: Work, machine: twill.Machine, number: int = 4000) -> list[float]:
    source, generator = parse_latency(text, machine), random.Random(1)
    # A load now and then, so that none waits for another.
    return [source(generator, load, 1e6 * turn) for turn in range(number)]


def test_fixed_and_uniform(load: Work, hopper: twill.Machine) -> None:
    assert set(drawn("fixed:700", load, hopper)) == {700}
    assert set(drawn("uniform:3,7", load, hopper)) == {3, 4, 5, 6, 7}


def test_log_normal_has_its_median_and_its_spread(load: Work, hopper: twill.Machine) -> None:
    found = drawn("lognormal:1000,0.4", load, hopper)
    assert statistics.median(found) == pytest.approx(1000, rel=0.03)
    assert statistics.stdev(math.log(cycles) for cycles in found) == pytest.approx(0.4, rel=0.05)


def test_a_mixture_draws_from_each_level_at_its_rate(load: Work, hopper: twill.Machine) -> None:
    found = drawn("mixture:0.5,0.3,0.2", load, hopper)
    near, far, dram = load.latency, load.latency + 218, load.latency + 643
    # 32 KiB at 14 bytes a cycle take longer than they are far away.
    slow = max(dram, math.ceil(load.bytes / 14))
    assert set(found) == {near, far, slow}
    for cycles, rate in ((near, 0.5), (far, 0.3), (slow, 0.2)):
        assert found.count(cycles) / len(found) == pytest.approx(rate, abs=0.03)


def test_the_machine_says_how_often_its_levels_are_hit(load: Work, hopper: twill.Machine) -> None:
    found = drawn("mixture", load, hopper)
    assert found.count(load.latency) / len(found) == pytest.approx(0.965, abs=0.01)


def test_loads_from_dram_queue_for_its_rate(load: Work, hopper: twill.Machine) -> None:
    source, generator = parse_latency("mixture:0,0,1", hopper), random.Random(1)
    each = load.bytes / 14
    found = [source(generator, load, 0) for _ in range(5)]
    assert found == [
        math.ceil(max(turn * each + load.latency + 643, (turn + 1) * each)) for turn in range(5)
    ]


def test_the_rate_of_dram_bounds_a_loop(attention_schedule: Schedule) -> None:
    loaded = sum(
        work.bytes
        for work in works(attention_schedule.loop, attention_schedule.machine).values()
        if work.variable_latency
    )
    measured = twill.sim.run(attention_schedule, latency="mixture:0,0,1").measured_interval_cycles
    assert measured == pytest.approx(loaded / 14, rel=0.02)


def test_one_load_can_have_a_latency_of_its_own(attention_schedule: Schedule) -> None:
    def interval(*latency: str) -> float | None:
        return twill.sim.run(attention_schedule, latency=latency).measured_interval_cycles

    assert interval("k=fixed:6000") != interval("v=fixed:6000")
    assert interval("fixed:6000", "k=fixed:0", "v=fixed:0") == interval("fixed:0")
    assert interval("k=fixed:6000", "v=fixed:6000") == interval("fixed:6000")


def test_what_one_load_draws_does_not_depend_on_the_others(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    made = works(attention, hopper)
    both = parse_latencies("uniform:0,100000", made, hopper, seed=5)
    alone = parse_latencies("v=uniform:0,100000", made, hopper, seed=5)
    mixed = [(both.draw(made["k"], 0), both.draw(made["v"], 0)) for _ in range(9)]
    assert [v for _, v in mixed] == [alone.draw(made["v"], 0) for _ in range(9)]
    assert alone.draw(made["k"], 0) == made["k"].latency


@pytest.mark.parametrize("text", ["lognormal:700,0.5", "mixture", "trace:b200_tma_contended"])
def test_runs_with_one_seed_are_identical_and_with_two_not(
    attention_schedule: Schedule, text: str
) -> None:
    def run(seed: int) -> list[float]:
        sm = StreamingMultiprocessor(
            attention_schedule, Conditions.of(iterations=40, seed=seed, latency=text)
        )
        sm.run()
        return sm.finished_at

    assert run(3) == run(3)
    assert len({tuple(run(seed)) for seed in range(1, 5)}) > 1


# -- files ------------------------------------------------------------------------------------

TEXT = (
    "# source: made up\nbytes,quantile,cycles\n1024,0,100\n1024,1,200\n65536,0,500\n65536,1,900\n"
)


def test_quantiles_between_published_ones_are_straight_lines() -> None:
    file = LatencyFile.parse(TEXT, file="x.csv")
    assert [file.quantile(1024, q) for q in (0, 0.25, 1)] == [100, 125, 200]
    assert [file.quantile(32768, q) for q in (0, 0.5, 1)] == [500, 700, 900]


def test_recorded_latencies_are_drawn_as_often_as_they_were_seen(tmp_path: Path) -> None:
    path = tmp_path / "seen.csv"
    path.write_text("# source: a benchmark\ncycles\n600\n500\n700\n500\n")
    file = LatencyFile.named(str(path))
    assert file.source == "a benchmark"
    assert [file.quantile(1, q) for q in (0, 0.4, 0.5, 0.6, 0.9, 1)] == [
        500,
        500,
        500,
        600,
        700,
        700,
    ]


@pytest.mark.parametrize("name", packaged_latencies())
def test_packaged_latencies_have_a_source_and_quantiles(name: str) -> None:
    file = LatencyFile.named(name)
    assert len(file.source) > 20
    for points in file.points.values():
        assert (points[0][0], points[-1][0]) == (0, 1)


def test_published_contended_loads_keep_their_medians() -> None:
    file = LatencyFile.named("b200_tma_contended")
    assert file.quantile(32768, 0.5) == 4586
    assert file.quantile(16384, 0.0) == 2452


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cycles\n1\n", "needs a comment that begins with '# source:'"),
        ("# source: x\nnanoseconds\n1\n", "columns are"),
        ("# source: x\ncycles\n-1\n", r"row 1\.cycles"),
        ("# source: x\nquantile,cycles\n2,1\n", r"row 1\.quantile"),
        ("# source: x\nquantile,cycles\n0,9\n1,1\n", "must ascend"),
        ("# source: x\ncycles\n", "no latencies"),
    ],
)
def test_a_bad_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(twill.InputError, match=message):
        LatencyFile.parse(text, file="x.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fast", "a latency is fixed:N"),
        ("fixed:", "a latency is fixed:N"),
        ("fixed:1.5", "a latency is fixed:N"),
        ("fixed:-1", "a latency is fixed:N"),
        ("uniform:5", "a latency is fixed:N"),
        ("uniform:9,5", "a latency is fixed:N"),
        ("lognormal:700", "a latency is fixed:N"),
        ("mixture:1,1,1", "a rate for each of L2, far L2, DRAM"),
        ("mixture:1", "a rate for each of L2, far L2, DRAM"),
        ("trace:nowhere", "no such latencies; packaged are b200_tma_contended"),
        ("s0=fixed:5", "no load of variable latency named 's0'; there are k, v"),
        ("fixed:5 fixed:6", "a second one for all loads"),
        ("k=fixed:5 k=fixed:6", "a second one for k"),
    ],
)
def test_a_bad_latency_is_refused(
    attention: twill.Loop, hopper: twill.Machine, text: str, message: str
) -> None:
    with pytest.raises(twill.InputError, match=message):
        parse_latencies(text, works(attention, hopper), hopper, seed=0)


def test_a_machine_without_levels_has_no_mixture(paper_machine: twill.Machine) -> None:
    with pytest.raises(twill.InputError, match="names no levels"):
        parse_latency("mixture", paper_machine)


def test_loads_with_mixtures_of_their_own_share_what_dram_gives(
    attention_schedule: Schedule,
) -> None:
    def interval(*latency: str) -> float | None:
        return twill.sim.run(attention_schedule, latency=latency).measured_interval_cycles

    assert interval("k=mixture:0,0,1", "v=mixture:0,0,1") == interval("mixture:0,0,1")


def test_a_path_with_spaces_stays_one_source(attention_schedule: Schedule, tmp_path: Path) -> None:
    path = tmp_path / "two words.csv"
    path.write_text("# source: a benchmark\ncycles\n600\n")
    source = f"trace:{path}"
    result = twill.sim.run(attention_schedule, iterations=16, latency=[source])
    assert latency_texts(result.latency) == (source,)
    again = twill.sim.run(attention_schedule, iterations=16, latency=result.latency)
    assert again == result
    with pytest.raises(twill.InputError, match="a quotation without an end"):
        latency_texts("trace:'two words.csv")
