"""A run as text: the interval achieved, cycles by cause, and the chain that sets the pace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from twill.base.console import paragraph, say
from twill.base.formats import (
    count,
    cycles,
    megahertz,
    number,
    percent,
    plural,
    signed_percent,
    tenths,
    teraflops,
)
from twill.base.tables import Column, Table
from twill.sim.analysis.profile import Critical, Link, Profile, Spent, links
from twill.sim.analysis.whole_kernel import Kernel
from twill.sim.checks import Checks
from twill.sim.checks.values import Numbers
from twill.sim.execute import Run
from twill.sim.promise import Kept

# Causes of many small stalls, in words.
SMALL = {
    "synchronisation": "waits and arrives themselves",
    "scoreboard": "operands in registers",
    "pipe": "busy pipes",
    "issue slot": "taken issue slots",
}
LEAST_SHARE = 0.005
MOST_LINKS = 14
MOST_SUBJECTS = 34  # characters of a list of operations in a table
OF_REGISTERS = "registers of "


def print_run(result: Run) -> None:
    """Print what a run achieved, and where its units and its groups spent their time.

    A profile adds the chain that sets the pace.
    """
    _print_conditions(result)
    _print_achieved(result)
    if result.utilization:
        units = list(result.utilization.items())
        if result.profile is not None:
            slots = enumerate(result.profile.issue_slots)
            units += [(f"issue context {k}", share) for k, share in slots]
        Table([Column("unit"), Column("utilization", form=percent)], units).print()
    if result.profile is None:
        _print_groups(result)
    else:
        stalls_table(result.profile).print()
        if result.profile.critical is not None:
            print_pace(result.profile.critical)
    if result.checks is not None:
        print_checks(result.checks)
    if result.kernel is not None:
        print_kernel(result.kernel)


def _print_conditions(result: Run) -> None:
    """Print the schedule that ran, and its conditions as far as they are not the usual ones."""
    paragraph(
        f"{result.schedule} on {result.machine}, {plural(result.iterations, 'iteration')}, "
        f"{result.latency} load latency, seed {result.seed}"
    )
    if result.warp_scheduler != "round-robin":
        say(f"warp scheduler: {result.warp_scheduler}")
    if result.without:
        say(f"switched off: {', '.join(result.without)}")


def _print_achieved(result: Run) -> None:
    measured, static = result.measured_interval_cycles, result.static_interval_cycles
    if measured is None:
        say(f"too few iterations for a steady state; {count(result.total_cycles)} cycles in all")
    else:
        period = {None: "", 1: ", each the same"}.get(
            result.period, f", repeating every {result.period}"
        )
        say(f"measured interval {cycles(measured)} cycles{period}")
        say(f"{1000 / measured:.4g} iterations per kilocycle; {_how_certain(result)}")
    if static is not None:
        verdict = {True: "achieved", False: "NOT achieved", None: "not comparable"}
        tolerance = f"(tolerance {percent(result.tolerance)})"
        say(f"static interval {cycles(static)} cycles: {verdict[result.achieved]} {tolerance}")
    modelled = result.modelled_interval_cycles
    if modelled is not None:
        paragraph(
            f"{cycles(modelled)} cycles without register slots, shares of the port and hand-overs "
            "of the GPU, which the static model leaves out"
        )
    taken = modelled or measured
    if static is not None and taken is not None and abs(taken / static - 1) >= LEAST_SHARE:
        paragraph(_beside_promise(taken / static - 1))
    if result.tflops is not None:
        work = f"{result.flop_per_iteration / 1e6:.4g} MFLOP per iteration and SM"
        clock = f"{megahertz(result.clock_mhz)} MHz"
        say(f"{teraflops(result.tflops)} TFLOP/s of the chip at {clock} ({work})")


def _beside_promise(excess: float) -> str:
    """Return why a run takes more or less than the static interval, and the command to improve."""
    if excess > 0:
        return (
            f"{signed_percent(excess)}: waits, arrives, turns on pipes and latency that rings do "
            "not hide are not in the static interval; schedules of one static interval differ in "
            "them: `twill polish` looks for a faster program"
        )
    return (
        f"{signed_percent(excess)}: a program goes on as soon as what it waits for is there, while "
        "the static schedule keeps fixed times"
    )


def _how_certain(result: Run) -> str:
    warm_up = f"warm-up {plural(result.warm_up_iterations or 0, 'iteration')}"
    found = result.confidence
    if found is None:
        return warm_up
    doubt = "" if found.believable else "\nbatch means are not independent: run more iterations"
    return (
        f"{warm_up}\n95 % confidence +-{found.half_width_cycles:.3g} cycles ({found.batches} "
        f"batches of {found.batch_iterations} iterations){doubt}"
    )


# -- where the cycles went --------------------------------------------------------------------


def _print_groups(result: Run) -> None:
    rows = []
    for group, stalls in result.groups.items():
        whole = max(result.total_cycles, sum(stalls.values())) or 1.0
        for cause, spent in sorted(stalls.items(), key=lambda item: -item[1]):
            rows.append((group, cause, spent / result.iterations, spent / whole))
    columns = [Column("group"), Column("spent on"), Column("cycles per iteration", form=tenths)]
    Table([*columns, Column("share of time", form=percent)], rows).print()


def stalls_table(profile: Profile) -> Table:
    """Return the cycles of groups in the steady state, by cause, the longest first."""
    rows = [
        (s.group, _cause(s), s.value, s.cycles, s.share)
        for s in _gathered(profile.groups)
        if s.share >= LEAST_SHARE
    ]
    columns = [Column("group"), Column("spent on"), Column("for value")]
    columns += [Column("cycles per iteration", form=tenths), Column("share", form=percent)]
    return Table(columns, rows)


def _gathered(groups: Sequence[Spent]) -> list[Spent]:
    """Add up what is many small things."""
    sums: dict[tuple[str, str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for spent in groups:
        subject, value = ("", "") if spent.cause in SMALL else (spent.subject, spent.value)
        total = sums[spent.group, spent.cause, subject, value]
        total[0] += spent.cycles
        total[1] += spent.share
    order = {group: place for place, group in enumerate(dict.fromkeys(s.group for s in groups))}
    found = [
        Spent(group=g, cause=c, subject=s, value=v, cycles=spent, share=share)
        for (g, c, s, v), (spent, share) in sums.items()
    ]
    return sorted(found, key=lambda spent: (order[spent.group], -spent.cycles))


def _cause(spent: Spent) -> str:
    waits = {"barrier": f"wait at {spent.subject}", "completion": f"wait for {spent.subject}"}
    return (SMALL | waits).get(spent.cause, f"{spent.cause} {spent.subject}".strip())


# -- what sets the pace -----------------------------------------------------------------------


def print_pace(critical: Critical) -> None:
    """Print the chain that sets the pace."""
    paragraph(f"What sets the pace: {critical.words}")
    table = pace_table(critical)
    if len(table.rows) < 2:
        say()
    else:
        table.print()


def pace_table(critical: Critical) -> Table:
    """Return the longest links of the chain that sets the pace, in their order."""
    chain = links(critical.steps)
    rows = []
    for link in _shortened(chain):
        what = ", ".join(link.subjects)
        if len(what) > MOST_SUBJECTS:
            what = f"{link.subjects[0]} to {link.subjects[-1]}, {len(link.subjects)} in all"
        what = what if link.working else f"({what} under way)"
        rows.append((link.place, what, link.cycles, link.cycles / critical.cycles))
    columns = [Column("in this order"), Column("what"), Column("cycles", form=cycles)]
    return Table([*columns, Column("share", form=percent)], rows)


def _shortened(chain: list[Link]) -> list[Link]:
    """Keep the longest links, in their order."""
    enough = min(sorted((link.cycles for link in chain), reverse=True)[:MOST_LINKS], default=0.0)
    kept = [link for link in chain if link.cycles >= enough][:MOST_LINKS]
    rest = sum(link.cycles for link in chain) - sum(link.cycles for link in kept)
    if rest > 0:
        kept.append(Link(place="elsewhere", working=True, subjects=(), cycles=rest))
    return kept


# -- checks -----------------------------------------------------------------------------------


def print_checks(checks: Checks) -> None:
    """Print the results of a program's checks."""
    say(f"checked over {checks.iterations} iterations: no races")
    if checks.numbers is not None:
        _print_numbers(checks.numbers)
    every = checks.occupancy.items()
    along = [
        f"{name.removeprefix(OF_REGISTERS)} {entry.along_program}"
        for name, entry in every
        if entry.along_program is not None and name.startswith(OF_REGISTERS)
    ]
    notes = [f"registers live along programs: {', '.join(along)}"] if along else []
    if checks.exceeded:
        notes.append(f"EXCEEDED what there is: {', '.join(checks.exceeded)}")
    columns = [Column(heading, form=count) for heading in ("capacity", "allocated")]
    columns += [Column("peak", form=number), Column("mean", form=count), Column("of")]
    rows = [
        (name, e.capacity, e.allocated, e.peak, e.mean, e.unit.removeprefix("registers "))
        for name, e in every
    ]
    Table([Column("occupancy"), *columns], rows, notes=notes).print()


