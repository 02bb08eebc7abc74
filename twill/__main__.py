"""``python -m twill`` is the command ``twill``."""

from twill.cli import main

main()
