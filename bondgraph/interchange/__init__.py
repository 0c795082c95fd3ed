"""Models as files: whole models as JSON with formulas as steps, and short hand-written files. Reading a file executes no code."""

from bondgraph.interchange.read import load_model, parse_model
from bondgraph.interchange.short.graphs import parse_graph, read_graph
from bondgraph.interchange.short.schema import short_schema
from bondgraph.interchange.write import digest, dump_model, save_model
from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["digest", "dump_model", "load_model", "parse_graph", "parse_model", "read_graph", "save_model", "short_schema"]

check_calls(__name__)
answer_old_names(__name__)
