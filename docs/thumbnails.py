"""Thumbnails of the examples: `python -m docs.thumbnails` redraws all thumbnails, or those of the named examples."""

from __future__ import annotations

import argparse
import contextlib
import runpy
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

DOCS = Path(__file__).parent
THUMBNAILS = DOCS / "thumbnails"
SIZE = (640, 448)
"""Size of a thumbnail, px; tall plots are cropped to their top."""
PLOT_WIDTH = 4.4
"""Width of a plot, inches, at which the axis labels stay readable in a card of the gallery."""

LABEL_WIDTH = 16
"""Length of a line of an axis label, characters."""

FROM_PAGES = {
    "arm_impact": "impact_arm.png",
    "ball_maze": "maze_path.png",
    "delta_pick_and_place": "delta_robot.png",
    "delta_soft_touch": "delta_soft_touch.png",
    "dexterous_hand": "hand_figure6.png",
    "rolling_eggs": "rolling_eggs.png",
    "urdf_robot": "crane.png",
}
FROM_EXAMPLES = {
    "ball_on_turntable": "poster.png",
    "bouncing_ball": "heights.png",
    "colliding_eggs": "poster.png",
    "delta_poles": "delta_sweep.png",
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
CROPS = {
    "arm_impact": (0.13, 0.13, 0.82, 0.9),
    "ball_maze": (0.0, 0.06, 1.0, 0.72),
    "ball_on_turntable": (0.015, 0.13, 0.652, 0.805),
    "bouncing_ball": (0.0, 0.06, 0.272, 0.62),
    "colliding_eggs": (0.02, 0.16, 0.62, 0.79),
    "delta_pick_and_place": (0.12, 0.07, 0.92, 0.63),
    "delta_soft_touch": (0.605, 0.525, 1.0, 0.936),
    "dexterous_hand": (0.0, 0.13, 0.575, 0.845),
    "sphere_robot": (0.0, 0.03, 0.34, 0.32),
    "rolling_eggs": (0.08, 0.13, 0.63, 0.71),
}
"""Crops of pictures (left, top, right, bottom) as fractions from 0 to 1, by example."""


def of_examples() -> dict[str, str]:
    """Return the path of each example's thumbnail, relative to the folder of the pages."""
    return {name: f"{THUMBNAILS.name}/{name}.png" for name in (*FROM_PAGES, *FROM_EXAMPLES)}


@contextlib.contextmanager
def small_plots() -> Iterator[None]:
    """Context in which figures are saved narrower at the same font size; two rows of plots are as high as a thumbnail."""
    from matplotlib.figure import Figure

    saved = Figure.savefig

    def save(figure: Figure, *places: Any, **_: Any) -> None:
        places_in_grid = [axes.get_subplotspec() for axes in figure.axes]
        rows = max((place.get_gridspec().nrows for place in places_in_grid if place is not None), default=1)
        figure.set_size_inches(PLOT_WIDTH, 0.5 * PLOT_WIDTH * SIZE[1] / SIZE[0] * max(rows, 2))
        for axes in figure.axes:
            axes.set_ylabel(textwrap.fill(axes.get_ylabel(), LABEL_WIDTH))
        saved(figure, *places, dpi=SIZE[0] / PLOT_WIDTH)

    with mock.patch.object(Figure, "savefig", save):
        yield


def draw(name: str, path: Path) -> None:
    """Write the thumbnail of an example, from a picture of the pages or one that the example draws."""
    if name in FROM_PAGES:
        shrink(DOCS / "pictures" / FROM_PAGES[name], path, CROPS.get(name))
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.nullcontext() if name in CROPS else small_plots():
        arguments, sys.argv = sys.argv, [name, "--out", folder]
        try:
            runpy.run_module(f"examples.{name}", run_name="__main__")
        finally:
            sys.argv = arguments
        shrink(Path(folder) / FROM_EXAMPLES[name], path, CROPS.get(name))


def shrink(picture: Path, path: Path, cut: tuple[float, float, float, float] | None) -> None:
    """Write part of a picture as a thumbnail: the top of a tall picture, or a wide picture with margins."""
    from PIL import Image, ImageOps

    with Image.open(picture) as whole:
        left, top, right, bottom = cut or (0.0, 0.0, 1.0, 1.0)
        box = (round(left * whole.width), round(top * whole.height), round(right * whole.width), round(bottom * whole.height))
        part = whole.convert("RGB").crop(box)
    if part.width * SIZE[1] > part.height * SIZE[0]:
        small = ImageOps.pad(part, SIZE, Image.Resampling.LANCZOS, "white")
    else:
        small = ImageOps.fit(part, SIZE, Image.Resampling.LANCZOS, centering=(0.5, 0.0))
    small.save(path, optimize=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m docs.thumbnails", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("examples", nargs="*", choices=[*of_examples(), []], metavar="EXAMPLE", help=", ".join(of_examples()))
    for name in parser.parse_args(arguments).examples or of_examples():
        draw(name, THUMBNAILS / f"{name}.png")
        print(f"drew {THUMBNAILS / name}.png", flush=True)


if __name__ == "__main__":
    main()
