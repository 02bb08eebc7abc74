"""The paper's evaluation, computed when asked for: cases with claims, side by side.

`claims` says what a case finds; `forward` and `backward` judge attention; `evaluation` judges the
rest, works on all cases and prints them.
"""

from twill.studies.reproduce.evaluation import CASES, print_claims, reproduce

__all__ = ["CASES", "print_claims", "reproduce"]
