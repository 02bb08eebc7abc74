"""Answers of functions of what never changes, kept by which arguments they were given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def by_identity(most: int) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Return a decorator that keeps answers, at most so many, for the same objects once more.

    Equal ones are others: loops and machines take longer to compare than most answers.
    """

    def decorate(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
        # Beside each answer what was asked about, so that nothing else gets its number.
        kept = dict[tuple[object, ...], tuple[object, Answer]]()

        @functools.wraps(function)
        def answer(*given: Given.args, **named: Given.kwargs) -> Answer:
            key = (*map(id, given), *((name, id(value)) for name, value in named.items()))
            found = kept.get(key)
            if found is None:
                found = (given, named), function(*given, **named)
                if len(kept) >= most:
                    kept.clear()
                kept[key] = found
            return found[1]

        return answer

    return decorate
