"""Programs that were tried as kernels: what is known of each, as text and as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from twill.artifacts.proof import MachineCode, OnGpu
from twill.artifacts.schedule import Schedule
from twill.base.console import paragraph
from twill.base.formats import cycles, plural
from twill.base.names import MOST_LABEL, elided
from twill.base.tables import Column, Table
from twill.studies.judged import Judged, is_compared


@dataclass(frozen=True)
class Trial:
    """A program with what the compiler and the GPU make of it."""

    schedule: Schedule  # the program, with its promise on the simulated SM
    judged: Judged | None  # its kernel; None if there is none
    refused: str = ""  # why there is none, or why the GPU does not run it; otherwise empty
    on_gpu: OnGpu | None = None  # its cycles on the GPU, if they were measured

    @property
    def promised(self) -> float:
        """Cycles of an iteration on the simulated SM."""
        promise = self.schedule.promise
        return math.inf if promise is None else promise.interval_cycles

    @property
    def code_cycles(self) -> float | None:
        """Cycles of an iteration of its machine code, if that was executed."""
        return None if self.judged is None else self.judged.cycles

    @property
    def only_spills(self) -> bool:
        """Whether it keeps its order, and spills, as kernels that were measured did."""
        known = self.judged is not None and self.judged.evidence is not None
        return known and self.code_cycles is not None and self.faults == ("spills",)

    @property
    def worth(self) -> tuple[bool, float, float, float]:
        """The key of programs in the order in which they are preferred.

        A program that only spills counts as slow as the worst prediction of such kernels was off.
        """
        measured = math.inf if self.on_gpu is None else self.on_gpu.interval_cycles
        code = math.inf if self.code_cycles is None else self.code_cycles
        if self.only_spills:
            assert self.judged is not None
            assert self.judged.evidence is not None
            return False, measured, code / (1 - self.judged.evidence.worst), self.promised
        return bool(self.faults), measured, code, self.promised

    @property
    def faults(self) -> tuple[str, ...]:
        """Names of what the compiler did not make as written, or what was refused."""
        if self.judged is None or self.refused:
            return (self.refused,)
        return tuple(dict.fromkeys(finding.check for finding in self.judged.made.findings))

    @property
    def promising(self) -> Schedule:
        """The program with what is known of its kernel in its promise."""
        promise = self.schedule.promise
        if promise is None:
            return self.schedule
        known: dict[str, Any] = {} if self.on_gpu is None else {"on_gpu": self.on_gpu}
        if self.judged is not None and self.judged.prediction is not None:
            known["machine_code"] = MachineCode(
                interval_cycles=self.judged.prediction.highest_cycles,
                lowest_cycles=self.judged.prediction.lowest_cycles,
                compiler=f"triton {version('triton')}",
                compared=is_compared(self.schedule.machine),
            )
        return self.schedule.model_copy(update={"promise": promise.model_copy(update=known)})

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "promised_cycles": self.promised,
            "cycles": self.code_cycles,
            "on_gpu": None if self.on_gpu is None else self.on_gpu.model_dump(mode="json"),
            "faults": list(self.faults),
        }


def print_trials(trials: Sequence[Trial]) -> None:
    """Print the programs that were compiled, the chosen one first; nothing if none were."""
    if not trials:
        return
    rows = [
        [
            trial.promised,
            trial.code_cycles,
            trial.on_gpu,
            "; ".join(elided(fault, MOST_LABEL) for fault in trial.faults) or "as written",
        ]
        for trial in trials
    ]
    columns = [
        Column("simulated", form=cycles),
        Column("machine code", form="{:,.0f}".format),
        Column("on the GPU", form=_range),
        Column("compiled"),
    ]
    how = "the simulated SM, as no machine code was executed"
    if trials[0].on_gpu is not None:
        how = f"rounds on {trials[0].on_gpu.device}"
    elif any(trial.code_cycles is not None for trial in trials):
        how = "machine code"
        if not is_compared(trials[0].schedule.machine):
            how += ", compared with no measurement on such a GPU"
    paragraph(f"chosen among {plural(len(trials), 'program')} by {how}, the first:")
    Table(columns, rows).print()


def _range(taken: OnGpu) -> str:
    return (
        f"{taken.interval_cycles:,.0f} ({taken.lowest_cycles:,.0f} to {taken.highest_cycles:,.0f})"
    )
