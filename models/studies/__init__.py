"""What every study shares: declared parameters, JSON files and arguments in; checked records, files and an exit status out.

A study gives `screwbond.models.studies.tasks.Task` how its arguments become a record and how the record is run.
"""
