"""The sweep artifact: which loops or schedules are run under which changed parameters (TOML)."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt

from twill.artifacts.base import Artifact
from twill.errors import InputError

Scalar = str | int | float
Values = Scalar | tuple[Scalar, ...]
ENDINGS = (".toml",)


class Sweep(Artifact):
    """What a sweep runs: every combination of items, machines, variants and parameter values.

    Attributes
    ----------
    name, description : str
        For people.
    items : tuple of str
        Loops or schedules: packaged names, or files; relative ones are beside the sweep's file.
    machines : tuple of str
        For the loops; the machine that a packaged loop is meant for without them.
    variants : tuple of str
        Ways to execute each loop: ``sequential``, ``multi-warp``, ``swp``, ``joint``.
    resolve : bool
        Whether each point schedules its loop anew; otherwise the same schedule is run again.
    axes : dict
        Values by parameter: one, a list, or a range as text (``A:B`` for whole numbers,
        ``START:STOP:COUNT``, ``log:START:STOP:COUNT``, commas for a list).
    iterations : int
        Trip count of every run.
    seed : int
        Of the variable latencies, and of the solver.
    latency : tuple of str
        Latency sources where no axis says otherwise.
    tolerance : float
        Relative excess over the best interval that still counts as holding it.
    clock : float, optional
        Clock in MHz at which TFLOP/s are stated.
    timeout : float, optional
        Seconds to schedule a loop. What is found in that time depends on the host.
    """

    schema_name: Literal["twill.sweep"] = Field("twill.sweep", alias="schema")
    schema_version: Literal[1] = 1
    name: str = ""
    description: str = ""
    items: Annotated[tuple[str, ...], Field(min_length=1)]
    machines: tuple[str, ...] = ()
    variants: Annotated[tuple[str, ...], Field(min_length=1)] = ("joint",)
    resolve: bool = False
    axes: dict[str, Values] = {}
    iterations: PositiveInt = 64
    seed: NonNegativeInt = 0
    latency: tuple[str, ...] = ()
    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.02
    clock: Annotated[float, Field(gt=0)] | None = None
    timeout: Annotated[float, Field(gt=0)] | None = None

    @classmethod
    def named(cls, name: str) -> Self:
        """Return a packaged sweep, or read a file if `name` ends in ``.toml``.

        Parameters
        ----------
        name : str
            A name that `packaged_sweeps` lists, or a path.

        Raises
        ------
        InputError
            If there is no such sweep or it is not valid.
        """
        if name.endswith(ENDINGS):
            found = cls.load(name)
            folder = Path(name).parent
            items = tuple(_beside(folder, item) for item in found.items)
            return found.model_copy(update={"items": items})
        if name not in packaged_sweeps():
            known = ", ".join(packaged_sweeps())
            raise InputError(
                f"no such sweep; packaged are {known}; a file ends in .toml", file=name
            )
        text = _folder().joinpath(f"{name}.toml").read_bytes()
        return cls.from_toml(text, file=f"{name}.toml")


def packaged_sweeps() -> list[str]:
    """Return the names of the sweeps that ship with the package, sorted."""
    names = (entry.name for entry in _folder().iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def _folder() -> importlib.resources.abc.Traversable:
    return importlib.resources.files("twill.traces").joinpath("studies")


def _beside(folder: Path, item: str) -> str:
    return str(folder / item) if item.endswith((".json", ".mlir")) else item
