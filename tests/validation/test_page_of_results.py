"""The page of results: its tables and figures, and cases of our own that must not drift."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.golden import golden
from tests.validation.own_claims import PUBLISHED_CLAIMS, TIMING_CLAIMS, Timing
from tests.validation.published import Figure
from tests.validation.results import OWN, Results, own, write_page
from twill.studies.reproduce import CASES
from twill.studies.reproduce.claims import CaseResult, Claim, Settings

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


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
    timings = (Timing("fa_fwd_hopper", 28.0, 1.0, None, 30.0),)
    return Results((hopper, timing, published), timings, (far, near))


def test_the_page_gives_every_failing_claim_a_paragraph(tmp_path: Path) -> None:
    files = write_page(made_up(), tmp_path / "results.md")
    assert [f.name for f in files] == [
        "results.md",
        "results_intervals.svg",
        "results_published.svg",
    ]
    text = files[0].read_text()
    assert "2 of 4 claims hold." in text
    assert "*Swp close* does not hold. Its order." in text
    assert "| solved | I = 2048 cycles \\| ResMII | yes |" in text
    assert "| `fa_fwd_hopper` | 1.0 | more than 30 | yes |" in text
    assert "| a ratio | 1.000 to 1.100 | 1.500 | +36.0% | MISSED |" in text
    assert "1 of 2 that are compared are matched." in text
    assert "Median error +20.5%, worst +36.0%." in text


def test_figures_are_svg_of_the_same_bytes_every_time(tmp_path: Path) -> None:
    once = write_page(made_up(), tmp_path / "results.md")
    bytes_of = [file.read_bytes() for file in once]
    assert [file.read_bytes() for file in write_page(made_up(), once[0])] == bytes_of
    for file in once[1:]:
        root = ET.fromstring(file.read_text())  # noqa: S314 - our own file
        texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert {"2048", "2421", "swp"} <= set(texts) or {"+36.0 %", "+5.0 %"} <= set(texts)


def test_the_docs_page_has_every_claim_and_a_reason_for_every_no() -> None:
    text = RESULTS.read_text()
    # Of a claim about a program its own answer comes first, then that of the polished program.
    rows = re.findall(
        r"^\| (.+?) \| (yes|\*\*no\*\*) \|(?:.+\| (?:yes|\*\*no\*\*|-) \|)?$", text, re.MULTILINE
    )
    told = sum(len(texts) for texts, _ in CASES.values())
    told += len(TIMING_CLAIMS) + len(PUBLISHED_CLAIMS)
    assert len(rows) == told
    held, of = map(int, re.findall(r"^(\d+) of (\d+) claims hold", text, re.MULTILINE)[0])
    assert of == told
    assert held == sum(answer == "yes" for _, answer in rows)
    assert text.count("* does not hold. ") == told - held
    assert "Nothing to judge" not in text


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_golden_metrics(name: str) -> None:
    (result,) = own(name, Settings(900.0)).cases
    kept = golden()[name]
    assert dict(result.metrics) == pytest.approx(kept["metrics"], rel=1e-9)
    # How long a search takes depends on the machine at hand.
    if name != "timing":
        assert {c.claim: c.passed for c in result.claims} == kept["holds"]
