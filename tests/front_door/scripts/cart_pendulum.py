"""A cart balances a pendulum, with gains from python-control's LQR for the model linearised about the upright position."""

import control
import numpy as np

from screwbond import IC, Graph, Se
from screws.scalars import array, cos

CART, BOB, L, G = 1.0, 0.2, 0.5, 9.81  # kg, kg, m, m/s^2


def inertia(q):
    """Return the mass matrix of cart and bob; q = (cart position, angle from upright)."""
    return array([[CART + BOB, BOB * L * cos(q[1])], [BOB * L * cos(q[1]), BOB * L**2]])


def law(K, u, q, v):
    """Return the force on the cart, which is the commanded force minus state feedback."""
    return array([u - K[:2] @ q - K[2:] @ v, 0.0])


pole = IC("pole", inertia=inertia, potential=lambda q: BOB * G * L * cos(q[1]), position=[0.0, 0.0])
push = Se("push", effort=law, parameters={"K": np.zeros(4), "u": 0.0}, signals=["pole.q", "pole.v"])
compiled = Graph("cart").connect(push, pole).compile()
plant = compiled.linearise("push.u")
K, _, _ = control.lqr(plant.A, plant.B, np.diag([10.0, 10.0, 1.0, 1.0]), [[0.1]])
run = compiled.simulate(8.0, initial={"pole.q": [0.0, 0.3]}, parameters={"push.K": K[0]})
print(f"{run['pole.q'][:, 1].max():.2f} rad at first, {np.abs(run['pole.q'][-1]).max():.1e} in the end")
