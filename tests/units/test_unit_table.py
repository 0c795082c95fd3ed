"""Units as engineers write them agree with SI definitions and with pint."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from bondgraph import ModelError, Parameter
from bondgraph.units import SYMBOLS, Conversion, Mismatch, Unit, Unreadable, conversion, entry_units, in_si, read, unknown_unit
from tests.inner.model import in_unit
from tests.inner.units import symbols

PI = math.pi
QUANTITIES = [
    (20.0, "mF", "F", 0.02), (4.7, "uF", "F", 4.7e-6), (4.7, "µF", "F", 4.7e-6), (4.7, "μF", "F", 4.7e-6),
    (100.0, "pF", "F", 1e-10), (3.3, "mH", "H", 3.3e-3), (10.0, "uH", "H", 1e-5), (2.2, "kOhm", "Ohm", 2200.0),
    (2.2, "kΩ", "Ohm", 2200.0), (8.0, "ohm", "V/A", 8.0), (5.0, "mS", "A/V", 5e-3), (230.0, "mV", "V", 0.23),
    (2.5, "A h", "C", 9000.0), (2.5, "mAh", "C", 9.0), (7.0, "mWb", "Wb", 7e-3), (3.0, "kN/mm", "N/m", 3e6),
    (1.0, "N/mm", "N/m", 1000.0), (2.0, "lbf/in", "N/m", 2 * 4.4482216152605 / 0.0254), (500.0, "g", "kg", 0.5),
    (2.0, "lb", "kg", 0.90718474), (3.0, "t", "kg", 3000.0), (12.0, "inch", "m", 0.3048), (6.0, "ft", "m", 1.8288),
    (3.0, "in", "m", 0.0762), (250.0, "um", "m", 2.5e-4), (10.0, "lbf", "N", 44.482216152605), (2.0, "kgf", "N", 19.6133),
    (60.0, "mph", "m/s", 26.8224), (36.0, "km/h", "m/s", 10.0), (1.5, "N s/mm", "N s/m", 1500.0),
    (5.0, "mm/s^2", "m/s^2", 5e-3), (1.0, "lbf-ft", "N m", 4.4482216152605 * 0.3048), (4.0, "Nmm", "N m", 4e-3),
    (7.0, "kNm", "N m", 7000.0), (7.0, "N.m", "N m", 7.0), (1.0, "N*m/rad", "N m/rad", 1.0),
    (2.0, "N m/deg", "N m/rad", 360.0 / PI), (3.0, "kg cm^2", "kg m^2", 3e-4), (3.0, "g cm2", "kg m^2", 3e-7),
    (3.0, "kg·m²", "kg m^2", 3.0), (1500.0, "rpm", "rad/s", 50 * PI), (90.0, "deg", "rad", PI / 2), (45.0, "°", "rad", PI / 4),
    (30.0, "deg/s", "rad/s", PI / 6), (2.0, "rev/s", "rad/s", 4 * PI), (1.0, "turn", "rad", 2 * PI),
    (2.0, "mN m s/rad", "N m s/rad", 2e-3), (5.0, "mm/rev", "m/rad", 5e-3 / (2 * PI)), (6.0, "bar", "Pa", 6e5),
    (15.0, "mbar", "Pa", 1500.0), (3.0, "psi", "Pa", 3 * 4.4482216152605 / 0.0254**2), (30.0, "l/min", "m^3/s", 5e-4),
    (30.0, "L/min", "m^3/s", 5e-4), (2.0, "cm^3", "m^3", 2e-6), (2.0, "l/bar", "m^3/Pa", 2e-8),
    (1.0, "bar min/l", "Pa s/m^3", 6e9), (1.0, "kWh", "J", 3.6e6), (2.0, "kW h", "J", 7.2e6),
    (1.0, "hp", "W", 745.69987158227022), (10.0, "kcal", "J", 41840.0), (20.0, "degC", "K", 293.15),
    (68.0, "degF", "K", 293.15), (2.0, "W/°C", "W/K", 2.0), (4.0, "kJ/degC", "J/K", 4000.0), (5.0, "K/kW", "K/W", 5e-3),
    (3.0, "mmol/min", "mol/s", 5e-5), (40.0, "%", "1", 0.4), (250.0, "ms", "s", 0.25), (2.0, "min", "s", 120.0),
    (1.5, "h", "s", 5400.0), (50.0, "Hz", "1/s", 50.0), (4.0, "s-1", "1/s", 4.0), (8.0, "kJ/mol", "J/mol", 8000.0),
    (2.0, "kNs/m", "N s/m", 2000.0), (2.0, "mNms/rad", "N m s/rad", 2e-3), (3.0, "mPas", "Pa s", 3e-3),
    (6.0, "rad/min", "rad/s", 0.1), (30.0, "1/min", "1/s", 0.5), (3.0, "m N/A", "N m/A", 3.0),
    (12.0, "V/krpm", "V s/rad", 0.36 / PI),
]  # fmt: skip
"""Rows of a number, its unit, the expected unit, and the number in the expected unit."""


@pytest.mark.parametrize(("number", "unit", "expected", "in_expected"), QUANTITIES)
def test_quantities_as_engineers_write_them(number: float, unit: str, expected: str, in_expected: float) -> None:
    found = in_unit("q", "value", Parameter(number, unit), expected)
    assert abs(found - in_expected) <= 1e-15 * abs(in_expected)
    back = conversion(expected, unit)
    if read(unit).zero == 0:
        assert abs((in_expected if back is None else back(in_expected)) - number) <= 1e-15 * abs(number)


def test_there_are_sixty() -> None:
    assert len(QUANTITIES) >= 60


def test_a_factor_of_one_leaves_the_number_alone() -> None:
    value = np.array([0.1, 0.2])
    for unit, expected in (
        ("kg m^2", "N m s^2/rad"),
        ("N*m", "J"),
        ("C/V", "F"),
        ("N m s", "N m s/rad"),
        ("m", "m/rad"),
        ("K", "K"),
    ):
        assert conversion(unit, expected) is None
        np.testing.assert_array_equal(in_unit("q", "value", Parameter(value, unit), expected), value, strict=True)


def test_rational_factors_round_once_where_floats_hold_them() -> None:
    for unit, expected in (("mF", "F"), ("l/min", "m^3/s"), ("g cm^2", "kg m^2"), ("kWh", "J"), ("N/mm", "N/m"), ("in", "m")):
        factor, target = read(unit), read(expected)
        assert isinstance(factor, Unit) and isinstance(target, Unit)
        for number in (0.1, 1 / 3, 20.0, 7.3e-5):
            exact = Fraction(number) * factor.ratio / target.ratio
            found = conversion(unit, expected)(number)
            assert abs(Fraction(found) - exact) <= abs(exact) * Fraction(1, 2**52)
            if 1 in (exact / Fraction(number)).as_integer_ratio():
                assert found == float(exact)


@pytest.mark.parametrize("one", ["kN/mm", "mbar", "lbf ft", "W/(m^2 K)", "mm^2/s", "deg/s^2", "kg^(1/2)/m"])
@pytest.mark.parametrize("other", ["N/m", "psi", "N m", "rpm", "1"])
def test_conversions_compose(one: str, other: str) -> None:
    a, b, product, quotient = read(one), read(other), read(f"({one}) ({other})"), read(f"({one})/({other})")
    assert all(isinstance(unit, Unit) for unit in (a, b, product, quotient))
    assert product.ratio == a.ratio * b.ratio and quotient.ratio == a.ratio / b.ratio  # type: ignore[union-attr]
    assert product.turns == a.turns + b.turns and quotient.turns == a.turns - b.turns  # type: ignore[union-attr]
    assert dict(read(f"({one})^2").dimension) == {base: 2 * power for base, power in a.dimension}  # type: ignore[union-attr]


def test_prefixes_and_whole_symbols() -> None:
    """A whole symbol takes precedence over a prefix, so min is a minute, not a milli-inch."""
    assert read("min").ratio == 60 and read("cd").ratio == 1 and read("ft").ratio == Fraction(3048, 10000)  # type: ignore[union-attr]
    assert read("dag").ratio == Fraction(1, 100) and read("mm2").ratio == Fraction(1, 10**6)  # type: ignore[union-attr]
    assert all(symbol.ratio > 0 for symbol in SYMBOLS.values())


WRONG = [
    ("mF", "H"), ("mH", "F"), ("V", "kg"), ("kg", "N s/m"), ("N", "kg"), ("lbf", "kg"), ("kg", "N"), ("N/m", "N s/m"),
    ("N m", "N"), ("N", "N m"), ("Nm", "N/m"), ("N/mm", "N m/rad"), ("kg", "kg m^2"), ("kg m", "kg m^2"), ("1", "m/rad"),
    ("rad", "m"), ("m", "rad"), ("deg", "m/s"), ("rpm", "m/s"), ("km/h", "rad/s"), ("Hz", "rad/s"), ("kHz", "rad/s"),
    ("bar", "N"), ("l/min", "m/s"), ("l", "m^3/s"), ("m^2/s", "m^3/s"), ("bar", "Pa s/m^3"), ("W", "J"), ("kWh", "W"),
    ("A", "C"), ("Ah", "A"), ("Ohm", "S"), ("mA/V", "Ohm"), ("V s", "V"), ("degC", "W/K"), ("K/W", "W/K"), ("J", "J/K"),
    ("W/K", "K^2/W"), ("mol", "mol/s"), ("J", "J/mol"), ("s", "1/s"), ("min", "m"), ("%", "s"), ("cd", "1"), ("px", "m"),
    ("1/min", "rad/s"), ("min-1", "rad/s"), ("V min", "V s/rad"), ("N m min", "N m s/rad"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), WRONG)
def test_another_dimension_is_refused_with_the_expected_unit(given: str, expected: str) -> None:
    assert isinstance(conversion(given, expected), Mismatch)
    with pytest.raises(ModelError, match="E175") as error:
        in_unit("part", "value", Parameter(1.0, given), expected)
    text = str(error.value)
    assert f"given: {given}; expected: {expected}" in text and "created at test_unit_table.py" in text
    advice = text.rpartition("try: ")[2].split(", ")
    assert advice[0] == expected
    for unit in advice:  # the advice works
        in_unit("part", "value", Parameter(1.0, unit), expected)


def test_there_are_forty() -> None:
    assert len(WRONG) >= 40


@pytest.mark.parametrize(
    ("unit", "fault"),
    [
        ("kgg", "similar names: kg"),
        ("J/mol K", "ambiguous"),
        ("N/m*s", "ambiguous"),
        ("m//s", "is missing"),
        ("(m/s", "parentheses"),
        ("2 m", "no unit '2'"),
        ("10^3 N", "no unit"),
        ("m^x", "no unit 'm^x'"),
        ("g0", "power of zero"),
    ],
)
def test_strings_that_are_not_units(unit: str, fault: str) -> None:
    found = unknown_unit(unit)
    assert found is not None and fault in found.why
    with pytest.raises(ModelError, match="E156"):
        in_unit("part", "value", Parameter(1.0, unit), "m")


@pytest.mark.parametrize(
    ("unit", "meant"), [("kgm^2", "kg m^2"), ("gcm2", "g cm2"), ("J/kgK", "J/(kg K)"), ("ozin/A", "oz in/A")]
)
def test_symbols_without_a_space_between_them_are_parted(unit: str, meant: str) -> None:
    found = read(unit)
    assert isinstance(found, Unreadable) and found.cures[0] == f'"{meant}"'
    assert isinstance(read(meant), Unit)


def test_the_two_readings_of_an_ambiguous_text_are_offered() -> None:
    found = read("J/mol K")
    assert isinstance(found, Unreadable) and found.cures == ('"J/(mol K)"', '"J K/mol"')
    assert all(isinstance(read(text.strip('"')), Unit) for text in found.cures)


def test_units_of_components() -> None:
    of_wrench = conversion("kN m, N", "N m, N", (6,))
    assert isinstance(of_wrench, Conversion)
    assert np.array_equal(of_wrench(np.ones(6)), [1000.0, 1000.0, 1000.0, 1.0, 1.0, 1.0])
    of_pose = conversion("1, mm", "", (7,))
    assert np.array_equal(of_pose(np.array([1.0, 0.0, 0.0, 0.0, 5.0, 6.0, 7.0])), [1.0, 0.0, 0.0, 0.0, 5e-3, 6e-3, 7e-3])
    H = np.array([[1.0, 0.0, 0.0, 4.0], [0.0, 0.0, -1.0, 5.0], [0.0, 1.0, 0.0, 6.0], [0.0, 0.0, 0.0, 1.0]])
    in_metres = H.copy()
    in_metres[:3, 3] = [4e-3, 5e-3, 6e-3]
    assert np.allclose(conversion("1, mm", "1, m", (4, 4))(H), in_metres, rtol=1e-15, atol=0.0)
    rows = conversion("N m/deg, N; N/deg, N/mm", "N m/rad, N; N/rad, N/m", (6, 6))(np.ones((6, 6)))
    assert rows[0, 0] == rows[3, 0] == 180 / PI and rows[0, 3] == 1.0 and rows[5, 5] == 1000.0
    assert isinstance(conversion("mN", "N m, N", (6,)), Mismatch) and isinstance(conversion("kg", "N m, N", (6,)), Mismatch)
    assert conversion("m, m/s ...", "", (3, 4)) is None


@pytest.mark.parametrize(
    ("unit", "shape", "entries"),
    [
        ("kg", (2, 2), ["kg"] * 4),
        ("N m, N", (6,), ["N m"] * 3 + ["N"] * 3),
        ("1, m", (7,), ["1"] * 4 + ["m"] * 3),
        ("rad, m", (7,), None),
        ("1, m", (4, 4), ["1", "1", "1", "m"] * 3 + [""] * 4),
        ("rad, m", (2, 4), ["rad", "rad", "m", "m"] * 2),
        ("rad, m", (4, 4), ["rad", "rad", "m", "m"] * 4),
        ("rad; m", (4, 1), ["rad", "rad", "m", "m"]),
        ("V, A", (3,), None),
        ("V; A", (3, 1), None),
        ("V, A; V", (2, 2), None),
        ("V, A", (), None),
    ],
)
def test_units_of_entries(unit: str, shape: tuple[int, ...], entries: list[str] | None) -> None:
    found = entry_units(unit, shape)
    assert (None if found is None else [*found.flat]) == entries


def test_offsets_apply_to_temperatures_but_not_to_differences() -> None:
    assert conversion("degC", "K")(0.0) == 273.15 and conversion("W/degC", "W/K") is None
    assert isinstance(conversion("degC", ""), Mismatch) and conversion("K", "") is None


def test_units_of_own_domains_stay() -> None:
    bases = frozenset({"EUR", "d", "kg"})
    assert conversion("EUR d/kg^2", "", (), bases) is None and unknown_unit("EUR/kg", bases) is None
    assert isinstance(conversion("EUR", "kg", (), bases), Mismatch) and unknown_unit("EUR/kg") is not None


def test_the_unit_in_si() -> None:
    assert [in_si(unit) for unit in ("kN/mm", "rpm", "deg", "l/min", "kWh", "g cm^2", "kgg")] == [
        *("N/m", "rad/s", "rad", "m^3/s", "N m", "kg m^2", "")
    ]


def test_pint_agrees_with_the_table_and_adds_to_it() -> None:
    pint = pytest.importorskip("pint")
    registry = pint.UnitRegistry()
    for name in ("lbf", "psi", "bar", "rpm", "inch", "kWh", "hp", "mmHg", "slug", "gallon", "furlong", "mile"):
        text = {"hp": "horsepower", "kWh": "kilowatt_hour"}.get(name, name)
        unit, quantity = read(name), registry.Quantity(1, text).to_base_units()
        assert isinstance(unit, Unit)
        assert float(unit.ratio) * PI ** float(unit.turns) == pytest.approx(quantity.magnitude, rel=1e-9)


def test_symbols_of_pint(monkeypatch: pytest.MonkeyPatch) -> None:
    class Quantity:
        def __init__(self, number: int, name: str):
            if name != "furlong":
                raise KeyError(name)

        def to_base_units(self) -> SimpleNamespace:
            return SimpleNamespace(magnitude=201.168, units=SimpleNamespace(_units={"meter": 1}))

    monkeypatch.setattr(symbols.importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(symbols, "_registry", lambda: SimpleNamespace(Quantity=Quantity))
    symbols._from_pint.cache_clear()
    found = symbols.symbol("furlong")
    assert found is not None and found.ratio == Fraction("201.168") and found.dimension == (("m", Fraction(1)),)
    assert symbols.symbol("furlongs_per") is None
    symbols._from_pint.cache_clear()
