"""No answer is given that the verifier refuses: such a one is a defect, and leaves a report."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from typing import Any

from twill.artifacts.schedule import Schedule
from twill.errors import DefectError, RefusedError
from twill.verification import Violation, verify

SCHEMA = "twill.defect"
HOW = (
    "Save loop and machine of the question as files, and give the rest of it to twill.schedule: "
    "the answer is the schedule below, which twill.verify refuses."
)


def refuse_invalid(
    schedule: Schedule, question: Mapping[str, Any], *, printed: bool = False
) -> None:
    """Have the verifier judge an answer before it is given.

    `question`: the arguments that it answers beside loop and machine, as plain data.
    `printed`: whether it solves the paper's printed system, which forgets some of the model's
    rules.

    Raises
    ------
    RefusedError
        If a rule of the model is broken that the printed system forgets.
    DefectError
        If a rule is broken otherwise; it names the report.
    """
    violations = verify(schedule).violations
    if violations and printed:
        raise RefusedError(
            f"{schedule.name}: the printed system has a schedule of interval "
            f"{schedule.initiation_interval}, which is not valid in the model; {violations[0]}"
        )
    if violations:
        raise DefectError(
            f"{schedule.name}: the solver's own answer breaks a rule, which is a defect of twill; "
            f"{violations[0]}",
            report=write_report(schedule, question, violations),
        )


def write_report(
    schedule: Schedule, question: Mapping[str, Any], violations: tuple[Violation, ...]
) -> str:
    """Write what reproduces a defect to a new file among the system's temporary ones.

    `question`: the arguments that it answers beside loop and machine, as plain data.
    """
    answer = json.loads(schedule.to_json())
    report = {
        "schema": SCHEMA,
        "schema_version": 1,
        "how_to_reproduce": HOW,
        "refused": [{"rule": v.rule, "message": v.message} for v in violations],
        "question": {**question, "loop": answer["loop"], "machine": answer["machine"]},
        "schedule": answer,
    }
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="twill-defect-", suffix=".json", delete=False
        ) as stream:
            json.dump(report, stream, indent=1)
    except OSError:
        return ""
    return stream.name
