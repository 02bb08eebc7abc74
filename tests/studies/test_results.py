"""Folders of results: what was changed in them is one line, and what is not ours stays as it is."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import in_process
from twill.artifacts.sweep import Sweep, text_hash
from twill.base.errors import InputError
from twill.frontends.schedules import load_schedule
from twill.sim.engine import Conditions
from twill.studies.compare import comparison, write_comparisons
from twill.studies.sweep import run_sweep

SIM = ("python", "-m", "twill.sim")
DEEP = "[" * 100_000
SWEEP = Sweep(items=("paper_example_by_hand",), axes={"synchronisation": (1.0, 2.0)}, iterations=24)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished sweep and a comparison of two schedules of one loop."""
    folder = tmp_path_factory.mktemp("made")
    run_sweep(SWEEP, folder / "sweep")
    one = comparison(load_schedule("paper_example_by_hand"), Conditions(iterations=24))
    write_comparisons([one, one], folder / "comparison")
    return folder


@pytest.fixture
def results(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "results")
    (tmp_path / "results/sweep.toml").write_text(TOML)
    return tmp_path / "results"


FILES = (
    "sweep/sweep.json",
    "sweep/journal.jsonl",
    "sweep/schedules/paper_example_by_hand.paper_example.joint.json",
)
AGAIN = (*SIM, "sweep", "sweep.toml", "-o", "sweep")
TOML = 'items = ["paper_example_by_hand"]\niterations = 24\n[axes]\nsynchronisation = [1.0, 2.0]\n'


