"""Clauses over Booleans and integer differences, in Yices.

A literal is `True`, `False` or a Yices term. What bounds already decide never becomes a term; an
atom and its complement share one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twill.bounds.least import NO_PATH
from twill.console import interruptible
from twill.errors import SolverError
from twill.solvers.yices import import_yices

Literal = bool | int


class Clauses:
    """A Yices context for integer differences, with clauses added for good."""

    def __init__(self, seed: int) -> None:
        self._yices: Any = import_yices()
        self.types, self.terms = self._yices.Types, self._yices.Terms
        self._boolean = self.types.bool_type()
        config = self._yices.Config()
        config.default_config_for_logic("QF_IDL")
        self._context = self._yices.Context(config)
        config.dispose()
        self._parameters = self._yices.Parameters()
        self._parameters.default_params_for_context(self._context)
        self._parameters.set_param("random-seed", str(seed + 1))
        self._clauses: set[frozenset[int]] = set()
        self._guard: int | None = None
        self.contradiction = False

    @property
    def version(self) -> str:
        """Version of the Yices library."""
        return str(self._yices.Yices.version)

    @property
    def size(self) -> int:
        """Clauses so far."""
        return len(self._clauses)

    def dispose(self) -> None:
        """Give the solver's memory back."""
        if self._context is not None:
            self._context.dispose()
            self._parameters.dispose()
            self._context = None
            self._clauses.clear()

    def fresh(self) -> int:
        """Return a new Boolean variable."""
        return int(self.terms.new_uninterpreted_term(self._boolean))

    def negated(self, literal: Literal) -> Literal:
        """Return the complement of `literal`."""
        if isinstance(literal, bool):
            return not literal
        return int(self.terms.ynot(literal))

    @contextlib.contextmanager
    def under(self, guard: int | None) -> Iterator[None]:
        """Within the block, make clauses hold only where `guard` is assumed."""
        outer, self._guard = self._guard, guard
        try:
            yield
        finally:
            self._guard = outer

    def clause(self, *literals: Literal) -> None:
        """Assert that one of the literals is true."""
        kept: set[int] = set()
        for literal in literals:
            if literal is True:
                return
            if literal is not False:
                kept.add(int(literal))
        if self._guard is not None:
            kept.add(int(self.terms.ynot(self._guard)))
        if not kept:
            self.contradiction = True
            return
        key = frozenset(kept)
        if key in self._clauses:
            return
        self._clauses.add(key)
        ordered = sorted(key)
        self._context.assert_formula(ordered[0] if len(ordered) == 1 else self.terms.yor(ordered))

    def either(self, literals: Sequence[Literal]) -> Literal:
        """Return a literal that is true if one of `literals` is."""
        if any(x is True for x in literals):
            return True
        some = list(dict.fromkeys(x for x in literals if x is not False))
        if len(some) < 2:
            return some[0] if some else False
        result = self.fresh()
        with self.under(None):
            for x in some:
                self.clause(result, self.negated(x))
        return result

    def check(self, assumptions: Sequence[int] = ()) -> str:
        """Search for a model."""
        if self.contradiction:
            return "unsat"
        status = self._yices.Status
        context, parameters = self._context, self._parameters.params

        def run() -> int:
            if assumptions:
                return int(context.check_context_with_assumptions(parameters, list(assumptions)))
            return int(context.check_context(self._parameters))

        answer = interruptible(run, context.stop_search)
        if answer == status.SAT:
            return "sat"
        if answer == status.UNSAT:
            return "unsat"
        if answer == status.UNKNOWN:
            return "unknown"
        raise SolverError(f"Yices ended with status {answer}")

    def core(self) -> list[int]:
        """Return the assumptions that the last ``unsat`` needed."""
        return [] if self.contradiction else [int(t) for t in self._context.get_unsat_core()]

    def model(
        self, variables: Sequence[int], literals: Sequence[int]
    ) -> tuple[list[int], list[bool]]:
        """Return values after ``sat``."""
        model = self._yices.Model.from_context(self._context, 1)
        try:
            return (
                [int(model.get_integer_value(variable)) for variable in variables],
                [bool(model.get_bool_value(term)) for term in literals],
            )
        finally:
            model.dispose()

    def assert_term(self, term: int) -> None:
        """Assert a term of the theory as it is."""
        self._context.assert_formula(term)


class Differences:
    """Integer variables of which only differences matter, within known bounds."""

    def __init__(self, clauses: Clauses, names: Sequence[str]) -> None:
        self._clauses, self._terms = clauses, clauses.terms
        integer = clauses.types.int_type()
        self.variables = [int(self._terms.new_uninterpreted_term(integer, n)) for n in names]
        self._atoms: dict[tuple[int, int, int], int] = {}
        self._paths: list[list[int]] = [[NO_PATH] * len(names) for _ in names]

    @property
    def size(self) -> int:
        """Atoms so far."""
        return len(self._atoms)

    def bounded(self, paths: NDArray[np.int64]) -> None:
        """Let longest paths decide atoms; what they follow from has to be asserted elsewhere."""
        self._paths = [[int(x) for x in row] for row in paths]

    def at_least(self, v: int, u: int, amount: int) -> Literal:
        """Return the literal x(v) - x(u) >= amount."""
        if v == u:
            return amount <= 0
        low, high = self._paths[u][v], self._paths[v][u]
        if low > NO_PATH // 2 and low >= amount:
            return True
        if high > NO_PATH // 2 and -high < amount:
            return False
        return self.stated(v, u, amount)

    def stated(self, v: int, u: int, amount: int) -> Literal:
        """Return x(v) - x(u) >= amount as a term even where bounds decide it."""
        if v == u:
            return amount <= 0
        if v < u:
            return self._clauses.negated(self._atom(u, v, 1 - amount))
        return self._atom(v, u, amount)

    def range_of(self, v: int, u: int) -> tuple[int, int]:
        """Return bounds on x(v) - x(u)."""
        return self._paths[u][v], -self._paths[v][u]

    def bound(self, v: int, low: int, high: int) -> None:
        """Assert low <= x(v) <= high."""
        variable, integer = self.variables[v], self._terms.integer
        self._clauses.assert_term(self._terms.arith_geq_atom(variable, integer(low)))
        self._clauses.assert_term(self._terms.arith_leq_atom(variable, integer(high)))

    def _atom(self, v: int, u: int, amount: int) -> int:
        key = (v, u, amount)
        if key not in self._atoms:
            difference = self._terms.sub(self.variables[v], self.variables[u])
            self._atoms[key] = int(
                self._terms.arith_geq_atom(difference, self._terms.integer(amount))
            )
        return self._atoms[key]
