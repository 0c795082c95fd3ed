"""The geometry of surfaces agrees with closed forms, also after a change of chart."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from screws import scalars, surfaces
from screws.errors import GeometryError
from screws.surfaces import nearest_coordinates
from tests.inner.screws import ClosedFormula, Revolution, oval_radius

F, S, ZB = 0.035, 0.084, 0.010425531914893621
EGG = surfaces.egg(F, S, ZB)


def formula_of_egg(n, f, s, z):
    r = oval_radius(n[2], f, s)
    return (r * n[0], r * n[1], r * n[2] + z)


def formula_of_pear(n, a):
    r = a * (1.0 + 0.2 * n[2])
    return (r * n[0], r * n[1], a * (n[2] + 0.3 * n[2] * n[2]))


def tilted(n, k):
    return (0.03 * n[0] + k * n[2], 0.02 * n[1] - 0.5 * k * n[0], 0.025 * n[2])


TILTED = surfaces.closed_surface(tilted, {"k": 0.008}, "tilted pebble")
PEAR = surfaces.revolution(lambda w, a: a * (1.0 + 0.2 * w), lambda w, a: a * (w + 0.3 * w * w), {"a": 0.03}, "pear")
CLOSED = [surfaces.sphere(0.02), surfaces.ellipsoid((0.03, 0.02, 0.025)), EGG, TILTED, PEAR]
SADDLE = surfaces.parametric(
    lambda u, v: (u + 0.3 * v, v, 0.4 * u * v - 0.2 * u * u), (-1.0, 1.0), (-1.0, 1.0), inside=(0.0, 0.0, -1.0)
)
SINGLE = [surfaces.plane(), surfaces.cylinder(0.02), surfaces.torus(0.05, 0.02), SADDLE]


def by_differences(surface, q, chart, h=1e-3):
    """Return M, K, T from the definition, with frames differenced in R^3 (error h^4)."""

    def derivative(function, at):
        columns = []
        for k in range(2):
            step = h * np.eye(2)[k]
            ends = [function(at + s * step) for s in (-2.0, -1.0, 1.0, 2.0)]
            columns.append((ends[0] - 8.0 * ends[1] + 8.0 * ends[2] - ends[3]) / (12.0 * h))
        return np.stack(columns, axis=-1)

    def point(at):
        return surface.point(at, chart)

    def axes(at):
        c = derivative(point, at)
        x = c[:, 0] / np.linalg.norm(c[:, 0])
        z = np.cross(c[:, 0], c[:, 1])
        z = z / np.linalg.norm(z)
        return np.stack([x, np.cross(z, x), z], axis=-1)

    now, rates = axes(q), derivative(axes, q)
    M = now[:, :2].T @ derivative(point, q)
    K = now[:, :2].T @ rates[:, 2, :] @ np.linalg.inv(M)
    T = now[:, 1] @ rates[:, 0, :] @ np.linalg.inv(M)
    return now, M, K, T


@pytest.mark.parametrize("surface", CLOSED + SINGLE, ids=lambda s: s.name)
def test_geometry_follows_its_definition(surface):
    rng = np.random.default_rng(5)
    for chart in (0.0, 1.0)[: surface.charts]:
        for _ in range(4):
            q = np.array([rng.uniform(0.4, 2.7), rng.uniform(-3.0, 3.0)]) if surface.closed else rng.uniform(-0.9, 0.9, 2)
            g = surface.geometry(q, chart)
            axes, M, K, T = by_differences(surface, q, chart)
            scale = 1.0 / surface.size
            assert np.allclose(g.H[:3, :3], axes, atol=1e-8)
            assert np.allclose(g.H[:3, 3], surface.point(q, chart), atol=1e-15) and np.array_equal(g.H[3], [0, 0, 0, 1])
            assert np.allclose(g.M, M, atol=1e-8 * surface.size)
            assert np.allclose(g.K, K, atol=3e-7 * scale) and np.allclose(g.K, g.K.T, atol=1e-12 * scale)
            assert np.allclose(g.T, T, atol=3e-7 * scale)


def test_egg_against_the_closed_form():
    for u in (0.35, 1.2, 1.9, 2.8):
        b = 2.0 * S + F * np.cos(u)
        D = np.sqrt(b * b - 3.0 * (S * S - F * F))
        rho = (b - D) / 3.0
        b1, b2 = -F * np.sin(u), -F * np.cos(u)
        D1 = b * b1 / D
        D2 = (b1 * b1 + b * b2 - D1 * D1) / D
        r1, r2 = (b1 - D1) / 3.0, (b2 - D2) / 3.0
        h, r = np.hypot(rho, r1), rho * np.sin(u)
        dr, dz = r1 * np.sin(u) + rho * np.cos(u), r1 * np.cos(u) - rho * np.sin(u)
        g = EGG.geometry((u, 0.7))
        assert np.allclose(g.M, np.diag([h, r]), rtol=1e-13, atol=1e-16)
        assert np.allclose(g.K, np.diag([(rho**2 + 2 * r1**2 - rho * r2) / h**3, -dz / (h * r)]), rtol=1e-12, atol=1e-11)
        assert np.allclose(g.T, [0.0, dr / (h * r)], rtol=1e-12, atol=1e-12)


def test_measures_of_the_egg():
    assert np.isclose(EGG.point((0.0, 0.0))[2] - EGG.point((np.pi, 0.0))[2], 0.056, rtol=1e-14)
    assert np.isclose(2.0 * max(EGG.point((u, 0.0))[0] for u in np.linspace(1.2, 2.6, 2001)), 0.04592, atol=1e-5)
    blunt, pointed = EGG.geometry((np.pi / 2, np.pi / 2), 1.0), EGG.geometry((np.pi / 2, -np.pi / 2), 1.0)
    assert np.allclose(blunt.K, 47.31 * np.eye(2), atol=0.01) and np.allclose(pointed.K, 88.24 * np.eye(2), atol=0.01)


def test_sphere_and_torus_against_the_closed_form():
    g = surfaces.sphere(2.0).geometry((0.7, 0.3))
    assert np.allclose(g.K, np.eye(2) / 2.0) and np.allclose(g.T, [0.0, 1.0 / (2.0 * np.tan(0.7))])
    g = surfaces.torus(3.0, 1.0).geometry((-0.7, 0.3))
    rim = 3.0 + np.sin(-0.7)
    assert np.allclose(g.M, np.diag([1.0, rim])) and np.allclose(g.K, np.diag([1.0, np.sin(-0.7) / rim]))
    assert np.allclose(g.T, [0.0, np.cos(0.7) / rim])


@pytest.mark.parametrize("chart", [0.0, 1.0])
def test_catalogue_equals_jets(chart):
    shaped = [
        (EGG, ClosedFormula(formula_of_egg)),
        (EGG, Revolution(lambda w, f, s, z: oval_radius(w, f, s), lambda w, f, s, z: w * oval_radius(w, f, s) + z)),
        (CLOSED[0], ClosedFormula(lambda n, a: (a * n[0], a * n[1], a * n[2]))),
        (CLOSED[1], ClosedFormula(lambda n, a, b, c: (a * n[0], b * n[1], c * n[2]))),
        (PEAR, ClosedFormula(formula_of_pear)),
    ]
    for surface, shape in shaped:
        for q in ((0.5, 0.2), (1.4, -2.0), (2.5, 3.0)):
            a, b = surface.geometry(q, chart), shape.geometry(q, chart, surface.values())
            for name in "HMKT":
                x, y = getattr(a, name), getattr(b, name)
                assert np.allclose(x, y, rtol=0, atol=2e-14 * np.max(np.abs(y))), (surface.name, name)


def test_torus_as_a_parametric_formula():
    def formula(u, v, R, r):
        rim = R + r * scalars.sin(u)
        return (rim * scalars.cos(v), rim * scalars.sin(v), r * scalars.cos(u))

    span = (-np.pi, np.pi)
    own = surfaces.parametric(formula, span, span, {"R": 0.05, "r": 0.02}, periodic=(True, True))
    for q in ((0.3, 0.4), (-1.0, 2.0)):
        a, b = own.geometry(q), surfaces.torus(0.05, 0.02).geometry(q)
        assert all(np.allclose(getattr(a, n), getattr(b, n), rtol=1e-13, atol=1e-14) for n in "HMKT")


@pytest.mark.parametrize("surface", CLOSED, ids=lambda s: s.name)
def test_change_of_chart_is_invisible(surface):
    rng = np.random.default_rng(6)
    for chart in (0.0, 1.0):
        for _ in range(5):
            q = np.array([rng.uniform(0.3, 2.8), rng.uniform(-3.0, 3.0)])
            old = surface.geometry(q, chart)
            new_q, turn = surface.change_chart(q, chart)
            new = surface.geometry(new_q, 1.0 - chart)
            c, s = np.cos(turn), np.sin(turn)
            swing = np.array([[c, -s], [s, c]])
            assert np.allclose(new.H[:3, 3], old.H[:3, 3], atol=1e-15)
            assert np.allclose(new.H[:3, 2], old.H[:3, 2], atol=1e-13)
            assert np.allclose(new.H[:3, :2], old.H[:3, :2] @ swing, atol=1e-13)
            assert np.allclose(new.K, swing.T @ old.K @ swing, atol=1e-11)
            assert np.allclose(surface.polar(new_q, 1.0 - chart), surface.polar(q, chart), atol=1e-13)


def test_charts_hide_each_others_poles():
    for chart in (0.0, 1.0):
        for v in np.linspace(-3, 3, 25):
            for u in (np.arcsin(0.3), np.pi - np.arcsin(0.3)):
                assert abs(EGG.chart_margin((u, v), chart)) < 1e-14
                q, _ = EGG.change_chart((u, v), chart)
                assert EGG.chart_margin(q, 1.0 - chart) > 0.6
    assert surfaces.plane().chart_margin((3.0, 0.0)) == 1.0 and surfaces.plane().charts == 1
    with pytest.raises(GeometryError, match="G108"):
        surfaces.plane().change_chart((0.0, 0.0), 0.0)


@pytest.mark.parametrize("surface", CLOSED + SINGLE, ids=lambda s: s.name)
def test_coordinates_of_a_point(surface):
    rng = np.random.default_rng(8)
    for _ in range(6):
        q = np.array([rng.uniform(0.01, 3.1), rng.uniform(-3.0, 3.0)]) if surface.closed else rng.uniform(-0.9, 0.9, 2)
        g = surface.geometry(q)
        back, chart = nearest_coordinates(surface, g.H[:3, 3])
        assert np.allclose(surface.point(back, chart), g.H[:3, 3], rtol=0, atol=1e-14 * surface.size)
        assert surface.chart_margin(back, chart) > 0.25
        back, chart = nearest_coordinates(surface, g.H[:3, 3] + 0.05 * surface.size * g.H[:3, 2])
        assert np.allclose(surface.point(back, chart), g.H[:3, 3], rtol=0, atol=1e-12 * surface.size)


def test_run_time_parameters_and_records():
    q = (1.0, 0.4)
    other = surfaces.egg(0.03, 0.09, 0.0)
    assert np.array_equal(EGG.geometry(q, 1.0, other.values()).K, other.geometry(q, 1.0).K)
    assert EGG.parameters == {"f": F, "S": S, "zB": ZB} and EGG.shape == other.shape
    assert surfaces.egg(F, S, ZB) == EGG and hash(EGG) == hash(surfaces.egg(F, S, ZB)) and other != EGG
    assert EGG.grid(5, 7).shape == (5, 7, 3) and np.all(np.isfinite(surfaces.plane(0.2).grid(3, 3)))


def test_sympy_expressions_walked_and_passed_through():
    u, v, a = sympy.symbols("u v a")
    expressions = (a * sympy.sin(u) * sympy.cos(v), a * sympy.sin(u) * sympy.sin(v), a * sympy.sqrt(1 - sympy.sin(u) ** 2))
    cap = surfaces.parametric(expressions, (0.3, 1.2), (-1.0, 1.0), {a: 0.05}, (u, v), inside=(0.0, 0.0, 0.0))
    ball = surfaces.sphere(0.05)
    g, expected = cap.geometry((0.8, 0.3)), ball.geometry((0.8, 0.3))
    assert all(np.allclose(getattr(g, n), getattr(expected, n), rtol=1e-12, atol=1e-12) for n in "HMKT")
    for surface in (EGG, TILTED, cap, surfaces.torus(3.0, 1.0)):
        symbols = sympy.symbols(f"p:{len(surface.parameters)}", positive=True)
        numbers = {u: 0.9, v: 0.4, **dict(zip(symbols, surface.values(), strict=True))}
        g, expected = surface.geometry((u, v), 0.0, symbols), surface.geometry((0.9, 0.4), 0.0)
        for name in "HMKT":
            entries = [float(sympy.sympify(e).subs(numbers)) for e in np.asarray(getattr(g, name)).flat]
            assert np.allclose(entries, np.asarray(getattr(expected, name)).ravel(), rtol=1e-9, atol=1e-9), name


@pytest.mark.parametrize("exponent", [-2, sympy.Rational(-1, 2), sympy.Rational(1, 3), sympy.pi])
def test_powers_in_expressions(exponent):
    u, v = sympy.symbols("u v")
    sheet = surfaces.parametric((u, v, u**exponent), (1.0, 2.0), (0.0, 1.0), symbols=(u, v))
    assert np.isclose(sheet.point((1.7, 0.2))[2], 1.7 ** float(exponent), rtol=1e-14)


NO_NUMBERS = ("1.0", b"1", True, None, 1j, [0.1], {}, float("nan"))


def _scaled(n, a):
    return (a * n[0], a * n[1], a * n[2])


def _flat(u, v):
    return (u, v, 0.0)


def _cap(u, v):
    return (u, v, scalars.sqrt(1.0 - u * u - v * v))


REFUSED = {
    "G101 sphere": lambda: surfaces.sphere(-1.0),
    "G101 ellipsoid": lambda: surfaces.ellipsoid((1.0, float("nan"), 1.0)),
    "G101 cylinder": lambda: surfaces.cylinder(0.0),
    "G101 egg height": lambda: surfaces.egg(F, S, float("inf")),
    **{f"G101 sphere {given!r}": lambda given=given: surfaces.sphere(given) for given in NO_NUMBERS},
    **{f"G101 torus {given!r}": lambda given=given: surfaces.torus(1.0, given) for given in NO_NUMBERS},
    **{f"G101 cylinder {given!r}": lambda given=given: surfaces.cylinder(given) for given in NO_NUMBERS},
    **{f"G101 egg {given!r}": lambda given=given: surfaces.egg(F, given) for given in NO_NUMBERS},
    **{f"G101 zB {given!r}": lambda given=given: surfaces.egg(F, S, given) for given in NO_NUMBERS},
    **{f"G101 semi-axis {given!r}": lambda given=given: surfaces.ellipsoid((1.0, given, 1.0)) for given in NO_NUMBERS},
    **{f"G101 semi-axes {given!r}": lambda given=given: surfaces.ellipsoid(given) for given in NO_NUMBERS},
    **{f"G101 parameter {given!r}": lambda given=given: surfaces.closed_surface(_scaled, {"a": given}) for given in NO_NUMBERS},
    **{f"G101 range {given!r}": lambda given=given: surfaces.parametric(_flat, given, (0, 1)) for given in NO_NUMBERS},
    "G101 narrow waist": lambda: surfaces.revolution(lambda w: 1 - 1.001 / (1 + 1e4 * (w - 0.213) ** 2), lambda w: w),
    "G101 periodic": lambda: surfaces.parametric(_flat, (0, 1), (0, 1), periodic=True),
    "G105 a corner that is nan": lambda: surfaces.parametric(_cap, (-0.72, 0.72), (-0.72, 0.72)),
    "G107 no formula": lambda: surfaces.closed_surface("n"),
    "G107 no profile": lambda: surfaces.revolution(1.0, lambda w: w),
    "G116 text": lambda: surfaces.parametric(_flat, (0, 1), (0, 1), inside=("0", "0", "-1")),
    "G116 on the surface": lambda: surfaces.parametric(_flat, (0, 1), (0, 1), inside=(0.5, 0.5, 0.0)),
    "G116 beside the edge": lambda: surfaces.parametric(_flat, (0, 1), (0, 1), inside=(2.0, 0.5, 0.0)),
    "G101 profile": lambda: surfaces.revolution(lambda w: w, lambda w: w),
    "G101 range": lambda: surfaces.parametric(lambda u, v: (u, v, 0.0), (1.0, 0.0), (0.0, 1.0)),
    "G102 egg": lambda: surfaces.egg(0.03, 0.06),
    "G103 egg": lambda: surfaces.egg(0.03, 0.03),
    "G103 longer": lambda: surfaces.egg(0.03, 0.02),
    "G104 closed": lambda: surfaces.closed_surface(lambda n: (n[0], n[1], -n[2])),
    "G104 revolution": lambda: surfaces.revolution(lambda w: 1.0, lambda w: -w),
    "G104 patch": lambda: surfaces.parametric(lambda u, v: (v, u, 0.0), (0.0, 1.0), (0.0, 1.0), inside=(0.0, 0.0, -1.0)),
    "G104 periodic": lambda: surfaces.parametric(
        lambda v, u: surfaces.torus(2.0, 1.0).shape.position((u, v), 0.0, (2.0, 1.0)),
        (0.0, 2 * np.pi),
        (0.0, 2 * np.pi),
        periodic=(True, True),
    ),
    "G105 closed": lambda: surfaces.closed_surface(lambda n: (n[0], n[1], 0.0 * n[2])),
    "G105 patch": lambda: surfaces.parametric(lambda u, v: (u + v, u + v, 0.0), (0.0, 1.0), (0.0, 1.0)),
    "G105 not finite": lambda: surfaces.parametric(lambda u, v: (u, v, 1.0 / (u - u)), (0.0, 1.0), (0.0, 1.0)),
    "G106 torus": lambda: surfaces.torus(1.0, 1.0),
    "G107 pair": lambda: surfaces.parametric(lambda u, v: (u, v), (0.0, 1.0), (0.0, 1.0)),
    "G107 number": lambda: surfaces.closed_surface(lambda n: 1.0),
    "G107 text": lambda: surfaces.parametric("u, v, 0", (0.0, 1.0), (0.0, 1.0)),
    "G107 symbol": lambda: surfaces.parametric(
        (sympy.Symbol("u"), sympy.Symbol("w"), 0), (0.0, 1.0), (0.0, 1.0), symbols=sympy.symbols("u v")
    ),
    "G107 function": lambda: surfaces.parametric(
        (sympy.Symbol("u"), sympy.Symbol("v"), sympy.gamma(sympy.Symbol("u"))),
        (0.0, 1.0),
        (0.0, 1.0),
        symbols=sympy.symbols("u v"),
    ),
    "G109 centre": lambda: nearest_coordinates(SADDLE, (1e3, 1e3, 0.0)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    with pytest.raises(GeometryError) as error, np.errstate(all="ignore"):
        REFUSED[case]()
    assert error.value.code == case[:4], str(error.value)
    assert error.value.message and error.value.cure and ", ," not in error.value.cure
    assert ("exchange u and v" in error.value.cure) == (case in ("G104 patch", "G104 periodic"))


@pytest.mark.parametrize("radius", [0.9, 0.999, 1.001, 1.01, 1.1, 2.0])
@pytest.mark.parametrize("angle", [0.0, 0.1, 0.2618, 2.0])
def test_the_nearest_point_decides_on_which_side_the_material_is(radius, angle):
    """The material of a tube lies outside its wall, that of a rod inside."""
    spot = (radius * np.cos(angle), radius * np.sin(angle), 0.3)

    def tube(sign):
        return surfaces.parametric(
            lambda u, v: (scalars.cos(u), sign * scalars.sin(u), v),
            (0.0, 2.0 * np.pi),
            (-1.0, 1.0),
            periodic=(True, False),
            inside=spot,
        )

    right, wrong = (1.0, -1.0) if radius < 1.0 else (-1.0, 1.0)
    assert tube(right).geometry((0.3, 0.2)).H[0, 2] * right > 0.0
    with pytest.raises(GeometryError, match="G104"):
        tube(wrong)
