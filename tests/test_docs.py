"""Every command and every piece of code of the README and the docs runs."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import twill

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_the_readmes_commands(tmp_path: Path) -> None:
    ran = 0
    for line in "\n".join(blocks(ROOT / "README.md", "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] in ("make", "pip"):
            continue
        program = [sys.executable, *(["-m"] if words[0] == "twill" else [])]
        command = program + (words if words[0] == "twill" else words[1:])
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stderr)
        ran += 1
    assert ran == 8


def test_the_readmes_python() -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})  # noqa: S102 - the README's own example
    promised = re.findall(r"# (.+)$", code, re.MULTILINE)
    assert out.getvalue().splitlines() == promised


def test_the_readmes_figures(attention_schedule: twill.Schedule) -> None:
    from twill.studies.compare import compare

    shown = re.findall(r"^ (\S+) +(\d+) +([\d.]+) +([\d.]+)%$", (ROOT / "README.md").read_text(),
                       re.MULTILINE)  # fmt: skip
    assert [(name, float(interval)) for name, interval, _, _ in shown] == [
        (variant.variant, variant.interval_cycles) for variant in compare(attention_schedule)
    ]


def test_the_docs_loop_and_rule_are_valid() -> None:
    page = ROOT / "docs" / "formats.md"
    (loop,) = blocks(page, "json")
    assert twill.Loop.from_json(loop).name == json.loads(loop)["name"] == "scale"
    (rule,) = blocks(page, "toml")
    rules = tomllib.loads(rule)["rules"]
    assert rules[0]["kind"] == ["mma"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
