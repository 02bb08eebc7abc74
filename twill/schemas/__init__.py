"""JSON Schemas of the artifacts and of all that commands print as JSON, shipped as files.

``python -m twill.schemas`` writes them anew after a change of the models.
"""

from __future__ import annotations

import json

from twill.artifacts.base import Part
from twill.artifacts.bound import BoundFile
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.order import Order
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import JournalLine, Sweep, Swept
from twill.artifacts.tuning import Tuned
from twill.schemas import documents, kernel_documents, schedule_documents
from twill.sim.execute import Run
from twill.studies.compare import Comparisons

SCHEMAS: dict[str, type[Part]] = {
    "bound": BoundFile,
    "comparison": Comparisons,
    "journal": JournalLine,
    "loop": Loop,
    "machine": Machine,
    "order": Order,
    "run": Run,
    "schedule": Schedule,
    "sweep": Sweep,
    "swept": Swept,
    "annotation": schedule_documents.Annotation,
    "tuned": Tuned,
    "calibration": kernel_documents.Calibration,
    "claims": documents.Claims,
    "compiled": kernel_documents.CompiledKernel,
    "emulation": kernel_documents.Emulated,
    "measured-kernel": kernel_documents.MeasuredKernel,
    "explanation": schedule_documents.Explanation,
    "program-explanation": schedule_documents.ProgramExplanation,
    "loop-costs": documents.LoopCosts,
    "loop-extraction": documents.LoopExtraction,
    "loop-list": documents.LoopList,
    "loop-structure": documents.LoopStructure,
    "loop-subtiles": documents.LoopSubtiles,
    "machine-audit": documents.MachineAudit,
    "machine-facts": documents.MachineFacts,
    "machine-list": documents.MachineList,
    "polished": schedule_documents.Polished,
    "program": schedule_documents.Program,
    "installation": documents.Installation,
    "refusal": schedule_documents.Refusal,
    "schedule-differences": schedule_documents.ScheduleDifferences,
    "schedule-positions": schedule_documents.SchedulePositions,
    "schedule-roles": schedule_documents.ScheduleRoles,
    "schedule-summary": schedule_documents.ScheduleSummary,
    "schedule-table": schedule_documents.ScheduleTable,
    "sweep-results": documents.SweepResults,
    "verdict": schedule_documents.Verdict,
}


def schema_text(name: str) -> str:
    """Return the JSON Schema of an artifact as it is shipped."""
    schema = SCHEMAS[name].model_json_schema(by_alias=True)
    return json.dumps(schema, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
