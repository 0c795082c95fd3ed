"""Correct accents, indices and function names in the MathML that docutils makes.

Docutils treats an index after an accent as a limit below the letter: it draws \\dot q_1 as a q with 1 below and the dot above.
Between the name of a function and its argument it inserts an operator that browsers draw without width, so \\sin u reads as one
word.
"""

from __future__ import annotations

import itertools
import re
from html import unescape
from xml.etree import ElementTree

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)\w+;")
"""Character names of HTML that XML lacks."""
ACCENTS = frozenset("˙¨ˆ^ˉ¯~˜→⃗`´ˇ˘")
FUNCTIONS = frozenset(("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "exp", "ln", "log", "det"))
APPLICATION = "\u2061"


def with_accents(text: str) -> str:
    """Return the MathML of a formula with each accent above its letter only, spaces around function names, and paired bars."""
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(_ENTITY.sub(lambda found: unescape(found[0]), text))
    _arrange(root)
    _space(root)
    _pair(root)
    return ElementTree.tostring(root, encoding="unicode")


def _space(parent: ElementTree.Element) -> None:
    """Insert a thin space between a function name and the letter, number or name next to it."""
    for child in parent:
        _space(child)
    if parent.tag not in ROWS:
        return
    for node in [node for node in parent if node.text == APPLICATION]:
        parent.remove(node)
    for before, after in reversed(list(itertools.pairwise(parent))):
        if (_is_name(before) or _is_name(after)) and before.tag not in BREAKS and after.tag not in BREAKS:
            parent.insert(list(parent).index(after), ElementTree.Element(_tag("mspace"), width="0.1667em"))


def _pair(parent: ElementTree.Element) -> None:
    """Mark paired bars as opening and closing in turn: a browser treats an unmarked bar as a binary operator."""
    for child in parent:
        _pair(child)
    bars = [node for node in parent if node.tag == _tag("mo") and node.text in ("|", "\u2223")]
    for place, node in enumerate(bars if len(bars) % 2 == 0 else ()):
        node.attrib.update(form="postfix" if place % 2 else "prefix", lspace="0", rspace="0")


def _is_name(node: ElementTree.Element) -> bool:
    return (node[0] if node.tag in (_tag("msup"), _tag("msub")) else node).text in FUNCTIONS


def _arrange(parent: ElementTree.Element) -> None:
    for place, child in enumerate(list(parent)):
        _arrange(child)
        parent[place] = _raised(_indexed(child))


def _indexed(node: ElementTree.Element) -> ElementTree.Element:
    """Return a letter with a limit below and an accent above as an accented letter with an index, and other nodes unchanged."""
    if node.tag != _tag("munderover") or node[2].tag != _tag("mo") or (node[2].text or " ") not in ACCENTS:
        return node
    letter, index, accent = node
    over = ElementTree.Element(_tag("mover"), accent="true")
    over.extend([letter, accent])
    return _with_parts("msub", [over, index], node)


def _raised(node: ElementTree.Element) -> ElementTree.Element:
    if node.tag != _tag("msup") or node[0].tag != _tag("msub"):
        return node
    return _with_parts("msubsup", [*node[0], node[1]], node)


def _with_parts(name: str, parts: list[ElementTree.Element], replaced: ElementTree.Element) -> ElementTree.Element:
    node = ElementTree.Element(_tag(name))
    node.extend(parts)
    node.tail = replaced.tail
    return node


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


ROWS = frozenset(map(_tag, ("math", "mrow", "mtd", "mstyle", "mpadded")))
"""Elements that lay out their children in a row."""
BREAKS = frozenset(map(_tag, ("mo", "mspace", "mtext")))
"""Elements that need no space next to them, or are a space."""
