"""``twill``, and ``python -m twill``: Ctrl-C ends it without a traceback from here on."""

from twill.base.interruptions import hear

hear()


def main() -> None:
    """Entry point of the console script."""
    from twill.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
