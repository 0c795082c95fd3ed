"""A robot arm hits a wall (Wang, Dehio and Kheddar 2022): its effective mass, the impact force, and the rebound speed.

   arm (IC of seven joints) --> MTF n . v  --> ideal constraint      joints free: one component of the twist is stopped, or
   one free body            --> MTF n . v  --> ideal constraint      all six; joints locked: the links are one body

Each graph measures a mass, impulse over velocity jump, for which the paper has a formula. The force of the impact is k s + c s s'
at the compression s; Lambert's W gives the restitution. The simulated arm then hits the wall with this force.
"""

from __future__ import annotations

from screwbond.models.impact import KINDS, ImpactStudy, MeasuredImpact, ViscoelasticImpact, study_impact

MEASURED = MeasuredImpact(v0=0.1754, impulse=0.6662, duration=10.4e-3, e=0.1, poses=100)
"""Speed, impulse and duration of the paper's Fig. 1; the restitution is the paper's estimate."""


def study() -> ImpactStudy:
    """Return the paper's impact, and an arm with round numbers."""
    return study_impact(MEASURED)


def report(result: ImpactStudy) -> str:
    """Return the law, the masses, and the motion of the arm, as text."""
    law, struck = result.laws["viscoelastic"], result.impacts["viscoelastic"]
    assert isinstance(law, ViscoelasticImpact)
    lines = [f"k = {law.k:.3g} N/m, c = {law.c:.3g} N s/m^2 and m = {law.m:.4g} kg: e = {law.restitution:.3f}"]
    for kind, mass in result.masses.items():
        measured = f"{result.graphs[kind].mass:.6f} kg from its graph" if kind in result.graphs else "which has no graph"
        lines.append(f"  {KINDS[kind].name}: {mass:.6f} kg, {measured}")
    lines.append(f"impact on the wall: e = {struck.restitution:.3f}, {struck.impulse:.3f} N s in {1e3 * struck.duration:.2f} ms")
    share = result.order.shares()["projection > composite > momentum"]
    lines.append(f"projection > composite > momentum in {100.0 * share:.0f} % of {MEASURED.poses} configurations")
    return "\n".join(lines)


if __name__ == "__main__":
    from screwbond.models.impact.figures import FIGURES
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/arm_impact")
    result = study()
    print(report(result))
    for name, draw in FIGURES.items():
        draw(result, out / name)
    print(f"  pictures in {out}")
