"""What is kept is of the objects that were given, and of nothing that has changed since."""

from __future__ import annotations

from twill.artifacts.base import by_identity
from twill.artifacts.program import Issue, Program


def test_answers_are_kept_for_the_same_objects_only() -> None:
    asked: list[list[int]] = []

    @by_identity(2)
    def total(numbers: list[int], *, times: int = 1) -> int:
        asked.append(numbers)
        return sum(numbers) * times

    first, equal = [1, 2], [1, 2]
    assert [total(first), total(first), total(equal), total(first, times=2)] == [3, 3, 3, 6]
    assert len(asked) == 3
    # No more than two are kept: the first has to be asked about anew.
    assert total(first) == 3
    assert len(asked) == 4


def test_answers_about_what_is_gone_are_given_of_nothing_else() -> None:
    @by_identity(1000)
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    assert [total([number]) for number in range(100)] == list(range(100))


def test_a_copy_with_another_body_has_its_own_issues() -> None:
    issue = Issue(operation="k", stage=0)
    program = Program(group="load", body=(issue,))
    assert program.issues == (issue,)
    assert program.model_copy(update={"body": ()}).issues == ()
