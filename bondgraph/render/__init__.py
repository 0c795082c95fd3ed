"""Pictures of bond graphs: the diagram of a graph, frozen or compiled, as SVG."""
