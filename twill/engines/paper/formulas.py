"""Booleans and 0/1 integer sums in Yices' logic QF_LIA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from twill.console import interruptible
from twill.errors import SolverError
from twill.solvers.yices import import_yices


class Formulas:
    """A Yices context for linear integer arithmetic."""

    def __init__(self, seed: int) -> None:
        self._yices: Any = import_yices()
        self._terms = self._yices.Terms
        self._boolean = self._yices.Types.bool_type()
        self.false = int(self._terms.FALSE)
        config = self._yices.Config()
        config.default_config_for_logic("QF_LIA")
        self._context = self._yices.Context(config)
        config.dispose()
        self._parameters = self._yices.Parameters()
        self._parameters.default_params_for_context(self._context)
        self._parameters.set_param("random-seed", str(seed + 1))
        self._guard: int | None = None
        self.stated = 0

    def dispose(self) -> None:
        """Give the solver's memory back."""
        if self._context is not None:
            self._context.dispose()
            self._parameters.dispose()
            self._context = None

    def fresh(self) -> int:
        """Return a new Boolean variable."""
        return int(self._terms.new_uninterpreted_term(self._boolean))

    def no(self, term: int) -> int:
        """Return the negation of a term."""
        return int(self._terms.ynot(term))

    def both(self, *terms: int) -> int:
        """Return the conjunction of some terms."""
        return int(self._terms.yand(terms))

    def some(self, terms: Iterable[int]) -> int:
        """Return the disjunction of any number of terms."""
        kept = [term for term in terms if term != self.false]
        return int(self._terms.yor(kept)) if kept else self.false

    def total(self, items: Iterable[tuple[int, int]]) -> int:
        """Return the integer term: sum of the weights whose Boolean term is true."""
        terms, zero = self._terms, self._terms.integer(0)
        parts = [
            terms.ite(term, terms.integer(weight), zero)
            for weight, term in items
            if term != self.false
        ]
        return int(terms.sum(parts)) if parts else int(zero)

    def equals(self, number: int, value: int) -> int:
        """Return the atom: an integer term is `value`."""
        return int(self._terms.arith_eq_atom(number, self._terms.integer(value)))

    def at_most(self, number: int, value: int) -> int:
        """Return the atom: an integer term is at most `value`."""
        return int(self._terms.arith_leq_atom(number, self._terms.integer(value)))

    def after(self, later: int, earlier: int, amount: int) -> int:
        """Return the atom: one integer term exceeds another by at least `amount`."""
        difference = self._terms.sub(later, earlier)
        return int(self._terms.arith_geq_atom(difference, self._terms.integer(amount)))

    @contextlib.contextmanager
    def under(self, guard: int | None) -> Iterator[None]:
        """Within the block, make what is stated hold only where `guard` is assumed."""
        outer, self._guard = self._guard, guard
        try:
            yield
        finally:
            self._guard = outer

    def state(self, *alternatives: int) -> None:
        """Assert that one of the alternatives holds."""
        kept = list(alternatives)
        if self._guard is not None:
            kept.append(self.no(self._guard))
        self._context.assert_formula(kept[0] if len(kept) == 1 else self._terms.yor(kept))
        self.stated += 1

    def check(self, assumptions: Sequence[int] = ()) -> str:
        """Search for a model."""
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
        return [int(term) for term in self._context.get_unsat_core()]

    def values(self, terms: Sequence[int]) -> list[bool]:
        """Return the values of Boolean terms after ``sat``."""
        model = self._yices.Model.from_context(self._context, 1)
        try:
            return [bool(model.get_bool_value(term)) for term in terms]
        finally:
            model.dispose()
