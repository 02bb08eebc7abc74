"""What polishing brought, as text and as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from twill.artifacts.proof import Promise
from twill.base.console import paragraph, say
from twill.base.formats import cycles, percent, plural, signed_percent
from twill.show.differences import Comparison, differences_data, print_differences
from twill.show.proof import why
from twill.show.schedule import print_schedule

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule
    from twill.polish import Polished


# Differences that follow from others where one of two schedules has no static times.
OF_TIMES = ("time", "starts", "signals")
MET = 0.0005  # part by which an interval that is measured may be above a bound that it meets


def polished_data(polished: Polished) -> dict[str, Any]:
    """Return a polished schedule's promise, and what changed, as plain data."""
    promise = polished.schedule.promise
    assert promise is not None
    return {
        "name": polished.schedule.name,
        "machine": polished.schedule.machine.name,
        "given_cycles": polished.given_cycles,
        "objection": polished.objection,
        "origin": polished.origin,
        "others": [asdict(other) for other in polished.others],
        "promise": promise.model_dump(exclude_none=True),
        "changes": differences_data(Comparison(polished.given, polished.schedule)),
    }


def print_polished(polished: Polished) -> None:
    """Print what changed, and what is promised."""
    promise = polished.schedule.promise
    assert promise is not None
    if polished.schedule.programs != polished.given.programs:
        changes = Comparison(polished.given, polished.schedule)
        print_differences(changes, without=OF_TIMES)
        say()
    _print_promise(polished, promise)


def print_answer(polished: Polished, static: Schedule) -> None:
    """Print the program that was found, and in a line the static schedule that it came from."""
    written, proof = polished.schedule, static.proof
    promise = written.promise
    assert promise is not None
    print_schedule(written)
    if written.initiation_interval is None and static.initiation_interval is not None:
        stages = plural(static.stages or 0, "stage")
        told = f"static schedule: interval {static.initiation_interval}, {stages}"
        if proof is not None:
            told += f"; {why(proof.bound)}"
        paragraph(told)
    _print_promise(polished, promise)


def _print_promise(polished: Polished, promise: Promise) -> None:
    paragraph(promise_words(promise))
    if polished.given_cycles is not None:
        change = signed_percent(promise.interval_cycles / polished.given_cycles - 1)
        faster = polished.schedule.programs != polished.given.programs
        origin = f", from it with {polished.origin}" if polished.origin else ""
        said = f"{change}{origin}" if faster else _nothing_faster(polished)
        paragraph(f"{cycles(polished.given_cycles)} cycles as it was given; {said}")
    elif polished.objection:
        paragraph(f"as it was given it is no answer: {polished.objection}")
    for other in polished.others:
        paragraph(f"{cycles(other.cycles)} cycles from it with {other.origin or 'the same roles'}")


def _nothing_faster(polished: Polished) -> str:
    promise = polished.schedule.promise
    if promise is not None and promise.simulations:
        return f"nothing faster was found among {promise.simulations} programs"
    met = promise is not None and promise.gap is not None and promise.gap <= MET
    return "nothing is faster" if met else "no other was looked at"


def promise_words(promise: Promise) -> str:
    """Return what is promised, in a sentence or two."""
    first, *others = promise.conditions
    over = plural(promise.iterations, "iteration")
    taken = f"{cycles(promise.interval_cycles)} cycles an iteration on the simulated SM"
    said = [f"{taken}, measured over {over}"]
    for other in others:
        change = other.interval_cycles / first.interval_cycles - 1
        how = [f"warps {other.warp_scheduler}"] * (other.warp_scheduler != first.warp_scheduler)
        how += [f"latency {other.latency}"] * (other.latency != first.latency)
        said.append(f"{' and '.join(how)}: {signed_percent(change)}")
    if promise.bound is not None:
        about = f"{promise.bound.reason}: {', '.join(promise.bound.of)}"
        least = f"no program takes fewer than {cycles(promise.bound.cycles)} ({about})"
        met = promise.gap is not None and promise.gap <= MET
        said.append(f"optimal: {least}" if met else least)
        if promise.gap is not None and not met:
            said.append(f"{percent(promise.gap)} is not known")
    return "; ".join(said)
