"""What happens at events, ticks and in loops: the content of a model in; lines for people, numbered as a language does, out."""

from __future__ import annotations

from bondgraph.export.code.content import Content


def transitions(content: Content, first: int = 0) -> list[str]:
    """A line for each transition."""
    lines = []
    for k, event in enumerate(content.system.events):
        end = f"; ends the run: {event.error}" if event.error else "; a change of description" * event.internal
        reset = ", with a reset" * (k in content.resets) + " that others may answer" * (k in content.pushes)
        lines.append(f"    {k + first}: {plain(event.kind + reset + end)}")
    return lines


def clocks(content: Content, first: int = 0) -> list[str]:
    """A line for each clock that changes states."""
    return [f"    {k + first}: {plain(tick.element)}" for k, tick in enumerate(content.ticks)]


def loops(content: Content, first: int = 0) -> list[str]:
    """A line for each nonlinear algebraic loop: the states that follow it."""
    return [f"    {k + first}: {plain(', '.join(loop.guesses))}" for k, (loop, _) in enumerate(content.loops)]


def plain(words: str) -> str:
    """Words on one line that cannot end a comment, or begin one."""
    return " ".join(words.replace("*/", "* /").replace("/*", "/ *").replace('"""', "'''").replace("\\", "/").split())
