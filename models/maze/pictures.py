"""Pictures of a ball maze: counterparts of figures 5 to 11 of Bortoff 2020, and the 3-D scene of a run.

Figure 8, the loops, is the bond graph with its signals, as `bondgraph.render.diagram` draws it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from screwbond.models.maze.analysis import analyse, rightmost, root_locus
from screwbond.models.maze.graph import QUARTER, MazeParameters
from screwbond.models.maze.run import MazeRun, RobustnessMap
from screwbond.models.pictures import Curve, EventMark, Look, Panel, Scene, Solid, Trail
from screwbond.models.pictures.interpolation import turned_poses
from screwbond.models.pictures.shapes.meshes import Mesh, circle, globe, joined, path_tube, polyline, sheet
from screwbond.models.pictures.style import (
    AMBER,
    BLUE,
    FORCE,
    PATHS,
    blend,
    legend_above,
    plain_numbers,
    plot_file,
    rgb,
    round_number,
)
from screwbond.models.pictures.web.packing import EventRows

from bondgraph.output.plot_style import CYCLE, DANGER, DASHES, INK, MUTED, PAPER, SMALL, TITLE

RING, BALL_COLOUR, PATH_COLOUR = BLUE[1], AMBER[0], AMBER[1]

GATE_WIDTH = 1.6
"""Width of a gate in pictures, relative to the ball's diameter; in the model, a gate is a point."""


def gate_half_angle(maze: MazeParameters, i: int) -> float:
    return float(np.arcsin(min(GATE_WIDTH * maze.ball_radius / maze.radii[i - 1], 0.9)))


def arc(maze: MazeParameters, i: int) -> np.ndarray:
    """Return angles (k,) along ring i in the maze's axes, from one side of its gate around to the other, rad."""
    half = gate_half_angle(maze, i)
    return QUARTER - maze.gates[i - 1] + np.linspace(half, 2.0 * np.pi - half, 181)


def draw_maze(
    axes: Any,
    maze: MazeParameters,
    angle: float,
    ball: np.ndarray | None = None,
    spin: float = 0.0,
    *,
    path: np.ndarray | None = None,
    scale: bool = True,
    reach: float | None = None,
) -> None:
    """Draw a maze turned by an angle (rad), the ball at its position (2,) turned by `spin`, a `path` (k, 2) in world axes, and a
    `scale` bar. The drawing extends `reach` (m) on all sides of the centre, by default as far as maze and ball reach."""
    from matplotlib.patches import Circle

    for i, radius in enumerate(maze.radii, start=1):
        at = arc(maze, i) + angle
        axes.plot(radius * np.cos(at), radius * np.sin(at), color=RING, linewidth=1.8, solid_capstyle="butt")
    # A cross in the axes of the maze shows how it has turned.
    mark = 0.22 * maze.radii[-1]
    for turn, colour in ((0.0, INK), (QUARTER, MUTED)):
        axes.plot([0.0, mark * np.cos(angle + turn)], [0.0, mark * np.sin(angle + turn)], color=colour, linewidth=1.4)
    if path is not None:
        axes.plot(*path.T, color=PATH_COLOUR, linewidth=0.9)
    if ball is not None:
        axes.add_patch(Circle(tuple(ball), maze.ball_radius, facecolor=BALL_COLOUR, edgecolor=INK, linewidth=0.8, zorder=5))
        tip = ball + maze.ball_radius * np.array([np.cos(spin), np.sin(spin)])
        axes.plot(*np.stack([ball, tip]).T, color=INK, linewidth=0.8, zorder=6)
    if reach is None:
        reach = 1.06 * max(maze.radii[0], 0.0 if ball is None else float(np.linalg.norm(ball)) + maze.ball_radius)
    if scale:
        _scale(axes, reach)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set_axis_off()


def _scale(axes: Any, reach: float) -> None:
    length = round_number(0.3 * reach)
    at = np.array([-0.97 * reach, -0.97 * reach + length]), np.full(2, -0.96 * reach)
    axes.plot(*at, color=INK, linewidth=1.4, solid_capstyle="butt", marker="|", markersize=6.0)
    axes.annotate(
        f"{length:g} m", (float(np.mean(at[0])), at[1][0]), (0, 4), textcoords="offset points", ha="center", fontsize=SMALL
    )


Path = str | os.PathLike[str]

RING_STATE, FALL_STATE = (blend(colour, PAPER, 0.75) for colour in (BLUE[0], AMBER[0]))

FINE = 121


