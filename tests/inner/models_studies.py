"""Internal names of `screwbond.models.studies` that tests use."""

# ruff: noqa: F401

from screwbond.models.studies.fields import REQUIRED, declarations, field_lines
from screwbond.models.studies.model_commands import PACKAGE, copy_scripts, example_files
from screwbond.models.studies.tasks import (
    SUMMARY,
    WRITERS,
    Command,
    Outcome,
    Picture,
    Task,
    draw_pictures,
    end_summary,
    parser_of,
    select_names,
    study_command,
)
