"""Lattices against a solver that looks for the multiples."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from twill.joint.cpsat_run import import_ortools
from twill.joint.lattice import Lattice, Vector

FAR = 60


def random_vectors(seed: int) -> tuple[list[Vector], list[Vector]]:
    """Return vectors of a lattice, and others to ask about."""
    generator = random.Random(seed)
    size = generator.randint(1, 4)

    def drawn(count: int, most: int) -> list[Vector]:
        return [tuple(generator.randint(-most, most) for _ in range(size)) for _ in range(count)]

    return drawn(generator.randint(0, 4), 4), drawn(12, 5)


def reached(vectors: list[Vector], vector: Vector) -> bool:
    """Whether multiples of vectors, none of more than `FAR` times, add up to another."""
    cp = import_ortools()
    model = cp.CpModel()
    times = [model.new_int_var(-FAR, FAR, "") for _ in vectors]
    for k, n in enumerate(vector):
        model.add(sum(t * v[k] for t, v in zip(times, vectors, strict=True)) == n)
    solver = cp.CpSolver()
    solver.parameters.num_workers = 1
    return solver.solve(model) in (cp.OPTIMAL, cp.FEASIBLE)


def scalar(weights: tuple[Fraction, ...], vector: Vector) -> Fraction:
    return sum((w * n for w, n in zip(weights, vector, strict=True)), Fraction(0))


@pytest.mark.parametrize("seed", range(40))
def test_a_remainder_is_nothing_for_what_multiples_reach(seed: int) -> None:
    vectors, others = random_vectors(seed)
    lattice = Lattice(vectors)
    assert bool(lattice) == any(any(v) for v in vectors)
    assert [any(lattice.remainder(v)) for v in others] == [not reached(vectors, v) for v in others]


@pytest.mark.parametrize("seed", range(40))
def test_remainders_do_not_see_the_lattice(seed: int) -> None:
    vectors, others = random_vectors(seed)
    lattice, generator = Lattice(vectors), random.Random(seed)
    again = Lattice(lattice.basis)
    for vector in others:
        moved = vector
        for along in vectors:
            times = generator.randint(-9, 9)
            moved = tuple(a + times * b for a, b in zip(moved, along, strict=True))
        assert lattice.remainder(moved) == lattice.remainder(vector) == again.remainder(vector)


def test_a_witness_tells_a_vector_from_the_lattice() -> None:
    told = missed = 0
    for seed in range(200):
        vectors, others = random_vectors(seed)
        lattice = Lattice(vectors)
        for vector in others:
            weights = lattice.witness(vector)
            if weights is None:
                missed += any(lattice.remainder(vector))
                continue
            told += 1
            assert any(lattice.remainder(vector))
            assert scalar(weights, vector) % 1
            assert not any(scalar(weights, v) % 1 for v in vectors)
    assert told >= 500
    assert missed < told


def test_even_numbers_and_one_that_is_odd() -> None:
    lattice = Lattice([(2, 0), (0, 2), (1, 1)])
    assert lattice.remainder((3, 4)) == (0, 1)
    weights = lattice.witness((3, 4))
    assert weights is not None
    assert scalar(weights, (3, 4)) % 1
    lattice.add((0, 1))
    assert lattice.witness((3, 4)) is None
    assert not any(lattice.remainder((3, 4)))
