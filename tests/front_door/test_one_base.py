"""All errors that a user can fix share one base class, whichever package raises them."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest
from screwbond.models import collisions, rigid_body

from bondgraph import Graph, ScrewbondError, dump_model, parse_model
from bondgraph.stepping import stepper
from screws import GeometryError, sphere
from screws.shapes import Hull


def test_errors_of_geometry_have_the_base_of_all() -> None:
    with pytest.raises(ScrewbondError, match="G101") as caught:
        sphere(-1.0)
    assert isinstance(caught.value, ValueError)
    copied = copy.deepcopy(caught.value)  # as another process receives it
    assert type(copied) is GeometryError and str(copied) == str(caught.value)


def test_a_model_file_names_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The contact points of two hulls need an optional package."""
    wedge = Hull(np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]]))
    at = {"left": (0.0, 0.0, 0.0), "right": (0.02, 0.02, 0.0)}
    pair = [rigid_body(name, mass=1.0, inertia=(0.1,) * 3, position=place, shape=wedge) for name, place in at.items()]
    written = dump_model(collisions(Graph("pair"), pair))
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(ScrewbondError, match=r"G144(.|\n)*screwbond\[collision\]"):
        stepper(parse_model(written)).simulate(0.002, step=0.001, progress=False)
