"""Pages have the figures of the data files, and each says where it comes from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.golden import golden
from tests.validation import tables
from tests.validation.tables import DATA, MARKED, ORIGIN, ROOT, filled, pages, read, record, table
from twill.frontends import packaged_loops

FILES = sorted(file.stem for file in DATA.iterdir())


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_has_the_tables_of_its_data(page: Path) -> None:
    assert filled(page.read_text()) == page.read_text(), "make results"


def test_every_data_file_is_on_a_page() -> None:
    text = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    linked = set(re.findall(r"\.\./traces/results/(\w+)\.csv", text))
    assert linked == {*FILES}
    assert {words.split()[0] for _, words, _ in MARKED.findall(text)} <= linked


@pytest.mark.parametrize("name", FILES)
def test_every_figure_has_a_date_and_a_commit(name: str) -> None:
    rows = read(name)
    assert rows
    assert [*rows[0]][-3:] == [*ORIGIN]
    for row in rows:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]), row
        assert re.fullmatch(r"[0-9a-f]{7}", row["commit"]), row


def test_every_claim_is_there_with_a_reason_for_every_no() -> None:
    rows = read("claims")
    assert list(dict.fromkeys(row["case"] for row in rows)) == [*golden()]
    for case, kept in golden().items():
        assert len([row for row in rows if row["case"] == case]) == len(kept["holds"]), case
    for row in rows:
        assert row["pass"] == ("no" if row["reason"] else "yes"), row["claim"]
        assert "Nothing to judge" not in row["reason"]


def test_loops_are_packaged_ones() -> None:
    for name in ("bounds", "compiled", "promises", "registers_for_products"):
        assert {row["loop"] for row in read(name)} <= {*packaged_loops()}, name


def test_tables_are_selected_and_summed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "DATA", tmp_path)
    rows = [{"of": "a b", "n": 1, "good": True}, {"of": "a b", "n": 2, "good": None}]
    record("made", "none", [*rows, {"of": "c", "n": 4, "good": False}])
    whole = table("made").splitlines()
    assert [line for line in whole if "---" not in line][:4] == [
        "| of | n | good |",
        "| a b | 1 | yes |",
        "| a b | 2 | - |",
        "| c | 4 | no |",
    ]
    assert "made.csv" in whole[-1]
    assert "| a b | 1 |" not in table("made of!=a+b")
    assert "| c |" not in table("made of=a+b columns=of")
    assert table("made columns=of,n sum=of").splitlines()[2:5] == [
        "| a b | 3 |",
        "| c | 4 |",
        "| all | 7 |",
    ]
    assert "| all | 1 of 2 |" in table("made columns=good counts=of")
    with pytest.raises(ValueError, match=r"no row of made\.csv"):
        table("made of=d")


def test_a_changed_figure_is_noticed() -> None:
    (page, *_) = pages()
    text = page.read_text()
    first = MARKED.search(text)
    assert first
    changed = text.replace(first[0], re.sub(r"\d(?= \|)", "77", first[0], count=1))
    assert changed != text
    assert filled(changed) == text
