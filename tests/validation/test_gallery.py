"""Every kernel of the gallery goes the way that its page shows, or is refused as that says."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support.pages import ROOT, anchors
from tests.validation import gallery
from tests.validation.gallery import GALLERY, Way, way
from tests.validation.make_ttgir import BLACKWELL, Packaged
from twill.artifacts.machine import Machine
from twill.base.tables import Table
from twill.bounds.programs import program_bound
from twill.frontends import load_loop

PAGE = ROOT / "docs" / "gallery.md"
SHOWN = [packaged for packaged in GALLERY if not packaged.suffix]
LEAST = 0.8  # part of the kernels that are emitted
SAMPLE = "gemm_grouped"


def name(packaged: Packaged) -> str:
    return packaged.file.removeprefix("gallery/")


def row(found: Way) -> str:
    """Return a kernel's row, up to its bound."""
    *_, line = Table(gallery.COLUMNS, [gallery.row(found)]).markdown().splitlines()
    return " | ".join(line.split(" | ")[:6])


@pytest.mark.slow
@pytest.mark.parametrize(
    "packaged",
    [pytest.param(p, marks=[pytest.mark.sample] * (p.kernel == SAMPLE)) for p in SHOWN],
    ids=name,
)
def test_a_kernel_goes_the_way_that_the_page_shows(packaged: Packaged) -> None:
    found = way(packaged)
    (line,) = [one for one in PAGE.read_text().splitlines() if one.startswith(row(found))]
    assert line.endswith("| yes |" if found.trips else "| NO |")
    assert bool(found.trips) != bool(found.refusal)


@pytest.mark.parametrize(
    "packaged",
    [
        pytest.param(p, marks=[pytest.mark.slow] * (p.architecture == BLACKWELL))
        for p in GALLERY
        if p.suffix
    ],
    ids=name,
)
def test_what_is_too_wide_is_refused_with_what_is_too_much(packaged: Packaged) -> None:
    found = way(packaged)
    assert re.search(r"[0-9]+\)? (registers per thread|columns of tmem)", found.refusal)
    assert found.refusal in PAGE.read_text()
    assert (found.interval, found.trips) == (None, ())


def test_the_page_has_source_and_picture_of_every_kernel() -> None:
    text = PAGE.read_text()
    kernels = {packaged.kernel for packaged in SHOWN}
    assert len(kernels) >= 10
    assert kernels <= anchors(PAGE)
    for kernel in kernels:
        file = f"traces/gallery/{kernel}.py"
        said = ast.get_docstring(ast.parse((ROOT / file).read_text()))
        assert said is not None
        assert said in text
        assert f"(../{file})" in text
        assert (ROOT / "docs" / "gallery" / f"{kernel}.svg").exists()


def test_most_kernels_are_emitted_on_both_machines() -> None:
    text = PAGE.read_text()
    emitted, every = map(int, re.findall(r"^(\d+) of (\d+) are emitted", text, re.MULTILINE)[0])
    rows = re.findall(r"^\| \[.* \| (yes|NO) \|$", text, re.MULTILINE)
    assert (rows.count("yes"), len(rows), len(SHOWN)) == (emitted, every, every)
    assert emitted >= LEAST * every


def test_a_refused_kernel_is_on_the_page_with_its_reason() -> None:
    packaged = SHOWN[0]
    bound = program_bound(load_loop("gemm_persistent_hopper"), Machine.named("hopper_h100"))
    text = gallery.page([Way(packaged, bound, 600.0, (1, 4), refusal="no template")])
    assert "0 of 1 are emitted" in text
    assert "| work tc | 1+4 | 512 | 600 | 17.2% | NO |" in text
    assert text.splitlines()[-1].endswith("| no template |")
