"""All errors of a scenario file are reported together, each with a path, a file and a line."""

import json
import math

import pytest

from bondgraph.errors import ModelError
from tests.inner.interchange import key_lines
from tests.inner.models_two_bodies import read_scenario

EGG = {"type": "egg", "f": 0.035, "S": 0.084, "zB": 0.0104}
GOOD = {
    "name": "two eggs",
    "t_end": 0.3,
    "sample_dt": 0.001,
    "body1": {"surface": EGG, "motion": "fixed", "p0": [0, 0, 0], "quat0_wxyz": [1, 0, 0, 0]},
    "body2": {
        "surface": EGG,
        "motion": "free",
        "mass": 0.06,
        "inertia": [1.5e-5, 1.5e-5, 1.25e-5],
        "p0": [0.07, 0.012, 0.006],
        "quat0_wxyz": [0.6, 0.0, 0.8, 0.0],
        "v0_com_world": [-0.45, -0.05, 0.02],
    },
    "contact": {"constrained": ["v_z"], "k_n": 5e4},
    "gravity": {"type": "uniform", "vector": [0, 0, -9.81]},
}
ABSENT = object()


def changed(**changes):
    """Return the valid scenario with other values, in which `body2__surface__f=ABSENT` removes a key."""
    document = json.loads(json.dumps(GOOD))
    for path, value in changes.items():
        *folders, key = path.split("__")
        inner = document
        for folder in folders:
            inner = inner[folder]
        if value is ABSENT:
            del inner[key]
        else:
            inner[key] = value
    return document


@pytest.fixture
def read(tmp_path):
    def reader(document):
        file = tmp_path / "case.json"
        file.write_text(document if isinstance(document, str) else json.dumps(document, indent=1))
        return read_scenario(file)

    return reader


def problems(read, document):
    with pytest.raises(ModelError) as caught:
        read(document)
    return caught.value.problems


def test_reads_everything(read):
    scenario = read(GOOD)
    assert (scenario.name, scenario.t_end, scenario.sample_dt, scenario.notes) == ("two eggs", 0.3, 0.001, ())
    assert scenario.body1.mass is None and scenario.body2.mass == 0.06
    assert scenario.body2.quat0_wxyz == (0.6, 0.0, 0.8, 0.0)
    assert scenario.body2.v0_com_world == (-0.45, -0.05, 0.02)
    assert scenario.body2.omega0_world == (0.0, 0.0, 0.0)
    assert scenario.body2.surface.parameters["S"] == 0.084
    assert scenario.contact.constrained == ("v_z",) and scenario.contact.k_n == 5e4 and scenario.contact.c_n == 0.0
    assert scenario.gravity.vector == (0.0, 0.0, -9.81)


@pytest.mark.parametrize(
    "surface",
    [{"type": "sphere", "radius": 0.02}, {"type": "ellipsoid", "semi_axes": [0.03, 0.02, 0.01]}, {"type": "plane"}, EGG],
)
@pytest.mark.parametrize("gravity", [{"type": "none"}, {"type": "central", "g0": 9.81}, GOOD["gravity"]])
def test_surfaces_and_gravities_combine(read, surface, gravity):
    scenario = read(changed(body1__surface=surface, gravity=gravity))
    assert scenario.body1.surface.name == surface["type"] == scenario.body1.surface_type
    assert scenario.gravity.type == gravity["type"]


@pytest.mark.parametrize(
    ("changes", "code", "path", "hint"),
    [
        ({"t_end": 0}, "E407", "t_end", "more than 0"),
        ({"t_end": ABSENT}, "E403", "t_end", "missing"),
        ({"sample_dt": 0.4}, "E407", "sample_dt", "longer than t_end, 0.3 s"),
        ({"sample_dt": -0.1}, "E407", "sample_dt", "more than 0"),
        ({"t_end": "2"}, "E405", "t_end", "text where a number"),
        ({"t_end": True}, "E405", "t_end", "true or false where"),
        ({"body2__mass": 0.0}, "E407", "body2.mass", "more than 0"),
        ({"body2__mass": 10**400}, "E406", "body2.mass", "finite"),
        ({"body2__mass": math.nan}, "E406", "body2.mass", "finite"),
        ({"body2__p0": [0, math.inf, 0]}, "E406", "body2.p0[1]", "finite"),
        ({"body2__p0": [0, 0]}, "E405", "body2.p0", "list of 3"),
        ({"body2__inertia": [1e-5, 1e-5, 3e-5]}, "E410", "body2.inertia", "triangle"),
        ({"body2__inertia": [1e-5, -1e-5, 1e-5]}, "E410", "body2.inertia", "positive definite"),
        ({"body2__quat0_wxyz": [1, 1, 0, 0]}, "E411", "body2.quat0_wxyz", "far from 1"),
        ({"body2__quat0_wxyz": [0, 0, 0, 0]}, "E411", "body2.quat0_wxyz", "far from 1"),
        ({"body2__motion": "fre"}, "E408", "body2.motion", 'did you mean "free"'),
        ({"body2__surface__type": "Egg"}, "E408", "body2.surface.type", 'did you mean "egg"'),
        ({"body2__surface__S": 0.07}, "E409", "body2.surface.S", "G1"),
        ({"body2__surface": []}, "E405", "body2.surface", "an object"),
        ({"body2__surface": {"type": "sphere", "radius": -1}}, "E407", "body2.surface.radius", "more than 0"),
        ({"body2__surface": {"type": "ellipsoid", "semi_axes": [1, 1, 0]}}, "E407", "body2.surface.semi_axes", "above 0"),
        ({"body2__surface": {"type": "sphere", "radius": 1, "S": 2}}, "E404", "body2.surface.S", "known here"),
        ({"contact__constrained": ["v_q"]}, "E408", "contact.constrained[0]", "v_q"),
        ({"contact__constrained": ["v_z", "v_z"]}, "E407", "contact.constrained[1]", "twice"),
        ({"contact__constrained": ["v_z", "omega_z"]}, "E403", "contact.k_w", "missing"),
        ({"contact__constrained": ["v_z", "v_x"]}, "E403", "contact.k_t", "missing"),
        ({"contact__k_n": 0}, "E407", "contact.k_n", "a positive number"),
        ({"contact__c_n": -1}, "E407", "contact.c_n", "0 or more"),
        ({"contact__transport": "Gauss"}, "E408", "contact.transport", 'did you mean "gauss"'),
        ({"contact__transport": 1}, "E405", "contact.transport", "a number where"),
        ({"contact__transprt": "gauss"}, "E404", "contact.transprt", 'did you mean "transport"'),
        ({"contact__kn": 3}, "E404", "contact.kn", 'did you mean "k_n"'),
        ({"gravity": {"type": "uniform"}}, "E403", "gravity.vector", "missing"),
        ({"body1__omega0_world": [0, 0, 1]}, "E412", "body1.omega0_world", "fixed"),
        ({"body1__motion": "prescribed"}, "E403", "body1.omega0_world", "missing"),
        ({"body2__motion": "fixed", "body2__v0_com_world": [0, 0, 0]}, "E412", "body2.motion", "no body is free"),
        ({"body1__surface": {"type": "plane"}, "body2__surface": {"type": "plane"}}, "E412", "body2.surface.type", "flat"),
        ({"gravity": {"type": "central", "g0": 1}, "body2__p0": [0, 0, 0]}, "E412", "body2.p0", "no direction"),
        ({"extra": 1}, "E404", "extra", "unknown key"),
    ],
)
def test_each_fault_is_named(read, changes, code, path, hint):
    found = problems(read, changed(**changes))
    assert [(p.code, p.title.partition(": ")[0]) for p in found] == [(code, path)]
    assert hint in str(found[0])
    assert "case.json" in str(found[0])


