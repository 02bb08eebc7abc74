"""The verifier's own argument for intervals that no program is below, against the product's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

import twill
from tests.bounds import stranger
from tests.support.bounded import varied
from tests.support.sampled import sampled
from tests.support.small import crowded_loop, random_loop, tight_loop
from tests.support.static import static_schedule
from twill.artifacts.machine import Machine
from twill.artifacts.proof import Measured, Promise
from twill.bounds.programs import program_bound, program_bounds
from twill.frontends import load_loop, packaged_loops
from twill.verification.promise import check_program_bound

MORE = 1.001


def agree(loop: twill.Loop, machine: Machine) -> None:
    """Let the verifier and a stranger judge every argument, and the verifier a little more."""
    document = {
        "loop": loop.model_dump(mode="json"),
        "machine": {"contexts": {"value": machine.contexts.value}},
    }
    for latency in (None, 1):
        arguments = program_bounds(loop, machine, latency=latency)
        recurrences = [a.cycles for a in arguments if a.reason == "recurrence"]
        # Of a pipe and its contexts' most, the larger one comes first.
        for argument in {(a.reason, a.of): a for a in reversed(arguments)}.values():
            bound = argument.bound
            if latency is None:
                assert stranger.check(document | {"bound": bound.model_dump(mode="json")})
            assert not [*check_program_bound(loop, machine, bound, latency=latency)], argument
            if argument.cycles >= max(recurrences, default=0):
                whole = argument.reason == "registers of groups"
                more = bound.model_copy(update={"cycles": bound.cycles * MORE + whole})
                assert [*check_program_bound(loop, machine, more, latency=latency)], argument


@pytest.mark.parametrize("name", sampled(packaged_loops(), 3))
def test_both_argue_alike_for_packaged_loops(name: str) -> None:
    agree(load_loop(name), Machine.named(packaged_loops()[name].machine))


def test_both_argue_alike_for_loops_that_lack_registers() -> None:
    reasons = set()
    for seed in range(100):
        loop, machine = crowded_loop(seed)
        agree(loop, machine)
        reasons.add(program_bounds(loop, machine)[0].reason)
    assert "registers of groups" in reasons


def test_both_argue_alike_for_random_loops() -> None:
    for seed in range(60):
        loop, machine = (tight_loop if seed % 2 else random_loop)(seed // 2)
        agree(*varied(loop, machine, seed))


@pytest.mark.slow
@pytest.mark.nightly
def test_both_argue_alike_for_many_random_loops() -> None:
    for seed in range(60, 1500):
        loop, machine = (tight_loop if seed % 2 else random_loop)(seed // 2)
        agree(*varied(loop, machine, seed))


@pytest.mark.parametrize(
    ("reason", "of"),
    [
        ("luck", ("tc",)),
        ("work", ()),
        ("work", ("nothing",)),
        ("issue slots", ("tc",)),
        ("commands", ("nothing",)),
        ("memory", ("registers",)),
        ("registers", ()),
    ],
)
def test_what_is_no_reason_is_refused(reason: str, of: tuple[str, ...]) -> None:
    loop, machine = load_loop("fa_fwd_hopper"), Machine.named("hopper_h100")
    kept = next((a.bound for a in program_bounds(loop, machine) if a.reason == reason), None)
    bound = (kept or program_bound(loop, machine)).model_copy(
        update={"cycles": 1.0, "reason": reason, "of": of}
    )
    (message,) = check_program_bound(loop, machine, bound)
    about = f"the bound of 1 cycles by {reason} of {', '.join(of) or 'nothing'}"
    assert message == f"{about} is not what its certificate is about"


@pytest.mark.parametrize("of", [(), ("nothing",), ("o0", "o1"), ("o0", "o0.mul", "o0", "o0.mul")])
def test_a_recurrence_of_other_operations_is_refused(of: tuple[str, ...]) -> None:
    loop, machine = load_loop("fa_fwd_hopper"), Machine.named("hopper_h100")
    bound = next(a.bound for a in program_bounds(loop, machine) if a.reason == "recurrence")
    (message,) = check_program_bound(loop, machine, bound.model_copy(update={"of": of}))
    assert message.endswith("is not what its certificate is about")


def test_more_than_a_reason_gives_is_named() -> None:
    loop, machine = load_loop("fa_fwd_hopper"), Machine.named("hopper_h100")
    bound = program_bound(loop, machine).model_copy(update={"cycles": 2277.0})
    assert [*check_program_bound(loop, machine, bound)] == [
        "the bound of 2277 cycles by register slots: case 0 adds up to 1 T >= 2276"
    ]


def alone(distance: int, *, others: bool = True) -> tuple[twill.Loop, Machine]:
    """Return a product in registers, the only asynchronous operation, that is accumulated.

    `others`: whether there is something else, which has a longer recurrence.
    """
    with twill.LoopBuilder("alone") as loop:
        a = loop.given("a", (64, 64), "f16", memory="smem")
        b = loop.given("b", (64, 64), "f16", memory="smem")
        o = loop.carried("o", (64, 64), distance=distance)
        if others:
            x = loop.carried("x", (64, 64))
            x.assign(loop.exp2(x))
        o += a @ b
    return loop.build(), Machine.named("hopper_h100")


def by_named_barriers() -> tuple[twill.Loop, Machine]:
    """Return a recurrence over the one product, on a machine whose named barriers cost less."""
    with twill.LoopBuilder("circle") as loop:
        b = loop.given("b", (64, 64), "f16", memory="smem")
        x = loop.carried("x", (64, 64))
        x.assign(loop.exp2(x).cast("f16") @ b)
    machine = Machine.named("hopper_h100")
    named = machine.synchronisation.model_copy(
        update={"wait": machine.synchronisation.wait.model_copy(update={"value": 2})}
    )
    costs = machine.synchronisation.model_copy(update={"named": named})
    return loop.build(), machine.model_copy(update={"synchronisation": costs})


@pytest.mark.parametrize(
    "made",
    [partial(alone, 1), partial(alone, 1, others=False), partial(alone, 2), by_named_barriers],
    ids=["alone", "nothing else", "two accumulators", "named barriers"],
)
def test_both_argue_alike_at_corners(made: Callable[[], tuple[twill.Loop, Machine]]) -> None:
    agree(*made())


def test_two_accumulators_take_registers_twice() -> None:
    def registers(distance: int) -> float:
        found = program_bounds(*alone(distance))
        return next(float(a.cycles) for a in found if a.reason == "registers")

    assert registers(2) > registers(1)


def test_named_barriers_count_where_they_cost_less() -> None:
    loop, machine = by_named_barriers()
    usual = Machine.named("hopper_h100")
    (less, more) = (
        next(a for a in program_bounds(loop, m) if a.reason == "recurrence")
        for m in (machine, usual)
    )
    assert more.cycles - less.cycles == usual.synchronisation.wait.value - 2


@pytest.mark.parametrize(("latency", "holds"), [("nominal", True), ("uniform:0,900", False)])
def test_a_load_whose_latency_is_drawn_may_take_no_time(latency: str, *, holds: bool) -> None:
    loop, machine = load_loop("gemm_two_tiles_hopper"), Machine.named("hopper_h100")
    bound = next(a.bound for a in program_bounds(loop, machine) if a.reason == "memory")
    schedule = static_schedule(loop, machine)
    measured = Measured(warp_scheduler="oldest", latency=latency, interval_cycles=9999.0)
    promise = Promise(interval_cycles=9999.0, iterations=64, conditions=(measured,), bound=bound)
    told = twill.verify(schedule.model_copy(update={"promise": promise})).violations
    assert bool(told) is not holds


def test_what_is_promised_is_what_the_first_conditions_took() -> None:
    one = Measured(warp_scheduler="oldest", latency="nominal", interval_cycles=631.0)
    assert Promise(interval_cycles=631.0, iterations=64, conditions=(one,)).gap is None
    with pytest.raises(ValueError, match=r"that of the first conditions \(got 500 and 631\)"):
        Promise(interval_cycles=500.0, iterations=64, conditions=(one,))
    with pytest.raises(ValueError, match="at least 1 item"):
        Promise(interval_cycles=500.0, iterations=64, conditions=())
