"""Sources that nothing cites, that say nothing, or that are there twice."""

from __future__ import annotations

from collections.abc import Iterator

from twill.studies.audit.subject import Finding, Subject

NOTHING = frozenset({"", "?", "-", "none", "unknown", "guess", "tbd", "n/a"})


def citations(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and text of every ``source`` in a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            where = f"{path}.{key}" if path else str(key)
            if key == "source" and isinstance(inner, str):
                yield where, inner
            else:
                yield from citations(inner, where)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from citations(inner, f"{path}[{index}]")


def unused_sources(subject: Subject) -> Iterator[Finding]:
    """Every listed source is the source of some number."""
    cited = {
        text for _, source in citations(subject.machine.model_dump()) for text in _keys(source)
    }
    for key in subject.own_names("sources"):
        if key not in cited:
            yield Finding(
                f"sources.{key}", "no number has this source", "remove it, or cite it where used"
            )


def _keys(source: str) -> Iterator[str]:
    """Words of a source text that may be keys: further sources are named after the first."""
    for word in source.replace(":", " ").replace(";", " ").replace(",", " ").split():
        yield word.removesuffix(".").removesuffix("'s")


def empty_sources(subject: Subject) -> Iterator[Finding]:
    """A source says where a number can be found."""
    for key in subject.own_names("sources"):
        text = subject.machine.sources[key]
        if _says_nothing(text):
            yield Finding(
                f"sources.{key}",
                f"does not say where the numbers can be found (got {text!r})",
                "give the reference, or state that it is a choice of the model",
            )
    for path, source in citations(subject.own):
        _, colon, detail = source.partition(":")
        if colon and _says_nothing(detail):
            yield Finding(
                path,
                f"does not say what the source says (got {source!r})",
                "say what was measured or stated there, or leave only the key",
            )


def _says_nothing(text: str) -> bool:
    return text.strip().strip(".").lower() in NOTHING


def repeated_sources(subject: Subject) -> Iterator[Finding]:
    """No reference has two keys."""
    seen: dict[str, str] = {}
    for key in subject.own_names("sources"):
        text = " ".join(subject.machine.sources[key].split())
        if text in seen:
            yield Finding(
                f"sources.{key}", f"is the same as {seen[text]}", f"cite {seen[text]} instead"
            )
        seen.setdefault(text, key)
