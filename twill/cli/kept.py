"""The best schedule so far, kept where nothing that ends a command takes it away."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from twill.base import interruptions
from twill.base.console import note, warn
from twill.base.errors import InputError
from twill.base.files import STANDARD_OUTPUT

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule


class Kept:
    """The best schedule so far, in a file beside the one for the answer until that is written.

    Nothing is kept where the answer goes to no ordinary file.

    `file`: ``NAME.partial.json`` for ``NAME.json``, or with a number that no file has.
    """

    def __init__(self) -> None:
        self.file: Path | None = None
        self._written = False

    def beside(self, output: str | None) -> None:
        """Choose the file; `output` is the one for the answer."""
        self.file = _beside(output)

    def __enter__(self) -> Kept:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Say where the best so far is, if there is no answer."""
        interruptions.keep("")
        if self._written:
            note(f"twill: the best so far is in {self.file}")

    def __call__(self, schedule: Schedule) -> None:
        """Keep a schedule that is better than the last; what cannot be written ends no search."""
        if self.file is None:
            return
        try:
            schedule.save(self.file)
        except InputError as error:
            warn(f"the best so far is not kept: {error}")
            self.file = None
        else:
            self._written = True
            interruptions.keep(f"; the best so far is in {self.file}")

    def answered(self) -> None:
        """Remove the file: the answer is written."""
        if self.file is not None:
            self.file.unlink(missing_ok=True)
        self._written = False


def _beside(output: str | None) -> Path | None:
    """Return a new file in the folder of another one, None if that is no ordinary file."""
    if output is None or output == STANDARD_OUTPUT:
        return None
    file = Path(output).resolve()
    if file.exists() and not file.is_file():
        return None
    number, beside = 1, file.with_suffix(".partial.json")
    while beside.exists():
        number += 1
        beside = file.with_suffix(f".partial-{number}.json")
    return beside
