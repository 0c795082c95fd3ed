"""Internal names of `bondgraph.render` that tests use."""

# ruff: noqa: F401

from bondgraph.render.diagram import SIGNS, Diagram, diagram, legend_lines
from bondgraph.render.glyphs import flow_side
from bondgraph.render.layout import board, drawn_lines, layout, routes, search
from bondgraph.render.layout.board import Board
from bondgraph.render.layout.cost import Prices, prices
from bondgraph.render.layout.grid import Nesting, nesting
from bondgraph.render.layout.layout import automatic_centres
from bondgraph.render.layout.spacing import frame
from bondgraph.render.palette import BLACK, COLOURED
from bondgraph.render.reproducible import Noise, dot, geometric, inverse, length, product
from bondgraph.render.sketch import MAX_NODES, Sketch, sketch, text_width
