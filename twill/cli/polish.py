"""``twill polish``: a search for faster programs, which keeps the best so far in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from twill.base import interruptions
from twill.base.console import Report, note, progress, warn
from twill.base.errors import InputError
from twill.base.files import STANDARD_OUTPUT, check_target
from twill.cli.command import Output, command, refusals
from twill.cli.options import (
    PROGRAMS,
    ConditionTexts,
    EffortName,
    Judge,
    ScheduleName,
    Workers,
    conditions_of,
    processes,
)

if TYPE_CHECKING:
    from twill.artifacts.schedule import Schedule
    from twill.polish import Polished
    from twill.studies.choice import Polishing
    from twill.studies.trials import Trial


class Kept:
    """The best schedule so far, in a file next to the answer's until that is written.

    Nothing is kept where the answer goes to no ordinary file.

    `file`: ``NAME.partial.json`` for ``NAME.json``, or with a number that no file has.
    """

    def __init__(self) -> None:
        self.file: Path | None = None
        self._written = False

    def beside(self, output: str | None) -> None:
        """Choose a new file in the folder of `output`, the one for the answer."""
        if output is None or output == STANDARD_OUTPUT:
            return
        file = Path(output).resolve()
        if file.exists() and not file.is_file():
            return
        number, self.file = 1, file.with_suffix(".partial.json")
        while self.file.exists():
            number += 1
            self.file = file.with_suffix(f".partial-{number}.json")

    def __enter__(self) -> Kept:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Say where the best so far is, if there is no answer."""
        interruptions.keep("")
        if self._written:
            note(f"twill: the best so far is in {self.file}")

    def __call__(self, schedule: Schedule) -> None:
        """Keep a schedule that is better than the last; what cannot be written ends no search."""
        if self.file is None:
            return
        try:
            schedule.save(self.file)
        except InputError as error:
            warn(f"the best so far is not kept: {error}")
            self.file = None
        else:
            self._written = True
            interruptions.keep(f"; the best so far is in {self.file}")

    def answered(self) -> None:
        """Remove the file: the answer is written."""
        if self.file is not None:
            self.file.unlink(missing_ok=True)
        self._written = False


@dataclass(frozen=True)
class Judging:
    """How programs are judged, and in how many processes."""

    conditions: ConditionTexts = None
    jobs: Workers = None
    judge: Judge = None


@command
def polish(
    schedule: ScheduleName,
    output: Output,
    judging: Judging,
    effort: Annotated[
        EffortName, Option(help=f"Programs to simulate: {PROGRAMS}.")
    ] = EffortName.normal,
    simulations: Annotated[
        int | None, Option(min=1, help="Programs to simulate, instead of an effort.")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the search.")] = 0,
) -> None:
    """Look for programs that the simulated SM executes faster, from a schedule or an order."""
    from twill.frontends.schedules import load_schedule
    from twill.polish import programs_of
    from twill.show.schedule import polished_data, print_polished
    from twill.studies.choice import Polishing
    from twill.studies.trials import print_trials

    with Kept() as kept:
        with refusals(as_json=output.as_json), progress(f"polishing {schedule}") as report:
            given = load_schedule(schedule)
            check_target(output.output)
            kept.beside(output.output)
            how = Polishing(
                simulations or programs_of(effort.value, given.loop),
                seed,
                conditions_of(judging.conditions),
                processes(judging.jobs),
            ).judged_by(judging.judge, given.loop, effort)
            found, trials, stopped = polished((given,), how, report, kept)

        def show() -> None:
            print_polished(found)
            print_trials(trials)

        tried = {"trials": [trial.data() for trial in trials]}
        output.keep(found.schedule, "polished", lambda: {**polished_data(found), **tried}, show)
        kept.answered()
    if stopped is not None:
        raise stopped


def polished(
    given: Sequence[Schedule], how: Polishing, report: Report, kept: Kept
) -> tuple[Polished, list[Trial], KeyboardInterrupt | None]:
    """Return the best program, those it was chosen among, and the interruption if there was one."""
    from twill.polish import Interrupted
    from twill.studies.choice import polished as search

    try:
        return *search(given, how, report, kept if kept.file is not None else None), None
    except Interrupted as interrupted:
        return interrupted.polished, [], interrupted
