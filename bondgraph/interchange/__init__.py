"""Models as JSON files: formulas are stored as steps, and reading a file executes nothing."""

from bondgraph.interchange.read import load_model, parse_model
from bondgraph.interchange.write import digest, dump_model, save_model

__all__ = ["digest", "dump_model", "load_model", "parse_model", "save_model"]
