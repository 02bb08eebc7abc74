"""What schedules promise against what the SM measures."""

from __future__ import annotations

import json

import pytest

from tests.support import promises as study
from tests.support.promises import Promise, main, promises


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


def test_without_time_there_is_a_note() -> None:
    (found,) = promises(["attention_backward_hopper"], timeout=0.1)
    assert found.promised is None
    assert found.excess is None
    assert "0.1 s" in found.note


def test_a_broken_promise_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    late = Promise("slow_loop", "hopper_h100", 100.0, True, 110.0, False)
    monkeypatch.setattr(study, "promises", lambda *_, **__: iter([late]))
    main(None, timeout=1.0, iterations=8, as_json=False)
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "slow_loop" in line]
    assert row.split() == ["slow_loop", "100", "yes", "110", "+10.0%", "NO"]
    main(None, timeout=1.0, iterations=8, as_json=True)
    (data,) = json.loads(capsys.readouterr().out)
    assert data["kept"] is False
    assert data["excess"] == pytest.approx(0.1)


def test_a_note_names_its_loop_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = Promise("wide_loop", "hopper_h100", note="wide_loop: too many registers")
    monkeypatch.setattr(study, "promises", lambda *_, **__: iter([wide]))
    main(None, timeout=1.0, iterations=8, as_json=False)
    assert "\nwide_loop: too many registers\n" in capsys.readouterr().out