def changes(text: str) -> dict[str, str]:
    """Return texts that are wrong in one place each."""
    digits = list(re.finditer(r"(?<=[:\[ ])[1-9](?=[0-9.,\n}])", text))
    assert len(digits) >= 5
    found = {}
    for number in (0, len(digits) // 2, len(digits) - 1):
        at = digits[number].start()
        found[f"digit {number}"] = text[:at] + str(int(text[at]) % 9 + 1) + text[at + 1 :]
    first = digits[0].start()
    found["type"] = text[:first] + '"x"' + text[first + 1 :]
    found["depth"] = text[:first] + DEEP + text[first + 1 :]
    found["half"] = text[: len(text) // 2] + "\n"
    found["another object"] = "{}\n"
    found["no object"] = "[]\n"
    found["bytes"] = "\udcff\n"
    return found


@pytest.mark.parametrize("file", FILES)
def test_what_was_changed_is_one_line(file: str, results: Path) -> None:
    place = results / file
    whole = place.read_text()
    for how, text in changes(whole).items():
        place.write_bytes(text.encode("utf-8", "surrogateescape"))
        done = in_process(*AGAIN, folder=results)
        assert (done.returncode, done.stdout) == (2, ""), how
        assert done.stderr.startswith(f"twill: {file}"), (how, done.stderr)
        assert done.stderr.count("\n") == 1, how
        assert len(done.stderr) < 400, how
    place.write_text(whole)
    assert in_process(*AGAIN, folder=results).returncode == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"synchronisation": None}, "the row of point 0 has no 'synchronisation'"),
        ({"synchronisation": " "}, "synchronisation: the row of point 0 ran 1 (got ' ')"),
        ({"synchronisation": 2.0}, "synchronisation: the row of point 0 ran 1 (got 2.0)"),
        ({"clock_mhz": None}, "clock_mhz: there is no rate without a clock"),
        ({"period": 1 << 64}, "period: input should be less than 9223372036854775808"),
    ],
)
def test_a_row_says_what_its_point_ran_and_what_came_of_it(
    changed: dict[str, Any], said: str, results: Path
) -> None:
    # With the right hash, as another version may have written it.
    file = results / "sweep" / "journal.jsonl"
    header, line, *rest = file.read_text().splitlines()
    row, sweep = json.loads(line)["row"] | changed, json.loads(header)["sweep"]
    if row["synchronisation"] is None:
        del row["synchronisation"]
    assert row["tflops"] is not None
    seal = text_hash(f"{sweep}\n{json.dumps(row, ensure_ascii=False)}")
    lacking = json.dumps({"row": row, "hash": seal}, ensure_ascii=False)
    file.write_text("\n".join([header, lacking, *rest, ""]))
    done = in_process(*AGAIN, folder=results)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("twill: sweep/journal.jsonl: ")
    assert said in done.stderr


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("target", ["/dev/zero", "/dev/tty", "."])
def test_a_link_to_a_device_is_one_line(file: str, target: str, results: Path) -> None:
    (results / file).unlink()
    (results / file).symlink_to(target)
    done = in_process(*AGAIN, folder=results)
    assert done.returncode == 2
    assert done.stderr.startswith(f"twill: {file}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("file", FILES)
def test_a_link_to_an_ordinary_file_is_not_read(file: str, results: Path, tmp_path: Path) -> None:
    (results / file).rename(tmp_path / "elsewhere")
    (results / file).symlink_to(tmp_path / "elsewhere")
    done = in_process(*AGAIN, folder=results)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"twill: {file}: not an ordinary file\n"


COMPARE = (*SIM, "compare", "paper_example_by_hand", "--iterations", "24", "-o", "results")
RUN_SWEEP = (*SIM, "sweep", "paper_example_by_hand", "--iterations", "24", "-o", "results")
SCHEDULE = "schedules/paper_example_by_hand.paper_example"
WRITTEN = [
    *((COMPARE, f"comparison.{kind}") for kind in ("json", "csv", "md", "svg")),
    (COMPARE, "schedules/paper_example.paper_example.swp.json"),
    *((RUN_SWEEP, name) for name in ("sweep.json", f"{SCHEDULE}.joint.json")),
    *((RUN_SWEEP, name) for name in ("results.csv", "answers.txt", "throughput.svg")),
]


@pytest.mark.parametrize(("command", "name"), WRITTEN, ids=[name for _, name in WRITTEN])
def test_links_are_not_followed_where_results_are_written(
    command: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    """A folder of results may have been filled by somebody who names what is written over."""
    mine, place = tmp_path / "mine", tmp_path / "results" / name
    mine.write_text("before")
    place.parent.mkdir(parents=True)
    place.symlink_to(mine)
    done = in_process(*command, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"twill: results/{name}: not an ordinary file"
    assert mine.read_text() == "before"


@pytest.mark.parametrize("command", [COMPARE, RUN_SWEEP], ids=["compare", "sweep"])
def test_a_folder_in_a_folder_of_results_is_no_link(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "results/schedules").symlink_to(tmp_path / "mine")
    done = in_process(*command, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "twill: results/schedules: not an ordinary folder"
    assert not list((tmp_path / "mine").iterdir())


def test_a_folder_of_results_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "mine")
    assert in_process(*COMPARE, folder=tmp_path).returncode == 0
    assert (tmp_path / "mine/comparison.json").is_file()


def test_a_journal_that_is_a_device_is_not_written(results: Path) -> None:
    (results / "sweep/journal.jsonl").unlink()
    (results / "sweep/journal.jsonl").symlink_to("/dev/null")
    with pytest.raises(InputError, match=r"journal\.jsonl: not an ordinary file"):
        run_sweep(SWEEP, results / "sweep")


@pytest.mark.parametrize(
    "foreign",
    ["my notes\n", "my notes", '{"schema": "other"}\n{"a": 1}\n', "\n\n", "x" * (1 << 21)],
    ids=["a line", "a line without an end", "another schema", "empty lines", "2 MiB"],
)
def test_a_foreign_journal_stays_as_it_is(foreign: str, results: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/journal.jsonl").write_text(foreign)
    with pytest.raises(InputError, match=r"journal\.jsonl: a journal without its sweep\.json"):
        run_sweep(SWEEP, tmp_path / "mine")
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["journal.jsonl"]
    (results / "sweep/journal.jsonl").write_text(foreign)
    with pytest.raises(InputError, match="not a journal of a sweep"):
        run_sweep(SWEEP, results / "sweep")
    assert (results / "sweep/journal.jsonl").read_text() == foreign


def test_only_what_a_crash_left_is_cut_off(results: Path) -> None:
    file = results / "sweep/journal.jsonl"
    whole = file.read_text()
    first, second, third = whole.splitlines(keepends=True)
    for left in ("", first[:20], first, first + second, first + second + third[:50]):
        file.write_text(left)
        run_sweep(SWEEP, results / "sweep")
        assert file.read_text() == whole
    broken = first + "not a row\n" + third
    file.write_text(broken)
    with pytest.raises(InputError, match=r"journal\.jsonl: line 2: not JSON"):
        run_sweep(SWEEP, results / "sweep")
    assert file.read_text() == broken


def test_a_row_of_another_sweep_is_none_of_this_one(results: Path, tmp_path: Path) -> None:
    other = SWEEP.model_copy(update={"seed": 1})
    run_sweep(other, tmp_path / "other")
    theirs = (tmp_path / "other/journal.jsonl").read_text().splitlines(keepends=True)
    file = results / "sweep/journal.jsonl"
    file.write_text(file.read_text().splitlines(keepends=True)[0] + theirs[1])
    with pytest.raises(InputError, match=r"line 2: hash: not the hash of its row"):
        run_sweep(SWEEP, results / "sweep")


def test_schedules_of_one_loop_have_files_of_their_own(results: Path) -> None:
    document = json.loads((results / "comparison/comparison.json").read_text())
    files = [file for one in document["comparisons"] for file in one["files"].values()]
    assert len(set(files)) == len(files) == 8
    assert sorted(files) == sorted(f.name for f in (results / "comparison/schedules").iterdir())
