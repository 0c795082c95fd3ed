"""Pictures of bond graphs: a graph, frozen or compiled, in; its diagram as SVG out."""
