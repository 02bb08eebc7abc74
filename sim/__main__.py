"""``python -m twill.sim``: execute schedules on the simulated SM."""

from __future__ import annotations

from twill.base.interruptions import hear

hear()


def main() -> None:
    """Run the command that the words of the command line name."""
    from twill.base.console import run_app
    from twill.cli.main import simulator

    run_app(simulator)


if __name__ == "__main__":
    main()
