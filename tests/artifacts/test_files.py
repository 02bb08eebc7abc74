"""What is written: whole, with its mode, never over an input, and nowhere else than where asked."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import twill
from tests.support.commands import in_process
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import Sweep
from twill.base.errors import InputError
from twill.base.files import check_target, inside, make_folder, write_whole
from twill.base.names import file_name
from twill.frontends.schedules import load_schedule
from twill.show import gantt
from twill.sim.engine import Conditions
from twill.sim.engine.record import Recording
from twill.sim.show.timeline import draw_timeline
from twill.studies.compare import comparison, write_comparisons
from twill.studies.sweep import run_sweep

HOSTILE = "../../outside/x"
KEPT = "out/schedules/paper_example.paper_example.joint.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder two levels deep, so that what climbs out of it is seen in `tmp_path`."""
    found = tmp_path / "a" / "b"
    found.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    twill.load_loop("paper_example").save(found / "loop.json")
    load_schedule("paper_example_by_hand").save(found / "s.json")
    return found


def named(schedule: Schedule, name: str) -> Schedule:
    loop = schedule.loop.model_copy(update={"name": name})
    return schedule.model_copy(update={"loop": loop, "name": name})


# -- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["a/b", "..", ".", "../x", ".hidden", "a\0b", "a\nb", "a b", "/etc/x", "x" * 300,
             "日" * 200, "a%2Fb", "\ud800", "\\\\host\\x", "CON:"],
)  # fmt: skip
def test_any_name_is_one_name_in_its_folder(name: str, tmp_path: Path) -> None:
    made = file_name(name)
    file = tmp_path / f"{made}.json"
    file.write_text("x")
    assert list(tmp_path.iterdir()) == [file]
    assert not made.startswith(".")


def test_plain_names_stay_and_different_ones_differ() -> None:
    assert file_name("fa_fwd_hopper#2.swp") == "fa_fwd_hopper#2.swp"
    assert file_name("süß_日本") == "süß_日本"
    names = ["a/b", "a%2Fb", "a%b", "x" * 300, "x" * 301, ".a", "%2Ea", "a b", "a\u00a0b"]
    assert len({file_name(name) for name in names}) == len(names)


def test_a_loops_name_is_no_path_of_a_comparison(folder: Path, tmp_path: Path) -> None:
    found = comparison(
        named(load_schedule("paper_example_by_hand"), HOSTILE), Conditions(iterations=24)
    )
    write_comparisons([found], folder / "out")
    assert list((tmp_path / "outside").iterdir()) == []
    files = list((folder / "out/schedules").iterdir())
    assert len(files) == len(found.schedules)


def test_a_loops_name_is_no_path_of_a_sweep(folder: Path, tmp_path: Path) -> None:
    named(Schedule.load(folder / "s.json"), HOSTILE).save(folder / "h.json")
    made = Sweep(items=(str(folder / "h.json"),), axes={"synchronisation": (1.0,)}, iterations=24)
    run_sweep(made, folder / "out")
    assert list((tmp_path / "outside").iterdir()) == []
    assert len(list((folder / "out/schedules").iterdir())) == 1
    run_sweep(made, folder / "out")


# -- modes, halves, inputs ----------------------------------------------------------------------


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("before")
    file.chmod(0o600)
    write_whole(file, "after")
    assert file.read_text() == "after"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    write_whole(tmp_path / ("n" * 250), b"\xff")
    assert len(list(tmp_path.iterdir())) == 3


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file above 500 bytes: what a test can have of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def drawn_placed(file: Path) -> None:
    schedule = load_schedule(str(Path(__file__).parents[2] / "docs/reading/fa_fwd_hopper.mlir"))
    gantt.draw_timeline(schedule, str(file))


def drawn_timeline(file: Path) -> None:
    draw_timeline(load_schedule("paper_example_by_hand"), Recording(), 0.0, 9.0, file)


