"""JSON Schemas of the artifacts and of all that commands print as JSON, shipped as files.

``python -m twill.schemas`` writes them again after a change of the models.
"""

from __future__ import annotations

import json

from twill.artifacts.base import Part
from twill.artifacts.bound import BoundFile
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.order import Order
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import JournalLine, Sweep, Swept, Tuned
from twill.schemas import documents, schedule_documents
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
    "tuned": Tuned,
    **documents.DOCUMENTS,
    **schedule_documents.DOCUMENTS,
}


def schema_text(name: str) -> str:
    """Return the JSON Schema of an artifact as it is shipped."""
    schema = SCHEMAS[name].model_json_schema(by_alias=True)
    return json.dumps(schema, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