def figure5(maze: MazeParameters, path: Path, dpi: int = 160) -> None:
    """Plot the initial maze, and its coordinates while the ball is on the first ring: figures 5 and 6."""
    with plot_file(path, (9.2, 5.1), dpi=dpi, title="The ball maze") as figure:
        left, right = figure.subplots(1, 2)
        draw_maze(left, maze, 0.0, np.array(maze.place))
        left.set_title("start: the ball falls through a gate when both are on top", color=MUTED)
        turned, off = 0.35, 0.28
        ball = maze.distance(1) * np.array([np.sin(off), np.cos(off)])
        draw_maze(right, maze, turned, ball, -0.6)
        right.set_title("coordinates, with the ball's rotation $q_4$", color=MUTED)
        _coordinates(right, maze, ball, turned, off)
        figure.subplots_adjust(left=0.01, right=0.99, top=0.87, bottom=0.01, wspace=0.02)


def _coordinates(axes: Any, maze: MazeParameters, ball: np.ndarray, turned: float, off: float) -> None:
    style: dict[str, Any] = {"color": MUTED, "linewidth": 0.8, "linestyle": DASHES[1]}
    far = 0.8 * maze.radii[-1]
    axes.plot([0.0, far], [0.0, 0.0], **style)
    axes.plot([0.0, far * np.cos(turned)], [0.0, far * np.sin(turned)], **style)
    at = np.linspace(0.0, turned, 30)
    axes.plot(0.7 * far * np.cos(at), 0.7 * far * np.sin(at), color=CYCLE[0])
    axes.plot([0.0, ball[0]], [ball[1], ball[1]], **style)
    axes.plot([0.0, 0.0], [0.0, ball[1]], **style)
    axes.plot([0.0, ball[0]], [0.0, ball[1]], **style)
    at = np.linspace(0.0, off, 30)
    axes.plot(0.5 * ball[1] * np.sin(at), 0.5 * ball[1] * np.cos(at), color=CYCLE[2])
    size = 0.05 * maze.radii[0]
    middle = 0.5 * turned
    for words, x, y, colour in (
        ("$q_1$", 0.7 * far * np.cos(middle) + 1.3 * size, 0.7 * far * np.sin(middle), CYCLE[0]),
        ("$q_2$", 0.5 * ball[0], ball[1] - 1.1 * size, INK),
        ("$q_3$", -1.5 * size, 0.6 * ball[1], INK),
        ("$r_i + r_b$", 0.34 * ball[0] + 2.2 * size, 0.3 * ball[1], INK),
        (r"$\theta$", 0.5 * ball[1] * np.sin(0.5 * off), 0.5 * ball[1] + size, CYCLE[2]),
        ("$q_4$", ball[0] + 2.5 * size, ball[1] + 0.5 * size, INK),
    ):
        axes.text(x, y, words, ha="center", va="center", fontsize=TITLE, color=colour)


def figure7(maze: MazeParameters, path: Path, i: int = 1, dpi: int = 160) -> None:
    """Plot root loci on ring i: first for the loop that holds the ball and then, with this loop closed, for the loop that turns
    the maze."""
    result = analyse(maze, i)
    factors = np.concatenate([[0.0], np.geomspace(1e-3, 20.0, 6000)])
    loops = (
        (f"holding the ball: $y_1 = q_2$, gain $k_1$ from 0 to {20 * maze.k1:g} N", 1, result.ball.zeros, maze.lead1),
        (rf"turning the maze: $y_2 = q_1$, gain $k_2$ from 0 to {20 * maze.k2:g} N m/rad", 2, result.turned.zeros, maze.lead2),
    )
    with plot_file(
        path, (8.4, 7.6), dpi=dpi, layout="constrained", title=f"Root loci on ring {i}: poles with increasing gain"
    ) as figure:
        for axes, (words, loop, zeros, lead) in zip(figure.subplots(2, 1), loops, strict=True):
            poles = root_locus(maze, i, factors, loop)
            now = root_locus(maze, i, np.ones(1), loop)[0]
            wide = 1.15 * lead[1] if loop == 1 else 1.1 * lead[1] + 0.5
            zeros = np.append(zeros, -lead[0])
            _locus(axes, poles, zeros, now)
            axes.set(xlim=(-wide, 0.35 * wide), ylim=(-0.55 * wide, 0.55 * wide), ylabel="imaginary part (1/s)")
            axes.set_title(words)
            axes.legend(loc="lower left", frameon=True)
        axes.set_xlabel("real part (1/s)")
        turning = np.abs(now[np.abs(now.imag) > 0.0])
        if len(turning):
            slow = 2.2 * float(turning.min())
            near = axes.inset_axes((0.1, 0.64, 0.4, 0.34), xlim=(-1.2 * slow, 0.6 * slow), ylim=(-slow, slow))
            _locus(near, poles, zeros, now)
            near.tick_params(labelsize=SMALL)
            axes.indicate_inset_zoom(near, edgecolor=MUTED)


