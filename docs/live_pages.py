"""The pages that simulate of the site: `python -m docs.live_pages FOLDER` writes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bondgraph.export import LivePage, live_page
from examples import bouncing_ball, rolling_eggs


def _bouncing_ball() -> LivePage:
    live = {"floor.restitution": (0.2, 0.95), "weight.value": (-20.0, -2.0)}
    return live_page(bouncing_ball.with_restitution(), t_end=6.0, live=live, show=["floor.h", "ball.flow"])


def _rolling_eggs() -> LivePage:
    graph, *_ = rolling_eggs.build()
    live = {"gravity.spring.force": (0.4, 1.2), "contact.spring.stiffness[3]": (5e3, 4e4), "egg 2.pose.mass": (0.04, 0.1)}
    return live_page(graph, t_end=2.0, live=live, show=["contact.normal force", "contact.gap"])


PAGES: Mapping[str, Callable[[], LivePage]] = {"bouncing_ball": _bouncing_ball, "rolling_eggs": _rolling_eggs}
"""Pages by the names of their files."""


def write(folder: Path) -> None:
    """Write all pages into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        make().write(folder / f"{name}.html")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
