"""Names: a checked tree of XML in; the same with names of links that parts of graphs can have, and which were changed, out.

In a graph a dot separates a part from what is inside it: `arm.link_1.pose`. Many robots have names such as `link_1.0`.
"""

from __future__ import annotations

import re
from typing import Any

from screwbond.models.urdf.grammar import Ignored


def plain_name(name: str) -> str:
    """A name without dots, colons, apostrophes, arrows, or a sign at its beginning.

    >>> plain("link_1.0"), plain("base/camera")
    ('link_1_0', 'base/camera')
    """
    return re.sub(r"->|[.:']|^-", "_", name)


def rename_links(root: Any) -> tuple[Ignored, ...]:
    """Make the names of robot and links plain, wherever they stand in the tree."""
    changed = {}
    attributes = [(element, "name") for element in (root, *root.findall("link")) if element.get("name")]
    attributes += [(end, "link") for joint in root.findall("joint") for end in (joint.find("parent"), joint.find("child"))]
    for element, key in attributes:
        name = element.get(key)
        element.set(key, plain_name(name))
        if name != plain_name(name) and key == "name":
            changed[name] = element.sourceline
    if not changed:
        return ()
    first = next(iter(changed))
    why = f'they are parts of paths in a graph; "{first}" is "{plain_name(first)}"'
    return (Ignored("dots, colons, apostrophes and arrows in names", why, tuple(changed.values())),)