def _locus(axes: Any, poles: np.ndarray, zeros: np.ndarray, now: np.ndarray) -> None:
    axes.axvspan(0.0, 1e3, color=DANGER, linewidth=0, zorder=0)
    for line in (axes.axhline, axes.axvline):
        line(0.0, color=MUTED, linewidth=0.8, zorder=1)
    axes.plot(poles.real, poles.imag, color=CYCLE[0])
    axes.plot(poles[0].real, poles[0].imag, "x", color=INK, markersize=8, label="poles at gain 0")
    axes.plot(zeros.real, zeros.imag, "o", fillstyle="none", color=CYCLE[2], markersize=8, label="zeros")
    axes.plot(now.real, now.imag, "s", color=CYCLE[1], markersize=4.5, label="poles at the maze's gain")


def figure9(maze: MazeParameters, path: Path, dpi: int = 160) -> None:
    states = [*maze.states]
    half = len(states) // 2
    positions = {s: (k, 0.0) if k <= half else (2 * half + 1 - k, -1.0) for k, s in enumerate(states)}
    with plot_file(path, (1.9 * (half + 1), 2.7), dpi=dpi) as figure:
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        box = {"boxstyle": "round,pad=0.45", "edgecolor": MUTED}
        for k, (state, (x, y)) in enumerate(positions.items()):
            colour = RING_STATE if state.startswith("ring") else FALL_STATE
            axes.text(x, y, f"{k}  {state}", ha="center", va="center", bbox={**box, "facecolor": colour})
        for k, (a, b) in enumerate(pairwise(states)):
            (x, y), (u, v) = positions[a], positions[b]
            words, along = ("$h_1 \\leq 0$" if k % 2 == 0 else r"$\psi = 0$"), np.sign(u - x)
            start, end = ((x + 0.3 * along, y), (u - 0.3 * along, v)) if y == v else ((x, y - 0.2), (u, v + 0.2))
            axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.0})
            axes.text(0.5 * (x + u) + (0.2 if y != v else 0.0), 0.5 * (y + v) + (0.14 if y == v else 0.0), words, ha="center")
        axes.set(xlim=(-0.6, half + 0.6), ylim=(-1.5, 0.5))
        axes.set_axis_off()


def figure10(run: MazeRun, path: Path, dpi: int = 160) -> None:
    """Plot state, maze angle with its reference, ball position, torque and contact force over time."""
    maze, events = run.maze, run.events
    with plot_file(path, (8.8, 9.2), dpi=dpi, layout="constrained", title="Run of the ball") as figure:
        mode, angle, aside, torque, force = figure.subplots(5, 1, sharex=True, height_ratios=(1.5, 1, 1, 1, 1))
        mode.plot(run.t, run["course.mode"], color=INK, drawstyle="steps-post")
        mode.set(ylabel="state")
        mode.set_yticks(range(len(maze.states)), [*maze.states], fontsize=SMALL)
        angle.plot(run.t, run["q.maze"], color=CYCLE[0], label="$q_1$")
        angle.plot(run.t, run["reference.y"], color=MUTED, linestyle=DASHES[1], label="reference")
        angle.set(ylabel="maze (rad)")
        legend_above(angle, 2)
        aside.plot(run.t, run["q.ball"][:, 0], color=CYCLE[1])
        aside.set(ylabel="ball, $q_2$ (m)")
        torque.plot(run.t, run["motor.effort"], color=INK)
        torque.set(ylabel="torque (N m)")
        weight = maze.ball_mass * maze.gravity
        rows = EventRows.of(run.result, run.t[0], run.t[-1])
        pressed = 2.0 * np.linalg.norm(rows.values("q.ball"), axis=1) * rows.values("normal.multiplier")
        force.plot(rows.t, pressed, color=CYCLE[0])
        force.axhline(weight, color=MUTED, linewidth=0.8, linestyle=DASHES[1])
        force.annotate("weight", (0.05 * run.t[-1], weight), (0, 3), textcoords="offset points", color=MUTED, fontsize=SMALL)
        force.set(ylabel="contact\nforce (N)", xlabel="time (s)", xlim=(run.t[0], run.t[-1]))
        for panel in (mode, angle, aside, torque, force):
            for event in events:
                panel.axvline(event.time, color=MUTED, linewidth=0.8, linestyle=DASHES[2], zorder=0)
        figure.align_ylabels()


