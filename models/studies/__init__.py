"""What every study has: parameters declared once, JSON read strictly, runs summed up, files written, commands told and run.

A study gives `models.studies.tasks.Task` how its arguments become a record and how the record is run; out come its files, its
lines on the screen, its `--help` and its exit status.
"""
