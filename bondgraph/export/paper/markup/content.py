"""Content of a document, independent of its markup (LaTeX, Markdown or Typst)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Math:
    latex: str


@dataclass(frozen=True)
class InlineCode:
    """Name in the user's program."""

    text: str


Piece = str | Math | InlineCode
Words = tuple[Piece, ...]


def split_formulas(text: str) -> Words:
    return tuple(Math(piece) if k % 2 else piece for k, piece in enumerate(text.split("$")) if piece)


def join_words(sign: str, parts: Iterable[Words]) -> Words:
    return tuple(piece for k, part in enumerate(parts) for piece in (sign if k else "", *part))


def markup(words: Words, math: Callable[[str], str], code: Callable[[str], str], plain: Callable[[str], str]) -> str:
    return "".join(
        math(piece.latex) if isinstance(piece, Math) else code(piece.text) if isinstance(piece, InlineCode) else plain(piece)
        for piece in words
    )


@dataclass(frozen=True)
class Paragraph:
    words: Words
    title: str = ""
    small: bool = False


@dataclass(frozen=True)
class Numbered:
    number: str
    latex: str
    lead: Words = ()
    source: str = ""


@dataclass(frozen=True)
class Equations:
    items: tuple[Numbered, ...]
    small: bool = False


@dataclass(frozen=True)
class TableBlock:
    """Table: headings and relative widths of its columns, rows of cells, and the caption above it."""

    heads: tuple[str, ...]
    widths: tuple[float, ...]
    rows: tuple[tuple[Words, ...], ...]
    caption: Words


TEXT_WIDTH, TEXT_HEIGHT = 490.0, 680.0
"""Width and height that a figure may take on a page, points (bp)."""
MAX_SCALE = 0.7
"""Maximum scale of a figure, points per px."""
MIN_GAIN = 1.1
"""Ratio of scales above which a figure is turned."""


@dataclass(frozen=True)
class Figure:
    """Drawing in SVG, its caption, and width and height in px."""

    svg: str
    caption: Words
    width: float
    height: float

    @property
    def _upright_scale(self) -> float:
        return min(MAX_SCALE, TEXT_WIDTH / self.width, TEXT_HEIGHT / self.height)

    @property
    def _turned_scale(self) -> float:
        return min(MAX_SCALE, TEXT_HEIGHT / self.width, TEXT_WIDTH / self.height)

    @property
    def is_turned(self) -> bool:
        """Return True if the figure is turned by 90 degrees on a page of its own, because its letters are larger then."""
        return self._turned_scale > MIN_GAIN * self._upright_scale

    @property
    def scale(self) -> float:
        """Return the scale of the figure on a page, points per px."""
        return self._turned_scale if self.is_turned else self._upright_scale


@dataclass(frozen=True)
class Section:
    """Heading of level 1 or 2; the content of the section follows as separate blocks."""

    title: str
    level: int = 1


Block = Paragraph | Equations | TableBlock | Figure | Section


def with_numbers(blocks: Iterable[Block]) -> Iterator[Block]:
    counts: Counter[str] = Counter()
    for block in blocks:
        if isinstance(block, (Figure, TableBlock)):
            kind = "Figure" if isinstance(block, Figure) else "Table"
            counts[kind] += 1
            block = replace(block, caption=(f"{kind} {counts[kind]}. ", *block.caption))
        yield block


@dataclass(frozen=True)
class Paper:
    title: str
    blocks: tuple[Block, ...]
