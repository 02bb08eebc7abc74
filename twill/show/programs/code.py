"""A schedule as pseudo-code, one program for each warp group, like the paper's Figure 1f."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from twill.artifacts.schedule import Schedule
from twill.show.programs.data import Data, program_data

INDENT = "  "
LEGEND = """\
// await(x, j): blocks until x of iteration j is complete.
// wait(b, parity=p): blocks until the mbarrier's phase of that parity is
//   complete; a fresh one answers parity 1 at once.
"""
NAMED = "// sync(b): a named barrier, at which a wait arrives as well.\n"
FENCES = """\
// fence(): a proxy fence, between what warps do in shared memory and what
//   asynchronous units do there.
"""
SIGNALS = "// x = f(...) -> b: the completion of f arrives at b.\n"
PARTS = """\
// {a..b of c}: the part from cycle a to before cycle b of c cycles of issue.
// interleave: the instructions of these operations alternate in proportion.
"""


def code(schedule: Schedule, iterations: int | None = None) -> str:
    """Return a schedule as pseudo-code.

    `iterations`: trip count n, at least 1; without it n is left open, and is at least the number of
    stages less one.

    Raises
    ------
    InputError
        If the schedule has no programs, or the trip count is below 1.
    """
    data = program_data(schedule, iterations)
    groups = ["\n".join(_group(group)) + "\n" for group in data["groups"]]
    body = "\n".join(groups)
    legend = LEGEND
    legend += NAMED if " sync(" in body else ""
    legend += FENCES if " fence()" in body else ""
    legend += SIGNALS if " -> " in body else ""
    legend += PARTS if "{" in body else ""
    before = "".join(f"{line}\n" for line in _initial(data))
    return _heading(data) + legend + "\n" + (before + "\n" if before else "") + body


def _heading(data: Data) -> str:
    pace = ""
    if data["interval"] is not None:
        unit = "cycles"
        if data["time"] == "normalized":
            unit = f"units of {data['cycles_per_unit']:.3g} cycles"
        pace = f": an iteration every {data['interval']} {unit}"
    least = data["least_iterations"]
    trips = f"n >= {least} iteration{'s (fewer: --iterations N)' if least > 1 else ''}"
    if data["iterations"] is not None:
        trips = f"{data['iterations']} iteration{'s' if data['iterations'] > 1 else ''}"
    return f"// {data['name']} on {data['machine']}{pace}\n// {trips}\n"


def _initial(data: Data) -> Iterator[str]:
    for entry in data["initial"]:
        yield f"{entry['name']} = {entry['value']}()"


def _group(data: Data) -> Iterator[str]:
    yield f"group {data['group']}: {data['warps']} warp{'s' if data['warps'] > 1 else ''}"
    if data["registers"] is not None:
        yield f"{INDENT}setmaxnreg({data['registers']})"
    yield from _indented(_initial(data))
    steady = data["steady_state"]
    if data["prologue"]:
        title = "Prologue." if steady else "Fewer iterations than stages: no steady state."
        yield f"{INDENT}// {title}"
    for number in data["prologue"]:
        yield from _indented(_steps(number["steps"]))
    if steady is not None:
        yield f"{INDENT}// Steady state."
        yield f"{INDENT}for i in range({steady['first']}, {steady['end']}):"
        yield from _indented(_indented(_steps(steady["steps"])))
    if data["epilogue"]:
        yield f"{INDENT}// Epilogue."
    for number in data["epilogue"]:
        yield from _indented(_steps(number["steps"]))


def _steps(steps: Iterable[Data]) -> Iterator[str]:
    for step in steps:
        if "when" in step:
            yield f"if {step['when']}:"
            yield from _indented(_step(step))
        else:
            yield from _step(step)


def _step(step: Data) -> Iterator[str]:
    match step["do"]:
        case "issue":
            yield _issue(step)
        case "interleave":
            yield "interleave:"
            yield from _indented(_issue(part) for part in step["parts"])
        case "await":
            yield f"await({step['operation']}, {step['iteration']})"
        case "wait" if step.get("kind") == "named":
            yield f"sync({step['at']})"
        case "wait":
            polling = ", polling" if step.get("polling") else ""
            yield f"wait({step['at']}, parity={step['parity']}{polling})"
        case "arrive":
            expect = f", expect_bytes={step['expect_bytes']}" if "expect_bytes" in step else ""
            yield f"arrive({step['at']}{expect})"
        case "fence":
            yield "fence()"
        case _:
            yield f"{step['to']} = {step['from']}"


def _issue(step: Data) -> str:
    sign = "+=" if step["accumulates"] else "="
    arguments = ", ".join(step["operands"]) or step["iteration"]
    text = f"{step['result']} {sign} {step['function']}({arguments})"
    if "cycles" in step:
        part = step["cycles"]
        text += f" {{{part['begin']}..{part['end']} of {part['of']}}}"
    if "signals" in step:
        text += f" -> {', '.join(step['signals'])}"
    return text


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield INDENT + line
