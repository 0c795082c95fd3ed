"""A Wilberforce pendulum: its spring couples length and twist, and its energy moves back and forth.

The stiffness is [[k, coupling], [coupling, twist]], N/m, N and N m/rad; the pendulum starts at
rest.
"""

from screwbond import J1, Graph, I, multiport


def simulate(mass=0.5, inertia=1e-4, k=5.0, twist=1e-3, coupling=9e-3, drop=0.1, turn=0.0,
             t_end=60.0):  # fmt: skip
    def energy(q, k, coupling, twist):
        return 0.5 * k * q[0] ** 2 + coupling * q[0] * q[1] + 0.5 * twist * q[1] ** 2

    numbers = {"k": k, "coupling": coupling, "twist": twist}
    ports = {"length": "translation", "twist": "rotation"}
    spring = multiport("C", "spring", energy, ports, initial=[drop, turn], parameters=numbers)
    graph = Graph("Wilberforce pendulum")
    bob, spin = J1("bob", domain="translation"), J1("spin", domain="rotation")
    graph.connect(bob, I("mass", mass=mass)).connect(bob, spring.port("length"))
    graph.connect(spin, I("inertia", inertia=inertia)).connect(spin, spring.port("twist"))
    return graph.simulate(t_end, samples=3001, rtol=1e-10)
