"""Fixtures of the tests of emitted kernels."""

from __future__ import annotations

import pytest


@pytest.fixture
def first_arguments(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No better arguments of a kernel are looked for than the first, but in tests at length."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr("twill.emit.host.choice.ROUNDS", 0)
