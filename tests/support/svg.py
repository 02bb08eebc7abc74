"""What an SVG draws, for comparisons that a version of matplotlib does not upset."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def shapes(text: str) -> list[tuple[str, list[float]]]:
    """Return what an SVG draws: elements with their words, and their numbers apart."""
    found = []
    for element in ET.fromstring(text).iter():  # noqa: S314 - written here
        said = f"{element.tag} {element.get('style', '')} {element.text or ''}"
        where = " ".join(element.get(key, "") for key in ("d", "x", "y", "transform"))
        said = re.sub(r"(url\(#\w+\)|#[a-z]\w{10})", "", said)
        found.append((" ".join(said.split()), [float(n) for n in NUMBER.findall(where)]))
    return found
