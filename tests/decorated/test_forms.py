"""Which form of a kernel is taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import twill
from tests.support.small import op, small_loop
from tests.support.solved import HOPPER
from twill.artifacts.loop import Loop
from twill.artifacts.schedule import Schedule
from twill.decorated import forms
from twill.decorated.ahead import diagnosed
from twill.decorated.forms import Form, fastest


def _chosen(
    monkeypatch: pytest.MonkeyPatch, *given: tuple[float, float | None], narrow: bool = False
) -> tuple[str, list[str]]:
    """Return the kernel and what was scheduled, of forms with a bound and cycles or a refusal.

    `narrow`: whether the last has fewer warps.
    """
    cycles = {f"form{n}": taken for n, (_, taken) in enumerate(given)}
    asked: list[str] = []

    def solved(loop: Loop) -> tuple[Schedule, str]:
        asked.append(loop.name)
        if cycles[loop.name] is None:
            raise twill.RefusedError(f"{loop.name} has no room")
        return loop, loop.name  # type: ignore[return-value]  # of which the cycles are asked

    monkeypatch.setattr(forms, "cycles_of", lambda loop: cycles[loop.name])
    loops = (small_loop([op("a", "tc")]).model_copy(update={"name": name}) for name in cycles)
    made = [Form(loop, bound) for loop, (bound, _) in zip(loops, given, strict=True)]
    made[-1] = replace(made[-1], narrow=narrow)
    return fastest(made, solved), asked


def test_forms_are_scheduled_until_no_bound_is_low_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _chosen(monkeypatch, (1000, 1005), (1000, 900)) == ("form0", ["form0"])
    assert _chosen(monkeypatch, (1000, 1500), (1200, 1300), (1250, 1260)) == (
        "form1",
        ["form0", "form1"],
    )
    assert _chosen(monkeypatch, (1000, None), (1200, 1300), (1250, 1260), (1259, 1259)) == (
        "form2",
        ["form0", "form1", "form2"],
    )
    taken = _chosen(monkeypatch, (1000, 1500), (900, 905), narrow=True)
    assert taken == ("form0", ["form0"])
    assert _chosen(monkeypatch, (1000, None), (900, 905), narrow=True)[0] == "form1"
    with pytest.raises(twill.RefusedError, match="form1 has no room"):
        _chosen(monkeypatch, (1000, None), (1200, None), narrow=True)
    with pytest.raises(twill.RefusedError, match="form0 has no room"):
        _chosen(monkeypatch, (1000, None), (1200, None))


@pytest.mark.triton
@pytest.mark.slow
def test_the_form_of_the_lowest_bound_is_first() -> None:
    """128 queries of one warp group have no room in its registers as one tile."""
    file = Path(__file__).parents[2] / "traces/kernels/attention_forward.py"
    found = diagnosed(str(file), {"scale": "fp32"}, twill.Machine.named(HOPPER))
    (one,) = (one for one in found if one.kernel == "attention_forward")
    assert (one.form, one.bound_cycles) == ("2 sub-tiles along s:0", 2276)
