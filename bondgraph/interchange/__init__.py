"""Models as data: a model in; a text that holds it, formulas as steps, out; and back, with nothing executed on reading."""

from bondgraph.interchange.read import load_model, parse_model
from bondgraph.interchange.write import digest, dump_model, save_model

__all__ = ["digest", "dump_model", "load_model", "parse_model", "save_model"]