def figure11(run: MazeRun, path: Path, dpi: int = 160) -> None:
    """Plot the maze when the ball lands on each ring, and before it falls through each gate."""
    shown = run.events or ()
    columns, reach = max((len(shown) + 1) // 2, 1), 1.06 * (run.maze.radii[0] + 2.0 * run.maze.ball_radius)
    with plot_file(path, (2.5 * columns, 6.2), dpi=dpi, title="Landings and falls in the world frame") as figure:
        panels = figure.subplots(2, columns, squeeze=False)
        for panel in panels.ravel():
            panel.set_axis_off()
        for k, event in enumerate(shown):
            panel = panels[k % 2, k // 2]
            ball, angle, spin = (run.result.at_event(event, name)[0] for name in ("q.ball", "q.maze", "q.spin"))
            before = run.t <= event.time
            draw_maze(panel, run.maze, float(angle), ball, float(spin), path=run["q.ball"][before], scale=k == 0, reach=reach)
            panel.set_title(f"{event.kind}, {event.time:.2f} s", fontsize=SMALL)
        figure.subplots_adjust(left=0.01, right=0.99, top=0.88, bottom=0.01, wspace=0.02, hspace=0.12)


def path_figure(run: MazeRun, path: Path, dpi: int = 160) -> None:
    with plot_file(path, (6.4, 6.8), dpi=dpi, title="Path of the ball in the frame of the maze") as figure:
        axes = figure.add_axes((0.02, 0.02, 0.96, 0.9))
        draw_maze(axes, run.maze, 0.0, path=run.path)
        for k, event in enumerate(run.event_table()):
            axes.plot(*event["ball_in_maze"], "o", color=CYCLE[2 * (k % 2)], markersize=4.0, zorder=6)
        axes.plot([], [], "o", color=CYCLE[0], label="lands")
        axes.plot([], [], "o", color=CYCLE[2], label="falls through a gate")
        axes.plot([], [], color=PATH_COLOUR, label="centre of the ball")
        axes.legend(loc="upper right", bbox_to_anchor=(1.0, 1.03))


def robustness_figure(result: RobustnessMap, path: Path, dpi: int = 160) -> None:
    title = "Gains for which the loops are stable, and for which the ball reaches the centre"
    with plot_file(path, (8.6, 5.8), dpi=dpi, layout="constrained", title=title) as figure:
        axes = figure.subplots()
        logarithmic = bool(result.k1.min() > 0.0 < result.k2.min())
        fine = [_fine_gains(gains, logarithmic) for gains in (result.k1, result.k2)]
        worst = rightmost(result.maze, *fine).max(axis=2)
        most = float(np.max(np.abs(worst[worst < 0.0]), initial=1e-3))
        style: dict[str, Any] = {"cmap": "RdBu_r", "shading": "gouraud", "rasterized": True}
        shade = axes.pcolormesh(*fine, np.clip(worst, -most, most).T, vmin=-most, vmax=most, **style)
        figure.colorbar(shade, ax=axes, label="largest real part of all poles on all rings (1/s)", extend="max")
        if worst.min() < 0.0 < worst.max() and min(worst.shape) > 1:
            axes.contour(*fine, worst.T, levels=[0.0], colors=INK, linewidths=1.2)
            axes.plot([], [], color=INK, linewidth=1.2, label="stability boundary")
        k1, k2 = np.meshgrid(result.k1, result.k2, indexing="ij")
        dots = {"markersize": 5.0, "color": PAPER, "markeredgecolor": INK, "markeredgewidth": 0.8}
        axes.plot(k1[result.reached_centre], k2[result.reached_centre], "o", label="the ball reaches the centre", **dots)
        axes.plot(
            result.maze.k1, result.maze.k2, "s", color=CYCLE[1], markersize=8.0, markeredgecolor=INK, label="gains of the maze"
        )
        scale = "log" if logarithmic else "linear"
        axes.set(xlabel="$k_1$ (N)", ylabel="$k_2$ (N m/rad)", xscale=scale, yscale=scale)
        if logarithmic:
            plain_numbers(axes.xaxis)
            plain_numbers(axes.yaxis)
        axes.grid(visible=False)
        legend_above(axes, 3, bbox_to_anchor=(1.0, 1.01))


def _fine_gains(gains: np.ndarray, logarithmic: bool) -> np.ndarray:
    if len(gains) == 1:
        return gains
    at = np.log(gains) if logarithmic else gains
    half = 0.5 * float(np.ptp(at)) / (len(gains) - 1)
    fine = np.linspace(at.min() - half, at.max() + half, FINE)
    return np.exp(fine) if logarithmic else fine


VIEW, UP = np.array([0.10, -0.22, 0.97]), np.array([0.0, 1.0, 0.0])
"""Direction to the viewer, and up; axes point right, up, and out of the maze's plane."""

DISC, LINES = "#eef1f5", "#d5d9e0"
TUBE = 0.4
"""Radius of the rings' tubes, relative to the ball's radius."""


def maze_scene(run: MazeRun, title: str = "Ball maze") -> Scene:
    maze, t, count = run.maze, run.t, len(run.t)
    out = np.tile([0.0, 0.0, 1.0], (count, 1))
    ball = np.column_stack([run["q.ball"], np.zeros(count)])
    path = np.column_stack([run.path, np.full(count, -0.8 * maze.ball_radius)])
    solids = (
        Solid("maze", turned_poses(np.zeros((count, 3)), run["q.maze"]), maze_mesh(maze), BLUE[0], look=Look.OPAQUE),
        Solid("ball", turned_poses(ball, run["q.spin"]), _ball_mesh(maze.ball_radius), AMBER[0], look=Look.OPAQUE),
    )
    angles = (Curve("maze $q_1$", run["q.maze"], PATHS[1]), Curve("reference", run["reference.y"], MUTED, 1))
    return Scene(
        title,
        t,
        solids,
        paths=(Trail(path, out, AMBER[1], "path of the ball in the maze", on=0, thick=2.2),),
        panels=(
            Panel("angle", "rad", angles, key=True),
            Panel("ball position", "m", (Curve("$q_2$", run["q.ball"][:, 0], PATHS[0]),), level=True),
            Panel("force of the ring", "N", (Curve("", run.force, FORCE),)),
        ),
        event_marks=tuple(EventMark(e.time, f"{e.kind} at {e.time:.2f} s", e.internal) for e in run.events),
        size=0.25 * maze.radii[0],
        view=VIEW,
        up=UP,
        slow_motion=_slow_motion(run),
        result=run.result,
    )


def _slow_motion(run: MazeRun, before: float = 0.1, after: float = 0.5) -> tuple[tuple[float, float], ...]:
    times = [event.time for event in run.events[1:]]
    ends = [*times[1::2], *([float(run.t[-1])] if len(times) % 2 else [])]
    return tuple((start - before, min(end + after, float(run.t[-1]))) for start, end in zip(times[::2], ends, strict=True))


def maze_mesh(maze: MazeParameters) -> Mesh:
    thick, behind = TUBE * maze.ball_radius, -1.05 * maze.ball_radius
    edge = maze.distance(1) + 2.0 * maze.ball_radius
    rings = [_ring(maze, i, thick) for i in maze.rings]
    spokes = []
    for angle in np.arange(12) * np.pi / 6.0:
        reach = np.array([0.3 * maze.radii[-1], edge])
        ends = np.column_stack([reach * np.cos(angle), reach * np.sin(angle), np.full(2, 0.98 * behind)])
        spokes.append(polyline(ends).painted(LINES))
    return joined(sheet(circle(edge, behind, 160)).painted(DISC), *spokes, *(ring.painted(BLUE[1]) for ring in rings))


def _ring(maze: MazeParameters, i: int, thick: float) -> Mesh:
    at, radius = arc(maze, i), maze.radii[i - 1] - thick
    points = np.stack([radius * np.cos(at), radius * np.sin(at), np.zeros_like(at)], axis=1)
    return Mesh(*path_tube(points, np.tile([0.0, 0.0, 1.0], (len(at), 1)), np.full(len(at), thick)))


def _ball_mesh(radius: float) -> Mesh:
    ball = globe(radius, rings=20, sides=48)
    sector = np.floor(4.0 * np.arctan2(ball.normals[:, 1], ball.normals[:, 0]) / (2.0 * np.pi)).astype(int) % 2
    return replace(ball, colours=np.array([rgb(AMBER[0]), rgb(INK)])[sector] / 255.0)
