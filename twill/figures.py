"""What all figures share: the same figure, the same bytes, and names as they are."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from twill.names import elided

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextlib.contextmanager
def drawing(**settings: Any) -> Iterator[None]:
    """Let Matplotlib draw for files, whatever names say.

    Text stays text in SVG, and a ``$`` is one: there is no mathematics in names. Scripts that the
    font lacks are boxes in PNG. Figures have a canvas of their own, so that ``MPLBACKEND`` does
    not concern them.
    """
    os.environ.pop("MPLBACKEND", None)
    import matplotlib as mpl

    common: dict[Any, Any] = {
        "svg.hashsalt": "twill",
        "svg.fonttype": "none",
        "text.parse_math": False,
    }
    more: dict[Any, Any] = {name.replace("_", "."): value for name, value in settings.items()}
    with mpl.rc_context({**common, **more}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def shorten_words(figure: Figure) -> None:
    """Leave out the middle of long names in a figure that is drawn."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(elided(text.get_text()))
