"""Certificates of bounds: accepted by the judge and by a stranger, refused after any change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.bounds.stranger import RefusedError, check
from twill.artifacts.bound import BoundFile
from twill.artifacts.machine import Machine
from twill.bounds.programs import program_bounds
from twill.cli.main import app
from twill.frontends import load_loop, packaged_loops
from twill.verification import verify_bound

Data = dict[str, Any]
GROUPS = "attention_forward_hopper"
RECURRENCE = "attention_forward_blackwell"


@cache
def written(name: str) -> dict[str, str]:
    """Return the files of the bounds of a packaged loop, the first of each reason."""
    loop, machine = load_loop(name), Machine.named(packaged_loops()[name].machine)
    found: dict[str, str] = {}
    for argument in program_bounds(loop, machine):
        file = BoundFile(loop=loop, machine=machine, bound=argument.bound)
        found.setdefault(argument.reason, file.to_json())
    return found


def judged(document: Data) -> bool:
    """Return whether the judge accepts a file."""
    return verify_bound(BoundFile.from_json(json.dumps(document))).valid


def accepted(document: Data) -> bool:
    """Return whether a stranger accepts a file."""
    try:
        check(document)
    except RefusedError:
        return False
    return True


def changed(document: Data, **parts: Any) -> Data:
    """Return a file with other parts of the certificate."""
    certificate = document["bound"]["certificate"] | parts
    return document | {"bound": document["bound"] | {"certificate": certificate}}


def _numbers(document: Data, key: str) -> Iterator[Data]:
    """Yield the premises that a sum of T needs, if a number of theirs counts."""
    certificate = document["bound"]["certificate"]
    for case in certificate["cases"]:
        for position, _ in case["weights"]:
            if Fraction(certificate["premises"][position][key]):
                yield certificate["premises"][position]


def raise_interval(document: Data) -> None:
    document["bound"]["cycles"] *= 1.01


def raise_weight(document: Data) -> None:
    weights = document["bound"]["certificate"]["cases"][0]["weights"]
    weights[0][1] = str(Fraction(weights[0][1]) * 2)


def leave_out(document: Data) -> None:
    document["bound"]["certificate"]["cases"][0]["weights"].pop()


def lower_cost(document: Data) -> None:
    premise = next(_numbers(document, "cycles"))
    premise["cycles"] = str(Fraction(premise["cycles"]) / 2)


def raise_room(document: Data) -> None:
    premise = next(_numbers(document, "intervals"))
    premise["intervals"] = str(Fraction(premise["intervals"]) + 1)


def negate(document: Data) -> None:
    weights = document["bound"]["certificate"]["cases"][0]["weights"]
    weights[0][1] = f"-{weights[0][1]}"


def name_another(document: Data) -> None:
    document["bound"]["of"] = ["another"]


def of_another_dependence(document: Data) -> None:
    for premise in document["bound"]["certificate"]["premises"]:
        if "dependence" in premise:
            premise["dependence"] = (premise["dependence"] + 1) % len(
                document["loop"]["dependences"]
            )
            return
    raise AssertionError


CHANGES = (raise_interval, raise_weight, leave_out, lower_cost, raise_room, negate, name_another)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("layer_norm_hopper", "issue slots"),
        ("layer_norm_hopper", "work"),
        ("gemm_hopper", "commands"),
        ("fa_fwd_hopper", "register slots"),
        (RECURRENCE, "recurrence"),
        (RECURRENCE, "memory"),
        (RECURRENCE, "registers"),
        (GROUPS, "registers of groups"),
    ],
)
def test_changed_certificates_are_refused_by_both(
    name: str, reason: str, change: Callable[[Data], None]
) -> None:
    document = json.loads(written(name)[reason])
    change(document)
    if change is leave_out and not document["bound"]["certificate"]["cases"][0]["weights"]:
        document["bound"]["certificate"]["cases"][0]["weights"] = [[1, "1"]]
    assert not accepted_or_unreadable(document)
    assert not judged(document)


def accepted_or_unreadable(document: Data) -> bool:
    """Return whether a stranger accepts a file; one that names a premise too many is refused."""
    try:
        return accepted(document)
    except IndexError:
        return False


@pytest.mark.parametrize("reason", ["recurrence", "memory"])
def test_premises_are_of_their_dependence(reason: str) -> None:
    document = json.loads(written(RECURRENCE)[reason])
    of_another_dependence(document)
    assert not accepted(document)
    assert not judged(document)


def test_every_division_among_groups_needs_its_case() -> None:
    whole = json.loads(written(GROUPS)["registers of groups"])
    refused = 0
    cases = whole["bound"]["certificate"]["cases"]
    for position in range(0, len(cases), 9):
        left = cases[:position] + cases[position + 1 :]
        document = changed(whole, cases=left)
        refused += not accepted(document)
        assert accepted(document) == judged(document)
    assert refused > 1
    assert not accepted(changed(whole, cases=cases[:1]))


def test_every_weight_of_every_case_counts() -> None:
    whole = json.loads(written(GROUPS)["registers of groups"])
    cases = whole["bound"]["certificate"]["cases"]
    for number in range(0, len(cases), 30):
        for position, (premise, weight) in enumerate(cases[number]["weights"]):
            weights = [*cases[number]["weights"]]
            weights[position] = [premise, str(2 * Fraction(weight))]
            case = cases[number] | {"weights": weights}
            document = changed(whole, cases=[*cases[:number], case, *cases[number + 1 :]])
            assert not accepted(document)
            assert not judged(document)


def test_a_group_counts_once() -> None:
    document = json.loads(written(GROUPS)["registers of groups"])
    certificate = document["bound"]["certificate"]
    launch = next(p for p in certificate["premises"] if p["rule"] == "launch")
    launch["groups"] *= 2
    assert not accepted(document)
    assert not judged(document)


@pytest.mark.parametrize("rule", ["work", "delay", "made", "read", "room", "launch", "kept"])
def test_a_false_premise_is_refused_by_the_judge(rule: str) -> None:
    """A higher cost with a higher bound adds up: only who knows the machine refuses it."""
    texts = [*written(RECURRENCE).values(), *written(GROUPS).values()]
    document = next(
        json.loads(text)
        for text in texts
        if any(p["rule"] == rule for p in json.loads(text)["bound"]["certificate"]["premises"])
    )
    certificate = document["bound"]["certificate"]
    premise = next(p for p in certificate["premises"] if p["rule"] == rule)
    key = "intervals" if rule == "room" else "cycles"
    premise[key] = str(Fraction(premise[key]) + (-1 if rule == "room" else 1))
    verdict = verify_bound(BoundFile.from_json(json.dumps(document)))
    assert any(f": {rule} of " in violation.message for violation in verdict.violations)


def test_a_bound_is_a_file_that_verify_judges(tmp_path: Any) -> None:
    file, runner = tmp_path / "bound.json", CliRunner()
    made = runner.invoke(
        app, ["explain", "paper_example_by_hand", "--no-levers", "--bound", str(file)]
    )
    assert made.exit_code == 0, made.output
    assert check(json.loads(file.read_text())) == ["work:  1 T >= 2"]
    shown = runner.invoke(app, ["verify", str(file)])
    assert shown.exit_code == 0
    assert "work of TC: +1 T >= 2" in shown.output
    document = json.loads(file.read_text())
    raise_interval(document)
    file.write_text(json.dumps(document))
    refused = runner.invoke(app, ["verify", str(file)])
    assert refused.exit_code == 1
    assert "case 0 adds up to 1 T >= 2" in refused.output
    asked = runner.invoke(app, ["verify", str(file), "--run"])
    assert asked.exit_code == 2