@pytest.mark.parametrize("ending", ["png", "svg"])
@pytest.mark.parametrize("draw", [drawn_placed, drawn_timeline])
@pytest.mark.usefixtures("small_files")
def test_a_full_disk_leaves_the_picture_that_was(
    draw: Callable[[Path], None], ending: str, tmp_path: Path
) -> None:
    file = tmp_path / f"picture.{ending}"
    file.write_text("before")
    with pytest.raises(InputError, match=r"picture\.\w+: cannot write: File too large"):
        draw(file)
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "words",
    [
        ("twill", "schedule", "loop.json", "-m", "paper_example", "-o", "loop.json"),
        ("twill", "schedule", "loop.json", "-m", "paper_example", "-o", "link.json"),
        ("twill", "loop", "subtile", "loop.json", "--factor", "2", "-o", "loop.json"),
        ("twill", "show", "s.json", "--as", "ir", "-o", "s.json"),
        ("twill", "show", "s.json", "--as", "code", "-o", "s.json"),
        ("python", "-m", "twill.sim", "run", "s.json", "--trace", "s.json"),
        ("python", "-m", "twill.sim", "compare", KEPT, "--iterations", "24", "-o", "out"),
    ],
    ids=lambda words: " ".join(words[:4]),
)  # fmt: skip
def test_no_command_replaces_its_input(words: tuple[str, ...], folder: Path) -> None:
    (folder / "link.json").symlink_to("loop.json")
    (folder / "out/schedules").mkdir(parents=True)
    kept = folder / KEPT
    kept.write_text((folder / "s.json").read_text())
    files = [folder / "loop.json", folder / "s.json", kept]
    before = [file.read_bytes() for file in files]
    done = in_process(*words, folder=folder)
    assert done.returncode == 2, done.stdout
    assert done.stderr.endswith(": was read as an input, and would be replaced\n")
    assert done.stderr.count("\n") == 1
    assert [file.read_bytes() for file in files] == before


def test_an_artifact_in_python_is_saved_where_it_was_read(folder: Path) -> None:
    """Who writes the call knows what it replaces."""
    twill.Loop.load(folder / "loop.json").save(folder / "loop.json")


# -- standard output --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (("twill", "schedule", "loop.json", "-m", "paper_example"), '{\n "schema": "twill.sched'),
        (("twill", "schedule", "loop.json", "-m", "paper_example", "--json"), '{\n "schema": "tw'),
        (("twill", "show", "s.json", "--as", "code"), "//"),
        (("twill", "show", "solved.json", "--as", "timeline"), "<?xml"),
        (("twill", "extract", "s.mlir"), '{\n "schema": "twill.schedule"'),
    ],
    ids=lambda words: " ".join(words[1:4]) if isinstance(words, tuple) else "",
)
def test_a_dash_is_standard_output_and_nothing_else_is_there(
    words: tuple[str, ...], begins: str, folder: Path, paper_schedule: Schedule
) -> None:
    paper_schedule.save(folder / "solved.json")
    in_process("twill", "show", "s.json", "--as", "ir", "-o", "s.mlir", folder=folder)
    done = in_process(*words, "-o", "-", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(begins)
    assert "wrote" not in done.stdout
    if begins.startswith("{"):
        assert json.loads(done.stdout)["schema"] == "twill.schedule"
    assert not (folder / "-").exists()


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_standard_output_is_no_folder(command: str, folder: Path) -> None:
    done = in_process("python", "-m", "twill.sim", command, "s.json", "-o", "-", folder=folder)
    assert done.returncode == 2
    assert done.stderr == "twill: -: standard output is no folder; ./- is a folder of that name\n"
    assert not (folder / "-").exists()
    make_folder(folder / "-")


def test_a_folder_where_nobody_may_write_is_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, device = tmp_path / "made.json", Path(os.devnull)
    check_target(target)
    monkeypatch.setattr(os, "access", lambda *_: False)
    check_target(device)
    for _ in range(2):  # a file that is there is replaced, too
        with pytest.raises(twill.InputError, match="cannot write: Permission denied"):
            check_target(target)
        target.touch()


# -- folders of files that Twill keeps --------------------------------------------------------


@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe", "device", "folder", "socket"])
def test_only_ordinary_files_are_in_a_kept_folder(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "file"
    match kind:
        case "link":
            (tmp_path / "mine").touch()
            place.symlink_to("mine")
        case "link to nothing":
            place.symlink_to("mine")
        case "pipe":
            os.mkfifo(place)
        case "device":
            place = Path("/dev/zero")
        case "folder":
            place.mkdir()
        case _:
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(place))
    with pytest.raises(InputError, match=f"{place}: not an ordinary file"):
        inside(place.parent, place.name)


def test_folders_in_a_kept_folder_are_no_links(tmp_path: Path) -> None:
    assert inside(tmp_path, "new", "file") == tmp_path / "new/file"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real/file").touch()
    assert inside(tmp_path, "real", "file") == tmp_path / "real/file"
    assert inside(tmp_path / "link", "file") == tmp_path / "link/file"  # as the user named it
    with pytest.raises(InputError, match="link: not an ordinary folder"):
        inside(tmp_path, "link", "file")
