"""Common parts of the artifacts: strict validation, stable bytes, answers kept for each object."""

from __future__ import annotations

import difflib
import functools
import importlib.resources
import json
import os
import re
import tomllib
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError
from pydantic_core import PydanticCustomError

from twill.base.console import warn
from twill.base.errors import InputError, short
from twill.base.files import SIZE_LIMIT_BYTES, read_bytes, write_whole

MOST_TOML = 1 << 20
STRING_OR_COMMENT = re.compile(
    rb'''"""(?:[^\\]|\\.)*?"""|\'{3}.*?\'{3}|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|#[^\n]*+''', re.DOTALL
)
# A key of more than 64 parts, for which the library takes quadratic time.
DEEP_KEY = re.compile(rb"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){64}")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Made = TypeVar("Made", bound="Artifact")
MISSING = "this key is required"
MOST_NAMES = 8  # of what is packaged, in an error
MOST_KEY = 60  # characters of a key, in an error


class Part(BaseModel):
    """A piece of an artifact: frozen, strict, without unknown keys, without NaN or infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other content; what was computed of the old content is left behind."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields:
            del copied.__dict__[name]
        return copied


class Artifact(Part):
    """A file that a person can open, edit and feed in again."""

    most_bytes: ClassVar[int] = SIZE_LIMIT_BYTES  # of a file of this kind
    # Whether it is read from ordinary files only, and from no pipe or device.
    ordinary: ClassVar[bool] = False
    # What known machines say, by the end of a path, for who has a file without it.
    said_of_missing: ClassVar[dict[str, str]] = {}
    _file: str = PrivateAttr(default="")

    @property
    def file(self) -> str:
        """The file it was read from, for errors; empty if it was made in memory."""
        return self._file

    def __eq__(self, other: object) -> bool:
        """Compare content; where it was read from does not matter."""
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, key) == getattr(other, key) for key in type(self).model_fields)

    __hash__ = None  # type: ignore[assignment]  # artifacts hold dictionaries

    def __repr__(self) -> str:
        """Return a line, as interactive sessions show it; `to_json` has everything."""
        return f"<{type(self).__name__} {self.summary}>"

    __str__ = __repr__

    @property
    def summary(self) -> str:
        """A description in short; the name by default."""
        return str(getattr(self, "name", ""))

    def to_json(self) -> str:
        """Return the artifact as JSON text; equal artifacts give equal bytes."""
        data = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the artifact to `file` as JSON, whole or not at all.

        Parameters
        ----------
        file : path
            Where to write; an existing file is replaced; ``-`` is standard output.

        Raises
        ------
        InputError
            If the folder is missing or cannot be written.
        """
        write_whole(file, self.to_json())

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str = "") -> Self:
        """Read an artifact from JSON text.

        Parameters
        ----------
        text : str or bytes
            The JSON document.
        file : str
            Name used in errors.

        Raises
        ------
        InputError
            If the text is not JSON or not a valid artifact; names the path and the value.
        """
        try:
            artifact = _valid(cls, text, file)
        except InputError:
            document, told = _of_today(cls, text)
            if document is None:
                raise
            artifact = _valid(cls, document, file)
            if told:
                tell_brought_up(file or artifact.summary, told)
        artifact.read_from(file)
        return artifact

    @classmethod
    def bring_up(cls, document: dict[str, Any]) -> list[str] | None:  # noqa: ARG003
        """Change a document of an earlier version into one of today; return what was done.

        None says that there was nothing of an earlier version in it, as in all of most artifacts.
        """
        return None

    def read_from(self, file: str) -> None:
        """Remember for errors where it, or what it is a part of, was read from."""
        self._file = file

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Read an artifact from a JSON file (TOML if the name ends in ``.toml``).

        Parameters
        ----------
        file : path
            The file to read, at most `most_bytes` long.

        Raises
        ------
        InputError
            If the file cannot be read or is not a valid artifact.
        """
        data = read_bytes(file, ordinary=cls.ordinary, most=cls.most_bytes)
        if Path(file).suffix == ".toml":
            return cls.from_toml(data, file=str(file))
        return cls.from_json(data, file=str(file))

    @classmethod
    def from_toml(cls, text: bytes, *, file: str = "") -> Self:
        """Read an artifact from TOML text.

        Parameters
        ----------
        text : bytes
            The TOML document, UTF-8.
        file : str
            Name used in errors.

        Raises
        ------
        InputError
            If the text is not TOML or not a valid artifact.
        """
        return cls.from_json(toml_as_json(text, file), file=file)


def _valid(kind: type[Made], text: str | bytes, file: str) -> Made:
    """Return the artifact of a JSON text; refuse one that is not valid."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise first_problem(error, file, kind.said_of_missing) from None


def _of_today(kind: type[Artifact], text: str | bytes) -> tuple[str | None, list[str]]:
    """Return a document of an earlier version as one of today, with the changes; or None."""
    try:
        document = json.loads(text)
        told = kind.bring_up(document) if isinstance(document, dict) else None
        return None if told is None else json.dumps(document, allow_nan=False), told or []
    except (ValueError, RecursionError):
        return None, []


def tell_brought_up(file: str, told: Sequence[str]) -> None:
    """Say of a file of an earlier version how it is read, once in a process."""
    _warn_once(f"{file}: of an earlier version, read with {', '.join(told)}; see `twill migrate`")


_warn_once = functools.cache(warn)


