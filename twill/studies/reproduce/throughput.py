"""Published throughput beside what the simulated SM makes of the same schedules."""

from __future__ import annotations

import statistics

from twill.studies.published import AIM, Comparison, comparisons
from twill.studies.reproduce.claims import Case

CLAIMS = {"matched": f"published ratios and cycles are matched within {AIM:.0%}"}
NOT_COMPARED = (
    "absolute TFLOP/s (clocks are not published)",
    "cuDNN (closed; only its TFLOP/s are published)",
    "Triton (the paper's bars exist as images only)",
    "FlashAttention-3 and -4 backward (no cycles or ablations are published)",
    "sequence lengths (figures exist as images only)",
)


def throughput(case: Case) -> None:
    """Judge how many published figures are matched."""
    case.comparisons = tuple(comparisons(case.report))
    found = case.comparisons
    for one in found:
        case.metrics[f"error, {one.what}"] = round(one.error, 6)
    matched = [one for one in found if one.matched]
    worst = max(found, key=lambda one: abs(one.error))
    case.judge(
        "matched",
        f"{len(matched)} of {len(found)} matched; median error "
        f"{statistics.median(one.error for one in found):+.1%}, worst {worst.error:+.1%} "
        f"({worst.what})",
        passed=len(matched) == len(found),
        reason=f"Missed: {_listed([one for one in found if not one.matched])}. "
        "docs/published.md takes each apart by switching one mechanism at a time.",
    )


def _listed(missed: list[Comparison]) -> str:
    return "; ".join(f"{one.what} ({one.error:+.1%})" for one in missed)
