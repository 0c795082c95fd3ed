"""A cylinder under PI control raises an excavator's boom, to which a load is added later."""

from screwbond import Chain, Graph, Link, R, Se, attach_between, attach_force, chain_graph
from screwbond import cylinder_inertia, force, ground, line_force, signals
from screws import joints


def simulate(mass=900.0, reach=6.0, pin=(2.0, 0, 0.4), foot=(0.6, 0, -0.5), goal=0.5, kp=2e5,
             ki=2e5, seal=3e4, load=3e3, after=2.0, t_end=30.0):  # fmt: skip
    tip = (reach, 0, 0)
    beam = Link("beam", joints.revolute((0, -1, 0)), cylinder_inertia(mass, 0.3, (0, 0, 0), tip))
    boom = chain_graph(Chain("boom", (beam,)), ports=["beam"], gravity=(0, 0, -9.81))
    graph, cylinder = Graph("excavator boom"), line_force("cylinder", foot, pin)
    attach_between(graph, cylinder, ground("frame"), boom.link("beam"))
    graph.add(signals.step("goal", 0.0, after=goal), signals.step("weight", after, after=load))
    graph.add(signals.summation("error", {"goal.y": 1, "boom.q": -1}))
    graph.add(signals.pid("control", "error.y", kp, ki))
    oil = Se("oil", lambda u: u, signals=["control.y"])
    graph.connect(oil, cylinder.port("line")).connect(cylinder.port("line"), R("seal", seal))
    hook = force("hook", lambda weight: (0, 0, -weight), at=tip, signals=["weight.y"])
    attach_force(graph, hook, boom.link("beam"))
    return graph.simulate(t_end, samples=301, rtol=1e-9)
