"""A ball on the floor, three ways: a constraint that an automaton of three states switches (Bortoff 2020, section 2), an impact
with Newton's restitution whose bounces accumulate, and the same constraint without damping, with which the ball bounces higher
each time.

While the ball touches the floor, h'' + a1 h' + a0 h + a2 h^3 = 0 defines the force; otherwise the force is zero. The ball
leaves when the force would have to pull.
"""

from __future__ import annotations

from screwbond.models.contacts.laws.three_state import contact_states

from bondgraph import J1, Automaton, Constraint, Graph, I, Result, Se, Transition, simulate

GRAVITY, HEIGHT = 9.81, 1.0  # m/s^2, m


def falling(floor: Constraint, automaton: Automaton) -> Graph:
    """Return a ball of 1 kg under its weight above a floor, which is a switched constraint on its height h."""
    graph, velocity = Graph("bouncing ball"), J1("velocity", domain="translation")
    graph.connect(Se("weight", -GRAVITY), velocity).connect(velocity, I("ball", 1.0)).connect(velocity, floor)
    return graph.add_automaton(automaton)


def on_constraint(a1: float, a0: float = 100.0, a2: float = 1e6) -> Graph:
    """Return the ball with the contact of Bortoff 2020, fig. 1: free, contact and ballistic (penetration without force)."""
    floor = Constraint(
        "floor", alpha1=a1, alpha0=a0, alpha2=a2, initial=HEIGHT, automaton="contact", active=["contact"], closing="smooth"
    )
    kinds = ("touches", "lets go", "is off", "is back")
    return falling(floor, contact_states("contact", "floor.h", "floor.h'", "floor.multiplier", kinds=kinds))


def with_restitution(e: float = 0.8) -> Graph:
    """Return the ball with impacts v -> -e v; when they accumulate, the contact closes, and the ball stays on the floor."""
    floor = Constraint("floor", initial=HEIGHT, automaton="contact", active=["resting"], restitution=e)
    bounce = Transition("free", "free", lambda h: -h, ("floor.h",), kind="bounces", impact=("floor",), accumulates="resting")
    lift = Transition("resting", "free", lambda force: -force, ("floor.multiplier",), kind="lifts off")
    return falling(floor, Automaton("contact", ("free", "resting"), "free", (bounce, lift)))


def runs(t_end: float = 6.0) -> dict[str, Result]:
    """Return the results by name."""
    graphs = {f"constraint, a1 = {a1:g}": on_constraint(a1) for a1 in (0.0, 10.0, 20.0)}
    graphs["restitution 0.8"] = with_restitution()
    return {name: simulate(graph, t_end, samples=2e-3) for name, graph in graphs.items()}


if __name__ == "__main__":
    from screwbond.models.pictures.plotting import plot_signals
    from screwbond.models.studies.tasks import output_folder

    out = output_folder(__doc__, "demo/bouncing_ball")
    results = runs()
    for name, result in results.items():
        touches = [e.time for e in result.events if e.kind in ("touches", "bounces")]
        print(f"{name:>22}: {len(touches)} contacts, the first at {touches[0]:.6f} s; {result['floor.h'][-1]:.3g} m at the end")
    signals = {"floor.h": "height $h$ (m)", "floor.multiplier": r"force $\lambda$ (N)"}
    plot_signals(
        results,
        signals,
        out / "heights.png",
        title="A ball bounces: contact as a constraint, and with restitution",
        limits={"floor.multiplier": (-20.0, 200.0)},
    )
    print(f"  picture in {out / 'heights.png'}")
