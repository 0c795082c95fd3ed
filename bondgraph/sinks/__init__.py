"""Sinks: write the samples of a run to a file, chunk by chunk during the run, and atomically.

`simulate(..., keep=["rotor.flow"], sink="run.parquet")` infers the format from the file extension; your own `Sink`, or any
function of times and values, is also accepted.
"""

from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.file_sinks import CsvSink, NpzSink, ParquetSink, ZarrSink, sink_for
from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["CsvSink", "KeptQuantity", "NpzSink", "ParquetSink", "Sink", "ZarrSink", "sink_for"]

check_calls(__name__)
answer_old_names(__name__)
