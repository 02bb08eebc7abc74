"""Golden metrics of `twill reproduce`; `python -m tests.golden [CASE...]` computes them anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from twill.search.request import versions
from twill.studies.reproduce import CASES, reproduce
from twill.studies.reproduce.claims import CaseResult

FILE = Path(__file__).with_name("golden_metrics.json")
TIMEOUT = 600.0


def golden() -> dict[str, Any]:
    """Return the file: for each case its metrics, and how they came about."""
    found: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def entry(result: CaseResult) -> dict[str, Any]:
    """Return what is kept of a case."""
    solvers = {n: version for n, version in versions().items() if n != "twill-gpu"}
    return {
        "provenance": {
            "command": f"twill reproduce --case {result.case}",
            "solvers": solvers,
            "unit": "cycles where a metric says so; errors as shares of the published figure",
        },
        "metrics": dict(result.metrics),
        "holds": {claim.claim: claim.passed for claim in result.claims},
    }


def main() -> None:
    """Compute the metrics of some cases, or all."""
    kept = golden()
    for result in reproduce(sys.argv[1:], timeout=TIMEOUT, jobs=2):
        kept[result.case] = entry(result)
    kept = {name: kept[name] for name in CASES if name in kept}
    FILE.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
