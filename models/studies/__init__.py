"""Shared parts of all studies: declared parameters, strict JSON, command-line arguments, output files and exit status.

A study is a `screwbond.models.studies.tasks.Task`: a function that reads its arguments into a record, and one that runs it.
"""