def test_all_faults_at_once_with_their_lines(read):
    document = changed(t_end=-1, body2__mass="heavy", contact__k_n=ABSENT, gravity=ABSENT)
    found = problems(read, document)
    assert sorted(p.title.partition(": ")[0] for p in found) == ["body2.mass", "contact.k_n", "gravity", "t_end"]
    lines = json.dumps(document, indent=1).splitlines()
    place = next(p for p in found if p.title.startswith("body2.mass")).places[0]
    assert '"heavy"' in lines[place.line - 1]


def test_misspelt_key_names_the_missing_one(read):
    document = changed(body2__mass=ABSENT)
    document["body2"]["masss"] = 0.06
    found = {p.code: p for p in problems(read, document)}
    assert set(found) == {"E403", "E404"}
    assert 'did you mean "mass"' in str(found["E404"])


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"t_end": 1,}', "[" * 100000, "import os", '{"t_end": ' + "9" * 5000 + "}"])
def test_files_without_a_json_object_are_refused(read, text):
    assert [p.code for p in problems(read, text)] == ["E402"]


def test_repeated_key(read):
    text = json.dumps(GOOD).replace('"t_end": 0.3', '"t_end": 0.3, "t_end": 0.4')
    assert [p.code for p in problems(read, text)] == ["E404"]


def test_repeated_key_is_named_where_it_is(read):
    text = json.dumps(GOOD | {"body2": "BODY"}).replace('"BODY"', json.dumps(GOOD["body2"])[:-1] + ', "p0": [0, 0, 1]}')
    assert [p.title.partition(": ")[0] for p in problems(read, text)] == ["body2.p0"]


def test_no_file_no_text(tmp_path):
    (tmp_path / "latin.json").write_bytes(b'{"name": "\xe9"}')
    for name in ("absent.json", "latin.json", "."):
        with pytest.raises(ModelError, match="E401"):
            read_scenario(tmp_path / name)


def test_near_unit_quaternion_is_normalised_with_a_note(read):
    scenario = read(changed(body2__quat0_wxyz=[0.6003, 0.0, 0.8, 0.0]))
    assert math.hypot(*scenario.body2.quat0_wxyz) == pytest.approx(1.0, abs=1e-14)
    assert len(scenario.notes) == 1 and "body2.quat0_wxyz" in scenario.notes[0]


def test_comments_pass_anywhere(read):
    document = changed(_mine=[1], comment="x", conventions={"a": None}, body2__R0=3, contact__mode="sliding")
    document["gravity"]["note"] = document["body1"]["contact_seed"] = document["body1"]["surface"] = EGG | {"_why": 1}
    assert read(document).contact.label == "sliding"


def test_without_v_z_there_is_a_note(read):
    notes = read(changed(contact__constrained=[])).notes
    assert len(notes) == 1 and "pass through" in notes[0]


def test_turntable_needs_its_rate_only(read):
    table = {"surface": {"type": "plane"}, "motion": "prescribed", "omega0_world": [0, 0, 2]}
    scenario = read(changed(body1={**table, "p0": [0, 0, 0], "quat0_wxyz": [1, 0, 0, 0]}))
    assert scenario.body1.omega0_world == (0.0, 0.0, 2.0)


def test_key_lines_of_strings_with_brackets():
    text = '{\n"a{": "]}\\"",\n"b": [1, {"c":\n 2}], "d": {}, "e": []}'
    lines, repeated = key_lines(text)
    assert lines["b[1].c"] == 3 and lines["e"] == 4 and not repeated
