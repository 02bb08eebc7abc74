"""Booleans and 0/1 integer sums in Yices' logic QF_LIA."""

from __future__ import annotations

from collections.abc import Iterable

from twill.solvers.yices import Context


class Formulas(Context):
    """A context for linear integer arithmetic."""

    def __init__(self, seed: int) -> None:
        super().__init__("QF_LIA", seed)
        self.false = int(self.terms.FALSE)
        self.stated = 0

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

    def equals(self, number: int, value: int) -> int:
        """Return the atom: an integer term is `value`."""
        return int(self.terms.arith_eq_atom(number, self.terms.integer(value)))

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
        self.stated += 1
