"""All pictures of these pages, drawn by one command: `python -m docs.gallery` (or `make pictures`).

Arguments name the pictures to draw; the default is all. Diagrams are identical on every machine; VTK and Matplotlib
pictures may differ in a few pixels, so the tests compare them coarsely (`tests/docs`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from docs import twelve_models
from docs.pages import DOCS, FRONT, run_page

if TYPE_CHECKING:
    from PIL import Image
    from screwbond.models.hand import HandRun
    from screwbond.models.impact import ImpactStudy

PICTURES = DOCS / "pictures"


def _motor(path: Path) -> None:
    run_page("tutorial.md")[0].picture.write(path)


def _oscillator(path: Path) -> None:
    run_page(FRONT)[0].result.plot("spring.q", "velocity.flow")[0].figure.savefig(path, dpi=150)


def _winch(path: Path) -> None:
    run_page(FRONT)[0].winch.diagram().write(path)


def _sweep(path: Path) -> None:
    run_page("sweeps.md")[0].axes[0].figure.savefig(path, dpi=150)


def _contact(path: Path) -> None:
    from bondgraph import compile_model
    from bondgraph.render.diagram import diagram
    from examples.rolling_eggs import build

    model = compile_model(build()[0], backend="numpy")
    diagram(model, folded=("egg 1", "egg 2", "gravity")).write(path)


def _delta(folded: str | Sequence[str]) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        from screwbond.models.delta import DeltaParameters, delta_graph

        from bondgraph import compile_model
        from bondgraph.render.diagram import diagram

        diagram(compile_model(delta_graph(DeltaParameters.fit()), backend="numpy"), folded=folded).write(path)

    return draw


def _hand(path: Path) -> None:
    from screwbond.models.hand import Hand
    from screwbond.models.hand.graph import parts_of

    from bondgraph import compile_model
    from bondgraph.render.diagram import diagram

    diagram(compile_model(Hand().graph(), backend="numpy"), folded=parts_of(3)).write(path)


def _rolling_eggs(path: Path) -> None:
    from screwbond.models.pictures import poster
    from screwbond.models.two_bodies.command import contact_scene

    from examples.rolling_eggs import simulate

    poster(contact_scene(simulate()), path)


def _delta_robot(path: Path) -> None:
    from screwbond.models.delta.pictures.scene import poster

    from examples.delta_pick_and_place import simulate

    tracking = simulate()
    poster(tracking, path, cargo=(0.0, 0.5 * tracking.motion.duration - 0.1))


def _delta_poles(path: Path) -> None:
    from screwbond.models.delta.pictures.figures import pole_zero_plot

    from examples.delta_poles import maps

    pole_zero_plot(maps(), path, title="Delta robot: poles and zeros")


def _delta_workspace(path: Path) -> None:
    from screwbond.models.delta import DeltaParameters
    from screwbond.models.delta.pictures.workspace_figure import plot_workspace

    plot_workspace(DeltaParameters.fit(), path)


def _delta_soft_touch(path: Path) -> None:
    from screwbond.models.delta.pictures.figures import plot_touch

    from examples.delta_soft_touch import simulate

    plot_touch(simulate(), path)


@cache
def _impact_study() -> ImpactStudy:
    from screwbond.models.impact import study_impact

    return study_impact()


def _impact(figure: str) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        from screwbond.models.impact.figures import FIGURES

        FIGURES[figure](_impact_study(), path)

    return draw


def _impact_arm(path: Path) -> None:
    from screwbond.models.impact.figures import plot_arm

    plot_arm(_impact_study(), path)


def _impact_graph(path: Path) -> None:
    from screwbond.models.impact import default_striker, striking_point
    from screwbond.models.impact.study import impact_graph

    from bondgraph import compile_model
    from bondgraph.render.diagram import diagram

    arm = default_striker()
    graph = impact_graph(striking_point(*arm.arguments[:3]), arm.normal, "momentum").graph
    diagram(compile_model(graph, backend="numpy")).write(path)


@cache
def _hand_run() -> HandRun:
    from screwbond.models.hand import run_hand

    return run_hand("main", progress=False)


def _hand_figure6(path: Path) -> None:
    from screwbond.models.hand.pictures import figure6

    figure6(_hand_run(), path)


def _hand_figure7(path: Path) -> None:
    from screwbond.models.hand.pictures import figure7

    figure7(_hand_run(), path)


def _maze(path: Path) -> None:
    from screwbond.models.maze import maze_graph

    from bondgraph import compile_model
    from bondgraph.render.diagram import diagram

    diagram(compile_model(maze_graph(), backend="numpy")).write(path)


def _maze_figure(name: str) -> Callable[[Path], None]:
    def draw(path: Path) -> None:
        from screwbond.models.maze import pictures

        from examples.ball_maze import MAZE, simulate

        getattr(pictures, name)(MAZE if name in ("figure5", "figure7") else simulate(), path)

    return draw


def _maze_gains(path: Path) -> None:
    from screwbond.models.maze import robustness
    from screwbond.models.maze.command import GainGrid
    from screwbond.models.maze.pictures import robustness_figure

    from examples.ball_maze import MAZE

    grid = GainGrid(points=11)
    robustness_figure(robustness(MAZE, grid.around(MAZE.k1), grid.around(MAZE.k2), t_end=grid.until), path)


def _satellite(path: Path) -> None:
    from screwbond.models.pictures import poster, scene_of

    page = run_page("mechanisms.md")[0]
    poster(scene_of(page.flight, "A satellite reaches out"), path, t=4.0)


def _rounded_cube(path: Path) -> None:
    from screwbond.models.pictures import poster, scene_of

    page = run_page("surfaces.md")[0]
    poster(scene_of(page.tumbling, "A rounded cube tumbles"), path, t=0.35)


def _crane(path: Path) -> None:
    from dataclasses import replace

    from screwbond.models.pictures import Trail, still
    from screwbond.models.pictures.shapes.meshes import free_normals
    from screwbond.models.robots import robot_scene

    from examples.urdf_robot import read, run

    result = run(1.1)
    scene = robot_scene(read(), result["crane.q"], result.t, "A crane whose motors fail", frames=("hand",))
    way = scene.frames[0].poses[:, :3, 3]
    trail = Trail(way, free_normals(way), "#c2410c", "hand path")
    still(replace(scene, paths=(trail,)), path, 0.95, size=(1280, 900))


DIAGRAMS: dict[str, Callable[[Path], None]] = {
    "contact.svg": _contact,
    "dc_motor.svg": _motor,
    "delta_arm.svg": _delta(("arm 2", "arm 3")),
    "delta_robot.svg": _delta("all"),
    "hand.svg": _hand,
    "maze.svg": _maze,
    "impact.svg": _impact_graph,
    "winch.svg": _winch,
}
PLOTS: dict[str, Callable[[Path], None]] = {
    "oscillator.png": _oscillator,
    "sweep.png": _sweep,
    "delta_poles.png": _delta_poles,
    "delta_soft_touch.png": _delta_soft_touch,
    "delta_workspace.png": _delta_workspace,
    "hand_figure7.png": _hand_figure7,
    "maze_figure5.png": _maze_figure("figure5"),
    "maze_figure7.png": _maze_figure("figure7"),
    "maze_figure10.png": _maze_figure("figure10"),
    "maze_gains.png": _maze_gains,
    "maze_path.png": _maze_figure("path_figure"),
    "impact_laws.png": _impact("force_laws.png"),
    "impact_order.png": _impact("order.png"),
    "impact_phases.png": _impact("phase_portrait.png"),
    "impact_strikes.png": _impact("impacts.png"),
    **twelve_models.PLOTS,
}
SCENES: dict[str, Callable[[Path], None]] = {
    "crane.png": _crane,
    "delta_robot.png": _delta_robot,
    "hand_figure6.png": _hand_figure6,
    "impact_arm.png": _impact_arm,
    "rolling_eggs.png": _rolling_eggs,
    "rounded_cube.png": _rounded_cube,
    "satellite.png": _satellite,
    **twelve_models.SCENES,
}

WIDTH = 1200


def narrowed(path: Path) -> Image.Image:
    from PIL import Image

    with Image.open(path) as drawn:
        # A palette would dull rare colours.
        picture = drawn.convert("RGB")
    if picture.width > WIDTH:
        height = round(picture.height * WIDTH / picture.width)
        picture = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    return picture


def draw(name: str, path: Path) -> None:
    (DIAGRAMS | PLOTS | SCENES)[name](path)
    if name not in DIAGRAMS:
        narrowed(path).save(path, optimize=True)


def main(arguments: Sequence[str] | None = None) -> None:
    names = [*DIAGRAMS, *PLOTS, *SCENES]
    parser = argparse.ArgumentParser(prog="python -m docs.gallery", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pictures", nargs="*", choices=[*names, []], metavar="PICTURE", help=", ".join(names))
    for name in parser.parse_args(arguments).pictures or names:
        draw(name, PICTURES / name)
        print(f"drew {PICTURES / name}", flush=True)


if __name__ == "__main__":
    main()
