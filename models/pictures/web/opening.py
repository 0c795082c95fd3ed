"""A file in; the browser of the desktop shows it, or there is none and the answer says so."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

__all__ = ["opened"]

DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Variables of which one is set where X, Wayland or the user's own choice can show a page."""


def opened(path: Path) -> bool:
    """Whether a browser took the file. Without a desktop none is asked: one that runs in the terminal would take that over."""
    elsewhere = sys.platform in ("win32", "darwin")
    return (elsewhere or any(map(os.environ.get, DESKTOPS))) and webbrowser.open(path.resolve().as_uri())
