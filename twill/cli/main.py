"""The tree of commands: ``twill``, and ``python -m twill.sim``, which is ``twill sim``."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from twill.base.console import run_app, say
from twill.cli import (
    judge,
    kernel,
    loop,
    machine,
    polish,
    run,
    schedule,
    show,
    studies,
    sweep,
    tune,
    upkeep,
)
from twill.cli.retired import Tree


def _tree(name: str, about: str, *, completion: bool = False) -> typer.Typer:
    return typer.Typer(
        name=name,
        cls=Tree,
        no_args_is_help=True,
        add_completion=completion,
        pretty_exceptions_enable=False,
        help=about,
    )


simulator = _tree("python -m twill.sim", "Execute warp-specialized schedules on a simulated SM.")
for command in (run.run, studies.compare, sweep.sweep):
    simulator.command()(command)

app = _tree(
    "twill",
    "Provably optimal software pipelines and warp specializations for tensor core GPUs.",
    completion=True,
)
for command in (
    *(schedule.schedule, polish.polish, judge.verify, judge.explain),
    *(
        show.show,
        show.annotate,
        show.diff,
        show.extract,
        kernel.emit,
        kernel.build,
        kernel.run_kernel,
    ),
    *(studies.explore, studies.reproduce, tune.tune, machine.calibrate, upkeep.migrate),
    upkeep.doctor,
):
    app.command()(command)
trees = {"loop": loop.app, "machine": machine.app, "sim": simulator}
for name, tree in trees.items():
    app.add_typer(tree, name=name)


def _version(show: bool) -> None:
    if show:
        import twill

        say(f"twill {twill.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    _version_shown: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the console script."""
    run_app(app)


if __name__ == "__main__":
    main()
