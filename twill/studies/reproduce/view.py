"""Claims as a table for people, and their reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from twill.console import paragraph, say, table

if TYPE_CHECKING:
    from twill.studies.reproduce.claims import CaseResult


def print_claims(results: Sequence[CaseResult]) -> None:
    """Print every claim with what was found, then why some do not hold."""
    for result in results:
        say(result.case.replace("_", " "))
        columns = ["claim", "found", "pass", "s", "paper s"]
        rows = [
            [
                claim.claim,
                claim.found,
                "yes" if claim.passed else "NO",
                f"{claim.seconds:.1f}",
                "" if claim.paper_seconds is None else f"{claim.paper_seconds:g}",
            ]
            for claim in result.claims
        ]
        table(columns, rows, right={"s", "paper s"})
        for claim in result.claims:
            if not claim.passed:
                paragraph(f"  {claim.claim}: {claim.reason}")
        say()
    claims = [claim for result in results for claim in result.claims]
    say(f"{sum(claim.passed for claim in claims)} of {len(claims)} claims hold")
