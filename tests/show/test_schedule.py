"""``twill show`` and ``twill extract`` as users run them, and why operations sit where they do."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import twill
from twill.cli.main import app
from twill.frontends.schedules import load_schedule
from twill.show.placed import positions
from twill.show.schedule import interval_data

ROOT = Path(__file__).parents[2]
READING = ROOT / "docs" / "reading"
HOPPER = str(READING / "fa_fwd_hopper.mlir")


def call(*arguments: str) -> Any:
    """Run the command in this process; that it runs in one of its own is tested below."""
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80"})


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_table_fits_a_terminal_and_needs_no_colour() -> None:
    done = call("show", HOPPER)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in done.stdout
    rows = {line.split()[0]: line.split()[-1] for line in lines if line.endswith("|")}
    # Who is on the tensor core, all the time, each product a quarter of the interval.
    tensor_core = rows["tc"].removesuffix("|")
    assert set(tensor_core) <= {"B", "C"}
    turns = "".join(b for a, b in zip(" " + tensor_core, tensor_core, strict=False) if a != b)
    assert turns == "BCB"  # o0 and s0 of one group follow each other
    assert abs(tensor_core.count("B") - tensor_core.count("C")) <= 2


def test_a_terminal_has_colour() -> None:
    """Through a pseudo-terminal; the letters are the same."""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "twill", "show", HOPPER], stdout=slave, stdin=slave,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    assert child.wait() == 0
    assert b"\x1b[30;46m" in shown  # black on cyan


def test_json_has_the_reservation_table() -> None:
    data = json.loads(call("show", HOPPER, "--json").stdout)
    slots = data["units"]["tc"]["slots"]
    assert sum(s["end"] - s["begin"] for s in slots) == data["interval_units"] == 2048
    assert data["letters"] == {"load": "A", "compute0": "B", "compute1": "C"}


def test_a_schedule_without_times_is_shown_too() -> None:
    done = call("show", "fa4_forward")
    assert done.exit_code == 0
    assert "nobody solved it" in done.stdout
    assert "units" not in interval_data(twill.load_schedule("fa4_forward"))


def test_texts_go_to_the_terminal_or_a_file(tmp_path: Path) -> None:
    for form, begin in (
        ("code", "// fa3_f"),
        ("ir", "// twill"),
        ("json", '{\n "schema": "twill.program"'),
    ):
        shown = call("show", "fa3_forward_128x128", "--as", form).stdout
        assert shown.startswith(begin)
        done = call("show", "fa3_forward_128x128", "--as", form, "-o", "x")
        assert done.stdout == "wrote x\n"
        assert (tmp_path / "x").read_text() == shown


def test_ir_is_extracted_into_an_equal_schedule(tmp_path: Path) -> None:
    done = call("extract", HOPPER, "-o", "s.json")
    assert done.exit_code == 0
    assert done.stdout.endswith("wrote s.json\n")
    assert twill.Schedule.load(tmp_path / "s.json") == load_schedule(HOPPER)
    assert call("verify", HOPPER).stdout.startswith("valid: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fa4_forward", "--as", "timeline", "-o", "x.svg"], "placements: nothing to place"),
        (["fa4_forward", "--as", "why"], "placements: nobody solved it"),
        (
            ["fa4_forward", "--as", "timeline"],
            "--output: --as timeline makes a file; name it with -o",
        ),
        ([HOPPER, "--as", "timeline", "-o", "x.gif"], "--output: must end in .svg or .png "),
        (["fa4_forward", "-o", "x"], "--output: a table goes to the terminal"),
        (["fa4_forward", "--iterations", "3"], "--iterations: only of use with --as code"),
        (["nothing"], "nothing: no such schedule; packaged are "),
        (["fa3_forwad"], "packaged are fa4_forward, fa3_forward_128x"),
        (["fa3_forwad"], " more); a file ends in .json"),
        (["x.mlir"], "x.mlir: No such file or directory"),
    ],
)
def test_refusals_are_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = call("show", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


# -- why operations sit where they do -----------------------------------------------------------


def dependences_broken(schedule: twill.Schedule) -> set[str]:
    return {v.message for v in twill.verify(schedule).violations if v.rule == "dependence"}


def moved(schedule: twill.Schedule, operation: str, by: int) -> twill.Schedule:
    return schedule.model_copy(
        update={
            "placements": tuple(
                p.model_copy(update={"start": (p.start or 0) + by})
                if p.operation == operation
                else p
                for p in schedule.placements
            )
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fa_fwd_hopper", "fa_fwd_blackwell"])
def test_the_verifier_agrees_how_far_operations_can_move(name: str) -> None:
    check_moves(load_schedule(str(READING / f"{name}.mlir")))


def test_the_verifier_agrees_on_the_running_example(paper_schedule: twill.Schedule) -> None:
    check_moves(paper_schedule)


def check_moves(schedule: twill.Schedule) -> None:
    """By `earlier` and `later` no dependence breaks; by one more, one does."""
    lifted = schedule.model_copy(
        update={"placements": tuple(
            p.model_copy(update={"start": (p.start or 0) + 10_000}) for p in schedule.placements
        )}
    )  # fmt: skip
    for held in positions(schedule):
        for sign, spare in ((-1, held.earlier), (1, held.later)):
            if spare is not None:
                assert not dependences_broken(moved(lifted, held.operation, sign * spare))
                assert dependences_broken(moved(lifted, held.operation, sign * (spare + 1)))


def test_reasons_of_the_running_example(paper_schedule: twill.Schedule) -> None:
    held = {p.operation: p for p in positions(paper_schedule)}
    assert held["S"].behind == ("TC has O until then",)
    assert held["P"].before == ("O needs it",)
    assert held["O"].behind == (
        "needs P", "TC has S until then", "its warps issue P until then",
    )  # fmt: skip


def test_reasons_are_printed(paper_schedule: twill.Schedule, tmp_path: Path) -> None:
    paper_schedule.save(tmp_path / "s.json")
    done = call("show", "s.json", "--as", "why")
    assert "  O: slot 1, stage 1\n    not earlier: needs P; TC has S until then" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    data = json.loads(call("show", "s.json", "--as", "why", "--json").stdout)["positions"]
    assert [(p["operation"], p["earlier"]) for p in data] == [("P", 1), ("S", None), ("O", 0)]


def test_the_table_says_units() -> None:
    shown = call("show", HOPPER).stdout.splitlines()
    heading = next(n for n, line in enumerate(shown) if "operation" in line)
    assert shown[heading - 1].split() == ["start", "slot"]
    assert shown[heading].split()[-3:] == ["(cycles)", "(cycles)", "stage"]
    for schedule, trips in (
        ("fa3_forward_128x128", "// n >= 1 iteration"),
        (HOPPER, "// n >= 2 iterations (fewer: --iterations N)"),
    ):
        assert call("show", schedule, "--as", "code").stdout.splitlines()[1] == trips
