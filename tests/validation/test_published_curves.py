"""Published throughput over sequence lengths: shapes that whole kernels in the simulator have."""

from __future__ import annotations

import pytest

from tests.validation import published_curves
from tests.validation.published_bounds import Series, every_series
from tests.validation.published_curves import curves, table


def compared() -> tuple[Series, ...]:
    """Return the curves of kernels whose program is known."""
    return tuple(s for s in every_series() if s.heads is not None and s.units is None)


@pytest.mark.slow
@pytest.mark.nightly
def test_known_programs_have_the_published_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three curves of the full mask and a causal one, of FlashAttention-3; three of TLX.

    The docs say that the causal one is 10.1 % off.
    """
    monkeypatch.setattr(published_curves, "every_series", compared)
    found = curves()
    assert [one.sequences[0] for one in found] == [1024] * 7
    assert sum("causal" in one.what for one in found) == 1
    missed = [one for one in found if not one.matched]
    assert [one.what for one in missed] == ["forward, causal"], table(found).rows
    assert abs(missed[0].worst) < 0.102


def test_another_shape_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    (flat,) = [s.model_copy(update={"teraflops": {"512": 1, "1024": 648.0, "2048": 648.0}})
               for s in compared()[:1]]  # fmt: skip
    monkeypatch.setattr(published_curves, "every_series", lambda: (flat,))
    (found,) = curves()
    assert found.errors[-1] == 0
    assert found.worst == found.errors[0] < -0.03
    steep = flat.model_copy(update={"teraflops": {"1024": 400.0, "2048": 648.0}})
    monkeypatch.setattr(published_curves, "every_series", lambda: (steep,))
    assert not curves()[0].matched


@pytest.mark.slow
@pytest.mark.nightly
def test_blocks_that_share_an_sm_hide_their_beginnings_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (shared,) = [s for s in every_series() if s.sharing > 1 and s.what == "forward, causal"]
    alone = shared.model_copy(update={"sharing": 1})
    persistent = alone.model_copy(update={"persistent": True})
    monkeypatch.setattr(published_curves, "every_series", lambda: (shared, alone, persistent))
    one, other, third = curves()
    assert one.errors == third.errors
    assert abs(one.worst) < 0.05
    assert abs(other.worst) > 0.1


@pytest.mark.slow
@pytest.mark.nightly
def test_every_curve_is_there() -> None:
    found = curves()
    assert len(found) == sum(s.heads is not None for s in every_series())
    assert all(one.source for one in found)
    # The docs say why.
    missed = [(one.kernel, one.what) for one in found if not one.matched]
    assert missed == [
        ("FlashAttention-3", "forward, causal"),
        ("Triton tutorial, CUDA Tile IR", "forward, full mask"),
    ]
