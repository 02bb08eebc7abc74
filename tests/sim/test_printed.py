"""Reports of runs, checks and kernels."""

from __future__ import annotations

import json

import pytest

import twill
from tests.support.programs import ring
from twill.sim.analysis.problems import attention
from twill.sim.analysis.whole_kernel import kernel
from twill.sim.checks import check
from twill.sim.engine.record import Recording
from twill.sim.execute import run
from twill.sim.show import print_checks, print_kernel, print_run


def test_the_report_fits_a_terminal(
    attention_schedule: twill.Schedule, capsys: pytest.CaptureFixture[str]
) -> None:
    print_run(run(ring(2, 100, 20), iterations=16, recording=Recording()))
    text = capsys.readouterr().out
    result = run(attention_schedule, iterations=16, latency="fixed:4500", recording=Recording())
    print_run(result)
    text += capsys.readouterr().out
    assert max(map(len, text.splitlines()[2:])) <= 80
    assert "What sets the pace: A chain leads from one iteration to the next" in text
    read = type(result).from_json(result.to_json())
    assert json.loads(read.to_json()) == json.loads(result.to_json())


def test_checks_and_kernels_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = twill.load_schedule("fa4_forward")
    print_checks(check(schedule))
    schedule = twill.load_schedule("fa3_forward_128x176_parts_no_overlap_no_ping_pong")
    print_run(run(schedule, iterations=16))
    lengths = (512, 16384)
    print_kernel(kernel(schedule, [attention(schedule.loop, n, n, 16) for n in lengths]))
    text = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "EXCEEDED what there is: registers of softmax0" in text
    assert "kernel: tiles of 128 x 176, persistent blocks" in text
