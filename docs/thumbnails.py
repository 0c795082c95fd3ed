"""Small pictures that stand for the examples: name of an example in; its picture out.

`python -m docs.thumbnails` draws those again that no picture of the pages already shows; names of examples draw only these.
"""

from __future__ import annotations

import argparse
import contextlib
import runpy
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

DOCS = Path(__file__).parent
THUMBNAILS = DOCS / "thumbnails"
SIZE = (640, 448)
"""In pixels; of tall plots the top."""
PLOT_WIDTH = 4.4
"""Width of a plot, inches: the letters of its axes can be read in a card of the gallery."""

SHOWN = {
    "arm_impact": "impact_arm.png",
    "ball_maze": "maze_path.png",
    "delta_pick_and_place": "delta_robot.png",
    "delta_poles": "delta_poles.png",
    "delta_soft_touch": "delta_soft_touch.png",
    "dexterous_hand": "hand_figure6.png",
    "rolling_eggs": "rolling_eggs.png",
    "urdf_robot": "crane.png",
}
"""Example -> the picture of the pages that shows it."""
DRAWN = {
    "ball_on_turntable": "poster.png",
    "bouncing_ball": "heights.png",
    "colliding_eggs": "poster.png",
    "drive_train": "account.png",
    "excavator": "account.png",
    "fast_arm": "torques.png",
    "pacemaker": "beats.png",
    "parallel_gripper": "forces.png",
    "pile": "heap.png",
    "pushing": "space.png",
    "sphere_robot": "vibration.png",
    "tipping_box": "tipping.png",
    "tolerances": "motors.png",
}
"""Example -> the picture among those that it draws."""


def of_examples() -> dict[str, str]:
    """Example -> its picture, from the folder of the pages."""
    shown = {name: f"pictures/{picture}" for name, picture in SHOWN.items()}
    return shown | {name: f"{THUMBNAILS.name}/{name}.png" for name in DRAWN}


@contextlib.contextmanager
def small_plots() -> Iterator[None]:
    """Save figures narrow, with the letters that they have."""
    from matplotlib.figure import Figure

    saved = Figure.savefig

    def save(figure: Figure, *places: Any, **_: Any) -> None:
        width, height = figure.get_size_inches()
        figure.set_size_inches(PLOT_WIDTH, height * PLOT_WIDTH / width)
        saved(figure, *places, dpi=SIZE[0] / PLOT_WIDTH)

    with mock.patch.object(Figure, "savefig", save):
        yield


def draw(name: str, path: Path) -> None:
    """Run an example, and write one of its pictures small."""
    from PIL import Image, ImageOps

    with tempfile.TemporaryDirectory() as folder, small_plots():
        given, sys.argv = sys.argv, [name, "--out", folder]
        try:
            runpy.run_module(f"examples.{name}", run_name="__main__")
        finally:
            sys.argv = given
        with Image.open(Path(folder) / DRAWN[name]) as drawn:
            small = ImageOps.fit(drawn.convert("RGB"), SIZE, Image.Resampling.LANCZOS, centering=(0.5, 0.0))
    path.parent.mkdir(exist_ok=True)
    small.save(path, optimize=True)


def main(given: Sequence[str] | None = None) -> None:
    """Draw the thumbnails named, or all."""
    parser = argparse.ArgumentParser(prog="python -m docs.thumbnails", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("examples", nargs="*", choices=[*DRAWN, []], metavar="EXAMPLE", help=", ".join(DRAWN))
    for name in parser.parse_args(given).examples or DRAWN:
        draw(name, THUMBNAILS / f"{name}.png")
        print(f"drew {THUMBNAILS / name}.png", flush=True)


if __name__ == "__main__":
    main()
