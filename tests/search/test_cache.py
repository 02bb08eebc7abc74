"""The cache gives back what was solved, byte by byte, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

import twill
from tests.support.commands import in_process
from tests.support.static import static_schedule
from twill.base.files import cache_folder
from twill.search import scheduler
from twill.search.cache import Cache, _head, _used, code_hash, proved, request_key
from twill.search.request import Request
from twill.search.scheduler import Solved, solve

STATIC = ("schedule", "paper_example", "-m", "paper_example", "--model", "paper")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "answers", most=3)


def answers(cache: Cache) -> list[Path]:
    return sorted(cache.folder.glob("*.answer"))


def test_a_cached_answer_is_the_solved_one(
    attention: twill.Loop,
    attention_schedule: twill.Schedule,
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = "0" * 64
    monkeypatch.setattr(scheduler, "request_key", lambda *_: key)
    cache.put(key, attention_schedule)
    machine = attention_schedule.machine
    solved = solve(Request(attention, machine, orders=[("s0", "s1")]), cache=cache)
    assert solved.cached
    assert solved.schedule.to_json() == attention_schedule.to_json()
    assert solved.schedule == attention_schedule
    assert set(solved.seconds) == {"interval", "levels", "total"}


def test_the_second_time_nothing_is_solved(
    paper_loop: twill.Loop,
    paper_machine: twill.Machine,
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = solve(Request(paper_loop, paper_machine), cache=cache)
    monkeypatch.setattr(scheduler, "Answering", None)
    second = solve(Request(paper_loop, paper_machine), cache=cache)
    assert (first.cached, second.cached) == (False, True)
    assert first.schedule.to_json() == second.schedule.to_json()
    assert second.seconds["interval"] == 0.0


@pytest.mark.parametrize(
    "change",
    [
        {"rules": "paper"},
        {"time": "normalized"},
        {"budget": 299},
        {"engine": "cpsat"},
        {"seed": 1},
        {"most_stages": 7},
        {"limits": {"groups": 1}},
        {"pins": {"S": "g"}},
        {"orders": [("S", "O")]},
    ],
    ids=str,
)
def test_any_other_request_is_another_question(
    paper_loop: twill.Loop,
    paper_machine: twill.Machine,
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
) -> None:
    asked: list[str] = []

    def remember(*asked_for: Any) -> str:
        asked.append(request_key(*asked_for))
        return asked[-1]

    answer = Solved(static_schedule(paper_loop, paper_machine), {"total": 0.0})
    monkeypatch.setattr(scheduler, "request_key", remember)
    monkeypatch.setattr(scheduler, "_solve", lambda *_, **__: answer)
    solve(Request(paper_loop, paper_machine), cache=cache)
    solve(Request(paper_loop, paper_machine, **change), cache=cache)
    solve(Request(paper_loop, paper_machine), cache=cache, timeout=60.0)
    assert asked[0] != asked[1]
    assert asked[0] == asked[2]


@pytest.mark.parametrize("file", ["twill/engines/questions.py", "twill/base/names.py"])
def test_answers_of_other_code_are_none(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read, known = Path.read_bytes, code_hash()

    def changed(path: Path) -> bytes:
        return read(path) + b"\n" * str(path).endswith(file)

    monkeypatch.setattr(Path, "read_bytes", changed)
    assert code_hash.__wrapped__() != known
    assert code_hash.__wrapped__("sim") == code_hash("sim") != code_hash.__wrapped__("schemas")


def test_a_changed_cost_is_another_question(
    paper_loop: twill.Loop, paper_machine: twill.Machine, cache: Cache
) -> None:
    solve(Request(paper_loop, paper_machine), cache=cache)
    hop = paper_machine.synchronisation.hop.model_copy(update={"value": 1})
    signals = paper_machine.synchronisation.model_copy(update={"hop": hop})
    slower = paper_machine.model_copy(update={"synchronisation": signals})
    assert not solve(Request(paper_loop, slower), cache=cache).cached


def test_without_a_cache_nothing_is_written(
    paper_loop: twill.Loop, paper_machine: twill.Machine, no_users_cache: Path
) -> None:
    solve(Request(paper_loop, paper_machine))
    static_schedule(paper_loop, paper_machine)
    assert list(no_users_cache.iterdir()) == []


def test_what_is_not_proved_is_not_kept(
    paper_loop: twill.Loop,
    paper_machine: twill.Machine,
    paper_schedule: twill.Schedule,
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert paper_schedule.proof is not None
    first, *rest = paper_schedule.proof.levels
    levels = (first.model_copy(update={"proved": False}), *rest)
    proof = paper_schedule.proof.model_copy(update={"levels": levels})
    open_one = paper_schedule.model_copy(update={"proof": proof})
    assert not proved(open_one)
    for answer in (open_one, paper_schedule.model_copy(update={"proof": None})):
        monkeypatch.setattr(scheduler, "_solve", lambda *_, a=answer: Solved(a, {"total": 0.0}))
        solve(Request(paper_loop, paper_machine), cache=cache)
        assert answers(cache) == []


def test_an_answer_is_kept_whose_levels_are_proved_as_far_as_was_asked(
    paper_loop: twill.Loop, paper_machine: twill.Machine, cache: Cache
) -> None:
    request = Request(paper_loop, paper_machine, until="stages")
    solved = solve(request, cache=cache)
    assert not proved(solved.schedule)
    assert solve(request, cache=cache) == replace(solved, seconds=ANY, cached=True)
    assert not solve(Request(paper_loop, paper_machine), cache=cache).cached


def test_an_answer_at_the_limit_of_time_is_not_kept(
    paper_loop: twill.Loop,
    paper_machine: twill.Machine,
    paper_schedule: twill.Schedule,
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = Solved(paper_schedule, {"total": 5.0})
    monkeypatch.setattr(scheduler, "_solve", lambda *_, **__: late)
    solve(Request(paper_loop, paper_machine), cache=cache, timeout=5.0)
    assert answers(cache) == []
    solve(Request(paper_loop, paper_machine), cache=cache, timeout=6.0)
    assert len(answers(cache)) == 1


def test_damaged_and_foreign_files_are_ignored(
    paper_schedule: twill.Schedule, cache: Cache, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.put("k", paper_schedule)
    (file,) = answers(cache)
    whole = file.read_bytes()
    swapped = whole.replace(b'"start": 0', b'"start": 1', 1)
    assert swapped != whole
    for damaged in (b"", whole[:-10], swapped, b"\xff\xfe", b"{}\n", whole.replace(b" k ", b" x ")):
        file.write_bytes(damaged)
        assert cache.get("k") is None
        assert ignored(capsys) == f"{file}: the kept answer is not used: it was changed"
    file.write_bytes(whole)
    assert cache.get("k") == paper_schedule
    other = file.with_name("other.answer")
    other.write_bytes(whole)
    assert cache.get("other") is None
    assert ignored(capsys) == f"{other}: the kept answer is not used: it was changed"
    other.unlink()
    other.mkdir()
    assert cache.get("other") is None


def ignored(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that was warned with."""
    told = capsys.readouterr().err
    assert told.startswith("twill: warning: ")
    assert told.count("\n") == 1
    return told.removeprefix("twill: warning: ").rstrip("\n")


