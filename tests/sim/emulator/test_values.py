"""Elements of 8 bits, against what the format says and against a search for the nearest value."""

from __future__ import annotations

import numpy as np
import pytest

from twill.sim.emulator.values import DTYPES, EIGHT_BITS

# OCP 8-bit Floating Point Specification (2023), table 1: the largest number, the least one.
PUBLISHED = {"float8_e4m3fn": (448.0, 2.0**-9), "float8_e5m2": (57344.0, 2.0**-16)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_extreme_values_are_the_published_ones(name: str) -> None:
    positive = EIGHT_BITS[name][:128]
    finite = positive[np.isfinite(positive)]
    assert (finite.max(), finite[finite > 0].min()) == PUBLISHED[name]
    assert np.isinf(positive).any() == (name == "float8_e5m2")


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_byte_is_stored_and_read_as_it_is(name: str) -> None:
    numbers = np.arange(256)[~np.isnan(EIGHT_BITS[name])].astype(np.uint8)
    dtype = DTYPES[name]
    assert (dtype.packed(dtype.unpacked(numbers)) == numbers).all()


@pytest.mark.parametrize("name", PUBLISHED)
def test_numbers_are_rounded_to_the_nearest_and_to_even(name: str) -> None:
    """All halves between neighbours, and what is a little beside them."""
    values = EIGHT_BITS[name].astype(np.float64)
    finite = np.unique(values[np.isfinite(values)])
    halves = (finite[1:] + finite[:-1]) / 2
    numbers = np.concatenate([halves, np.nextafter(halves, np.inf), np.nextafter(halves, -np.inf)])
    found = DTYPES[name].rounded(numbers).astype(np.float64)
    for number, one in zip(numbers, found, strict=True):
        apart = np.abs(finite - number)
        nearest = finite[apart == apart.min()]
        even = [n for n in nearest if int(DTYPES[name].packed(np.array([n]))[0]) % 2 == 0]
        assert one == (nearest[0] if len(nearest) == 1 else even[0])


def test_what_is_too_large_is_infinite_or_no_number() -> None:
    assert DTYPES["float8_e5m2"].rounded(np.array([61440.0, -1e9])).tolist() == [np.inf, -np.inf]
    rounded = DTYPES["float8_e4m3fn"].rounded(np.array([464.0, 465.0, np.inf, np.nan]))
    assert rounded[0] == 448
    assert np.isnan(rounded[1:]).all()
