"""A page of roles: which group does what, with which registers and waits."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape

from twill.artifacts.schedule import Schedule
from twill.figures import EDGE, PICTURES, Look, check_ending, new_figure, page, save
from twill.files import write_whole
from twill.show.pictures.look import looks
from twill.show.roles import Role, Signal, registers_text, roles

ENDINGS = (*PICTURES, ".txt")
WIDTH, LINE, CHARACTERS = 11.0, 0.2, 122
"""Inches of the picture and of a line in it, and characters that fit into a line."""


def draw_roles(schedule: Schedule, file: str) -> None:
    """Write a schedule's roles: a page, a picture or text.

    Raises
    ------
    InputError
        If the ending is another one, or the file cannot be written.
    """
    ending = check_ending(file, ENDINGS)
    title = f"{schedule.name} on {schedule.machine.name}: roles of the warp groups"
    if ending == ".txt":
        write_whole(file, f"{title}\n\n{roles_text(schedule)}")
    elif ending == ".html":
        styles = looks(schedule)
        sections = [_section(role, styles[role.group.name]) for role in roles(schedule)]
        write_whole(file, page(title, "\n".join(sections)))
    else:
        _draw(schedule, file, title)


def lines(role: Role) -> Iterator[tuple[str, str]]:
    """Yield what is said about a role: a heading and a text."""
    warps = role.group.warps
    yield "has", f"{warps} warp{'s' if warps > 1 else ''}; {registers_text(role.group)}"
    for stage in sorted({task.stage for task in role.tasks}):
        done = [f"{t.operation} ({t.kind})" for t in role.tasks if t.stage == stage]
        yield f"stage {stage}", ", ".join(done)
    if role.awaits:
        yield "awaits its own", ", ".join(role.awaits)
    if role.puts:
        yield "stages for others", ", ".join(role.puts)
    if role.gets:
        yield "takes from others", ", ".join(role.gets)
    for signal in role.waits:
        yield f"waits: {signal.barrier}", _said(signal, "from")
    for signal in role.tells:
        yield f"tells: {signal.barrier}", _said(signal, "to")


def _said(signal: Signal, word: str) -> str:
    others = ", ".join(signal.groups) or "nobody"
    slots = f"{signal.slots} slot{'s' if signal.slots > 1 else ''}"
    arrivals = f"{signal.arrivals} arrival{'s' if signal.arrivals > 1 else ''}"
    meaning = f"{signal.meaning}; " if signal.meaning else ""
    return f"{meaning}{word} {others} ({slots}, {arrivals})"


def roles_text(schedule: Schedule, width: int = 80) -> str:
    """Return the roles as text."""
    styles = looks(schedule)
    found: list[str] = []
    for role in roles(schedule):
        found.append(f"{styles[role.group.name].letter}  {role.group.name}: {role.title}")
        found += _block(role, width)
        found.append("")
    return "\n".join(found)


def _block(role: Role, width: int) -> list[str]:
    entries = list(lines(role))
    column = max(len(heading) for heading, _ in entries) + 2
    found: list[str] = []
    for heading, text in entries:
        wrapped = textwrap.wrap(text, max(24, width - column - 3), break_on_hyphens=False)
        for n, line in enumerate(wrapped or [""]):
            found.append(f"   {heading if n == 0 else '':{column}}{line}".rstrip())
    return found


def _section(role: Role, look: Look) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{escape(heading)}</th><td>{escape(text)}</td></tr>'
        for heading, text in lines(role)
    )
    return (
        f'<section style="border-color: {look.colour}">\n'
        f"<h2>{look.letter}: {escape(role.group.name)}</h2>\n<p>{escape(role.title)}</p>\n"
        f"<table>\n{rows}\n</table>\n</section>"
    )


def _draw(schedule: Schedule, file: str, title: str) -> None:
    from matplotlib.patches import Rectangle

    styles, found = looks(schedule), roles(schedule)
    blocks = [_block(role, CHARACTERS) for role in found]
    total = sum(len(block) + 2.2 for block in blocks)
    with new_figure(WIDTH, LINE * total + 0.5) as figure:
        axes = figure.subplots()
        top = 0.0
        for role, block in zip(found, blocks, strict=True):
            look, height = styles[role.group.name], len(block) + 1.6
            axes.add_patch(
                Rectangle(
                    (0, top),
                    0.035,
                    height,
                    facecolor=look.colour,
                    edgecolor=EDGE,
                    hatch=look.hatch,
                    linewidth=0.6,
                )
            )
            heading = f"{look.letter}: {role.group.name}, {role.title}"
            axes.text(0.045, top + 0.6, heading, fontsize=10, va="center", weight="bold")
            for n, line in enumerate(block):
                axes.text(0.045, top + 1.7 + n, line.removeprefix("   ").replace(" ", "\u00a0"),
                          fontsize=9, va="center", family="DejaVu Sans Mono")  # fmt: skip
            top += height + 0.6
        axes.set_xlim(0, 1)
        axes.set_ylim(total, -0.2)
        axes.axis("off")
        axes.set_title(title, fontsize=11, loc="left")
        save(figure, file, title)
