"""Mistakes, one on each line below: a type checker finds them all."""

from bondgraph import C, Graph, I, simulate

graph = Graph("g")
compiled = graph.compile()
compiled.simulate(1.0, rtoll=1e-6)
simulate(graph, 1.0, metod="rodas5p")
compiled.simulate("1 s")
C("spring", stifness=50.0)
C("spring", 50.0)
I("mass", mas=2.0)
graph.compile(backed="numpy")
compiled.linearise(inptus="u.value")
graph.diagram(titel="g")
