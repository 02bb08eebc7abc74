"""``python -m twill`` is the command ``twill``."""

from twill.cli.main import main

main()
