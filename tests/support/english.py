"""Plain English: the sentences of pages, docstrings and help texts, and the faults of each."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.pages import tokens

MOST_WORDS = 30
LONG, BEGINS, DIALECT = "long-sentences", "sentences-without-a-subject", "words-to-replace"
PLAIN = {
    "told": "signalled, given",
    "tells": "reports, shows",
    "said": "reported, stated",
    "heard": "observed",
    "hears": "observes",
    "noticed": "observed, found",
    "notices": "observes, finds",
    "beside": "next to, at the same time as",
    "few": "the number",
    "nobody": "no, with a noun",
    "somebody": "a noun",
    "whoever": "a noun",
    "anew": "again",
    "aloud": "step by step",
}
"""Words that a technical text replaces, and by what."""
_SENTENCES = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[`\"'(*A-Z0-9])")
_BEGINNING = re.compile(r"\W*(What|Who|It|Those|One)\b")
_WORDS = re.compile(rf"\b({'|'.join(PLAIN)})\b", re.IGNORECASE)
_CODE = "`_`"


@dataclass(frozen=True)
class Fault:
    """A sentence that a reader has to read twice, and why."""

    kind: str
    where: str
    sentence: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}: {self.sentence}"


def faults(where: str, paragraph: str) -> Iterator[Fault]:
    """Yield the faults of a paragraph, whose code is left out."""
    for sentence in _SENTENCES.split(" ".join(paragraph.split())):
        words = sum(bool(re.search(r"\w", word)) for word in sentence.split())
        if words > MOST_WORDS:
            yield Fault(LONG, where, sentence, f"{words} words")
        if beginning := _BEGINNING.match(sentence):
            yield Fault(BEGINS, where, sentence, f"begins with {beginning[1]}")
        for word in _WORDS.findall(sentence):
            plain = PLAIN[word.lower()]
            yield Fault(DIALECT, where, sentence, f"{word}, for {plain}")


def of_page(page: Path) -> list[Fault]:
    """Return the faults of a page's paragraphs and lists; headings, tables and code are none."""
    found: list[Fault] = []
    outside = 0
    for token in tokens(page):
        if token.type in ("heading_open", "table_open"):
            outside += 1
        elif token.type in ("heading_close", "table_close"):
            outside -= 1
        elif token.type == "inline" and not outside:
            text = {"code_inline": _CODE, "softbreak": " ", "hardbreak": " ", "image": ""}
            words = (text.get(c.type, c.content) for c in token.children or [])
            line = token.map[0] + 1 if token.map else 0
            found += faults(f"{page.name}:{line}", "".join(words))
    return found


def of_module(file: Path) -> list[Fault]:
    """Return the faults of a module's docstrings and help texts."""
    found: list[Fault] = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Expr):
            texts = [node.value]
        elif isinstance(node, ast.Call):
            texts = [word.value for word in node.keywords if word.arg == "help"]
        else:
            continue
        for text in texts:
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                where = f"{file}:{text.lineno}"
                for paragraph in paragraphs(text.value):
                    found += faults(where, paragraph)
    return found


def paragraphs(docstring: str) -> Iterator[str]:
    """Yield the paragraphs of a NumPy docstring; a parameter's description is one of them."""
    lines = re.sub(r"``[^`]+``|`[^`]+`", _CODE, inspect.cleandoc(docstring)).splitlines()
    paragraph: list[str] = []
    indent = 0
    for line in [*lines, ""]:
        text = line.strip()
        at = len(line) - len(line.lstrip())
        if not text or at != indent or re.match(r"([-*]|\d+\.) ", text):
            yield " ".join(paragraph)
            paragraph, indent = [], at
        if text and not re.fullmatch(r"[-=\s]+", text) and not text.startswith((">>>", "...")):
            paragraph.append(text)
