"""An elliptic cam lifts a flat follower, which loses contact when the spring is too weak.

`axes` are the semi-axes along and across the follower, and `offset` is the distance of the
ellipse's centre from the shaft, m; `pull` is the spring's initial force, N; `speed` is the cam's
initial speed, rad/s, and `acceleration` its acceleration, rad/s^2.
"""

from screwbond import C, Chain, Graph, Impact, Link, attach_contact, ball_inertia, chain_graph
from screwbond import contact, prescribed_body
from screws import ellipsoid, joints, plane, pose
from screws.scalars import array


def simulate(axes=(0.02, 0.025), offset=0.005, mass=0.2, stiffness=500.0, pull=2.5, speed=0.0,
             acceleration=100.0, t_end=1.2):  # fmt: skip
    turning = lambda t: array([0, 0, speed + acceleration * t, 0, 0, 0])
    skin = ellipsoid((*axes, 0.02))
    cam = prescribed_body("cam", twist=turning, position=(-offset, 0, 0), surface=skin)
    facing = pose([[0, 0, -1], [0, 1, 0], [1, 0, 0]], (axes[0] - offset, 0, 0))
    plate, slide = ball_inertia(mass, 0.01), joints.prismatic((1, 0, 0))
    chain = Chain("follower", (Link("plate", slide, plate, facing, surface=plane()),))
    follower = chain_graph(chain, ports=["plate"])
    spring = C("spring", stiffness=stiffness, initial=pull / stiffness)
    graph, body = Graph("cam follower"), follower.link("plate")
    touch = contact("touch", cam, body, constrained="v_z", law=Impact(0.0))
    attach_contact(graph.connect(follower.port("joints"), spring), touch, cam, body)
    return graph.simulate(t_end, samples=0.001, rtol=1e-9)
