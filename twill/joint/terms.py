"""Literals over integer differences, and the clauses made of them, in Yices.

A literal is `True`, `False` or a Yices term. What longest paths already decide never becomes a
term; an atom and its complement share one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twill.bounds import NO_PATH
from twill.console import interruptible
from twill.errors import SolverError
from twill.joint.library import import_yices

Literal = bool | int


class Terms:
    """A Yices context for integer differences, with clauses added for good.

    Parameters
    ----------
    names : sequence of str
        One integer variable for each.
    paths : ndarray
        D with M(v) - M(u) >= D[u, v], from `twill.bounds.longest_paths`.
    seed : int
        Yices' random seed.
    """

    def __init__(self, names: Sequence[str], paths: NDArray[np.int64], seed: int) -> None:
        self._yices: Any = import_yices()
        self._types, self._terms = self._yices.Types, self._yices.Terms
        self._integer = self._types.int_type()
        self._boolean = self._types.bool_type()
        self._variables = [
            self._terms.new_uninterpreted_term(self._integer, name) for name in names
        ]
        self._paths = [[int(x) for x in row] for row in paths]
        config = self._yices.Config()
        config.default_config_for_logic("QF_IDL")
        self._context = self._yices.Context(config)
        config.dispose()
        self._parameters = self._yices.Parameters()
        self._parameters.default_params_for_context(self._context)
        self._parameters.set_param("random-seed", str(seed + 1))
        self._atoms: dict[tuple[int, int, int], int] = {}
        self._clauses: set[frozenset[int]] = set()
        self._guard: int | None = None
        self.contradiction = False

    @property
    def version(self) -> str:
        """Version of the Yices library."""
        return str(self._yices.Yices.version)

    @property
    def size(self) -> tuple[int, int]:
        """Atoms and clauses so far."""
        return len(self._atoms), len(self._clauses)

    def dispose(self) -> None:
        """Give the solver's memory back."""
        if self._context is not None:
            self._context.dispose()
            self._parameters.dispose()
            self._context = None

    def fresh(self) -> int:
        """Return a new Boolean variable."""
        return int(self._terms.new_uninterpreted_term(self._boolean))

    def negated(self, literal: Literal) -> Literal:
        """Return the complement of `literal`.

        Parameters
        ----------
        literal : bool or int
            A constant or a term.
        """
        if isinstance(literal, bool):
            return not literal
        return int(self._terms.ynot(literal))

    def at_least(self, v: int, u: int, amount: int) -> Literal:
        """Return the literal M(v) - M(u) >= amount.

        Parameters
        ----------
        v, u : int
            Operations.
        amount : int
            Time units.
        """
        if v == u:
            return amount <= 0
        low, high = self._paths[u][v], self._paths[v][u]
        if low > NO_PATH // 2 and low >= amount:
            return True
        if high > NO_PATH // 2 and -high < amount:
            return False
        return self.stated(v, u, amount)

    def stated(self, v: int, u: int, amount: int) -> Literal:
        """Return M(v) - M(u) >= amount as a term even where longest paths decide it.

        Parameters
        ----------
        v, u : int
            Different operations.
        amount : int
            Time units.
        """
        if v < u:
            return self.negated(self._atom(u, v, 1 - amount))
        return self._atom(v, u, amount)

    def range_of(self, v: int, u: int) -> tuple[int, int]:
        """Return bounds on M(v) - M(u).

        Parameters
        ----------
        v, u : int
            Operations, in one connected window.
        """
        return self._paths[u][v], -self._paths[v][u]

    def bound(self, v: int, low: int, high: int) -> None:
        """Assert low <= M(v) <= high.

        Parameters
        ----------
        v : int
            An operation.
        low, high : int
            Time units.
        """
        variable = self._variables[v]
        self._context.assert_formula(self._terms.arith_geq_atom(variable, self._terms.integer(low)))
        self._context.assert_formula(
            self._terms.arith_leq_atom(variable, self._terms.integer(high))
        )

    def at_most(self, v: int, high: int) -> int:
        """Return the term M(v) <= high.

        Parameters
        ----------
        v : int
            An operation.
        high : int
            Time units.
        """
        return int(self._terms.arith_leq_atom(self._variables[v], self._terms.integer(high)))

    @contextlib.contextmanager
    def under(self, guard: int | None) -> Iterator[None]:
        """Within the block, make clauses hold only where `guard` is assumed.

        Parameters
        ----------
        guard : int or None
            A Boolean term; None for always.
        """
        outer, self._guard = self._guard, guard
        try:
            yield
        finally:
            self._guard = outer

    def clause(self, *literals: Literal) -> None:
        """Assert that one of the literals is true.

        Parameters
        ----------
        literals : bool or int
            Constants and terms.
        """
        kept: set[int] = set()
        for literal in literals:
            if literal is True:
                return
            if literal is not False:
                kept.add(int(literal))
        if self._guard is not None:
            kept.add(int(self._terms.ynot(self._guard)))
        if not kept:
            self.contradiction = True
            return
        key = frozenset(kept)
        if key in self._clauses:
            return
        self._clauses.add(key)
        ordered = sorted(key)
        self._context.assert_formula(ordered[0] if len(ordered) == 1 else self._terms.yor(ordered))

    def weighted_sum(self, items: Sequence[tuple[int, Literal]], limit: int) -> Literal:
        """Return a literal that implies: the weights of the true items sum to at most `limit`.

        A one-sided decision diagram; items of large weight come first.

        Parameters
        ----------
        items : sequence of (int, literal)
            Positive weights and their literals.
        limit : int
            The bound.
        """
        limit -= sum(weight for weight, literal in items if literal is True)
        open_items = sorted(
            ((weight, int(literal)) for weight, literal in items if not isinstance(literal, bool)),
            reverse=True,
        )
        rest = [0]
        for weight, _ in reversed(open_items):
            rest.append(rest[-1] + weight)
        rest.reverse()
        nodes: dict[tuple[int, int], Literal] = {}

        def node(position: int, room: int) -> Literal:
            if room < 0:
                return False
            if rest[position] <= room:
                return True
            key = (position, room)
            if key not in nodes:
                weight, literal = open_items[position]
                without, with_it = node(position + 1, room), node(position + 1, room - weight)
                here = self.fresh()
                self.clause(self.negated(here), without)
                self.clause(self.negated(here), self.negated(literal), with_it)
                nodes[key] = here
            return nodes[key]

        return node(0, limit)

    def check(self, assumptions: Sequence[int] = (), timeout: float | None = None) -> str:
        """Search for a model.

        Parameters
        ----------
        assumptions : sequence of int
            Terms assumed for this call.
        timeout : float, optional
            Seconds.

        Returns
        -------
        str
            ``sat``, ``unsat`` or ``unknown`` (the time was over).
        """
        if self.contradiction:
            return "unsat"
        status = self._yices.Status
        context, parameters = self._context, self._parameters.params

        def run() -> int:
            if assumptions:
                return int(context.check_context_with_assumptions(parameters, list(assumptions)))
            return int(context.check_context(self._parameters))

        answer = interruptible(run, context.stop_search, timeout)
        if answer == status.SAT:
            return "sat"
        if answer == status.UNSAT:
            return "unsat"
        if answer in (status.INTERRUPTED, status.UNKNOWN):
            return "unknown"
        raise SolverError(f"Yices ended with status {answer}")

    def core(self) -> list[int]:
        """Return the assumptions that the last ``unsat`` needed."""
        return [] if self.contradiction else [int(t) for t in self._context.get_unsat_core()]

    def model(self, literals: Sequence[int]) -> tuple[list[int], list[bool]]:
        """Return the values of the integer variables and of `literals` after ``sat``.

        Parameters
        ----------
        literals : sequence of int
            Boolean terms.
        """
        model = self._yices.Model.from_context(self._context, 1)
        try:
            return (
                [int(model.get_integer_value(variable)) for variable in self._variables],
                [bool(model.get_bool_value(term)) for term in literals],
            )
        finally:
            model.dispose()

    def _atom(self, v: int, u: int, amount: int) -> int:
        key = (v, u, amount)
        if key not in self._atoms:
            difference = self._terms.sub(self._variables[v], self._variables[u])
            self._atoms[key] = int(
                self._terms.arith_geq_atom(difference, self._terms.integer(amount))
            )
        return self._atoms[key]