def put_in_place(file: Path, schedule: twill.Schedule) -> None:
    """Write an answer over another one as somebody does who knows how they are kept."""
    key, text = file.stem, schedule.to_json()
    file.write_text(f"{_head(key, text)}\n{text}")


def later(schedule: twill.Schedule) -> dict[str, Any]:
    """Return a change by which the last operation is issued so late that more stages are needed."""
    placements = list(schedule.placements)
    last = placements[-1]
    placements[-1] = last.model_copy(update={"start": (last.start or 0) + 64})
    return {"placements": tuple(placements)}


TAMPERED: dict[str, Callable[[twill.Schedule], dict[str, Any]]] = {
    "interval": lambda _: {"initiation_interval": 1},
    "start": later,
    "no programs": lambda _: {"programs": ()},
    "not proved": lambda _: {"proof": None},
    "rules": lambda _: {"rules": "paper"},
    "seed": lambda _: {"seed": 7},
    "solver": lambda _: {"solver": {}},
    "loop": lambda s: {"loop": s.loop.model_copy(update={"description": "another"})},
    "wishes": lambda s: {"proof": s.proof and s.proof.model_copy(update={"limits": {"groups": 1}})},
}


WHY = {
    "no programs": "it has no programs",
    "not proved": "it is not proved",
    "rules": "it has another rules than was asked for",
    "seed": "it has another seed than was asked for",
    "solver": "it has another solver than was asked for",
    "loop": "it has another loop than was asked for",
    "wishes": "it has another limits than was asked for",
}
"""What is said of a change, where it is not what the verifier says."""


