"""SCIP, on one thread, to be interrupted like everything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twill.base.console import interruptible
from twill.base.errors import SolverError


def new_model(name: str) -> Any:
    """Return an empty model that prints nothing."""
    from pyscipopt import Model

    model = Model(name)
    model.hideOutput()
    model.setParam("misc/catchctrlc", value=False)
    return model


def total(terms: Iterable[Any]) -> Any:
    """Return the sum of linear terms."""
    from pyscipopt import quicksum

    return quicksum(terms)


def optimize(model: Any) -> None:
    """Solve a model to its optimum.

    Raises
    ------
    SolverError
        If SCIP ends without it.
    """
    interruptible(model.optimizeNogil, model.interruptSolve)
    if model.getStatus() != "optimal":
        raise SolverError(f"SCIP ended {model.getProbName()} with status {model.getStatus()}")
