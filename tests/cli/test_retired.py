"""What is gone from the command line is refused with a line that says what to use."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from tests.support.commands import SIM, TWILL, in_process
from twill.cli.main import app
from twill.cli.retired import RETIRED, instead
from twill.cli.show import Form


def known(words: list[str]) -> Any:
    """Return the command of some words, None if there is none."""
    command: Any = typer.main.get_command(app)
    for word in words:
        command = getattr(command, "commands", {}).get(word)
    return command


@pytest.mark.parametrize("gone", RETIRED)
def test_what_is_gone_is_refused_with_what_to_use(gone: str) -> None:
    done = in_process(*TWILL, *gone.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"twill: {gone} is gone; use {RETIRED[gone]}\n"


@pytest.mark.parametrize("gone", RETIRED)
def test_what_is_gone_is_not_there(gone: str) -> None:
    words = gone.partition(" -")[0].split()
    option = gone.split()[len(words) :]
    if not option:
        assert known(words) is None
        return
    there = {name for parameter in known(words).params for name in parameter.opts}
    name, *values = option
    assert name not in there or (values and values[0] not in [*Form])


def test_an_option_is_refused_wherever_it_stands() -> None:
    for words in (("run", "x", "--bundle", "2"), ("run", "--bundle=2", "x")):
        done = in_process(*SIM, *words)
        assert done.returncode == 2
        assert done.stderr.startswith("twill: sim run --bundle is gone; use ")


def test_a_value_that_is_gone_is_refused() -> None:
    assert instead(("show", "s.json", "--as=rrt")) == instead(("show", "--as", "rrt", "s.json"))
    assert instead(("show", "s.json", "--as", "why")) is None
    assert instead(("show", "rrt", "--as", "why")) is None


def test_what_only_looks_alike_is_not_refused() -> None:
    assert instead(("sim", "compare", "bundle", "--bundles")) is None
    assert instead(("sim", "compare", "--bundle")) is None
