"""Figures of the page of results, and cases of our own that must not drift."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.golden import golden
from tests.validation.published import Figure
from tests.validation.results import OWN, Results, draw, own
from twill.studies.reproduce.claims import CaseResult, Claim, Settings


def made_up() -> Results:
    hopper = CaseResult(
        "hopper_forward",
        (
            Claim("hopper_forward", "solved", "I = 2048 cycles | ResMII", True, 1.0, 28.0),
            Claim("hopper_forward", "swp close", "2421 cycles", False, 2.0, None, "Its order."),
        ),
        {"joint": 2048.0, "swp": 2421.0},
    )
    timing = CaseResult(
        "timing",
        (Claim("timing", "faster", "1.0 s against more than 30 s", True, 31.0, 28.0),),
    )
    far = Figure("a ratio", "ratio", 1.0, 1.1, 1.5, 0.36, False, "somewhere")
    near = Figure("cycles", "cycles", 2.0, 2.0, 2.1, 0.05, True, "elsewhere")
    published = CaseResult(
        "published",
        (Claim("published", "matched", "1 of 2", False, 3.0, None, "Missed: a ratio."),),
    )
    return Results((hopper, timing, published), (far, near))


def test_figures_are_svg_of_the_same_bytes_every_time(tmp_path: Path) -> None:
    once = draw(made_up(), tmp_path / "results")
    assert [f.name for f in once] == ["results_intervals.svg", "results_published.svg"]
    bytes_of = [file.read_bytes() for file in once]
    assert [file.read_bytes() for file in draw(made_up(), tmp_path / "results")] == bytes_of
    for file in once:
        root = ET.fromstring(file.read_text())  # noqa: S314 - our own file
        texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert {"2048", "2421", "swp"} <= set(texts) or {"+36.0 %", "+5.0 %"} <= set(texts)


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_golden_metrics(name: str) -> None:
    (result,) = own(name, Settings(900.0)).cases
    kept = golden()[name]
    assert dict(result.metrics) == pytest.approx(kept["metrics"], rel=1e-9)
    # How long a search takes depends on the machine at hand.
    if name != "timing":
        assert {c.claim: c.passed for c in result.claims} == kept["holds"]
