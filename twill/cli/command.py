"""How a function becomes a command, and how commands print data, tables and refusals."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer import Option

from twill.base.console import command as ending_in_one_line
from twill.base.console import note, say, say_written
from twill.base.errors import RefusedError
from twill.base.files import STANDARD_OUTPUT
from twill.cli.options import Json

if TYPE_CHECKING:
    from twill.artifacts.base import Artifact
    from twill.studies.suggest import Suggestions


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command: errors are one line, and a parameter that is a dataclass is its options."""
    parameters, groups = [], {}
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        assert isinstance(kind, type)
        groups[parameter.name] = kind
        types = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name, parameter.kind, default=field.default, annotation=types[field.name]
            )
            for field in fields(kind)
        ]

    @functools.wraps(function)
    def flat(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        function(**given, **made)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as typed
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return ending_in_one_line(flat)


SCHEMA_VERSION = 1  # of all that is printed as JSON and is no artifact


@dataclass(frozen=True)
class Output:
    """The file of a command's result, and the form of its summary."""

    output: Annotated[
        str | None,
        Option("--output", "-o", help="Write the result, a JSON file, here (- for stdout)."),
    ] = None
    as_json: Json = False

    def keep(
        self,
        made: Artifact,
        schema: str,
        data: Callable[[], Mapping[str, Any]],
        show: Callable[[], object],
    ) -> None:
        """Write what was made, and print it as data or for people, unless it went to stdout."""
        if self.output is not None:
            made.save(self.output)
        if self.output != STANDARD_OUTPUT:
            tell(schema, data, show, as_json=self.as_json)
            say_written(None if self.as_json else self.output)


def tell(
    schema: str, data: Callable[[], Mapping[str, Any]], show: Callable[[], object], *, as_json: bool
) -> None:
    """Print something as data or for people."""
    if as_json:
        print_json(schema, data())
    else:
        show()


def print_json(schema: str, data: Mapping[str, Any]) -> None:
    """Write data as JSON to stdout, with the name and the version of its schema first."""
    say(json_text(schema, data))


def json_text(schema: str, data: Mapping[str, Any]) -> str:
    """Return data as JSON with the name and the version of its schema first."""
    head = {"schema": f"twill.{schema}", "schema_version": SCHEMA_VERSION}
    return json.dumps({**head, **data, **head}, indent=1, ensure_ascii=False)


@contextlib.contextmanager
def refusals(
    *, as_json: bool, suggested: Callable[[], Suggestions] | None = None
) -> Iterator[None]:
    """End in the exit status of a refusal; print suggestions, and with `as_json` data.

    `suggested`: finds changes that help; without it there are no suggestions.
    """
    try:
        yield
    except RefusedError as error:
        if suggested is None and not as_json:
            raise
        found = None if suggested is None else suggested()
        if as_json:
            helps = {} if found is None else asdict(found)
            told = {"suggestions": helps.get("found", []), "tried": helps.get("tried", [])}
            print_json("refusal", {"refused": error.data, **told})
        elif found is not None:
            from twill.studies.suggest import print_suggestions

            note(f"twill: {error}")
            print_suggestions(found)
        raise typer.Exit(error.exit_status) from None
