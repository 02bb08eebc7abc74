"""Strategies of schedules written by hand, with one property destroyed, and solved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import twill
from tests.validation.blackwell_orders import flash_attention_4_order
from tests.validation.make_orders import flash_attention_3_order
from twill.artifacts.order import Order
from twill.frontends import packaged_loops, schedules
from twill.studies.reproduce.strategy import (
    FEATURES,
    STRATEGIES,
    Strategy,
    Windows,
    executed,
    roles_of,
    scheduled,
)

Document = dict[str, Any]
FA3, FA4 = "FlashAttention-3", "FlashAttention-4"


def classified(order: Document) -> Strategy:
    schedule = schedules.scheduled(Order.from_json(json.dumps(order)))
    return Strategy(schedule, executed(schedule))


def group(order: Document, name: str) -> list[Any]:
    found = next(g for g in order["groups"] if g["name"] == name)
    body: list[Any] = found["body"]
    return body


@pytest.fixture(scope="module")
def fa3() -> Strategy:
    return classified(flash_attention_3_order(128))


@pytest.fixture(scope="module")
def fa4() -> Strategy:
    return classified(flash_attention_4_order())


# -- as their sources have them ---------------------------------------------------------------


def test_flash_attention_3_is_named(fa3: Strategy) -> None:
    assert fa3.names == (FA3,)
    both = ("first product {}", "later product {}", "rescaling {}", "softmax {}")
    assert fa3.groups == {
        "load": ("load",),
        "tile0": tuple(text.format(0) for text in both),
        "tile1": tuple(text.format(1) for text in both),
    }
    assert fa3.hoisted == fa3.ahead == {0: True, 1: True}
    assert fa3.crossing == ("tile0", "tile1")
    assert set(fa3.lacks(FA4)) == {
        "products on a group of their own",
        "rescaling of all sub-tiles on a third group",
    }


def test_flash_attention_4_is_named(fa4: Strategy) -> None:
    assert fa4.names == (FA4,)
    assert fa4.groups["mma"] == tuple(
        f"{which} product {tile}" for which in ("first", "later") for tile in (0, 1)
    )
    assert fa4.groups["correction"] == ("rescaling 0", "rescaling 1")
    assert [fa4.groups[f"softmax{i}"] for i in (0, 1)] == [("softmax 0",), ("softmax 1",)]
    assert fa4.hoisted == {0: True, 1: True}
    assert fa4.ahead == {0: False, 1: False}  # PV before the next QK^T, as its source issues them


def test_what_overlaps_follows_from_the_order(fa3: Strategy) -> None:
    """S of one group, O of the last iteration and both of the other group keep the TC busy."""
    assert fa3.under_others[0] == pytest.approx(fa3.under_others[1])
    assert 0.85 < fa3.under_others[0] <= 1.0
    # PV of the last iteration runs 512 cycles, of which the maximum and the rest take most.
    assert 0.0 < fa3.under_own[0] < 0.5


# -- one property destroyed -------------------------------------------------------------------


def products_not_hoisted(order: Document) -> None:
    group(order, "mma")[:] = ["S0", "S1", "O0_a", "O0", "O1_a", "O1"]


def one_product_not_hoisted(order: Document) -> None:
    later = [{"do": "issue", "operation": name, "stage": 1} for name in ("O0_a", "O0")]
    group(order, "mma")[:] = [*later, "S0", "S1", "O1_a", "O1"]


def one_rescaling_on_its_softmax_group(order: Document) -> None:
    group(order, "correction").remove("X0")
    body = group(order, "softmax0")
    body.insert(body.index("a0") + 1, "X0")


def each_rescaling_on_a_group(order: Document) -> None:
    group(order, "correction").remove("X1")
    order["groups"].append({"name": "correction1", "warps": 4, "registers": 24, "body": ["X1"]})


def sums_of_a_tile_on_the_other_group(order: Document) -> None:
    group(order, "softmax0").remove("l0.mul")
    group(order, "softmax1").append("l0.mul")


DESTROYED: list[tuple[Callable[[Document], None], set[str]]] = [
    (products_not_hoisted, {"first product of every sub-tile hoisted"}),
    (one_product_not_hoisted, {"first product of every sub-tile hoisted"}),
    (one_rescaling_on_its_softmax_group, {"rescaling of all sub-tiles on a third group"}),
    (each_rescaling_on_a_group, {"rescaling of all sub-tiles on a third group"}),
    (sums_of_a_tile_on_the_other_group, {"each sub-tile's softmax on a group of its own"}),
]


@pytest.mark.parametrize(("destroy", "lost"), DESTROYED, ids=lambda x: getattr(x, "__name__", ""))
def test_flash_attention_4_without_one_property(
    destroy: Callable[[Document], None], lost: set[str]
) -> None:
    order = flash_attention_4_order()
    destroy(order)
    schedule = schedules.scheduled(Order.from_json(json.dumps(order)))
    found = Strategy(schedule, executed(schedule))
    assert found.names == ()
    # What was destroyed may keep the products from overlapping as well; nothing else is touched.
    assert set(found.lacks(FA4)) - {"exponentials under other sub-tiles' products"} == lost


def test_flash_attention_3_without_overlap_hoists_nothing(fa3: Strategy) -> None:
    found = classified(flash_attention_3_order(128, overlap=False))
    assert found.lacks(FA3) == ["first product of some sub-tile hoisted"]
    assert found.hoisted == found.ahead == {0: False, 1: False}
    assert found.under_own == {0: 0.0, 1: 0.0}
    assert found.crossing == ()
    changed = {f for f in FEATURES if fa3.features[f] != found.features[f]}
    assert changed == {
        "first product of every sub-tile hoisted",
        "first product of some sub-tile hoisted",
    }


def test_flash_attention_3_without_turns_does_not_ping_pong() -> None:
    with_turns = classified(flash_attention_3_order(128, overlap=False))
    without = classified(flash_attention_3_order(128, overlap=False, ping_pong=False))
    feature = "exponentials under other sub-tiles' products"
    assert with_turns.features[feature]
    assert not without.features[feature]
    assert without.lacks(FA3) == ["first product of some sub-tile hoisted", feature]


def test_one_group_that_rescales_for_the_other_is_not_flash_attention_3() -> None:
    order = flash_attention_3_order(128)
    group(order, "tile0").remove("X0")
    group(order, "tile1").append("X0")
    assert classified(order).lacks(FA3) == ["rescaling on the softmax groups"]


def test_every_property_of_a_strategy_is_one_that_is_tested_for() -> None:
    for features in STRATEGIES.values():
        assert set(features) <= set(FEATURES)


# -- solved schedules and loops ---------------------------------------------------------------


def test_the_running_example_is_hoisted_and_its_exponential_hidden(
    paper_schedule: twill.Schedule,
) -> None:
    """I = 2, S at 0, P at 2, O at 3 (Figure 1d): P is in S's slot, O's S is a round before."""
    found = Strategy(paper_schedule)
    assert found.hoisted == {0: True}
    assert found.ahead == {0: True}  # S of the next iteration at 2, O at 3
    assert found.under_own == {0: 1.0}
    assert found.features["exponentials under products"]
    assert not found.features["exponentials under other sub-tiles' products"]


def test_simulated_and_scheduled_agree_on_the_running_example(
    paper_schedule: twill.Schedule,
) -> None:
    assert Strategy(paper_schedule, executed(paper_schedule)).under_own == {0: 1.0}


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_those_of_cycles_counted_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    interval, long = 40, 8
    starts = {name: int(rng.integers(0, 90)) for name in "abcd"}
    lengths = {name: int(rng.integers(1, 35)) for name in "abcd"}
    windows = {
        name: {
            i: (starts[name] + i * interval, starts[name] + i * interval + lengths[name])
            for i in range(-long, long)
        }
        for name in "abcd"
    }
    busy = np.zeros(interval, dtype=bool)
    for name in "cd":
        busy[np.arange(starts[name], starts[name] + lengths[name]) % interval] = True
    mine = [np.arange(starts[n], starts[n] + lengths[n]) % interval for n in "ab"]
    expected = float(np.mean(busy[np.concatenate(mine)]))
    found = Windows(windows, range(1), interval).share_under("ab", "cd")
    assert found == pytest.approx(expected)


def test_placed_windows_repeat_every_interval(paper_schedule: twill.Schedule) -> None:
    windows = scheduled(paper_schedule)
    assert windows.of["P"][0] == (2, 3)
    assert windows.of["P"][1] == (4, 5)
    assert windows.share_under(["P"], ["S"]) == 1.0
    assert windows.share_under(["P"], ["O"]) == 0.0


@pytest.mark.parametrize(
    ("name", "rescaling", "staging", "tiles"),
    [
        ("fa_fwd_hopper", ["o0.mul", "o1.mul"], [], 2),
        ("fa_fwd_blackwell", ["o0.tmem_store2", "o1.tmem_store2"], [], 2),
        (
            "fa_bwd_hopper",
            [],
            ["mul", "dq_desc.store.local_store", "dq_desc.store"],
            2,
        ),
        ("fa_bwd_blackwell", [], ["dq_desc.store.local_store", "dq_desc.store"], 2),
        ("attention_forward_hopper", None, [], 1),
    ],
)
def test_roles_of_the_papers_kernels(
    name: str, rescaling: list[str] | None, staging: list[str], tiles: int
) -> None:
    loop = twill.load_loop(name)
    roles = roles_of(loop, twill.Machine.named(packaged_loops()[name].machine))
    assert roles.tiles == list(range(tiles))
    assert roles.named("staging") == staging
    if rescaling is not None:
        assert roles.named("rescaling") == rescaling
    for tile in roles.tiles:
        assert roles.named("first product", tile=tile)
        assert roles.named("later product", tile=tile)
        (exponential,) = [e for e in roles.exponentials if roles.tile[e] == tile]
        assert loop.operation(exponential).kind == "exp2"
    assert set(roles.role) == {o.name for o in loop.operations}


def test_backward_products_belong_to_the_sub_tile_whose_gradient_they_need() -> None:
    loop = twill.load_loop("fa_bwd_hopper")
    roles = roles_of(loop, twill.Machine.named("hopper_h100"))
    assert roles.named("first product", tile=0) == ["s0", "dp0"]
    assert roles.named("later product", tile=0) == ["dv0", "dk0", "dq.mma"]
    assert roles.named("later product", tile=1) == ["dv1", "dk1", "dq"]
