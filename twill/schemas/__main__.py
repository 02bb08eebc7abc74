"""Write the shipped JSON Schemas."""

from __future__ import annotations

from pathlib import Path

from twill.base.files import write_whole
from twill.schemas import SCHEMAS, schema_text

for schema_name in SCHEMAS:
    write_whole(Path(__file__).parent / f"{schema_name}.schema.json", schema_text(schema_name))
