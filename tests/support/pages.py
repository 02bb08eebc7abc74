"""The pages of the documentation: what they hold, and doing what they say."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from markdown_it import MarkdownIt
from markdown_it.token import Token

import twill
from tests.support.commands import in_process
from twill.artifacts.costs import Rule
from twill.artifacts.order import Order
from twill.artifacts.sweep import Sweep
from twill.frontends.schedules import scheduled

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED = ("docs", "machines", "tests", "traces")
# What a fresh clone is for: `make demo` runs before a release, `make test` is this.
ELSEWHERE = ("make", "pip", "export")
COMMANDS = ("twill", "python", *ELSEWHERE, "git", "pytest", "cat", "cp")
OPTIONS = {"slow", "triton", "status", "file", "head"}
ARTIFACTS: dict[str, Callable[[bytes], object]] = {
    "twill.loop": twill.Loop.from_json,
    "twill.order": lambda text: scheduled(Order.from_json(text)),
    "twill.sweep": Sweep.from_toml,
    "twill.machine": twill.Machine.from_toml,
}


class Start(Protocol):
    """Runs a command in a folder."""

    def __call__(self, *words: str, folder: Path) -> subprocess.CompletedProcess[str]: ...


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words behind that, what it holds."""

    page: Path
    line: int
    language: str
    options: dict[str, str]
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def tokens(page: Path) -> Iterator[Token]:
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text()):
        yield token
        yield from token.children or []


def blocks(page: Path, language: str | None = None) -> list[Block]:
    found = []
    for token in tokens(page):
        if token.type == "fence":
            first, *words = token.info.split() or [""]
            options = dict((f"{word}=").split("=")[:2] for word in words)
            line = token.map[0] + 1 if token.map else 0
            found.append(Block(page, line, first, options, token.content))
    return [block for block in found if language in (None, block.language)]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to a page's headings."""
    found: set[str] = set()
    previous = ""
    for token in tokens(page):
        if previous == "heading_open":
            slug = re.sub(r"[^\w\- ]", "", token.content.lower()).replace(" ", "-")
            assert slug not in found, (page, slug)
            found.add(slug)
        previous = token.type
    return found


def links(page: Path) -> list[str]:
    named = [token.attrGet("href") or token.attrGet("src") for token in tokens(page)]
    return [str(target) for target in named if target]


def said(page: Path) -> list[str]:
    """Return the commands within the text of a page."""
    inline = [" ".join(t.content.split()) for t in tokens(page) if t.type == "code_inline"]
    return [
        text for text in inline if text.split()[:1] == ["twill"] or text.startswith("python -m")
    ]


@dataclass
class Reader:
    """Someone who does what a page says, block by block, in a clone."""

    page: Path
    folder: Path
    also: frozenset[str] = frozenset()
    start: Start = in_process
    ran: int = 0
    printed: str | None = None
    names: dict[str, Any] = field(default_factory=dict)

    def read(self) -> int:
        """Do all blocks but those for another day; return how many commands and programs ran."""
        self.folder.mkdir(exist_ok=True)
        for room in LINKED:
            (self.folder / room).symlink_to(ROOT / room)
        for block in blocks(self.page):
            assert {*block.options} <= OPTIONS, block
            getattr(self, f"_{block.language or 'drawing'}")(block)
        return self.ran

    def _sh(self, block: Block) -> None:
        self.printed = None
        if not {"slow", "triton"} & {*block.options} <= self.also:
            return
        self.printed = ""
        for words in commands(block):
            done = (script if words[1].endswith(".py") else self.start)(*words, folder=self.folder)
            assert done.returncode == int(block.options.get("status", 0)), (words, done.stderr)
            self.printed += done.stdout + done.stderr
            self.ran += 1

    def _text(self, block: Block) -> None:
        if self.printed is not None:
            # How much of an explanation is found in its time depends on the computer.
            text = block.text.splitlines()[0] if "head" in block.options else block.text
            assert_shown(replace(block, text=text), self.printed)

    def _python(self, block: Block) -> None:
        if not {"slow", "triton"} & {*block.options} <= self.also:
            return
        if "file" in block.options:
            self._write(block)
            return
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.chdir(self.folder):
            exec(block.text, {"__name__": "page"})  # noqa: S102 - the page's own example
        assert out.getvalue().splitlines() == re.findall(r"  # (.+)$", block.text, re.MULTILINE)
        self.ran += 1

    def _toml(self, block: Block) -> None:
        self._write(block)
        document = tomllib.loads(block.text)
        if "schema" in document:
            ARTIFACTS[document["schema"]](block.text.encode())
        for rule in document.get("rules", []):
            Rule.model_validate_json(json.dumps(rule))
        assert document.keys() & {"schema", "rules", "extends"}, block

    def _json(self, block: Block) -> None:
        self._write(block)
        ARTIFACTS[json.loads(block.text)["schema"]](block.text.encode())

    def _drawing(self, block: Block) -> None:
        for line in block.text.splitlines():
            assert line.split()[:1] not in ([c] for c in COMMANDS), (str(block), line)

    def _write(self, block: Block) -> None:
        if "file" in block.options:
            (self.folder / block.options["file"]).write_text(block.text)


def script(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `python FILE.py` without a process of its own."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.chdir(folder):
        runpy.run_path(words[1])
    return subprocess.CompletedProcess(words, 0, out.getvalue(), "")


def commands(block: Block) -> list[list[str]]:
    lines = block.text.replace("\\\n", " ").splitlines()
    found = [shlex.split(line, comments=True) for line in lines]
    return [words for words in found if words and words[0] not in ELSEWHERE]


def assert_shown(block: Block, printed: str) -> None:
    """Assert that a command printed what a block shows; `...` stands for any lines."""
    shown = [line.rstrip() for line in printed.splitlines()]
    at = 0
    for part in re.split(r"^ *\.\.\.$\n?", block.text, flags=re.MULTILINE):
        lines = [line.rstrip() for line in part.strip("\n").splitlines()]
        starts = range(at, len(shown) - len(lines) + 1)
        found = [n for n in starts if shown[n : n + len(lines)] == lines]
        assert found, f"{block}: not printed:\n{part}\nbut:\n{printed}"
        at = found[0] + len(lines)
