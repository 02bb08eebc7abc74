"""Every JSON that a command prints names its schema and its version, and is valid by it."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

import twill
from tests.support.commands import TWILL, in_process
from tests.support.static import static_schedule
from twill.cli.main import app
from twill.frontends import load_loop
from twill.schemas import SCHEMAS

ROOT = Path(__file__).parents[2]
DUMP = str(ROOT / "traces" / "ttgir" / "attention_forward.sm90.mlir")
HOPPER = str(ROOT / "docs" / "reading" / "fa_fwd_hopper.mlir")
HAND = "paper_example_by_hand"
PAPER = ("paper_example", "-m", "paper_example")
CALLS: dict[str, dict[tuple[str, ...], str]] = {
    "schedule": {
        PAPER: "schedule-summary",
        (*PAPER, "--effort", "quick"): "schedule-summary",
        ("gemm_hopper", "-m", "hopper_h100", "--no-suggest"): "refusal",
        ("gemm_hopper", "-m", "hopper_h100"): "refusal",
        ("attention_backward_hopper", "-m", "hopper_h100", "--timeout", "0.001"): "refusal",
    },
    "polish": {("s.json", "--simulations", "8"): "polished"},
    "verify": {("s.json",): "verdict", ("s.json", "--reprove"): "verdict", (HAND,): "verdict"},
    "explain": {
        ("s.json", "--no-levers"): "explanation",
        ("s.json",): "explanation",
        (HAND,): "program-explanation",
        ("fa4_forward", "--no-levers"): "program-explanation",
    },
    "show": {
        ("s.json",): "schedule-table",
        (HAND,): "schedule-table",
        ("s.json", "--as", "roles"): "schedule-roles",
        ("s.json", "--as", "why"): "schedule-positions",
        ("s.json", "--as", "json"): "program",
        ("fa4_forward", "--as", "json", "--iterations", "5"): "program",
    },
    "annotate": {(HOPPER,): "annotation"},
    "diff": {("s.json", HAND): "schedule-differences"},
    "calibrate": {
        ("hopper_h100", "--from-cubin"): "calibration",
    },
    "emit": {("g.json", "-o", "g.py", "--check"): "compiled"},
    "extract": {("s.mlir",): "schedule-summary"},
    "run-kernel": {
        (str(ROOT / "tests/data/gluon/gemm_tcgen05.py"), "--emulate", "--iterations", "2",
         "--no-victims"): "emulation",
    },
    "tune": {
        ("gemm_hopper", "-m", "hopper_h100", "--tile", "64x64x64,64x80x64"): "tuned",
    },
    "reproduce": {("--case", "running_example"): "claims"},
    "doctor": {
        (): "installation",
        (str(ROOT / "tests/data/kernels/called.py"), "-m", "hopper_h100"): "kernel-forms",
    },
    "loop list": {(): "loop-list"},
    "loop show": {
        ("fa_fwd_hopper",): "loop-costs",
        ("fa_bwd_blackwell",): "loop-costs",
    },
    "loop extract": {(DUMP,): "loop-extraction"},
    "loop subtile": {("gemm_hopper", "--factor", "2"): "loop-subtiles"},
    "machine list": {(): "machine-list"},
    "machine show": {("hopper_h100",): "machine-facts", ("ddg",): "machine-facts"},
    "machine check": {("hopper_h100",): "machine-audit", ("m.toml",): "machine-audit"},
    "sim run": {
        (HAND, "--iterations", "24", "--values"): "run",
        ("fa4_forward", "--iterations", "12", "--sequence", "512"): "run",
        (str(ROOT / "tests/data/machine_code/gemm_grouped.py"),): "compiled",
    },
    "sim compare": {(HAND, "--iterations", "24"): "comparison"},
    "sim sweep": {
        (HAND, "--iterations", "24", "--set", "synchronisation=1,2"): "sweep-results",
        ("fa3_forward_128x128", "--iterations", "12", "--depth", "1:2"): "sweep-results",
        (HAND, "--iterations", "4", "--depth", "1"): "sweep-results",
    },
}  # fmt: skip
"""Words behind each command that prints JSON, with the schema of what it prints then.

The first call of a command for a schema is made by default, the others are `slow`.
"""
NEEDS_TRITON = {"calibration", "compiled", "kernel-forms"}
LONG = {"load-fit", "bench"}
WITHOUT = {"build", "explore", "loop dump", "migrate"}
"""Commands that print no data."""
NEEDS_GPU = {"measured-kernel"}
"""What is printed where there is a GPU; `tests/studies/test_kernels.py` has its document."""
SAME = {"bound", "loop", "machine", "order", "schedule", "sweep", "journal", "swept"}
"""Artifacts, of which commands print no JSON: they write and read them as files."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, paper_schedule: twill.Schedule) -> Path:
    made = tmp_path_factory.mktemp("json")
    paper_schedule.save(made / "s.json")
    paper_schedule.loop.save(made / "loop.json")
    gemm, hopper = load_loop("gemm_two_tiles_hopper"), twill.Machine.named("hopper_h100")
    static_schedule(gemm, hopper).save(made / "g.json")
    assert in_process(*TWILL, "show", "s.json", "--as", "ir", "-o", "s.mlir", folder=made)
    text = (ROOT / "machines" / "paper_example.toml").read_text()
    (made / "m.toml").write_text(text.replace("value = 1000.0", "value = 0.0"))
    return made


def commands(tree: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Yield every command with its options."""
    for name, command in tree.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            options = {option for parameter in command.params for option in parameter.opts}
            yield " ".join((*words, name)), options


def test_every_command_with_data_is_called() -> None:
    known = dict(commands(typer.main.get_command(app)))
    assert {name for name, options in known.items() if "--json" in options} == CALLS.keys()
    assert known.keys() - CALLS.keys() == WITHOUT
    named = {schema for calls in CALLS.values() for schema in calls.values()}
    assert named == SCHEMAS.keys() - SAME - NEEDS_GPU


@pytest.mark.usefixtures("known_answers")
@pytest.mark.parametrize(
    ("command", "words", "schema"),
    [
        pytest.param(
            command,
            words,
            schema,
            id=f"{command} {' '.join(words[:3])}",
            marks=[pytest.mark.triton] * (schema in NEEDS_TRITON)
            + [pytest.mark.slow] * (schema in LONG or schema in list(calls.values())[:number]),
        )
        for command, calls in CALLS.items()
        for number, (words, schema) in enumerate(calls.items())
    ],
)
def test_what_is_printed_is_valid(
    command: str, words: tuple[str, ...], schema: str, folder: Path
) -> None:
    done = in_process(*TWILL, *command.split(), *words, "--json", folder=folder)
    assert done.stderr == ""
    data = json.loads(done.stdout)
    assert {"schema", "schema_version"} <= {*list(data)[:3]}
    assert data["schema"] == f"twill.{schema}"
    file = importlib.resources.files("twill.schemas").joinpath(f"{schema}.schema.json")
    jsonschema.validate(data, json.loads(file.read_text()))
    SCHEMAS[schema].model_validate_json(done.stdout)
