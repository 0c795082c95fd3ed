"""Shared parts of all studies: declared parameters, strict JSON, command-line arguments, output files and exit status.

A study is a `screwbond.models.studies.tasks.Task`: one function reads the arguments into a record, another carries out the study.
"""
