"""Live pages of all examples in Chromium: `python -m campaigns.live_pages [--out FOLDER] [NAME ...]`.

Each page is written, opened from its file at two widths, and run with every slider at both ends: the console must stay silent, no
network request may be made, and nothing may extend beyond the window. A row gives size, steps, and the times to write and to run
the page.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from docs.live_pages import PAGES
from tests.browser import CHROMIUM, WITHOUT, Browser, browser

WIDTHS = (390, 1300)
READY = """new Promise((done, no) => {
  const wait = () => globalThis.live ? done(1) : setTimeout(wait, 5);
  wait(); setTimeout(no, 60000); })"""
ENDS = """live.S.live
.flatMap(({ index, low, high }) => [low, high].map(value => live.run([[index, value]]))).map(run => run.wrong)"""
HEAD = "| example | page, KB | written, s | steps | browser, ms | slider ends where the run ends early |\n" + 6 * "|---" + "|"


def row(name: str, folder: Path, window: Browser) -> str:
    begin = time.process_time()
    path = PAGES[name]().write(folder / f"{name}.html")
    made = time.process_time() - begin
    window.open(path)
    window.run(READY)
    run = window.run("(({ steps, milliseconds, wrong }) => ({ steps, milliseconds, wrong }))(live.run([]))")
    assert run["wrong"] == "", (name, run)
    early = [wrong for wrong in window.run(ENDS) if wrong]
    for width in WIDTHS:
        window.resize(width, 850)
        window.rest()
        assert window.overflow() == 0, (name, width)
        window.picture(folder / f"{name}-{width}.png")
    assert window.asked == [path.resolve().as_uri()] and window.complaints == [], (name, window.complaints)
    size = path.stat().st_size / 1024
    return f"| {name} | {size:.0f} | {made:.1f} | {run['steps']} | {run['milliseconds']:.0f} | {'; '.join(early) or 'none'} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m campaigns.live_pages", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for pages and pictures; by default they are not kept")
    parser.add_argument("names", nargs="*", choices=[*PAGES, []], metavar="NAME")
    given = parser.parse_args()
    if CHROMIUM is None:
        print(WITHOUT)
        return 0
    with tempfile.TemporaryDirectory() as scratch, browser() as window:
        folder = given.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(HEAD)
        for name in given.names or PAGES:
            print(row(name, folder, window), flush=True)
    return 0


if __name__ == "__main__":
    main()
