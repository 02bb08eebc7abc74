"""The judge of schedules: every rule of docs/model.md checked from its definition.

The judge shares no code with what makes schedules and imports no solver, only artifacts. The checks
walk over rows and instances instead of reasoning about differences, so that a mistake in one is
unlikely to hide in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from twill.artifacts.bound import BoundFile
from twill.artifacts.schedule import Schedule
from twill.verification import addresses, memory, programs, promise, registers, times
from twill.verification.proof import Trusted, check_proof, conditions, trusted
from twill.verification.reading import read_model
from twill.verification.times import Placed

__all__ = ["RULES", "Trusted", "Verdict", "Violation", "conditions", "verify", "verify_bound"]

MOST_REPORTED = 20


@dataclass(frozen=True)
class Violation:
    """A broken rule: its name and a sentence with both numbers."""

    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True)
class Verdict:
    """Outcome of a verification.

    Attributes
    ----------
    violations : tuple of Violation
        At most 20 a rule; empty if the schedule is valid.
    rules : tuple of str
        Rules that were checked.
    trusted : tuple of Trusted
        Claims of the proof that only an engine has shown.
    within : tuple of str
        Conditions that were asked for: the proof is about schedules that keep them.
    unchecked : tuple of str
        Statements on how the schedule was found, which nothing in it shows.
    rests_on : tuple of str
        Premises of the bound of programs, each to be checked by itself, and what they add up to.
    """

    violations: tuple[Violation, ...]
    rules: tuple[str, ...]
    trusted: tuple[Trusted, ...] = ()
    within: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def verify(schedule: Schedule) -> Verdict:
    """Check a schedule against the model; of one without static times, its programs.

    Parameters
    ----------
    schedule : Schedule
        The schedule, with its loop and machine.

    Raises
    ------
    InputError
        If its loop cannot be costed for its machine.
    """
    model = read_model(schedule.loop, schedule.machine, rules=schedule.rules, scale=schedule.time)
    if schedule.programs and not times.timed(schedule):
        placed = Placed(model, schedule)
        rules = _asked(schedule, UNTIMED)
        unchecked = tuple(promise.unchecked(schedule))
        found = tuple(_violations(placed, rules))
        return Verdict(found, rules, unchecked=unchecked, rests_on=_bound(schedule))
    missing = [Violation("completeness", said) for said in times.incomplete(model, schedule)]
    if missing:
        return Verdict(tuple(missing), ("completeness",))
    placed, rules = Placed(model, schedule), _asked(schedule, RULES)
    return Verdict(
        tuple(_violations(placed, rules)),
        ("completeness", *rules),
        tuple(trusted(placed)),
        tuple(conditions(schedule.proof) if schedule.proof else ()),
        tuple(promise.unchecked(schedule)),
        _bound(schedule),
    )


def verify_bound(file: BoundFile) -> Verdict:
    """Check a bound against its loop and machine: premises, sums of cases, and groups.

    Parameters
    ----------
    file : BoundFile
        The bound with its certificate.

    Raises
    ------
    InputError
        If its loop cannot be costed for its machine.
    """
    found = islice(promise.check_bound_file(file), MOST_REPORTED)
    violations = tuple(Violation("bound", message) for message in found)
    return Verdict(violations, ("bound",), rests_on=tuple(promise.rests_on(file.bound)))


def _bound(schedule: Schedule) -> tuple[str, ...]:
    """Return what the bound of a schedule's programs rests on, if it has one."""
    bound = schedule.promise.bound if schedule.promise else None
    return tuple(promise.rests_on(bound)) if bound else ()


def _asked(schedule: Schedule, rules: Iterable[str]) -> tuple[str, ...]:
    """Return the rules, that of promises for schedules that have one."""
    return tuple(rule for rule in rules if rule != "promise" or schedule.promise is not None)


def _violations(placed: Placed, rules: Iterable[str]) -> Iterator[Violation]:
    for rule in rules:
        for message in islice(RULES[rule](placed), MOST_REPORTED):
            yield Violation(rule, message)


def statistics(placed: Placed) -> Iterator[str]:
    """Figures that follow from the schedule are right."""
    yield from registers.recorded_registers(placed)
    yield from memory.recorded_depths(placed)
    yield from times.unit_of_time(placed)
    yield from times.of_times(placed)


# Checks by the name of the rule, in the order in which they are reported.
RULES: dict[str, Callable[[Placed], Iterator[str]]] = {
    "groups": times.group_widths,
    "variable latency": times.variable_latency,
    "dependence": times.dependence,
    "capacity": times.capacity,
    "turns": times.turns,
    "completion": times.completion,
    "concurrency": times.concurrency,
    "registers": registers.registers,
    "register file": registers.register_file,
    "memory": memory.memory,
    "addresses": addresses.addresses,
    "storage": memory.storage,
    "slots": memory.slots,
    "programs": programs.programs,
    "fences": programs.fences,
    "statistics": statistics,
    "proof": check_proof,
    "promise": promise.promise,
}
# Rules that are checked of programs without static times, as far as they ask for none.
#
# How long an iteration takes, and that nothing is overwritten while it lives, the simulator shows.
UNTIMED = (
    *("groups", "variable latency", "registers", "register file", "storage", "addresses"),
    *("programs", "fences", "statistics", "promise"),
)