@pytest.mark.parametrize("change", TAMPERED)
def test_a_tampered_answer_is_solved_again_with_a_warning(
    paper_loop: twill.Loop,
    paper_machine: twill.Machine,
    cache: Cache,
    change: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = solve(Request(paper_loop, paper_machine), cache=cache).schedule
    (file,) = answers(cache)
    put_in_place(file, right.model_copy(update=TAMPERED[change](right)))
    again = solve(Request(paper_loop, paper_machine), cache=cache)
    assert not again.cached
    assert again.schedule.to_json() == right.to_json()
    said = ignored(capsys)
    assert said.startswith(f"{file}: the kept answer is not used: {WHY.get(change, '')}")
    assert change not in WHY or said.endswith(WHY[change])
    assert solve(Request(paper_loop, paper_machine), cache=cache).cached
    assert capsys.readouterr().err == ""


def test_the_answer_to_another_question_is_none(
    paper_loop: twill.Loop,
    paper_machine: twill.Machine,
    cache: Cache,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A valid, proved schedule, but of what was not asked: it takes another unit of time."""
    solve(Request(paper_loop, paper_machine), cache=cache)
    (file,) = answers(cache)
    put_in_place(file, static_schedule(paper_loop, paper_machine, time="normalized"))
    assert not solve(Request(paper_loop, paper_machine), cache=cache).cached
    assert ignored(capsys).endswith("it has another unit of time than was asked for")


@pytest.mark.parametrize(
    "question",
    [
        {"time": "normalized"},
        {"rules": "paper"},
        {"engine": "cpsat"},
        {"limits": {"groups": 1}, "orders": [("S", "O")]},
        {"pins": {"S": "g"}, "seed": 3, "most_stages": 4},
    ],
    ids=str,
)
def test_every_kind_of_answer_is_known_again(
    paper_loop: twill.Loop, paper_machine: twill.Machine, cache: Cache, question: dict[str, Any]
) -> None:
    request = Request(paper_loop, paper_machine, **question)
    first = solve(request, cache=cache)
    second = solve(request, cache=cache)
    assert (first.cached, second.cached) == (False, True)


def test_the_command_tells_of_a_tampered_answer(tmp_path: Path, no_users_cache: Path) -> None:
    words = ("twill", *STATIC)
    right = in_process(*words, folder=tmp_path)
    (file,) = no_users_cache.iterdir()
    schedule = twill.Schedule.from_json(file.read_text().partition("\n")[2])
    put_in_place(file, schedule.model_copy(update={"initiation_interval": 1}))
    again = in_process(*words, folder=tmp_path)
    assert (again.returncode, again.stdout) == (0, right.stdout)
    assert again.stderr.startswith(f"twill: warning: {file}: the kept answer is not used: ")
    assert again.stderr.count("\n") == 1


def test_the_least_recently_used_go_first(paper_schedule: twill.Schedule, cache: Cache) -> None:
    for age, key in enumerate("abc"):
        cache.put(key, paper_schedule)
        os.utime(cache.folder / f"{key}.answer", (age, age))
    assert cache.get("a") is not None
    cache.put("d", paper_schedule)
    assert [file.stem for file in answers(cache)] == ["a", "c", "d"]


def test_a_folder_that_cannot_be_written_costs_nothing(
    paper_loop: twill.Loop, paper_machine: twill.Machine, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    blocked = Cache(tmp_path / "file" / "folder")
    assert not solve(Request(paper_loop, paper_machine), cache=blocked).cached
    assert not solve(Request(paper_loop, paper_machine), cache=blocked).cached


def test_what_cannot_be_written_is_not_kept(paper_schedule: twill.Schedule, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "not" / "there" / "yet")
    (cache.folder / "k.answer").mkdir(parents=True)
    cache.put("k", paper_schedule)
    assert cache.get("k") is None
    cache.put("other", paper_schedule)
    assert cache.get("other") == paper_schedule


def test_folders_are_made(paper_schedule: twill.Schedule, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "not" / "there" / "yet")
    cache.put("k", paper_schedule)
    assert cache.get("k") == paper_schedule


def test_what_another_process_removed_is_oldest(tmp_path: Path) -> None:
    assert _used(tmp_path / "gone") == 0.0


def test_many_writers_and_readers_see_whole_answers(
    paper_schedule: twill.Schedule, cache: Cache
) -> None:
    def work(turn: int) -> bool:
        key = str(turn % 5)
        cache.put(key, paper_schedule)
        found = cache.get(key)
        return found is None or found == paper_schedule

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(80)))
    cache.put("last", paper_schedule)
    assert len(answers(cache)) == 3
    assert {file.suffix for file in cache.folder.iterdir()} == {".answer"}


def test_the_folder_is_the_users_unless_it_is_named(
    no_users_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cache_folder() == no_users_cache
    monkeypatch.delenv("TWILL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "twill"


def test_the_command_says_whether_it_was_cached(tmp_path: Path, no_users_cache: Path) -> None:
    def told(*more: str) -> dict[str, Any]:
        words = ("twill", *STATIC, "--json")
        done = in_process(*words, *more, folder=tmp_path)
        done.check_returncode()
        data: dict[str, Any] = json.loads(done.stdout)
        return data

    assert told("-o", "a.json")["cached"] is False
    assert told("-o", "b.json")["cached"] is True
    assert told("-o", "c.json", "--no-cache")["cached"] is False
    files = [(tmp_path / f"{name}.json").read_bytes() for name in "abc"]
    assert files[0] == files[1] == files[2]
    assert len(list(no_users_cache.iterdir())) == 1
    first, second = told(), told("--no-cache")
    assert {k: v for k, v in first.items() if k not in ("seconds", "cached")} == {
        k: v for k, v in second.items() if k not in ("seconds", "cached")
    }


def test_a_file_of_the_largest_size_is_read_and_a_larger_one_is_not(
    paper_schedule: twill.Schedule, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put("k", paper_schedule)
    size = answers(cache)[0].stat().st_size
    monkeypatch.setattr("twill.search.cache.SIZE_LIMIT_BYTES", size)
    assert cache.get("k") == paper_schedule
    monkeypatch.setattr("twill.search.cache.SIZE_LIMIT_BYTES", size - 1)
    assert cache.get("k") is None


@pytest.mark.parametrize("kind", ["device", "link", "pipe"])
def test_an_entry_that_is_no_ordinary_file_is_neither_read_nor_written(
    kind: str, paper_loop: twill.Loop, paper_machine: twill.Machine, cache: Cache, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    answer = twill.schedule(paper_loop, paper_machine)
    key = "0" * 64
    cache.put(key, answer)
    (file,) = answers(cache)
    mine = file.rename(tmp_path / "mine")
    kept = mine.read_text()
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero" if kind == "device" else mine)
    assert cache.get(key) is None
    assert "the kept answer is not used" in capsys.readouterr().err
    mine.write_text("mine")
    cache.put(key, answer)
    assert mine.read_text() == "mine"
    assert kept == f"{_head(key, answer.to_json())}\n{answer.to_json()}"
