"""Accents: MathML as docutils makes it -> the accent above its letter, and indices and exponents beside both.

Docutils takes an index after an accent for a limit beneath it: of \\dot q_1 it makes a q with 1 below and the dot above. And an
accent that says to be one is drawn into its letter where the reader has no font for mathematics.
"""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

SPACE = "http://www.w3.org/1998/Math/MathML"
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)\w+;")
"""Names of characters that HTML knows and XML does not."""
ACCENTS = frozenset("˙¨ˆ^ˉ¯~˜→⃗`´ˇ˘")


def with_accents(text: str) -> str:
    """The MathML of a formula with every accent above its letter alone."""
    ElementTree.register_namespace("", SPACE)
    root = ElementTree.fromstring(_ENTITY.sub(lambda found: unescape(found[0]), text))
    _arrange(root)
    return ElementTree.tostring(root, encoding="unicode")


def _arrange(parent: ElementTree.Element) -> None:
    for place, child in enumerate(list(parent)):
        _arrange(child)
        parent[place] = _raised(_indexed(child))


def _indexed(node: ElementTree.Element) -> ElementTree.Element:
    """A letter with a limit below and an accent above as a letter with an accent, and an index; any other node as it is."""
    if node.tag == _tag("mover"):
        node.attrib.pop("accent", None)
    if node.tag != _tag("munderover") or node[2].tag != _tag("mo") or (node[2].text or " ") not in ACCENTS:
        return node
    letter, index, accent = node
    over = ElementTree.Element(_tag("mover"))
    over.extend([letter, accent])
    return _beside("msub", [over, index], node)


def _raised(node: ElementTree.Element) -> ElementTree.Element:
    """An exponent of what has an index stands above that index."""
    if node.tag != _tag("msup") or node[0].tag != _tag("msub"):
        return node
    return _beside("msubsup", [*node[0], node[1]], node)


def _beside(name: str, parts: list[ElementTree.Element], before: ElementTree.Element) -> ElementTree.Element:
    node = ElementTree.Element(_tag(name))
    node.extend(parts)
    node.tail = before.tail
    return node


def _tag(name: str) -> str:
    return f"{{{SPACE}}}{name}"
