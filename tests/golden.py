"""Golden metrics of the cases; `python -m tests.golden [CASE...]` computes them anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.validation.results import OWN, own
from twill.search.request import versions
from twill.studies.reproduce import CASES, reproduce
from twill.studies.reproduce.claims import CaseResult, Settings

FILE = Path(__file__).with_name("golden_metrics.json")
TIMEOUT = 600.0


def golden() -> dict[str, Any]:
    """Return the file: for each case its metrics, and how they came about."""
    found: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def entry(result: CaseResult) -> dict[str, Any]:
    """Return what is kept of a case."""
    program = "python -m tests.golden" if result.case in OWN else "twill reproduce --case"
    solvers = {n: version for n, version in versions().items() if n != "twill-gpu"}
    return {
        "provenance": {
            "command": f"{program} {result.case}",
            "solvers": solvers,
            "unit": "cycles where a metric says so; errors as shares of the published figure",
        },
        "metrics": dict(result.metrics),
        "holds": {claim.claim: claim.passed for claim in result.claims},
    }


def main() -> None:
    """Compute the metrics of some cases, or all."""
    kept = golden()
    asked = sys.argv[1:] or [*CASES, *OWN]
    of_paper = [name for name in asked if name not in OWN]
    found = reproduce(of_paper, timeout=TIMEOUT, jobs=2) if of_paper else []
    for name in OWN:
        if name in asked:
            found += own(name, Settings(TIMEOUT)).cases
    for result in found:
        kept[result.case] = entry(result)
    kept = {name: kept[name] for name in (*CASES, *OWN) if name in kept}
    FILE.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
