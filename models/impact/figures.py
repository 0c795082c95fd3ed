"""Figures of an impact study, counterparts of the figures of WA22, and the 3-D scene of an impact. Requires Matplotlib."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from screwbond.models.impact.force_laws import ViscoelasticImpact
from screwbond.models.impact.mobility import KINDS
from screwbond.models.impact.striking import ImpactRun, Striker
from screwbond.models.impact.study import ImpactStudy
from screwbond.models.pictures import Curve, EventMark, Force, Look, Panel, Scene, Solid, still
from screwbond.models.pictures.from_results.links import RodLinks, link_poses
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import along, cuboid
from screwbond.models.pictures.style import AMBER, BLUE, FORCE, blend, legend_above, plain_numbers, plot_file
from screwbond.models.robots import visual_solids

from bondgraph.output.plot_style import CYCLE, DANGER, DASHES, INK, MUTED, PAPER, SMALL

Path = str | os.PathLike[str]
LAWS = dict(zip(("viscoelastic", "virtual spring", "Maxwell"), zip(CYCLE, DASHES, strict=False), strict=True))

COLOURS = dict(zip(KINDS, CYCLE[: len(KINDS)], strict=True))


def _viscoelastic(study: ImpactStudy) -> ViscoelasticImpact:
    law = study.laws["viscoelastic"]
    assert isinstance(law, ViscoelasticImpact)
    return law


def _shade(k: int, count: int) -> str:
    return blend(CYCLE[0], PAPER, 0.7 * (1.0 - k / max(count - 1, 1)))


def plot_laws(study: ImpactStudy, path: Path, *, dpi: int = 160) -> None:
    """Plot force versus time and compression for three laws with equal speed, impulse and duration (WA22, Figs. 4(b) and 5)."""
    with plot_file(
        path, (9.6, 4.4), dpi=dpi, layout="constrained", title="Three laws with equal speed, impulse and duration"
    ) as figure:
        over_time, over_compression = figure.subplots(1, 2, sharey=True)
        for name, law in study.laws.items():
            course, (colour, dashes) = law.history(), LAWS[name]
            style: dict[str, Any] = {"color": colour, "linestyle": dashes}
            over_time.plot(1e3 * course.t, course.force, label=f"{name}, {law.peak_force:.0f} N", **style)
            over_compression.plot(1e3 * course.compression, course.force, **style)
            for panel, x, factor in ((over_time, course.t, 1e3), (over_compression, course.compression, 1e3)):
                at = int(np.argmax(course.compression))
                panel.plot([factor * x[at]], [course.force[at]], "o", color=colour, markersize=4.5)
        over_time.plot([], [], "o", color=MUTED, markersize=4.5, linestyle="none", label="largest compression")
        over_time.set(xlabel="time (ms)", ylabel="force (N)", xlim=(0.0, None), ylim=(0.0, None))
        over_compression.set(xlabel="compression (mm)", xlim=(0.0, None))
        over_time.legend(loc="upper right")


def plot_speeds(study: ImpactStudy, path: Path, *, dpi: int = 160) -> None:
    """Plot the viscoelastic force at several speeds, with the ends of compression and restitution (WA22, Figs. 2 and 5)."""
    law, speeds = _viscoelastic(study), study.measured.speeds
    with plot_file(path, (7.6, 4.4), dpi=dpi, layout="constrained", title="Viscoelastic force at several speeds") as figure:
        panel = figure.subplots()
        for k, speed in enumerate(speeds):
            impact = replace(law, v0=speed)
            course = impact.history()
            colour = _shade(k, len(speeds))
            panel.plot(1e3 * course.t, course.force, color=colour, label=f"{speed:g} m/s, $e$ = {impact.restitution:.3f}")
            at = int(np.argmax(course.compression))
            panel.plot([1e3 * course.t[at]], [course.force[at]], "o", color=colour, markersize=4.5)
            panel.plot([1e3 * course.t[-1]], [0.0], "s", color=colour, markersize=4.5, clip_on=False)
        panel.plot([], [], "o", color=MUTED, markersize=4.5, linestyle="none", label=r"end of compression, $\dot x = 0$")
        panel.plot([], [], "s", color=MUTED, markersize=4.5, linestyle="none", label=r"end of restitution, $x = 0$")
        panel.set(xlabel="time (ms)", ylabel="force (N)", xlim=(0.0, None), ylim=(0.0, None))
        panel.legend()


def plot_restitution(study: ImpactStudy, path: Path, *, dpi: int = 160) -> None:
    """Plot restitution versus speed: exact, for small and large (17) speeds, and of the two laws for which it is constant (WA22,
    Figs. 3(d) and 4(d))."""
    law = _viscoelastic(study)
    unit = law.invariant_speed
    speeds = np.geomspace(0.02, 50.0, 400) * unit
    with plot_file(path, (7.6, 4.4), dpi=dpi, layout="constrained", title="Restitution versus impact speed") as figure:
        panel = figure.subplots()
        exact = [replace(law, v0=float(v)).restitution for v in speeds]
        panel.semilogx(speeds, exact, color=CYCLE[0], label="viscoelastic, exact")
        shown = unit / speeds <= 1.6
        fast, slow = r"large speeds, $k / (c\,v_0)$", r"small speeds, $1 - \frac{2}{3}\,c\,v_0/k$"
        panel.semilogx(speeds[shown], unit / speeds[shown], color=CYCLE[1], linestyle=DASHES[1], label=fast)
        panel.semilogx(speeds, 1.0 - 2.0 / 3.0 * speeds / unit, color=MUTED, linestyle=DASHES[2], label=slow)
        panel.axhline(study.measured.e, color=INK, linewidth=0.9, label="virtual spring and Maxwell")
        panel.plot([law.v0], [law.restitution], "o", color=CYCLE[0], markersize=6)
        panel.annotate("identified", (law.v0, law.restitution), (6, 8), textcoords="offset points", fontsize=SMALL)
        panel.axhspan(1.0, 1.6, color=DANGER, linewidth=0, zorder=0)
        panel.set(xlim=(speeds[0], speeds[-1]), ylim=(0.0, 1.6))
        panel.set(xlabel="impact speed (m/s)", ylabel="coefficient of restitution")
        panel.legend(loc="upper right")


def plot_phases(study: ImpactStudy, path: Path, *, dpi: int = 160) -> None:
    """Plot the phase portrait of (15) with its invariant line. As in the paper, compression is x < 0; all impacts return to x =
    0."""
    law = _viscoelastic(study)
    unit = law.invariant_speed
    with plot_file(path, (7.6, 5.2), dpi=dpi, layout="constrained", title="Phase portrait of the viscoelastic impact") as figure:
        panel = figure.subplots()
        speeds = np.concatenate([unit * np.array([0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0]), [law.v0]])
        for k, speed in enumerate(speeds):
            course = replace(law, v0=float(speed)).history()
            identified = k == len(speeds) - 1
            label = f"identified, {law.v0:g} m/s" if identified else "other speeds" if k == 0 else None
            colour, width = (CYCLE[0], 2.2) if identified else (MUTED, 1.0)
            panel.plot(-1e3 * course.compression, -course.rate, color=colour, linewidth=width, label=label)
        panel.axhline(unit, color=CYCLE[1], linestyle=DASHES[1], label=r"invariant line $\dot x = k/c$")
        panel.axhline(0.0, color=MUTED, linewidth=0.8)
        panel.axvline(0.0, color=MUTED, linewidth=0.8)
        depth = 1e3 * law.largest_compression
        panel.set(xlim=(-1.06 * depth, 0.03 * depth), ylim=(-1.08 * law.v0, 2.2 * unit))
        panel.set(xlabel="position $x$ (mm)", ylabel=r"speed $\dot x$ (m/s)")
        panel.legend(loc="lower left")


def plot_energies(study: ImpactStudy, path: Path, *, dpi: int = 160) -> None:
    """Plot kinetic, stored and dissipated energy over time, stacked (WA22, Fig. 6)."""
    names = ("kinetic", "stored", "dissipated")
    with plot_file(path, (9.6, 4.0), dpi=dpi, layout="constrained", title="Energy during the impact") as figure:
        for panel, (name, law) in zip(figure.subplots(1, 3, sharey=True), study.laws.items(), strict=True):
            course = law.history()
            parts = [1e3 * np.asarray(getattr(course, part)) for part in names]
            panel.stackplot(1e3 * course.t, *parts, colors=CYCLE[:3], labels=names, linewidth=0)
            panel.axvline(1e3 * course.t[int(np.argmax(course.force))], color=INK, linewidth=0.8, linestyle=DASHES[1])
            panel.set(title=name, xlabel="time (ms)", xlim=(0.0, 1e3 * course.t[-1]))
            panel.grid(False)
        first = figure.axes[0]
        first.set(ylabel="energy (mJ)", ylim=(0.0, float(np.max(np.sum(parts, axis=0)))))
        first.plot([], [], color=INK, linewidth=0.8, linestyle=DASHES[1], label="largest force")
        figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=4)


def plot_impulses(study: ImpactStudy, path: Path, *, dpi: int = 160) -> None:
    """Plot the impulse at the end of compression versus speed, with the masses by formula and by graph (WA22, Fig. 7)."""
    speeds = np.array([0.0, 1.1 * max(study.measured.speeds)])
    with plot_file(path, (7.6, 4.6), dpi=dpi, layout="constrained", title="Impulse at the end of compression") as figure:
        panel = figure.subplots()
        for kind, mass in study.masses.items():
            dashes = DASHES[1] if kind == "flexibility" else "-"
            label = f"{KINDS[kind].name}, {mass:.3f} kg"
            panel.plot(speeds, mass * speeds, color=COLOURS[kind], linestyle=dashes, label=label)
            if kind in study.graphs:
                measured = np.array(study.measured.speeds)
                panel.plot(measured, study.graphs[kind].mass * measured, "o", color=COLOURS[kind], markersize=4.5)
        panel.plot([], [], "o", color=MUTED, markersize=4.5, linestyle="none", label="with the mass measured by the graph")
        panel.set(xlabel="speed of the point (m/s)", ylabel="impulse (N s)", xlim=speeds, ylim=(0.0, None))
        panel.legend(loc="upper left")


def plot_order(study: ImpactStudy, path: Path, *, dpi: int = 160) -> None:
    order, masses = study.order, study.order.masses
    kept, shares = order.ordered, order.shares()
    title = f"Order of the masses in {len(order.q)} random configurations"
    with plot_file(path, (9.6, 4.6), dpi=dpi, layout="constrained", title=title) as figure:
        against, sorted_ = figure.subplots(1, 2)
        ranges = [(0.85 * float(np.min(m)), 1.2 * float(np.max(m))) for m in (masses["composite"], masses["projection"])]
        ends = [min(low for low, _ in ranges), max(high for _, high in ranges)]
        for which, colour, words in ((kept, CYCLE[0], "holds"), (~kept, CYCLE[1], "fails")):
            label = f"projection > composite > momentum {words}, {100.0 * np.mean(which):.0f} %"
            against.loglog(
                masses["composite"][which], masses["projection"][which], "o", markersize=3.2, alpha=0.7, color=colour, label=label
            )
        against.loglog(ends, ends, color=MUTED, linewidth=0.9)
        ends[1] = min(ends[1], ranges[0][1], ranges[1][1])
        against.set(xlabel="composite rigid body (kg)", ylabel="projection (kg)", xlim=ranges[0], ylim=ranges[1])
        against.annotate(
            "equal", (ends[1], ends[1]), (-4, 4), textcoords="offset points", ha="right", color=MUTED, fontsize=SMALL
        )
        plain_numbers(against.xaxis)
        legend_above(against, 1)
        ranks = np.argsort(masses["projection"] / masses["composite"])
        for kind, size in (("projection", 3.4), ("flexibility", 5.0), ("momentum", 2.4)):
            values = masses[kind][ranks] / masses["composite"][ranks]
            sorted_.semilogy(values, ".", markersize=size, color=COLOURS[kind], label=KINDS[kind].name)
        sorted_.axhline(1.0, color=COLOURS["composite"], label=KINDS["composite"].name)
        equal = (1.0 - shares["projection > composite"]) * len(ranks)
        sorted_.axvline(equal, color=MUTED, linewidth=0.8, linestyle=DASHES[2])
        words = f"projection above composite\nin {100.0 * shares['projection > composite']:.0f} %"
        above = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        sorted_.annotate(words, (equal, 0.97), (-4, 0), ha="right", va="top", color=MUTED, fontsize=SMALL, **above)
        sorted_.set(xlabel="configuration, sorted by projection / composite", ylabel="mass / composite mass")
        legend_above(sorted_, 2)


def plot_impacts(study: ImpactStudy, path: Path, *, dpi: int = 160) -> None:
    mass = study.masses["momentum"]
    name = study.striker.chain.name
    title = f"{name[:1].upper()}{name[1:]} with free joints, and a mass of {mass:.3f} kg, against a wall"
    with plot_file(path, (9.6, 4.0), dpi=dpi, layout="constrained", title=title) as figure:
        for panel, (name, strike) in zip(figure.subplots(1, 3), study.impacts.items(), strict=True):
            t, force = strike.force
            single = strike.law.history()
            panel.plot(1e3 * t, force, color=CYCLE[1], linewidth=3.5, alpha=0.5, label="arm")
            panel.plot(1e3 * single.t, single.force, color=INK, linewidth=0.9, label="mass")
            panel.set(xlabel="time since impact (ms)", xlim=(0.0, None), ylim=(0.0, None))
            panel.set_title(rf"{name}: $e$ = {strike.restitution:.3f}, {strike.impulse:.3f} N s")
        figure.axes[0].set_ylabel("normal force (N)")
        figure.legend(*figure.axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=2)


FIGURES = {
    "force_laws.png": plot_laws,
    "speeds.png": plot_speeds,
    "restitution.png": plot_restitution,
    "phase_portrait.png": plot_phases,
    "energies.png": plot_energies,
    "impulses.png": plot_impulses,
    "order.png": plot_order,
    "impacts.png": plot_impacts,
}


SLAB = "#c9cfd9"
LINK_COLOURS = (AMBER[0], BLUE[0])


def strike_scene(striker: Striker, strike: ImpactRun, title: str = "") -> Scene:
    where, result = striker.striking_point, strike.result
    rods = RodLinks(where.chain, {where.link: [np.asarray(where.point)]}, LINK_COLOURS)
    q = np.asarray(result["arm.mechanism.q"], dtype=float).reshape(len(result.t), -1)
    rest = np.tile(np.eye(4), (len(result.t), 1, 1))
    poses = link_poses(where.chain, q)
    tip = rods.touching(where.link, poses, np.asarray(where.point))
    solids = [*visual_solids(where.chain, striker.visuals, q), tip] if striker.visuals else rods.solids(poses)
    n = np.asarray(striker.normal, dtype=float) / np.linalg.norm(np.asarray(striker.normal, dtype=float))
    outward, contact = where.frame[:3, :3] @ n, where.frame[:3, 3]
    half, thick = 4.5 * rods.radius, 0.6 * rods.radius
    slab = cuboid((2.0 * half, 2.0 * half, thick)).at(0.0, 0.0, -0.5 * thick)
    solids.append(Solid("wall", rest @ along(outward, contact - 0.6 * rods.radius * outward), slab, SLAB, look=Look.OPAQUE))
    force = np.asarray(result["touch.normal force"], dtype=float)
    arrow = Force(np.tile(contact, (len(force), 1)), -force[:, None] * outward, "on the wall")
    panel = Panel("normal force", "N", (Curve("normal force", force, FORCE),), key=True)
    marks = (EventMark(strike.touch, "touch", colour=MUTED), EventMark(strike.release, "release", colour=MUTED))
    scene_title = title or f"{where.chain.name[:1].upper()}{where.chain.name[1:]} strikes a wall, e = {strike.restitution:.3f}"
    return Scene(
        scene_title,
        np.asarray(result.t),
        tuple(solids),
        forces=(arrow,),
        panels=(panel,),
        event_marks=marks,
        size=8.0 * rods.radius,
        view=_view(outward),
        up=np.array([0.0, 0.0, 1.0]),
        result=result,
    )


def plot_arm(study: ImpactStudy, path: str | os.PathLike[str]) -> None:
    strike = study.impacts["viscoelastic"]
    t, force = strike.force
    still(strike_scene(study.striker, strike), path, strike.touch + float(t[np.argmax(force)]), size=(1600, 1000))


def _view(outward: Array) -> Array:
    up = np.array([0.0, 0.0, 1.0])
    aside = np.cross(outward, up)
    aside = np.array([0.0, 1.0, 0.0]) if np.linalg.norm(aside) < 0.1 else aside
    view = -aside / np.linalg.norm(aside) + 0.12 * outward + 0.2 * up
    return np.asarray(view / np.linalg.norm(view))
