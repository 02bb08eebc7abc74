"""Sentences of docs, docstrings and help: short, about a thing that they name."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.support.english import BEGINS, DIALECT, LONG, of_module, of_page
from tests.support.pages import PAGES, ROOT

LONG_SENTENCE = " ".join(["The schedule of a loop", *itertools.repeat("of loops", 13)]) + "."
BAD = [
    (LONG, LONG_SENTENCE),
    (BEGINS, "What a group issues is in order."),
    (BEGINS, "The interval is short. It is the least."),
    (BEGINS, "(Those are counted.)"),
    (BEGINS, "Who waits is blocked."),
    (BEGINS, "One of them is left."),
    (DIALECT, "The barrier is told by the producer."),
    (DIALECT, "Nobody waits for the store."),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_in_plain_english(page: Path) -> None:
    found = of_page(page)
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("room", ["twill", "sim"])
def test_docstrings_and_help_are_in_plain_english(room: str) -> None:
    found = [fault for file in sorted((ROOT / room).rglob("*.py")) for fault in of_module(file)]
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize(("kind", "text"), BAD)
def test_a_bad_sentence_is_found(kind: str, text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# What a page is\n\n```text\n{text}\n```\n\n| What |\n|---|\n| {text} |\n")
    assert not of_page(page)
    page.write_text(f"A loop runs.\n\n- {text}\n")
    assert [fault.kind for fault in of_page(page)] == [kind]
    module = tmp_path / "module.py"
    module.write_text(f'"""Loops.\n\n{text}\n"""\nOption(help="{text}")\nprint("{text}")\n')
    assert [fault.kind for fault in of_module(module)] == [kind, kind]


@pytest.mark.parametrize(
    "text",
    [
        "The interval of `What it is, nobody said` is 30 cycles.",
        " ".join(["The schedule of a loop", *itertools.repeat("of loops", 12)]) + " runs.",
        "Iterations overlap. Only one of them issues; the other waits.",
    ],
)
def test_a_plain_sentence_is_none(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    assert not of_page(page)
