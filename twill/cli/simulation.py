"""The commands of ``python -m twill.sim`` that need both sides: solvers and simulator."""

from __future__ import annotations

import typer

from twill.cli.compare import compare_command
from twill.cli.report import report_command
from twill.cli.sweep import sweep_command


def add_commands(app: typer.Typer) -> None:
    """Add the commands of the studies to a command line."""
    app.command("compare")(compare_command)
    app.command("sweep")(sweep_command)
    app.command("report")(report_command)
