"""What the simulator finds wrong with a program."""

from __future__ import annotations

from twill.errors import RefusedError


class SimulationError(RefusedError):
    """The program did something that a GPU would not survive; `kind` says what.

    Attributes
    ----------
    kind : str
        ``value`` (a read found another instance), ``overwrite`` (a slot was overwritten while it
        was read), ``barrier`` (an arrive at the wrong phase, or a wait that comes two phases too
        late), ``race`` (nothing puts two accesses in order), ``visibility`` (only what makes
        none of them visible does), ``fence`` (no proxy fence stands between) or ``deadlock``.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.args = (kind, message)
        self.kind, self.message = kind, message

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"
