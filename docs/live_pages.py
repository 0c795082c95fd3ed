"""Live pages of the site, one for each example: `python -m docs.live_pages FOLDER [NAME ...]` writes them, and `python -m
docs.live_pages --picture` draws the picture of the README, with Chromium.

All pages take about two minutes of processor time; with SCREWBOND_LIVE_PAGES=0 one line replaces each page.
"""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

from screwbond.models.hand import HandScenario, run_hand
from screwbond.models.pictures import Page, page

from bondgraph import Result
from bondgraph.export import LivePage, live_page
from bondgraph.run_arguments import RunSettings

PICTURE = Path(__file__).parent / "static" / "live_page.png"
SWITCH = "SCREWBOND_LIVE_PAGES"


def _example(name: str) -> Any:
    return import_module(f"examples.{name}")


def _scene(result: Result, *parameters: str, low: float = 0.5, high: float = 2.0, **settings: Unpack[RunSettings]) -> Page:
    """Return a page of a result with sliders from a fraction to a multiple of each parameter's value."""
    ends = {name: sorted((low * float(result[name]), high * float(result[name]))) for name in parameters}
    return page(result, live={name: (first, last) for name, (first, last) in ends.items()}, settings=settings)


def _bouncing_ball() -> LivePage:
    live = {"floor.restitution": (0.2, 0.95), "weight.value": (-20.0, -2.0)}
    return live_page(_example("bouncing_ball").with_restitution(), t_end=6.0, live=live, show=["floor.h", "ball.flow"])


def _rolling_eggs() -> Page:
    graph, *_ = _example("rolling_eggs").build()
    live = {"gravity.spring.force": (0.4, 1.2), "contact.spring.stiffness[3]": (5e3, 4e4), "egg 2.pose.mass": (0.04, 0.1)}
    return page(graph.simulate(2.0, progress=False), live=live, plots=["contact.normal force", "contact.gap"])


def _colliding_eggs() -> Page:
    result = _example("colliding_eggs").simulate().result
    return _scene(result, "contact.spring.stiffness", "egg 1.pose.mass", "egg 2.pose.mass", rtol=1e-10)


def _fast_arm() -> Page:
    result = _example("fast_arm").arm().simulate(1.0, parameters={"shoulder.value": -4.0, "elbow.value": -1.0}, progress=False)
    return page(result, live={"shoulder.value": (-8.0, 0.0), "elbow.value": (-3.0, 3.0)}, plots=["arm.mechanism.q"])


def _dexterous_hand() -> Page:
    hand = _example("dexterous_hand").hand()
    scenario = HandScenario("hand", 2.5, hand.steps, hand.parameters, description="to the side")
    return _scene(run_hand(scenario, progress=False).result, "object.pose.mass", low=0.8, high=1.25, rtol=1e-8)


def _soft_touch() -> Page:
    touches = _example("delta_soft_touch").simulate()
    return _scene(next(iter(touches.values())).run.result, "brick mass.inertia", "table.limit")


PAGES: Mapping[str, Callable[[], LivePage | Page]] = {
    "ball_maze": lambda: _scene(_example("ball_maze").simulate().result, "u1.k", "u2.k", low=0.9, high=1.1, rtol=1e-10),
    "ball_on_turntable": lambda: _scene(_example("ball_on_turntable").simulate(1.0).result, "ball.pose.mass", rtol=1e-9),
    "bouncing_ball": _bouncing_ball,
    "colliding_eggs": _colliding_eggs,
    "delta_pick_and_place": lambda: _scene(_example("delta_pick_and_place").simulate().run.result, "control.kp", "control.kd"),
    "delta_soft_touch": _soft_touch,
    "dexterous_hand": _dexterous_hand,
    "drive_train": lambda: _scene(_example("drive_train").run(), "mass.inertia", "air.c", "winding.resistance"),
    "excavator": lambda: _scene(_example("excavator").run(), "engine.value", "relief.cracking", low=0.8, high=1.05),
    "fast_arm": _fast_arm,
    "pacemaker": lambda: _scene(_example("pacemaker").run(), "charge.capacitance", "sodium rest.value", low=0.8, high=1.25),
    "rolling_eggs": _rolling_eggs,
    "tolerances": lambda: _scene(
        _example("tolerances").motor().simulate(0.1, progress=False), "winding.resistance", "magnet.ratio"
    ),
    "urdf_robot": lambda: _scene(_example("urdf_robot").run(), "crane.mechanism.jib mass", "crane.mechanism.gravity"),
}

_STEPS = "it uses time stepping with rigid contacts, which a page does not support"
ABSENT: Mapping[str, str] = {
    "arm_impact": "it compares masses and laws of an impact instead of running one model",
    "delta_poles": "it linearises the model without running it",
    "parallel_gripper": _STEPS,
    "pile": _STEPS,
    "pushing": _STEPS,
    "sphere_robot": _STEPS,
    "tipping_box": _STEPS,
}


def write(folder: Path, names: Collection[str] = ()) -> None:
    """Write the pages (by default all) to a folder, which is created; if pages are disabled, write one line in place of each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or PAGES:
        path = folder / f"{name}.html"
        if os.environ.get(SWITCH) == "0":
            path.write_text(f"<!DOCTYPE html><title>{html.escape(name)}</title><p>{SWITCH}=0: not built.", encoding="utf-8")
        else:
            PAGES[name]().write(path)


def draw(path: Path = PICTURE) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), ["rolling_eggs"])
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1300,800", "--virtual-time-budget=15000"]
        page_file = Path(folder, "rolling_eggs.html").as_uri()
        subprocess.run(["chromium", *options, f"--screenshot={path}", page_file], check=True, capture_output=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--picture"]:
        draw()
        sys.exit()
    write(Path(sys.argv[1]), sys.argv[2:])
