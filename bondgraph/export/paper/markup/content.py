"""Content of a document, without its markup: what builders put together and writers (LaTeX, Markdown, Typst) write."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Math:
    """A formula in a line of text, as LaTeX."""

    latex: str


@dataclass(frozen=True)
class Code:
    """A name as it stands in the user's program."""

    text: str


Piece = str | Math | Code
Words = tuple[Piece, ...]
"""Text with formulas and names in it."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; a title stands in front of it, and small ones are set in small letters."""

    words: Words
    title: str = ""
    small: bool = False


@dataclass(frozen=True)
class Numbered:
    """A numbered equation: what stands in front of it, and where a paper has it."""

    number: str
    latex: str
    lead: Words = ()
    source: str = ""


@dataclass(frozen=True)
class Equations:
    """Equations below each other."""

    items: tuple[Numbered, ...]


@dataclass(frozen=True)
class Table:
    """A table: heads of its columns, how wide each is (parts of the whole width), and rows of cells."""

    heads: tuple[str, ...]
    widths: tuple[float, ...]
    rows: tuple[tuple[Words, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A drawing in SVG, its caption (none for a small one that belongs to what follows), and width and height in px."""

    svg: str
    caption: Words
    width: float
    height: float


@dataclass(frozen=True)
class Section:
    """Something under a heading of level 1 or 2; its parts follow it as blocks of their own."""

    title: str
    level: int = 1


Block = Paragraph | Equations | Table | Figure | Section


@dataclass(frozen=True)
class Paper:
    """A whole document."""

    title: str
    blocks: tuple[Block, ...]
