"""Notes on events, ticks and algebraic loops for the comments of generated code, in the terms of each language."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from bondgraph.export.code.content import Content


@dataclass(frozen=True)
class Phrases:
    """Phrases of a language in the notes of generated code.

    Parameters
    ----------
    first : number of the first transition, clock or loop.
    mode : change of m when transition k fires.
    reset : the function that gives x then.
    push : condition for an impulse that others may answer.
    parts : results of that function.
    times : of a clock k.
    tick : the function that gives x at a tick.
    loop : the function of an algebraic loop.
    """

    first: int
    mode: str
    reset: str
    push: str
    parts: str
    times: str
    tick: str
    loop: str


def event_notes(content: Content, phrases: Phrases) -> list[str]:
    """Return lines on events, impulses that others may answer, clocks and algebraic loops, as far as a model has them."""
    lines: list[str] = []
    for paragraph, items in _paragraphs(content, phrases):
        lines += ["", *textwrap.wrap(paragraph, 110, break_long_words=False, break_on_hyphens=False)]
        lines += [f"    {k}: {comment_safe(item)}" for k, item in enumerate(items, start=phrases.first)]
    return lines


def comment_safe(words: str) -> str:
    """Return text on one line that cannot end or begin a comment."""
    return " ".join(words.replace("*/", "* /").replace("/*", "/ *").replace('"""', "'''").replace("\\", "/").split())


def _paragraphs(content: Content, phrases: Phrases) -> Iterator[tuple[str, list[str]]]:
    """Yield paragraphs, each with its transitions, clocks or loops."""
    if content.system.events:
        fires = "Events: transition k fires when guard k rises through zero; its guard is -1 while its mode is not active."
        yield f"{fires} Then x becomes {phrases.reset}, and {phrases.mode}:", _transitions(content)
    if content.pushes:
        answer = "a diode closes rather than let a switch cut off a current"
        largest = "If the largest of the former, among the transitions that the new modes allow, is positive and x would jump,"
        after = f"{phrases.parts} {largest} go on with the latter, and carry out that transition next."
        yield f"{phrases.push} the reset is an impulse that another transition may answer: {answer}. {after}", []
    if content.ticks:
        yield (
            f"Clocks: the ticks of clock k are {phrases.times}, and x holds what they set in between. Integrate to the next tick "
            "of any clock. There, for all clocks that are due at this time, one after the other from the first to the last, "
            f"x becomes {phrases.tick}: a later clock sees what an earlier one left. Then look at the guards, for an event may "
            "follow from a tick at once, and begin the integration anew, for the rates jump:",
            [tick.element for tick in content.ticks],
        )
    if content.loops:
        yield (
            "Algebraic loops: some states hold the unknowns of nonlinear loops and follow them by themselves. Before a run, after"
            f" events and ticks, {phrases.loop} gives the residuals, then a Newton step for those states:",
            [", ".join(loop.guesses) for loop, _ in content.loops],
        )


def _transitions(content: Content) -> list[str]:
    lines = []
    for k, event in enumerate(content.system.events):
        end = f"; ends the run: {event.error}" if event.error else "; a change of description" * event.internal
        lines.append(
            event.kind + ", with a reset" * (k in content.resets) + " that others may answer" * (k in content.pushes) + end
        )
    return lines
