"""What every study shares: declared parameters, their files and typed arguments in; checked records, files, lines and a status out.

A study gives `models.studies.tasks.Task` how its arguments become a record and how the record is run.
"""
