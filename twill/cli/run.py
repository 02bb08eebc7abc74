"""``python -m twill.sim run``: one schedule on the simulated SM."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from twill.base.console import progress, say
from twill.base.errors import InputError, RefusedError
from twill.base.files import STANDARD_OUTPUT, check_target, read_bytes, write_whole
from twill.cli.command import command, tell
from twill.cli.options import Json, RunOptions, sizes

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule
    from twill.sim.analysis.whole_kernel import Kernel
    from twill.sim.checks import Checks
    from twill.sim.engine import Conditions
    from twill.sim.engine.record import Recording
    from twill.sim.execute import Run


@dataclass(frozen=True)
class SmOptions:
    """How the SM works."""

    warp_scheduler: Annotated[
        str,
        Option(
            help="Choice of an issue context among ready warps: round-robin, or oldest (the last "
            "one again while it is ready, otherwise the oldest)."
        ),
    ] = "round-robin"
    without: Annotated[
        list[str] | None,
        Option(
            metavar="MECHANISM",
            help="Switch a mechanism off: issue-slots, issue-cost, synchronisation, completion, "
            "shared-ports, queues, register-slots, memory-port, hand-overs. May be repeated.",
        ),
    ] = None
    tolerance: Annotated[
        float,
        Option(help="Relative excess over the static interval that still counts as achieved."),
    ] = 0.02


@dataclass(frozen=True)
class BlockOptions:
    """Blocks of a kernel: their number and their work."""

    tokens: Annotated[int, Option(min=1, help="Batch times length of the kernel.")] = 16384
    heads: Annotated[int, Option(min=1, help="Heads of the kernel.")] = 16
    causal: Annotated[
        bool, Option("--causal", help="Rows of attention see no rows after their own.")
    ] = False
    window: Annotated[
        int | None,
        Option(min=1, help="Number of rows before its own, and after unless causal, a row sees."),
    ] = None
    persistent: Annotated[
        bool, Option(help="Let each block of the kernel go on to its next tile.")
    ] = True


@dataclass(frozen=True)
class KernelOptions(BlockOptions):
    """The kernel around the loop."""

    sequence: Annotated[
        str | None,
        Option(metavar="N,N,...", help="Estimate the whole kernel at these sequence lengths."),
    ] = None
    size: Annotated[
        str | None,
        Option(metavar="MxNxK,...", help="Estimate the whole kernel for these matrix products."),
    ] = None
    splits: Annotated[
        int, Option(min=1, help="Parts of a product's depth that have blocks of their own.")
    ] = 1

    def estimate(self, schedule: Schedule, conditions: Conditions) -> Kernel | None:
        """Return the estimates of the whole kernel from a run, if they are asked for."""
        from twill.sim.analysis.problems import attention, product
        from twill.sim.analysis.whole_kernel import kernel, parse_sequences

        if self.size is None and self.sequence is None:
            return None
        if self.size is not None and self.sequence is not None:
            raise InputError("either --size or --sequence", path="--size")
        loop = schedule.loop
        if self.sequence is not None:
            problems = [
                attention(
                    *(loop, length, self.tokens, self.heads),
                    causal=self.causal,
                    window=self.window,
                )
                for length in parse_sequences(self.sequence)
            ]
        else:
            every = sizes((self.size or "").split(","))
            problems = [product(loop, *size, splits=self.splits) for size in every]
        return kernel(
            *(schedule, problems, conditions), persistent=self.persistent, splits=self.splits
        )


@dataclass(frozen=True)
class CheckOptions:
    """Checks of a run, in addition to its time."""

    checks: Annotated[
        bool,
        Option(help="Look for races, and measure occupancy, over the program's first iterations."),
    ] = True
    values: Annotated[
        bool,
        Option("--values", help="Compute each operation on NumPy tiles and compare the results."),
    ] = False


def checked(schedule: Schedule, conditions: Conditions, *, values: bool) -> Checks:
    """Return the results of all checks of a run; `values`: also of the check of numbers."""
    from twill.sim.checks import check
    from twill.verification.registers import registers_along_programs

    # Where the paper's rules hold, programs keep to the schedule's clock.
    along = schedule.machine.registers is not None and schedule.rules != "paper"
    return check(
        schedule,
        seed=conditions.seed,
        latency=conditions.latency,
        values=values,
        live=registers_along_programs(schedule) if along else None,
    )


@dataclass(frozen=True)
class PictureOptions:
    """Files that show a run."""

    trace: Annotated[
        str | None,
        Option(
            metavar="FILE.json", help="Write a trace for Perfetto (- for stdout, and nothing else)."
        ),
    ] = None
    timeline: Annotated[
        str | None,
        Option(metavar="FILE", help="Draw the steady state: a file that ends in .svg or .png."),
    ] = None

    def recording(self) -> Recording:
        """Return the recording that they need; refuse files that could not be written."""
        from twill.sim.engine.record import TRACED_EVENTS, Recording
        from twill.sim.show.timeline import check_timeline

        check_target(self.trace)
        check_timeline(self.timeline)
        traced = Recording(TRACED_EVENTS, iterations=None, values=True)
        return Recording() if self.trace is None else traced

    def write(self, schedule: Schedule, recording: Recording, result: Run) -> None:
        """Write them."""
        from twill.sim.show.timeline import draw_timeline, window
        from twill.sim.show.trace import trace

        if self.trace is not None:
            write_whole(self.trace, trace(schedule, recording))
        if self.timeline is not None:
            last = result.iterations - 1 if result.profile is None else result.profile.last
            within = window(recording, last, result.measured_interval_cycles)
            draw_timeline(schedule, recording, *within, self.timeline)


@dataclass(frozen=True)
class Verdict:
    """How a run is printed and judged."""

    strict: Annotated[
        bool,
        Option(
            help="Exit with status 1 if the static interval is not achieved, or if more registers "
            "or memory are occupied than there are."
        ),
    ] = False
    as_json: Json = False

    def print(self, result: Run) -> None:
        """Print the result of the run."""
        from twill.sim.show import print_run

        if self.as_json:
            say(json.dumps(result.model_dump(mode="json", by_alias=True), indent=1))
        else:
            print_run(result)

    def judge(self, result: Run) -> None:
        """End with a status that says whether the promise is kept and the numbers are right."""
        found = result.checks
        exceeded = found is not None and bool(found.exceeded)
        if self.strict and not exceeded and result.achieved is None:
            said = "no steady state to compare with what was promised"
            if result.measured_interval_cycles is not None:
                said = "no static interval to compare with; a promise is for `twill verify --run`"
            raise RefusedError(f"{result.schedule}: {said}")
        wrong = found is not None and not found.right
        if wrong or (self.strict and (exceeded or not result.achieved)):
            raise typer.Exit(1)


OF_KERNELS = "latency", "trace", "as_json"


def _run_machine_code(
    file: str, machine: str | None, latency: list[str], trace: str | None, *, as_json: bool
) -> None:
    """Compile a kernel file and print the cycles that its machine code takes."""
    from twill.artifacts.machine import Machine
    from twill.compiled import architecture_of, compile_file
    from twill.sim.machine_code.trace import traced
    from twill.studies.judged import (
        instruction_costs,
        judged_file,
        kernel_of,
        latency_of,
        machine_of,
        print_judged,
    )

    if len(latency) > 1:
        raise InputError("one for all loads of a kernel file", path="--latency")
    loads = latency_of(latency[0]) if latency else None
    check_target(trace)
    text = read_bytes(file).decode(errors="replace")
    architecture = architecture_of(text)
    sm = machine_of(architecture) if machine is None else Machine.named(machine)
    compiler = functools.cache(compile_file)
    with progress(f"compiling {file}") as report:
        found = judged_file(
            file, sm, compiler=compiler, mechanisms=loads is None, latency=loads, report=report
        )
    if trace is not None:
        code = compiler(Path(file), architecture)
        write_whole(trace, traced(kernel_of(code, text), instruction_costs(sm)))
    if trace == STANDARD_OUTPUT:
        return
    tell("compiled", found.data, partial(print_judged, found), as_json=as_json)


def _given(options: Any) -> str | None:
    """Return the first of some options that is given and does nothing with a kernel file."""
    changed = (
        field.name.replace("_", "-")
        for field in fields(options)
        if field.name not in OF_KERNELS and getattr(options, field.name) != field.default
    )
    return next(changed, None)


@command
def run(
    schedule_file: Annotated[
        str,
        Argument(
            metavar="SCHEDULE", help="schedule.json, the name of a packaged schedule, or KERNEL.py."
        ),
    ],
    how: RunOptions,
    sm: SmOptions,
    kernel: KernelOptions,
    look: CheckOptions,
    pictures: PictureOptions,
    *,
    waits: Annotated[
        str | None,
        Option(
            help="Place of waits for an order's asynchronous results: late (before their first "
            "use) or hoisted (to the first wait for their unit); by default as in the order."
        ),
    ] = None,
    machine: Annotated[
        str | None,
        Option(
            "--machine",
            "-m",
            help="Machine of a kernel file: a packaged name or a file; hopper_h100 or "
            "blackwell_b200 without it.",
        ),
    ] = None,
    verdict: Verdict,
) -> None:
    """Run a schedule and report whether it keeps its promise.

    A kernel file (KERNEL.py) is compiled, which needs Triton and no GPU, and its machine code is
    executed. The file is a program: it is executed to be compiled.
    """
    if schedule_file.endswith(".py"):
        others = [waits and "waits", *map(_given, (how, sm, kernel, look, pictures, verdict))]
        if useless := next(filter(None, others), None):
            raise InputError("of no use with a kernel file", path=f"--{useless}")
        loads = how.latency or []
        _run_machine_code(schedule_file, machine, loads, pictures.trace, as_json=verdict.as_json)
        return
    if machine is not None:
        raise InputError("only of use with a kernel file", path="--machine")
    from twill.frontends.schedules import load_schedule
    from twill.sim.execute import simulate

    schedule = load_schedule(schedule_file, waits=waits)
    conditions, recording = how.conditions(**asdict(sm)), pictures.recording()
    with progress(f"simulating {schedule_file}") as report:
        result = simulate(schedule, conditions, recording)
        more: dict[str, object] = {}
        report("estimating the kernel")
        more["kernel"] = kernel.estimate(schedule, conditions)
        if look.checks or look.values:
            report("checking")
            more["checks"] = checked(schedule, conditions, values=look.values)
        result = result.model_copy(update=more)
    pictures.write(schedule, recording, result)
    if pictures.trace != STANDARD_OUTPUT:
        verdict.print(result)
    verdict.judge(result)
