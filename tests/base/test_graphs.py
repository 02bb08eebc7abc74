"""Walks over graphs."""

from __future__ import annotations

from collections import Counter

from twill.base.graphs import reached


def test_every_node_of_a_walk_is_found_the_first_ones_among_them() -> None:
    after = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["a"], "e": ["a"]}
    assert reached(["a"], after.__getitem__) == {"a", "b", "c", "d"}
    assert reached(iter("ec"), after.__getitem__) == set("abcde")
    assert reached([], after.__getitem__) == set()


def test_each_node_is_asked_once_however_many_paths_lead_to_it() -> None:
    asked: Counter[int] = Counter()

    def following(node: int) -> list[int]:
        asked[node] += 1
        return [node + 1, node + 2] if node < 60 else []

    assert reached([0], following) == set(range(62))
    assert set(asked.values()) == {1}
