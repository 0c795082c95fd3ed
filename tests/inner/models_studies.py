"""Inner names of `screwbond.models.studies` that tests look into."""

# ruff: noqa: F401

from screwbond.models.studies.artefacts import Picture, draw_pictures, plot, select_names
from screwbond.models.studies.commands import Command, add_solver, parser_of, study_command
from screwbond.models.studies.documents import key_lines
from screwbond.models.studies.fields import REQUIRED, check_record, declarations, field_lines, number, vector, word
from screwbond.models.studies.files import WRITERS, Table, graph_files
from screwbond.models.studies.model_commands import PACKAGE, copy_scripts, example_files
from screwbond.models.studies.reading import read_file
from screwbond.models.studies.runs import cost_summary, end_summary, sample_times, wall_times
from screwbond.models.studies.tasks import SUMMARY, Outcome, Task