def _print_numbers(numbers: Numbers) -> None:
    if numbers.silent is not None:
        paragraph(
            f"values: {numbers.silent}; all operations but loads compute stand-ins, which show who "
            "reads what but no number of the kernel"
        )
    if not numbers.wrong:
        say(f"values: all {numbers.results} results are those of the loop as written")
    for wrong in numbers.wrong:
        say(
            f"values: {wrong.operation} of iteration {wrong.iteration} is WRONG in "
            f"{wrong.different} of {wrong.elements} elements"
        )
    if numbers.formula_error is not None and numbers.formula_tolerance is not None:
        close = numbers.formula_error <= numbers.formula_tolerance
        say(
            f"values: {'within' if close else 'WRONG,'} {numbers.formula_error:.2g} of the "
            f"formula's largest element (tolerance {numbers.formula_tolerance:.2g})"
        )


# -- the whole kernel -------------------------------------------------------------------------


def print_kernel(found: Kernel) -> None:
    """Print a table of estimates, and one of their time by cause."""
    how = "persistent blocks" if found.persistent else "a block for each tile"
    tile = " x ".join(map(str, found.tile))
    say(f"kernel: tiles of {tile}, {how}, at {megahertz(found.clock_mhz)} MHz")
    notes = ["tiles are those of one SM; before, loop and after are cycles of its longest tile"]
    if found.not_costed:
        notes.append(f"no rule, counted as nothing: {', '.join(found.not_costed)}")
    sizes = list(found.estimates[0].sizes)
    columns = [Column(heading, form=count) for heading in (*sizes, "tiles")]
    columns += [Column("iter.", form=count)]
    columns += [Column(heading, form=count) for heading in ("before", "loop", "after")]
    columns += [Column("time", "us", tenths), Column("TFLOP/s", form=teraflops)]
    rows = []
    for e in found.estimates:
        tiles = e.tiles_per_multiprocessor
        parts = (e.prologue_cycles, e.loop_cycles, e.epilogue_cycles)
        rows.append((*e.sizes.values(), tiles, e.iterations, *parts, e.microseconds, e.tflops))
    Table(columns, rows, notes=notes).print()
    causes = list(found.estimates[0].shares.model_dump())
    columns = [Column(sizes[0], form=count)]
    columns += [Column(cause.replace("_", "\n"), form=percent) for cause in causes]
    lost = [[e.sizes[sizes[0]], *e.shares.model_dump().values()] for e in found.estimates]
    Table(columns, lost, notes=["shares of the time of all SMs"]).print()


def print_kept(runs: Sequence[Kept]) -> None:
    """Print the intervals of runs, compared with those that were promised."""
    for kept in runs:
        said = "as promised" if kept.kept else f"NOT the {cycles(kept.promised)} that are promised"
        taken = "no steady state"
        if kept.measured is not None:
            taken = f"{cycles(kept.measured)} cycles an iteration"
        paragraph(f"executed, {kept.what}: {taken}, {said}")
    if not runs:
        paragraph("executed: it promises no interval")