def toml_as_json(
    text: bytes, file: str, complete: Callable[[dict[str, Any]], dict[str, Any]] = dict
) -> str:
    """Return a TOML document as JSON, once `complete` has filled it in."""
    try:
        return json.dumps(complete(parse_toml(text, file)))
    except RecursionError:
        raise InputError("not TOML: nested too deeply", file=file) from None
    except TypeError as error:
        message = f"a value of a type that machines do not use: {error}"
        raise InputError(message, file=file) from None


def parse_toml(text: bytes, file: str) -> dict[str, Any]:
    """Return a TOML document in UTF-8; refuse one that is too long or nested too deeply."""
    if len(text) > MOST_TOML:
        raise InputError(f"longer than the limit of {MOST_TOML} bytes for TOML", file=file)
    # Where only keys count, a letter stands for a string, and nothing for a comment.
    short_text = STRING_OR_COMMENT.sub(lambda t: b"" if t[0].startswith(b"#") else b"s", text)
    if DEEP_KEY.search(short_text):
        raise InputError("not TOML: nested too deeply", file=file)
    try:
        return tomllib.loads(text.decode("utf-8"))
    except ValueError as error:
        raise InputError(f"not TOML: {error}", file=file) from None
    except RecursionError:
        raise InputError("not TOML: nested too deeply", file=file) from None


def says_schema(text: str | bytes, schema: str) -> bool:
    """Return whether a JSON document says that it is of a schema."""
    if (schema not in text) if isinstance(text, str) else (schema.encode() not in text):
        return False
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("schema") == schema


def refuse(path: str, message: str) -> PydanticCustomError:
    """Make the exception that a validator raises to name a path inside what it validates."""
    return PydanticCustomError("refused", "{message}", {"message": message, "inner": path})


def checked_name(name: str) -> str:
    """Return a name, or refuse it if it cannot be shown."""
    if not name.isprintable():
        raise PydanticCustomError("name", "a name has no control characters")
    return name


def first_problem(
    error: ValidationError, file: str, said_of_missing: Mapping[str, str] | None = None
) -> InputError:
    """Return a validation error as one line that names file, path and value."""
    problems = error.errors(include_url=False)
    first = problems[0]
    context: dict[str, Any] = first.get("ctx", {})
    path, message = _dotted(first["loc"]), first["msg"]
    match first["type"]:
        case "refused":
            path = ".".join(part for part in (path, context["inner"]) if part)
            message = context["message"]
        case "json_invalid":
            message = f"not JSON: {context['error']}"
        case "missing":
            message = MISSING
        case "extra_forbidden":
            message = f"unknown key (value {short(first['input'])})"
        case _:
            message = f"{message[0].lower()}{message[1:]} (got {short(first['input'])})"
    if message == MISSING:
        for end, said in (said_of_missing or {}).items():
            message += f"; Hopper and Blackwell have {said}" if path.endswith(end) else ""
    if len(problems) > 1 and path != "schema":
        message += f" (and {len(problems) - 1} more)"
    return InputError(message, path=path, file=file)


def check_unique(path: str, key: str, names: Iterable[str], what: str = "one") -> None:
    """Refuse, inside a validator, a list in which two entries have one name."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise refuse(f"{path}[{index}].{key}", f"a second {what} named {short(name)}")
        seen.add(name)


def check_known(path: str, name: str, names: Container[str], what: str) -> None:
    """Refuse, inside a validator, a name that is none of those that there are."""
    if name not in names:
        raise refuse(path, f"no {what} named {short(name)}")


def packaged(folder: str, ending: str) -> list[str]:
    """Return the names of the files in a folder of the package, sorted, without their ending."""
    entries = importlib.resources.files("twill").joinpath(folder).iterdir()
    return sorted(e.name.removesuffix(ending) for e in entries if e.name.endswith(ending))


def packaged_text(what: str, folder: str, name: str, ending: str) -> bytes:
    """Return the text of a file of the package by its name; refuse a name that is none's."""
    names = packaged(folder, ending)
    if name not in names:
        raise unknown(what, name, names, ending)
    return importlib.resources.files("twill").joinpath(folder, f"{name}{ending}").read_bytes()


def unknown(what: str, name: str, names: Collection[str], endings: str) -> InputError:
    """Return the error for a name that is neither packaged nor a file's; it names the nearest."""
    if what != "machine" and (name.endswith(".py") or ".py:" in name):
        return InputError("kernels are dumped first: twill loop dump FILE.py:KERNEL", file=name)
    near = difflib.get_close_matches(name, names, n=MOST_NAMES, cutoff=0)
    more = f" (and {len(names) - len(near)} more)" if len(names) > len(near) else ""
    shown = ", ".join(near if more else names)
    return InputError(
        f"no such {what}; packaged are {shown}{more}; a file ends in {endings}", file=name
    )


def _dotted(location: tuple[int | str, ...]) -> str:
    steps = (
        f"[{step}]"
        if isinstance(step, int)
        else f".{step[:MOST_KEY]}{'...' if len(step) > MOST_KEY else ''}"
        for step in location
    )
    return "".join(steps).removeprefix(".")


def by_identity(most: int) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Return a decorator that keeps answers, at most so many, for the same objects once more.

    Equal ones are others: loops and machines take longer to compare than most answers.
    """

    def decorate(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
        # Beside each answer what was asked about, so that nothing else gets its number.
        kept = dict[tuple[object, ...], tuple[object, Answer]]()

        @functools.wraps(function)
        def answer(*given: Given.args, **named: Given.kwargs) -> Answer:
            key = (*map(id, given), *((name, id(value)) for name, value in named.items()))
            found = kept.get(key)
            if found is None:
                found = (given, named), function(*given, **named)
                if len(kept) >= most:
                    kept.clear()
                kept[key] = found
            return found[1]

        return answer

    return decorate
