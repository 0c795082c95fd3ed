"""Instants at which modes change: passages of transitions in, rows of a log and the events of a result out."""
