"""Progress for people, and work that can be interrupted or ends with its parent process."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import ParamSpec, Protocol, TypeVar

from twill.base import interruptions
from twill.base.deadline import OutOfTime, check, now
from twill.base.errors import TwillError
from twill.base.files import STANDARD_OUTPUT, inputs_kept
from twill.base.names import one_line, visible

T = TypeVar("T")
_meanwhile: ContextVar[Callable[[], None] | None] = ContextVar("meanwhile", default=None)
P = ParamSpec("P")
WARNING = "twill: warning: "
_still_running: list[threading.Event] = []
POLL_SECONDS = 0.05
GRACE_SECONDS = 0.5
QUIET_SECONDS = 2.0
WIDTH = 80
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
# Looked up now: between a fork and the program that follows, little is safe to do.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


class Report(Protocol):
    """A report to a person about the current work."""

    def __call__(self, message: str) -> None:
        """Say `message`."""


def silent(message: str) -> None:
    """Say nothing."""


@contextlib.contextmanager
def progress(title: str) -> Iterator[Report]:
    """Show a line on stderr for work of more than two seconds; nothing if it is not a terminal."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.status import Status

    status = Status(_escaped(title), console=Console(stderr=True))
    timer = threading.Timer(QUIET_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda message: status.update(_escaped(f"{title}: {message}"))
    finally:
        timer.cancel()
        status.stop()


def _nothing(**_settings: object) -> None:
    """Change nothing on a screen that is none."""


class Counter:
    """A report to a person: how many things are done, at which rate, and the time left.

    `update`: changes the bar that shows it, if there is one.
    """

    def __init__(self, update: Callable[..., None] = _nothing, title: str = "") -> None:
        self._update, self._title = update, title
        self._begun = self._done = 0.0

    def report(self, message: str) -> None:
        """Say what is being done."""
        self._update(description=one_line(f"{self._title}: {message}"))

    def begin(self, count: int, before: int = 0) -> None:
        """Tell how many things there are, and how many were done before."""
        self._begun = now()
        self._update(total=count, completed=before, description=self._title)

    def advance(self) -> None:
        """Tell that one more is done."""
        self._done += 1
        spent = max(now() - self._begun, 1e-3)
        self._update(advance=1, rate=f"{self._done / spent:.3g}")


def _escaped(message: str) -> str:
    from rich.markup import escape

    return escape(one_line(message))


@contextlib.contextmanager
def counted(title: str, noun: str) -> Iterator[Counter]:
    """Show a bar on stderr for many things that are done one by one; nothing on no terminal."""
    if not sys.stderr.isatty():
        yield Counter()
        return
    from rich import progress as shown
    from rich.console import Console

    columns = (
        shown.TextColumn("{task.description}", markup=False),
        shown.BarColumn(bar_width=20),
        shown.MofNCompleteColumn(),
        shown.TextColumn(f"{noun}, {{task.fields[rate]}} a second,"),
        shown.TimeRemainingColumn(),
        shown.TextColumn("left"),
    )
    with shown.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, rate="-")
        yield Counter(functools.partial(bar.update, task), title)


