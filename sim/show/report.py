"""A run as text for people: what was achieved, where the cycles went, what sets the pace."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Sequence

from twill.console import say, table
from twill.sim.analysis.advice import WORTH, Advice
from twill.sim.analysis.profile import Critical, Link, Profile, Spent, links
from twill.sim.analysis.whole_kernel import Kernel
from twill.sim.execute import Run
from twill.sim.show.report_checks import print_checks

WIDTH = 80
LEAST_SHARE = 0.005
MOST_LINKS = 14
MOST_SUBJECTS = 34
"""Characters of a list of operations in a table."""


def print_run(result: Run) -> None:
    """Print what a run achieved, where its units and its groups spent their time.

    `result`: the run; with a profile it is told what sets the pace, with advice what to change.
    """
    _print_achieved(result)
    if result.utilization:
        _print_units(result)
    if result.profile is None:
        _print_groups(result)
    else:
        _print_profile(result.profile)
        if result.profile.critical is not None:
            _print_pace(result.profile.critical)
    if result.advice is not None:
        _print_advice(result.advice)
    if result.checks is not None:
        print_checks(result.checks)


def _print_achieved(result: Run) -> None:
    measured, static = result.measured_interval_cycles, result.static_interval_cycles
    plural = "" if result.iterations == 1 else "s"
    conditions = (
        f"{result.schedule} on {result.machine}, {result.iterations} iteration{plural}, "
        f"{result.latency} load latency, seed {result.seed}"
    )
    say(textwrap.fill(conditions, WIDTH, break_long_words=False, break_on_hyphens=False))
    _print_conditions(result)
    if measured is None:
        say(f"too few iterations for a steady state; {result.total_cycles:.0f} cycles in all")
    else:
        period = {None: "", 1: ", each the same"}.get(
            result.period, f", repeating every {result.period}"
        )
        say(f"measured interval {measured:.6g} cycles{period}")
        say(f"{1000 / measured:.4g} iterations per kilocycle; {_how_certain(result)}")
    if static is not None:
        verdict = {True: "achieved", False: "NOT achieved", None: "not comparable"}
        say(
            f"static interval {static:.6g} cycles: {verdict[result.achieved]} (tolerance "
            f"{result.tolerance:.1%})"
        )
    if result.tflops is not None:
        say(
            f"{result.tflops:.1f} TFLOP/s of the chip at {result.clock_mhz:g} MHz "
            f"({result.flop_per_iteration / 1e6:.4g} MFLOP per iteration and SM)"
        )


def _print_conditions(result: Run) -> None:
    """Print under which conditions it ran, as far as they are not the usual ones."""
    if result.warp_scheduler != "round-robin":
        say(f"warp scheduler: {result.warp_scheduler}")
    if result.bundle > 1:
        error = "unknown" if result.bundle_error is None else f"{result.bundle_error:+.2%}"
        say(f"bundles of {result.bundle} instructions: error against 1 is {error}")
    if result.interference:
        say("units slow each other down")
    if result.without:
        say(f"switched off: {', '.join(result.without)}")


def _how_certain(result: Run) -> str:
    first = result.warm_up_iterations or 0
    warm_up = f"warm-up {first} iteration{'' if first == 1 else 's'}"
    found = result.confidence
    if found is None:
        return warm_up
    doubt = "" if found.believable else "\nbatch means are not independent: run more iterations"
    return (
        f"{warm_up}\n95 % confidence +-{found.half_width_cycles:.3g} cycles ({found.batches} "
        f"batches of {found.batch_iterations} iterations){doubt}"
    )


def _print_units(result: Run) -> None:
    rows = [[unit, f"{share:.1%}"] for unit, share in result.utilization.items()]
    if result.profile is not None:
        slots = result.profile.issue_slots
        rows += [[f"issue context {k}", f"{share:.1%}"] for k, share in enumerate(slots)]
    table(["unit", "utilization"], rows, right={"utilization"})


def _print_groups(result: Run) -> None:
    rows = []
    for group, stalls in result.groups.items():
        whole = max(result.total_cycles, sum(stalls.values())) or 1.0
        for cause, cycles in sorted(stalls.items(), key=lambda item: -item[1]):
            share = f"{cycles / whole:.1%}"
            rows.append([group, cause, f"{cycles / result.iterations:.1f}", share])
    headings = ["group", "spent on", "cycles per iteration", "share of time"]
    table(headings, rows, right={*headings[2:]})


# -- where the cycles went --------------------------------------------------------------------


def _print_profile(profile: Profile) -> None:
    rows = [
        [s.group, _cause(s), s.value, f"{s.cycles:.1f}", f"{s.share:.1%}"]
        for s in _gathered(profile.groups)
        if s.share >= LEAST_SHARE
    ]
    headings = ["group", "spent on", "for value", "cycles/iter.", "share"]
    table(headings, rows, right={*headings[3:]})


def _gathered(groups: Sequence[Spent]) -> list[Spent]:
    """Add up what is many small things: signals themselves, operands, turns on pipes."""
    small = ("synchronisation", "scoreboard", "pipe", "issue slot")
    sums: dict[tuple[str, str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for spent in groups:
        subject, value = ("", "") if spent.cause in small else (spent.subject, spent.value)
        total = sums[spent.group, spent.cause, subject, value]
        total[0] += spent.cycles
        total[1] += spent.share
    order = {group: number for number, group in enumerate(dict.fromkeys(s.group for s in groups))}
    found = [
        Spent(group=g, cause=c, subject=s, value=v, cycles=cycles, share=share)
        for (g, c, s, v), (cycles, share) in sums.items()
    ]
    return sorted(found, key=lambda spent: (order[spent.group], -spent.cycles))


def _cause(spent: Spent) -> str:
    return {
        "barrier": f"wait at {spent.subject}",
        "completion": f"wait for {spent.subject}",
        "synchronisation": "waits and arrives themselves",
        "scoreboard": "operands in registers",
        "pipe": "busy pipes",
        "issue slot": "taken issue slots",
    }.get(spent.cause, f"{spent.cause} {spent.subject}".strip())


# -- what sets the pace -----------------------------------------------------------------------


def _print_pace(critical: Critical) -> None:
    say(textwrap.fill(f"What sets the pace: {critical.words}", WIDTH))
    chain = links(critical.steps)
    if len(chain) < 2:
        say()
        return
    rows = [_link_row(link, critical) for link in _shortened(chain)]
    headings = ["in this order", "what", "cycles", "share"]
    table(headings, rows, right={"cycles", "share"})


def _shortened(chain: list[Link]) -> list[Link]:
    """Keep the longest links, in their order."""
    enough = sorted((link.cycles for link in chain), reverse=True)[:MOST_LINKS][-1]
    kept = [link for link in chain if link.cycles >= enough][:MOST_LINKS]
    rest = sum(link.cycles for link in chain) - sum(link.cycles for link in kept)
    if rest > 0:
        kept.append(Link(place="elsewhere", working=True, subjects=(), cycles=rest))
    return kept


def _link_row(link: Link, critical: Critical) -> list[str]:
    what = _subjects(link.subjects)
    return [
        link.place,
        what if link.working else f"({what} under way)",
        f"{link.cycles:.6g}",
        f"{link.cycles / critical.cycles:.1%}",
    ]


def _subjects(names: Sequence[str]) -> str:
    text = ", ".join(names)
    if len(text) <= MOST_SUBJECTS:
        return text
    return f"{names[0]} to {names[-1]}, {len(names)} in all"


# -- what to change ---------------------------------------------------------------------------


def _print_advice(advice: Sequence[Advice]) -> None:
    worth = [one for one in advice if one.gain >= WORTH]
    if not worth:
        say(f"Nothing of {len(advice)} changes that were tried makes it faster.")
        return
    rows = [
        [
            one.what,
            f"{one.interval_cycles:.6g}",
            f"{one.gain:.1%}",
            "" if not one.needs else "yes" if one.fits else "NO",
        ]
        for one in worth
    ]
    headings = ["what to change, tried", "cycles/iter.", "saved", "fits"]
    table(headings, rows, right={*headings[1:3]})
    for one in worth:
        if one.needs:
            say(textwrap.fill(f"{one.what}: needs {one.needs}", WIDTH))
    say(f"{len(advice) - len(worth)} other changes that were tried save less than {WORTH:.1%}.")


# -- the whole kernel -------------------------------------------------------------------------


def print_kernel(found: Kernel) -> None:
    """Print a table of estimates."""
    how = "persistent blocks" if found.persistent else "a block for each tile"
    heads = ", ".join(dict.fromkeys(f"{e.heads}" for e in found.estimates))
    say(
        f"kernel: {heads} heads, tiles of {found.rows} rows, {found.step} rows in an iteration,\n"
        f"{how}, at {found.clock_mhz:g} MHz"
    )
    columns = [
        "sequence",
        "batch",
        "tiles",
        "iter.",
        "before",
        "loop",
        "after",
        "us",
        "TFLOP/s",
    ]
    rows = [
        [
            f"{e.sequence}",
            f"{e.batch}",
            f"{e.tiles_per_multiprocessor}",
            f"{e.iterations}",
            f"{e.prologue_cycles:.0f}",
            f"{e.loop_cycles:.0f}",
            f"{e.epilogue_cycles:.0f}",
            f"{e.microseconds:.1f}",
            f"{e.tflops:.1f}",
        ]
        for e in found.estimates
    ]
    table(columns, rows, right=set(columns))
    say("tiles are those of one SM; before, loop and after are cycles of one tile")
    if found.not_costed:
        say(f"no rule, counted as nothing: {', '.join(found.not_costed)}")
