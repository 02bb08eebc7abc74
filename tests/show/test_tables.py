"""Tables, and all output at 80 columns: nothing is wider, nothing is cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import twill
from tests.support.mutate import app as mutate
from tests.validation.published import Figure, print_figures
from twill.base.console import paragraph
from twill.base.formats import count, cycles, number, yes
from twill.base.tables import Column, Table
from twill.cli import main as cli
from twill.cli.main import simulator
from twill.explain.levers import Lever
from twill.frontends import packaged_loops
from twill.show.proof import print_levers

ROOT = Path(__file__).parents[2]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def widest(text: str) -> int:
    return max(len(line.rstrip()) for line in text.splitlines())


def joined(text: str) -> str:
    """Return what wrapped cells say, without blanks."""
    return "".join(text.split())


@pytest.mark.usefixtures("narrow")
def test_loops_are_listed_with_their_names_whole() -> None:
    told = CliRunner().invoke(cli.app, ["loop", "list"])
    assert told.exit_code == 0
    assert widest(told.stdout) <= 80
    names = [entry.name for entry in packaged_loops().values()]
    assert {line.split()[0] for line in told.stdout.splitlines() if line.strip()} >= {*names}


@pytest.mark.usefixtures("narrow")
def test_what_is_broken_is_summed_up(tmp_path: Path) -> None:
    half = twill.load_schedule("fa4_forward").model_copy(update={"initiation_interval": 2000})
    half.save(str(tmp_path / "half.json"))
    told = CliRunner().invoke(cli.app, ["verify", str(tmp_path / "half.json")])
    assert told.exit_code == 1
    assert widest(told.stdout) <= 80
    lines = told.stdout.splitlines()
    assert len(lines) < 10
    assert lines[-1] == "not valid: 66 violations"
    assert "completeness: and 62 more (--json prints all)" in lines


def compared(what: str, unit: str, low: float, high: float, simulated: float) -> Figure:
    return Figure(
        what=what, unit=unit, low=low, high=high, simulated=simulated, error=-0.1, matched=True,
        source="word " * 40,
    )  # fmt: skip


@pytest.mark.usefixtures("narrow")
def test_published_figures_fit(capsys: pytest.CaptureFixture[str]) -> None:
    print_figures(
        [
            compared("FA3 with neither, over full, round-robin", "ratio", 1.13, 1.16, 1.0),
            compared("one-SM GEMM, round trip of a slot, cycles", "cycles", 2234, 2234, 1373),
        ]
    )
    shown = capsys.readouterr().out
    assert widest(shown) <= 80
    assert "1.000" in shown
    assert "2234" in shown


@pytest.mark.usefixtures("narrow")
def test_mutants_of_long_names_fit() -> None:
    name = "fa3_forward_128x128_parts_no_overlap_no_ping_pong"
    told = CliRunner().invoke(mutate, [name, "--runs", "1", "--iterations", "4", "--most", "2"])
    assert told.exit_code == 0
    assert widest(told.stdout) <= 80
    assert "false alarms: 0" in told.stdout
    first = "".join(line.split()[0] for line in told.stdout.splitlines()[4:6])
    assert first == name


@pytest.mark.usefixtures("narrow")
def test_levers_fit(capsys: pytest.CaptureFixture[str]) -> None:
    print_levers(
        [
            Lever(
                "signals and transfers that take no time", 2048, proved=True, gain=0.0, seconds=1
            ),
            Lever("tc twice as fast", 1792, proved=False, gain=0.143, seconds=20),
        ]
    )
    shown = capsys.readouterr().out
    assert widest(shown) <= 80
    assert "at least 14.3%" in " ".join(shown.split()) or "atleast14.3%" in joined(shown)


@pytest.mark.usefixtures("narrow")
def test_names_fold_before_numbers_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [Column("name"), Column("a", form=count), Column("b", form=count)]
    Table(columns, [["n" * 60, 111111111, 222222222]]).print()
    shown = capsys.readouterr().out
    assert widest(shown) <= 80
    assert shown.count("n") == 60 + 1
    assert "1" * 9 in shown
    assert "2" * 9 in shown


@pytest.mark.parametrize(("width", "pieces"), [(40, 3), (60, 2), (80, 2), (120, 1)])
def test_a_table_never_exceeds_the_terminal_and_loses_nothing(
    width: int, pieces: int, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = [Column("name"), *(Column(f"column_\n{i}", form=count) for i in range(12))]
    rows = [[f"row{r}", *(1000 * (r + 1) + c for c in range(12))] for r in range(3)]
    totals = ["total", 77777, *[""] * 11]
    Table(columns, rows, [totals]).print(Console(width=width))
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= width
    words = " ".join(lines).split()
    for row in rows:
        assert all(words.count(str(cell)) == 1 for cell in row[1:])
    assert words.count("total") == words.count("77777") == 1
    assert words.count("name") == words.count("row0") == pieces


COLUMNS = (
    Column("what"),
    Column("interval", "cycles", cycles),
    Column("iterations per kilocycle", form=number),
    Column("fits", form=yes),
)


def test_a_table_writes_each_quantity_in_its_way(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("one", 2048.0, 0.48828125, True), ("other", 2048.515625, None, False)]
    Table(COLUMNS, rows, notes=["a note"]).print(Console(width=60))
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "",
        "        interval     iterations",
        " what   (cycles)  per kilocycle  fits",
        f" {'─' * 36}",
        " one        2048       0.488281   yes",
        " other   2048.52              -    NO",
        "",
        "a note",
    ]


def test_a_table_in_markdown_has_its_units_and_escapes_bars() -> None:
    assert Table(COLUMNS, [("a|b", 1.5, None, True)], notes=["a note"]).markdown() == (
        "| what | interval (cycles) | iterations per kilocycle | fits |\n"
        "| --- | --: | --: | --: |\n"
        "| a\\|b | 1.5 | - | yes |\n"
        "\n"
        "a note\n"
    )


def test_words_wrap_before_names_are_folded(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [["n" * 30, "several words that are longer than what is left beside the name"]]
    Table([Column("name"), Column("words")], rows).print(Console(width=60))
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.count("n" * 30) for line in lines) == 1
    assert max(map(len, lines)) <= 60
    assert " ".join(line[32:].strip() for line in lines[3:] if line.strip()) == rows[0][1]


def test_a_paragraph_keeps_its_indent(capsys: pytest.CaptureFixture[str]) -> None:
    paragraph("  " + "word " * 40)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("  word") and len(line) <= 80 for line in lines)


@pytest.mark.usefixtures("narrow")
def test_the_simulators_own_tables_fit() -> None:
    command = ["run", "fa3_forward_128x128_parts_no_overlap_no_ping_pong", "--iterations", "12"]
    told = CliRunner().invoke(simulator, command)
    assert told.exit_code == 0
    assert widest(told.stdout) <= 80