@contextlib.contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Do some work again and again while this thread waits within for others."""
    token = _meanwhile.set(work)
    try:
        yield
    finally:
        _meanwhile.reset(token)


def _do_meanwhile() -> None:
    work = _meanwhile.get()
    if work is not None:
        token = _meanwhile.set(None)  # it may itself wait
        try:
            work()
        finally:
            _meanwhile.reset(token)


def interruptible(work: Callable[[], T], cancel: Callable[[], object]) -> T:
    """Run `work` in another thread so that Ctrl-C and deadlines reach a solver in C.

    `work`: runs to its end unless cancelled; must release the interpreter lock.
    `cancel`: asks it to stop; called on Ctrl-C and when the time is over.

    Raises
    ------
    KeyboardInterrupt, OutOfTime
        Within a second of Ctrl-C, or of the end of a deadline around it.
    """
    outcome: list[T] = []
    problem: list[BaseException] = []
    # An event, not Thread.join: an interrupted join takes a running thread for a finished one.
    finished = threading.Event()

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            problem.append(error)
        finally:
            finished.set()

    check()
    threading.Thread(target=run, daemon=True).start()
    try:
        while not finished.wait(POLL_SECONDS):
            check()
            _do_meanwhile()
    except (KeyboardInterrupt, OutOfTime):
        cancel()
        if not finished.wait(GRACE_SECONDS):
            _still_running.append(finished)
        raise
    if problem:
        raise problem[0]
    return outcome[0]


def end_with_parent() -> None:
    """Let the system kill this process when the thread that started it ends, where Linux can.

    Without that a solver goes on at full load when its parent was killed. No thread of the process
    itself could see to that while it is stopped.
    """
    if _prctl is not None:
        _prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Make a command end errors in one line on stderr and the exit status that they stand for.

    No command writes over a file that it read.
    """

    @functools.wraps(function)
    def wrapper(*arguments: P.args, **keywords: P.kwargs) -> None:
        try:
            with inputs_kept(), interruptions.raised():
                function(*arguments, **keywords)
                sys.stdout.flush()
        except KeyboardInterrupt as stopped:
            _interrupted(str(stopped))
        except TwillError as error:
            if interruptions.heard():  # it may come out of what was reading a file
                _interrupted(str(error))
            fail(str(error), error.exit_status)
        except Exception:
            # What was interrupted, an import in C for one, may make another error of it.
            if not interruptions.heard():
                raise
            _interrupted()

    return wrapper


def _interrupted(what: str = "") -> None:
    sys.stderr.write(f"twill: interrupted{'; ' * bool(what)}{what}\n")
    _leave(interruptions.STATUS)


def run_app(app: Callable[..., object]) -> None:
    """Run a command line; wrong usage ends in one line on stderr and exit status 2."""
    sys.unraisablehook = _deliver_again
    _check_streams()
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None
    except OSError as error:
        _forget_output()
        fail(f"cannot write: {error.strerror or error}", TwillError.exit_status)
    except Exception as error:
        # typer moves its usage errors about from version to version; all can say what is wrong
        explain = getattr(error, "format_message", None)
        if explain is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            say(explain())
            raise SystemExit(TwillError.exit_status) from None
        message = " ".join(explain().split())
        fail(message.replace(": Value error, ", ": "), TwillError.exit_status)
    else:
        _leave(status if isinstance(status, int) else 0)
    finally:
        interruptions.over()


def _check_streams() -> None:
    """Refuse closed streams: the next opened file would take the place of one."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for as long as the process
    if sys.stdout is None:
        fail("cannot write: standard output is closed", TwillError.exit_status)


def _deliver_again(dropped: sys.UnraisableHookArgs) -> None:
    """Repeat a Ctrl-C that came while a destructor ran, from where no exception gets out."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    interruptions.again()
    # Later, and by a signal: the destructor has returned by then, and a wait ends.
    main = threading.main_thread().ident
    assert main is not None
    again = threading.Timer(POLL_SECONDS, signal.pthread_kill, (main, signal.SIGINT))
    again.daemon = True
    again.start()


def _forget_output() -> None:
    """Keep the interpreter from trying once more at its end to write what cannot be written."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(status: int) -> None:
    """Exit, past the interpreter's own end if a solver's thread has not come back."""
    if not all(finished.is_set() for finished in _still_running):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    raise SystemExit(status)


def fail(message: str, status: int) -> None:
    """Say why on stderr and exit."""
    sys.stderr.write(f"twill: {one_line(message)}\n")
    raise SystemExit(status)


def warn(message: str) -> None:
    """Tell on stderr what the user should know and what stops nothing."""
    sys.stderr.write(f"{WARNING}{one_line(message)}\n")


def note(message: str) -> None:
    """Write a line of what is done to stderr."""
    sys.stderr.write(f"{one_line(message)}\n")


def say(text: str = "") -> None:
    """Write a line to stdout."""
    sys.stdout.write(f"{visible(text)}\n")


def say_written(*files: str | os.PathLike[str] | None) -> None:
    """Say which files were written; nothing of standard output."""
    for file in files:
        if file is not None and file != STANDARD_OUTPUT:
            say(f"wrote {file}")


def paragraph(text: str) -> None:
    """Write a text to stdout in lines of at most 80 columns; no word is broken."""
    words = text.lstrip()
    indent = text[: len(text) - len(words)]
    lines = textwrap.wrap(
        words,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    say("\n".join(lines))
