"""Reference results of a functional mock-up unit: the run of `simulate` as a file of its archive.

Source: Modelica Association, FMI Layered Standard References (FMI-LS-REF), 1.0.0-alpha.1.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from xml.etree import ElementTree as Xml

import numpy as np

from bondgraph.export.fmi.description import document, scalar_names
from bondgraph.export.fmi.variables import ModelVariable, VariableKind
from bondgraph.run.results.result import Result

POINTS = 100
"""Number of communication steps of the experiment."""
_MOMENT = 2.0**-46
"""Time after a communication point, as a fraction of the largest time, at which the ticks and events of the point have passed."""
_JUMP = 1e-9
"""Smallest change within `_MOMENT` that counts as a jump, as a fraction of the largest value."""
_FOLDER = "extra/org.fmi-standard.fmi-ls-ref"
_SPACE = "http://fmi-standard.org/fmi-ls-manifest"
_ABOUT = {
    "name": "org.fmi-standard.fmi-ls-ref",
    "version": "1.0.0-alpha.1",
    "description": "Layered Standard providing information on related files included in an FMU.",
}


def sample_times(start: float, span: float) -> np.ndarray:
    """Return the times (2 POINTS + 1,) at which a reference run is sampled, s: each communication point and, except for the
    last, a moment later."""
    points = np.append(start + span / POINTS * np.arange(POINTS), start + span)
    return np.sort(np.concatenate([points, points[:-1] + _MOMENT * np.max(np.abs(points))]))


def _values_at_points(samples: np.ndarray) -> np.ndarray:
    """Return the values (POINTS + 1, n) at the communication points, after the ticks and events there, as an FMU returns them."""
    before = samples[::2]
    after = np.vstack([samples[1::2], samples[-1:]])[: len(before)]
    return np.where(np.abs(after - before) > _JUMP * np.max(np.abs(samples), axis=0), after, before)


def reference_files(
    result: Result, times: np.ndarray, variables: Iterable[ModelVariable], identifier: str, version: int
) -> dict[str, bytes]:
    """Return a map from file name to content: a table (CSV) of the outputs, or of the states if there are no outputs, and the
    manifest. `times` are the `sample_times`; the run may have ended before the last.

    In version 3 the numbers of an array are in one cell, separated by spaces; in version 2 each number has a column.
    """
    every, sampled = list(variables), np.isin(result.t, times)
    shown = [each for each in every if each.causality == "output"] or [each for each in every if each.kind is VariableKind.STATE]
    head, columns = ["time"], [[repr(float(t)) for t in result.t[sampled][::2]]]
    for variable in shown:
        numbers = _values_at_points(result[variable.name].reshape(len(result.t), -1)[sampled])
        texts = [[repr(float(number)) for number in row] for row in numbers]
        if version == 2:
            head += scalar_names(variable)
            columns += [list(column) for column in zip(*texts, strict=True)]
        else:
            head.append(variable.name)
            columns.append([" ".join(row) for row in texts])
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(zip(*columns, strict=True))
    name = f"{identifier}_out.csv"
    root = Xml.Element(
        "fmiReferences", {"xmlns:fmi-ls": _SPACE, **{f"fmi-ls:fmi-ls-{key}": text for key, text in _ABOUT.items()}}
    )
    about = {"type": "text/csv", "source": name, "role": "result", "description": "Output of the default experiment"}
    Xml.SubElement(root, "Related", about)
    return {f"{_FOLDER}/{name}": table.getvalue().encode(), f"{_FOLDER}/fmi-ls-manifest.xml": document(root)}
